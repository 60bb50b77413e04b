//! What becomes of rows that cannot be decoded: the same for every format.

use millpond_catalog::{Column, SqlType};

use crate::error::{Error, Result};
use crate::options::{OptionReader, OptionSpec, OptionValue, options};

options! {
    /// Options that every format has.
    pub struct BadRowOptions {
        /// What becomes of a row that cannot be decoded or whose values do not fit the columns. `quarantine` puts it into
        /// `sys.bad_rows` with its bytes, position and error; `null` keeps the row, with NULL for what could not be read;
        /// `drop` leaves it out; `fail` stops the query.
        on_bad_row ["mode", "bad_data"]: OnBadRow = "quarantine",
        /// `true` is `on_bad_row = 'drop'`.
        ignore_parse_errors ["json_ignore_parse_errors", "csv_ignore_parse_errors"]: bool = none,
        /// A declared column of type text that holds the text of the row where something in it was bad, and NULL
        /// elsewhere. Of use with `on_bad_row = 'null'`.
        column_name_of_corrupt_record: String = none,
    }
}

pub const OPTIONS: &[OptionSpec] = BadRowOptions::SPECS;

/// What becomes of a row that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBadRow {
    /// Set aside in `sys.bad_rows` with its bytes, position and error.
    Quarantine,
    /// Left out.
    Drop,
    /// Kept, with NULL for what could not be read.
    Null,
    /// The query stops.
    Fail,
}

impl OptionValue for OnBadRow {
    const KIND: &'static str =
        "`quarantine`, `drop`, `null` or `fail`; Spark's `DROPMALFORMED`, `PERMISSIVE`, `FAILFAST`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "quarantine" => Ok(OnBadRow::Quarantine),
            "drop" | "dropmalformed" => Ok(OnBadRow::Drop),
            "null" | "permissive" => Ok(OnBadRow::Null),
            "fail" | "failfast" => Ok(OnBadRow::Fail),
            _ => Err(format!("\"{text}\" is not quarantine, drop, null or fail")),
        }
    }
}

/// What to do with bad rows, and the position of the column that takes their text.
#[derive(Debug, Clone, Copy)]
pub struct BadRows {
    pub policy: OnBadRow,
    pub corrupt: Option<usize>,
}

impl BadRows {
    pub fn read(reader: &mut OptionReader<'_>, columns: &[Column]) -> Result<BadRows> {
        let options = BadRowOptions::read(reader)?;
        let policy = match options.ignore_parse_errors {
            Some(true) => OnBadRow::Drop,
            Some(false) | None => options.on_bad_row,
        };
        let corrupt = match &options.column_name_of_corrupt_record {
            Some(name) => Some(corrupt_column(name, columns)?),
            None => None,
        };
        if policy == OnBadRow::Null
            && let Some(column) = columns.iter().find(|column| !column.nullable)
        {
            return Err(Error::Columns {
                message: format!("column \"{}\" is NOT NULL, but bad rows become NULL", column.name),
                hint: Some("Drop NOT NULL, or choose another on_bad_row.".to_owned()),
            });
        }
        Ok(BadRows { policy, corrupt })
    }

    /// The column that takes the text of bad rows, if it is wanted. Whether a row is bad then depends on every column.
    pub fn wanted(&self, projection: &[usize]) -> Option<usize> {
        self.corrupt.filter(|corrupt| projection.contains(corrupt))
    }
}

/// The position of the column that takes the text of bad rows.
fn corrupt_column(name: &str, columns: &[Column]) -> Result<usize> {
    let position = columns
        .iter()
        .position(|column| column.name.eq_ignore_ascii_case(name));
    let fits = |column: &Column| {
        matches!(column.sql_type, SqlType::Text | SqlType::Varchar(None)) && column.nullable
    };
    position
        .filter(|position| fits(&columns[*position]))
        .ok_or_else(|| Error::Columns {
            message: format!(
                "column_name_of_corrupt_record names \"{name}\", which is not a column of type text"
            ),
            hint: Some(format!("Declare it: {name} text")),
        })
}
