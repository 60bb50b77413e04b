//! Who reads whom, in the form Postgres has it: a view's rule depends on the relations that its query names.

use millpond_catalog::{Object, ObjectId, ObjectKind};

use super::rows::Rows;
use super::{SystemContext, oid};

/// The query of a view, plain or streaming.
pub fn query(object: &Object) -> Option<&str> {
    match &object.kind {
        ObjectKind::View(view) => Some(&view.query),
        ObjectKind::PlainView(view) => Some(&view.query),
        ObjectKind::Table(_) | ObjectKind::Source(_) | ObjectKind::Sink(_) => None,
    }
}

pub fn pg_rewrite(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let Some(query) = query(object) else { continue };
        rows.add([
            ("oid", oid::rewrite(object.id).into()),
            ("rulename", "_RETURN".into()),
            ("ev_class", oid::relation(object.id).into()),
            ("ev_type", '1'.into()),
            ("ev_enabled", 'O'.into()),
            ("is_instead", true.into()),
            ("ev_action", query.into()),
        ]);
    }
}

pub fn pg_depend(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.relations() {
        let rule = oid::rewrite(object.id);
        let mut add = |on: ObjectId, kind: char| {
            rows.add([
                ("classid", oid::PG_REWRITE.into()),
                ("objid", rule.into()),
                ("refclassid", oid::PG_CLASS.into()),
                ("refobjid", oid::relation(on).into()),
                ("deptype", kind.into()),
            ]);
        };
        if query(object).is_some() {
            // The rule is a part of its view, and reads the others.
            add(object.id, 'i');
            for read in &object.reads {
                add(*read, 'n');
            }
        }
    }
}
