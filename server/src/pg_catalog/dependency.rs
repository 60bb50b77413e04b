//! Who reads whom, in the form Postgres has it: a view's rule depends on the relations that its query names.

use millpond_catalog::{ObjectId, ObjectKind};

use super::rows::Rows;
use super::{SystemContext, oid};

pub fn pg_rewrite(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.objects() {
        let ObjectKind::View(view) = &object.kind else {
            continue;
        };
        rows.add([
            ("oid", oid::rewrite(object.id).into()),
            ("rulename", "_RETURN".into()),
            ("ev_class", oid::relation(object.id).into()),
            ("ev_type", '1'.into()),
            ("ev_enabled", 'O'.into()),
            ("is_instead", true.into()),
            ("ev_action", (&view.query).into()),
        ]);
    }
}

pub fn pg_depend(context: &SystemContext, rows: &mut Rows) {
    for object in context.catalog.objects() {
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
        if let ObjectKind::View(_) = &object.kind {
            // The rule is a part of its view, and reads the others.
            add(object.id, 'i');
            for read in &object.reads {
                add(*read, 'n');
            }
        }
    }
}
