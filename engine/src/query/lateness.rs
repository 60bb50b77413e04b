//! How late the rows of an input are: by how much each is behind the newest one of the epochs before.
//!
//! A histogram whose classes grow by an eighth, so it is small and no percentile is off by more; of each class the greatest
//! value is kept, which makes a percentile one of the values that came.

use serde::{Deserialize, Serialize};

/// Eight classes for each power of two.
const CLASSES: usize = 8 * 62;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(usize, u64, i64)>", into = "Vec<(usize, u64, i64)>")]
pub(crate) struct Lateness {
    /// Rows of each class and the greatest value; empty while there are none at all.
    classes: Vec<(u64, i64)>,
}

impl Lateness {
    /// Counts rows that are `us` behind; not negative.
    pub(crate) fn add(&mut self, us: i64, rows: u64) {
        if self.classes.is_empty() {
            self.classes.resize(CLASSES, (0, 0));
        }
        let (count, greatest) = &mut self.classes[class(us)];
        *count += rows;
        *greatest = (*greatest).max(us);
    }

    pub(crate) fn merge(&mut self, other: &Lateness) {
        if self.classes.is_empty() {
            self.classes.clone_from(&other.classes);
            return;
        }
        for (own, other) in self.classes.iter_mut().zip(&other.classes) {
            own.0 += other.0;
            own.1 = own.1.max(other.1);
        }
    }

    /// What so many of a hundred rows are not behind by more than; `None` without rows.
    pub(crate) fn percentile(&self, percent: u64) -> Option<i64> {
        let total: u64 = self.classes.iter().map(|(rows, _)| rows).sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let reached = self.classes.iter().find(|(rows, _)| {
            seen += rows;
            seen >= rank
        });
        reached.filter(|_| total > 0).map(|(_, greatest)| *greatest)
    }
}

fn class(us: i64) -> usize {
    let us = u64::try_from(us).unwrap_or(0);
    if us < 8 {
        return us as usize;
    }
    let power = 63 - us.leading_zeros() as usize;
    // The three bits below the highest.
    let eighth = (us >> (power - 3)) as usize & 7;
    ((power - 2) * 8 + eighth).min(CLASSES - 1)
}

impl From<Vec<(usize, u64, i64)>> for Lateness {
    fn from(stored: Vec<(usize, u64, i64)>) -> Self {
        let mut lateness = Lateness::default();
        for (index, rows, greatest) in stored {
            lateness.add(greatest, 0);
            if let Some(class) = lateness.classes.get_mut(index) {
                class.0 += rows;
            }
        }
        lateness
    }
}

impl From<Lateness> for Vec<(usize, u64, i64)> {
    fn from(lateness: Lateness) -> Self {
        let classes = lateness.classes.into_iter().enumerate();
        classes
            .filter(|(_, (rows, _))| *rows > 0)
            .map(|(index, (rows, greatest))| (index, rows, greatest))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_near_the_exact_one_and_survives_storage() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(50), None);
        for us in 0..10_000 {
            lateness.add(us, 1);
        }
        for percent in [1, 25, 50, 90, 99, 100] {
            let (exact, told) = (100 * percent as i64 - 1, lateness.percentile(percent).unwrap());
            assert!((exact..=exact + exact / 8 + 1).contains(&told), "{exact} {told}");
        }
        let stored = serde_json::to_string(&lateness).unwrap();
        assert_eq!(serde_json::from_str::<Lateness>(&stored).unwrap(), lateness);
        lateness.merge(&lateness.clone());
        assert_eq!(lateness.percentile(100), Some(9_999));
    }

    #[test]
    fn every_duration_has_a_class_and_classes_ascend() {
        let mut before = 0;
        for power in 0..63 {
            for part in 0..8 {
                let us = (1_i64 << power) + ((1_i64 << power) / 8) * part;
                assert!(class(us) >= before, "{us}");
                before = class(us);
            }
        }
        assert!(class(i64::MAX) < CLASSES);
        assert_eq!((class(0), class(7), class(8)), (0, 7, 8));
    }
}
