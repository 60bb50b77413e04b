//! The connection: made when it is needed, read without waiting.

use std::io::{ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use millpond_engine::source::SourceError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A longer line is cut.
const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Default)]
pub struct Connection {
    stream: Option<TcpStream>,
    /// The beginning of a line whose end has not come.
    unfinished: Vec<u8>,
}

impl Connection {
    /// Whole lines that have arrived, each with its end; about `bytes` of them.
    pub fn read_lines(&mut self, address: &str, bytes: usize) -> Result<Vec<u8>, SourceError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => self.stream.insert(connect(address)?),
        };
        let mut buffer = vec![0; 64 << 10];
        let mut closed = false;
        while self.unfinished.len() < bytes {
            match stream.read(&mut buffer) {
                Ok(0) => closed = true,
                Ok(length) => {
                    self.unfinished.extend_from_slice(&buffer[..length]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::warn!(address, %error, "a socket source lost its connection");
                    closed = true;
                }
            }
            break;
        }
        if closed {
            self.stream = None;
            // The last line needs no end.
            if !self.unfinished.is_empty() {
                self.unfinished.push(b'\n');
            }
        } else if self.unfinished.len() > LINE_BYTES_MAX && !self.unfinished.contains(&b'\n') {
            self.unfinished.push(b'\n');
        }
        let whole = memchr::memrchr(b'\n', &self.unfinished).map_or(0, |at| at + 1);
        let rest = self.unfinished.split_off(whole);
        Ok(std::mem::replace(&mut self.unfinished, rest))
    }
}

fn connect(address: &str) -> Result<TcpStream, SourceError> {
    let unavailable =
        |error: std::io::Error| SourceError::Unavailable(format!("cannot connect to {address}: {error}"));
    let mut last = std::io::Error::new(ErrorKind::NotFound, "the name has no address");
    for resolved in address.to_socket_addrs().map_err(unavailable)? {
        match TcpStream::connect_timeout(&resolved, CONNECT_TIMEOUT) {
            Ok(stream) => {
                stream.set_nonblocking(true).map_err(unavailable)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(unavailable(last))
}
