//! From SQL to an analysed plan over test relations. The server's own planner is in another crate.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, TableType, Volatility, create_udf, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use millpond_catalog::{ObjectId, Watermark};

use crate::expression::PROCESSING_TIME;
use crate::function::aggregates;
use crate::logical::{RelationSource, Rows, SessionAssign, WindowAssign};

/// Columns of every test relation.
pub(super) fn test_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int32, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("x", DataType::Int64, true),
        Field::new("f", DataType::Float64, true),
        Field::new("d", DataType::Decimal128(10, 2), true),
        Field::new("b", DataType::Boolean, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Microsecond, None), true),
    ]))
}

/// Position of the time column.
pub(super) const TIME: usize = 6;
/// A retractable relation without watermark.
pub(super) const T: ObjectId = ObjectId(1);
/// An append-only relation with a watermark of 10 seconds.
pub(super) const E: ObjectId = ObjectId(2);
pub(super) const DELAY_US: i64 = 10_000_000;
/// Another one, with a watermark of 4 seconds.
pub(super) const G: ObjectId = ObjectId(3);
pub(super) const G_DELAY_US: i64 = 4_000_000;

const SECOND: i64 = 1_000_000;

fn relation(object: ObjectId) -> RelationSource {
    let append_only = object != T;
    let watermark = Watermark {
        column: TIME,
        delay_us: if object == G { G_DELAY_US } else { DELAY_US },
        max_future_us: None,
        idle_timeout_us: None,
    };
    RelationSource {
        object,
        name: match object {
            E => "e".to_owned(),
            G => "g".to_owned(),
            _ => "t".to_owned(),
        },
        schema: test_schema(),
        watermark: append_only.then_some(watermark),
        times: Vec::new(),
        append_only,
        rows: Rows::Snapshot,
    }
}

/// A name in FROM: a relation, perhaps with windows. Only stands for it until the plan is rewritten.
#[derive(Debug)]
struct Named {
    object: ObjectId,
    window: Option<Window>,
}

/// In seconds.
#[derive(Debug, Clone, Copy)]
enum Window {
    Sliding {
        size: i64,
        slide: i64,
        offset: i64,
    },
    /// Sessions of each `k`.
    Session {
        gap: i64,
    },
}

#[async_trait]
impl TableProvider for Named {
    fn schema(&self) -> SchemaRef {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let bounds =
            ["window_start", "window_end"].map(|name| Arc::new(Field::new(name, time.clone(), false)));
        let fields = test_schema()
            .fields()
            .iter()
            .cloned()
            .chain(bounds)
            .collect::<Vec<_>>();
        let length = if self.window.is_some() {
            fields.len()
        } else {
            fields.len() - 2
        };
        Arc::new(Schema::new(fields[..length].to_vec()))
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        datafusion::common::internal_err!("only a name")
    }
}

/// Names: `t`, `e`, and with windows `t_tumble` (10 s), `t_hop` (10 s by 5 s), `t_odd` (7 s by 3 s, offset 1 s), `t_session`
/// (gap 3 s), same for `e` and `g`.
fn context() -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_aggregate_functions(
            datafusion::functions_aggregate::all_default_aggregate_functions()
                .into_iter()
                .chain(aggregates())
                .collect(),
        );
    let context = SessionContext::new_with_state(state.build());
    for (name, object) in [("t", T), ("e", E), ("g", G)] {
        let sliding = |size, slide, offset| Some(Window::Sliding { size, slide, offset });
        let windows = [
            ("", None),
            ("_tumble", sliding(10, 10, 0)),
            ("_hop", sliding(10, 5, 0)),
            ("_odd", sliding(7, 3, 1)),
            ("_session", Some(Window::Session { gap: 3 })),
        ];
        for (suffix, window) in windows {
            context
                .register_table(format!("{name}{suffix}"), Arc::new(Named { object, window }))
                .unwrap();
        }
    }
    context.register_udf(processing_time());
    context
}

fn processing_time() -> ScalarUDF {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    create_udf(
        PROCESSING_TIME,
        vec![],
        time,
        Volatility::Volatile,
        Arc::new(|_| unreachable!("never called")),
    )
}

/// The analysed, unoptimised plan of a SELECT.
pub(super) fn plan(sql: &str) -> LogicalPlan {
    let context = context();
    let state = context.state();
    let plan = futures::executor::block_on(state.create_logical_plan(sql)).unwrap();
    let plan = plan.transform_up_with_subqueries(resolve).unwrap().data;
    let options = state.config_options();
    state
        .analyzer()
        .execute_and_check(plan, options, |_, _| {})
        .unwrap()
}

fn resolve(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::TableScan(scan) = &plan else {
        return Ok(Transformed::no(plan));
    };
    let provider = source_as_provider(&scan.source)?;
    let named = (provider.as_ref() as &dyn Any)
        .downcast_ref::<Named>()
        .expect("all tables are ours");
    let source = Arc::new(relation(named.object));
    let resolved = LogicalPlan::TableScan(TableScanBuilder::new(scan.table_name.clone(), source).build()?);
    Ok(Transformed::yes(match named.window {
        None => resolved,
        Some(window) => {
            let column = |name: &str| Column::new(Some(scan.table_name.clone()), name);
            match window {
                Window::Sliding { size, slide, offset } => {
                    let [size, slide, offset] = [size, slide, offset].map(|seconds| seconds * SECOND);
                    WindowAssign::try_new(resolved, column("ts"), size, slide, offset)?.into_plan()
                }
                Window::Session { gap } => {
                    SessionAssign::try_new(resolved, column("ts"), lit(gap * SECOND), vec![column("k")])?
                        .into_plan()
                }
            }
        }
    }))
}
