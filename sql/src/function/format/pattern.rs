//! Patterns of dates and times, taken apart.

use super::moment::Moment;

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Field(Field),
    Text(String),
}

/// A keyword with what stands before and behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub key: Key,
    pub case: Case,
    /// `FM`: no blanks and zeros to fill up.
    pub fill: bool,
    /// `TH` or `th`.
    pub ordinal: Option<Case>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Upper,
    Title,
    Lower,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Hour12,
    Hour24,
    Minute,
    Second,
    Milli,
    Micro,
    /// So many digits of a second.
    Fraction(u8),
    SecondsOfDay,
    /// With points where true.
    Meridiem(bool),
    Era(bool),
    /// The last digits of the year, so many.
    Year(u8),
    YearWithComma,
    IsoYear(u8),
    MonthName,
    MonthShort,
    Month,
    MonthRoman,
    DayName,
    DayShort,
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    WeekOfMonth,
    Week,
    IsoWeek,
    Century,
    Julian,
    Quarter,
    Zone,
    ZoneHours,
    ZoneMinutes,
    Offset,
}

/// Longer keywords stand before those they begin with.
const KEYS: &[(&str, Key)] = &[
    ("HH24", Key::Hour24),
    ("HH12", Key::Hour12),
    ("HH", Key::Hour12),
    ("MI", Key::Minute),
    ("SSSSS", Key::SecondsOfDay),
    ("SSSS", Key::SecondsOfDay),
    ("SS", Key::Second),
    ("MS", Key::Milli),
    ("US", Key::Micro),
    ("FF1", Key::Fraction(1)),
    ("FF2", Key::Fraction(2)),
    ("FF3", Key::Fraction(3)),
    ("FF4", Key::Fraction(4)),
    ("FF5", Key::Fraction(5)),
    ("FF6", Key::Fraction(6)),
    ("A.M.", Key::Meridiem(true)),
    ("P.M.", Key::Meridiem(true)),
    ("AM", Key::Meridiem(false)),
    ("PM", Key::Meridiem(false)),
    ("A.D.", Key::Era(true)),
    ("B.C.", Key::Era(true)),
    ("AD", Key::Era(false)),
    ("BC", Key::Era(false)),
    ("Y,YYY", Key::YearWithComma),
    ("YYYY", Key::Year(4)),
    ("YYY", Key::Year(3)),
    ("YY", Key::Year(2)),
    ("Y", Key::Year(1)),
    ("IYYY", Key::IsoYear(4)),
    ("IYY", Key::IsoYear(3)),
    ("IY", Key::IsoYear(2)),
    ("IDDD", Key::IsoDayOfYear),
    ("ID", Key::IsoDayOfWeek),
    ("IW", Key::IsoWeek),
    ("I", Key::IsoYear(1)),
    ("MONTH", Key::MonthName),
    ("MON", Key::MonthShort),
    ("MM", Key::Month),
    ("RM", Key::MonthRoman),
    ("DAY", Key::DayName),
    ("DY", Key::DayShort),
    ("DDD", Key::DayOfYear),
    ("DD", Key::Day),
    ("D", Key::DayOfWeek),
    ("WW", Key::Week),
    ("W", Key::WeekOfMonth),
    ("CC", Key::Century),
    ("J", Key::Julian),
    ("Q", Key::Quarter),
    ("TZH", Key::ZoneHours),
    ("TZM", Key::ZoneMinutes),
    ("TZ", Key::Zone),
    ("OF", Key::Offset),
];

pub struct Pattern {
    pub nodes: Vec<Node>,
}

impl Pattern {
    /// Every text is a pattern: what is no keyword stands for itself.
    pub fn parse(text: &str) -> Self {
        let mut nodes = Vec::new();
        let mut rest = text;
        let mut fill = false;
        while let Some(c) = rest.chars().next() {
            if let Some(quoted) = rest.strip_prefix('"') {
                let (inner, after) = quoted_text(quoted);
                nodes.push(Node::Text(inner));
                rest = after;
            } else if let Some(after) = strip(rest, "FM") {
                fill = true;
                rest = after;
            } else if let Some(after) = strip(rest, "FX").or_else(|| strip(rest, "TM")) {
                rest = after;
            } else if let Some((key, case, after)) = keyword(rest) {
                rest = after;
                let ordinal = match rest.get(..2) {
                    Some("TH") => Some(Case::Upper),
                    Some("th") => Some(Case::Lower),
                    _ => None,
                };
                if ordinal.is_some() {
                    rest = &rest[2..];
                }
                rest = strip(rest, "SP").unwrap_or(rest);
                nodes.push(Node::Field(Field {
                    key,
                    case,
                    fill,
                    ordinal,
                }));
                fill = false;
            } else {
                nodes.push(Node::Text(c.to_string()));
                rest = &rest[c.len_utf8()..];
            }
        }
        Self { nodes }
    }

    pub fn format(&self, moment: &Moment) -> String {
        let mut out = String::new();
        for node in &self.nodes {
            match node {
                Node::Text(text) => out.push_str(text),
                Node::Field(field) => moment.write(field, &mut out),
            }
        }
        out
    }
}

/// What stands between double quotes, and what follows.
fn quoted_text(text: &str) -> (String, &str) {
    let mut inner = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => inner.extend(chars.next()),
            c => inner.push(c),
        }
    }
    (inner, chars.as_str())
}

/// What follows a word that is written in capitals or in small letters.
fn strip<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.strip_prefix(word)
        .or_else(|| text.strip_prefix(word.to_lowercase().as_str()))
}

fn keyword(text: &str) -> Option<(Key, Case, &str)> {
    KEYS.iter().find_map(|(word, key)| {
        let begin = text.get(..word.len())?;
        if !begin.eq_ignore_ascii_case(word) {
            return None;
        }
        let letters = || begin.chars().filter(char::is_ascii_alphabetic);
        let case = if letters().all(|c| c.is_ascii_uppercase()) {
            Case::Upper
        } else if letters().all(|c| c.is_ascii_lowercase()) {
            Case::Lower
        } else if letters().next().is_some_and(|c| c.is_ascii_uppercase())
            && letters().skip(1).all(|c| c.is_ascii_lowercase())
        {
            Case::Title
        } else {
            return None;
        };
        Some((*key, case, &text[word.len()..]))
    })
}
