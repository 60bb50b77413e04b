//! Parameters: their types are told, and values take their places.

use datafusion::scalar::ScalarValue;
use millpond_catalog::SqlType;
use millpond_sql::{ErrorKind, Plan, PlanContext, PlanKind, optimize, parse, plan};

use crate::world::World;

fn world() -> World {
    let mut world = World::new();
    for statement in parse("CREATE TABLE t (a int, b text, n numeric(10,2), ts timestamptz)").unwrap() {
        let planned = plan(&statement, &world.context()).unwrap();
        world.apply(planned.kind);
    }
    world
}

fn planned(world: &World, sql: &str, given: &[Option<SqlType>]) -> Plan {
    let statement = parse(sql).unwrap().remove(0);
    let context = PlanContext {
        parameter_types: given,
        ..world.context()
    };
    plan(&statement, &context).unwrap()
}

fn optimized(plan: Plan) -> String {
    match plan.kind {
        PlanKind::Select(select) => optimize(select.query).unwrap().to_string(),
        PlanKind::Write(write) => optimize(write.query).unwrap().to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn values_take_the_types_of_their_places() {
    let world = world();
    let plan = planned(
        &world,
        "SELECT b FROM t WHERE a = $1 AND n > $2 AND ts < $3 AND b LIKE $4 LIMIT $5",
        &[],
    );
    let types: Vec<_> = plan.parameters.iter().map(ToString::to_string).collect();
    assert_eq!(
        types,
        ["integer", "numeric", "timestamp with time zone", "text", "bigint"]
    );
    let bound = plan
        .bind(&[
            ScalarValue::Int64(Some(7)),
            ScalarValue::Utf8(Some("1.25".into())),
            ScalarValue::Utf8(Some("2024-01-01 00:00:00+00".into())),
            ScalarValue::Utf8(Some("x%".into())),
            ScalarValue::Int32(Some(3)),
        ])
        .unwrap();
    assert!(bound.parameters.is_empty());
    let shown = optimized(bound);
    assert!(
        shown.contains("t.a = Int32(7)") && shown.contains("fetch=3"),
        "{shown}"
    );
    assert!(!shown.contains('$'), "{shown}");
}

#[test]
fn types_given_by_the_client_win() {
    let world = world();
    let plan = planned(
        &world,
        "SELECT $1, $2 + 1",
        &[Some(SqlType::Date), Some(SqlType::Int8)],
    );
    assert_eq!(plan.parameters, [SqlType::Date, SqlType::Int8]);
    let PlanKind::Select(select) = &plan.kind else {
        panic!("{plan}")
    };
    assert_eq!(select.columns[0].sql_type, SqlType::Date);
    assert_eq!(select.columns[1].sql_type, SqlType::Int8);
}

#[test]
fn inserts_bind_and_null_is_typed() {
    let world = world();
    let plan = planned(
        &world,
        "INSERT INTO t VALUES ($1, $2, $3, $4), (2, $2, 1, NULL)",
        &[],
    );
    assert_eq!(plan.parameters.len(), 4);
    let null = ScalarValue::Null;
    let bound = plan
        .bind(&[ScalarValue::Int32(Some(1)), "x".into(), null.clone(), null])
        .unwrap();
    assert!(!optimized(bound).contains('$'));
}

#[test]
fn wrong_values_are_refused() {
    let world = world();
    let plan = planned(&world, "SELECT * FROM t WHERE a = $1", &[]);
    let kind = |values: &[ScalarValue]| plan.clone().bind(values).unwrap_err().kind;
    assert_eq!(kind(&[]), ErrorKind::UndefinedParameter);
    assert_eq!(kind(&["x".into()]), ErrorKind::InvalidTextRepresentation);
    assert_eq!(
        kind(&[ScalarValue::Int64(Some(1 << 40))]),
        ErrorKind::NumericOutOfRange
    );
}
