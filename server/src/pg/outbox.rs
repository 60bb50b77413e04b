//! The way to the client: messages are gathered in a buffer and sent when someone may be waiting for them.

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::error::{Error, Result};

/// The buffer is sent when it has grown to this.
pub const BUFFER_BYTES: usize = 64 << 10;

pub struct Outbox<W> {
    stream: W,
    pub buffer: BytesMut,
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    pub fn new(stream: W) -> Self {
        Self {
            stream,
            buffer: BytesMut::with_capacity(8 << 10),
        }
    }

    /// Adds a message.
    pub fn put(&mut self, message: PgWireBackendMessage) -> Result<()> {
        message
            .encode(&mut self.buffer)
            .map_err(|e| Error::Bug(format!("a message could not be encoded: {e}")))
    }

    /// Sends what was gathered.
    pub async fn flush(&mut self) -> std::io::Result<()> {
        self.stream.write_all_buf(&mut self.buffer).await?;
        self.stream.flush().await?;
        if self.buffer.capacity() > 4 * BUFFER_BYTES {
            self.buffer = BytesMut::with_capacity(BUFFER_BYTES);
        }
        Ok(())
    }

    pub fn is_full(&self) -> bool {
        self.buffer.len() >= BUFFER_BYTES
    }

    pub async fn close(&mut self) {
        // Nobody is left to tell when this fails.
        let _ = self.flush().await;
        let _ = self.stream.shutdown().await;
    }
}
