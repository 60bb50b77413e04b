//! The columns of each kind of event.

use std::sync::Arc;

use ::nexmark::event::{Auction, Bid, Event as Nexmark, Person};
use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray};
use millpond_catalog::{Column, SqlType};

use super::options::Table;
use crate::error::{Error, Result};

/// An event and when it happened.
pub struct Event {
    pub time_us: i64,
    pub event: Nexmark,
}

/// A column: its name and how its value is found.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    name: &'static str,
    value: Value,
}

#[derive(Debug, Clone, Copy)]
enum Value {
    Whole(fn(&Nexmark) -> Option<usize>),
    Text(fn(&Nexmark) -> Option<&str>),
    Time,
    /// Milliseconds by the generator's own times, as a distance from the event's.
    Later(fn(&Nexmark) -> Option<u64>),
}

const fn field(name: &'static str, value: Value) -> Field {
    Field { name, value }
}

fn person(event: &Nexmark) -> Option<&Person> {
    match event {
        Nexmark::Person(person) => Some(person),
        Nexmark::Auction(_) | Nexmark::Bid(_) => None,
    }
}

fn auction(event: &Nexmark) -> Option<&Auction> {
    match event {
        Nexmark::Auction(auction) => Some(auction),
        Nexmark::Person(_) | Nexmark::Bid(_) => None,
    }
}

fn bid(event: &Nexmark) -> Option<&Bid> {
    match event {
        Nexmark::Bid(bid) => Some(bid),
        Nexmark::Person(_) | Nexmark::Auction(_) => None,
    }
}

const PERSON: &[Field] = &[
    field("id", Value::Whole(|event| Some(person(event)?.id))),
    field("name", Value::Text(|event| Some(&person(event)?.name))),
    field(
        "email_address",
        Value::Text(|event| Some(&person(event)?.email_address)),
    ),
    field(
        "credit_card",
        Value::Text(|event| Some(&person(event)?.credit_card)),
    ),
    field("city", Value::Text(|event| Some(&person(event)?.city))),
    field("state", Value::Text(|event| Some(&person(event)?.state))),
    field("date_time", Value::Time),
    field("extra", Value::Text(|event| Some(&person(event)?.extra))),
];

const AUCTION: &[Field] = &[
    field("id", Value::Whole(|event| Some(auction(event)?.id))),
    field("item_name", Value::Text(|event| Some(&auction(event)?.item_name))),
    field(
        "description",
        Value::Text(|event| Some(&auction(event)?.description)),
    ),
    field(
        "initial_bid",
        Value::Whole(|event| Some(auction(event)?.initial_bid)),
    ),
    field("reserve", Value::Whole(|event| Some(auction(event)?.reserve))),
    field("date_time", Value::Time),
    field(
        "expires",
        Value::Later(|event| auction(event).map(|auction| auction.expires.saturating_sub(auction.date_time))),
    ),
    field("seller", Value::Whole(|event| Some(auction(event)?.seller))),
    field("category", Value::Whole(|event| Some(auction(event)?.category))),
    field("extra", Value::Text(|event| Some(&auction(event)?.extra))),
];

const BID: &[Field] = &[
    field("auction", Value::Whole(|event| Some(bid(event)?.auction))),
    field("bidder", Value::Whole(|event| Some(bid(event)?.bidder))),
    field("price", Value::Whole(|event| Some(bid(event)?.price))),
    field("channel", Value::Text(|event| Some(&bid(event)?.channel))),
    field("url", Value::Text(|event| Some(&bid(event)?.url))),
    field("date_time", Value::Time),
    field("extra", Value::Text(|event| Some(&bid(event)?.extra))),
];

fn fields(table: Table) -> &'static [Field] {
    match table {
        Table::Person => PERSON,
        Table::Auction => AUCTION,
        Table::Bid => BID,
    }
}

/// All columns of a kind of event.
pub fn columns(table: Table) -> Vec<Column> {
    let column = |field: &Field| Column {
        name: field.name.to_owned(),
        sql_type: field.sql_type(),
        nullable: true,
        default: None,
    };
    fields(table).iter().map(column).collect()
}

/// The field of each declared column: `dateTime` is `date_time`.
pub fn of_columns(table: Table, columns: &[Column]) -> Result<Vec<Field>> {
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let of_column = |column: &Column| {
        let found = fields(table)
            .iter()
            .find(|field| plain(field.name) == plain(&column.name) && field.sql_type() == column.sql_type);
        found.copied().ok_or_else(|| {
            let known = fields(table)
                .iter()
                .map(|field| format!("{} {}", field.name, field.sql_type()));
            Error::Columns {
                message: format!(
                    "connector \"nexmark\" has no column \"{}\" of type {} in this table",
                    column.name, column.sql_type
                ),
                hint: Some(format!(
                    "Its columns are {}; the column list may be left out.",
                    known.collect::<Vec<_>>().join(", ")
                )),
            }
        })
    };
    columns.iter().map(of_column).collect()
}

impl Field {
    fn sql_type(&self) -> SqlType {
        match self.value {
            Value::Whole(_) => SqlType::Int8,
            Value::Text(_) => SqlType::Text,
            Value::Time | Value::Later(_) => SqlType::Timestamp,
        }
    }

    /// The column of `rows`.
    pub fn array(&self, rows: &[Event]) -> ArrayRef {
        match self.value {
            Value::Whole(value) => {
                let values = rows.iter().map(|row| value(&row.event).map(|value| value as i64));
                Arc::new(values.collect::<Int64Array>())
            }
            Value::Text(value) => Arc::new(rows.iter().map(|row| value(&row.event)).collect::<StringArray>()),
            Value::Time => Arc::new(TimestampMicrosecondArray::from_iter_values(
                rows.iter().map(|row| row.time_us),
            )),
            Value::Later(millis) => {
                let later = |row: &Event| {
                    let micros = i64::try_from(millis(&row.event)?).ok()?.checked_mul(1000)?;
                    row.time_us.checked_add(micros)
                };
                Arc::new(rows.iter().map(later).collect::<TimestampMicrosecondArray>())
            }
        }
    }
}
