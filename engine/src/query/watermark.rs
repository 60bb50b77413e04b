//! Watermarks: per input, the greatest event time seen up to the epoch before minus the delay, never backwards.

use crate::dataflow::{Dataflow, Input};

/// The watermarks of the next epoch.
pub(crate) fn next(inputs: &[Input], event_times: &[Option<i64>], last: &[Option<i64>]) -> Vec<Option<i64>> {
    inputs
        .iter()
        .zip(event_times)
        .zip(last)
        .map(|((input, event_time), last)| {
            let delay_us = input.event_time.as_ref().map(|event_time| event_time.delay_us);
            let reached = delay_us
                .zip(*event_time)
                .map(|(delay, event_time)| event_time.saturating_sub(delay));
            reached.max(*last)
        })
        .collect()
}

/// Going from watermarks `last` to `next` can change the result without any input.
pub(crate) fn moves_result(dataflow: &Dataflow, last: &[Option<i64>], next: &[Option<i64>]) -> bool {
    let bounds = dataflow.nodes.iter().flat_map(|node| &node.properties.bounds);
    last != next && { bounds }.any(|bound| bound.value(last) != bound.value(next))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Schema;
    use millpond_catalog::ObjectId;

    use super::*;
    use crate::dataflow::EventTime;

    fn input(delay_us: Option<i64>) -> Input {
        Input {
            object: ObjectId(1),
            name: "in".to_owned(),
            projection: Vec::new(),
            schema: Arc::new(Schema::empty()),
            event_time: delay_us.map(|delay_us| EventTime {
                column: 0,
                delay_us,
                max_future_us: None,
            }),
            append_only: true,
        }
    }

    #[test]
    fn a_watermark_follows_the_event_time_and_never_goes_back() {
        let inputs = [input(Some(10)), input(None), input(Some(0))];
        let first = next(&inputs, &[Some(100), Some(5), None], &[None; 3]);
        assert_eq!(first, [Some(90), None, None]);
        // After a change of the delay the old watermark stays until the new one passes it.
        let wider = [input(Some(50)), input(None), input(Some(0))];
        assert_eq!(
            next(&wider, &[Some(100), None, Some(-3)], &first),
            [Some(90), None, Some(-3)]
        );
        assert_eq!(next(&wider, &[Some(150), None, None], &first)[0], Some(100));
        assert_eq!(
            next(&inputs, &[Some(i64::MIN), None, None], &[None; 3])[0],
            Some(i64::MIN)
        );
    }
}
