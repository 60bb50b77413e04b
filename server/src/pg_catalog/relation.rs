//! `pg_class` and the views that list relations: system tables, user objects, and the indexes of primary keys.
//!
//! Tables and streams are kind `r`, streaming views `m`, sources `f` (their rows live elsewhere), system views `v`.

use millpond_catalog::{Object, ObjectId, ObjectKind};

use super::index::indexes;
use super::rows::Rows;
use super::{SystemContext, definition, oid};

/// `pg_class.relkind` of a user object.
pub fn kind(object: &Object) -> char {
    match &object.kind {
        ObjectKind::Table(_) => 'r',
        ObjectKind::Source(_) => 'f',
        // A sink is in no list of relations.
        ObjectKind::View(_) | ObjectKind::Sink(_) => 'm',
        ObjectKind::PlainView(_) => 'v',
    }
}

/// One row of `pg_class`, as far as relations differ.
struct Relation<'a> {
    oid: u32,
    name: &'a str,
    schema: &'a str,
    namespace: u32,
    row_type: u32,
    access_method: u32,
    kind: char,
    columns: usize,
    checks: usize,
    has_index: bool,
    has_rules: bool,
    /// Not known for what we do not count, which Postgres says before the first ANALYZE too.
    rows: Option<u64>,
}

pub fn pg_class(context: &SystemContext, rows: &mut Rows) {
    for table in definition::all() {
        let kind = if table.is_view { 'v' } else { 'r' };
        add(
            rows,
            &Relation {
                oid: table.oid,
                name: table.name,
                schema: table.schema,
                namespace: oid::namespace(&context.catalog, table.schema),
                row_type: 0,
                access_method: if table.is_view { 0 } else { oid::HEAP },
                kind,
                columns: table.columns.len(),
                checks: 0,
                has_index: false,
                has_rules: table.is_view,
                rows: None,
            },
        );
    }
    let indexes = indexes(context);
    for object in context.catalog.relations() {
        let kind = kind(object);
        add(
            rows,
            &Relation {
                oid: oid::relation(object.id),
                name: &object.name.name,
                schema: &object.name.schema,
                namespace: oid::namespace(&context.catalog, &object.name.schema),
                row_type: oid::row_type(object.id),
                access_method: if matches!(kind, 'f' | 'v') { 0 } else { oid::HEAP },
                kind,
                columns: object.columns.len(),
                checks: match &object.kind {
                    ObjectKind::Table(table) => table.checks.len(),
                    _ => 0,
                },
                has_index: indexes.iter().any(|index| index.table.id == object.id),
                has_rules: matches!(kind, 'm' | 'v'),
                rows: row_count(context, object.id),
            },
        );
    }
    for index in &indexes {
        let schema = &index.table.name.schema;
        add(
            rows,
            &Relation {
                oid: index.oid,
                name: &index.name,
                schema,
                namespace: oid::namespace(&context.catalog, schema),
                row_type: 0,
                access_method: oid::BTREE,
                kind: 'i',
                columns: index.columns.len(),
                checks: 0,
                has_index: false,
                has_rules: false,
                rows: None,
            },
        );
    }
}

fn add(rows: &mut Rows, relation: &Relation<'_>) {
    rows.add([
        ("oid", relation.oid.into()),
        ("relname", relation.name.into()),
        ("relnamespace", relation.namespace.into()),
        ("reltype", relation.row_type.into()),
        ("relowner", oid::OWNER.into()),
        ("relam", relation.access_method.into()),
        (
            "relfilenode",
            (if relation.access_method == 0 {
                0
            } else {
                relation.oid
            })
            .into(),
        ),
        ("reltuples", relation.rows.map_or(-1.0, |n| n as f64).into()),
        ("relhasindex", relation.has_index.into()),
        (
            "relpersistence",
            (if relation.namespace == oid::TEMPORARY {
                't'
            } else {
                'p'
            })
            .into(),
        ),
        ("relkind", relation.kind.into()),
        ("relnatts", relation.columns.into()),
        ("relchecks", relation.checks.into()),
        ("relhasrules", relation.has_rules.into()),
        ("relispopulated", true.into()),
        (
            "relreplident",
            (if relation.schema == "pg_catalog" || relation.kind == 'i' {
                'n'
            } else {
                'd'
            })
            .into(),
        ),
    ]);
}

/// Bytes of the changes of a table or view that are kept one by one; 0 for a source, whose rows live elsewhere.
pub fn relation_bytes(context: &SystemContext, id: ObjectId) -> u64 {
    let Some(Ok(relation)) = context.server.engine.as_ref().map(|engine| engine.relation(id)) else {
        return 0;
    };
    let entries = relation
        .changes(relation.summed_to(), relation.last_cut())
        .unwrap_or_default();
    entries.iter().map(|entry| entry.bytes).sum()
}

/// Rows of a table or view as they are now.
fn row_count(context: &SystemContext, id: ObjectId) -> Option<u64> {
    let relation = context.server.engine.as_ref()?.relation(id).ok()?;
    Some(relation.snapshot().num_rows())
}
