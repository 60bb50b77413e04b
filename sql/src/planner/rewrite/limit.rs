//! `FETCH FIRST n ROWS ONLY` is the standard's LIMIT.

use sqlparser::ast::{Expr, Fetch, LimitClause, Query, Value};

use crate::error::{Error, Result};

/// # Errors
/// `WITH TIES`, `PERCENT`, and LIMIT and FETCH together.
pub fn rewrite_query(query: &mut Query) -> Result<()> {
    let Some(Fetch {
        with_ties,
        percent,
        quantity,
    }) = query.fetch.take()
    else {
        return Ok(());
    };
    if with_ties || percent {
        return Err(
            Error::unsupported("FETCH FIRST .. WITH TIES and PERCENT are not supported")
                .with_hint("Number the rows with rank() in a subquery and compare the number."),
        );
    }
    let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
    let fetched = Some(quantity.unwrap_or_else(one));
    match &mut query.limit_clause {
        None => {
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: fetched,
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(LimitClause::LimitOffset {
            limit: limit @ None, ..
        }) => *limit = fetched,
        Some(_) => return Err(Error::syntax("multiple LIMIT clauses not allowed")),
    }
    Ok(())
}
