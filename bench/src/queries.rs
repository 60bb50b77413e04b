//! The queries, as a view and as the equivalent batch query of DataFusion, which has no windows of ours.

/// A query of the benchmark.
pub struct Query {
    pub name: &'static str,
    /// Options of the view, with their comma or empty.
    pub options: &'static str,
    pub view: &'static str,
    pub batch: &'static str,
}

pub const QUERIES: &[Query] = &[
    Query {
        name: "P0",
        options: "",
        view: "SELECT * FROM bid",
        batch: "SELECT * FROM bid",
    },
    Query {
        name: "P1",
        options: "",
        view: "SELECT auction, price FROM bid WHERE auction % 123 = 0",
        batch: "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    },
    Query {
        name: "T1",
        options: "WITH (output_mode = 'append')",
        view: "SELECT window_start, auction, count(*) AS n, sum(price) AS total, avg(price) AS mean \
               FROM tumble(bid, datetime, INTERVAL '10 seconds') GROUP BY window_start, auction",
        batch: "SELECT date_bin(INTERVAL '10 seconds', datetime) AS w, auction, count(*), sum(price), avg(price) \
                FROM bid GROUP BY 1, auction",
    },
    Query {
        name: "T2",
        options: "WITH (output_mode = 'append')",
        view: "SELECT window_start, auction, count(*) AS n \
               FROM hop(bid, datetime, INTERVAL '10 seconds', INTERVAL '60 seconds') GROUP BY window_start, auction",
        batch: "SELECT w, auction, count(*) FROM (SELECT auction, unnest([b, b - INTERVAL '10 seconds', \
                b - INTERVAL '20 seconds', b - INTERVAL '30 seconds', b - INTERVAL '40 seconds', \
                b - INTERVAL '50 seconds']) AS w \
                FROM (SELECT auction, date_bin(INTERVAL '10 seconds', datetime) AS b FROM bid)) GROUP BY w, auction",
    },
    Query {
        name: "T3",
        options: "WITH (output_mode = 'append')",
        view: "SELECT bidder, session_window.start AS start, count(*) AS n \
               FROM bid GROUP BY bidder, session_window(datetime, '10 seconds')",
        batch: "SELECT min(datetime), bidder, count(*) FROM (SELECT bidder, datetime, sum(begins) OVER \
                (PARTITION BY bidder ORDER BY datetime) AS session FROM (SELECT bidder, datetime, CASE WHEN datetime \
                - lag(datetime) OVER (PARTITION BY bidder ORDER BY datetime) <= INTERVAL '10 seconds' THEN 0 ELSE 1 END \
                AS begins FROM bid)) GROUP BY bidder, session",
    },
    Query {
        name: "D1",
        options: "WITH (output_mode = 'append')",
        view: "SELECT DISTINCT auction, bidder, datetime FROM bid",
        batch: "SELECT DISTINCT auction, bidder, datetime FROM bid",
    },
    Query {
        name: "A1",
        options: "",
        view: "SELECT bidder, count(*) AS n, sum(price) AS total FROM bid GROUP BY bidder",
        batch: "SELECT bidder, count(*), sum(price) FROM bid GROUP BY bidder",
    },
];

pub fn find(name: &str) -> &'static Query {
    QUERIES
        .iter()
        .find(|query| query.name == name)
        .expect("a query of the list")
}
