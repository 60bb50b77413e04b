//! What is known to differ, with the reason. The lists may only shrink.

use super::Verdict;
use super::template::Case;

mod fault;

use fault::FAULTS;

/// Templates where another answer is meant.
const DECISIONS: &[(&str, &str)] = &[
    (
        "{numeric} / {numeric}",
        "a quotient has 16 digits after the point, or as many as its operands; PostgreSQL counts significant ones",
    ),
    ("{num} / {num}", "as {numeric} / {numeric}"),
    ("SELECT avg(v) FROM {numbers}", "as {numeric} / {numeric}"),
    (
        "SELECT k, sum(v), avg(v) FROM {numbers} GROUP BY k ORDER BY k",
        "as {numeric} / {numeric}",
    ),
    ("SELECT stddev(v) FROM {numbers}", "as {numeric} / {numeric}"),
    (
        "SELECT variance(v), var_pop(v), stddev_pop(v) FROM {numbers}",
        "as {numeric} / {numeric}",
    ),
    (
        "array_agg({V})",
        "arrays of arrays may have parts of other lengths, which PostgreSQL refuses",
    ),
    (
        "SELECT min(v) FROM {values of interval}",
        "of equal intervals either is the least: PostgreSQL takes the later row's",
    ),
    ("{num}::text", "as {numeric}::text"),
    (
        "{numeric}::text",
        "a numeric without a scale is shown without trailing zeros: its scale is that of the column",
    ),
];

/// Whether the answers to `case` may differ.
pub fn is_known(case: &Case) -> bool {
    case.templates.iter().any(|used| {
        let is = |known: &str| known == used.template || known == used.label;
        DECISIONS.iter().any(|(known, _)| is(known)) || FAULTS.iter().any(|known| is(known))
    })
}

/// A numeric is as precise as in PostgreSQL, but its trailing zeros are those of the column and not of the value.
pub fn without_trailing_zeros(verdict: &mut Verdict) {
    let Verdict::Rows { types, rows } = verdict else {
        return;
    };
    for row in rows {
        for (cell, of_type) in row.iter_mut().zip(types.iter()) {
            if let Some(text) = cell
                && of_type.trim_start_matches('_') == "numeric"
            {
                let parts: Vec<&str> = text.split(',').map(shorten).collect();
                *text = parts.join(",");
            }
        }
    }
}

/// `1.50` as `1.5`, also before the brace that ends an array.
fn shorten(number: &str) -> &str {
    if number.contains('.') {
        number
            .trim_end_matches('}')
            .trim_end_matches('0')
            .trim_end_matches('.')
    } else {
        number.trim_end_matches('}')
    }
}
