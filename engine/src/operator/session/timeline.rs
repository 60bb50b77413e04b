//! The sessions of one key: rows in order of time, cut where nothing holds them together.
//!
//! A row at time t with gap g reaches from t to t + g, both included, and rows that reach each other are in one session.
//! So a session ends at the greatest t + g of its rows, and a row exactly at the end of a session joins it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use hashbrown::HashMap;
use itertools::Itertools;

/// A row as its bytes in the operator's row encoding.
pub(super) type RowBytes = Arc<[u8]>;

/// A change that has a place in time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrival {
    pub time: i64,
    /// Greater than zero.
    pub gap: i64,
    pub row: RowBytes,
    pub weight: i64,
}

impl Arrival {
    /// Where the row alone would end its session.
    pub fn reach(&self) -> i64 {
        self.time.saturating_add(self.gap)
    }
}

/// From the time of the first row to the greatest reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Session {
    pub start: i64,
    pub end: i64,
    /// The greatest gap among its rows.
    pub gap: i64,
    /// Its rows have come out as final. No other rows join it from then on.
    pub emitted: bool,
}

impl Session {
    /// No row that is still to come can be in it. A row at the very end would join, so that the end must have passed.
    pub fn is_final(&self, watermark: Option<i64>) -> bool {
        watermark.is_some_and(|watermark| self.end < watermark)
    }

    /// From which watermark on no row that is not late itself can touch it any more.
    pub fn forgotten_at(&self) -> i64 {
        self.end.saturating_add(self.gap)
    }
}

/// A row with its session, coming out or going away.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assigned {
    pub row: RowBytes,
    pub start: i64,
    pub end: i64,
    pub weight: i64,
}

/// What a step changed.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// What comes out and goes away, if that was asked for.
    pub assigned: Vec<Assigned>,
    /// Arrivals that took effect, with the weight that did.
    pub applied: Vec<Arrival>,
    /// Sessions that begin where none began before.
    pub begun: Vec<Session>,
    pub late: u64,
    /// The arrivals that are late.
    pub late_rows: Vec<Arrival>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    weight: i64,
    gap: i64,
}

#[derive(Debug, Default)]
pub(super) struct Timeline {
    rows: BTreeMap<(i64, RowBytes), Held>,
    /// By start; no two touch.
    sessions: BTreeMap<i64, Session>,
}

impl Timeline {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn sessions(&mut self) -> impl Iterator<Item = &mut Session> {
        self.sessions.values_mut()
    }

    pub fn session(&mut self, start: i64) -> Option<&mut Session> {
        self.sessions.get_mut(&start)
    }

    /// The rows of a session, each as often as it stands there.
    pub fn rows_of(&self, session: &Session) -> impl Iterator<Item = (&RowBytes, i64)> {
        self.range(session).map(|((_, row), held)| (row, held.weight))
    }

    fn range(&self, session: &Session) -> impl Iterator<Item = (&(i64, RowBytes), &Held)> {
        let from = (session.start, RowBytes::default());
        let end = session.end;
        self.rows
            .range(from..)
            .take_while(move |((time, _), _)| *time <= end)
    }

    /// The sessions that a row reaching from `from` to `to` touches, latest first.
    fn touching(&self, from: i64, to: i64) -> impl Iterator<Item = &Session> {
        self.sessions
            .range(..=to)
            .rev()
            .map(|(_, session)| session)
            .take_while(move |session| session.end >= from)
    }

    /// Takes a row back from a checkpoint; the sessions are wrong until [`Timeline::rebuild`].
    pub fn put_back(&mut self, arrival: Arrival) {
        self.add(&arrival);
    }

    /// Finds all sessions anew from the rows.
    pub fn rebuild(&mut self) {
        self.sessions = sweep(self.rows.iter().map(|((time, _), held)| alone(*time, held.gap)))
            .into_iter()
            .map(|session| (session.start, session))
            .collect();
    }

    /// Adds the change as far as the row is there to be taken away; returns the weight that took effect.
    fn add(&mut self, arrival: &Arrival) -> i64 {
        let held = |weight| Held {
            weight,
            gap: arrival.gap,
        };
        match self.rows.entry((arrival.time, Arc::clone(&arrival.row))) {
            Entry::Vacant(vacant) if arrival.weight > 0 => {
                vacant.insert(held(arrival.weight));
                arrival.weight
            }
            Entry::Vacant(_) => 0,
            Entry::Occupied(mut occupied) => {
                let before = occupied.get().weight;
                let after = (before + arrival.weight).max(0);
                if after == 0 {
                    occupied.remove();
                } else {
                    occupied.insert(held(after));
                }
                after - before
            }
        }
    }

    /// Applies all changes of an epoch. A row is late when it touches a final session, or when it alone would be one and is
    /// not inside an open session: further back it could touch sessions that are forgotten already. With `compare`, the
    /// step tells how the rows' sessions changed, at a cost of all rows of the sessions.
    pub fn apply(&mut self, arrivals: Vec<Arrival>, watermark: Option<i64>, compare: bool) -> Step {
        let mut step = Step::default();
        let mut touched: Vec<Session> = Vec::new();
        let mut accepted = Vec::with_capacity(arrivals.len());
        for arrival in net(arrivals) {
            let first = touched.len();
            touched.extend(self.touching(arrival.time, arrival.reach()));
            let sessions = &touched[first..];
            let is_inside = sessions.iter().any(|session| session.start <= arrival.time);
            let is_over = watermark.is_some_and(|watermark| arrival.reach() < watermark);
            if sessions.iter().any(|session| session.is_final(watermark)) || is_over && !is_inside {
                touched.truncate(first);
                step.late += arrival.weight.unsigned_abs();
                step.late_rows.push(arrival);
                continue;
            }
            accepted.push(arrival);
        }
        touched.sort_unstable_by_key(|session| session.start);
        touched.dedup_by_key(|session| session.start);
        let before = if compare {
            self.assignments(touched.iter())
        } else {
            HashMap::new()
        };
        for arrival in accepted {
            let weight = self.add(&arrival);
            if weight != 0 {
                step.applied.push(Arrival { weight, ..arrival });
            }
        }
        let come = self.sessions_around(&touched, &step.applied);
        for session in &touched {
            self.sessions.remove(&session.start);
        }
        let (closed, come): (Vec<_>, Vec<_>) =
            come.into_iter().partition(|session| session.is_final(watermark));
        for session in &closed {
            self.drop_late(session, &mut step);
        }
        for session in &come {
            self.sessions.insert(session.start, *session);
        }
        if compare {
            step.assigned = difference(before, self.assignments(come.iter()));
        }
        step.begun = come;
        step.begun
            .retain(|session| touched.binary_search_by_key(&session.start, |t| t.start).is_err());
        step
    }

    /// Takes out the rows of a session that was final before its first row came.
    fn drop_late(&mut self, session: &Session, step: &mut Step) {
        let rows: Vec<(i64, RowBytes)> = self.range(session).map(|(key, _)| key.clone()).collect();
        for key in &rows {
            self.rows.remove(key);
        }
        step.applied.retain(|arrival| {
            let late = (session.start..=session.end).contains(&arrival.time);
            if late {
                step.late += arrival.weight.unsigned_abs();
                step.late_rows.push(arrival.clone());
            }
            !late
        });
    }

    /// The sessions that the rows of `touched` and the new ones form now. Both are in order of time.
    fn sessions_around(&self, touched: &[Session], applied: &[Arrival]) -> Vec<Session> {
        let new = { applied.iter() }
            .filter(|arrival| arrival.weight > 0)
            .map(|arrival| alone(arrival.time, arrival.gap));
        if applied.iter().all(|arrival| arrival.weight > 0) {
            // Nothing falls apart.
            return sweep(new.merge_by(touched.iter().copied(), |a, b| a.start <= b.start));
        }
        let held = touched.iter().flat_map(|session| {
            self.range(session)
                .map(|((time, _), held)| alone(*time, held.gap))
        });
        sweep(new.merge_by(held, |a, b| a.start <= b.start))
    }

    fn assignments<'a>(
        &self,
        sessions: impl Iterator<Item = &'a Session>,
    ) -> HashMap<RowBytes, (i64, i64, i64)> {
        let mut assignments = HashMap::new();
        for session in sessions {
            for (row, weight) in self.rows_of(session) {
                assignments.insert(row.clone(), (session.start, session.end, weight));
            }
        }
        assignments
    }

    /// Forgets a session with its rows.
    pub fn forget(&mut self, session: &Session) -> u64 {
        let rows: Vec<(i64, RowBytes)> = self.range(session).map(|(key, _)| key.clone()).collect();
        for key in &rows {
            self.rows.remove(key);
        }
        self.sessions.remove(&session.start);
        rows.len() as u64
    }

    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Every row with its weight.
    pub fn rows(&self) -> impl Iterator<Item = (&RowBytes, i64)> {
        self.rows.iter().map(|((_, row), held)| (row, held.weight))
    }
}

/// One arrival per row, in order of time: within an epoch a row may be taken away before it is added.
fn net(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.sort_unstable_by(|a, b| (a.time, &a.row).cmp(&(b.time, &b.row)));
    arrivals.dedup_by(|next, kept| {
        let same = (next.time, &next.row) == (kept.time, &kept.row);
        if same {
            kept.weight += next.weight;
        }
        same
    });
    arrivals.retain(|arrival| arrival.weight != 0);
    arrivals
}

/// The session of one row.
fn alone(time: i64, gap: i64) -> Session {
    Session {
        start: time,
        end: time.saturating_add(gap),
        gap,
        emitted: false,
    }
}

/// The sessions that such pieces form, which come in order of time.
fn sweep(pieces: impl Iterator<Item = Session>) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for piece in pieces {
        match sessions.last_mut() {
            Some(last) if piece.start <= last.end => {
                last.end = last.end.max(piece.end);
                last.gap = last.gap.max(piece.gap);
            }
            _ => sessions.push(piece),
        }
    }
    sessions
}

/// Rows whose session or number changed: out with the old, in with the new.
fn difference(
    before: HashMap<RowBytes, (i64, i64, i64)>,
    mut after: HashMap<RowBytes, (i64, i64, i64)>,
) -> Vec<Assigned> {
    let mut changes = Vec::new();
    for (row, (start, end, weight)) in before {
        let left = match after.get_mut(&row) {
            Some(now) if (now.0, now.1) == (start, end) => {
                now.2 -= weight;
                0
            }
            _ => -weight,
        };
        if left != 0 {
            changes.push(Assigned {
                row,
                start,
                end,
                weight: left,
            });
        }
    }
    changes.extend(after.into_iter().filter(|(_, (_, _, weight))| *weight != 0).map(
        |(row, (start, end, weight))| Assigned {
            row,
            start,
            end,
            weight,
        },
    ));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(time: i64, gap: i64, weight: i64) -> Arrival {
        Arrival {
            time,
            gap,
            row: time.to_be_bytes().into(),
            weight,
        }
    }

    fn bounds(timeline: &mut Timeline) -> Vec<(i64, i64)> {
        timeline.sessions().map(|s| (s.start, s.end)).collect()
    }

    #[test]
    fn a_bridge_merges_and_its_removal_splits() {
        let mut timeline = Timeline::default();
        timeline.apply(vec![arrival(0, 10, 1), arrival(15, 10, 1)], None, true);
        assert_eq!(bounds(&mut timeline), [(0, 10), (15, 25)]);
        let step = timeline.apply(vec![arrival(7, 10, 1)], None, true);
        assert_eq!(bounds(&mut timeline), [(0, 25)]);
        assert_eq!(step.assigned.len(), 5, "two go, three come");
        let step = timeline.apply(vec![arrival(7, 10, -1)], None, true);
        assert_eq!(bounds(&mut timeline), [(0, 10), (15, 25)]);
        assert_eq!(step.assigned.iter().map(|a| a.weight).sum::<i64>(), -1);
    }

    #[test]
    fn a_row_exactly_one_gap_later_joins() {
        let mut timeline = Timeline::default();
        timeline.apply(
            vec![arrival(0, 10, 1), arrival(10, 10, 1), arrival(21, 10, 1)],
            None,
            true,
        );
        assert_eq!(bounds(&mut timeline), [(0, 20), (21, 31)]);
    }

    #[test]
    fn an_old_long_gap_reaches_over_a_later_short_one() {
        let mut timeline = Timeline::default();
        timeline.apply(
            vec![arrival(0, 100, 1), arrival(10, 1, 1), arrival(90, 5, 1)],
            None,
            true,
        );
        assert_eq!(bounds(&mut timeline), [(0, 100)]);
    }

    #[test]
    fn final_sessions_take_no_rows() {
        let mut timeline = Timeline::default();
        timeline.apply(vec![arrival(0, 10, 1)], None, true);
        // At the watermark itself a row can still join.
        assert_eq!(timeline.apply(vec![arrival(10, 10, 1)], Some(10), true).late, 0);
        assert_eq!(bounds(&mut timeline), [(0, 20)]);
        let step = timeline.apply(vec![arrival(15, 10, 1)], Some(21), true);
        assert_eq!(
            (step.late, step.assigned.len()),
            (1, 0),
            "it would join a final session"
        );
        let step = timeline.apply(vec![arrival(-50, 10, 1)], Some(21), true);
        assert_eq!(step.late, 1, "its own session is final");
        assert_eq!(timeline.num_rows(), 2);
        // Nor does one that comes with it save such a row: further back a session may be forgotten that it touches.
        let step = timeline.apply(vec![arrival(30, 10, 1), arrival(22, 10, 1)], Some(34), true);
        assert_eq!((step.late, bounds(&mut timeline)), (1, vec![(0, 20), (30, 40)]));
        // Inside an open session it can touch no other.
        assert_eq!(timeline.apply(vec![arrival(31, 1, 1)], Some(34), true).late, 0);
    }

    #[test]
    fn rows_that_are_not_there_cannot_be_taken_away() {
        let mut timeline = Timeline::default();
        let step = timeline.apply(vec![arrival(0, 10, -3)], None, true);
        assert!(step.applied.is_empty() && step.assigned.is_empty() && timeline.is_empty());
    }
}
