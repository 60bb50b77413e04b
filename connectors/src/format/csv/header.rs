//! The header of a file: which column each field is.

use millpond_catalog::Column;

use super::record::{Field, Splitter};
use crate::format::token::{Kind, Token};

/// Per field of the file, the column among `own` that it belongs to.
pub fn columns(
    splitter: &Splitter,
    header: &[u8],
    columns: &[Column],
    own: &[usize],
) -> Result<Vec<Option<usize>>, String> {
    let names = names(splitter, header)?;
    let mut taken = vec![false; columns.len()];
    let mut found = vec![None; names.len()];
    let same: [fn(&str, &str) -> bool; 2] = [
        |name, column| name == column,
        |name, column| name.trim().eq_ignore_ascii_case(column),
    ];
    // All exact matches first: another column may have the name in another case.
    for same in same {
        for (name, found) in names.iter().zip(&mut found) {
            let free = |column: &&usize| !taken[**column] && same(name, &columns[**column].name);
            if found.is_none()
                && let Some(column) = own.iter().find(free)
            {
                taken[*column] = true;
                *found = Some(*column);
            }
        }
    }
    if !own.is_empty() && found.iter().all(Option::is_none) {
        let declared: Vec<_> = own.iter().map(|own| columns[*own].name.as_str()).collect();
        return Err(format!(
            "the header names none of the declared columns: it is {}, and declared are {}",
            names.join(", "),
            declared.join(", ")
        ));
    }
    Ok(found)
}

fn names(splitter: &Splitter, header: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(header).map_err(|_| "the header is not valid UTF-8".to_owned())?;
    let name = |token: Token| {
        let raw = &text[token.start as usize..token.end as usize];
        match (token.kind, splitter.quoting) {
            (Kind::EscapedText, Some(quoting)) => {
                let mut name = String::new();
                quoting.unquote(raw, &mut name);
                name
            }
            _ => raw.to_owned(),
        }
    };
    let (mut names, mut at) = (Vec::new(), 0);
    loop {
        match splitter.field(header, at) {
            Field::Value { token, next } => {
                names.push(name(token));
                at = next;
            }
            Field::Last { token, .. } => {
                names.push(name(token));
                return Ok(names);
            }
            Field::Unterminated => return Err("a quote in the header is not closed".to_owned()),
        }
    }
}
