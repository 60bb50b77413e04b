//! `CREATE TABLE`, `CREATE STREAM` and `CREATE SOURCE`: columns, keys, watermark, options.
//!
//! A table with a `connector` option is a source, so that Flink's, Arroyo's and RisingWave's texts run unchanged.

use sqlparser::ast::{ColumnOption, Expr, Ident, ObjectName};
use sqlparser::tokenizer::Token;

use crate::error::{Error, ErrorKind, Result};
use crate::statement::{
    Check, ColumnDefinition, CreateSource, CreateTable, PrimaryKey, RelationElements, Statement, Unique,
    WatermarkDefinition, WithOption,
};

use super::Tokens;

/// What follows the name of a table, stream or source.
#[derive(Default)]
struct Body {
    elements: RelationElements,
    append_only: bool,
    options: Vec<WithOption>,
}

impl Tokens<'_> {
    pub fn create_table(&mut self, or_replace: bool, temporary: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        if let Some(statement) = self.create_table_as(&name, temporary, if_not_exists)? {
            return Ok(statement);
        }
        let Body {
            elements,
            append_only,
            options,
        } = self.body()?;
        let connector = |o: &WithOption| o.key.eq_ignore_ascii_case("connector");
        if options.iter().any(connector) {
            return Ok(Statement::CreateSource(CreateSource {
                name,
                or_replace,
                if_not_exists,
                elements,
                options,
            }));
        }
        let body = Body {
            elements,
            append_only,
            options,
        };
        let mut table = table(name, or_replace, if_not_exists, body, false);
        if let Statement::CreateTable(create) = &mut table {
            create.temporary = temporary;
        }
        Ok(table)
    }

    pub fn create_stream(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let body = self.body()?;
        Ok(table(
            name,
            or_replace,
            if_not_exists,
            Body {
                append_only: true,
                ..body
            },
            true,
        ))
    }

    pub fn create_source(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let Body {
            elements, options, ..
        } = self.body()?;
        Ok(Statement::CreateSource(CreateSource {
            name,
            or_replace,
            if_not_exists,
            elements,
            options,
        }))
    }

    fn body(&mut self) -> Result<Body> {
        let mut body = Body::default();
        if self.token(&Token::LParen) && !self.token(&Token::RParen) {
            loop {
                self.element(&mut body.elements)?;
                if !self.token(&Token::Comma) {
                    break;
                }
            }
            self.expect_token(&Token::RParen)?;
        }
        while !self.at_end() {
            self.clause(&mut body)?;
        }
        Ok(body)
    }

    /// An element of the column list.
    fn element(&mut self, elements: &mut RelationElements) -> Result<()> {
        if self.peek_words(&["WATERMARK", "FOR"]) {
            return self.watermark(elements);
        }
        let name = self.constraint_name()?;
        if self.peek_words(&["PRIMARY", "KEY"]) {
            return self.primary_key(name, elements);
        }
        if self.word("UNIQUE") {
            let _ = self.words(&["NULLS", "DISTINCT"]);
            let columns = self.list(Self::identifier)?;
            elements.unique.push(Unique { name, columns });
            return Ok(());
        }
        if self.word("CHECK") {
            let expr = self.parenthesised()?;
            elements.checks.push(Check {
                name,
                column: None,
                expr,
            });
            return Ok(());
        }
        for refused in ["FOREIGN", "EXCLUDE", "LIKE"] {
            if self.peek_word().as_deref() == Some(refused) {
                return Err(self.here(Error::unsupported(format!(
                    "{refused} in a column list is not supported yet"
                ))));
            }
        }
        self.column(elements)
    }

    fn watermark(&mut self, elements: &mut RelationElements) -> Result<()> {
        let position = self.next_offset();
        self.expect_words(&["WATERMARK", "FOR"])?;
        let column = self.identifier()?;
        let expr = if self.word("AS") { Some(self.expr()?) } else { None };
        if elements
            .watermark
            .replace(WatermarkDefinition { column, expr })
            .is_some()
        {
            let error = Error::new(
                ErrorKind::InvalidTableDefinition,
                "only one watermark can be declared",
            );
            return Err(self.at(error, position));
        }
        Ok(())
    }

    /// `CONSTRAINT name` where it comes next.
    fn constraint_name(&mut self) -> Result<Option<Ident>> {
        if self.word("CONSTRAINT") {
            Ok(Some(self.identifier()?))
        } else {
            Ok(None)
        }
    }

    fn parenthesised(&mut self) -> Result<Expr> {
        self.expect_token(&Token::LParen)?;
        let expr = self.expr()?;
        self.expect_token(&Token::RParen)?;
        Ok(expr)
    }

    fn primary_key(&mut self, name: Option<Ident>, elements: &mut RelationElements) -> Result<()> {
        let position = self.next_offset();
        self.expect_words(&["PRIMARY", "KEY"])?;
        let columns = self.list(Self::identifier)?;
        self.set_primary_key(elements, name, columns, position)
    }

    /// Sets the key that was read, behind which `NOT ENFORCED` may stand.
    fn set_primary_key(
        &mut self,
        elements: &mut RelationElements,
        name: Option<Ident>,
        columns: Vec<Ident>,
        position: usize,
    ) -> Result<()> {
        let enforced = !self.words(&["NOT", "ENFORCED"]);
        let key = PrimaryKey {
            name,
            columns,
            enforced,
        };
        if elements.primary_key.replace(key).is_some() {
            let error = Error::new(
                ErrorKind::InvalidTableDefinition,
                "multiple primary keys are not allowed",
            );
            return Err(self.at(error, position));
        }
        Ok(())
    }

    fn column(&mut self, elements: &mut RelationElements) -> Result<()> {
        let name = self.identifier()?;
        if self.peek_word().as_deref() == Some("AS") {
            return Err(self.here(computed()));
        }
        let data_type = self.data_type()?;
        let mut column = ColumnDefinition {
            name,
            data_type,
            not_null: false,
            default: None,
        };
        loop {
            let position = self.next_offset();
            for (word, what) in [
                ("METADATA", "METADATA columns"),
                ("LATENESS", "LATENESS"),
                ("AS", "computed columns"),
            ] {
                if self.peek_word().as_deref() == Some(word) {
                    return Err(self.here(Error::unsupported(format!("{what} are not supported yet"))));
                }
            }
            let constraint = self.constraint_name()?;
            let Some(option) = self.library(|p| p.parse_optional_column_option())? else {
                break;
            };
            match option {
                ColumnOption::NotNull => column.not_null = true,
                ColumnOption::Null => {}
                ColumnOption::Default(expr) => column.default = Some(expr),
                ColumnOption::PrimaryKey(key) => {
                    let columns = vec![column.name.clone()];
                    // The library may have read NOT ENFORCED already.
                    let promised = key.characteristics.is_some_and(|c| c.enforced == Some(false));
                    self.set_primary_key(elements, constraint, columns, position)?;
                    if let (true, Some(key)) = (promised, &mut elements.primary_key) {
                        key.enforced = false;
                    }
                }
                ColumnOption::Unique(_) => elements.unique.push(Unique {
                    name: constraint,
                    columns: vec![column.name.clone()],
                }),
                ColumnOption::Check(check) => elements.checks.push(Check {
                    name: constraint,
                    column: Some(column.name.clone()),
                    expr: *check.expr,
                }),
                ColumnOption::Generated { .. } => return Err(self.at(computed(), position)),
                other => {
                    let words: Vec<_> = other.to_string().split(' ').take(1).map(str::to_owned).collect();
                    let message = format!("column option {} is not supported yet", words.join(" "));
                    return Err(self.at(Error::unsupported(message), position));
                }
            }
        }
        elements.columns.push(column);
        Ok(())
    }

    /// A clause after the column list, in any order.
    fn clause(&mut self, body: &mut Body) -> Result<()> {
        if self.words(&["APPEND", "ONLY"]) {
            body.append_only = true;
            return Ok(());
        }
        if self.peek_words(&["WATERMARK", "FOR"]) {
            return self.watermark(&mut body.elements);
        }
        if self.word("WITH") {
            body.options.extend(self.options()?);
            return Ok(());
        }
        if self.peek_word().as_deref() == Some("FORMAT") {
            return self.format(body);
        }
        for (word, hint) in [
            ("INCLUDE", ""),
            ("PARTITIONED", ""),
            ("PARTITION", ""),
            ("INHERITS", ""),
            ("FROM", "Put the connector into WITH (connector = ..)."),
            ("USING", "Put the connector into WITH (connector = ..)."),
            ("SETTINGS", "Put the options into WITH (..)."),
        ] {
            if self.peek_word().as_deref() == Some(word) {
                let error = Error::unsupported(format!("{word} in a table definition is not supported yet"));
                return Err(self.here(if hint.is_empty() {
                    error
                } else {
                    error.with_hint(hint)
                }));
            }
        }
        Err(self.unexpected("WITH, WATERMARK FOR, APPEND ONLY or the end of the statement"))
    }

    /// RisingWave's `FORMAT PLAIN ENCODE JSON (k = v)`: the option `format`, and further options.
    fn format(&mut self, body: &mut Body) -> Result<()> {
        let position = self.next_offset();
        self.expect_word("FORMAT")?;
        let format_position = self.next_offset();
        let format = self.name()?;
        if format != "plain" {
            let error = Error::unsupported(format!("FORMAT {} is not supported yet", format.to_uppercase()));
            return Err(self.at(error.with_hint("Use FORMAT PLAIN."), format_position));
        }
        self.expect_word("ENCODE")?;
        let value = self.name()?;
        body.options.push(WithOption {
            key: "format".to_owned(),
            value,
            position,
        });
        if self.peek_token(&Token::LParen) {
            body.options.extend(self.options()?);
        }
        Ok(())
    }
}

fn table(name: ObjectName, or_replace: bool, if_not_exists: bool, body: Body, stream: bool) -> Statement {
    let Body {
        elements,
        append_only,
        options,
    } = body;
    Statement::CreateTable(CreateTable {
        name,
        or_replace,
        if_not_exists,
        elements,
        temporary: false,
        append_only,
        stream,
        options,
    })
}

fn computed() -> Error {
    Error::unsupported("computed columns are not supported yet")
        .with_hint("Compute the value in the SELECT of a streaming view.")
}
