//! The shape of the code is a test: what ARCHITECTURE.md promises, checked against `cargo metadata` and the sources.
//!
//! Each check collects all it finds before it fails, and each finding names the file and the way to mend it.

mod architecture;
mod crates;
mod source;
mod words;

use std::path::{Path, PathBuf};

use millpond_tests::workspace;

/// Fails with all `findings`.
fn assert_none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// A Rust file of the workspace.
struct SourceFile {
    /// Relative to the root of the repository.
    path: String,
    text: String,
}

impl SourceFile {
    /// Lines with their numbers, without comments that stand on a line of their own.
    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// All Rust files of the workspace's crates.
fn source_files() -> Vec<SourceFile> {
    let mut files = Vec::new();
    for name in crates::folders() {
        for path in files_below(&workspace().join(name), "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            files.push(SourceFile {
                path: relative(&path),
                text,
            });
        }
    }
    assert!(
        files.len() > 20,
        "only {} source files found: the search is broken",
        files.len()
    );
    files
}

fn relative(path: &Path) -> String {
    path.strip_prefix(workspace())
        .expect("the path is in the repository")
        .display()
        .to_string()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
