//! Files: each has a header, a bounded size and a place in the module tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use millpond_tests::workspace;

use super::{assert_none, crates, files_below, relative, source_files};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 100;
/// Functions over the line, which may only become fewer: a table of cases reads best in one piece.
const LONG_FUNCTIONS: &[&str] = &["server/src/pg/encode/tests.rs::cases"];
/// Names that say nothing about what is inside.
const CATCH_ALL: &[&str] = &[
    "common",
    "core",
    "helper",
    "helpers",
    "misc",
    "shared",
    "types_util",
    "util",
    "utils",
];

#[test]
fn every_file_says_what_it_is() {
    let without = source_files()
        .into_iter()
        .filter(|file| !file.text.starts_with("//!"));
    assert_none(
        without
            .map(|file| {
                format!(
                    "{}: begin with a `//!` header: what, why here, invariant",
                    file.path
                )
            })
            .collect(),
    );
}

#[test]
fn files_and_functions_stay_small() {
    let mut findings = Vec::new();
    for file in source_files() {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            findings.push(format!(
                "{}: {lines} lines, at most {FILE_LINES_MAX}; split it",
                file.path
            ));
        }
        for (name, lines) in functions(&file.text) {
            let long = format!("{}::{name}", file.path);
            if lines > FUNCTION_LINES_MAX && !LONG_FUNCTIONS.contains(&long.as_str()) {
                findings.push(format!(
                    "{long}: {lines} lines, at most {FUNCTION_LINES_MAX}; split it"
                ));
            }
        }
    }
    assert_none(findings);
}

/// Functions and their lengths. rustfmt puts the closing brace where the first line begins, so no parser is needed.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let words = [
            "pub ",
            "pub(crate) ",
            "pub(super) ",
            "const ",
            "async ",
            "unsafe ",
        ];
        let mut rest = code;
        while let Some(next) = words.iter().find_map(|word| rest.strip_prefix(word)) {
            rest = next;
        }
        let Some(name) = rest.strip_prefix("fn ") else {
            continue;
        };
        let name: String = name
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        // The first line back at this depth ends the function, or is the `;` of a signature without a body.
        let back = lines[start..].iter().position(|line| {
            line.strip_prefix(indent)
                .is_some_and(|code| !code.starts_with(' ') && code.ends_with([';', '}']))
        });
        if let Some(end) = back.filter(|end| lines[start + end].ends_with('}')) {
            found.push((name, end + 1));
        }
    }
    found
}

#[test]
fn every_file_is_reached_by_a_mod() {
    let mut findings = Vec::new();
    for name in crates::folders() {
        let dir = workspace().join(&name);
        let mut reached = BTreeSet::new();
        for root in [
            "src/lib.rs",
            "src/main.rs",
            "it/main.rs",
            "tests/it/main.rs",
            "build.rs",
        ] {
            reach(&dir.join(root), &mut reached);
        }
        for folder in ["tests", "benches", "examples", "src/bin"] {
            for root in files_below_if_there(&dir.join(folder)) {
                if root.parent().is_some_and(|parent| parent == dir.join(folder)) {
                    reach(&root, &mut reached);
                }
            }
        }
        for path in files_below(&dir, "rs")
            .into_iter()
            .filter(|path| !reached.contains(path))
        {
            findings.push(format!(
                "{}: no `mod` reaches it; add one or delete the file",
                relative(&path)
            ));
        }
    }
    assert_none(findings);
}

fn files_below_if_there(folder: &Path) -> Vec<PathBuf> {
    if folder.is_dir() {
        files_below(folder, "rs")
    } else {
        Vec::new()
    }
}

/// Adds `file` and the files of its modules.
fn reach(file: &Path, reached: &mut BTreeSet<PathBuf>) {
    let Ok(text) = std::fs::read_to_string(file) else {
        return;
    };
    if !reached.insert(file.to_owned()) {
        return;
    }
    let folder = file.parent().expect("a file is in a folder");
    let stem = file.file_stem().expect("a file has a name");
    let root = ["lib", "main", "build"].iter().any(|name| stem == *name) || folder.ends_with("benches");
    let folder = if root || folder.ends_with("tests") && !folder.parent().is_some_and(|p| p.ends_with("src"))
    {
        folder.to_owned()
    } else {
        folder.join(stem)
    };
    for line in text.lines() {
        let line = line
            .trim()
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ");
        let module = line
            .trim_start_matches("pub ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        if let Some(module) = module {
            reach(&folder.join(format!("{module}.rs")), reached);
        }
    }
}

#[test]
fn modules_have_telling_names() {
    let mut findings = Vec::new();
    for file in source_files() {
        let stem = Path::new(&file.path)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        if stem == "mod" {
            findings.push(format!("{}: write it as name.rs beside name/", file.path));
        }
        if CATCH_ALL.contains(&stem) {
            findings.push(format!(
                "{}: '{stem}' can hold anything; name it after what it holds",
                file.path
            ));
        }
    }
    assert_none(findings);
}

#[test]
fn functions_are_measured() {
    let text = "impl A {\n    pub fn short(&self) -> usize;\n\n    pub async fn two(\n        a: usize,\n    ) {\n        f();\n    }\n}\n\nfn one() {}\n\nfn three() {\n    g();\n}\n";
    assert_eq!(
        functions(text),
        [("two", 5), ("one", 1), ("three", 3)].map(|(name, lines)| (name.to_owned(), lines))
    );
}
