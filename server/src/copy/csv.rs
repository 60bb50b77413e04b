//! CSV as Postgres reads and writes it: an empty field without quotes is NULL, with quotes it is the empty text.

use millpond_sql::statement::CopyOptions;

use super::Record;
use crate::error::{Result, ValueError};

/// Looks for the end of a record, which may have line ends within quotes.
#[derive(Debug, Default)]
pub struct Scanner {
    in_quotes: bool,
}

impl Scanner {
    /// Position of the line end that ends the record, from `from` on.
    pub fn end(&mut self, bytes: &[u8], from: usize, options: &CopyOptions) -> Option<usize> {
        let mut at = from;
        while at < bytes.len() {
            let byte = bytes[at];
            if self.in_quotes && byte == options.escape && options.escape != options.quote {
                // What follows means itself.
                at += 2;
                continue;
            }
            if byte == options.quote {
                // A doubled quote ends and begins quotes, which comes to the same.
                self.in_quotes = !self.in_quotes;
            } else if byte == b'\n' && !self.in_quotes {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    pub fn in_quotes(&self) -> bool {
        self.in_quotes
    }
}

/// Splits a record, which has no line end behind it, into fields.
pub fn split(record: &[u8], line: u64, options: &CopyOptions) -> Result<Record> {
    let CopyOptions {
        delimiter,
        quote,
        escape,
        ..
    } = *options;
    let mut fields = Vec::new();
    let mut value = Vec::new();
    let (mut quoted, mut in_quotes) = (false, false);
    let mut at = 0;
    loop {
        let byte = record.get(at).copied();
        match byte {
            Some(byte) if in_quotes => {
                let next = record.get(at + 1).copied();
                if byte == escape && next.is_some_and(|next| next == quote || next == escape) {
                    value.extend(next);
                    at += 1;
                } else if byte == quote {
                    in_quotes = false;
                } else {
                    value.push(byte);
                }
            }
            Some(byte) if byte == quote => (quoted, in_quotes) = (true, true),
            Some(byte) if byte != delimiter => value.push(byte),
            end => {
                let text = String::from_utf8(std::mem::take(&mut value)).map_err(|_| ValueError::NotUtf8)?;
                fields.push((quoted || text != options.null).then_some(text));
                quoted = false;
                if end.is_none() {
                    break;
                }
            }
        }
        at += 1;
    }
    Ok(Record {
        line,
        fields,
        raw: String::from_utf8_lossy(record).into_owned(),
    })
}

/// Writes a value so that [`split`] reads it back. A sole `\.` would end the data.
pub fn write(value: &str, options: &CopyOptions, out: &mut Vec<u8>) {
    let needs_quotes = value == options.null
        || value == "\\."
        || value
            .bytes()
            .any(|b| b == options.delimiter || b == options.quote || b == b'\n' || b == b'\r');
    if !needs_quotes {
        out.extend(value.bytes());
        return;
    }
    out.push(options.quote);
    for byte in value.bytes() {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> CopyOptions {
        CopyOptions::of_format(true)
    }

    fn fields(record: &str) -> Vec<Option<String>> {
        split(record.as_bytes(), 1, &options()).unwrap().fields
    }

    #[test]
    fn quotes_tell_empty_from_null() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            fields("a,,\"\",\"b,\"\"c\nd\""),
            [some("a"), None, some(""), some("b,\"c\nd")]
        );
        assert_eq!(fields("a\"b\"c"), [some("abc")]);
        assert_eq!(fields(""), [None]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for value in ["", "a", "a,b", "\"", "x\ny", "\\."] {
            let mut record = Vec::new();
            write(value, &options(), &mut record);
            assert_eq!(
                split(&record, 1, &options()).unwrap().fields,
                [Some(value.to_owned())]
            );
        }
    }

    #[test]
    fn records_end_outside_of_quotes() {
        let mut scanner = Scanner::default();
        let bytes = b"a,\"x\ny\"\nb";
        assert_eq!(scanner.end(bytes, 0, &options()), Some(7));
        assert_eq!(scanner.end(bytes, 8, &options()), None);
        assert!(!scanner.in_quotes());
    }
}
