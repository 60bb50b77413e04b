//! ARCHITECTURE.md names files that exist, and the other pages keep their shape.

use millpond_tests::workspace;

use super::assert_none;

fn page(name: &str) -> String {
    std::fs::read_to_string(workspace().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Words in back quotes that are paths: they hold a slash and no blank.
fn paths(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let quoted = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    quoted
        .filter(|word| {
            word.contains('/') && !word.contains([' ', ':', '*', '<', '$']) && !word.starts_with('/')
        })
        .collect()
}

#[test]
fn every_path_in_the_pages_exists() {
    let mut findings = Vec::new();
    for name in ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"] {
        let text = page(name);
        let paths = paths(&text);
        assert!(!paths.is_empty(), "no path found in {name}: the search is broken");
        for path in paths
            .into_iter()
            .filter(|path| !workspace().join(path.trim_start_matches("./")).exists())
        {
            findings.push(format!(
                "{name} names `{path}`, which does not exist; mend the page or the path"
            ));
        }
    }
    assert_none(findings);
}

#[test]
fn the_changelog_has_a_part_for_what_is_not_released() {
    assert!(
        page("CHANGELOG.md").contains("\n## Unreleased\n"),
        "CHANGELOG.md needs a section '## Unreleased'"
    );
}
