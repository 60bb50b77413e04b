//! `docs/sql.md` lists every option and setting as declared.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use millpond_sql::{OptionDeclaration, RELATION_OPTIONS, SETTINGS, VIEW_OPTIONS};

fn options(declared: &[OptionDeclaration]) -> String {
    let mut table = String::from("| option | value | default | meaning |\n|---|---|---|---|\n");
    for OptionDeclaration {
        name,
        value,
        default,
        doc,
        ..
    } in declared
    {
        let _ = writeln!(table, "| `{name}` | {value} | {default} | {doc} |");
    }
    table
}

fn settings() -> String {
    let mut table = String::from("| setting | default | meaning |\n|---|---|---|\n");
    for setting in SETTINGS {
        let default = if setting.default.is_empty() {
            "empty".to_owned()
        } else {
            format!("`{}`", setting.default)
        };
        let _ = writeln!(table, "| `{}` | {default} | {} |", setting.name, setting.doc);
    }
    table
}

/// Puts `table` between the marks of `name`.
fn replace(text: &str, name: &str, table: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let from = text
        .find(&start)
        .unwrap_or_else(|| panic!("docs/sql.md has a mark {start}"))
        + start.len();
    let to = text
        .find(&end)
        .unwrap_or_else(|| panic!("docs/sql.md has a mark {end}"));
    format!("{}{table}{}", &text[..from], &text[to..])
}

#[test]
fn the_page_lists_what_is_declared() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut expected = replace(&text, "view options", &options(VIEW_OPTIONS));
    expected = replace(&expected, "relation options", &options(RELATION_OPTIONS));
    expected = replace(&expected, "settings", &settings());
    if std::env::var_os("MILLPOND_REWRITE").is_some() {
        fs::write(&path, expected).unwrap();
    } else {
        assert!(
            text == expected,
            "docs/sql.md is behind the declarations: run with MILLPOND_REWRITE=1"
        );
    }
}
