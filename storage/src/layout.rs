//! Every key prefix of the meta store and every file name of the data directory. No other module builds either.
//!
//! Numbers in keys are big-endian, so key order is numeric order. `docs/storage-format.md` describes the bytes.

use crate::cut::Cut;

/// Version of everything on disk. A higher one than ours is refused.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Held under an exclusive lock while the data directory is open; contains the holder's pid.
pub(crate) const LOCK_FILE: &str = "LOCK";
/// Says that the meta store was set up, so that a lost meta store is told from a new directory.
pub(crate) const FORMAT_FILE: &str = "FORMAT";
/// Number of the newest commit, to notice a meta store that was set back.
pub(crate) const MARK_FILE: &str = "MARK";
/// The meta store.
pub(crate) const META_FOLDER: &str = "meta";
/// Change logs, a folder per relation.
pub(crate) const RELATIONS_FOLDER: &str = "relations";
/// Operator state, a folder per query.
pub(crate) const STATE_FOLDER: &str = "state";

/// Sorts before all others, away from large values.
const COMMIT_NUMBER: u8 = 0x01;
const OPENINGS: u8 = 0x02;
const FORMAT: u8 = b'f';
const NEXT_OBJECT: u8 = b'n';
const OBJECT: u8 = b'o';
const RELATION: u8 = b'r';
const LOG: u8 = b'l';
const BATCH: u8 = b'b';
const COMMIT: u8 = b'c';
const STATE: u8 = b's';
const NOTE: u8 = b'k';

/// Which relation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The object's own rows.
    Rows,
    /// Rows that were set aside.
    BadRows,
    /// Rows that came too late.
    LateRows,
}

impl Part {
    fn byte(self) -> u8 {
        match self {
            Part::Rows => 0,
            Part::BadRows => 1,
            // 2 was a form of late rows that could not take any back.
            Part::LateRows => 3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Part::Rows => "rows",
            Part::BadRows => "bad-rows",
            Part::LateRows => "late",
        }
    }
}

/// Identity of a relation: the object it belongs to and which of its relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelationId {
    pub object: u64,
    pub part: Part,
}

impl std::fmt::Display for RelationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.object, self.part.name())
    }
}

/// Place of an entry in its relation's log: ordered as committed. `piece` tells apart the files of one summed range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryKey {
    pub sequence: u64,
    pub piece: u32,
}

fn key(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![tag];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

pub(crate) fn format_key() -> Vec<u8> {
    key(FORMAT, &[b"ormat"])
}

pub(crate) fn commit_number_key() -> Vec<u8> {
    key(COMMIT_NUMBER, &[])
}

pub(crate) fn openings_key() -> Vec<u8> {
    key(OPENINGS, &[])
}

pub(crate) fn next_object_key() -> Vec<u8> {
    key(NEXT_OBJECT, &[])
}

pub(crate) fn objects_prefix() -> Vec<u8> {
    key(OBJECT, &[])
}

pub(crate) fn object_key(id: u64) -> Vec<u8> {
    key(OBJECT, &[&id.to_be_bytes()])
}

pub(crate) fn relation_key(id: RelationId) -> Vec<u8> {
    key(RELATION, &[&id.object.to_be_bytes(), &[id.part.byte()]])
}

pub(crate) fn logs_prefix() -> Vec<u8> {
    key(LOG, &[])
}

pub(crate) fn log_prefix(id: RelationId) -> Vec<u8> {
    key(LOG, &[&id.object.to_be_bytes(), &[id.part.byte()]])
}

pub(crate) fn log_key(id: RelationId, entry: EntryKey) -> Vec<u8> {
    let mut key = log_prefix(id);
    key.extend_from_slice(&entry.sequence.to_be_bytes());
    key.extend_from_slice(&entry.piece.to_be_bytes());
    key
}

/// The entry that a key of [`logs_prefix`] names.
pub(crate) fn parse_log_key(key: &[u8]) -> Option<EntryKey> {
    let rest = key.strip_prefix(&[LOG])?.get(9..)?;
    if rest.len() != 12 {
        return None;
    }
    Some(EntryKey {
        sequence: number(rest)?,
        piece: u32::from_be_bytes(rest[8..].try_into().ok()?),
    })
}

pub(crate) fn batches_prefix(query: u64) -> Vec<u8> {
    key(BATCH, &[&query.to_be_bytes()])
}

pub(crate) fn batch_key(query: u64, epoch: u64) -> Vec<u8> {
    key(BATCH, &[&query.to_be_bytes(), &epoch.to_be_bytes()])
}

pub(crate) fn commits_prefix(query: u64) -> Vec<u8> {
    key(COMMIT, &[&query.to_be_bytes()])
}

pub(crate) fn commit_key(query: u64, epoch: u64) -> Vec<u8> {
    key(COMMIT, &[&query.to_be_bytes(), &epoch.to_be_bytes()])
}

/// The number at the end of a key: epoch of a batch or commit record, id of an object.
pub(crate) fn last_number(key: &[u8]) -> Option<u64> {
    number(key.get(key.len().checked_sub(8)?..)?)
}

pub(crate) fn states_prefix() -> Vec<u8> {
    key(STATE, &[])
}

pub(crate) fn query_state_prefix(query: u64) -> Vec<u8> {
    key(STATE, &[&query.to_be_bytes()])
}

/// Keys of one operator's deltas, in order of their sequence numbers.
pub(crate) fn operator_state_prefix(query: u64, operator: &str) -> Vec<u8> {
    let length = u32::try_from(operator.len()).expect("an operator's name is short");
    key(
        STATE,
        &[&query.to_be_bytes(), &length.to_be_bytes(), operator.as_bytes()],
    )
}

pub(crate) fn state_key(query: u64, operator: &str, sequence: u64) -> Vec<u8> {
    let mut key = operator_state_prefix(query, operator);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// Query, operator and sequence number of a key of [`states_prefix`].
pub(crate) fn parse_state_key(key: &[u8]) -> Option<(u64, String, u64)> {
    let rest = key.strip_prefix(&[STATE])?;
    let query = number(rest)?;
    let length = u32::from_be_bytes(rest.get(8..12)?.try_into().ok()?) as usize;
    let name = rest.get(12..12usize.checked_add(length)?)?;
    let sequence = rest.get(12 + length..).filter(|rest| rest.len() == 8)?;
    Some((query, String::from_utf8(name.to_vec()).ok()?, number(sequence)?))
}

pub(crate) fn note_key(owner: u64, name: &str) -> Vec<u8> {
    key(NOTE, &[&owner.to_be_bytes(), name.as_bytes()])
}

/// The name within a note's key.
pub(crate) fn note_name(key: &[u8]) -> Option<String> {
    String::from_utf8(key.get(9..)?.to_vec()).ok()
}

/// Prefixes of all keys that go when an object is dropped.
pub(crate) fn owned_prefixes(object: u64) -> [Vec<u8>; 7] {
    [OBJECT, RELATION, LOG, BATCH, COMMIT, STATE, NOTE].map(|tag| key(tag, &[&object.to_be_bytes()]))
}

fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?))
}

/// A key in words, for error messages.
pub(crate) fn describe(key: &[u8]) -> String {
    let object = || key.get(1..9).and_then(number).unwrap_or_default();
    let relation = || {
        let parts = [Part::BadRows, Part::LateRows];
        let part = { parts.into_iter() }.find(|part| key.get(9) == Some(&part.byte()));
        let part = part.unwrap_or(Part::Rows);
        RelationId {
            object: object(),
            part,
        }
    };
    let last = || last_number(key).unwrap_or_default();
    let what = match key.first() {
        Some(&COMMIT_NUMBER) => "number of the newest commit".to_string(),
        Some(&OPENINGS) => "number of openings".to_string(),
        Some(&FORMAT) => "format version".to_string(),
        Some(&NEXT_OBJECT) => "next object id".to_string(),
        Some(&OBJECT) => format!("object {}", object()),
        Some(&RELATION) => format!("relation {}", relation()),
        Some(&LOG) => match parse_log_key(key) {
            Some(entry) => format!(
                "entry {}.{} in the log of relation {}",
                entry.sequence,
                entry.piece,
                relation()
            ),
            None => format!("entry in the log of relation {}", relation()),
        },
        Some(&BATCH) => format!("batch record {} of query {}", last(), object()),
        Some(&COMMIT) => format!("commit record {} of query {}", last(), object()),
        Some(&STATE) => match parse_state_key(key) {
            Some((query, operator, sequence)) => {
                format!("state {sequence} of operator {operator} of query {query}")
            }
            None => format!("state of query {}", object()),
        },
        Some(&NOTE) => format!(
            "note {:?} of object {}",
            note_name(key).unwrap_or_default(),
            object()
        ),
        _ => format!("key {key:02x?}"),
    };
    format!("meta store record \"{what}\"")
}

/// What makes a file's name unlike that of any file before: openings of the data directory are counted from 1, and the
/// files of each opening from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileNumber {
    pub opening: u64,
    pub number: u64,
}

impl std::fmt::Display for FileNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.opening, self.number)
    }
}

/// A log file: `relations/7-rows/12-40.3-93.changes` holds the changes at cuts 12 to 40.
pub(crate) fn log_file(id: RelationId, first: Cut, last: Cut, number: FileNumber) -> String {
    format!("{RELATIONS_FOLDER}/{id}/{first}-{last}.{number}.changes")
}

/// A state file: `state/7/40.3-94.state` holds state that epoch 40 of query 7 wrote.
pub(crate) fn state_file(query: u64, epoch: u64, number: FileNumber) -> String {
    format!("{STATE_FOLDER}/{query}/{epoch}.{number}.state")
}

/// The number in a file's name; `None` for a file that is not ours.
pub(crate) fn file_number(name: &str) -> Option<FileNumber> {
    let stem = if name.starts_with(RELATIONS_FOLDER) {
        name.strip_suffix(".changes")?
    } else {
        name.strip_suffix(".state")?
    };
    let (opening, number) = stem.rsplit_once('.')?.1.split_once('-')?;
    Some(FileNumber {
        opening: opening.parse().ok()?,
        number: number.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_parse_back_and_sort_by_number() {
        let id = RelationId {
            object: 7,
            part: Part::BadRows,
        };
        let entry = EntryKey {
            sequence: 300,
            piece: 2,
        };
        assert_eq!(parse_log_key(&log_key(id, entry)), Some(entry));
        assert!(
            log_key(
                id,
                EntryKey {
                    sequence: 255,
                    piece: 9
                }
            ) < log_key(id, entry)
        );
        assert_eq!(
            parse_state_key(&state_key(9, "join.1", 5)),
            Some((9, "join.1".to_string(), 5))
        );
        assert_eq!(last_number(&batch_key(1, 256)), Some(256));
        assert_eq!(note_name(&note_key(3, "seen/ä")), Some("seen/ä".to_string()));
        let number = FileNumber {
            opening: 3,
            number: 12,
        };
        assert_eq!(file_number(&log_file(id, Cut(1), Cut(2), number)), Some(number));
        assert_eq!(file_number(&state_file(1, 2, number)), Some(number));
        assert_eq!(file_number("relations/7-rows/notes.txt"), None);
    }

    #[test]
    fn one_operators_keys_are_not_anothers() {
        assert!(!state_key(1, "ab", 0).starts_with(&operator_state_prefix(1, "a")));
        assert!(
            !log_key(
                RelationId {
                    object: 256,
                    part: Part::Rows
                },
                EntryKey {
                    sequence: 0,
                    piece: 0
                }
            )
            .starts_with(&owned_prefixes(1)[2])
        );
    }

    #[test]
    fn errors_name_the_record() {
        let id = RelationId {
            object: 7,
            part: Part::Rows,
        };
        let text = describe(&log_key(
            id,
            EntryKey {
                sequence: 4,
                piece: 0,
            },
        ));
        assert_eq!(
            text,
            "meta store record \"entry 4.0 in the log of relation 7-rows\""
        );
    }
}
