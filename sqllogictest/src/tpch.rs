//! Rows of TPC-H, as lines or as INSERT statements, and changes to them.

use std::fmt::Display;

use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// Rows of one INSERT.
const ROWS_PER_INSERT: usize = 500;

/// A table's rows, each with its values between `|`, as COPY reads them.
pub struct Table {
    pub name: &'static str,
    pub rows: Vec<String>,
}

/// All eight tables. At scale 1 there are six million lines of orders, at 0.001 six thousand.
pub fn tables(scale: f64) -> Vec<Table> {
    fn table<Row: Display>(name: &'static str, rows: impl Iterator<Item = Row>) -> Table {
        let line = |row: Row| row.to_string().trim_end_matches('|').to_owned();
        Table {
            name,
            rows: rows.map(line).collect(),
        }
    }
    vec![
        table("region", RegionGenerator::new(scale, 1, 1).iter()),
        table("nation", NationGenerator::new(scale, 1, 1).iter()),
        table("part", PartGenerator::new(scale, 1, 1).iter()),
        table("supplier", SupplierGenerator::new(scale, 1, 1).iter()),
        table("partsupp", PartSuppGenerator::new(scale, 1, 1).iter()),
        table("customer", CustomerGenerator::new(scale, 1, 1).iter()),
        table("orders", OrderGenerator::new(scale, 1, 1).iter()),
        table("lineitem", LineItemGenerator::new(scale, 1, 1).iter()),
    ]
}

/// `('1', 'it''s')` of `1|it's`.
fn values(line: &str) -> String {
    let quoted: Vec<_> = line
        .split('|')
        .map(|field| format!("'{}'", field.replace('\'', "''")))
        .collect();
    format!("({})", quoted.join(", "))
}

/// INSERT statements for all rows in `chunks` parts, each with rows of all tables, in an order that `random` makes.
pub fn inserts(mut tables: Vec<Table>, chunks: usize, random: &mut ChaCha8Rng) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new(); chunks];
    for table in &mut tables {
        table.rows.shuffle(random);
        let size = table.rows.len().div_ceil(chunks);
        for (part, rows) in parts.iter_mut().zip(table.rows.chunks(size)) {
            let insert = |rows: &[String]| {
                let rows: Vec<_> = rows.iter().map(|line| values(line)).collect();
                format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "))
            };
            part.extend(rows.chunks(ROWS_PER_INSERT).map(insert));
        }
    }
    parts.iter_mut().for_each(|part| part.shuffle(random));
    parts
}

/// A change of some rows that some of the queries look at.
pub fn change(random: &mut ChaCha8Rng) -> String {
    const CHANGES: [&str; 16] = [
        "DELETE FROM lineitem WHERE l_orderkey % 16 = {}",
        "UPDATE lineitem SET l_quantity = 51 - l_quantity WHERE l_orderkey % 16 = {}",
        "UPDATE lineitem SET l_discount = 0.11 - l_discount, l_shipmode = 'AIR' WHERE l_partkey % 16 = {}",
        "UPDATE lineitem SET l_receiptdate = l_receiptdate + 30 WHERE l_suppkey % 16 = {}",
        "UPDATE lineitem SET l_returnflag = 'R', l_linenumber = l_linenumber + 10 WHERE l_orderkey % 32 = {}",
        "DELETE FROM orders WHERE o_custkey % 32 = {}",
        "UPDATE orders SET o_orderstatus = 'F', o_orderdate = o_orderdate - 100 WHERE o_orderkey % 16 = {}",
        "UPDATE orders SET o_custkey = o_custkey + 1, o_comment = 'special requests' WHERE o_orderkey % 32 = {}",
        "DELETE FROM customer WHERE c_custkey % 32 = {}",
        "UPDATE customer SET c_mktsegment = 'BUILDING', c_acctbal = c_acctbal - 500 WHERE c_custkey % 16 = {}",
        "UPDATE customer SET c_nationkey = {} WHERE c_custkey % 10 = 3",
        "UPDATE partsupp SET ps_availqty = ps_availqty * 2, ps_supplycost = 1000 - ps_supplycost WHERE ps_partkey % 16 = {}",
        "DELETE FROM partsupp WHERE (ps_partkey + ps_suppkey) % 16 = {}",
        "UPDATE part SET p_size = 50 - p_size, p_brand = 'Brand#12' WHERE p_partkey % 16 = {}",
        "UPDATE supplier SET s_nationkey = s_nationkey + 1 - 25 * (s_nationkey / 24), s_comment = 'Customer Complaints' WHERE s_suppkey % 16 = {}",
        "UPDATE nation SET n_regionkey = 4 - n_regionkey WHERE n_nationkey % 16 = {}",
    ];
    let change = CHANGES.choose(random).expect("the list is not empty");
    change.replace("{}", &random.random_range(0..16).to_string())
}
