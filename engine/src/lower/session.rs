//! Session windows.

use std::sync::Arc;

use datafusion::logical_expr::UserDefinedLogicalNodeCore;
use millpond_catalog::OutputMode;

use crate::bound::TimeKind;
use crate::dataflow::{Distribution, Edge, NodeKind, Properties};
use crate::error::{Error, Result};
use crate::logical::SessionAssign;
use crate::lower::Lowering;
use crate::lower::stream::{Stream, Time};
use crate::operator::spec::{OperatorSpec, SessionSpec};

/// A row exactly at the end of a session joins it, so the session is final one microsecond after its end: as a window of
/// this size that begins where the session ends.
const END_SIZE_US: i64 = 1;

impl Lowering<'_> {
    pub(super) fn assign_sessions(&mut self, input: Stream, assign: &SessionAssign) -> Result<Stream> {
        let stream = self.as_node(input)?;
        let time = assign.time_column()?;
        let keys = assign.key_columns()?;
        // Rows that are taken away can split a session at any time.
        let bound = stream.times[time]
            .filter(|time| !time.is_window() && stream.append_only)
            .map(|time| time.bound)
            // Rows that the watermark releases come in when their sessions were to be final already.
            .filter(|bound| !self.bounds.get(*bound).is_released())
            .filter(|_| self.options.output_mode != OutputMode::Complete);
        let bound = bound.map(|bound| self.forgotten_by(bound));
        if bound.is_some() {
            self.check_not_revised("sessions")?;
        }
        let watermark = bound.is_some();
        let is_result = self.is_final_here();
        if is_result && !watermark {
            let column = stream.real.field(time).name();
            return Err(Error::Unsupported {
                message: format!(
                    "output_mode 'append' needs rows that are only added and a watermark on column {column}, by which \
                     sessions become final"
                ),
                hint: Some(format!(
                    "Declare WATERMARK FOR {column} on a stream or source, or use output_mode 'update'."
                )),
            });
        }
        // An aggregation right above waits for final sessions anyway. Handed over when they are, rows come once, and it keeps
        // nothing.
        let is_waited_for = self.options.output_mode == OutputMode::Append && self.aggregates_above == 1;
        let final_only = is_result || is_waited_for && watermark;
        let schema = UserDefinedLogicalNodeCore::schema(assign);
        let spec = SessionSpec {
            input: Arc::clone(&stream.real),
            time,
            gap: assign.gap()?,
            keys: keys.clone(),
            watermark,
            final_only,
            output: Arc::clone(schema.inner()),
        };
        let kept = match watermark {
            true => "the rows of sessions that a row may still touch, by the watermark",
            false => "all rows: no watermark bounds the time, or rows can be taken away",
        };
        let properties = Properties {
            append_only: final_only,
            bounds: bound
                .iter()
                .map(|bound| self.bounds.get(*bound).clone())
                .collect(),
            state_bound: Some(kept.to_owned()),
            ..Properties::default()
        };
        let edge = Edge {
            from: stream.node,
            distribution: match keys.is_empty() {
                true => Distribution::Single,
                false => Distribution::Hash(keys),
            },
        };
        let kind = NodeKind::Operator(OperatorSpec::SessionAssign(spec));
        let node = self.add(kind, vec![edge], Arc::clone(schema.inner()), properties);
        let mut times = vec![None; schema.fields().len()];
        if let (Some(end), Some(bound)) = (times.last_mut(), bound) {
            let kind = TimeKind::WindowStart { size: END_SIZE_US };
            let time = Time { kind, bound };
            *end = Some(match final_only {
                true => self.bounds.released(time),
                false => time,
            });
        }
        Ok(Stream::of_node(node, schema, times, final_only))
    }
}
