//! Who may use whom, read from the table of crates in ARCHITECTURE.md, and that nothing is used in vain.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use millpond_tests::workspace;
use serde_json::Value;

use super::{assert_none, source_files};

struct Package {
    /// Also the word for the crate in ARCHITECTURE.md.
    folder: String,
    dependencies: Vec<String>,
}

/// The workspace's packages. `cargo metadata` is read as it comes: the library for it turns a feature of `serde_json` on,
/// and all that is built on that would be compiled once more for the tests.
fn packages() -> Vec<Package> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace());
    let output = command.output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata answers in JSON");
    let packages = metadata["packages"]
        .as_array()
        .expect("there is a list of packages");
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let manifest = text(&package["manifest_path"]);
    let folder = Path::new(&manifest)
        .parent()
        .and_then(|dir| dir.file_name())
        .expect("a manifest is in a folder");
    let dependencies = package["dependencies"]
        .as_array()
        .expect("there is a list of dependencies");
    Package {
        folder: folder.to_string_lossy().into_owned(),
        dependencies: dependencies
            .iter()
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    }
}

/// Folders of all crates.
pub fn folders() -> Vec<String> {
    packages().into_iter().map(|package| package.folder).collect()
}

/// The rows of the table under "## Crates": folder and the cell "may use".
fn table() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is text");
    let section = text
        .split("\n## Crates")
        .nth(1)
        .expect("ARCHITECTURE.md has a section 'Crates'");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`').to_owned(), cells[3].to_owned())
    })
    .collect()
}

/// `all` is every crate, otherwise the words in back quotes.
fn allowed(cell: &str, folders: &[String]) -> BTreeSet<String> {
    if cell == "all" {
        return folders.iter().cloned().collect();
    }
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_what_architecture_allows() {
    let table = table();
    let folders = folders();
    let mut findings = Vec::new();
    for package in &packages() {
        let name = &package.folder;
        let Some(cell) = table.get(name) else {
            findings.push(format!(
                "{name}: no row in the table of crates in ARCHITECTURE.md; add one"
            ));
            continue;
        };
        let allowed = allowed(cell, &folders);
        for dependency in &package.dependencies {
            if let Some(used) = dependency
                .strip_prefix("millpond-")
                .filter(|used| !allowed.contains(*used))
            {
                findings.push(format!(
                    "{name} uses {used}, but its row in ARCHITECTURE.md allows '{cell}'"
                ));
            }
        }
    }
    for name in table.keys().filter(|name| !folders.contains(*name)) {
        findings.push(format!(
            "ARCHITECTURE.md has a row for '{name}', which is no crate; remove it"
        ));
    }
    assert_none(findings);
}

#[test]
fn every_dependency_is_used() {
    let sources = source_files();
    let mut findings = Vec::new();
    for package in &packages() {
        let name = &package.folder;
        let text: String = sources
            .iter()
            .filter(|f| f.path.starts_with(&format!("{name}/")))
            .map(|f| f.text.as_str())
            .collect();
        for dependency in &package.dependencies {
            let ident = dependency.replace('-', "_");
            let used = text.match_indices(&ident).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + ident.len()..].chars().next();
                let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !word(before) && !word(after)
            });
            if !used {
                findings.push(format!(
                    "{name}/Cargo.toml: '{dependency}' is never named in the crate; remove it"
                ));
            }
        }
    }
    assert_none(findings);
}

#[test]
fn dependencies_are_named_once_in_the_workspace() {
    let mut findings = Vec::new();
    for name in folders() {
        let manifest =
            std::fs::read_to_string(workspace().join(&name).join("Cargo.toml")).expect("a manifest is text");
        let mut in_dependencies = false;
        for line in manifest.lines() {
            if let Some(section) = line.strip_prefix('[') {
                in_dependencies = section.ends_with("dependencies]");
            } else if in_dependencies && line.contains('=') && !line.contains("workspace") {
                findings.push(format!(
                    "{name}/Cargo.toml: '{line}' belongs into [workspace.dependencies]"
                ));
            }
        }
    }
    assert_none(findings);
}
