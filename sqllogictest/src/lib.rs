//! SQL suites, the runner that checks them and the generator that invents more.
//!
//! A suite is a `.slt` file: statements and the rows that must come out. The [`runner`] runs it against a real server
//! in several [`Configuration`]s: with 1, 2 and 4 workers, with the views created before or after the data, and with
//! `kill -9` between statements. None of these may change a row. After each `FLUSH` the [`oracle`] adds a check that no
//! file has to spell out: a streaming view equals its own SELECT run once.
//!
//! A [`query_set`] is judged the same way over the data of its benchmark; the [`generator`] does the same with random schemas, rows and queries.
//! [`values`] compares what expressions mean with a real [`postgres`].

mod configuration;
pub mod generator;
pub mod oracle;
pub mod postgres;
pub mod query_set;
pub mod runner;
mod session;
mod setting;
mod suite;
pub mod tpch;
pub mod values;

pub use configuration::{Configuration, Restarts, ViewOrder};
pub use session::{Session, Target};
pub use setting::setting;
pub use suite::{Suite, find_suites};
