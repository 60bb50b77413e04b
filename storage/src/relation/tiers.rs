//! Which neighbours to sum, for segments of a snapshot as for entries of a log.
//!
//! Neighbours are summed when there are several and none of them makes up more than half of the sum. So a row is written
//! anew only when what it lies in at least doubles, or is itself the larger half: all sums together cost each row about
//! log(n) copies, while a run of n equal pieces keeps about as many per size class as are asked for at least.

use std::ops::Range;

/// The next neighbours to sum, at least `pieces_min` of them. `sizes` holds `None` where a piece is large enough to be left
/// alone.
pub(crate) fn pick(sizes: &[Option<u64>], pieces_min: usize) -> Option<Range<usize>> {
    let mut end = sizes.len();
    while end > 0 {
        if sizes[end - 1].is_none() {
            end -= 1;
            continue;
        }
        let start = sizes[..end]
            .iter()
            .rposition(Option::is_none)
            .map_or(0, |sealed| sealed + 1);
        if let Some(range) = longest_tail(&sizes[start..end], pieces_min) {
            return Some(start + range.start..start + range.end);
        }
        end = start;
    }
    None
}

/// The longest tail of at least `pieces_min` pieces in which the largest is at most half of the sum.
fn longest_tail(run: &[Option<u64>], pieces_min: usize) -> Option<Range<usize>> {
    let (mut sum, mut largest, mut best) = (0u64, 0u64, None);
    for (start, size) in run.iter().enumerate().rev() {
        let size = size.unwrap_or_default();
        sum += size;
        largest = largest.max(size);
        if run.len() - start >= pieces_min && largest <= sum - largest {
            best = Some(start..run.len());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sizes: &[u64]) -> Vec<Option<u64>> {
        sizes.iter().map(|s| (*s > 0).then_some(*s)).collect()
    }

    #[test]
    fn small_neighbours_are_summed_without_the_large_one_before_them() {
        assert_eq!(pick(&sizes(&[1; 7]), 8), None);
        assert_eq!(pick(&sizes(&[1; 8]), 8), Some(0..8));
        assert_eq!(pick(&sizes(&[100, 1, 1, 1, 1, 1, 1, 1, 1]), 8), Some(1..9));
        assert_eq!(pick(&sizes(&[100, 1, 1, 1, 1, 1, 1, 1]), 8), None);
        assert_eq!(
            pick(&sizes(&[1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]), 8),
            Some(0..8),
            "0 stands for a sealed piece"
        );
    }

    #[test]
    fn many_small_steps_stay_cheap_and_few() {
        let (mut pieces, mut copied) = (Vec::new(), 0);
        for _ in 0..10_000u64 {
            pieces.extend([1]);
            while let Some(range) = pick(&sizes(&pieces), 8) {
                let sum = pieces[range.clone()].iter().sum();
                copied += sum;
                pieces.splice(range, [sum]);
            }
        }
        assert_eq!(pieces.iter().sum::<u64>(), 10_000);
        assert!(pieces.len() < 60, "{pieces:?}");
        assert!(copied < 10_000 * 14, "{copied}");
    }
}
