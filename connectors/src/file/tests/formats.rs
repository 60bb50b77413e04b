//! Files of every format and packing: each row once, however they are cut; what is in the path; cleaning up.

use std::io::Cursor;

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{Int64Array, RecordBatch, StringArray};
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use millpond_engine::source::{BadRow, SourceBatch};

use super::*;

fn columns() -> Vec<Column> {
    vec![column("a", SqlType::Int8), column("b", SqlType::Text)]
}

fn source_of(pond: &Pond, columns: &[Column], entries: &[(&str, &str)]) -> Arc<dyn Source> {
    let path = pond.folder.path().to_str().unwrap();
    let entries = [&[("path", path)], entries].concat();
    crate::memory_notes::open("file", &entries, columns, &pond.notes).unwrap()
}

fn everything(source: &Arc<dyn Source>, workers: usize) -> Vec<SourceBatch> {
    let end = source.latest(0).unwrap();
    read_batches(source, &source.start(), &end, workers)
}

fn bad_rows(batches: &[SourceBatch]) -> Vec<BadRow> {
    batches.iter().flat_map(|batch| batch.bad_rows.clone()).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Records of two columns, a counted and one with all that makes CSV difficult.
fn random_records(random: &mut ChaCha8Rng, first: i64, bytes: usize) -> String {
    let mut text = String::new();
    for value in first.. {
        if text.len() >= bytes {
            return text;
        }
        let longest = if random.random_bool(0.005) { 40_000 } else { 60 };
        let pieces = ["x", "\n", "\"\"", ",", "\r\n", "5,y\n6,z"];
        let inner: String = (0..random.random_range(0..longest))
            .map(|_| pieces[random.random_range(0..pieces.len())])
            .collect();
        text += &match random.random_range(0..3) {
            0 => format!("plain,{value}\n"),
            1 => format!("\"{inner}\",{value}\r\n"),
            _ => format!("a\"{inner}\"b,\"{value}\"\n"),
        };
    }
    text
}

#[test]
fn any_way_to_cut_csv_gives_each_record_once() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for _ in 0..3 {
        let pond = Pond::new();
        let mut next = 0;
        for (file, bytes) in [20, 2_500_000, 300, 600_000].into_iter().enumerate() {
            let records = random_records(&mut random, next, bytes);
            next += records.matches('\n').count() as i64;
            let header = if file % 2 == 0 {
                "b,a"
            } else {
                "\u{feff}\"b\",\"a\""
            };
            pond.write(
                &format!("{file}.csv"),
                file as u64,
                format!("{header}\n{records}"),
            );
        }
        let source = source_of(&pond, &columns(), &[("format", "csv"), ("header", "true")]);
        let end = source.latest(0).unwrap();
        let whole = read(&source, &source.start(), &end, 1);
        assert!(
            whole.windows(2).all(|pair| pair[0] < pair[1]),
            "in order, each once"
        );
        for workers in [2, 7, 64] {
            assert_eq!(
                read(&source, &source.start(), &end, workers),
                whole,
                "{workers} workers"
            );
        }
        let limit = Limit {
            bytes: random.random_range(1..300_000),
            columns: &[0],
            now_us: 0,
        };
        let epochs = epochs(&source, &mut source.start(), limit);
        assert_eq!(epochs.concat(), whole, "{} bytes per epoch", limit.bytes);
        let size = fs::metadata(pond.path("1.csv")).unwrap().len();
        let mut cuts: Vec<u64> = (0..50).map(|_| random.random_range(0..size)).collect();
        cuts.extend(1..20);
        cuts.sort_unstable();
        let (mut values, mut from) = (Vec::new(), FilePosition::at(1, 0));
        for to in cuts
            .into_iter()
            .map(|cut| FilePosition::at(1, cut))
            .chain([FilePosition::at(2, 0)])
        {
            values.extend(read(&source, &(&from).into(), &(&to).into(), 1));
            from = to;
        }
        let (from, to) = (FilePosition::at(1, 0), FilePosition::at(2, 0));
        assert_eq!(values, read(&source, &(&from).into(), &(&to).into(), 1));
        assert!(bad_rows(&everything(&source, 3)).is_empty());
    }
}

#[test]
fn bad_records_of_csv_name_their_line() {
    let pond = Pond::new();
    pond.write("a.csv", 1, "a,b\n1,\"two\nlines\"\nx,y\n2,ok\n3\n");
    pond.write("b.csv", 2, "c,d\n1,2\n");
    pond.write("c.csv.gz", 3, gzip(b"a,b\n1,\"two\nlines\"\nx,y\n"));
    let source = source_of(&pond, &columns(), &[("format", "csv"), ("header", "true")]);
    let batches = everything(&source, 1);
    assert_eq!(
        batches.iter().map(|batch| batch.rows.num_rows()).sum::<usize>(),
        3
    );
    let mut bad = bad_rows(&batches);
    bad.sort_by(|a, b| a.position.cmp(&b.position));
    let name = |row: &BadRow| row.position.rsplit('/').next().unwrap().to_owned();
    let names: Vec<_> = bad.iter().map(name).collect();
    assert_eq!(names, ["a.csv:4", "a.csv:6", "b.csv", "c.csv.gz:4"]);
    assert!(
        bad[2]
            .error
            .starts_with("the header names none of the declared columns")
    );
    assert_eq!(bad[3].bytes, b"x,y");

    let source = source_of(
        &pond,
        &columns(),
        &[("format", "csv"), ("header", "true"), ("on_bad_row", "fail")],
    );
    let end = source.latest(0).unwrap();
    let slices = source.slices(&source.start(), &end, 1).unwrap();
    let error = failure(source.open(&slices[0], &[0]).unwrap().next());
    assert!(
        error.contains("a.csv:4: column \"a\": invalid input syntax"),
        "{error}"
    );
}

#[test]
fn packed_files_are_read_whole_and_to_their_last_member() {
    let pond = Pond::new();
    let lines =
        |range: std::ops::Range<i64>| -> String { range.map(|a| format!("{{\"a\":{a}}}\n")).collect() };
    let members = [
        gzip(lines(0..30_000).as_bytes()),
        gzip(lines(30_000..30_002).as_bytes()),
    ]
    .concat();
    pond.write("a.json.gz", 1, members);
    let frames = [
        zstd::encode_all(Cursor::new(lines(30_002..60_000)), 1).unwrap(),
        zstd::encode_all(Cursor::new("{\"a\":60000}"), 1).unwrap(),
    ];
    pond.write("b.json.zst", 2, frames.concat());
    pond.write("c.json", 3, lines(60_001..60_010));
    let expected: Vec<i64> = (0..60_010).collect();
    let source = source_of(&pond, &columns(), &[("format", "json")]);
    let end = source.latest(0).unwrap();
    for workers in [1, 4] {
        assert!(
            read(&source, &source.start(), &end, workers) == expected,
            "{workers} workers"
        );
    }
    // An epoch never ends inside of one.
    let limit = Limit {
        bytes: 1,
        columns: &[0],
        now_us: 0,
    };
    assert!(epochs(&source, &mut source.start(), limit).concat() == expected);
    // The option wins over the name.
    let misnamed = Pond::new();
    misnamed.write("a", 1, gzip(b"{\"a\":1}\n"));
    let source = source_of(
        &misnamed,
        &columns(),
        &[("format", "json"), ("compression", "gzip")],
    );
    let end = source.latest(0).unwrap();
    assert_eq!(read(&source, &source.start(), &end, 1), [1]);
}

#[test]
fn a_damaged_packed_file_gives_what_can_be_read_and_a_bad_row() {
    let pond = Pond::new();
    let text: String = (0..50_000).map(|a| format!("{{\"a\":{a}}}\n")).collect();
    let packed = gzip(text.as_bytes());
    pond.write("a.json.gz", 1, &packed[..packed.len() / 2]);
    pond.write("b.json.gz", 2, b"this was never packed");
    pond.row("c.json", 3, 7);
    let source = source_of(&pond, &columns(), &[("format", "json")]);
    let batches = everything(&source, 1);
    let rows: usize = batches.iter().map(|batch| batch.rows.num_rows()).sum();
    assert!(rows > 10_000 && rows < 50_000, "{rows}");
    let bad = bad_rows(&batches);
    assert_eq!(bad.len(), 2);
    // The row that was cut, right behind the last one read.
    assert!(
        bad[0].position.ends_with(&format!("a.json.gz:{rows}")),
        "{} of {rows}",
        bad[0].position
    );
    assert!(bad[1].position.ends_with("b.json.gz:1"), "{}", bad[1].position);
    assert!(
        bad.iter()
            .all(|bad| bad.error.starts_with("the file cannot be unpacked any further"))
    );
}

#[test]
fn parquet_files_are_cut_between_row_groups() {
    let pond = Pond::new();
    for file in 0..2_i64 {
        let values = Int64Array::from_iter_values(file * 40_000..(file + 1) * 40_000);
        let texts = StringArray::from_iter_values((0..40_000).map(|row| format!("text number {row}")));
        let batch = RecordBatch::try_from_iter([
            ("b", Arc::new(texts) as arrow::array::ArrayRef),
            ("a", Arc::new(values)),
        ])
        .unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(10_000))
            .build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        pond.write(&format!("{file}.parquet"), file as u64, bytes);
    }
    pond.write(
        "2.parquet",
        2,
        "not Parquet, but of enough bytes to be cut once or twice",
    );
    let expected: Vec<i64> = (0..80_000).collect();
    let source = source_of(&pond, &columns(), &[("format", "parquet")]);
    let end = source.latest(0).unwrap();
    for workers in [1, 2, 5] {
        assert_eq!(
            read(&source, &source.start(), &end, workers),
            expected,
            "{workers} workers"
        );
    }
    let limit = Limit {
        bytes: 100_000,
        columns: &[0],
        now_us: 0,
    };
    let epochs = epochs(&source, &mut source.start(), limit);
    assert_eq!(epochs.concat(), expected);
    assert!(
        epochs
            .iter()
            .filter(|epoch| !epoch.is_empty())
            .all(|epoch| epoch.len() % 10_000 == 0)
    );
    let bad = bad_rows(&everything(&source, 4));
    assert_eq!(bad.len(), 1);
    assert!(bad[0].position.ends_with("2.parquet"), "{}", bad[0].position);
}

#[test]
fn folders_with_values_are_read_and_become_columns() {
    let pond = Pond::new();
    pond.write("b=x/part.json", 1, "{\"a\":1,\"b\":\"not this\"}\n");
    pond.write("b=__HIVE_DEFAULT_PARTITION__/part.json", 2, "{\"a\":2}\n");
    pond.write("part.json", 3, "{\"a\":3,\"b\":\"own\"}\n");
    pond.write("_temporary/b=y/part.json", 4, "{\"a\":4}\n");
    pond.write("other/part.json", 5, "{\"a\":5}\n");
    let source = source_of(&pond, &columns(), &[("format", "json")]);
    let end = source.latest(0).unwrap();
    let slices = source.slices(&source.start(), &end, 1).unwrap();
    let mut reader = source.open(&slices[0], &[0, 1]).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        let (a, b) = (
            batch.rows.column(0).as_primitive::<Int64Type>().clone(),
            batch.rows.column(1).clone(),
        );
        let b = b.as_string::<i32>();
        rows.extend(a.values().iter().zip(b).map(|(a, b)| (*a, b.map(str::to_owned))));
    }
    assert_eq!(
        rows,
        [(1, Some("x".to_owned())), (2, None), (3, Some("own".to_owned()))]
    );
    // Patterns over folders.
    let pattern = pond.path("**/*.json");
    let fresh = Pond {
        folder: pond.folder,
        notes: Arc::default(),
    };
    let source = fresh.source_at(pattern.to_str().unwrap(), &[]);
    let end = source.latest(0).unwrap();
    assert_eq!(read(&source, &source.start(), &end, 1), [1, 2, 3, 5]);
    let pattern = fresh.path("b=*");
    let fresh = Pond {
        folder: fresh.folder,
        notes: Arc::default(),
    };
    let source = fresh.source_at(pattern.to_str().unwrap(), &[]);
    let end = source.latest(0).unwrap();
    assert_eq!(read(&source, &source.start(), &end, 1), [1, 2]);
}

#[test]
fn text_files_need_no_columns() {
    let entries = [("path", "/"), ("format", "text")];
    let columns = crate::default_columns("file", &options(&entries))
        .unwrap()
        .unwrap();
    assert_eq!(columns[0].name, "value");
    assert!(
        crate::default_columns("file", &options(&[("format", "csv")]))
            .unwrap()
            .is_none()
    );
    let pond = Pond::new();
    pond.write("a.txt", 1, "one\n\ntwo\r\n");
    pond.write("b.txt.gz", 2, gzip(b"three"));
    let source = source_of(&pond, &columns, &[("format", "text")]);
    let mut texts = Vec::new();
    for batch in everything(&source, 2) {
        texts.extend(
            batch
                .rows
                .column(0)
                .as_string::<i32>()
                .iter()
                .flatten()
                .map(str::to_owned),
        );
    }
    assert_eq!(texts, ["one", "", "two", "three"]);
}

#[test]
fn files_that_were_read_are_cleaned_up_unless_they_are_not_what_they_were() {
    let archive = tempfile::tempdir().unwrap();
    let archived = |pond: &Pond, name: &str| archive.path().join(pond.path(name).strip_prefix("/").unwrap());
    for how in ["archive", "delete"] {
        let pond = Pond::new();
        for number in 0..4 {
            pond.row(&format!("{number}.json"), 10 + number, number as i64);
        }
        let entries = [
            ("format", "json"),
            ("max_files_per_trigger", "2"),
            ("clean_source", how),
            ("source_archive_dir", archive.path().to_str().unwrap()),
        ];
        let source = source_of(&pond, &columns(), &entries);
        let mut position = source.start();
        position = source.advance(&position, None, ALL).unwrap().unwrap();
        source.forget(&position);
        let left = |number: u64| pond.path(&format!("{number}.json")).exists();
        assert_eq!([0, 1, 2, 3].map(left), [false, false, true, true], "{how}");
        assert_eq!(archived(&pond, "0.json").exists(), how == "archive");
        // Somebody else's file under the name of one that was read.
        pond.row("1.json", 50, 99);
        // After a restart, too.
        let source = source_of(&pond, &columns(), &entries);
        let position = source.advance(&position, None, ALL).unwrap().unwrap();
        source.forget(&position);
        assert_eq!([0, 1, 2, 3].map(left), [false, true, false, false], "{how}");
        assert!(source.advance(&position, None, ALL).unwrap().is_none());
    }
}

#[test]
fn an_archive_has_to_be_outside() {
    let told = |entries: &[(&str, &str)]| {
        let entries = [
            &[
                ("path", "/tmp/in"),
                ("format", "json"),
                ("clean_source", "archive"),
            ],
            entries,
        ]
        .concat();
        crate::validate("file", &options(&entries), &columns())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        told(&[]),
        "option \"source_archive_dir\" is required for clean_source = 'archive'"
    );
    for inside in ["/tmp/in/old", "/tmp/in", "/tmp"] {
        assert!(
            told(&[("source_archive_dir", inside)]).ends_with("it must not be inside of path, nor around it")
        );
    }
}
