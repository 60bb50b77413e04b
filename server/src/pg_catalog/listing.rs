//! The views that list tables, views and indexes by name: `pg_tables`, `pg_matviews`, `pg_indexes` ..

use millpond_catalog::{Object, ObjectKind};

use super::constraint::keys;
use super::rows::{Rows, Value};
use super::{SystemContext, definition, oid};

pub fn pg_tables(context: &SystemContext, rows: &mut Rows) {
    let system = definition::all()
        .filter(|t| !t.is_view)
        .map(|t| (t.schema, t.name, false));
    let tables = context
        .catalog
        .relations()
        .filter(|o| matches!(o.kind, ObjectKind::Table(_)));
    let user = tables.map(|o| {
        (
            o.name.schema.as_str(),
            o.name.name.as_str(),
            keys(o).next().is_some() || context.catalog.indexes_of(o.id).next().is_some(),
        )
    });
    for (schema, name, has_indexes) in system.chain(user) {
        rows.add([
            ("schemaname", schema.into()),
            ("tablename", name.into()),
            ("tableowner", (&context.session.user).into()),
            ("hasindexes", has_indexes.into()),
            ("hasrules", false.into()),
            ("hastriggers", false.into()),
            ("rowsecurity", false.into()),
        ]);
    }
}

pub fn pg_views(context: &SystemContext, rows: &mut Rows) {
    for table in definition::all().filter(|t| t.is_view) {
        rows.add([
            ("schemaname", table.schema.into()),
            ("viewname", table.name.into()),
            ("viewowner", (&context.session.user).into()),
        ]);
    }
    for object in context.catalog.objects() {
        let ObjectKind::PlainView(view) = &object.kind else {
            continue;
        };
        rows.add([
            ("schemaname", (&object.name.schema).into()),
            ("viewname", (&object.name.name).into()),
            ("viewowner", (&context.session.user).into()),
            (
                "definition",
                format!(" {};", view.query.trim().trim_end_matches(';')).into(),
            ),
        ]);
    }
}

/// Streaming views.
pub fn pg_matviews(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let ObjectKind::View(view) = &object.kind else {
            continue;
        };
        rows.add([
            ("schemaname", (&object.name.schema).into()),
            ("matviewname", (&object.name.name).into()),
            ("matviewowner", (&context.session.user).into()),
            ("hasindexes", false.into()),
            ("ispopulated", true.into()),
            (
                "definition",
                format!(" {};", view.query.trim().trim_end_matches(';')).into(),
            ),
        ]);
    }
}

/// Tables and views with the counters of Postgres' statistics, which nobody counts here: zero.
pub fn pg_stat_user_tables(context: &SystemContext, rows: &mut Rows) {
    let is_stored = |object: &Object| matches!(object.kind, ObjectKind::Table(_) | ObjectKind::View(_));
    for object in context.catalog.objects().filter(|o| is_stored(o)) {
        let zero = || Value::Int(0);
        rows.add([
            ("relid", oid::relation(object.id).into()),
            ("schemaname", (&object.name.schema).into()),
            ("relname", (&object.name.name).into()),
            ("seq_scan", zero()),
            ("seq_tup_read", zero()),
            ("n_tup_ins", zero()),
            ("n_tup_upd", zero()),
            ("n_tup_del", zero()),
            ("n_live_tup", zero()),
            ("n_dead_tup", zero()),
            ("vacuum_count", zero()),
            ("autovacuum_count", zero()),
            ("analyze_count", zero()),
            ("autoanalyze_count", zero()),
            ("heap_blks_read", zero()),
            ("heap_blks_hit", zero()),
        ]);
    }
}
