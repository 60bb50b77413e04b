//! DECLARE .. CURSOR FOR.

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{DeclareCursor, Plan, PlanKind};
use crate::statement::DeclareCursor as Statement;
use crate::text::SourceText;

use super::{PlanContext, select};

pub fn plan(declare: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let Plan {
        kind,
        notices,
        parameters,
    } = select::plan(&declare.query, text, context)?;
    let PlanKind::Select(select) = kind else {
        return Err(Error::new(
            ErrorKind::Internal,
            "the query of a cursor is a SELECT",
        ));
    };
    let Statement {
        name, binary, hold, ..
    } = declare;
    let kind = PlanKind::DeclareCursor(DeclareCursor {
        name: name.clone(),
        binary: *binary,
        hold: *hold,
        select,
    });
    Ok(Plan {
        kind,
        notices,
        parameters,
    })
}
