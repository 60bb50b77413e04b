//! What the author of a query is told of state that nothing bounds.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Volatility, col, create_udf, lit};
use datafusion::scalar::ScalarValue;
use millpond_catalog::ObjectId;

use super::planner::plan;
use crate::logical::{RelationSource, Rows};
use crate::lower::dedup::DEDUP_WITHIN;
use crate::lower::{LowerOptions, lower};

fn notices(sql: &str) -> Vec<String> {
    notices_of(&plan(sql))
}

fn notices_of(plan: &LogicalPlan) -> Vec<String> {
    let dataflow = lower(plan, &LowerOptions::default()).unwrap();
    let notices = dataflow.notices();
    notices
        .map(|notice| format!("{}. {}", notice.message, notice.hint))
        .collect()
}

#[test]
fn a_join_of_streams_without_a_bound_is_told() {
    let unbounded = "the join keeps all rows of both sides for ever: its condition and the watermarks do not say when a row \
                     can find no partner any more. Have a watermark on both sides and bound the time between partners, as \
                     in r.ts BETWEEN l.ts AND l.ts + INTERVAL '1 hour'.";
    assert_eq!(notices("SELECT e.k FROM e JOIN g ON e.k = g.k"), [unbounded]);
    let bounded =
        "SELECT e.k FROM e JOIN g ON e.k = g.k AND g.ts BETWEEN e.ts AND e.ts + INTERVAL '1 minute'";
    assert_eq!(notices(bounded), [""; 0]);
    // A table has rows that go, and is kept anyway.
    assert_eq!(notices("SELECT e.k FROM e JOIN t ON e.k = t.k"), [""; 0]);
}

#[test]
fn keys_that_are_never_forgotten_are_told() {
    let source = RelationSource {
        object: ObjectId(77),
        name: "s".to_owned(),
        schema: Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true)])),
        watermark: None,
        times: Vec::new(),
        append_only: true,
        rows: Rows::Snapshot,
    };
    let never = Arc::new(|_: &[_]| unreachable!("it only marks the keys"));
    let within = create_udf(
        DEDUP_WITHIN,
        vec![DataType::Null],
        DataType::Boolean,
        Volatility::Volatile,
        never,
    );
    let keys = vec![col("k"), within.call(vec![lit(ScalarValue::Null)])];
    let dedup = LogicalPlanBuilder::scan("s", Arc::new(source), None)
        .and_then(|scan| scan.distinct_on(keys, vec![col("k")], None))
        .and_then(LogicalPlanBuilder::build)
        .unwrap();
    let forever = "every key is remembered for ever: no watermark says when its duplicates stop coming. Declare a WATERMARK on \
                   a time of the stream.";
    assert_eq!(notices_of(&dedup), [forever]);
}
