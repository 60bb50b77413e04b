//! Bids in the manner of the Nexmark benchmark, from a generator of our own.
//!
//! Of 50 events one is a person, three are auctions and 46 are bids; only the bids are made here. Every bid depends on its
//! number alone, so any range can be made anywhere and twice the same. Event time moves so that ten seconds hold 100,000
//! events, and a bid comes up to two seconds late.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::SchemaRef;
use millpond_catalog::{Column, SqlType, arrow_schema};

/// 2015-07-15 00:00 UTC, as in Nexmark.
const BASE_TIME_US: i64 = 1_436_918_400_000_000;
const EVENTS_PER_SECOND: i64 = 10_000;
const DISORDER_US: u64 = 2_000_000;
/// Disorder as the watermark of the queries allows for.
pub const WATERMARK_DELAY_US: i64 = 4_000_000;

/// One bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bid {
    pub auction: i64,
    pub bidder: i64,
    pub price: i64,
    pub channel: String,
    pub url: String,
    pub date_time_us: i64,
    pub extra: String,
}

pub fn columns() -> Vec<Column> {
    let column = |name: &str, sql_type| Column {
        name: name.to_owned(),
        sql_type,
        nullable: true,
        default: None,
    };
    vec![
        column("auction", SqlType::Int8),
        column("bidder", SqlType::Int8),
        column("price", SqlType::Int8),
        column("channel", SqlType::Text),
        column("url", SqlType::Text),
        column("datetime", SqlType::Timestamp),
        column("extra", SqlType::Text),
    ]
}

pub fn schema() -> SchemaRef {
    arrow_schema(&columns())
}

/// A stream of random numbers that belongs to one bid (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        // The bias is below 2^-40 for the bounds used here.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Bid number `number`, from 0.
pub fn bid(number: u64) -> Bid {
    let mut random = Random(number.wrapping_mul(0xd134_2543_de82_ef95));
    // Number of the event among all kinds, and how many persons and auctions there are by then.
    let event = number / 46 * 50 + 4 + number % 46;
    let (persons, auctions) = (event / 50 + 1, event / 50 * 3 + 3);
    // Half of the bids go to the newest hundredth auction, the others to one of the last hundred.
    let auction = if random.below(2) > 0 {
        (auctions - 1) / 100 * 100
    } else {
        auctions - 1 - random.below(auctions.min(100))
    };
    // Three quarters come from the newest hundredth person, the others from one of the last thousand.
    let bidder = if random.below(4) > 0 {
        (persons - 1) / 100 * 100 + 1
    } else {
        persons - 1 - random.below(persons.min(1000))
    };
    let price = (10_f64.powf(random.below(1 << 30) as f64 / f64::from(1 << 30) * 6.0) * 100.0) as i64;
    let (channel, url) = channel(&mut random);
    let late = random.below(DISORDER_US) as i64;
    Bid {
        auction: 1000 + auction as i64,
        bidder: 1000 + bidder as i64,
        price,
        channel,
        url,
        date_time_us: BASE_TIME_US + event as i64 * (1_000_000 / EVENTS_PER_SECOND) - late,
        extra: letters(&mut random, 60),
    }
}

fn channel(random: &mut Random) -> (String, String) {
    const HOT: [&str; 4] = ["Google", "Facebook", "Baidu", "Apple"];
    if random.below(2) > 0 {
        let index = random.below(4);
        (
            HOT[index as usize].to_owned(),
            format!("https://www.nexmark.com/hot{index}/item.htm?query=1"),
        )
    } else {
        let id = random.below(10_000);
        (
            format!("channel-{id}"),
            format!(
                "https://www.nexmark.com/{}/item.htm?query=1&channel_id={id}",
                letters(random, 14)
            ),
        )
    }
}

fn letters(random: &mut Random, length: usize) -> String {
    (0..length)
        .map(|_| char::from(b'a' + (random.below(26)) as u8))
        .collect()
}

impl Bid {
    /// Appends the bid as a JSON line.
    pub fn write_json(&self, output: &mut String) {
        let time = chrono_text(self.date_time_us);
        let _never = writeln!(
            output,
            "{{\"auction\":{},\"bidder\":{},\"price\":{},\"channel\":\"{}\",\"url\":\"{}\",\"dateTime\":\"{time}\",\"extra\":\"{}\"}}",
            self.auction, self.bidder, self.price, self.channel, self.url, self.extra
        );
    }
}

/// `2015-07-15T00:00:00.123456`.
fn chrono_text(micros: i64) -> String {
    let array = TimestampMicrosecondArray::from(vec![micros]);
    let time = array.value_as_datetime(0).expect("times near 2015");
    time.format("%Y-%m-%dT%H:%M:%S%.6f").to_string()
}

/// Bids `numbers` as one batch.
pub fn batch(numbers: std::ops::Range<u64>) -> RecordBatch {
    let bids: Vec<Bid> = numbers.map(bid).collect();
    let integers =
        |of: fn(&Bid) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(bids.iter().map(of))) };
    let texts =
        |of: fn(&Bid) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(bids.iter().map(of))) };
    let times = TimestampMicrosecondArray::from_iter_values(bids.iter().map(|bid| bid.date_time_us));
    let columns = vec![
        integers(|bid| bid.auction),
        integers(|bid| bid.bidder),
        integers(|bid| bid.price),
        texts(|bid| &bid.channel),
        texts(|bid| &bid.url),
        Arc::new(times) as ArrayRef,
        texts(|bid| &bid.extra),
    ];
    RecordBatch::try_new(schema(), columns).expect("columns made after the schema")
}
