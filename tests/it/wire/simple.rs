//! Start-up and the simple query protocol.

use anyhow::Result;
use millpond_tests::{Server, ServerOptions};

use super::raw::{Connection, framed};

#[test]
fn the_start_reports_what_drivers_ask_for() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let connection = Connection::open(&server)?;
    for (name, value) in [
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("IntervalStyle", "postgres"),
        ("application_name", "raw"),
    ] {
        assert_eq!(connection.parameter(name).as_deref(), Some(value), "{name}");
    }
    let version = connection.parameter("server_version").unwrap_or_default();
    assert!(
        version.starts_with("15.") || version.starts_with("16."),
        "clients choose their queries by it: {version}"
    );
    Ok(())
}

#[test]
fn encryption_is_declined_with_one_byte_and_the_session_goes_on() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let request = |code: u32| framed(None, &code.to_be_bytes());
    let (ssl, gss) = (request(80_877_103), request(80_877_104));
    for requests in [[&ssl, &gss], [&gss, &ssl]] {
        let mut connection = Connection::open_with(&server, requests[0])?;
        assert_eq!(connection.read_byte()?, b'N');
        connection.send_bytes(requests[1])?;
        assert_eq!(connection.read_byte()?, b'N');
        connection.start()?;
        assert_eq!(connection.simple("SELECT 1")?.tags(), "TDCZI");
    }
    Ok(())
}

#[test]
fn an_empty_query_has_an_answer_of_its_own() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut connection = Connection::open(&server)?;
    for sql in ["", ";", "  \n ", "-- only a comment", "/* a comment */;"] {
        assert_eq!(connection.simple(sql)?.tags(), "IZI", "{sql:?}");
    }
    Ok(())
}

#[test]
fn several_statements_are_answered_in_order_up_to_the_first_error() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut connection = Connection::open(&server)?;
    let answer = connection
        .simple("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); SELECT a FROM t ORDER BY a;")?;
    assert_eq!(answer.tags(), "CCTDDCZI");
    assert_eq!(answer.commands(), ["CREATE TABLE", "INSERT 0 2", "SELECT 2"]);
    let answer = connection.simple("SELECT 1; SELECT 1/0; INSERT INTO t VALUES (3)")?;
    assert!(
        answer.tags().starts_with("TDC") && answer.tags().ends_with("EZI"),
        "{}",
        answer.tags()
    );
    assert_eq!(answer.sqlstate().as_deref(), Some("22012"));
    assert_eq!(
        connection.simple("SELECT count(*) FROM t")?.values(),
        [[Some("2".to_owned())]]
    );
    // A text that does not parse runs nothing of it.
    let answer = connection.simple("INSERT INTO t VALUES (4); SELEC 1")?;
    assert_eq!(answer.sqlstate().as_deref(), Some("42601"));
    assert_eq!(
        connection.simple("SELECT count(*) FROM t")?.values(),
        [[Some("2".to_owned())]]
    );
    Ok(())
}

#[test]
fn the_transaction_status_follows_begin_error_and_rollback() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let mut connection = Connection::open(&server)?;
    assert_eq!(connection.simple("BEGIN")?.tags(), "CZT");
    assert_eq!(connection.simple("SELECT 1")?.tags(), "TDCZT");
    assert_eq!(connection.simple("SELECT 1/0")?.tags().chars().last(), Some('E'));
    let refused = connection.simple("SELECT 1")?;
    assert_eq!(
        (refused.sqlstate().as_deref(), refused.tags().as_str()),
        (Some("25P02"), "EZE")
    );
    assert_eq!(connection.simple("ROLLBACK")?.tags(), "CZI");
    assert_eq!(connection.simple("SELECT 1")?.tags(), "TDCZI");
    Ok(())
}
