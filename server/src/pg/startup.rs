//! From the first byte to the first ReadyForQuery: encryption refused, protocol agreed on, password checked.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::auth::{self, Exchange, Step, Verifier};
use super::error::{Ending, Report};
use super::message::{FrameError, StartupPacket, read_frame, read_startup_packet};
use crate::error::{Error, Result, SessionError};
use crate::server::Server;
use crate::session::settings::{reported, startup_settings};
use crate::session::{Client, SessionInfo};

/// The newest minor version of protocol 3 that is spoken.
const MINOR_VERSION: i32 = 0;

/// A connection that may send messages now.
pub struct Started {
    pub info: Arc<SessionInfo>,
    /// Read from the client already, and not looked at.
    pub unread: BytesMut,
}

/// Why a connection does not get that far.
enum Refused {
    /// The client went, or only wanted to cancel: nothing to say.
    Quietly,
    Fatal(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Fatal(error)
    }
}

impl From<FrameError> for Refused {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Gone => Refused::Quietly,
            FrameError::Invalid(text) => Refused::Fatal(SessionError::Protocol(text).into()),
        }
    }
}

impl From<std::io::Error> for Refused {
    fn from(_: std::io::Error) -> Self {
        Refused::Quietly
    }
}

/// `None` when there is no session: the client was refused and knows it, or has gone.
pub async fn start(stream: &mut TcpStream, address: SocketAddr, server: &Server) -> Option<Started> {
    match negotiate(stream, address, server).await {
        Ok(started) => Some(started),
        Err(Refused::Quietly) => None,
        Err(Refused::Fatal(error)) => {
            tracing::info!(%address, %error, "connection refused");
            let mut out = BytesMut::new();
            if Report::of(&error).message(Ending::Fatal).encode(&mut out).is_ok() {
                // The client may be gone by now.
                let _ = stream.write_all_buf(&mut out).await;
            }
            None
        }
    }
}

async fn negotiate(stream: &mut TcpStream, address: SocketAddr, server: &Server) -> Result<Started, Refused> {
    let (major, minor, parameters) = first_packet(stream, server).await?;
    if major != 3 {
        let message = format!(
            "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.{MINOR_VERSION}"
        );
        return Err(Error::from(SessionError::Unsupported { message, hint: None }).into());
    }
    let mut out = BytesMut::new();
    let unknown: Vec<String> = parameters
        .iter()
        .filter(|(name, _)| name.starts_with("_pq_."))
        .map(|(name, _)| name.clone())
        .collect();
    if i32::from(minor) > MINOR_VERSION || !unknown.is_empty() {
        put(
            &mut out,
            Message::NegotiateProtocolVersion(NegotiateProtocolVersion::new(MINOR_VERSION, unknown)),
        )?;
    }
    let get = |wanted: &str| {
        parameters
            .iter()
            .find(|(name, value)| name == wanted && !value.is_empty())
            .map(|(_, value)| value.clone())
    };
    let user = get("user").ok_or(Error::from(SessionError::NoUser))?;
    let database = get("database").unwrap_or_else(|| user.clone());
    if get("replication").is_some_and(|value| !matches!(value.as_str(), "off" | "false" | "no" | "0")) {
        let message = "replication connections are not supported".to_owned();
        return Err(Error::from(SessionError::Unsupported { message, hint: None }).into());
    }
    let settings = startup_settings(&parameters).map_err(Error::from)?;
    let mut unread = BytesMut::new();
    if let Some(verifier) = &server.password {
        authenticate(stream, &mut out, &mut unread, &user, verifier).await?;
    }
    let client = Client {
        user,
        database,
        address: Some(address),
        settings,
    };
    let info = server.open_session(client)?;
    put(&mut out, Message::Authentication(Authentication::Ok))?;
    for (name, value) in reported(info.settings.read().current()) {
        // The one setting that is fixed for a session and not for all of them.
        let value = if name == "session_authorization" {
            &info.user
        } else {
            value
        };
        put(
            &mut out,
            Message::ParameterStatus(ParameterStatus::new(name.to_owned(), value.to_owned())),
        )?;
    }
    put(
        &mut out,
        Message::BackendKeyData(BackendKeyData::new(info.pid, SecretKey::I32(info.secret))),
    )?;
    let sent = stream.write_all_buf(&mut out).await;
    if sent.is_err() {
        server.sessions.close(info.pid);
    }
    sent?;
    Ok(Started { info, unread })
}

/// The startup packet itself, after requests for encryption were answered with no.
async fn first_packet(
    stream: &mut TcpStream,
    server: &Server,
) -> Result<(u16, u16, Vec<(String, String)>), Refused> {
    // Each kind of encryption may be asked for once.
    for _ in 0..3 {
        match read_startup_packet(stream).await?.ok_or(Refused::Quietly)? {
            // What was sent behind the request is a start-up packet in plain text, which is what "no" asks for.
            StartupPacket::Ssl | StartupPacket::Gss => stream.write_all(b"N").await?,
            StartupPacket::Cancel { pid, secret } => {
                server.sessions.cancel_request(pid, secret);
                return Err(Refused::Quietly);
            }
            StartupPacket::Startup {
                major,
                minor,
                parameters,
            } => return Ok((major, minor, parameters)),
        }
    }
    Err(Error::from(SessionError::Protocol("expected a startup packet".into())).into())
}

async fn authenticate(
    stream: &mut TcpStream,
    out: &mut BytesMut,
    unread: &mut BytesMut,
    user: &str,
    verifier: &Verifier,
) -> Result<(), Refused> {
    put(
        out,
        Message::Authentication(Authentication::SASL(vec![auth::MECHANISM.to_owned()])),
    )?;
    let mut exchange = Exchange::new(verifier);
    loop {
        stream.write_all_buf(out).await?;
        let frame = read_frame(stream, unread).await?.ok_or(Refused::Quietly)?;
        if frame.kind != b'p' {
            let text = format!("expected SASL response, got message type {}", frame.kind);
            return Err(Error::from(SessionError::Protocol(text)).into());
        }
        match exchange.next(user, frame.body)? {
            Step::Continue(challenge, next) => {
                put(
                    out,
                    Message::Authentication(Authentication::SASLContinue(challenge)),
                )?;
                exchange = next;
            }
            Step::Done(proof) => {
                put(out, Message::Authentication(Authentication::SASLFinal(proof)))?;
                return Ok(());
            }
        }
    }
}

fn put(out: &mut BytesMut, message: Message) -> Result<()> {
    message
        .encode(out)
        .map_err(|e| Error::Bug(format!("a message could not be encoded: {e}")))
}
