//! What a transaction has made beside changes of rows, and how far each savepoint reaches.

use millpond_catalog::ObjectId;

/// Objects that were created, and how many portals there were.
#[derive(Debug, Default)]
pub struct Made {
    /// Created in the open block: gone when it is rolled back.
    created: Vec<ObjectId>,
    /// Created, and then rolled back to a point before.
    undone: Vec<ObjectId>,
    /// The number of the newest portal.
    portals: u64,
    /// As many as the transaction has savepoints: how many objects were created, and the newest portal, when each was set.
    savepoints: Vec<(usize, u64)>,
}

impl Made {
    pub fn create(&mut self, id: ObjectId) {
        self.created.push(id);
    }

    pub fn next_portal(&mut self) -> u64 {
        self.portals += 1;
        self.portals
    }

    pub fn set_savepoint(&mut self) {
        self.savepoints.push((self.created.len(), self.portals));
    }

    /// Forgets all savepoints but the oldest `count`.
    pub fn release(&mut self, count: usize) {
        self.savepoints.truncate(count);
    }

    /// Goes back to the newest of the oldest `count` savepoints, which stays; gives the newest portal there was.
    pub fn roll_back_to(&mut self, count: usize) -> u64 {
        self.savepoints.truncate(count);
        let (created, portals) = self.savepoints.last().copied().unwrap_or_default();
        let undone = self.created.split_off(created.min(self.created.len()));
        self.undone.extend(undone);
        portals
    }

    /// The transaction has committed.
    pub fn keep(&mut self) {
        self.created.clear();
        self.savepoints.clear();
    }

    /// The transaction was rolled back.
    pub fn discard(&mut self) {
        self.undone.append(&mut self.created);
        self.savepoints.clear();
    }

    /// What is to be dropped, the newest first.
    pub fn take_undone(&mut self) -> Vec<ObjectId> {
        let mut undone = std::mem::take(&mut self.undone);
        undone.sort_unstable_by(|a, b| b.cmp(a));
        undone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_after_a_savepoint_is_undone() {
        let mut made = Made::default();
        made.create(ObjectId(1));
        let first = made.next_portal();
        made.set_savepoint();
        made.create(ObjectId(2));
        made.next_portal();
        assert_eq!(made.roll_back_to(1), first);
        assert_eq!(made.take_undone(), [ObjectId(2)]);
        made.create(ObjectId(3));
        made.discard();
        assert_eq!(made.take_undone(), [ObjectId(3), ObjectId(1)]);
        made.create(ObjectId(4));
        made.keep();
        made.discard();
        assert!(made.take_undone().is_empty());
    }
}
