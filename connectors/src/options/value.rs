//! Types that option values are read into.

use std::num::{NonZeroU16, NonZeroU64};
use std::time::Duration;

/// A type that an option's text can be read into.
pub trait OptionValue: Sized {
    /// What values look like: completes "value must be ..".
    const KIND: &'static str;

    /// Reads the text, or says what it should have been.
    fn parse(text: &str) -> Result<Self, String>;
}

impl OptionValue for String {
    const KIND: &'static str = "text";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Err("it is empty".to_owned()),
            _ => Ok(text.to_owned()),
        }
    }
}

impl OptionValue for bool {
    const KIND: &'static str = "`true` or `false`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "on" | "yes" | "1" => Ok(true),
            "false" | "f" | "off" | "no" | "0" => Ok(false),
            _ => Err(format!("\"{text}\" is not true or false")),
        }
    }
}

impl OptionValue for NonZeroU64 {
    const KIND: &'static str = "a whole number from 1";

    fn parse(text: &str) -> Result<Self, String> {
        text.trim()
            .parse()
            .map_err(|_| format!("\"{text}\" is not a whole number from 1"))
    }
}

impl OptionValue for NonZeroU16 {
    const KIND: &'static str = "a whole number from 1 to 65535";

    fn parse(text: &str) -> Result<Self, String> {
        text.trim()
            .parse()
            .map_err(|_| format!("\"{text}\" is not a whole number from 1 to 65535"))
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl OptionValue for ByteSize {
    const KIND: &'static str = "bytes, as `1048576` or `1 MB`";

    fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("\"{text}\" is not a size such as 1048576, 64kB or 1 MB");
        let (number, unit) = number_and_unit(text).ok_or_else(invalid)?;
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            _ => return Err(invalid()),
        };
        number
            .checked_mul(factor)
            .filter(|bytes| *bytes > 0)
            .map(ByteSize)
            .ok_or_else(invalid)
    }
}

impl OptionValue for Duration {
    const KIND: &'static str = "a duration, as `500 ms`, `10 seconds` or `1 week`";

    fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("\"{text}\" is not a duration such as 500 ms, 10 seconds or 1 week");
        let (number, unit) = number_and_unit(text).ok_or_else(invalid)?;
        let factor_us: u64 = match unit.to_ascii_lowercase().as_str() {
            "us" | "microsecond" | "microseconds" => 1,
            "ms" | "millisecond" | "milliseconds" => 1_000,
            "s" | "sec" | "second" | "seconds" => 1_000_000,
            "m" | "min" | "minute" | "minutes" => 60_000_000,
            "h" | "hour" | "hours" => 3_600_000_000,
            "d" | "day" | "days" => 86_400_000_000,
            "w" | "week" | "weeks" => 7 * 86_400_000_000,
            _ => return Err(invalid()),
        };
        // Microseconds travel as i64 everywhere.
        let micros = number
            .checked_mul(factor_us)
            .filter(|us| i64::try_from(*us).is_ok())
            .ok_or_else(invalid)?;
        Ok(Duration::from_micros(micros))
    }
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}
