//! Patterns of numbers: `to_char(number, ..)` and `to_number`.

use crate::error::{Error, ErrorKind, Result};

/// A number pattern, taken apart.
#[derive(Debug, Default)]
pub struct NumberPattern {
    /// Before and behind the point.
    whole: Vec<Node>,
    fraction: Vec<Node>,
    has_point: bool,
    fill: bool,
    /// `EEEE`.
    scientific: bool,
    /// `RN`, in small letters where true.
    roman: Option<bool>,
    /// Places that `V` shifts by.
    shift: usize,
    sign: Sign,
    ordinal: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// `9`, or `0` where true.
    Digit(bool),
    Group,
    Text(char),
    /// Where the sign stands.
    Sign,
}

/// How a sign is shown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// Before the number, a blank for plus.
    #[default]
    Plain,
    /// `S`: plus too.
    Both,
    /// `SG`, `MI`, `PL`: where it stands in the pattern.
    Minus,
    Plus,
    Angle,
}

impl NumberPattern {
    /// # Errors
    /// Parts that exclude each other.
    pub fn parse(text: &str) -> Result<Self> {
        let mut pattern = Self::default();
        let mut rest = text;
        let mut shifting = false;
        while let Some(c) = rest.chars().next() {
            let upper = rest.get(..2).map(str::to_ascii_uppercase).unwrap_or_default();
            let (used, node) = match (upper.as_str(), c.to_ascii_uppercase()) {
                ("FM", _) => {
                    pattern.fill = true;
                    (2, None)
                }
                ("EE", _) if rest.len() >= 4 && rest[..4].eq_ignore_ascii_case("EEEE") => {
                    pattern.scientific = true;
                    (4, None)
                }
                ("RN", _) => {
                    pattern.roman = Some(c == 'r');
                    (2, None)
                }
                ("TH", _) => {
                    pattern.ordinal = Some(c == 't');
                    (2, None)
                }
                ("MI", _) => {
                    pattern.sign = Sign::Minus;
                    (2, Some(Node::Sign))
                }
                ("PL", _) => {
                    pattern.sign = Sign::Plus;
                    (2, Some(Node::Sign))
                }
                ("PR", _) => {
                    pattern.sign = Sign::Angle;
                    (2, None)
                }
                ("SG", _) => {
                    pattern.sign = Sign::Both;
                    (2, Some(Node::Sign))
                }
                (_, 'S') => {
                    pattern.sign = Sign::Both;
                    (1, Some(Node::Sign))
                }
                (_, '9') => (1, Some(Node::Digit(false))),
                (_, '0') => (1, Some(Node::Digit(true))),
                (_, ',' | 'G') => (1, Some(Node::Group)),
                (_, 'L') => (1, None),
                (_, '.' | 'D') => {
                    if pattern.has_point {
                        return Err(Error::syntax("multiple decimal points"));
                    }
                    pattern.has_point = true;
                    (1, None)
                }
                (_, 'V') => {
                    shifting = true;
                    (1, None)
                }
                (_, '"') => {
                    let inner = &rest[1..];
                    let end = inner.find('"').unwrap_or(inner.len());
                    for c in inner[..end].chars() {
                        pattern.push(Node::Text(c));
                    }
                    rest = inner.get(end + 1..).unwrap_or_default();
                    continue;
                }
                _ => (c.len_utf8(), Some(Node::Text(c))),
            };
            if shifting && matches!(node, Some(Node::Digit(_))) {
                pattern.shift += 1;
            }
            if let Some(node) = node {
                pattern.push(node);
            }
            rest = &rest[used..];
        }
        Ok(pattern)
    }

    fn push(&mut self, node: Node) {
        match self.has_point {
            true => self.fraction.push(node),
            false => self.whole.push(node),
        }
    }

    fn places(&self) -> usize {
        digits_of(&self.fraction)
    }

    /// Digits behind the point that formatting looks at.
    pub fn digits_needed(&self) -> usize {
        match self.scientific {
            true => 17,
            false => self.places() + self.shift,
        }
    }

    /// A number in plain decimal digits by the pattern.
    pub fn format(&self, number: &str) -> String {
        let (negative, digits) = match number.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, number),
        };
        if let Some(lower) = self.roman {
            return self.format_roman(negative, digits, lower);
        }
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return number.to_owned();
        }
        if self.scientific {
            return format_scientific(negative, digits, self.places());
        }
        let shifted = shift(digits, self.shift);
        let (whole, fraction) = round(&shifted, self.places());
        let whole = whole.trim_start_matches('0');
        let is_zero = whole.is_empty() && fraction.bytes().all(|b| b == b'0');
        self.lay_out(negative && !is_zero, whole, &fraction)
    }

    fn lay_out(&self, negative: bool, whole: &str, fraction: &str) -> String {
        let room = digits_of(&self.whole);
        let overflow = whole.len() > room;
        // From the first 0 of the pattern on, digits are shown whether the number has them or not.
        let mut seen = 0;
        let mut forced = room;
        for node in &self.whole {
            if let Node::Digit(zero) = node {
                if *zero {
                    forced = seen;
                    break;
                }
                seen += 1;
            }
        }
        let begin = room.saturating_sub(whole.len()).min(forced);
        // A number below one has a zero only where the pattern asks for it, or has no places.
        let begin = match whole.is_empty() && forced == room {
            true if !self.has_point && room > 0 => room - 1,
            _ => begin,
        };
        let sign = self.sign_text(negative);
        let (mut out, mut position, mut signed) = (String::new(), 0, false);
        let has_sign_node = self
            .whole
            .iter()
            .chain(&self.fraction)
            .any(|node| *node == Node::Sign);
        for node in &self.whole {
            match node {
                Node::Digit(_) => {
                    if position < begin {
                        if !self.fill {
                            out.push(' ');
                        }
                    } else {
                        if !has_sign_node && !signed {
                            put_sign(&mut out, &sign, self.fill);
                            signed = true;
                        }
                        let from_end = room - position;
                        let digit = match overflow {
                            true => '#',
                            false => whole
                                .len()
                                .checked_sub(from_end)
                                .map_or('0', |i| char::from(whole.as_bytes()[i])),
                        };
                        out.push(digit);
                    }
                    position += 1;
                }
                Node::Group if position > begin => out.push(','),
                Node::Group if !self.fill => out.push(' '),
                Node::Group => {}
                Node::Text(c) => out.push(*c),
                Node::Sign => out.push_str(&sign),
            }
        }
        if !has_sign_node && !signed {
            put_sign(&mut out, &sign, self.fill);
        }
        if self.has_point {
            let shown = self.shown_places(fraction);
            out.push('.');
            let mut digits = fraction.chars();
            let mut count = 0;
            for node in &self.fraction {
                match node {
                    Node::Digit(_) => {
                        let digit = digits.next().unwrap_or('0');
                        if count < shown {
                            out.push(if overflow { '#' } else { digit });
                        }
                        count += 1;
                    }
                    Node::Text(c) => out.push(*c),
                    Node::Sign => out.push_str(&sign),
                    Node::Group => {}
                }
            }
        }
        self.finish(out, negative, whole)
    }

    /// With `FM`, zeros at the end that a `9` stands for are not shown.
    fn shown_places(&self, fraction: &str) -> usize {
        if !self.fill {
            return fraction.len();
        }
        let digits = self.fraction.iter().filter_map(|node| match node {
            Node::Digit(zero) => Some(*zero),
            _ => None,
        });
        let forced = digits
            .enumerate()
            .filter(|(_, zero)| *zero)
            .map(|(i, _)| i + 1)
            .last();
        fraction.trim_end_matches('0').len().max(forced.unwrap_or(0))
    }

    fn sign_text(&self, negative: bool) -> String {
        match (self.sign, negative) {
            (Sign::Plain, true) | (Sign::Both | Sign::Minus, true) => "-",
            (Sign::Both | Sign::Plus, false) => "+",
            (Sign::Plain | Sign::Minus, false) | (Sign::Plus, true) if self.fill => "",
            (Sign::Plain | Sign::Minus, false) | (Sign::Plus, true) => " ",
            (Sign::Angle, true) => "<",
            (Sign::Angle, false) if self.fill => "",
            (Sign::Angle, false) => " ",
        }
        .to_owned()
    }

    fn finish(&self, mut out: String, negative: bool, whole: &str) -> String {
        if let Some(lower) = self.ordinal
            && !negative
        {
            let last: u32 = whole[whole.len().saturating_sub(2)..].parse().unwrap_or(0);
            let suffix = match (last % 100, last % 10) {
                (11..=13, _) => "TH",
                (_, 1) => "ST",
                (_, 2) => "ND",
                (_, 3) => "RD",
                _ => "TH",
            };
            out.push_str(&if lower {
                suffix.to_lowercase()
            } else {
                suffix.to_owned()
            });
        }
        if self.sign == Sign::Angle {
            match (negative, self.fill) {
                (true, _) => out.push('>'),
                (false, false) => out.push(' '),
                (false, true) => {}
            }
        }
        out
    }

    fn format_roman(&self, negative: bool, digits: &str, lower: bool) -> String {
        const WIDTH: usize = 15;
        const NUMERALS: [(u32, &str); 13] = [
            (1000, "M"),
            (900, "CM"),
            (500, "D"),
            (400, "CD"),
            (100, "C"),
            (90, "XC"),
            (50, "L"),
            (40, "XL"),
            (10, "X"),
            (9, "IX"),
            (5, "V"),
            (4, "IV"),
            (1, "I"),
        ];
        let (whole, _) = round(digits, 0);
        let mut rest: u32 = match whole.parse() {
            Ok(number @ 1..=3999) if !negative => number,
            _ => return "#".repeat(WIDTH),
        };
        let mut text = String::new();
        for (value, numeral) in NUMERALS {
            while rest >= value {
                text.push_str(numeral);
                rest -= value;
            }
        }
        let text = if lower { text.to_lowercase() } else { text };
        match self.fill {
            true => text,
            false => format!("{text:>WIDTH$}"),
        }
    }
}

fn put_sign(out: &mut String, sign: &str, _fill: bool) {
    // The sign takes a place of its own, left of the blanks' end.
    out.push_str(sign);
}

fn digits_of(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| matches!(node, Node::Digit(_))).count()
}

/// Moves the point to the right.
fn shift(digits: &str, places: usize) -> String {
    if places == 0 {
        return digits.to_owned();
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = format!("{fraction:0<places$}");
    format!("{whole}{}.{}", &fraction[..places], &fraction[places..])
}

/// Rounds half away from zero: the digits before and behind the point.
fn round(digits: &str, places: usize) -> (String, String) {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let padded = format!("{fraction:0<width$}", width = places + 1);
    let mut kept: Vec<u8> = whole.bytes().chain(padded.bytes().take(places)).collect();
    if padded.as_bytes()[places] >= b'5' {
        let mut at = kept.len();
        loop {
            if at == 0 {
                kept.insert(0, b'1');
                break;
            }
            at -= 1;
            if kept[at] == b'9' {
                kept[at] = b'0';
            } else {
                kept[at] += 1;
                break;
            }
        }
    }
    let text: String = kept.into_iter().map(char::from).collect();
    let split = text.len() - places;
    (text[..split].to_owned(), text[split..].to_owned())
}

fn format_scientific(negative: bool, digits: &str, places: usize) -> String {
    let number: f64 = digits.parse().unwrap_or(0.0);
    let text = format!("{number:.places$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if negative { '-' } else { ' ' };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}e{exponent_sign}{:02}", exponent.abs())
}

/// The digits of a text that was written by a pattern.
///
/// # Errors
/// A text without digits.
pub fn read(text: &str, pattern: &str) -> Result<String> {
    let pattern = NumberPattern::parse(pattern)?;
    let mut digits = String::new();
    let (mut negative, mut point) = (false, false);
    for c in text.chars() {
        match c {
            '0'..='9' => digits.push(c),
            '-' | '<' => negative = true,
            '.' if !point => {
                point = true;
                digits.push('.');
            }
            _ => {}
        }
    }
    if !digits.contains(|c: char| c.is_ascii_digit()) {
        return Err(Error::new(
            ErrorKind::InvalidTextRepresentation,
            format!("invalid input syntax for type numeric: \"{text}\""),
        ));
    }
    if pattern.shift > 0 && !point {
        let width = pattern.shift + 1;
        digits = format!("{digits:0>width$}");
        digits.insert(digits.len() - pattern.shift, '.');
    }
    Ok(format!("{}{digits}", if negative { "-" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_laid_out_as_postgres_does() {
        for (number, pattern, expected) in [
            ("1234.567", "9,999.99", " 1,234.57"),
            ("-12", "999", " -12"),
            ("12", "000", " 012"),
            ("12.5", "FM999.00", "12.50"),
            ("0.5", "0.99", " 0.50"),
            ("0.5", "9.99", "  .50"),
            ("485", "RN", "        CDLXXXV"),
            ("12345", "999", " ###"),
            ("0", "999", "   0"),
            ("1234567", "9,999,999", " 1,234,567"),
            ("1", "9,999", "     1"),
            ("-1", "9,999", "    -1"),
            ("12", "99V9", " 120"),
            ("1", "9th", " 1st"),
            ("-485", "999PR", "<485>"),
            ("485", "999MI", "485 "),
            ("-485", "999MI", "485-"),
            ("485", "S999", "+485"),
            ("0.1", "FM9.99", ".1"),
            ("10", "FM99.99", "10."),
        ] {
            assert_eq!(
                NumberPattern::parse(pattern).unwrap().format(number),
                expected,
                "{pattern}"
            );
        }
        assert_eq!(read("1,234.5-", "9,999.9S").unwrap(), "-1234.5");
    }
}
