//! Health and metrics.

use anyhow::{Context, Result};
use millpond_tests::{Server, ServerOptions, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Status and body of a GET.
async fn get(server: &Server, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.http_port())).await?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let status = text.split_whitespace().nth(1).context("a status line")?.parse()?;
    Ok((
        status,
        text.split_once("\r\n\r\n").context("a body")?.1.to_owned(),
    ))
}

#[tokio::test]
async fn health_and_metrics_answer() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let client = server.connect().await?;
    run(
        &client,
        "CREATE TABLE t (a int); CREATE STREAMING VIEW counted AS SELECT count(*) AS n FROM t",
    )
    .await?;
    run(&client, "INSERT INTO t VALUES (1), (2)").await?;
    run(&client, "FLUSH").await?;
    let (status, body) = get(&server, "/health").await?;
    assert_eq!(status, 200, "{body}");
    let (status, body) = get(&server, "/metrics").await?;
    assert_eq!(status, 200);
    let line = body
        .lines()
        .find(|line| line.starts_with("millpond_") && line.contains("counted"));
    assert!(line.is_some(), "no metric of the view: {body}");
    assert_eq!(get(&server, "/nothing").await?.0, 404);
    Ok(())
}
