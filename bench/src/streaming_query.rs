//! A view over bids in an engine of this process, planned by the product's own planner.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::Literal;
use millpond_catalog::{
    Catalog, Edit, Object, ObjectId, ObjectKind, ObjectName, OptionEntry, Options, Source, Watermark,
};
use millpond_engine::clock::SystemClock;
use millpond_engine::dataflow::{Dataflow, Distribution, Edge, Node, NodeId, NodeKind};
use millpond_engine::lower::{LowerOptions, lower};
use millpond_engine::operator::spec::{MapSpec, MapStep, OperatorSpec};
use millpond_engine::query::status::Totals;
use millpond_engine::{Engine, EngineOptions, FlushTarget, source};
use millpond_server::relations::ServerRelations;
use millpond_sql::plan::CreateView;
use millpond_sql::{PlanContext, PlanKind, Settings};
use millpond_storage::Storage;

use crate::memory_source::MemorySource;
use crate::nexmark;
use crate::queries::Query;

const SOURCE: ObjectId = ObjectId(1);
const VIEW: ObjectId = ObjectId(2);

/// Where the bids are.
#[derive(Clone)]
pub enum Input {
    Memory(Arc<Vec<RecordBatch>>),
    /// A folder of files.
    Files(PathBuf, Format),
}

#[derive(Clone, Copy)]
pub enum Format {
    Json,
    Parquet,
}

/// An engine on a data directory of its own.
pub struct Pond {
    engine: Engine,
    catalog: Catalog,
    bid: Arc<Object>,
    // Dropped last.
    _folder: tempfile::TempDir,
}

impl Pond {
    pub fn start(workers: usize) -> Result<Pond> {
        let folder = tempfile::tempdir()?;
        let options = EngineOptions {
            workers,
            ..EngineOptions::default()
        };
        let engine = Engine::start(
            Storage::open(folder.path())?,
            Arc::new(SystemClock::default()),
            options,
        )?;
        engine.start_upkeep()?;
        let bid = Arc::new(bid_object());
        let mut catalog = Catalog::default();
        catalog.apply(Edit::Created(bid.clone()));
        Ok(Pond {
            engine,
            catalog,
            bid,
            _folder: folder,
        })
    }

    pub fn open(&self, input: &Input) -> Result<Arc<dyn source::Source>> {
        Ok(match input {
            Input::Memory(batches) => Arc::new(MemorySource {
                batches: batches.clone(),
                row_bytes: 246,
            }),
            Input::Files(folder, format) => {
                let option = |key: &str, value: &str| OptionEntry {
                    key: key.to_owned(),
                    value: value.to_owned(),
                    position: None,
                };
                let path = folder.to_str().context("a temporary folder has a plain name")?;
                let format = match format {
                    Format::Json => "json",
                    Format::Parquet => "parquet",
                };
                let options: Options = vec![option("path", path), option("format", format)];
                let context = self.engine.source_context(SOURCE);
                millpond_connectors::open_source("file", &options, &self.bid.columns, context)?
            }
        })
    }

    /// Runs the query over all of `input`, its result discarded. Returns what it counted.
    ///
    /// # Errors
    /// Also when a row was late, which would make the work less.
    pub fn run(&self, query: &Query, input: &Input) -> Result<Totals> {
        let totals = self.run_with_late_rows(query, input)?;
        ensure!(totals.late_rows == 0, "rows were left out: {totals:?}");
        Ok(totals)
    }

    /// The same over input of which rows may be late.
    pub fn run_with_late_rows(&self, query: &Query, input: &Input) -> Result<Totals> {
        self.engine.add_source(&self.bid, self.open(input)?)?;
        let create = self.plan(query)?;
        let view = create.object.with_id(VIEW);
        let ObjectKind::View(definition) = &view.kind else {
            bail!("a view was planned as something else")
        };
        let options = LowerOptions {
            output_mode: definition.options.output_mode,
            fail_on_error: true,
            ..LowerOptions::default()
        };
        let dataflow = discarding(lower(&create.query, &options)?);
        self.engine.add_view(&view, dataflow)?;
        let report = self.engine.flush(FlushTarget::View(VIEW), &|| false)?;
        ensure!(report.skipped.is_empty(), "the view did not finish: {report:?}");
        Ok(self.engine.query(VIEW)?.totals)
    }

    pub fn stop(self) {
        self.engine.shutdown(Duration::from_secs(10));
    }

    fn plan(&self, query: &Query) -> Result<CreateView> {
        let text = format!("CREATE STREAMING VIEW result {} AS {}", query.options, query.view);
        let statement = millpond_sql::parse(&text)?.pop().context("one statement")?;
        let catalog = Arc::new(self.catalog.clone());
        let relations = ServerRelations::background(self.engine.clone(), catalog.clone());
        let settings = Settings::default();
        let context = PlanContext {
            catalog: &catalog,
            settings: &settings,
            relations: &relations,
            parameter_types: &[],
        };
        match millpond_sql::plan(&statement, &context)?.kind {
            PlanKind::CreateView(create) => Ok(create),
            other => bail!("planned as {other:?}"),
        }
    }
}

fn bid_object() -> Object {
    let columns = nexmark::columns();
    let time = columns
        .iter()
        .position(|column| column.name == "datetime")
        .expect("bids have a time");
    let watermark = Watermark {
        column: time,
        delay_us: nexmark::WATERMARK_DELAY_US,
        max_future_us: Some(Watermark::DEFAULT_MAX_FUTURE_US),
        idle_timeout_us: None,
    };
    Object {
        id: SOURCE,
        name: ObjectName::public("bid"),
        columns,
        kind: ObjectKind::Source(Source {
            connector: "file".to_owned(),
            options: Vec::new(),
            watermark: Some(watermark),
        }),
        reads: Vec::new(),
        create_sql: String::new(),
    }
}

/// The dataflow with a filter on top that passes nothing: all is computed and nothing is written.
fn discarding(mut dataflow: Dataflow) -> Dataflow {
    let root = dataflow.root();
    let nothing = MapStep::Filter(Arc::new(Literal::new(ScalarValue::Boolean(Some(false)))));
    let spec = MapSpec {
        input: root.schema.clone(),
        steps: vec![nothing],
        output: root.schema.clone(),
        fail_on_error: true,
    };
    let node = Node {
        name: "discard".to_owned(),
        kind: NodeKind::Operator(OperatorSpec::Map(spec)),
        edges: vec![Edge {
            from: NodeId(dataflow.nodes.len() - 1),
            distribution: Distribution::Local,
        }],
        schema: root.schema.clone(),
        properties: root.properties.clone(),
    };
    dataflow.nodes.push(node);
    dataflow
}
