//! `sys.checkpoints`: what each query has written about its epochs.

use datafusion::error::DataFusionError;
use millpond_engine::query::history::EpochRecord;
use millpond_engine::query::status::{InputStatus, QueryStatus};
use serde_json::json;

use super::running;
use crate::pg_catalog::{Rows, SystemContext};

pub fn checkpoints(context: &SystemContext, rows: &mut Rows) {
    let Some(engine) = &context.server.engine else {
        return;
    };
    for (status, _) in running(context) {
        // A query that was dropped meanwhile has none.
        let Ok(bytes) = engine.state_bytes(status.object) else {
            continue;
        };
        match engine.epochs(status.object) {
            Ok(epochs) => add(&status, &epochs, bytes, rows),
            Err(error) => rows.fail(DataFusionError::External(Box::new(error))),
        }
    }
}

fn add(status: &QueryStatus, epochs: &[EpochRecord], state_bytes: u64, rows: &mut Rows) {
    let last_committed = epochs.iter().rposition(|epoch| epoch.committed);
    for (i, epoch) in epochs.iter().enumerate() {
        let watermark = status
            .inputs
            .iter()
            .zip(&epoch.watermarks)
            .filter(|(input, _)| input.has_event_time)
            .map(|(_, watermark)| *watermark)
            .reduce(|least, next| least.zip(next).map(|(a, b)| a.min(b)))
            .flatten();
        rows.add([
            ("query", (&status.name).into()),
            ("batch_id", epoch.epoch.into()),
            ("cut", epoch.cut.0.into()),
            ("run_id", (&epoch.run_id).into()),
            ("time", epoch.processing_time_us.into()),
            ("committed", epoch.committed.into()),
            ("is_boundary", epoch.boundary.into()),
            ("watermark", watermark.into()),
            ("sources", sources(&status.inputs, epoch).into()),
            (
                "state_bytes",
                (Some(i) == last_committed).then_some(state_bytes).into(),
            ),
        ]);
    }
}

fn sources(inputs: &[InputStatus], epoch: &EpochRecord) -> String {
    let ranges = inputs.iter().zip(&epoch.offsets);
    let ranges = ranges
        .map(|(input, (from, to))| json!({ "source": input.name, "startOffset": from, "endOffset": to }));
    serde_json::Value::from_iter(ranges).to_string()
}
