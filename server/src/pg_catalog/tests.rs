//! System tables over a small catalog, read through DataFusion as a client's query would.

mod client_queries;

use std::sync::Arc;

use arrow::util::pretty::pretty_format_batches;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::prelude::{Expr, SessionContext, col, lit};
use millpond_catalog::{
    Catalog, Column, Edit, Object, ObjectId, ObjectKind, ObjectName, Source, SqlType, StreamingView, Table,
    ViewOptions,
};

use millpond_sql::Settings;
use tokio_util::sync::CancellationToken;

use super::{ServerState, SystemContext, definition, functions, system_table};
use crate::session::{Client, Sessions};

pub fn column(name: &str, sql_type: SqlType, nullable: bool, default: Option<&str>) -> Column {
    Column {
        name: name.to_owned(),
        sql_type,
        nullable,
        default: default.map(str::to_owned),
    }
}

/// A table with a primary key, a source and a view over the table.
pub fn catalog() -> Catalog {
    let object = |id, name: &str, columns, kind, reads, create_sql: &str| {
        Edit::Created(Arc::new(Object {
            id: ObjectId(id),
            name: ObjectName::public(name),
            columns,
            kind,
            reads,
            create_sql: create_sql.to_owned(),
        }))
    };
    let mut catalog = Catalog::default();
    let table = Table {
        append_only: false,
        stream: false,
        keys: vec![millpond_catalog::Key {
            name: "t_pkey".to_owned(),
            columns: vec![0],
            primary: true,
            enforced: true,
        }],
        checks: Vec::new(),
        watermark: None,
        options: Vec::new(),
    };
    let columns = vec![
        column("id", SqlType::Int4, false, None),
        column("name", SqlType::Varchar(Some(20)), false, Some("'x'")),
        column("amount", SqlType::Numeric(Some((10, 2))), true, None),
        column("at", SqlType::TimestampTz, true, None),
        column("tags", SqlType::Array(Box::new(SqlType::Text)), true, None),
    ];
    catalog.apply(object(
        1,
        "t",
        columns,
        ObjectKind::Table(table),
        vec![],
        "CREATE TABLE t (..)",
    ));
    let source = Source {
        connector: "rate".to_owned(),
        options: Vec::new(),
        watermark: None,
    };
    let columns = vec![column("value", SqlType::Int8, true, None)];
    catalog.apply(object(
        2,
        "ticks",
        columns,
        ObjectKind::Source(source),
        vec![],
        "CREATE SOURCE ticks (..)",
    ));
    let view = StreamingView {
        query: "SELECT name, count(*) AS n FROM t GROUP BY name".to_owned(),
        options: ViewOptions::default(),
        paused: false,
    };
    let columns = vec![
        column("name", SqlType::Varchar(Some(20)), true, None),
        column("n", SqlType::Int8, true, None),
    ];
    catalog.apply(object(
        3,
        "v",
        columns,
        ObjectKind::View(view),
        vec![ObjectId(1)],
        "CREATE STREAMING VIEW v (..)",
    ));
    catalog
}

pub fn context() -> Arc<SystemContext> {
    let sessions = Arc::new(Sessions::default());
    let client = Client {
        user: "alice".to_owned(),
        database: "pond".to_owned(),
        address: None,
        settings: millpond_sql::Settings::default(),
    };
    let session = sessions.open(client, 0, &CancellationToken::new());
    let server = ServerState {
        sessions,
        advisory_locks: Arc::default(),
        engine: None,
        started_us: 0,
    };
    Arc::new(SystemContext::new(
        Arc::new(catalog()),
        server,
        session,
        Settings::default(),
        1_000_000,
    ))
}

/// The rows of a table that satisfy `filter`, as text.
async fn scan(name: &str, columns: &[&str], filter: Expr) -> String {
    let source = system_table("pg_catalog", name, &context()).expect("the table is defined");
    let plan = LogicalPlanBuilder::scan(name, source, None)
        .and_then(|b| b.filter(filter))
        .and_then(|b| b.project(columns.iter().map(|c| col(*c))))
        .and_then(|b| b.build())
        .unwrap();
    let batches = SessionContext::new()
        .execute_logical_plan(plan)
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    let table = pretty_format_batches(&batches).unwrap().to_string();
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("|")
    };
    table
        .lines()
        .skip(3)
        .filter(|line| line.starts_with('|'))
        .map(cells)
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn relations_have_their_kinds_and_oids() {
    let text = scan(
        "pg_class",
        &["oid", "relname", "relkind", "relnatts", "relhasindex"],
        col("oid").gt_eq(lit(16384_u32)),
    )
    .await;
    assert_eq!(
        text,
        "16385|t|r|5|true\n16386|ticks|f|1|false\n16387|v|m|2|false\n805306369|t_pkey|i|1|false"
    );
    let text = scan(
        "pg_class",
        &["relname", "relkind", "relnamespace"],
        col("oid").eq(lit(1259_u32)),
    )
    .await;
    assert_eq!(text, "pg_class|r|11");
}

#[tokio::test]
async fn attributes_describe_the_columns() {
    let columns = [
        "attname",
        "atttypid",
        "atttypmod",
        "attnum",
        "attnotnull",
        "atthasdef",
        "attndims",
    ];
    let text = scan("pg_attribute", &columns, col("attrelid").eq(lit(16385_u32))).await;
    let expected = "id|23|-1|1|true|false|0\nname|1043|24|2|true|true|0\namount|1700|655366|3|false|false|0\n\
                    at|1184|-1|4|false|false|0\ntags|1009|-1|5|false|false|1";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn types_include_arrays_and_row_types() {
    let columns = ["typname", "typtype", "typelem", "typarray", "typrelid"];
    let names = ["int4", "_int4", "t", "_t"].map(lit).to_vec();
    let text = scan("pg_type", &columns, col("typname").in_list(names, false)).await;
    let expected = "int4|b|0|1007|0\n_int4|b|23|0|0\nt|c|0|536870913|16385\n_t|b|268435457|0|0";
    assert_eq!(text, expected);
}

#[test]
fn every_table_computes_rows_that_fit_its_definition() {
    let context = context();
    for table in definition::all() {
        let batch = context.rows(table).unwrap();
        assert_eq!(batch.schema(), table.arrow, "{}", table.name);
    }
}

/// Names that DataFusion plans beside those in its registry, or that the engine and the sql crate add.
const PLANNED_ELSEWHERE: [&str; 3] = ["generate_series", "position", "date_part"];

#[test]
fn listed_functions_can_be_called() {
    let context = context();
    let state = SessionContext::new().state();
    let ours: std::collections::BTreeSet<_> = crate::function::scalar_functions(&context)
        .iter()
        .map(|f| f.name().to_owned())
        .collect();
    let file = include_str!("functions.txt");
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(' ').nth(1).unwrap();
        let known = state.scalar_functions().contains_key(name)
            || state.aggregate_functions().contains_key(name)
            || state.window_functions().contains_key(name)
            || PLANNED_ELSEWHERE.contains(&name)
            || ours.contains(name);
        assert!(known, "{name} is listed in pg_proc and cannot be called");
    }
    for function in functions() {
        assert!(function.oid != 0 && !function.name.is_empty());
    }
}
