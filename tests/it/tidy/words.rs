//! Words that may stand in one place only: libraries behind a border, clocks, the environment, sleeps, leftovers.

use millpond_tests::workspace;

use super::{SourceFile, assert_none, files_below, relative, source_files};

/// A word, the places where it may stand, and what to do elsewhere. A place is a prefix of a path.
struct Rule {
    words: &'static [&'static str],
    places: &'static [&'static str],
    instead: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        words: &["timely"],
        places: &["engine/src/runtime", "bench/", "tests/it/tidy/"],
        instead: "only engine/src/runtime knows timely; put it behind a function there",
    },
    Rule {
        words: &["pgwire"],
        places: &["server/src/pg/", "server/src/pg.rs", "tests/it/tidy/"],
        instead: "only server/src/pg knows the protocol library; hand over an Outcome or an Error",
    },
    Rule {
        words: &["SystemTime::now", "Utc::now", "Local::now"],
        places: &["engine/src/clock.rs", "tests/", "sqllogictest/", "bench/"],
        instead: "the time comes from engine/src/clock.rs",
    },
    Rule {
        words: &["env::var", "env::vars", "env::var_os"],
        places: &["server/src/config.rs", "tests/", "sqllogictest/", "bench/"],
        instead: "settings are read in server/src/config.rs only",
    },
    Rule {
        words: &["dbg!", "todo!", "unimplemented!", "FIXME", "XXX:"],
        places: &["tests/it/tidy/"],
        instead: "finish it, or describe the limit in a sentence",
    },
    Rule {
        words: &["thread::sleep", "time::sleep"],
        places: &[
            "engine/src/",
            "connectors/src/",
            "server/src/",
            "storage/src/",
            "tests/it/tidy/",
        ],
        instead: "wait for a fact: FLUSH, or `eventually` of the tests crate",
    },
];

#[test]
fn words_stand_where_they_belong() {
    let mut findings = Vec::new();
    for file in source_files() {
        // Tests are told by the environment what to rewrite and where to begin.
        let is_test = file.path.contains("/tests/") || file.path.ends_with("tests.rs");
        for rule in RULES
            .iter()
            .filter(|rule| !rule.places.iter().any(|place| file.path.starts_with(place)))
            .filter(|rule| !(is_test && rule.words.contains(&"env::var")))
        {
            for (number, line) in file.code_lines() {
                for word in rule.words.iter().filter(|word| has_word(line, word)) {
                    findings.push(format!("{}:{number}: '{word}': {}", file.path, rule.instead));
                }
            }
        }
    }
    assert_none(findings);
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let part_of_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !part_of_name(before) && !part_of_name(after)
    })
}

/// The tests of a crate must not sleep either: what stands after `#[cfg(test)]`, and files of tests.
#[test]
fn unit_tests_do_not_sleep() {
    let mut findings = Vec::new();
    for file in source_files()
        .into_iter()
        .filter(|file| !file.path.starts_with("tests/it/tidy"))
    {
        let all = file.path.ends_with("tests.rs") || file.path.contains("/tests/");
        let mut in_tests = all;
        for (number, line) in file.code_lines() {
            in_tests |= line.contains("#[cfg(test)]");
            if in_tests && has_word(line, "sleep") {
                findings.push(format!(
                    "{}:{number}: wait for a fact instead of sleeping",
                    file.path
                ));
            }
        }
    }
    for suite in files_below(&workspace().join("sqllogictest/suites"), "slt") {
        let text = std::fs::read_to_string(&suite).expect("a suite is text");
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.starts_with("sleep "))
        {
            findings.push(format!(
                "{}:{}: '{line}': use FLUSH",
                relative(&suite),
                number + 1
            ));
        }
    }
    assert_none(findings);
}

/// Where a text of five characters that looks like an SQLSTATE may stand.
const SQLSTATE_PLACES: &[&str] = &[
    "server/src/pg/error.rs",
    "engine/src/",
    "tests/",
    "sqllogictest/",
    "bench/",
];

/// Codes that the engine chooses, since only it knows what went wrong in an expression on the user's data.
const ENGINE_CLASSES: &[&str] = &["21", "22"];

#[test]
fn sqlstate_codes_are_chosen_in_one_place() {
    let mut findings = Vec::new();
    for file in source_files() {
        let in_tests = file.path.ends_with("tests.rs");
        for (number, code) in sqlstates(&file) {
            let engine = file.path.starts_with("engine/src/");
            let allowed = SQLSTATE_PLACES.iter().any(|place| file.path.starts_with(place));
            if !allowed && !in_tests || engine && !ENGINE_CLASSES.iter().any(|class| code.starts_with(class))
            {
                let home = "server/src/pg/error.rs";
                findings.push(format!(
                    "{}:{number}: SQLSTATE {code}: choose it in {home} from the error's variant",
                    file.path
                ));
            }
        }
    }
    assert_none(findings);
}

fn sqlstates(file: &SourceFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in file.code_lines() {
        if line.contains("#[cfg(test)]") {
            break;
        }
        for text in line.split('"').skip(1).step_by(2) {
            let code = text.len() == 5 && text.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
            if code && text.starts_with(|c: char| c.is_ascii_digit()) || text == "XX000" {
                found.push((number, text.to_owned()));
            }
        }
    }
    found
}
