//! Values in binary both ways, as drivers send and read them.

use anyhow::Result;
use millpond_tests::{Server, ServerOptions, sorted};
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage};

/// Sends `value` as a parameter of type `name` and reads it back, in binary and as the text that the server makes of it.
async fn there_and_back<T>(client: &Client, name: &str, wanted: Type, value: T, text: &str) -> Result<()>
where
    T: ToSql + Sync + PartialEq + std::fmt::Debug + for<'a> FromSql<'a>,
{
    let statement = client.prepare(&format!("SELECT $1::{name} AS v")).await?;
    assert_eq!(
        statement.params(),
        std::slice::from_ref(&wanted),
        "{name} as a parameter"
    );
    assert_eq!(statement.columns()[0].type_(), &wanted, "{name} as a result");
    let row = client.query_one(&statement, &[&value]).await?;
    assert_eq!(row.get::<_, T>(0), value, "{name} in binary");
    let nothing = client.query_one(&statement, &[&None::<T>]).await?;
    assert!(nothing.get::<_, Option<T>>(0).is_none(), "NULL of type {name}");
    let messages = client.simple_query(&format!("SELECT '{text}'::{name}")).await?;
    let shown = messages.iter().find_map(|m| match m {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    assert_eq!(shown.as_deref(), Some(text), "{name} as text");
    Ok(())
}

#[tokio::test]
async fn common_types_travel_in_binary() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let c = server.connect().await?;
    there_and_back(&c, "boolean", Type::BOOL, true, "t").await?;
    there_and_back(&c, "smallint", Type::INT2, -32768_i16, "-32768").await?;
    there_and_back(&c, "integer", Type::INT4, i32::MAX, "2147483647").await?;
    there_and_back(&c, "bigint", Type::INT8, i64::MAX, "9223372036854775807").await?;
    there_and_back(&c, "real", Type::FLOAT4, 0.1_f32, "0.1").await?;
    there_and_back(&c, "double precision", Type::FLOAT8, -1e300, "-1e+300").await?;
    there_and_back(&c, "text", Type::TEXT, "grün 🦆".to_owned(), "grün 🦆").await?;
    there_and_back(&c, "varchar", Type::VARCHAR, String::new(), "").await?;
    there_and_back(&c, "bytea", Type::BYTEA, vec![0_u8, 255, 92], "\\x00ff5c").await?;
    let date = chrono::NaiveDate::from_ymd_opt(1969, 12, 31).expect("a date");
    there_and_back(&c, "date", Type::DATE, date, "1969-12-31").await?;
    let time = chrono::NaiveTime::from_hms_micro_opt(23, 59, 59, 1).expect("a time");
    there_and_back(&c, "time", Type::TIME, time, "23:59:59.000001").await?;
    there_and_back(
        &c,
        "timestamp",
        Type::TIMESTAMP,
        date.and_time(time),
        "1969-12-31 23:59:59.000001",
    )
    .await?;
    there_and_back(
        &c,
        "timestamptz",
        Type::TIMESTAMPTZ,
        date.and_time(time).and_utc(),
        "1969-12-31 23:59:59.000001+00",
    )
    .await?;
    let uuid = uuid::Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11);
    there_and_back(&c, "uuid", Type::UUID, uuid, &uuid.to_string()).await?;
    there_and_back(
        &c,
        "jsonb",
        Type::JSONB,
        serde_json::json!({"a": [1, null]}),
        r#"{"a": [1, null]}"#,
    )
    .await?;
    there_and_back(&c, "int[]", Type::INT4_ARRAY, vec![Some(1), None], "{1,NULL}").await?;
    there_and_back(
        &c,
        "text[]",
        Type::TEXT_ARRAY,
        vec!["a b".to_owned(), String::new()],
        "{\"a b\",\"\"}",
    )
    .await
}

#[tokio::test]
async fn a_prepared_insert_feeds_a_view() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let client = server.connect().await?;
    client
        .batch_execute("CREATE TABLE t (k text, v bigint, at timestamp)")
        .await?;
    client
        .batch_execute("CREATE STREAMING VIEW s AS SELECT k, sum(v) AS v, max(at) AS at FROM t GROUP BY k")
        .await?;
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2, $3)").await?;
    let at = chrono::DateTime::UNIX_EPOCH.naive_utc();
    for v in 0..100_i64 {
        let k = (v % 3 > 0).then(|| format!("k{}", v % 3));
        assert_eq!(client.execute(&insert, &[&k, &v, &at]).await?, 1);
    }
    client.batch_execute("FLUSH").await?;
    let expected = [
        "NULL 1683 1970-01-01 00:00:00",
        "k1 1617 1970-01-01 00:00:00",
        "k2 1650 1970-01-01 00:00:00",
    ]
    .map(str::to_owned);
    assert_eq!(sorted(&client, "SELECT * FROM s").await?, expected);
    // The same through the extended protocol, with a parameter where a key is looked for.
    let row = client
        .query_one("SELECT v, at FROM s WHERE k = $1", &[&"k2"])
        .await?;
    assert_eq!(row.get::<_, chrono::NaiveDateTime>(1), at);
    Ok(())
}
