//! Messages from the client: frames cut out of the byte stream, and what is in them.
//!
//! Decoding never reads past a frame and never panics. A frame with wrong content is an error of that message; a frame
//! that cannot be cut out (unknown type, impossible length) ends the connection, because what follows is lost.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::error::{Error, Result, SessionError, ValueError};

/// Longest message that may carry a statement or values.
const LARGE_BYTES_MAX: usize = 256 << 20;
/// Longest of all other messages, as in Postgres.
const SMALL_BYTES_MAX: usize = 10_000;
/// Longest start-up packet, as in Postgres.
const STARTUP_BYTES_MAX: usize = 10_000;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// A packet before the session has begun; it has no type byte.
#[derive(Debug, PartialEq, Eq)]
pub enum StartupPacket {
    Ssl,
    Gss,
    Cancel {
        pid: i32,
        secret: i32,
    },
    Startup {
        major: u16,
        minor: u16,
        parameters: Vec<(String, String)>,
    },
}

/// What Describe and Close are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Statement,
    Portal,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Frontend {
    Query(String),
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe {
        target: Target,
        name: String,
    },
    Execute {
        portal: String,
        rows_max: u32,
    },
    Close {
        target: Target,
        name: String,
    },
    Flush,
    Sync,
    Terminate,
    /// Password or SASL data; its form depends on what was asked for.
    Password(Bytes),
    CopyData(Bytes),
    CopyDone,
    /// With the client's reason.
    CopyFail(String),
    FunctionCall,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Bind {
    pub portal: String,
    pub statement: String,
    pub parameter_formats: Vec<i16>,
    pub parameters: Vec<Option<Bytes>>,
    pub result_formats: Vec<i16>,
}

/// Why no further message comes.
#[derive(Debug)]
pub enum FrameError {
    /// The bytes are no message; the connection has to end.
    Invalid(String),
    /// The client is gone.
    Gone,
}

impl From<std::io::Error> for FrameError {
    fn from(_: std::io::Error) -> Self {
        FrameError::Gone
    }
}

/// A type byte and a body, not yet looked into.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub body: Bytes,
}

/// Reads the next frame; `None` at the end of the stream.
pub async fn read_frame<R: AsyncRead + Unpin>(
    stream: &mut R,
    buffer: &mut BytesMut,
) -> Result<Option<Frame>, FrameError> {
    loop {
        if let Some(frame) = cut_frame(buffer)? {
            return Ok(Some(frame));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn cut_frame(buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
    let Some(kind) = buffer.first().copied() else {
        return Ok(None);
    };
    let Some(length_max) = length_max(kind) else {
        return Err(FrameError::Invalid(format!(
            "invalid frontend message type {kind}"
        )));
    };
    let Some(length) = buffer.get(1..5) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
    if !(4..=length_max).contains(&length) {
        return Err(FrameError::Invalid(format!(
            "invalid message length {length} for message type \"{}\"",
            char::from(kind)
        )));
    }
    if buffer.len() < length + 1 {
        // Grown as bytes come, since the length is only a claim.
        return Ok(None);
    }
    buffer.advance(5);
    Ok(Some(Frame {
        kind,
        body: buffer.split_to(length - 4).freeze(),
    }))
}

/// `None` for bytes that begin no message.
fn length_max(kind: u8) -> Option<usize> {
    match kind {
        b'Q' | b'P' | b'B' | b'd' | b'F' => Some(LARGE_BYTES_MAX),
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'p' | b'c' | b'f' => Some(SMALL_BYTES_MAX),
        _ => None,
    }
}

/// Reads one packet of the start-up phase; `None` when the client went before it was complete.
pub async fn read_startup_packet<R: AsyncRead + Unpin>(
    stream: &mut R,
) -> Result<Option<StartupPacket>, FrameError> {
    let mut length = [0; 4];
    if let Err(error) = stream.read_exact(&mut length).await {
        return gone(error);
    }
    let length = u32::from_be_bytes(length) as usize;
    if !(8..=STARTUP_BYTES_MAX).contains(&length) {
        return Err(FrameError::Invalid("invalid length of startup packet".into()));
    }
    let mut body = vec![0; length - 4];
    if let Err(error) = stream.read_exact(&mut body).await {
        return gone(error);
    }
    decode_startup(Bytes::from(body))
        .map(Some)
        .map_err(|e| FrameError::Invalid(e.to_string()))
}

fn gone(error: std::io::Error) -> Result<Option<StartupPacket>, FrameError> {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        Ok(None)
    } else {
        Err(error.into())
    }
}

fn decode_startup(body: Bytes) -> Result<StartupPacket> {
    let mut body = Body(body);
    let code = body.u32()?;
    match code {
        SSL_REQUEST => return Ok(StartupPacket::Ssl),
        GSS_REQUEST => return Ok(StartupPacket::Gss),
        CANCEL_REQUEST => {
            return Ok(StartupPacket::Cancel {
                pid: body.i32()?,
                secret: body.i32()?,
            });
        }
        _ => {}
    }
    let (major, minor) = ((code >> 16) as u16, (code & 0xffff) as u16);
    let mut parameters = Vec::new();
    // Other major versions may mean anything by what follows.
    if major == 3 {
        loop {
            let name = body.text()?;
            if name.is_empty() {
                break;
            }
            parameters.push((name, body.text()?));
        }
    }
    Ok(StartupPacket::Startup {
        major,
        minor,
        parameters,
    })
}

impl Frame {
    pub fn decode(self) -> Result<Frontend> {
        let mut body = Body(self.body);
        let message = match self.kind {
            b'Q' => Frontend::Query(body.text()?),
            b'P' => {
                let (name, text) = (body.text()?, body.text()?);
                Frontend::Parse {
                    name,
                    text,
                    types: body.list(Body::u32)?,
                }
            }
            b'B' => Frontend::Bind(Bind {
                portal: body.text()?,
                statement: body.text()?,
                parameter_formats: body.list(Body::i16)?,
                parameters: body.list(Body::value)?,
                result_formats: body.list(Body::i16)?,
            }),
            b'D' => Frontend::Describe {
                target: body.target()?,
                name: body.text()?,
            },
            b'C' => Frontend::Close {
                target: body.target()?,
                name: body.text()?,
            },
            b'E' => {
                let portal = body.text()?;
                // Zero and less mean no limit.
                Frontend::Execute {
                    portal,
                    rows_max: u32::try_from(body.i32()?).unwrap_or(0),
                }
            }
            b'H' => Frontend::Flush,
            b'S' => Frontend::Sync,
            b'X' => Frontend::Terminate,
            b'p' => return Ok(Frontend::Password(body.0)),
            b'd' => return Ok(Frontend::CopyData(body.0)),
            b'c' => Frontend::CopyDone,
            b'f' => Frontend::CopyFail(body.text()?),
            b'F' => return Ok(Frontend::FunctionCall),
            kind => return Err(Error::Bug(format!("a frame of type {kind} was let through"))),
        };
        if !body.0.is_empty() {
            return Err(invalid_format());
        }
        Ok(message)
    }
}

fn invalid_format() -> Error {
    SessionError::Protocol("invalid message format".into()).into()
}

/// What is left of a message's body.
struct Body(Bytes);

impl Body {
    fn take(&mut self, length: usize) -> Result<Bytes> {
        if self.0.len() < length {
            return Err(SessionError::Protocol("insufficient data left in message".into()).into());
        }
        Ok(self.0.split_to(length))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(self.take(4)?.get_u32())
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(self.take(4)?.get_i32())
    }

    fn i16(&mut self) -> Result<i16> {
        Ok(self.take(2)?.get_i16())
    }

    /// A text that ends with a zero byte.
    fn text(&mut self) -> Result<String> {
        let end = self.0.iter().position(|b| *b == 0).ok_or_else(invalid_format)?;
        let text = self.0.split_to(end);
        self.0.advance(1);
        String::from_utf8(text.into()).map_err(|_| ValueError::NotUtf8.into())
    }

    /// A length and as many bytes; -1 is NULL.
    fn value(&mut self) -> Result<Option<Bytes>> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| invalid_format())?;
                self.take(length).map(Some)
            }
        }
    }

    fn list<T>(&mut self, item: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.take(2)?.get_u16();
        (0..count).map(|_| item(self)).collect()
    }

    fn target(&mut self) -> Result<Target> {
        match self.take(1)?[0] {
            b'S' => Ok(Target::Statement),
            b'P' => Ok(Target::Portal),
            other => Err(SessionError::Protocol(format!("invalid message subtype {other}")).into()),
        }
    }
}

/// The first answer of a client in a SASL exchange: the mechanism it chose and its data.
pub fn sasl_initial_response(body: Bytes) -> Result<(String, Bytes)> {
    let mut body = Body(body);
    let mechanism = body.text()?;
    let data = body.value()?.unwrap_or_default();
    Ok((mechanism, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Frontend> {
        let mut buffer = BytesMut::from(&frame(kind, body)[..]);
        cut_frame(&mut buffer).unwrap().unwrap().decode()
    }

    #[test]
    fn a_frame_comes_out_when_it_is_complete() {
        let bytes = frame(b'Q', b"SELECT 1\0");
        let mut buffer = BytesMut::new();
        for byte in &bytes[..bytes.len() - 1] {
            buffer.extend_from_slice(&[*byte]);
            assert!(cut_frame(&mut buffer).unwrap().is_none());
        }
        buffer.extend_from_slice(&bytes[bytes.len() - 1..]);
        buffer.extend_from_slice(b"S");
        let message = cut_frame(&mut buffer).unwrap().unwrap().decode().unwrap();
        assert_eq!(message, Frontend::Query("SELECT 1".into()));
        assert_eq!(buffer, b"S"[..]);
    }

    #[test]
    fn impossible_frames_are_refused_before_anything_is_kept() {
        for bytes in [
            &b"!\0\0\0\x08"[..],
            b"Q\0\0\0\0",
            b"Q\0\0\0\x03",
            b"Q\x7f\xff\xff\xff",
            b"S\0\0\xff\xff",
        ] {
            assert!(
                matches!(cut_frame(&mut BytesMut::from(bytes)), Err(FrameError::Invalid(_))),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn bind() {
        let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\x01\0\0";
        let Frontend::Bind(bind) = decode(b'B', body).unwrap() else {
            panic!("not a Bind")
        };
        assert_eq!((bind.portal.as_str(), bind.statement.as_str()), ("p", "s"));
        assert_eq!(bind.parameter_formats, [1]);
        assert_eq!(bind.parameters, [Some(Bytes::from_static(b"ab")), None]);
        assert_eq!(bind.result_formats, [0]);
    }

    #[test]
    fn truncated_and_overlong_bodies_are_errors() {
        let whole = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\x01\0\0";
        for length in 0..whole.len() {
            assert!(
                decode(b'B', &whole[..length]).is_err(),
                "a Bind cut off after {length} bytes"
            );
        }
        assert!(decode(b'S', b"x").is_err());
        assert!(decode(b'Q', b"no zero byte").is_err());
        assert!(decode(b'D', b"X\0").is_err());
        assert!(matches!(
            decode(b'Q', b"\xff\0"),
            Err(Error::Value(ValueError::NotUtf8))
        ));
        // A length that is negative but not -1.
        assert!(decode(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0").is_err());
    }

    #[test]
    fn startup_packets() {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        body.extend_from_slice(b"user\0ann\0database\0d\0\0");
        let packet = decode_startup(body.clone().into()).unwrap();
        let parameters = vec![
            ("user".to_owned(), "ann".to_owned()),
            ("database".to_owned(), "d".to_owned()),
        ];
        assert_eq!(
            packet,
            StartupPacket::Startup {
                major: 3,
                minor: 0,
                parameters
            }
        );
        body.truncate(body.len() - 1);
        assert!(
            decode_startup(body.into()).is_err(),
            "without the final zero byte"
        );
        let cancel = [CANCEL_REQUEST, 7, 9].map(u32::to_be_bytes).concat();
        assert_eq!(
            decode_startup(cancel.into()).unwrap(),
            StartupPacket::Cancel { pid: 7, secret: 9 }
        );
    }
}
