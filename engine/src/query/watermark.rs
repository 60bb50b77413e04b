//! Watermarks: per input, the greatest event time seen up to the epoch before minus the delay, never backwards.

use millpond_catalog::WatermarkPolicy;

use crate::dataflow::{Dataflow, Input, Node, NodeKind};
use crate::operator::spec::OperatorSpec;

/// What the watermarks of the next epoch follow from, by input.
pub(crate) struct Seen<'a> {
    /// Greatest event times so far.
    pub(crate) event_times: &'a [Option<i64>],
    /// Watermarks of the views that are read, where the query stands in them.
    pub(crate) below: &'a [Option<i64>],
    /// Watermarks of the epoch before.
    pub(crate) last: &'a [Option<i64>],
    /// Inputs that hold back no other.
    pub(crate) idle: &'a [bool],
}

/// Which inputs have given nothing for their idle timeout.
pub(crate) fn idle(inputs: &[Input], heard_us: &[i64], now_us: i64) -> Vec<bool> {
    let silent = inputs.iter().zip(heard_us).map(|(input, heard_us)| {
        idle_timeout_us(input).is_some_and(|timeout_us| now_us.saturating_sub(*heard_us) >= timeout_us)
    });
    silent.collect()
}

/// When the next input becomes idle that another one is ahead of.
pub(crate) fn next_idle(
    inputs: &[Input],
    heard_us: &[i64],
    watermarks: &[Option<i64>],
    now_us: i64,
) -> Option<i64> {
    let greatest = watermarks.iter().copied().flatten().max()?;
    let behind = inputs
        .iter()
        .zip(heard_us)
        .zip(watermarks)
        .filter(|(_, watermark)| watermark.is_none_or(|watermark| watermark < greatest));
    behind
        .filter_map(|((input, heard_us), _)| Some(heard_us.saturating_add(idle_timeout_us(input)?)))
        .filter(|idle_us| *idle_us > now_us)
        .min()
}

fn idle_timeout_us(input: &Input) -> Option<i64> {
    input.event_time.as_ref()?.idle_timeout_us
}

/// Lifts idle inputs to the slowest of the others; where all are idle, to the fastest.
fn release(watermarks: &mut [Option<i64>], inputs: &[Input], idle: &[bool]) {
    let timed = |index: &usize| inputs[*index].is_timed();
    let all_idle = (0..inputs.len()).filter(timed).all(|index| idle[index]);
    let reached = if all_idle {
        watermarks.iter().copied().flatten().max()
    } else {
        let active = (0..inputs.len()).filter(timed).filter(|index| !idle[*index]);
        // None as long as one of them has not said anything.
        active.map(|index| watermarks[index]).min().flatten()
    };
    for (watermark, _) in watermarks.iter_mut().zip(idle).filter(|(_, idle)| **idle) {
        *watermark = (*watermark).max(reached);
    }
}

/// The watermarks of the next epoch.
pub(crate) fn next(inputs: &[Input], policy: WatermarkPolicy, seen: &Seen<'_>) -> Vec<Option<i64>> {
    let each = inputs.iter().enumerate().map(|(index, input)| {
        let delay_us = input.event_time.as_ref().map(|event_time| event_time.delay_us);
        let reached = delay_us
            .zip(seen.event_times[index])
            .map(|(delay, event_time)| event_time.saturating_sub(delay));
        let below = seen.below[index].filter(|_| input.follows);
        reached.max(below).max(seen.last[index])
    });
    let mut watermarks: Vec<Option<i64>> = each.collect();
    if seen.idle.contains(&true) {
        release(&mut watermarks, inputs, seen.idle);
    }
    if policy == WatermarkPolicy::Max {
        let greatest = watermarks.iter().copied().flatten().max();
        for (watermark, input) in watermarks.iter_mut().zip(inputs) {
            *watermark = greatest.filter(|_| input.is_timed());
        }
    }
    watermarks
}

/// Going from watermarks `last` to `next` can change the result without any input.
pub(crate) fn moves_result(dataflow: &Dataflow, last: &[Option<i64>], next: &[Option<i64>]) -> bool {
    // One that shows the watermark beside its rows does so for the rows that come.
    let shows = |node: &&Node| matches!(node.kind, NodeKind::Operator(OperatorSpec::Map(_)));
    let nodes = dataflow.nodes.iter().filter(|node| !shows(node));
    let bounds = nodes.flat_map(|node| &node.properties.bounds);
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
                idle_timeout_us: None,
            }),
            follows: false,
            append_only: true,
        }
    }

    /// Without views below.
    fn next_of(
        inputs: &[Input],
        policy: WatermarkPolicy,
        event_times: &[Option<i64>],
        last: &[Option<i64>],
    ) -> Vec<Option<i64>> {
        let below = &vec![None; inputs.len()];
        let seen = Seen {
            event_times,
            below,
            last,
            idle: &vec![false; inputs.len()],
        };
        next(inputs, policy, &seen)
    }

    #[test]
    fn a_watermark_follows_the_event_time_and_never_goes_back() {
        let next = |inputs: &[Input], times: &[Option<i64>], last: &[Option<i64>]| {
            next_of(inputs, WatermarkPolicy::Min, times, last)
        };
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

    #[test]
    fn by_the_policy_of_the_greatest_all_inputs_go_by_the_fastest() {
        let inputs = [input(Some(10)), input(None), input(Some(0))];
        let next =
            |times: &[Option<i64>], last: &[Option<i64>]| next_of(&inputs, WatermarkPolicy::Max, times, last);
        let first = next(&[Some(100), None, None], &[None; 3]);
        assert_eq!(first, [Some(90), None, Some(90)]);
        assert_eq!(
            next(&[Some(100), None, Some(95)], &first),
            [Some(95), None, Some(95)]
        );
    }

    #[test]
    fn an_idle_input_holds_back_no_other() {
        let mut inputs = [input(Some(0)), input(None), input(Some(0)), input(Some(0))];
        for index in [0, 2] {
            inputs[index].event_time.as_mut().unwrap().idle_timeout_us = Some(10);
        }
        assert_eq!(
            idle(&inputs, &[5, 0, 6, 0], 15),
            [true, false, false, false],
            "silent for exactly its timeout"
        );
        // The next to become idle, of those that are behind.
        let behind = [Some(3), None, Some(1), Some(7)];
        assert_eq!(next_idle(&inputs, &[5, 0, 6, 0], &behind, 0), Some(15));
        assert_eq!(next_idle(&inputs, &[5, 0, 6, 0], &behind, 15), Some(16));
        assert_eq!(next_idle(&inputs, &[5, 0, 6, 0], &behind, 16), None);
        assert_eq!(next_idle(&inputs, &[5, 0, 6, 0], &[None; 4], 0), None);

        let next = |idle: &[bool], times: &[Option<i64>], last: &[Option<i64>]| {
            let seen = Seen {
                event_times: times,
                below: &[None; 4],
                last,
                idle,
            };
            super::next(&inputs, WatermarkPolicy::Min, &seen)
        };
        let times = [Some(3), None, Some(9), Some(7)];
        // By the slowest of the others, and never back.
        let first = next(&[true, false, false, false], &times, &[None; 4]);
        assert_eq!(first, [Some(7), None, Some(9), Some(7)]);
        assert_eq!(next(&[false; 4], &times, &first), first);
        // One that was never heard holds nothing either; one that is not idle does.
        let unheard = [None, None, Some(9), Some(7)];
        assert_eq!(
            next(&[true, false, false, false], &unheard, &[None; 4])[0],
            Some(7)
        );
        let waiting = [Some(3), None, Some(9), None];
        assert_eq!(
            next(&[true, false, false, false], &waiting, &[None; 4])[0],
            Some(3)
        );
        // Where all are idle, by the fastest.
        let all = next(&[true, false, true, true], &times, &[None; 4]);
        assert_eq!(all, [Some(9), None, Some(9), Some(9)]);
    }

    #[test]
    fn a_view_below_hands_its_watermark_on() {
        let mut view = input(None);
        view.follows = true;
        let next = |below: Option<i64>| {
            let seen = Seen {
                event_times: &[None],
                below: &[below],
                last: &[Some(4)],
                idle: &[false],
            };
            next(std::slice::from_ref(&view), WatermarkPolicy::Min, &seen)
        };
        assert_eq!(next(Some(7)), [Some(7)]);
        assert_eq!(next(Some(3)), [Some(4)]);
        assert_eq!(next(None), [Some(4)]);
    }
}
