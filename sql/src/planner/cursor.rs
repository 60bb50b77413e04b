//! DECLARE .. CURSOR FOR.

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{DeclareCursor, Plan, PlanKind, RowsOf};
use crate::statement::{CursorRows, DeclareCursor as Statement};
use crate::text::SourceText;

use super::{PlanContext, select, subscribe};

pub fn plan(declare: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let planned = match &declare.rows {
        CursorRows::Query(query) => select::plan(query, text, context)?,
        CursorRows::Subscribe(subscribe) => subscribe::plan(subscribe, text, context)?,
    };
    let rows = match planned.kind {
        PlanKind::Select(select) => RowsOf::Select(select),
        PlanKind::Subscribe(subscribe) => RowsOf::Subscribe(subscribe),
        _ => {
            return Err(Error::new(
                ErrorKind::Internal,
                "the query of a cursor is a SELECT",
            ));
        }
    };
    let kind = PlanKind::DeclareCursor(DeclareCursor {
        name: declare.name.clone(),
        binary: declare.binary,
        scroll: declare.scroll,
        hold: declare.hold,
        rows,
    });
    Ok(Plan {
        kind,
        notices: planned.notices,
        parameters: planned.parameters,
    })
}
