//! Random documents, whole and damaged, against `serde_json`.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

use super::*;

fn columns() -> Vec<Column> {
    vec![
        column("n", Int8),
        column("f", Float8),
        column("s", Text),
        column("doc", Json),
        column("flag", Bool),
        column("list", Array(Box::new(Int8))),
        column("rec", Struct(vec![("s".into(), Text), ("n".into(), Int8)])),
    ]
}

fn random_text(random: &mut ChaCha8Rng) -> String {
    let alphabet = [
        'a', 'b', '"', '\\', '\n', '\t', '\u{1}', 'é', '😀', '/', ' ', '{', '}', ',', ':', '[', ']', '\u{7f}',
    ];
    (0..random.random_range(0..24))
        .map(|_| *alphabet.choose(random).unwrap())
        .collect()
}

fn random_value(random: &mut ChaCha8Rng, depth: u32) -> Value {
    // Eighths, for serde_json does not read every float back as it wrote it.
    match random.random_range(0..if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.random()),
        2 => json!(random.random::<i64>() >> random.random_range(0..63)),
        3 => json!(f64::from(random.random::<i32>()) / 8.0),
        4 | 5 => Value::String(random_text(random)),
        6 => (0..random.random_range(0..4))
            .map(|_| random_value(random, depth - 1))
            .collect(),
        _ => Value::Object(
            (0..random.random_range(0..4))
                .map(|_| (random_text(random), random_value(random, depth - 1)))
                .collect(),
        ),
    }
}

/// A document whose fields mostly have the columns' types, in any order, with others between them.
fn random_document(random: &mut ChaCha8Rng) -> Value {
    let mut document = Map::new();
    let mut names = vec!["n", "f", "s", "doc", "flag", "list", "rec"];
    for _ in 0..random.random_range(0..10) {
        let name = if names.is_empty() || random.random_bool(0.2) {
            random_text(random)
        } else {
            names.remove(random.random_range(0..names.len())).to_owned()
        };
        let value = match name.as_str() {
            "n" => json!(random.random::<i64>()),
            "f" => json!(random.random::<f64>() * 1e6),
            "s" => Value::String(random_text(random)),
            "flag" => Value::Bool(random.random()),
            "list" => (0..random.random_range(0..5))
                .map(|_| json!(random.random::<i32>()))
                .collect(),
            "rec" => json!({"n": random.random::<i16>(), "x": [1, {}], "s": random_text(random)}),
            _ => random_value(random, 3),
        };
        document.insert(name, value);
    }
    Value::Object(document)
}

/// The value of `name` as the row must show it, where no other case of the name competes.
fn field<'a>(document: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    document.get(name).filter(|value| !value.is_null())
}

fn check_row(batch: &RecordBatch, row: usize, document: &Map<String, Value>) {
    let value = |index: usize| {
        let array = batch.column(index);
        (!array.is_null(row)).then(|| array_value_to_string(array, row).unwrap())
    };
    let n = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>();
    assert_eq!(
        (!n.is_null(row)).then(|| n.value(row)),
        field(document, "n").map(|v| v.as_i64().unwrap())
    );
    let f = batch.column(1).as_primitive::<arrow::datatypes::Float64Type>();
    assert_eq!(
        (!f.is_null(row)).then(|| f.value(row)),
        field(document, "f").map(|v| v.as_f64().unwrap())
    );
    assert_eq!(
        value(2),
        field(document, "s").map(|v| v.as_str().unwrap().to_owned())
    );
    let doc = value(3).map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(doc.as_ref(), field(document, "doc"));
    assert_eq!(value(4), field(document, "flag").map(Value::to_string));
    let list = value(5).map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(list.as_ref(), field(document, "list"));
    let rec = batch.column(6).as_struct();
    let expected = field(document, "rec").map(|v| v["s"].as_str().unwrap());
    assert_eq!(
        (!rec.is_null(row)).then(|| rec.column(0).as_string::<i32>().value(row)),
        expected
    );
}

#[test]
fn whole_documents_decode_as_serde_json_reads_them() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let documents: Vec<Value> = (0..5000).map(|_| random_document(&mut random)).collect();
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    let (batch, bad) = decode(&mut *decoder(&columns(), &[]), lines.as_bytes());
    assert_eq!(bad, []);
    assert_eq!(batch.num_rows(), documents.len());
    for (row, document) in documents.iter().enumerate() {
        check_row(&batch, row, document.as_object().unwrap());
    }
}

#[test]
fn damaged_documents_are_bad_exactly_when_serde_json_says_so() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut decoder = format(&columns(), &[]).unwrap().decoder(&wanted(&[])).unwrap();
    let (mut good, mut refused) = (0, 0);
    for _ in 0..30_000 {
        let mut line = random_document(&mut random).to_string().into_bytes();
        for _ in 0..random.random_range(1..3) {
            let at = random.random_range(0..line.len());
            let byte = *br#"{}[]",:\0123456789eE+-.tfn au/"#.choose(&mut random).unwrap();
            match random.random_range(0..3) {
                0 => line[at] = byte,
                1 => line.insert(at, byte),
                _ => drop(line.remove(at)),
            }
            if line.is_empty() {
                line.push(b'x');
            }
        }
        let text = String::from_utf8_lossy(&line);
        // serde_json refuses half surrogates and floats beyond range, which here is a matter of the column.
        let lower = text.to_lowercase();
        if lower.contains("\\ud")
            || serde_json::from_str::<Value>(&text).is_err_and(|e| e.to_string().contains("range"))
        {
            continue;
        }
        let valid = std::str::from_utf8(&line).is_ok_and(|text| {
            text.trim_ascii().is_empty()
                || serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
        });
        let decoded = decoder.decode(&line);
        let bad: usize = decoded.iter().map(|batch| batch.bad_lines.len()).sum();
        assert_eq!(bad == 0, valid, "{text}");
        if valid { good += 1 } else { refused += 1 }
    }
    assert!(
        good > 3000 && refused > 3000,
        "both kinds are tried: {good}, {refused}"
    );
}
