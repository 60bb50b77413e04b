//! Results as text, the way psql would show them.

use anyhow::{Context, Result, anyhow};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error_text;

/// Rows of the last statement in `sql`, a text per cell and `None` for NULL.
pub async fn rows(client: &Client, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
    let messages = client
        .simple_query(sql)
        .await
        .map_err(|error| anyhow!("{}\nin: {sql}", error_text(&error)))?;
    let mut rows = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(_) => rows.clear(),
            SimpleQueryMessage::Row(row) => {
                rows.push((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect());
            }
            _ => {}
        }
    }
    Ok(rows)
}

/// The only cell of the only row, as text; NULL is an error.
pub async fn cell(client: &Client, sql: &str) -> Result<String> {
    let rows = rows(client, sql).await?;
    let [row] = rows.as_slice() else {
        return Err(anyhow!("{} rows instead of one: {sql}", rows.len()));
    };
    row.first()
        .cloned()
        .flatten()
        .with_context(|| format!("NULL or no column: {sql}"))
}

/// The only cell as a number.
pub async fn number(client: &Client, sql: &str) -> Result<i64> {
    let text = cell(client, sql).await?;
    text.parse()
        .with_context(|| format!("'{text}' is no whole number: {sql}"))
}

/// Rows in the order of their texts, each with its cells joined by blanks and NULL spelled out.
pub async fn sorted(client: &Client, sql: &str) -> Result<Vec<String>> {
    let mut lines: Vec<String> = rows(client, sql)
        .await?
        .into_iter()
        .map(|row| {
            row.into_iter()
                .map(|c| c.unwrap_or_else(|| "NULL".to_owned()))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    lines.sort();
    Ok(lines)
}

/// Runs statements that must succeed.
pub async fn run(client: &Client, sql: &str) -> Result<()> {
    rows(client, sql).await.map(|_| ())
}
