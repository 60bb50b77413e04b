//! Options are told well, and the reference page is what the declarations say.

use std::num::NonZeroU64;
use std::time::Duration;

use millpond_catalog::SqlType;

use super::*;
use crate::memory_notes::{column, options};

options! {
    /// For these tests.
    pub struct Sample {
        /// Where.
        path: String = required,
        /// How many.
        max_files ["files_max"]: NonZeroU64 = none,
        /// How long.
        poll_interval: Duration = "200 ms",
    }
}

fn read(entries: &[(&str, &str)]) -> Result<Sample> {
    let options = options(entries);
    let mut reader = OptionReader::new("connector \"sample\"", &options);
    let sample = Sample::read(&mut reader)?;
    reader.finish().map(|()| sample)
}

#[test]
fn values_synonyms_and_defaults() {
    let sample = read(&[("files_max", "3"), ("path", "/data")]).unwrap();
    assert_eq!(sample.path, "/data");
    assert_eq!(sample.max_files.map(NonZeroU64::get), Some(3));
    assert_eq!(sample.poll_interval, Duration::from_millis(200));
}

#[test]
fn mistakes_name_the_option_the_place_and_the_way_out() {
    let told = |entries: &[(&str, &str)]| {
        let error = read(entries).unwrap_err();
        (
            error.to_string(),
            error.position(),
            error.hint().unwrap_or_default().to_owned(),
        )
    };
    let (message, position, hint) = told(&[("path", "/d"), ("max_file", "3")]);
    assert_eq!(message, "unknown option \"max_file\" for connector \"sample\"");
    assert_eq!(
        (position, hint.as_str()),
        (Some(1), "Did you mean \"max_files\"?")
    );

    let (_, _, hint) = told(&[("path", "/d"), ("qqqqqqqqqq", "3")]);
    assert_eq!(hint, "Known options: path, max_files, poll_interval.");

    let (message, _, hint) = told(&[]);
    assert_eq!(message, "option \"path\" is required for connector \"sample\"");
    assert!(hint.contains("path = '..'"), "{hint}");

    let (message, position, _) = told(&[("path", "/d"), ("max_files", "none")]);
    assert_eq!(
        message,
        "invalid value for option \"max_files\": \"none\" is not a whole number from 1"
    );
    assert_eq!(position, Some(1));

    let (message, position, _) = told(&[("max_files", "1"), ("path", "/d"), ("files_max", "2")]);
    assert_eq!(
        (message.as_str(), position),
        ("option \"files_max\" is given more than once", Some(2))
    );
}

#[test]
fn durations_and_sizes() {
    let micros = |text| Duration::parse(text).map(|duration| duration.as_micros());
    assert_eq!(micros("500ms"), Ok(500_000));
    assert_eq!(micros(" 10 Seconds "), Ok(10_000_000));
    assert_eq!(micros("1 week"), Ok(604_800_000_000));
    for bad in ["", "5", "s", "-1 s", "1 fortnight", "99999999999999 weeks"] {
        assert!(micros(bad).is_err(), "{bad}");
    }
    assert_eq!(ByteSize::parse("64kB"), Ok(ByteSize(65536)));
    assert_eq!(ByteSize::parse("3"), Ok(ByteSize(3)));
    assert!(ByteSize::parse("0").is_err() && ByteSize::parse("1 XB").is_err());
}

#[test]
fn every_declared_default_can_be_read() {
    let columns = [column("a", SqlType::Int8)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    crate::validate("file", &options(&[("path", path), ("format", "json")]), &columns).unwrap();
    crate::validate(
        "rate",
        &options(&[]),
        &crate::default_columns("rate", &Vec::new()).unwrap().unwrap(),
    )
    .unwrap();
}

/// Rewrites the page where `MILLPOND_REWRITE` is set.
#[test]
fn the_reference_page_is_generated_from_the_declarations() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/connectors.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (begin, end) = ("<!-- generated: options -->\n", "<!-- end of generated -->");
    let from = text.find(begin).expect("the page has a generated part") + begin.len();
    let to = text.find(end).expect("the generated part has an end");
    let expected = format!("\n{}", crate::reference());
    if option_env!("MILLPOND_REWRITE").is_some() {
        std::fs::write(page, format!("{}{expected}{}", &text[..from], &text[to..])).unwrap();
        return;
    }
    assert_eq!(
        text[from..to],
        expected,
        "docs/connectors.md is out of date: run MILLPOND_REWRITE=1 cargo test -p millpond-connectors reference_page"
    );
}
