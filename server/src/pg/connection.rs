//! One client's connection: messages in, one at a time, answers out.
//!
//! A task of its own reads ahead, so that a client that goes away is noticed while its statement runs.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::response::{NotificationResponse, ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::ParameterStatus;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::error::{Ending, Report, notice_message};
use super::message::{Bind, FrameError, Frontend, read_frame};
use super::outbox::Outbox;
use super::startup::Started;
use crate::error::{CancelReason, Error, Result, SessionError};
use crate::execute::{Execution, commit};
use crate::outcome::{Notice, Severity};
use crate::server::Server;
use crate::session::settings::reported;
use crate::session::{Notification, Session, SessionInfo, Transaction, Work};

/// Messages that are read before the ones ahead of them are done.
const MESSAGES_WAITING_MAX: usize = 16;
/// How long a farewell may take to reach a client that does not read.
const FAREWELL: Duration = Duration::from_secs(1);

pub struct Connection {
    pub(super) server: Arc<Server>,
    pub(super) session: Session,
    pub(super) outbox: Outbox<OwnedWriteHalf>,
    inbox: mpsc::Receiver<Incoming>,
    /// After an error in the extended protocol: everything up to the next Sync is left out.
    skipping: bool,
    /// Between ReadyForQuery and the next message.
    resting: bool,
    /// The settings that the client was told last.
    told: Vec<(&'static str, String)>,
    told_version: u64,
}

pub(super) enum Incoming {
    Message {
        kind: u8,
        message: Result<Frontend>,
    },
    /// What follows cannot be told apart any more.
    Broken(String),
}

/// Whether the connection goes on after a message.
enum Next {
    Continue,
    Close,
}

/// The session is unregistered however the connection ends.
struct Registration {
    server: Arc<Server>,
    pid: i32,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.server.sessions.close(self.pid);
    }
}

/// Serves a client whose start-up is done until it or the server ends the connection.
pub async fn serve(stream: TcpStream, started: Started, server: Arc<Server>) {
    let Started { info, unread } = started;
    let _registration = Registration {
        server: server.clone(),
        pid: info.pid,
    };
    let (reader, writer) = stream.into_split();
    let (sender, inbox) = mpsc::channel(MESSAGES_WAITING_MAX);
    let reading = tokio::spawn(read_messages(reader, unread, sender, info.clone()));
    let told = told_settings(&info);
    let told_version = info.settings.read().version();
    let locks = server.table_locks.clone();
    let mut connection = Connection {
        server,
        session: Session::new(info, locks),
        outbox: Outbox::new(writer),
        inbox,
        skipping: false,
        resting: false,
        told,
        told_version,
    };
    if let Err(error) = connection.run().await {
        connection.farewell(&error).await;
    }
    connection.abandon().await;
    reading.abort();
}

fn told_settings(info: &SessionInfo) -> Vec<(&'static str, String)> {
    reported(info.settings.read().current())
        .map(|(name, value)| (name, value.to_owned()))
        .collect()
}

async fn read_messages(
    mut reader: OwnedReadHalf,
    mut buffer: BytesMut,
    sender: mpsc::Sender<Incoming>,
    info: Arc<SessionInfo>,
) {
    loop {
        let incoming = match read_frame(&mut reader, &mut buffer).await {
            Ok(Some(frame)) => Incoming::Message {
                kind: frame.kind,
                message: frame.decode(),
            },
            Err(FrameError::Invalid(text)) => Incoming::Broken(text),
            Ok(None) | Err(FrameError::Gone) => {
                info.cancel(CancelReason::ClientGone);
                return;
            }
        };
        let last = matches!(
            incoming,
            Incoming::Broken(_)
                | Incoming::Message {
                    message: Ok(Frontend::Terminate),
                    ..
                }
        );
        if sender.send(incoming).await.is_err() || last {
            return;
        }
    }
}

impl Connection {
    /// # Errors
    /// What the client is told before the connection is closed.
    async fn run(&mut self) -> Result<()> {
        self.ready().await?;
        while let Some(incoming) = self.next_message().await? {
            self.resting = false;
            let next = match incoming {
                Incoming::Broken(text) => return Err(SessionError::Protocol(text).into()),
                Incoming::Message {
                    message: Ok(message), ..
                } => self.handle(message).await?,
                Incoming::Message {
                    kind,
                    message: Err(error),
                } => {
                    self.handle_malformed(kind, error).await?;
                    Next::Continue
                }
            };
            if matches!(next, Next::Close) {
                break;
            }
        }
        self.outbox.close().await;
        Ok(())
    }

    pub(super) async fn next_message(&mut self) -> Result<Option<Incoming>> {
        let idle_limit = self.idle_limit();
        let idle = tokio::time::sleep(idle_limit.unwrap_or_default());
        tokio::pin!(idle);
        loop {
            let tells = self.resting && !self.session.transaction.in_block();
            let notification = tokio::select! {
                biased;
                () = self.session.info.terminate.cancelled() => {
                    return Err(Error::Cancelled(CancelReason::Terminated));
                }
                incoming = self.inbox.recv() => return Ok(incoming),
                notification = self.session.notifications.recv(), if tells => notification,
                () = &mut idle, if idle_limit.is_some() => {
                    return Err(SessionError::IdleInTransaction.into());
                }
            };
            if let Some(notification) = notification {
                self.put_notification(notification)?;
                self.flush().await?;
            }
        }
    }

    fn put_notification(&mut self, notification: Notification) -> Result<()> {
        let Notification {
            pid,
            channel,
            payload,
        } = notification;
        self.outbox
            .put(Message::NotificationResponse(NotificationResponse::new(
                pid, channel, payload,
            )))
    }

    /// Drops what an open transaction has created, and the session's temporary tables.
    async fn abandon(&mut self) {
        self.session.made.discard();
        let mut undone = self.session.made.take_undone();
        undone.extend(self.session.temporary_objects(&self.server.coordinator.catalog()));
        if !undone.is_empty()
            && let Err(error) = self.server.coordinator.undo(undone).await
        {
            tracing::warn!(%error, "what an unfinished transaction created could not be dropped");
        }
    }

    /// How long the client may leave a transaction open without doing anything.
    fn idle_limit(&self) -> Option<Duration> {
        if !self.session.transaction.in_block() {
            return None;
        }
        let settings = self.session.info.settings.read();
        let limit_ms = settings.current().idle_in_transaction_timeout_ms();
        (limit_ms > 0).then(|| Duration::from_millis(limit_ms))
    }

    async fn handle(&mut self, message: Frontend) -> Result<Next> {
        if self.skipping && !matches!(message, Frontend::Sync | Frontend::Terminate) {
            return Ok(Next::Continue);
        }
        match message {
            Frontend::Query(text) => self.simple_query(&text).await?,
            Frontend::Parse { name, text, types } => {
                let result = self.parse(name, &text, &types);
                self.answered(result).await?;
            }
            Frontend::Bind(Bind { .. })
            | Frontend::Describe { .. }
            | Frontend::Execute { .. }
            | Frontend::Close { .. } => {
                let result = self.extended(message).await;
                self.answered(result).await?;
            }
            Frontend::Flush => self.flush().await?,
            Frontend::Sync => {
                self.skipping = false;
                self.end_group().await?;
                self.ready().await?;
            }
            Frontend::Terminate => return Ok(Next::Close),
            // A client that copies although its COPY has failed; the server drops it, as Postgres does.
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => {}
            Frontend::FunctionCall => {
                let message = "the function call message is not supported".to_owned();
                self.report(&SessionError::Unsupported { message, hint: None }.into())
                    .await?;
                self.ready().await?;
            }
            Frontend::Password(_) => {
                return Err(SessionError::Protocol("unexpected password message".into()).into());
            }
        }
        Ok(Next::Continue)
    }

    /// Ends statements that belong together: outside a block, what they changed is committed.
    pub(super) async fn end_group(&mut self) -> Result<()> {
        self.session.grouped = false;
        if self.session.transaction.in_block() {
            return Ok(());
        }
        if let Err(error) = commit(&self.server, &mut self.session).await {
            self.session.fail();
            self.report(&error).await?;
        }
        self.session.end_portals();
        self.session.send_notifications();
        Ok(())
    }

    async fn extended(&mut self, message: Frontend) -> Result<()> {
        match message {
            Frontend::Bind(bind) => self.bind(bind),
            Frontend::Describe { target, name } => self.describe(target, &name),
            Frontend::Execute { portal, rows_max } => self.execute(&portal, rows_max).await,
            Frontend::Close { target, name } => self.close(target, &name),
            other => Err(Error::Bug(format!(
                "{other:?} is no message of the extended protocol"
            ))),
        }
    }

    /// A message whose frame is whole and whose content is not.
    async fn handle_malformed(&mut self, kind: u8, error: Error) -> Result<()> {
        if self.skipping {
            return Ok(());
        }
        // After a query the client waits for ReadyForQuery, after anything else it will send a Sync.
        if kind != b'Q' {
            return self.answered(Err(error)).await;
        }
        self.session.fail();
        self.report(&error).await?;
        self.ready().await
    }

    /// Reports an error of the extended protocol at once and leaves out what follows up to the next Sync.
    async fn answered(&mut self, result: Result<()>) -> Result<()> {
        let Err(error) = result else { return Ok(()) };
        self.skipping = true;
        self.session.fail();
        self.report(&error).await?;
        self.flush().await
    }

    /// Tells the client about an error of a statement.
    ///
    /// # Errors
    /// One that ends the connection.
    pub(super) async fn report(&mut self, error: &Error) -> Result<()> {
        if let Error::Cancelled(CancelReason::Terminated | CancelReason::ClientGone) = error {
            return Err(error.clone());
        }
        let report = Report::of(error);
        if report.sqlstate.starts_with("XX") {
            tracing::error!(pid = self.session.info.pid, %error, "statement failed");
        } else {
            tracing::debug!(pid = self.session.info.pid, %error, sqlstate = report.sqlstate, "statement failed");
        }
        self.put_notices()?;
        self.outbox.put(report.message(Ending::Error))
    }

    /// Settings that changed, then ReadyForQuery.
    pub(super) async fn ready(&mut self) -> Result<()> {
        self.put_notices()?;
        self.put_changed_settings()?;
        while !self.session.transaction.in_block()
            && let Ok(notification) = self.session.notifications.try_recv()
        {
            self.put_notification(notification)?;
        }
        self.resting = true;
        let status = match self.session.transaction {
            Transaction::Idle => TransactionStatus::Idle,
            Transaction::Block { .. } => TransactionStatus::Transaction,
            Transaction::Failed { .. } => TransactionStatus::Error,
        };
        self.outbox
            .put(Message::ReadyForQuery(ReadyForQuery::new(status)))?;
        self.flush().await
    }

    fn put_changed_settings(&mut self) -> Result<()> {
        let version = self.session.info.settings.read().version();
        if version == self.told_version {
            return Ok(());
        }
        self.told_version = version;
        let now = told_settings(&self.session.info);
        for ((name, value), (_, before)) in now.iter().zip(&self.told) {
            // Fixed by the log-in.
            if value != before && *name != "session_authorization" {
                self.outbox.put(Message::ParameterStatus(ParameterStatus::new(
                    (*name).to_owned(),
                    value.clone(),
                )))?;
            }
        }
        self.told = now;
        Ok(())
    }

    pub(super) fn put_notices(&mut self) -> Result<()> {
        let notices = std::mem::take(&mut self.session.notices);
        if notices.is_empty() {
            return Ok(());
        }
        let least = self.least_severity();
        for notice in notices.iter().filter(|notice| rank(notice) >= least) {
            self.outbox.put(notice_message(notice))?;
        }
        Ok(())
    }

    /// What `client_min_messages` lets through, as a [`rank`].
    fn least_severity(&self) -> u8 {
        let settings = self.session.info.settings.read();
        match settings.current().get("client_min_messages") {
            Ok("error") => 3,
            Ok("warning") => 2,
            _ => 1,
        }
    }

    pub(super) fn now_us(&self) -> i64 {
        self.server.clock.now_us()
    }

    pub(super) fn begin_work(&self, query: &str) -> Work {
        Work::begin(&self.session.info, query, self.now_us())
    }

    pub(super) fn end_work(&self, work: Work) {
        work.end(self.session.activity_state(), self.now_us());
    }

    pub(super) fn execution<'a>(&'a mut self, work: &'a Work) -> Execution<'a> {
        Execution {
            server: &self.server,
            session: &mut self.session,
            work,
            created: None,
        }
    }

    /// Sends what was gathered. A client that does not read holds this up; the end of the server does not wait for it.
    pub(super) async fn flush(&mut self) -> Result<()> {
        tokio::select! {
            biased;
            sent = self.outbox.flush() => sent.map_err(|_| Error::Cancelled(CancelReason::ClientGone)),
            () = self.session.info.terminate.cancelled() => Err(Error::Cancelled(CancelReason::Terminated)),
        }
    }

    async fn farewell(&mut self, error: &Error) {
        if let Error::Cancelled(CancelReason::ClientGone) = error {
            return;
        }
        tracing::info!(pid = self.session.info.pid, %error, "connection closed");
        // Encoding cannot fail and the client may be gone.
        let _ = self.outbox.put(Report::of(error).message(Ending::Fatal));
        let _ = tokio::time::timeout(FAREWELL, self.outbox.close()).await;
    }
}

/// Severities in the order of `client_min_messages`; INFO always gets through.
fn rank(notice: &Notice) -> u8 {
    match notice.severity {
        Severity::Notice => 1,
        Severity::Warning => 2,
        Severity::Info => u8::MAX,
    }
}
