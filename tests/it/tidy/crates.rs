//! Who may use whom, read from the table of crates in ARCHITECTURE.md, and that nothing is used in vain.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use millpond_tests::workspace;

use super::{assert_none, source_files};

fn metadata() -> Metadata {
    let manifest = workspace().join("Cargo.toml");
    MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .expect("cargo metadata runs")
}

/// Folder of a package, which is also the word for it in ARCHITECTURE.md.
fn folder(package: &Package) -> String {
    let folder = package.manifest_path.parent().and_then(|dir| dir.file_name());
    folder.expect("a manifest is in a folder").to_owned()
}

/// Folders of all crates.
pub fn folders() -> Vec<String> {
    metadata().packages.iter().map(folder).collect()
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
    for package in &metadata().packages {
        let name = folder(package);
        let Some(cell) = table.get(&name) else {
            findings.push(format!(
                "{name}: no row in the table of crates in ARCHITECTURE.md; add one"
            ));
            continue;
        };
        let allowed = allowed(cell, &folders);
        for dependency in &package.dependencies {
            if let Some(used) = dependency
                .name
                .strip_prefix("millpond-")
                .filter(|used| !allowed.contains(*used))
            {
                findings.push(format!(
                    "{name} uses {used}, but its row in ARCHITECTURE.md allows '{cell}'"
                ));
            }
        }
    }
    for name in table.keys().filter(|name| !folders.contains(name)) {
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
    for package in &metadata().packages {
        let name = folder(package);
        let text: String = sources
            .iter()
            .filter(|f| f.path.starts_with(&format!("{name}/")))
            .map(|f| f.text.as_str())
            .collect();
        for dependency in package
            .dependencies
            .iter()
            .filter(|d| d.kind != DependencyKind::Build)
        {
            let ident = dependency
                .rename
                .as_ref()
                .unwrap_or(&dependency.name)
                .replace('-', "_");
            let used = text.match_indices(&ident).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + ident.len()..].chars().next();
                let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !word(before) && !word(after)
            });
            if !used {
                findings.push(format!(
                    "{name}/Cargo.toml: '{}' is never named in the crate; remove it",
                    dependency.name
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
