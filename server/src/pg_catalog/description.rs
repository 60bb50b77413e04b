//! Comments: `pg_description`, and what `obj_description` and `col_description` look up in it.

use millpond_catalog::ObjectId;

use super::rows::Rows;
use super::{SystemContext, oid};

/// `pg_namespace`, as the class of what a comment is about.
const PG_NAMESPACE: u32 = 2615;

pub fn pg_description(context: &SystemContext, rows: &mut Rows) {
    let catalog = &context.catalog;
    let relations = catalog.objects().map(|object| (object.id, oid::PG_CLASS));
    let indexes = catalog.indexes().map(|index| (index.id, oid::PG_CLASS));
    let schemas = catalog.schemas().map(|(_, id)| (id, PG_NAMESPACE));
    for (id, class) in relations.chain(indexes).chain(schemas) {
        for (column, text) in catalog.comments(id).into_iter().flatten() {
            rows.add([
                ("objoid", oid::relation(id).into()),
                ("classoid", class.into()),
                ("objsubid", (*column).into()),
                ("description", text.into()),
            ]);
        }
    }
}

/// The comment on the column of this number, or on what has the oid itself where it is 0.
pub fn comment(context: &SystemContext, oid: u32, column: u32) -> Option<String> {
    let id = ObjectId(u64::from(oid.checked_sub(oid::FIRST_USER_OID)?));
    context.catalog.comments(id)?.get(&column).cloned()
}
