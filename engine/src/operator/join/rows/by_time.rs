//! The rows of a side in the order of their times: which have become final, and which are forgotten.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::TimestampMicrosecondType;

use crate::operator::join::rows::Rows;

impl Rows {
    /// Notes the times of the rows that were just added.
    pub fn note_times(&mut self, times: &ArrayRef) {
        let times = times.as_primitive::<TimestampMicrosecondType>().values();
        self.time.resize(self.weights.len(), 0);
        self.sent.resize(self.weights.len(), 0);
        for (row, time) in self.added.drain(..).zip(times) {
            self.time[row] = *time;
        }
    }

    /// Living rows that were not final before and are now, or that are final and have changed since, each once.
    pub fn due(&mut self, before: Option<i64>, now: i64) -> Vec<usize> {
        let from = before.unwrap_or(i64::MIN);
        let mut due = std::mem::take(&mut self.news);
        due.retain(|row| self.time[*row] < now);
        if from < now {
            let crossed = self.by_time.range(from..now).flat_map(|(_, rows)| rows);
            due.extend(crossed.map(|row| *row as usize));
        }
        due.retain(|row| self.weights[*row] != 0);
        due.sort_unstable();
        due.dedup();
        due
    }

    /// What changed does not matter.
    pub fn forget_news(&mut self) {
        self.news.clear();
    }

    /// All of these rows have come out.
    pub fn note_sent(&mut self, rows: &[usize]) {
        for row in rows {
            self.sent[*row] = self.weights[*row];
        }
    }

    /// Takes the living rows with times before `below` out of the order.
    pub fn take_before(&mut self, below: i64) -> Vec<usize> {
        let mut rows = Vec::new();
        while let Some(first) = self.by_time.first_entry().filter(|first| *first.key() < below) {
            rows.extend(first.remove().into_iter().map(|row| row as usize));
        }
        rows.retain(|row| self.weights[*row] != 0);
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Forgets living rows, as if they had never been; nothing comes out for it.
    pub fn free(&mut self, rows: &[usize]) {
        for row in rows
            .iter()
            .copied()
            .filter(|row| self.weights[*row] != 0)
            .collect::<Vec<_>>()
        {
            self.unlink(row);
            self.living -= 1;
            for totals in [&mut self.total, &mut self.total_before] {
                totals[self.key[row]] -= self.weights[row];
            }
            self.weights[row] = 0;
            if let Some(sent) = self.sent.get_mut(row) {
                *sent = 0;
            }
        }
    }
}
