//! Values of every type, edges first.

use rand::Rng;
use rand::seq::IndexedRandom;

/// The type of a value, as templates name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Bytea,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    IntArray,
    TextArray,
}

impl Type {
    pub const ALL: [Type; 17] = [
        Type::Bool,
        Type::Int2,
        Type::Int4,
        Type::Int8,
        Type::Float4,
        Type::Float8,
        Type::Numeric,
        Type::Text,
        Type::Bytea,
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::Timestamptz,
        Type::Interval,
        Type::Uuid,
        Type::IntArray,
        Type::TextArray,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Type::Bool => "boolean",
            Type::Int2 => "smallint",
            Type::Int4 => "integer",
            Type::Int8 => "bigint",
            Type::Float4 => "real",
            Type::Float8 => "double precision",
            Type::Numeric => "numeric",
            Type::Text => "text",
            Type::Bytea => "bytea",
            Type::Date => "date",
            Type::Time => "time",
            Type::Timestamp => "timestamp",
            Type::Timestamptz => "timestamptz",
            Type::Interval => "interval",
            Type::Uuid => "uuid",
            Type::IntArray => "integer[]",
            Type::TextArray => "text[]",
        }
    }

    /// Its name in a template.
    pub fn hole(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::Int2 => "int2",
            Type::Int4 => "int4",
            Type::Int8 => "int8",
            Type::Float4 => "float4",
            Type::Float8 => "float8",
            Type::Numeric => "numeric",
            Type::Text => "text",
            Type::Bytea => "bytea",
            Type::Date => "date",
            Type::Time => "time",
            Type::Timestamp => "timestamp",
            Type::Timestamptz => "timestamptz",
            Type::Interval => "interval",
            Type::Uuid => "uuid",
            Type::IntArray => "int4[]",
            Type::TextArray => "text[]",
        }
    }

    /// Values at the borders of the type and around them.
    fn edges(self) -> &'static [&'static str] {
        match self {
            Type::Bool => &["true", "false"],
            Type::Int2 => &["0", "1", "-1", "7", "32767", "-32768"],
            Type::Int4 => &["0", "1", "-1", "12", "2147483647", "-2147483648"],
            Type::Int8 => &[
                "0",
                "1",
                "-1",
                "40",
                "9223372036854775807",
                "-9223372036854775808",
            ],
            Type::Float4 => &[
                "0",
                "-0",
                "1.5",
                "-2.25",
                "NaN",
                "Infinity",
                "-Infinity",
                "3.4e38",
                "1e-40",
            ],
            Type::Float8 => &[
                "0",
                "-0",
                "1.5",
                "-2.5",
                "0.1",
                "NaN",
                "Infinity",
                "-Infinity",
                "1e308",
                "1e-310",
                "1e15",
                "1e16",
            ],
            Type::Numeric => &[
                "0",
                "1",
                "-1",
                "0.5",
                "-2.5",
                "123.4500",
                "99999999.99",
                "0.000001",
            ],
            Type::Text => &[
                "",
                "a",
                "A",
                "abc",
                "  x y ",
                "héllo",
                "日本語",
                "a,b,c",
                "100",
                "%",
                "a_b",
                "O'Brien",
                "\\",
            ],
            Type::Bytea => &["\\x", "\\x00", "\\x616263", "\\xdeadbeef", "\\xff00"],
            _ => self.edges_of_times_and_more(),
        }
    }

    fn edges_of_times_and_more(self) -> &'static [&'static str] {
        match self {
            Type::Date => &[
                "1970-01-01",
                "2024-02-29",
                "1999-12-31",
                "0001-01-01",
                "9999-12-31",
                "2023-01-01",
            ],
            Type::Time => &["00:00:00", "23:59:59.999999", "12:34:56", "01:02:03.5"],
            Type::Timestamp | Type::Timestamptz => &[
                "1970-01-01 00:00:00",
                "2024-02-29 23:59:59.999999",
                "1969-12-31 12:00:00.5",
                "2000-01-01 00:00:00",
                "9999-12-31 23:59:59",
                "2023-03-31 10:20:30",
            ],
            Type::Interval => &[
                "0",
                "1 day",
                "24 hours",
                "1 month",
                "30 days",
                "-1 month 2 days",
                "1 year 2 mons 3 days 04:05:06.789",
                "-00:00:01.5",
                "36 hours",
                "1 year",
                "12 months",
            ],
            Type::Uuid => &[
                "00000000-0000-0000-0000-000000000000",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            ],
            Type::IntArray => &["{}", "{1}", "{1,2,3}", "{3,NULL,1}", "{2,2}"],
            Type::TextArray => &["{}", "{a}", "{a,b,NULL}", "{\"\",\"x y\"}", "{b,a}"],
            _ => &[],
        }
    }

    /// What stands between the quotes of a literal; `None` is NULL.
    pub fn value(self, random: &mut impl Rng) -> Option<String> {
        if random.random_ratio(1, 10) {
            return None;
        }
        if random.random_ratio(1, 2) {
            return self.edges().choose(random).map(|edge| (*edge).to_owned());
        }
        let cents =
            |random: &mut dyn rand::RngCore| f64::from(random.random_range(-100_000..100_000)) / 100.0;
        Some(match self {
            Type::Int2 | Type::Int4 | Type::Int8 => random.random_range(-9..=30).to_string(),
            Type::Float4 | Type::Float8 => (f64::from(random.random_range(-64..64)) / 8.0).to_string(),
            Type::Numeric => format!("{:.2}", cents(random)),
            Type::Text => {
                let length = random.random_range(0..6);
                (0..length)
                    .map(|_| {
                        *['a', 'b', 'c', 'X', ' ', 'é', '1']
                            .choose(random)
                            .expect("letters")
                    })
                    .collect()
            }
            Type::Date => format!(
                "20{:02}-{:02}-{:02}",
                random.random_range(10..30),
                random.random_range(1..=12),
                random.random_range(1..=28)
            ),
            Type::Time => format!(
                "{:02}:{:02}:00",
                random.random_range(0..24),
                random.random_range(0..60)
            ),
            Type::Timestamp | Type::Timestamptz => format!(
                "20{:02}-{:02}-{:02} {:02}:{:02}:{:02}",
                random.random_range(10..30),
                random.random_range(1..=12),
                random.random_range(1..=28),
                random.random_range(0..24),
                random.random_range(0..60),
                random.random_range(0..60)
            ),
            Type::Interval => format!(
                "{} days {} hours",
                random.random_range(-40..40),
                random.random_range(-30..30)
            ),
            Type::IntArray => format!("{{{},{}}}", random.random_range(0..4), random.random_range(0..4)),
            Type::Bool | Type::Bytea | Type::Uuid | Type::TextArray => {
                self.edges().choose(random)?.to_string()
            }
        })
    }

    /// A value in SQL, with its type.
    pub fn literal(self, random: &mut impl Rng) -> String {
        match self.value(random) {
            None => format!("NULL::{}", self.name()),
            Some(value) => format!("'{}'::{}", value.replace('\'', "''"), self.name()),
        }
    }
}
