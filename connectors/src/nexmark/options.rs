//! Options of connector `nexmark`.

use std::num::NonZeroU64;

use crate::options::{OptionValue, options};

options! {
    /// Which events, how many and when.
    pub struct NexmarkOptions {
        /// Which kind of event the rows are. Of 50 events, 1 is a person, 3 are auctions and 46 are bids.
        table ["nexmark_table_type", "table_type"]: Table = required,
        /// Events of all kinds together; without it they have no end.
        events ["nexmark_event_num", "event_num"]: NonZeroU64 = none,
        /// Events of all kinds per second.
        events_per_second ["event_rate"]: NonZeroU64 = "1000",
        /// Events come when they are due, and their times begin when the source is created. With `false` all of them are
        /// there at once, and their times begin at 2015-07-15 00:00:00: the same rows in every run.
        real_time: bool = "true",
    }
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Person,
    Auction,
    Bid,
}

impl OptionValue for Table {
    const KIND: &'static str = "`person`, `auction` or `bid`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "person" => Ok(Table::Person),
            "auction" => Ok(Table::Auction),
            "bid" => Ok(Table::Bid),
            _ => Err(format!("\"{text}\" is not person, auction or bid")),
        }
    }
}
