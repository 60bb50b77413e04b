//! Options of connector `socket`.

use std::num::NonZeroU16;

use crate::options::options;

options! {
    /// Where to connect to.
    pub struct SocketOptions {
        /// Name or address of the server.
        host: String = required,
        /// Its port.
        port: NonZeroU16 = required,
        /// How lines are read: `text`, `json`, or `csv` without a header.
        format: String = "text",
        /// A column `timestamp` holds when the line arrived.
        include_timestamp: bool = "false",
    }
}
