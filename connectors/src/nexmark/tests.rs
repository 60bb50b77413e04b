//! The same events however they are cut.

use arrow::array::AsArray;
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use millpond_catalog::SqlType;

use super::*;
use crate::memory_notes::{self, MemoryNotes, column, options};

fn source(table: &str, more: &[(&str, &str)]) -> Arc<dyn Source> {
    let entries = [&[("table", table)], more].concat();
    let columns = (CONNECTOR.columns)(&options(&entries)).unwrap();
    memory_notes::open("nexmark", &entries, &columns, &Arc::<MemoryNotes>::default()).unwrap()
}

const FIXED: [(&str, &str); 2] = [("real_time", "false"), ("events", "1234")];

fn rows(source: &Arc<dyn Source>, from: u64, to: u64, workers: usize) -> RecordBatch {
    let all: Vec<usize> = (0..source.schema().fields().len()).collect();
    let mut batches = vec![RecordBatch::new_empty(source.schema())];
    for slice in source.slices(&position(from), &position(to), workers).unwrap() {
        let mut reader = source.open(&slice, &all).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            batches.push(batch.rows);
        }
    }
    concat_batches(&source.schema(), &batches).unwrap()
}

#[test]
fn an_event_depends_on_its_number_alone() {
    for (table, count) in [("person", 25), ("auction", 75), ("bid", 46 * 24 + 30)] {
        let source = source(table, &FIXED);
        let end = event_of(&source.latest(0).unwrap());
        let whole = rows(&source, 0, end, 1);
        assert_eq!(whole.num_rows(), count, "{table}");
        for workers in [2, 3, 100] {
            assert_eq!(rows(&source, 0, end, workers), whole, "{table}");
        }
        for cut in [1, 3, 4, 5, 49, 50, 51, 777] {
            let parts = [rows(&source, 0, cut, 2), rows(&source, cut, end, 2)];
            assert_eq!(
                concat_batches(&source.schema(), &parts).unwrap(),
                whole,
                "{table} cut at {cut}"
            );
        }
    }
}

#[test]
fn times_follow_the_numbers() {
    let source = source("bid", &[&FIXED[..], &[("events_per_second", "1000")]].concat());
    let bids = rows(&source, 0, 1234, 1);
    let times = bids
        .column_by_name("date_time")
        .unwrap()
        .as_primitive::<TimestampMicrosecondType>();
    assert_eq!(times.value(0), FIXED_START_US + 4_000);
    assert_eq!(times.value(46), FIXED_START_US + 54_000);
    let auctions = rows(&self::source("auction", &FIXED), 0, 1234, 1);
    let time = |name| {
        auctions
            .column_by_name(name)
            .unwrap()
            .as_primitive::<TimestampMicrosecondType>()
            .clone()
    };
    assert!(
        time("expires")
            .values()
            .iter()
            .zip(time("date_time").values())
            .all(|(end, begin)| end > begin)
    );
    // Bids are for auctions that exist.
    let ids = auctions.column_by_name("id").unwrap().as_primitive::<Int64Type>();
    assert_eq!((ids.value(0), ids.value(74)), (1000, 1074));
}

#[test]
fn events_come_when_they_are_due() {
    let source = source("person", &[("events_per_second", "100"), ("events", "150")]);
    assert_eq!(source.latest(-5).unwrap(), position(0));
    assert_eq!(source.latest(500_000).unwrap(), position(50));
    assert_eq!(source.latest(9_000_000).unwrap(), position(150));
    let limit = Limit {
        bytes: 1_000,
        columns: &[0],
        now_us: 500_000,
    };
    assert_eq!(
        source.advance(&source.start(), None, limit).unwrap(),
        Some(position(10))
    );
}

#[test]
fn columns_may_be_chosen_but_not_invented() {
    let entries = [&[("table", "bid")][..], &FIXED].concat();
    let check = |columns: &[Column]| crate::validate("nexmark", &options(&entries), columns);
    assert!(
        check(&[
            column("datetime", SqlType::Timestamp),
            column("price", SqlType::Int8)
        ])
        .is_ok()
    );
    let error = check(&[column("seller", SqlType::Int8)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "connector \"nexmark\" has no column \"seller\" of type bigint in this table"
    );
    let endless = options(&[("table", "bid"), ("real_time", "false")]);
    assert!(crate::validate("nexmark", &endless, &fields::columns(Table::Bid)).is_err());
}
