//! Bytes that no client should send: each costs its sender the connection at most.

use anyhow::Result;
use millpond_tests::{Server, ServerOptions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::raw::{Connection, framed, text};

fn assert_alive(server: &Server) -> Result<()> {
    assert_eq!(
        Connection::open(server)?.simple("SELECT 42")?.values(),
        [[Some("42".to_owned())]]
    );
    Ok(())
}

#[test]
fn a_bad_start_is_answered_or_closed() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let version = |code: u32| {
        framed(
            None,
            &[&code.to_be_bytes()[..], &text(&["user", "x", ""])].concat(),
        )
    };
    for bytes in [
        vec![],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 64],
        vec![255; 64],
        vec![0, 0, 0, 3],
        vec![0, 0, 0, 8],
        version(0x0004_0000),
        version(0x0002_0000),
        // Names and values without their ends.
        framed(None, &[0, 3, 0, 0, b'u', b's', b'e', b'r']),
        framed(None, &[0, 3, 0, 0, 255, 254, 0, 255, 0, 0]),
        // A start-up of two gigabytes is announced.
        [0x7fff_ffff_u32.to_be_bytes(), 196_608_u32.to_be_bytes()].concat(),
    ] {
        let mut connection = Connection::open_with(&server, &bytes)?;
        connection.close_writing()?;
        connection.read_to_end()?;
    }
    assert_alive(&server)
}

#[test]
fn a_bad_message_is_answered_or_closed() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    for bytes in [
        // Unknown tags.
        framed(Some(b'?'), b"what"),
        framed(Some(0), b""),
        // Lengths that lie: too short, and more than anybody sends.
        vec![b'Q', 0, 0, 0, 0],
        vec![b'Q', 0, 0, 0, 3],
        vec![b'Q', 0x7f, 0xff, 0xff, 0xff, b'S'],
        vec![b'Q', 0xff, 0xff, 0xff, 0xff],
        // A query without its end, and one that is no UTF-8.
        framed(Some(b'Q'), b"SELECT 1"),
        framed(Some(b'Q'), b"SELECT '\xff\xfe'\0"),
        framed(Some(b'Q'), b"SELECT 1\0and more\0"),
        // Bodies that end too early.
        framed(Some(b'P'), b""),
        framed(Some(b'P'), b"name\0SELECT 1\0\xff\xff"),
        framed(Some(b'B'), b"\0\0\0\x01"),
        framed(Some(b'B'), b"\0\0\0\0\xff\xff\0\0\0\x7f"),
        framed(Some(b'E'), b"\0"),
        framed(Some(b'D'), b"X\0"),
        framed(Some(b'C'), b""),
        // Copy data out of the blue, and a password.
        framed(Some(b'd'), b"data"),
        framed(Some(b'c'), b""),
        framed(Some(b'p'), b"secret\0"),
    ] {
        let mut connection = Connection::open(&server)?;
        connection.send_damaged(&bytes)?;
        // Whatever it was, the end of the input ends the session.
        connection.send_damaged(&framed(Some(b'S'), b""))?;
        connection.close_writing()?;
        connection.read_to_end()?;
    }
    assert_alive(&server)
}

/// Valid conversations with bytes changed, cut or doubled, from one seed.
#[test]
fn random_damage_never_stops_the_server() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let pid = server.pid();
    let mut random = ChaCha8Rng::seed_from_u64(4566);
    let bind = [
        text(&["", ""]),
        vec![0, 1, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7, 0, 1, 0, 1],
    ]
    .concat();
    let conversation = [
        framed(Some(b'Q'), b"SELECT 1, 'two'\0"),
        framed(
            Some(b'P'),
            &[text(&["", "SELECT $1::int + 1"]), vec![0, 1, 0, 0, 0, 23]].concat(),
        ),
        framed(Some(b'B'), &bind),
        framed(Some(b'D'), b"P\0"),
        framed(Some(b'E'), &[0, 0, 0, 0, 1]),
        framed(Some(b'S'), b""),
    ]
    .concat();
    for _ in 0..300 {
        let mut bytes = conversation.clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len());
            match random.random_range(0..4) {
                0 => bytes[at] = random.random(),
                1 => bytes[at] ^= 1 << random.random_range(0..8),
                2 => drop(bytes.drain(at..(at + random.random_range(1..20)).min(bytes.len()))),
                _ => bytes.insert(at, random.random()),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let mut connection = Connection::open(&server)?;
        connection.send_damaged(&bytes)?;
        connection.close_writing()?;
        connection.read_to_end()?;
    }
    assert_eq!(server.pid(), pid);
    assert_alive(&server)
}
