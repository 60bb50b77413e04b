//! Sets of cuts at which a relation stands exactly, and the choice of a round one.

use millpond_storage::Cut;

/// A set of cuts as ascending ranges that do not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Boundaries {
    /// Inclusive at both ends.
    ranges: Vec<(Cut, Cut)>,
}

impl Boundaries {
    /// All cuts after `after` up to and with `to`.
    pub(crate) fn between(after: Cut, to: Cut) -> Self {
        let ranges = if after < to {
            vec![(after.next(), to)]
        } else {
            Vec::new()
        };
        Self { ranges }
    }

    pub(crate) fn last(&self) -> Option<Cut> {
        self.ranges.last().map(|(_, to)| *to)
    }

    /// The least cut from `from` on.
    pub(crate) fn first_from(&self, from: Cut) -> Option<Cut> {
        let range = self.ranges.iter().find(|(_, to)| *to >= from);
        range.map(|(first, _)| from.max(*first))
    }

    /// Adds cuts that all lie after those in the set.
    pub(crate) fn append(&mut self, later: &Boundaries) {
        for (from, to) in &later.ranges {
            match self.ranges.last_mut() {
                Some((_, end)) if end.next() == *from => *end = *to,
                Some((_, end)) => {
                    assert!(*end < *from, "boundaries only move forward");
                    self.ranges.push((*from, *to));
                }
                None => self.ranges.push((*from, *to)),
            }
        }
    }

    /// Adds one cut after those in the set.
    pub(crate) fn push(&mut self, cut: Cut) {
        self.append(&Boundaries {
            ranges: vec![(cut, cut)],
        });
    }

    pub(crate) fn intersect(&self, other: &Boundaries) -> Boundaries {
        let mut ranges = Vec::new();
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some((from_a, to_a)), Some((from_b, to_b))) = (a.peek(), b.peek()) {
            let (from, to) = (*from_a.max(from_b), *to_a.min(to_b));
            if from <= to {
                ranges.push((from, to));
            }
            if to_a < to_b {
                a.next()
            } else {
                b.next()
            };
        }
        Boundaries { ranges }
    }

    /// The cut with the most trailing zero bits; of equally round ones the last. Whoever skips cuts stops at the round
    /// ones, which is what lets relations that move at different speeds meet.
    pub(crate) fn roundest(&self) -> Option<Cut> {
        self.ranges
            .iter()
            .filter(|(_, to)| to.0 > 0)
            .map(|(from, to)| roundest_between(from.0.saturating_sub(1), to.0))
            .max_by_key(|cut| (cut.trailing_zeros(), *cut))
            .map(Cut)
    }

    /// Forgets cuts before `floor`.
    pub(crate) fn prune(&mut self, floor: Cut) {
        self.ranges.retain(|(_, to)| *to >= floor);
        if let Some((from, _)) = self.ranges.first_mut() {
            *from = (*from).max(floor);
        }
    }
}

/// The number in `(after, to]` with the most trailing zero bits: `to` without the bits below the highest one in which the
/// two differ.
fn roundest_between(after: u64, to: u64) -> u64 {
    let highest = 63 - (after ^ to).leading_zeros();
    (to >> highest) << highest
}

/// A number above `latest` that is rounder than every number in `(from, latest]`, so that whoever stands in between goes
/// straight there.
pub(crate) fn rounder_than_all_between(from: Cut, latest: Cut) -> Cut {
    if from >= latest {
        return latest.next();
    }
    // The first number above that has one zero bit more than the roundest of those in between.
    let bits = roundest_between(from.0, latest.0).trailing_zeros() + 1;
    Cut(((latest.0 >> bits) + 1) << bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> Boundaries {
        Boundaries {
            ranges: ranges.iter().map(|(from, to)| (Cut(*from), Cut(*to))).collect(),
        }
    }

    #[test]
    fn the_roundest_cut_is_the_one_with_most_trailing_zeros() {
        for after in 0..70u64 {
            for to in after + 1..140 {
                let best = (after + 1..=to).max_by_key(|cut| cut.trailing_zeros()).unwrap();
                assert_eq!(
                    Boundaries::between(Cut(after), Cut(to)).roundest(),
                    Some(Cut(best))
                );
            }
        }
        assert_eq!(set(&[(3, 5), (9, 11), (13, 13)]).roundest(), Some(Cut(4)));
        assert_eq!(set(&[]).roundest(), None);
    }

    #[test]
    fn readers_that_skip_cuts_meet_at_round_ones() {
        // One reader steps over up to 2 cuts, the other over up to 7; they still share every multiple of 8.
        let walk = |speed: u64| {
            let (mut at, mut seen) = (0, Vec::new());
            for latest in (0..=256u64).filter(|latest| latest % speed == 0) {
                while at < latest {
                    at = roundest_between(at, latest);
                    seen.push(at);
                }
            }
            seen
        };
        let (fast, slow) = (walk(2), walk(7));
        for round in (8..=248).step_by(8) {
            assert!(fast.contains(&round) && slow.contains(&round), "{round}");
        }
    }

    #[test]
    fn a_rounder_cut_draws_everyone_behind_it() {
        for from in 0..60u64 {
            for latest in from..120 {
                let rounder = rounder_than_all_between(Cut(from), Cut(latest));
                assert!(rounder.0 > latest);
                for at in from..=latest {
                    assert_eq!(
                        roundest_between(at, rounder.0),
                        rounder.0,
                        "{at} {latest} {rounder}"
                    );
                }
            }
        }
    }

    #[test]
    fn sets_grow_intersect_and_shrink() {
        let mut a = set(&[(1, 3)]);
        a.push(Cut(4));
        a.append(&set(&[(7, 9), (12, 20)]));
        assert_eq!(a, set(&[(1, 4), (7, 9), (12, 20)]));
        let b = set(&[(4, 8), (10, 12), (15, 16), (18, 40)]);
        let both = set(&[(4, 4), (7, 8), (12, 12), (15, 16), (18, 20)]);
        assert_eq!(a.intersect(&b), both);
        assert_eq!(b.intersect(&a), both);
        a.prune(Cut(8));
        assert_eq!(a, set(&[(8, 9), (12, 20)]));
        assert_eq!(a.last(), Some(Cut(20)));
        let first = |from: u64| a.first_from(Cut(from)).map(|cut| cut.0);
        assert_eq!(
            [0, 9, 10, 13, 20, 21].map(first),
            [Some(8), Some(9), Some(12), Some(13), Some(20), None]
        );
    }
}
