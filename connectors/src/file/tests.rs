//! Real files in temporary folders: each line once, in the right order, as found.

mod formats;

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use millpond_catalog::SqlType;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use super::*;
use crate::memory_notes::{MemoryNotes, column, options};

const SECOND: i64 = 1_000_000;
const ALL: Limit<'_> = Limit {
    bytes: u64::MAX,
    columns: &[0],
    now_us: 0,
};

/// A folder with a source on it.
struct Pond {
    folder: TempDir,
    notes: Arc<MemoryNotes>,
}

impl Pond {
    fn new() -> Self {
        Pond {
            folder: tempfile::tempdir().unwrap(),
            notes: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file that was modified `second` seconds after 1970.
    fn write(&self, name: &str, second: u64, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(&path).unwrap();
        file.write_all(text.as_ref()).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
            .unwrap();
    }

    /// A file of one row.
    fn row(&self, name: &str, second: u64, value: i64) {
        self.write(name, second, format!("{{\"a\":{value}}}\n"));
    }

    fn source_at(&self, path: &str, more: &[(&str, &str)]) -> Arc<dyn Source> {
        let entries = [&[("path", path), ("format", "json")], more].concat();
        let context = SourceContext {
            notes: self.notes.clone(),
            now_us: 0,
        };
        crate::open_source("file", &options(&entries), &[column("a", SqlType::Int8)], context).unwrap()
    }

    fn source(&self, more: &[(&str, &str)]) -> Arc<dyn Source> {
        self.source_at(self.folder.path().to_str().unwrap(), more)
    }
}

fn read_batches(
    source: &Arc<dyn Source>,
    from: &Position,
    to: &Position,
    workers: usize,
) -> Vec<millpond_engine::source::SourceBatch> {
    let mut batches = Vec::new();
    for slice in source.slices(from, to, workers).unwrap() {
        // A slice survives being written down.
        let slice: Slice = serde_json::from_str(&serde_json::to_string(&slice).unwrap()).unwrap();
        let mut reader = source.open(&slice, &[0]).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            batches.push(batch);
        }
    }
    batches
}

fn read(source: &Arc<dyn Source>, from: &Position, to: &Position, workers: usize) -> Vec<i64> {
    let batches = read_batches(source, from, to, workers);
    let values = batches
        .iter()
        .flat_map(|batch| batch.rows.column(0).as_primitive::<Int64Type>().values().to_vec());
    values.collect()
}

/// Reads epoch by epoch to the end; the values of each.
fn epochs(source: &Arc<dyn Source>, position: &mut Position, limit: Limit<'_>) -> Vec<Vec<i64>> {
    let mut epochs = Vec::new();
    while let Some(to) = source.advance(position, None, limit).unwrap() {
        epochs.push(read(source, position, &to, 2));
        assert!(source.reached(&to, position) && !source.reached(position, &to));
        *position = to;
    }
    epochs
}

fn failure<T: std::fmt::Debug>(result: Result<T, SourceError>) -> String {
    match result {
        Err(SourceError::Failed { message, .. }) => message,
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[test]
fn files_are_read_once_in_order_of_modification_also_after_a_restart() {
    let pond = Pond::new();
    pond.row("b.json", 20, 2);
    pond.row("a.json", 30, 3);
    pond.row("c.json", 10, 1);
    pond.row("d.json", 30, 4);
    let source = pond.source(&[]);
    let mut position = source.start();
    assert_eq!(epochs(&source, &mut position, ALL), [vec![1, 2, 3, 4]]);

    // Appended to and touched: it was read.
    pond.write("b.json", 40, "{\"a\":2}\n{\"a\":99}\n");
    pond.row("e.json", 5, 5);
    let source = pond.source(&[]);
    assert_eq!(epochs(&source, &mut position, ALL), [vec![5]]);
    // A new reader sees the files as they were found.
    assert_eq!(read(&source, &source.start(), &position, 3), [1, 2, 3, 4, 5]);
    assert_eq!(position.to_string(), "{\"file\":5,\"offset\":0}");
}

#[test]
fn files_per_trigger_and_latest_first() {
    let pond = Pond::new();
    for number in 1..=5 {
        pond.row(&format!("{number}.json"), number, number as i64);
    }
    let source = pond.source(&[("max_files_per_trigger", "1")]);
    assert_eq!(
        epochs(&source, &mut source.start(), ALL),
        [[1], [2], [3], [4], [5]]
    );
    let source = pond.source(&[("max_files_per_trigger", "10")]);
    assert_eq!(epochs(&source, &mut source.start(), ALL), [[1, 2, 3, 4, 5]]);

    let fresh = Pond {
        folder: pond.folder,
        notes: Arc::default(),
    };
    let source = fresh.source(&[("max_files_per_trigger", "2"), ("latest_first", "true")]);
    assert_eq!(
        epochs(&source, &mut source.start(), ALL),
        [vec![5, 4], vec![3, 2], vec![1]]
    );
}

#[test]
fn names_that_are_not_meant_are_passed_over() {
    let pond = Pond::new();
    for name in [
        ".hidden.json",
        "_SUCCESS",
        "x.json.tmp",
        "y.json~",
        "z.json._COPYING_",
        "sub/in.json",
    ] {
        pond.row(name, 1, 0);
    }
    pond.write("empty.json", 1, "");
    pond.row("a.json", 1, 1);
    pond.row("b.txt", 2, 2);
    pond.row("_day=1/c.json", 3, 3);
    let all = |path: &str, more: &[(&str, &str)]| {
        let source = Pond {
            folder: tempfile::tempdir().unwrap(),
            notes: Arc::default(),
        }
        .source_at(path, more);
        epochs(&source, &mut source.start(), ALL).concat()
    };
    let folder = pond.folder.path().to_str().unwrap();
    // A folder that stands for a value is read.
    assert_eq!(all(folder, &[]), [1, 2, 3]);
    assert_eq!(all(folder, &[("path_glob_filter", "*.json")]), [1, 3]);
    assert_eq!(all(folder, &[("recursive_file_lookup", "true")]), [1, 0, 2, 3]);
    assert_eq!(all(&format!("{folder}/*.json"), &[]), [1]);
    assert_eq!(all(&format!("{folder}/_day=*/*"), &[]), [3]);
    assert_eq!(all(&format!("file://{folder}/b.txt"), &[]), [2]);

    // The empty file gets its content.
    let source = pond.source(&[]);
    let mut position = source.start();
    epochs(&source, &mut position, ALL);
    pond.row("empty.json", 4, 4);
    assert_eq!(
        epochs(
            &source,
            &mut position,
            Limit {
                now_us: SECOND,
                ..ALL
            }
        ),
        [[4]]
    );
}

#[test]
fn the_folder_is_listed_once_per_poll_interval_but_always_for_latest() {
    let pond = Pond::new();
    let source = pond.source(&[("poll_interval", "10 s")]);
    let mut position = source.start();
    let at = |second| Limit {
        bytes: u64::MAX,
        columns: &[0],
        now_us: second * SECOND,
    };
    assert_eq!(epochs(&source, &mut position, at(0)), Vec::<Vec<i64>>::new());
    pond.row("a.json", 1, 1);
    assert_eq!(epochs(&source, &mut position, at(9)), Vec::<Vec<i64>>::new());
    assert_eq!(epochs(&source, &mut position, at(10)), [[1]]);
    pond.row("b.json", 2, 2);
    let latest = source.latest(10 * SECOND).unwrap();
    assert!(!source.reached(&position, &latest));
    assert_eq!(epochs(&source, &mut position, at(11)), [[2]]);
    assert!(source.reached(&position, &latest));
}

#[test]
fn a_cut_is_not_passed() {
    let pond = Pond::new();
    pond.row("a.json", 1, 1);
    let source = pond.source(&[]);
    let cut = source.latest(0).unwrap();
    pond.row("b.json", 2, 2);
    source.latest(0).unwrap();
    let to = source.advance(&source.start(), Some(&cut), ALL).unwrap().unwrap();
    assert_eq!(read(&source, &source.start(), &to, 1), [1]);
    assert_eq!(source.advance(&to, Some(&cut), ALL).unwrap(), None);
}

/// Lines of random length, with and without line end at the end of the file.
fn random_lines(random: &mut ChaCha8Rng, first: i64, bytes: usize, ended: bool) -> String {
    let mut text = String::new();
    for value in first.. {
        if text.len() >= bytes {
            break;
        }
        let longest = if random.random_bool(0.01) { 50_000 } else { 200 };
        let filler = "x".repeat(random.random_range(0..longest));
        let end = if random.random_bool(0.1) { "\r\n" } else { "\n" };
        text += &format!("{{\"a\":{value},\"filler\":\"{filler}\"}}{end}");
    }
    if !ended {
        text.truncate(text.trim_end().len());
    }
    text
}

#[test]
fn any_way_to_cut_files_gives_each_line_once() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for round in 0..4 {
        let pond = Pond::new();
        let mut expected = 0;
        for file in 0..6 {
            let bytes = [10, 3_000_000, 200, 700_000, 1, 90_000][file];
            let text = random_lines(&mut random, expected, bytes, file % 2 == round % 2);
            expected += text.lines().count() as i64;
            pond.write(&format!("{file}.json"), file as u64, &text);
        }
        let expected: Vec<i64> = (0..expected).collect();
        let source = pond.source(&[]);
        let end = source.latest(0).unwrap();
        for workers in [1, 2, 7, 64] {
            assert_eq!(
                read(&source, &source.start(), &end, workers),
                expected,
                "{workers} workers"
            );
        }
        let limit = Limit {
            bytes: random.random_range(1..400_000),
            columns: &[0],
            now_us: 0,
        };
        let epochs = epochs(&source, &mut source.start(), limit);
        assert_eq!(epochs.concat(), expected, "{} bytes per epoch", limit.bytes);
        assert!(epochs.len() >= 10);

        // Offsets that no epoch would end at.
        let (file, _) = (1, ());
        let size = fs::metadata(pond.path("1.json")).unwrap().len();
        let mut cuts: Vec<u64> = (0..40).map(|_| random.random_range(0..size)).collect();
        cuts.extend([1, size - 1]);
        cuts.sort_unstable();
        let mut values = Vec::new();
        let mut from = FilePosition::at(file, 0);
        for to in cuts
            .into_iter()
            .map(|cut| FilePosition::at(file, cut))
            .chain([FilePosition::at(file + 1, 0)])
        {
            if to.place() > from.place() {
                values.extend(read(&source, &(&from).into(), &(&to).into(), 1));
                from = to;
            }
        }
        let whole = read(
            &source,
            &(&FilePosition::at(file, 0)).into(),
            &(&FilePosition::at(file + 1, 0)).into(),
            1,
        );
        assert_eq!(values, whole);
    }
}

#[test]
fn a_line_of_many_chunks_and_cuts_of_single_bytes() {
    let pond = Pond::new();
    let long = format!("{{\"a\":2,\"filler\":\"{}\"}}", "y".repeat(3 << 20));
    pond.write("a.json", 1, format!("\u{feff}{{\"a\":1}}\n{long}\n\n{{\"a\":3}}"));
    let source = pond.source(&[]);
    let end = source.latest(0).unwrap();
    for workers in [1, 5] {
        assert_eq!(read(&source, &source.start(), &end, workers), [1, 2, 3]);
    }
    let size = fs::metadata(pond.path("a.json")).unwrap().len();
    let mut values = Vec::new();
    let offsets = (0..30).chain(size - 30..size);
    let mut from = FilePosition::at(0, 0);
    for to in offsets
        .map(|offset| FilePosition::at(0, offset))
        .chain([FilePosition::at(1, 0)])
    {
        values.extend(read(&source, &(&from).into(), &(&to).into(), 1));
        from = to;
    }
    assert_eq!(values, [1, 2, 3]);
}

#[test]
fn a_small_file_is_not_cut_and_a_large_one_is() {
    let pond = Pond::new();
    let text = |rows: i64| {
        (0..rows)
            .map(|value| format!("{{\"a\":{value}}}\n"))
            .collect::<String>()
    };
    pond.write("a.json", 1, text(9_000));
    pond.write("b.json", 2, text(9_000));
    pond.write("c.json", 3, text(60_000));
    let source = pond.source(&[("max_bytes_per_trigger", "150 kB")]);
    let lengths: Vec<usize> = epochs(&source, &mut source.start(), ALL)
        .iter()
        .map(Vec::len)
        .collect();
    // The first epoch has room for a part of b, which waits; the second has room for a part of c, which is taken.
    assert_eq!(lengths[0], 9_000);
    assert!(lengths[1] > 9_000 && lengths.len() > 5, "{lengths:?}");
    assert_eq!(lengths.iter().sum::<usize>(), 78_000);
}

#[test]
fn bad_rows_name_file_and_line() {
    let pond = Pond::new();
    let good = "{\"a\":1}\n".repeat(200_000);
    pond.write(
        "a.json",
        1,
        format!("rubbish\n{good}\n{{\"a\":\"x\"}}\r\n{good}[]"),
    );
    pond.write("b.json", 2, "{\"a\":2}\n{\"a\":1.5}\n");
    let a = pond.path("a.json").to_str().unwrap().to_owned();
    let b = pond.path("b.json").to_str().unwrap().to_owned();
    let source = pond.source(&[]);
    for workers in [1, 16] {
        let batches = read_batches(&source, &source.start(), &source.latest(0).unwrap(), workers);
        let rows: usize = batches.iter().map(|batch| batch.rows.num_rows()).sum();
        assert_eq!(rows, 400_001);
        let bad: Vec<_> = batches.into_iter().flat_map(|batch| batch.bad_rows).collect();
        let told: Vec<_> = bad
            .iter()
            .map(|bad| (bad.position.as_str(), bad.bytes.as_slice()))
            .collect();
        let lines = [
            format!("{a}:1"),
            format!("{a}:200003"),
            format!("{a}:400004"),
            format!("{b}:2"),
        ];
        let bytes: [&[u8]; 4] = [b"rubbish", b"{\"a\":\"x\"}", b"[]", b"{\"a\":1.5}"];
        let expected: Vec<_> = lines.iter().map(String::as_str).zip(bytes).collect();
        assert_eq!(told, expected);
        assert_eq!(
            bad[1].error,
            "column \"a\": invalid input syntax for type bigint: \"x\""
        );
    }
}

#[test]
fn fail_stops_at_the_row_and_drop_and_null_go_on() {
    let pond = Pond::new();
    pond.write("a.json", 1, "{\"a\":1}\n{\"a\":2}\nrubbish\n{\"a\":4}\n");
    let path = pond.path("a.json");
    let source = pond.source(&[("mode", "FAILFAST")]);
    let to = source.latest(0).unwrap();
    let slice = &source.slices(&source.start(), &to, 1).unwrap()[0];
    let message = failure(source.open(slice, &[0]).unwrap().next());
    assert_eq!(
        message,
        format!(
            "bad row at {}:3: invalid JSON at byte 1 of the line: expected a JSON object: rubbish",
            path.display()
        )
    );
    let source = pond.source(&[("mode", "DROPMALFORMED")]);
    assert_eq!(read(&source, &source.start(), &to, 1), [1, 2, 4]);
    let source = pond.source(&[("mode", "PERMISSIVE")]);
    let batches = read_batches(&source, &source.start(), &to, 1);
    assert_eq!(
        (batches[0].rows.num_rows(), batches[0].rows.column(0).null_count()),
        (4, 1)
    );
}

#[test]
fn a_line_beyond_all_bounds_is_a_bad_row() {
    let pond = Pond::new();
    let filler = "z".repeat(records::RECORD_BYTES_MAX + (1 << 20));
    pond.write(
        "a.json",
        1,
        format!("{{\"a\":1}}\n{{\"a\":2,\"filler\":\"{filler}\"}}\n{{\"a\":3}}\n"),
    );
    drop(filler);
    let source = pond.source(&[]);
    let batches = read_batches(&source, &source.start(), &source.latest(0).unwrap(), 1);
    let values: Vec<_> = batches
        .iter()
        .flat_map(|b| b.rows.column(0).as_primitive::<Int64Type>().values().to_vec())
        .collect();
    assert_eq!(values, [1, 3]);
    let bad: Vec<_> = batches.iter().flat_map(|batch| &batch.bad_rows).collect();
    assert_eq!(bad.len(), 1);
    assert!(
        bad[0].position.ends_with("a.json:2") && bad[0].error == "the row is longer than 64 MB",
        "{:?}",
        bad[0].error
    );
    assert!(bad[0].bytes.starts_with(b"{\"a\":2,") && bad[0].bytes.len() < 10_000);
}

#[test]
fn a_file_that_was_cut_or_removed_while_it_is_needed_stops_the_query() {
    let pond = Pond::new();
    pond.write("a.json", 1, "{\"a\":1}\n{\"a\":2}\n");
    pond.row("b.json", 2, 3);
    let source = pond.source(&[]);
    let from = source.start();
    let to = source.advance(&from, None, ALL).unwrap().unwrap();
    let slice = &source.slices(&from, &to, 1).unwrap()[0];

    pond.row("a.json", 1, 1);
    let cut = failure(source.open(slice, &[0]).unwrap().next());
    assert!(
        cut.contains("a.json") && cut.contains("shorter than the 16 bytes"),
        "{cut}"
    );
    assert!(failure(source.advance(&from, None, ALL)).contains("shorter than the 16 bytes"));

    fs::remove_file(pond.path("a.json")).unwrap();
    let vanished = failure(source.open(slice, &[0]).unwrap().next());
    assert!(
        vanished.contains("a.json") && vanished.contains("vanished"),
        "{vanished}"
    );
}

#[test]
fn files_removed_before_anyone_read_them_are_passed_over_for_good() {
    let pond = Pond::new();
    for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        pond.row(&format!("{name}.json"), index as u64, index as i64);
    }
    let source = pond.source(&[]);
    source.latest(0).unwrap();
    fs::remove_file(pond.path("b.json")).unwrap();
    fs::remove_file(pond.path("c.json")).unwrap();
    let from = source.start();
    let to = source.advance(&from, None, ALL).unwrap().unwrap();
    assert_eq!(to.to_string(), "{\"file\":4,\"offset\":0,\"gone\":[[1,2]]}");
    // The range means the same rows for ever, also when the files come back.
    pond.row("b.json", 1, 1);
    assert_eq!(read(&source, &from, &to, 1), [0, 3]);
    assert_eq!(
        epochs(
            &source,
            &mut to.clone(),
            Limit {
                now_us: SECOND,
                ..ALL
            }
        ),
        Vec::<Vec<i64>>::new()
    );
}

#[test]
fn a_folder_may_be_made_later_but_not_the_one_around_it() {
    let pond = Pond::new();
    let columns = [column("a", SqlType::Int8)];
    let validate =
        |path: &str| crate::validate("file", &options(&[("path", path), ("format", "json")]), &columns);
    let (inner, path) = (pond.path("in"), pond.path("in").to_str().unwrap().to_owned());
    for name in ["a.json", "day=1/x.json", "*/x.json"] {
        let result = validate(&format!("{path}/{name}"));
        let expected = if name.starts_with('*') {
            None
        } else {
            Some(pond.path("in").join(name))
        };
        let expected =
            expected.map(|path| format!("folder \"{}\" does not exist", path.parent().unwrap().display()));
        assert_eq!(result.err().map(|error| error.to_string()), expected);
    }

    validate(&path).unwrap();
    let source = pond.source_at(&path, &[]);
    let mut position = source.start();
    assert_eq!(source.latest(0).unwrap(), position);
    pond.row("in/a.json", 1, 1);
    source.latest(0).unwrap();
    // Once it had files, a folder that is away is waited for.
    fs::rename(&inner, pond.path("away")).unwrap();
    for result in [
        source.advance(&position, None, ALL).map(drop),
        source.latest(0).map(drop),
    ] {
        assert!(
            matches!(&result, Err(SourceError::Unavailable(text)) if text.contains("does not exist")),
            "{result:?}"
        );
    }
    fs::rename(pond.path("away"), &inner).unwrap();
    assert_eq!(epochs(&source, &mut position, ALL), [[1]]);
}

#[test]
fn old_files_are_ignored_after_the_first_listing() {
    let pond = Pond::new();
    pond.row("ancient.json", 1, 1);
    pond.row("new.json", 1_000_000, 2);
    let source = pond.source(&[("max_file_age", "1 day")]);
    let mut position = source.start();
    assert_eq!(epochs(&source, &mut position, ALL).concat(), [1, 2]);
    pond.row("late.json", 900_000, 3);
    pond.row("later.json", 950_000, 4);
    assert_eq!(
        epochs(
            &source,
            &mut position,
            Limit {
                now_us: SECOND,
                ..ALL
            }
        )
        .concat(),
        [4]
    );
    // What is old, gone and behind everyone is forgotten; a new reader passes over it.
    fs::remove_file(pond.path("ancient.json")).unwrap();
    source.forget(&position);
    let keys: Vec<_> = millpond_engine::source::SourceNotes::scan(&*pond.notes, "file/").unwrap();
    assert_eq!(keys.len(), 2);
    let reopened = pond.source(&[("max_file_age", "1 day")]);
    assert_eq!(epochs(&reopened, &mut reopened.start(), ALL).concat(), [2, 4]);
    assert!(reopened.reached(&position, &reopened.latest(0).unwrap()));
}

#[test]
fn one_file_name_counts_once_where_the_user_says_so() {
    let pond = Pond::new();
    pond.row("x/a.json", 1, 1);
    pond.row("y/a.json", 2, 2);
    let source = pond.source(&[("recursive_file_lookup", "true"), ("file_name_only", "true")]);
    assert_eq!(epochs(&source, &mut source.start(), ALL).concat(), [1]);
}

#[test]
fn statements_that_cannot_work_are_refused() {
    let columns = [column("a", SqlType::Int8)];
    let told = |entries: &[(&str, &str)], columns: &[Column]| {
        let error = crate::validate("file", &options(entries), columns).unwrap_err();
        format!("{error} / {}", error.hint().unwrap_or_default())
    };
    assert!(told(&[("path", "/"), ("format", "json")], &[]).contains("needs a schema"));
    assert!(
        told(&[("path", "/"), ("format", "orc")], &columns)
            .starts_with("format \"orc\" is not supported yet")
    );
    assert!(told(&[("path", "/"), ("format", "jsn")], &columns).contains("unknown format \"jsn\""));
    assert!(told(&[("path", "s3://b/x"), ("format", "json")], &columns).contains("scheme \"s3\""));
    assert!(told(&[("format", "json")], &columns).starts_with("option \"path\" is required"));
    let unknown = told(
        &[("path", "/"), ("format", "json"), ("max_file_per_triger", "1")],
        &columns,
    );
    assert!(
        unknown.ends_with("Did you mean \"max_files_per_trigger\"?"),
        "{unknown}"
    );
    let unknown = told(
        &[("path", "/"), ("format", "json"), ("onbad_row", "drop")],
        &columns,
    );
    assert!(unknown.ends_with("Did you mean \"on_bad_row\"?"), "{unknown}");
    let error = crate::validate("files", &options(&[]), &columns).unwrap_err();
    assert_eq!(
        error.hint(),
        Some("Known connectors: file, rate, rate-micro-batch, nexmark, socket.")
    );

    let pond = Pond::new();
    pond.row("a.json.bz2", 1, 1);
    let compressed = pond.source(&[]).latest(0);
    assert!(matches!(&compressed, Err(SourceError::Unavailable(text)) if text.contains("is compressed")));
}
