//! A real server on a real socket.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use arrow::array::AsArray;
use arrow::datatypes::TimestampMicrosecondType;

use super::*;
use crate::memory_notes::{self, MemoryNotes, column, options};

struct Server {
    listener: TcpListener,
    notes: Arc<MemoryNotes>,
    port: String,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        Server {
            listener,
            notes: Arc::default(),
            port,
        }
    }

    fn source(&self, more: &[(&str, &str)]) -> Arc<dyn Source> {
        let entries = [&[("host", "127.0.0.1"), ("port", &*self.port)], more].concat();
        let columns = default_columns(&options(&entries)).unwrap_or_else(|| vec![column("a", SqlType::Int4)]);
        memory_notes::open("socket", &entries, &columns, &self.notes).unwrap()
    }

    /// The client that `source` is, once it has connected.
    fn accept(&self, source: &Arc<dyn Source>) -> TcpStream {
        source.latest(0).unwrap();
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }
}

/// Asks until there are `lines` lines: what was sent needs a moment.
fn await_lines(source: &Arc<dyn Source>, lines: u64, now_us: i64) -> Position {
    loop {
        let latest = source.latest(now_us).unwrap();
        if line_of(&latest) >= lines {
            return latest;
        }
        std::thread::yield_now();
    }
}

fn texts(source: &Arc<dyn Source>, from: u64, to: u64) -> Vec<String> {
    let mut texts = Vec::new();
    for slice in source.slices(&position(from), &position(to), 2).unwrap() {
        let mut reader = source.open(&slice, &[0]).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            texts.extend(
                batch
                    .rows
                    .column(0)
                    .as_string::<i32>()
                    .iter()
                    .flatten()
                    .map(str::to_owned),
            );
        }
    }
    texts
}

#[test]
fn lines_are_kept_until_everyone_has_read_them() {
    let server = Server::new();
    let source = server.source(&[]);
    let mut peer = server.accept(&source);
    peer.write_all(b"one\ntwo\r\nthr").unwrap();
    await_lines(&source, 2, 0);
    assert_eq!(texts(&source, 0, 2), ["one", "two"]);
    peer.write_all(b"ee\n").unwrap();
    await_lines(&source, 3, 0);
    assert_eq!(texts(&source, 1, 3), ["two", "three"]);
    drop(peer);

    // After a restart they are still there, also while the server is away.
    let notes = server.notes.clone();
    let port = server.port.clone();
    drop(server);
    let gone = Server {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        notes,
        port,
    };
    let source = gone.source(&[]);
    let limit = Limit {
        bytes: u64::MAX,
        columns: &[0],
        now_us: 0,
    };
    assert_eq!(
        source.advance(&source.start(), None, limit).unwrap(),
        Some(position(3))
    );
    assert_eq!(texts(&source, 0, 3), ["one", "two", "three"]);
    assert!(matches!(
        source.advance(&position(3), None, limit),
        Err(SourceError::Unavailable(error)) if error.starts_with("cannot connect to 127.0.0.1:")
    ));
    source.forget(&position(3));
    assert_eq!(source.start(), position(3));
    assert_eq!(gone.source(&[]).start(), position(3));
}

#[test]
fn a_connection_that_ends_is_made_again() {
    let server = Server::new();
    let source = server.source(&[]);
    let mut peer = server.accept(&source);
    peer.write_all(b"a\nlast without end").unwrap();
    drop(peer);
    await_lines(&source, 2, 0);
    let mut peer = server.accept(&source);
    peer.write_all(b"b\n").unwrap();
    await_lines(&source, 3, 0);
    assert_eq!(texts(&source, 0, 3), ["a", "last without end", "b"]);
}

#[test]
fn lines_with_their_time_and_lines_of_json() {
    let server = Server::new();
    let source = server.source(&[("include_timestamp", "true")]);
    let mut peer = server.accept(&source);
    peer.write_all(b"x\n").unwrap();
    let end = await_lines(&source, 1, 77);
    let slices = source.slices(&source.start(), &end, 1).unwrap();
    let batch = source.open(&slices[0], &[0, 1]).unwrap().next().unwrap().unwrap();
    assert_eq!(
        batch
            .rows
            .column(1)
            .as_primitive::<TimestampMicrosecondType>()
            .value(0),
        77
    );

    let server = Server::new();
    let source = server.source(&[("format", "json")]);
    let mut peer = server.accept(&source);
    peer.write_all(b"{\"a\":1}\nnothing\n").unwrap();
    let end = await_lines(&source, 2, 0);
    let slices = source.slices(&source.start(), &end, 1).unwrap();
    let batches: Vec<_> = slices
        .iter()
        .map(|slice| source.open(slice, &[0]).unwrap().next().unwrap().unwrap())
        .collect();
    assert_eq!(
        batches.iter().map(|batch| batch.rows.num_rows()).sum::<usize>(),
        1
    );
    let bad = batches.iter().flat_map(|batch| &batch.bad_rows).next().unwrap();
    assert!(bad.position.ends_with(", line 2"), "{}", bad.position);
}

#[test]
fn what_cannot_work_is_refused() {
    let told = |entries: &[(&str, &str)], columns: &[Column]| {
        let entries = [&[("host", "h"), ("port", "1")], entries].concat();
        crate::validate("socket", &options(&entries), columns)
            .unwrap_err()
            .to_string()
    };
    assert!(told(&[("format", "parquet")], &[column("a", SqlType::Int4)]).contains("one by one"));
    assert!(
        told(&[("include_timestamp", "true")], &[column("a", SqlType::Text)]).contains("include_timestamp")
    );
    assert!(
        told(&[], &[column("a", SqlType::Text), column("b", SqlType::Text)])
            .starts_with("format \"text\" has one column")
    );
}
