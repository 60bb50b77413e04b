//! The catalog queries of real clients, planned and run over a small catalog, with what they answer.
//!
//! `testdata/psql15.txt` holds what psql 15 sends for its backslash commands; the answers beside them were compared with
//! those of PostgreSQL 15 for the same objects. `UPDATE_GOLDEN=1` writes them again.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Column;
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, TableSource};
use datafusion::prelude::{SessionConfig, SessionContext};
use millpond_catalog::Object;
use millpond_sql::{PlanContext, PlanKind, Relations, Windows};

use super::super::{SystemContext, Value, name_casts, replace_subqueries, system_table};
use super::context;

/// Planning over system tables; the tables of users are empty.
struct SystemRelations(Arc<SystemContext>);

impl Relations for SystemRelations {
    fn table_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource> {
        let empty = MemTable::try_new(object.schema(), vec![vec![]]).expect("an empty table fits any schema");
        provider_as_source(Arc::new(empty))
    }

    fn numbered_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource> {
        self.table_source(object)
    }

    fn written_source(&self, object: &Arc<Object>, _schema: SchemaRef) -> Arc<dyn TableSource> {
        self.table_source(object)
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<dyn TableSource>> {
        system_table(schema, name, &self.0)
    }

    fn prepare_query(&self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        name_casts(replace_subqueries(plan, &self.0)?, &self.0)
    }

    fn window_assign(&self, input: LogicalPlan, _: Column, _: Windows) -> DataFusionResult<LogicalPlan> {
        Ok(input)
    }

    fn session_assign(
        &self,
        input: LogicalPlan,
        _: Column,
        _: Expr,
        _: Vec<Column>,
    ) -> DataFusionResult<LogicalPlan> {
        Ok(input)
    }

    fn scalar_functions(&self) -> Vec<Arc<ScalarUDF>> {
        crate::function::scalar_functions(&self.0)
    }

    fn recursive_table(&self, name: &str, schema: SchemaRef) -> DataFusionResult<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }
}

/// Plans and runs one query, as a session does; its rows as text with `|` between the values.
async fn answer(query: &str, context: &Arc<SystemContext>) -> Result<String, String> {
    let relations = SystemRelations(context.clone());
    let settings = context.settings();
    let planning = PlanContext {
        catalog: &context.catalog,
        settings: &settings,
        relations: &relations,
        parameter_types: &[],
    };
    let parsed = millpond_sql::parse(query).map_err(|e| e.to_string())?;
    let [statement] = &parsed[..] else {
        return Err("not one statement".to_owned());
    };
    let plan = millpond_sql::plan(statement, &planning).map_err(|e| e.to_string())?;
    let PlanKind::Select(select) = plan.kind else {
        return Err("not a query".to_owned());
    };
    let optimized = millpond_sql::optimize(select.query).map_err(|e| e.to_string())?;
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let physical = session
        .state()
        .create_physical_plan(&optimized)
        .await
        .map_err(|e| e.to_string())?;
    let batches = datafusion::physical_plan::collect(physical, session.task_ctx())
        .await
        .map_err(|e| e.to_string())?;
    let mut text = String::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            writeln!(text, "{}", row_text(batch, row)).expect("a String grows");
        }
    }
    Ok(text)
}

fn row_text(batch: &RecordBatch, row: usize) -> String {
    let cell = |value: Value| match value {
        Value::Null => String::new(),
        Value::Text(text) => text.replace('\n', "\\n"),
        Value::Bool(b) => if b { "t" } else { "f" }.to_owned(),
        Value::Int(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    let cells: Vec<_> = batch
        .columns()
        .iter()
        .map(|array| cell(Value::read(array, row)))
        .collect();
    cells.join("|")
}

/// Answers of more lines than this are cut: what matters in them is that there is one.
const LINES_MAX: usize = 40;

async fn check(file: &str, stored: &str) {
    let context = context();
    let mut written = String::new();
    for block in stored.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let (query, _) = block
            .split_once("\n----")
            .expect("a query is followed by its answer");
        let answer = answer(query, &context)
            .await
            .unwrap_or_else(|error| format!("ERROR: {error}\n"));
        let mut lines: Vec<_> = answer.lines().collect();
        if lines.len() > LINES_MAX {
            lines.truncate(LINES_MAX);
            lines.push("...");
        }
        let lines: String = lines.into_iter().map(|line| format!("\n{line}")).collect();
        write!(written, "{}\n----{lines}\n\n", query.trim()).expect("a String grows");
    }
    let written = format!("{}\n", written.trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(
            format!("{}/src/pg_catalog/testdata/{file}", env!("CARGO_MANIFEST_DIR")),
            &written,
        )
        .unwrap();
    } else {
        assert!(
            written == stored,
            "{file} has other answers; UPDATE_GOLDEN=1 shows them as a difference of the file"
        );
    }
    assert!(!written.contains("\nERROR: "), "{file} has queries that fail");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn psql() {
    check("psql15.txt", include_str!("../testdata/psql15.txt")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subqueries() {
    check("subqueries.txt", include_str!("../testdata/subqueries.txt")).await;
}
