//! Random records against a reader that looks at one character after the other.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// COPY's loop over the characters of all records; `None` is NULL. The last item is the error, if there is one.
fn one_by_one(text: &str, quote: char, escape: char) -> (Vec<Vec<Option<String>>>, bool) {
    let (mut records, mut record) = (Vec::new(), Vec::new());
    let (mut value, mut quoted, mut saw_quote, mut begun) = (String::new(), false, false, false);
    let mut characters = text.chars().peekable();
    let end_field = |value: &mut String, saw_quote: &mut bool, record: &mut Vec<Option<String>>| {
        let value = std::mem::take(value);
        let saw_quote = std::mem::take(saw_quote);
        record.push((saw_quote || !value.is_empty()).then_some(value));
    };
    while let Some(character) = characters.next() {
        begun = true;
        let next = characters.peek().copied();
        if quoted {
            if character == escape && (next == Some(quote) || next == Some(escape)) {
                value.extend(characters.next());
            } else if character == quote {
                quoted = false;
            } else {
                value.push(character);
            }
        } else if character == quote {
            (quoted, saw_quote) = (true, true);
        } else if character == ',' {
            end_field(&mut value, &mut saw_quote, &mut record);
        } else if character == '\n' {
            end_field(&mut value, &mut saw_quote, &mut record);
            records.push(std::mem::take(&mut record));
            begun = false;
        } else {
            value.push(character);
        }
    }
    if begun && !quoted {
        end_field(&mut value, &mut saw_quote, &mut record);
        records.push(record);
    }
    (records, quoted)
}

fn random_text(rng: &mut ChaCha8Rng, escape: char) -> String {
    let alphabet = ['a', 'b', ',', '\n', '"', '"', escape, ' ', '\u{e9}'];
    let length = rng.random_range(0..40);
    (0..length)
        .map(|_| alphabet[rng.random_range(0..alphabet.len())])
        .collect()
}

#[test]
fn fields_are_those_that_copy_finds() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let columns = [column("a", Text), column("b", Text)];
    for case in 0..20_000 {
        let escape = if case % 2 == 0 { '"' } else { '\\' };
        let entries = if case % 2 == 0 {
            vec![]
        } else {
            vec![("escape", "\\")]
        };
        let text = random_text(&mut rng, escape);
        if text.is_empty() {
            continue;
        }
        let (records, unterminated) = one_by_one(&text, '"', escape);
        let wide = |record: &&Vec<Option<String>>| record.len() == 2;
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let expected: Vec<String> = records
            .iter()
            .filter(wide)
            .map(|record| record.iter().map(value).collect::<Vec<_>>().join("|"))
            .collect();
        let blank = |record: &&Vec<Option<String>>| record.len() == 1 && record[0].is_none();
        let bad_expected = records
            .iter()
            .filter(|record| !wide(record) && !blank(record))
            .count();
        let (rows, bad) = read(&columns, &entries, &text);
        assert_eq!(rows, expected, "case {case}: {text:?}");
        assert_eq!(
            bad.len(),
            bad_expected + usize::from(unterminated),
            "case {case}: {text:?} {bad:?}"
        );
    }
}

#[test]
fn the_state_of_quotes_is_the_same_however_the_bytes_are_cut() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for case in 0..5_000 {
        let escape = if case % 2 == 0 { b'"' } else { b'\\' };
        let quoting = Quoting { quote: b'"', escape };
        let text = random_text(&mut rng, char::from(escape)).into_bytes();
        let mut whole = Vec::new();
        let mut state = QuoteState::default();
        let mut at = 0;
        while let Some(end) = quoting.first_end(&mut state, &text[at..]) {
            at += end;
            whole.push(at);
        }
        let cut = rng.random_range(0..=text.len());
        let mut state = QuoteState::default();
        quoting.skip(&mut state, &text[..cut]);
        let (mut rest, mut at) = (Vec::new(), cut);
        while let Some(end) = quoting.first_end(&mut state, &text[at..]) {
            at += end;
            rest.push(at);
        }
        whole.retain(|end| *end > cut);
        assert_eq!(
            rest,
            whole,
            "case {case}: {:?} cut at {cut}",
            String::from_utf8_lossy(&text)
        );
        // The bytes around a limit are found in one go.
        let limit = rng.random_range(0..=text.len());
        let ends = quoting.ends_around(&mut QuoteState::default(), &text, limit);
        let mut all = Vec::new();
        let (mut state, mut at) = (QuoteState::default(), 0);
        while let Some(end) = quoting.first_end(&mut state, &text[at..]) {
            at += end;
            all.push(at);
        }
        let before = all.iter().copied().rfind(|end| *end <= limit);
        let past = all.iter().copied().find(|end| *end > limit);
        assert_eq!(ends, (before, past));
    }
}
