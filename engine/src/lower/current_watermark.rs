//! `current_watermark(time)`: which watermark it is, where it stands.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, ExprSchemable};

use crate::error::{Error, Result};
use crate::expression::{CURRENT_WATERMARK, epoch_watermark};
use crate::lower::Lowering;
use crate::lower::stream::{BoundId, Stream};
use crate::lower::unsupported;

impl Lowering<'_> {
    /// `expr` with the watermark of the epoch in place of every call. The steps of `stream` go by it from then on.
    pub(super) fn with_watermark(&mut self, stream: &mut Stream, expr: &Expr) -> Result<Expr> {
        let mut failed = None;
        let replaced = expr.clone().transform_up(|expr| {
            let Expr::ScalarFunction(call) = &expr else {
                return Ok(Transformed::no(expr));
            };
            if call.name() != CURRENT_WATERMARK || failed.is_some() {
                return Ok(Transformed::no(expr));
            }
            let zone = match expr.get_type(&stream.schema)? {
                DataType::Timestamp(_, zone) => zone,
                _ => None,
            };
            match read_bound(stream, call.args.first()) {
                Ok(bound) => {
                    stream.watermark = Some(bound);
                    Ok(Transformed::yes(epoch_watermark(zone)))
                }
                Err(error) => {
                    failed = Some(error);
                    Ok(Transformed::no(expr))
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(replaced.data),
        }
    }
}

/// The bound of `time`; without one that of the only event time there is.
fn read_bound(stream: &Stream, time: Option<&Expr>) -> Result<BoundId> {
    if !stream.append_only {
        return Err(unsupported::clause_error(
            "current_watermark()",
            "its input can change, and a row would not meet the same watermark when it is taken back",
            "Read from a stream or a source, where rows are only added, or from a view in append mode.",
        ));
    }
    let bounds: Vec<BoundId> = match time {
        Some(time) => stream.time_of(time)?.into_iter().collect::<Vec<_>>(),
        None => stream.times.iter().copied().flatten().collect(),
    }
    .into_iter()
    .filter(|time| !time.is_window())
    .map(|time| time.bound)
    .collect();
    let refused = |message: String, hint: &str| Error::Unsupported {
        message,
        hint: Some(hint.to_owned()),
    };
    let Some(bound) = bounds.first().copied() else {
        let of = time.map_or_else(|| "here".to_owned(), |time| format!("for {time}"));
        return Err(refused(
            format!("current_watermark(): there is no event time with a watermark {of}"),
            "Declare WATERMARK FOR ts AS ts - INTERVAL '..' and write current_watermark(ts).",
        ));
    };
    let others = bounds.iter().chain(&stream.watermark);
    if { others }.any(|other| *other != bound) {
        return Err(refused(
            "current_watermark(): the times of one SELECT have several watermarks".to_owned(),
            "Name the column, as in current_watermark(ts), and use one of them in a SELECT.",
        ));
    }
    Ok(bound)
}
