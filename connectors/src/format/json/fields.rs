//! From field names to columns, fast where objects keep their field order.

use std::collections::HashMap;

use super::scan::Scanner;
use crate::format::token::{Kind, Token};

/// Which fields of an object are wanted, and the order in which the last objects had them.
///
/// A name matches the column of exactly that name, else the one that is equal without regard to ASCII case: SQL folds
/// unquoted names, so `userId` in the data belongs to the column `userid`.
#[derive(Debug, Clone)]
pub struct Fields {
    exact: HashMap<Box<[u8]>, usize>,
    folded: HashMap<Box<[u8]>, usize>,
    /// The i-th field of the last object that had one: its name as written and its column.
    order: Vec<(Box<[u8]>, Option<usize>)>,
}

impl Fields {
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut fields = Fields {
            exact: HashMap::new(),
            folded: HashMap::new(),
            order: Vec::new(),
        };
        for (column, name) in names.enumerate() {
            fields.exact.insert(name.as_bytes().into(), column);
            fields
                .folded
                .entry(name.to_ascii_lowercase().into_bytes().into())
                .or_insert(column);
        }
        fields
    }

    /// Takes an object, from its `{`, and writes the tokens of the wanted fields into `row`, which holds
    /// [`Token::MISSING`] before. The last of duplicate fields wins.
    pub fn scan(&mut self, scanner: &mut Scanner<'_>, row: &mut [Token]) -> Result<(), super::scan::Flaw> {
        scanner.expect(b'{', "expected a JSON object")?;
        scanner.skip_space();
        if scanner.peek() == Some(b'}') {
            scanner.skip(1);
            return Ok(());
        }
        for index in 0.. {
            let column = self.field_name(scanner, index)?;
            scanner.expect(b':', "expected ':'")?;
            let token = scanner.value()?;
            if let Some(column) = column {
                row[column] = token;
            }
            if scanner.peek() == Some(b',') {
                scanner.skip(1);
                continue;
            }
            scanner.skip_space();
            match scanner.peek() {
                Some(b',') => scanner.skip(1),
                Some(b'}') => break,
                Some(b'\n') | None => return scanner.flaw("the line ends inside the object"),
                Some(_) => return scanner.flaw("expected ',' or '}'"),
            }
        }
        scanner.skip(1);
        Ok(())
    }

    /// Takes the name of the object's field number `index`.
    #[inline]
    fn field_name(
        &mut self,
        scanner: &mut Scanner<'_>,
        index: usize,
    ) -> Result<Option<usize>, super::scan::Flaw> {
        scanner.expect(b'"', "expected a field name")?;
        if let Some((name, column)) = self.order.get(index)
            && scanner.starts_with(name)
        {
            // Names in `order` end with their closing quote.
            scanner.skip(name.len());
            return Ok(*column);
        }
        self.unexpected_name(scanner, index)
    }

    #[cold]
    fn unexpected_name(
        &mut self,
        scanner: &mut Scanner<'_>,
        index: usize,
    ) -> Result<Option<usize>, super::scan::Flaw> {
        let token = scanner.string()?;
        let raw = scanner.text(token.start as usize, token.end as usize);
        if token.kind == Kind::EscapedText {
            let mut name = String::new();
            // A name that is no text is no column's name.
            let known = super::text::unescape(raw, &mut name).is_ok();
            return Ok(known.then(|| self.lookup(name.as_bytes())).flatten());
        }
        let column = self.lookup(raw);
        // Objects with thousands of fields are not worth remembering.
        if index <= self.order.len() && index < 256 {
            let mut learned = raw.to_vec();
            learned.push(b'"');
            let entry = (learned.into_boxed_slice(), column);
            match self.order.get_mut(index) {
                Some(slot) => *slot = entry,
                None => self.order.push(entry),
            }
        }
        Ok(column)
    }

    fn lookup(&self, name: &[u8]) -> Option<usize> {
        self.exact
            .get(name)
            .or_else(|| self.folded.get(name.to_ascii_lowercase().as_slice()))
            .copied()
    }
}
