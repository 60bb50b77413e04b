//! Text → [`Statement`] → [`Plan`].
//!
//! [`parse`] knows grammar and no names; [`fn@plan`] resolves names against a catalog value, types every expression and
//! checks what can be known before running. Planning reads nothing but its arguments, so a statement can be planned
//! again at start-up, when the log of DDL is replayed ([`plan_object`]).
//!
//! Deliberately absent: execution, files, clocks, SQLSTATE codes.

mod error;
pub mod float_text;
pub mod function;
mod parser;
pub mod plan;
mod planner;
mod relations;
mod settings;
pub mod statement;
mod suggest;
mod text;
pub mod text_form;
mod time_zone;

pub use error::{Error, ErrorKind, Result};
pub use parser::parse;
pub use plan::{Notice, Plan, PlanKind};
pub use planner::options::{OptionDeclaration, RELATION_OPTIONS, VIEW_OPTIONS};
pub use planner::{PlanContext, ROW_NUMBER, optimize, plan, plan_object, read_text};
pub use relations::{Relations, Windows};
pub use settings::{SETTINGS, Setting, SettingType, Settings};
/// Every word that SQL gives a meaning, in upper case.
pub use sqlparser::keywords::ALL_KEYWORDS as KEYWORDS;
pub use statement::{ParsedStatement, Statement};
pub use text::SourceText;
pub use time_zone::TimeZone;
