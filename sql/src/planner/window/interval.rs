//! Sizes of windows: from intervals to microseconds.

use arrow::datatypes::IntervalMonthDayNano;
use datafusion::logical_expr::Expr;
use datafusion::scalar::ScalarValue;

use crate::error::{Error, ErrorKind, Result};
use crate::planner::literal;

/// The microseconds of an argument: an interval, text, or a duration that planning put there.
pub fn of_expr(expr: &Expr, what: &str) -> Result<i64> {
    match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => of_interval(*interval, what),
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)), _) => {
            microseconds(text, what)
        }
        Expr::Literal(ScalarValue::DurationMicrosecond(Some(us)), _) => Ok(*us),
        Expr::Cast(cast) => of_expr(&cast.expr, what),
        Expr::Alias(alias) => of_expr(&alias.expr, what),
        Expr::Negative(inner) => Ok(-of_expr(inner, what)?),
        other => Err(Error::new(
            ErrorKind::TypeMismatch,
            format!("window {what} must be a constant interval"),
        )
        .with_detail(format!("Found {other}."))
        .with_hint("Write INTERVAL '5 minutes'.")),
    }
}

/// The microseconds of text such as `5 minutes`.
///
/// # Errors
/// Text that is no interval, or has months or years in it.
pub fn microseconds(text: &str, what: &str) -> Result<i64> {
    let syntax = || {
        Error::new(
            ErrorKind::InvalidDatetimeFormat,
            format!("invalid input syntax for type interval: \"{text}\""),
        )
        .with_hint("Write for example '10 seconds' or '5 minutes'.")
    };
    // A bare number has no unit that everybody would guess right.
    if text.trim().parse::<f64>().is_ok() {
        return Err(syntax());
    }
    of_interval(literal::interval::parse(text).ok_or_else(syntax)?, what)
}

fn of_interval(interval: IntervalMonthDayNano, what: &str) -> Result<i64> {
    if interval.months != 0 {
        return Err(Error::invalid(format!("{what} must not have months or years"))
            .with_hint("Their length varies; use days."));
    }
    if interval.nanoseconds % 1000 != 0 {
        return Err(Error::invalid(format!("{what} must be whole microseconds")));
    }
    let days = i64::from(interval.days).checked_mul(86_400_000_000);
    days.and_then(|days| days.checked_add(interval.nanoseconds / 1000))
        .ok_or_else(|| Error::invalid(format!("{what} is out of range")))
}

/// Checks what the caller wrote as size and slide.
pub fn check(size: i64, slide: i64, hop: bool) -> Result<()> {
    if size <= 0 {
        return Err(Error::invalid(format!(
            "window size must be positive, not {}",
            show(size)
        )));
    }
    if slide <= 0 {
        return Err(Error::invalid(format!(
            "window slide must be positive, not {}",
            show(slide)
        )));
    }
    if slide > size {
        let order = if hop {
            "hop(t, ts, slide, size)"
        } else {
            "window(ts, size, slide)"
        };
        return Err(Error::invalid(format!(
            "window slide {} is greater than size {}",
            show(slide),
            show(size)
        ))
        .with_detail("Rows between two windows would be in none.")
        .with_hint(format!("The order of arguments is {order}.")));
    }
    if size / slide > 100_000 {
        return Err(
            Error::invalid(format!("every row would be in {} windows", size / slide))
                .with_hint("Use a greater slide."),
        );
    }
    Ok(())
}

/// Checks step and size of windows that cumulate.
pub fn check_cumulate(step: i64, size: i64) -> Result<()> {
    if step > 0 && size % step != 0 {
        return Err(Error::invalid(format!(
            "cumulate size {} is not a multiple of step {}",
            show(size),
            show(step)
        ))
        .with_hint("The order of arguments is cumulate(t, ts, step, size)."));
    }
    Ok(())
}

/// A duration for people: `5 minutes`, `1 hour 30 minutes`.
pub fn show(us: i64) -> String {
    let units: [(&str, u64); 6] = [
        ("day", 86_400_000_000),
        ("hour", 3_600_000_000),
        ("minute", 60_000_000),
        ("second", 1_000_000),
        ("millisecond", 1_000),
        ("microsecond", 1),
    ];
    let mut rest = us.unsigned_abs();
    let mut parts = Vec::new();
    for (unit, size) in units {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            parts.push(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }));
        }
    }
    if parts.is_empty() {
        return "0 seconds".to_owned();
    }
    let sign = if us < 0 { "-" } else { "" };
    parts
        .iter()
        .map(|part| format!("{sign}{part}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_durations_read_back() {
        for us in [
            1,
            999,
            1_000,
            59_999_999,
            90_000_000,
            86_400_000_000 + 1,
            5_400_000_000,
            -300_000_000,
        ] {
            assert_eq!(microseconds(&show(us), "size").unwrap(), us, "{}", show(us));
        }
    }

    #[test]
    fn sizes_are_checked() {
        assert!(check(0, 1, true).is_err());
        assert!(check(10, 0, true).is_err());
        assert!(check(10, 11, true).is_err());
        assert!(check(10, 10, true).is_ok());
        assert!(microseconds("1 month", "size").is_err());
        assert!(microseconds("5", "size").is_err());
        assert!(microseconds("five minutes", "size").is_err());
    }
}
