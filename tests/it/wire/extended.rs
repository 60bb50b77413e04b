//! The extended protocol: statements, portals, row limits, errors up to Sync.

use anyhow::Result;
use millpond_tests::{Server, ServerOptions};

use super::raw::{Connection, text};

/// Parse without types for the parameters.
fn parse(statement: &str, sql: &str) -> Vec<u8> {
    let mut body = text(&[statement, sql]);
    body.extend(0_u16.to_be_bytes());
    body
}

/// Bind with parameters as text and results as text.
fn bind(portal: &str, statement: &str, parameters: &[Option<&str>]) -> Vec<u8> {
    let mut body = text(&[portal, statement]);
    body.extend(0_u16.to_be_bytes());
    body.extend((parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        match parameter {
            Some(value) => {
                body.extend((value.len() as u32).to_be_bytes());
                body.extend(value.as_bytes());
            }
            None => body.extend((-1_i32).to_be_bytes()),
        }
    }
    body.extend(0_u16.to_be_bytes());
    body
}

fn describe(kind: u8, name: &str) -> Vec<u8> {
    [vec![kind], text(&[name])].concat()
}

fn execute(portal: &str, rows_max: u32) -> Vec<u8> {
    [text(&[portal]), rows_max.to_be_bytes().to_vec()].concat()
}

#[test]
fn a_statement_is_described_bound_and_run() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut c = Connection::open(&server)?;
    c.simple("CREATE TABLE t (a int, b text)")?;
    c.send(b'P', &parse("ins", "INSERT INTO t VALUES ($1, $2)"))?;
    c.send(b'D', &describe(b'S', "ins"))?;
    c.send(b'S', &[])?;
    let answer = c.read_to_ready()?;
    assert_eq!(answer.tags(), "1tnZI", "an INSERT has parameters and no rows");
    let types = &answer.0[1].body;
    assert_eq!(
        types[..],
        [0, 2, 0, 0, 0, 23, 0, 0, 0, 25],
        "types are inferred from the columns: int4, text"
    );
    for (a, b) in [("1", Some("one")), ("2", None), ("3", Some(""))] {
        c.send(b'B', &bind("", "ins", &[Some(a), b]))?;
        c.send(b'E', &execute("", 0))?;
    }
    c.send(b'S', &[])?;
    let answer = c.read_to_ready()?;
    assert_eq!(answer.tags(), "2C2C2CZI");
    assert_eq!(answer.commands(), ["INSERT 0 1"; 3]);

    c.send(b'P', &parse("", "SELECT a, b FROM t WHERE a >= $1 ORDER BY a"))?;
    c.send(b'B', &bind("", "", &[Some("2")]))?;
    c.send(b'D', &describe(b'P', ""))?;
    c.send(b'E', &execute("", 0))?;
    c.send(b'S', &[])?;
    let answer = c.read_to_ready()?;
    assert_eq!(answer.tags(), "12TDDCZI");
    assert_eq!(
        answer.values(),
        [
            [Some("2".to_owned()), None],
            [Some("3".to_owned()), Some(String::new())]
        ]
    );
    Ok(())
}

#[test]
fn a_portal_hands_out_rows_in_pieces() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut c = Connection::open(&server)?;
    c.simple("BEGIN")?;
    c.send(
        b'P',
        &parse("", "SELECT * FROM generate_series(1, 5) AS g (n) ORDER BY n"),
    )?;
    c.send(b'B', &bind("p", "", &[]))?;
    c.send(b'E', &execute("p", 2))?;
    c.send(b'S', &[])?;
    assert_eq!(c.read_to_ready()?.tags(), "12DDsZT");
    // Another portal can be open at the same time.
    c.send(b'P', &parse("", "SELECT 'other'"))?;
    c.send(b'B', &bind("q", "", &[]))?;
    c.send(b'E', &execute("p", 2))?;
    c.send(b'E', &execute("q", 0))?;
    c.send(b'S', &[])?;
    let answer = c.read_to_ready()?;
    assert_eq!(answer.tags(), "12DDsDCZT");
    c.send(b'E', &execute("p", 2))?;
    c.send(b'S', &[])?;
    let answer = c.read_to_ready()?;
    assert_eq!(
        (answer.tags().as_str(), answer.values()),
        ("DCZT", vec![vec![Some("5".to_owned())]])
    );
    c.simple("COMMIT")?;
    // A portal ends with its transaction.
    c.send(b'E', &execute("p", 2))?;
    c.send(b'S', &[])?;
    assert_eq!(c.read_to_ready()?.sqlstate().as_deref(), Some("34000"));
    Ok(())
}

#[test]
fn after_an_error_everything_up_to_sync_is_skipped() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut c = Connection::open(&server)?;
    c.simple("CREATE TABLE t (a int)")?;
    c.send(b'P', &parse("", "SELECT missing"))?;
    c.send(b'B', &bind("", "", &[]))?;
    c.send(b'E', &execute("", 0))?;
    c.send(b'P', &parse("", "INSERT INTO t VALUES (1)"))?;
    c.send(b'B', &bind("", "", &[]))?;
    c.send(b'E', &execute("", 0))?;
    c.send(b'S', &[])?;
    let answer = c.read_to_ready()?;
    assert_eq!(
        (answer.tags().as_str(), answer.sqlstate().as_deref()),
        ("EZI", Some("42703"))
    );
    assert_eq!(
        c.simple("SELECT count(*) FROM t")?.values(),
        [[Some("0".to_owned())]]
    );
    Ok(())
}

#[test]
fn mistakes_with_statements_and_portals_have_their_own_codes() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut c = Connection::open(&server)?;
    let mut code = |messages: &[(u8, Vec<u8>)]| -> Result<Option<String>> {
        for (tag, body) in messages {
            c.send(*tag, body)?;
        }
        c.send(b'S', &[])?;
        Ok(c.read_to_ready()?.sqlstate())
    };
    assert_eq!(
        code(&[(b'B', bind("", "unknown", &[]))])?.as_deref(),
        Some("26000")
    );
    assert_eq!(code(&[(b'E', execute("unknown", 0))])?.as_deref(), Some("34000"));
    assert_eq!(
        code(&[(b'D', describe(b'S', "unknown"))])?.as_deref(),
        Some("26000")
    );
    assert_eq!(
        code(&[(b'P', parse("", "SELECT 1; SELECT 2"))])?.as_deref(),
        Some("42601")
    );
    let one = (b'P', parse("one", "SELECT $1::int"));
    assert_eq!(code(std::slice::from_ref(&one))?, None);
    assert_eq!(code(&[one])?.as_deref(), Some("42P05"), "the name is taken");
    assert_eq!(
        code(&[(b'B', bind("", "one", &[]))])?.as_deref(),
        Some("08P01"),
        "a parameter is missing"
    );
    let bad = [(b'B', bind("", "one", &[Some("x")])), (b'E', execute("", 0))];
    assert_eq!(code(&bad)?.as_deref(), Some("22P02"), "the parameter is no int");
    assert_eq!(
        code(&[(b'C', describe(b'S', "one")), (b'P', parse("one", "SELECT 1"))])?,
        None
    );
    Ok(())
}
