//! Arrays and structs: what is inside is one column for all rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, NullBufferBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;

use super::{ColumnReader, Flaws, Tokens};
use crate::format::json::{Fields, Scanner};
use crate::format::token::{Kind, Token};

impl ColumnReader {
    pub(super) fn lists(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        let mut nulls = NullBufferBuilder::new(tokens.rows);
        let (mut elements, mut owners, mut lengths) =
            (Vec::new(), Vec::new(), Vec::with_capacity(tokens.rows));
        for (row, token) in tokens.iter().enumerate() {
            let before = elements.len();
            match token.kind {
                Kind::Array => {
                    scan_elements(tokens.text, token, &mut elements);
                    nulls.append_non_null();
                }
                Kind::Missing | Kind::Null => nulls.append_null(),
                kind => {
                    nulls.append_null();
                    flaws.0.push((row, self.wrong_kind(kind)));
                }
            }
            lengths.push(elements.len() - before);
            owners.resize(elements.len(), row);
        }
        let mut inner = Flaws::default();
        let values = self.children[0].decode(tokens.text, &elements, 0, 1, elements.len(), &mut inner);
        flaws.0.extend(
            inner
                .0
                .into_iter()
                .map(|(element, error)| (owners[element], error)),
        );
        let DataType::List(field) = self.sql_type.arrow() else {
            unreachable!("an array is stored as a list")
        };
        Arc::new(ListArray::new(
            field,
            OffsetBuffer::from_lengths(lengths),
            values,
            nulls.finish(),
        ))
    }

    pub(super) fn structs(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        let width = self.children.len();
        let mut fields = Fields::new(self.children.iter().map(|child| child.name.as_str()));
        let mut nulls = NullBufferBuilder::new(tokens.rows);
        let mut inner = vec![Token::MISSING; tokens.rows * width];
        for (row, token) in tokens.iter().enumerate() {
            match token.kind {
                Kind::Object => {
                    let mut scanner = Scanner::new(tokens.text.as_bytes(), token.start as usize);
                    fields
                        .scan(&mut scanner, &mut inner[row * width..(row + 1) * width])
                        .expect("the line was checked before");
                    nulls.append_non_null();
                }
                Kind::Missing | Kind::Null => nulls.append_null(),
                kind => {
                    nulls.append_null();
                    flaws.0.push((row, self.wrong_kind(kind)));
                }
            }
        }
        let decode = |(index, child): (usize, &ColumnReader)| {
            child.decode(tokens.text, &inner, index, width, tokens.rows, flaws)
        };
        let columns: Vec<ArrayRef> = self.children.iter().enumerate().map(decode).collect();
        let DataType::Struct(fields) = self.sql_type.arrow() else {
            unreachable!("a struct is stored as one")
        };
        let array = StructArray::try_new_with_length(fields, columns, nulls.finish(), tokens.rows);
        Arc::new(array.expect("columns decoded after the fields"))
    }
}

/// Adds a token per element of the array at `token`.
fn scan_elements(text: &str, token: Token, elements: &mut Vec<Token>) {
    let mut scanner = Scanner::new(text.as_bytes(), token.start as usize + 1);
    scanner.skip_space();
    if scanner.peek() == Some(b']') {
        return;
    }
    loop {
        elements.push(scanner.value().expect("the line was checked before"));
        scanner.skip_space();
        if scanner.peek() != Some(b',') {
            return;
        }
        scanner.skip(1);
    }
}
