//! A server's engine without threads of queries: the test gives turns, turns the clock, and restarts at will.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, LogicalPlanBuilder, col, lit};
use millpond_catalog::{
    Column, Object, ObjectId, ObjectKind, ObjectName, OutputMode, SqlType, StreamingView, Table, Trigger,
    ViewOptions, Watermark,
};
use millpond_storage::{ChangeBatch, Snapshot, Storage};
use tempfile::TempDir;

use crate::clock::{Clock, ManualClock, SystemClock};
use crate::dataflow::Dataflow;
use crate::engine::{Engine, EngineOptions, Entry};
use crate::function;
use crate::logical::{RelationSource, WindowAssign};
use crate::lower::{LowerOptions, lower};
use crate::query::driver::QueryHandle;
use crate::query::{Next, Query};
use crate::replay::{self, ReplaySource, Row};
use crate::runtime::{Abandon, Plan};

pub(crate) const MINUTE: i64 = 60_000_000;
/// Noon of some day, and a multiple of every interval used here.
pub(crate) const NOON_US: i64 = 1_000_000 * MINUTE;

pub(crate) type Rows = BTreeMap<String, u64>;

/// What is created again after every restart.
#[derive(Clone)]
pub(crate) enum Made {
    Table(Object),
    Source(Object, Arc<ReplaySource>),
    View {
        object: Object,
        dataflow: Dataflow,
        plan: Option<Arc<Plan>>,
    },
}

pub(crate) struct World {
    dir: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) options: EngineOptions,
    made: Vec<Made>,
    engine: Option<Engine>,
    pub(crate) queries: BTreeMap<ObjectId, Query>,
    /// Queries have threads, and time is the machine's.
    threads: bool,
}

fn columns() -> Vec<Column> {
    let column = |name: &str, sql_type| Column {
        name: name.to_owned(),
        sql_type,
        nullable: true,
        default: None,
    };
    vec![
        column("k", SqlType::Text),
        column("v", SqlType::Int8),
        column("ts", SqlType::Timestamp),
    ]
}

fn object(id: u64, name: &str, columns: Vec<Column>, kind: ObjectKind) -> Object {
    let (id, name) = (ObjectId(id), ObjectName::public(name));
    Object {
        id,
        name,
        columns,
        kind,
        reads: Vec::new(),
        create_sql: String::new(),
    }
}

/// `SELECT` from the object, as the planner would begin it.
pub(crate) fn from(object: &Object) -> LogicalPlanBuilder {
    let append_only = matches!(&object.kind, ObjectKind::Table(_) | ObjectKind::Source(_));
    let source = Arc::new(RelationSource::new(object, append_only));
    LogicalPlanBuilder::scan(object.name.name.as_str(), source, None).unwrap()
}

fn udaf(name: &str) -> Arc<AggregateUDF> {
    function::aggregates()
        .into_iter()
        .find(|function| function.name() == name)
        .unwrap()
}

pub(crate) fn count() -> Expr {
    count_udaf().call(vec![lit(1i64)]).alias("n")
}

pub(crate) fn max(column: &str) -> Expr {
    udaf("max").call(vec![col(column)]).alias(format!("max_{column}"))
}

pub(crate) fn sum(column: &str) -> Expr {
    udaf("sum").call(vec![col(column)]).alias(format!("sum_{column}"))
}

/// `count(*) GROUP BY tumble(ts, 10 minutes)`.
pub(crate) fn windowed_count(object: &Object) -> LogicalPlan {
    windowed_count_of(from(object).build().unwrap())
}

/// The same over rows with a column `ts`.
pub(crate) fn windowed_count_of(rows: LogicalPlan) -> LogicalPlan {
    let columns = rows.schema().columns().into_iter();
    let time = columns.into_iter().find(|column| column.name == "ts").unwrap();
    let windows = WindowAssign::try_new(rows, time, 10 * MINUTE, 10 * MINUTE, 0)
        .unwrap()
        .into_plan();
    LogicalPlanBuilder::from(windows)
        .aggregate(vec![col("window_start"), col("window_end")], vec![count()])
        .unwrap()
        .build()
        .unwrap()
}

impl World {
    pub(crate) fn new(workers: usize) -> World {
        Self::with(EngineOptions {
            workers,
            ..EngineOptions::default()
        })
    }

    pub(crate) fn with(options: EngineOptions) -> World {
        Self::begin(options, false)
    }

    pub(crate) fn running(options: EngineOptions) -> World {
        Self::begin(options, true)
    }

    fn begin(options: EngineOptions, threads: bool) -> World {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(NOON_US));
        let mut world = World {
            dir,
            clock,
            options,
            made: Vec::new(),
            engine: None,
            queries: BTreeMap::new(),
            threads,
        };
        world.start();
        world
    }

    fn start(&mut self) {
        let storage = Storage::open(self.dir.path()).unwrap();
        let clock: Arc<dyn Clock> = if self.threads {
            Arc::new(SystemClock::default())
        } else {
            self.clock.clone()
        };
        self.engine = Some(Engine::start(storage, clock, self.options.clone()).unwrap());
        for made in self.made.clone() {
            self.make(made);
        }
        self.engine().start_upkeep().unwrap();
    }

    /// As if the process had been killed and started again.
    pub(crate) fn restart(&mut self, workers: usize) {
        self.queries.clear();
        self.engine.take().unwrap().shutdown(Duration::ZERO);
        self.options.workers = workers;
        self.start();
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn make(&mut self, made: Made) {
        let engine = self.engine();
        match made {
            Made::Table(object) => engine.add_table(&object).unwrap(),
            Made::Source(object, source) => engine.add_source(&object, source).unwrap(),
            Made::View { object, dataflow, .. } if self.threads => {
                engine.add_view(&object, dataflow).unwrap();
            }
            Made::View {
                object,
                dataflow,
                plan,
            } => {
                let ObjectKind::View(view) = &object.kind else {
                    panic!("a view")
                };
                let mut parts = engine.query_parts(&object, &view.options, dataflow).unwrap();
                if let Some(plan) = plan {
                    parts.plan = plan;
                }
                let query = Query::recover(parts, engine.shared.clone()).unwrap();
                let handle = QueryHandle::new(&query, false);
                engine
                    .shared
                    .objects
                    .write()
                    .insert(object.id, Entry::View(handle));
                self.queries.insert(object.id, query);
            }
        }
    }

    fn add(&mut self, made: Made) {
        self.made.push(made.clone());
        self.make(made);
    }

    pub(crate) fn table(&mut self, id: u64, name: &str, watermark: Option<Watermark>) -> Object {
        let table = Table {
            append_only: true,
            stream: true,
            keys: Vec::new(),
            checks: Vec::new(),
            watermark,
            options: vec![],
        };
        let object = object(id, name, columns(), ObjectKind::Table(table));
        self.add(Made::Table(object.clone()));
        object
    }

    pub(crate) fn source(&mut self, id: u64, name: &str, source: &Arc<ReplaySource>) -> Object {
        self.source_with(id, name, source, None)
    }

    pub(crate) fn source_with(
        &mut self,
        id: u64,
        name: &str,
        source: &Arc<ReplaySource>,
        watermark: Option<Watermark>,
    ) -> Object {
        let kind = millpond_catalog::Source {
            connector: "replay".to_owned(),
            options: vec![],
            watermark,
        };
        let object = object(id, name, columns(), ObjectKind::Source(kind));
        self.add(Made::Source(object.clone(), source.clone()));
        object
    }

    pub(crate) fn view(&mut self, id: u64, name: &str, plan: &LogicalPlan) -> Object {
        self.view_with(
            id,
            name,
            plan,
            ViewOptions {
                no_data_epochs: true,
                ..ViewOptions::default()
            },
        )
    }

    pub(crate) fn every(&mut self, id: u64, name: &str, plan: &LogicalPlan, every: Duration) -> Object {
        let trigger = Trigger::Every(every);
        self.view_with(
            id,
            name,
            plan,
            ViewOptions {
                trigger,
                no_data_epochs: true,
                ..ViewOptions::default()
            },
        )
    }

    pub(crate) fn append(&mut self, id: u64, name: &str, plan: &LogicalPlan) -> Object {
        let output_mode = OutputMode::Append;
        self.view_with(
            id,
            name,
            plan,
            ViewOptions {
                output_mode,
                no_data_epochs: true,
                ..ViewOptions::default()
            },
        )
    }

    pub(crate) fn view_with(
        &mut self,
        id: u64,
        name: &str,
        plan: &LogicalPlan,
        options: ViewOptions,
    ) -> Object {
        let lowering = LowerOptions {
            output_mode: options.output_mode,
            fail_on_error: options.fail_on_error,
            ..LowerOptions::default()
        };
        let dataflow = lower(plan, &lowering).unwrap();
        self.view_of(id, name, dataflow, options, None)
    }

    pub(crate) fn view_of(
        &mut self,
        id: u64,
        name: &str,
        dataflow: Dataflow,
        options: ViewOptions,
        plan: Option<Arc<Plan>>,
    ) -> Object {
        let kind = StreamingView {
            query: String::new(),
            options,
            paused: false,
        };
        let object = object(id, name, view_columns(&dataflow.schema()), ObjectKind::View(kind));
        self.add(Made::View {
            object: object.clone(),
            dataflow,
            plan,
        });
        object
    }

    pub(crate) fn insert(&self, table: &Object, rows: &[Row]) {
        let batch = RecordBatch::try_new(table.schema(), replay::batch(rows).columns().to_vec()).unwrap();
        self.engine()
            .insert(table.id, vec![ChangeBatch::insertions(batch)])
            .unwrap();
    }

    pub(crate) fn clock_us(&self) -> i64 {
        self.clock.now_us()
    }

    pub(crate) fn turn(&mut self, view: &Object) -> Next {
        self.queries.get_mut(&view.id).unwrap().turn(&Abandon::default())
    }

    /// Turns until no query has anything to do.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut again = false;
            for query in self.queries.values_mut() {
                while query.turn(&Abandon::default()) == Next::Again {
                    again = true;
                }
            }
            if !again {
                return;
            }
        }
    }

    pub(crate) fn epochs(&self, view: &Object) -> Vec<u64> {
        let records = self.engine().shared.storage.commits(view.id.0, 0).unwrap();
        records.into_iter().map(|(epoch, _)| epoch).collect()
    }

    /// The newest rows as text, each with its count.
    pub(crate) fn newest(&self, object: &Object) -> Rows {
        rows(&self.engine().relation(object.id).unwrap().snapshot())
    }
}

fn view_columns(schema: &SchemaRef) -> Vec<Column> {
    schema
        .fields()
        .iter()
        .map(|field| Column {
            name: field.name().clone(),
            sql_type: SqlType::of(field),
            nullable: true,
            default: None,
        })
        .collect()
}

pub(crate) fn rows(snapshot: &Arc<Snapshot>) -> Rows {
    let mut counts = Rows::new();
    for batch in snapshot.scan() {
        let batch = batch.unwrap();
        let options = FormatOptions::default().with_null("NULL");
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let text: Vec<String> = columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect();
            *counts.entry(text.join("|")).or_default() += 1;
        }
        assert!(
            batch
                .columns()
                .iter()
                .all(|column| column.len() == batch.num_rows())
        );
    }
    counts
}

pub(crate) fn once<const N: usize>(rows: [&str; N]) -> Rows {
    rows.into_iter().map(|row| (row.to_owned(), 1)).collect()
}
