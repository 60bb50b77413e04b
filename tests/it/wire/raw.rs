//! A client that sends and reads single messages, right or wrong.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use millpond_tests::Server;

/// Longer than any answer takes; a server that hangs fails the test here.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A message from the server.
#[derive(Debug, Clone)]
pub struct Message {
    pub tag: u8,
    pub body: Vec<u8>,
}

/// Messages up to ReadyForQuery.
#[derive(Debug)]
pub struct Answer(pub Vec<Message>);

pub struct Connection {
    stream: TcpStream,
    startup: Vec<Message>,
}

impl Connection {
    /// Connects and starts a session.
    pub fn open(server: &Server) -> Result<Connection> {
        let mut connection = Connection {
            stream: connect(server)?,
            startup: Vec::new(),
        };
        connection.start()?;
        Ok(connection)
    }

    /// Connects, sends `bytes` and starts no session.
    pub fn open_with(server: &Server, bytes: &[u8]) -> Result<Connection> {
        let mut stream = connect(server)?;
        stream.write_all(bytes)?;
        Ok(Connection {
            stream,
            startup: Vec::new(),
        })
    }

    /// Sends the start-up message and reads to the first ReadyForQuery.
    pub fn start(&mut self) -> Result<()> {
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        for text in [
            "user",
            "tester",
            "database",
            "millpond",
            "application_name",
            "raw",
            "",
        ] {
            body.extend(text.as_bytes());
            body.push(0);
        }
        self.stream.write_all(&framed(None, &body))?;
        self.startup = self.read_to_ready()?.0;
        Ok(())
    }

    /// Values that the server reported at the start.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.startup.iter().filter(|m| m.tag == b'S').find_map(|m| {
            let mut parts = m
                .body
                .split(|b| *b == 0)
                .map(|part| String::from_utf8_lossy(part).into_owned());
            (parts.next()? == name).then(|| parts.next())?
        })
    }

    pub fn backend_key(&self) -> (u32, u32) {
        let message = self
            .startup
            .iter()
            .find(|m| m.tag == b'K')
            .expect("BackendKeyData comes at the start");
        let word = |at: usize| u32::from_be_bytes(message.body[at..at + 4].try_into().expect("four bytes"));
        (word(0), word(4))
    }

    pub fn send(&mut self, tag: u8, body: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(&framed(Some(tag), body))?)
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Tells the server that nothing more comes, if it still listens.
    pub fn close_writing(&mut self) -> Result<()> {
        match self.stream.shutdown(std::net::Shutdown::Write) {
            Err(error) if error.kind() != std::io::ErrorKind::NotConnected => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Sends bytes that may be wrong: the server may hang up in the middle of them.
    pub fn send_damaged(&mut self, bytes: &[u8]) -> Result<()> {
        use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
        match self.stream.write_all(bytes) {
            Err(error) if ![BrokenPipe, ConnectionReset].contains(&error.kind()) => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub fn read_byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.stream.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    pub fn read(&mut self) -> Result<Message> {
        let mut head = [0; 5];
        self.stream
            .read_exact(&mut head)
            .context("the server closed the connection")?;
        let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes")) as usize;
        if !(4..1 << 28).contains(&length) {
            bail!("message '{}' of {length} bytes", head[0] as char);
        }
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok(Message { tag: head[0], body })
    }

    pub fn read_to_ready(&mut self) -> Result<Answer> {
        let mut messages = Vec::new();
        loop {
            let message = self.read()?;
            let done = message.tag == b'Z';
            messages.push(message);
            if done {
                return Ok(Answer(messages));
            }
        }
    }

    /// Everything up to the end of the connection; an error means that the server keeps it open and says nothing.
    pub fn read_to_end(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::NotConnected
                ) =>
            {
                Ok(bytes)
            }
            Err(error) => Err(error).context("the server neither answers nor closes"),
        }
    }

    /// The answer to a simple query.
    pub fn simple(&mut self, sql: &str) -> Result<Answer> {
        self.send(b'Q', &text(&[sql]))?;
        self.read_to_ready()
    }
}

impl Answer {
    /// One letter per message, the last one with the transaction status: `TDC` and `ZI`.
    pub fn tags(&self) -> String {
        let tags: String = self.0.iter().map(|m| m.tag as char).collect();
        let status = self
            .0
            .last()
            .and_then(|m| m.body.first())
            .map_or('?', |status| *status as char);
        // Notices and parameter reports may stand anywhere.
        tags.replace(['N', 'S'], "") + &status.to_string()
    }

    /// Cells of all data rows as text.
    pub fn values(&self) -> Vec<Vec<Option<String>>> {
        self.0
            .iter()
            .filter(|m| m.tag == b'D')
            .map(|m| cells(&m.body))
            .collect()
    }

    /// SQLSTATE of the first error.
    pub fn sqlstate(&self) -> Option<String> {
        let error = self.0.iter().find(|m| m.tag == b'E')?;
        let fields = error.body.split(|b| *b == 0);
        fields
            .filter(|f| f.first() == Some(&b'C'))
            .map(|f| String::from_utf8_lossy(&f[1..]).into_owned())
            .next()
    }

    /// Command tags in order.
    pub fn commands(&self) -> Vec<String> {
        let commands = self.0.iter().filter(|m| m.tag == b'C');
        commands
            .map(|m| String::from_utf8_lossy(&m.body).trim_end_matches('\0').to_owned())
            .collect()
    }
}

fn cells(body: &[u8]) -> Vec<Option<String>> {
    let word = |at: usize| i32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes"));
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut at = 2;
    let mut cells = Vec::new();
    for _ in 0..count {
        let length = word(at);
        at += 4;
        cells.push((length >= 0).then(|| {
            let end = at + length as usize;
            let cell = String::from_utf8_lossy(&body[at..end]).into_owned();
            at = end;
            cell
        }));
    }
    cells
}

fn connect(server: &Server) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", server.postgres_port()))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a cancel request on a connection of its own.
pub fn cancel(server: &Server, pid: u32, key: u32) -> Result<()> {
    let mut body = 80_877_102_u32.to_be_bytes().to_vec();
    body.extend(pid.to_be_bytes());
    body.extend(key.to_be_bytes());
    let mut connection = Connection::open_with(server, &framed(None, &body))?;
    assert!(
        connection.read_to_end()?.is_empty(),
        "a cancel request has no answer"
    );
    Ok(())
}

/// A message with its length, and its tag unless it belongs to the start-up.
pub fn framed(tag: Option<u8>, body: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = tag.into_iter().collect();
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Texts, each with its closing zero.
pub fn text(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.bytes().chain([0])).collect()
}
