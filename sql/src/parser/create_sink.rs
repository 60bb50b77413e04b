//! `CREATE SINK`: from a relation or a query, with the options before or behind it.

use sqlparser::ast::{ObjectName, Query};
use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::statement::{CreateSink, EmitClause, SinkSource, Statement, WithOption};

use super::Tokens;

impl Tokens<'_> {
    /// What follows `CREATE [OR REPLACE] SINK`.
    pub fn create_sink(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let mut options = Vec::new();
        let mut source = None;
        let mut emit = Vec::new();
        loop {
            if self.word("WITH") {
                options.extend(self.options()?);
            } else if source.is_none() && self.word("FROM") {
                let relation = self.object_name()?;
                let query = reading(&relation)?;
                source = Some(SinkSource::From(relation, query));
            } else if source.is_none() && self.word("AS") {
                let (query, clauses) = match self.position_of_trailing_options() {
                    // The library would take `WITH (..)` behind a query for hints about a table.
                    Some(position) => self.before(position, |tokens| tokens.sink_query())?,
                    None => self.sink_query()?,
                };
                source = Some(query);
                emit.extend(clauses);
            } else if self.peek_words(&["PARTITIONED", "BY"]) || self.peek_words(&["PARTITION", "BY"]) {
                options.push(self.partitioned_by()?);
            } else if self.at_end() {
                break;
            } else if source.is_some() {
                emit.push(self.emit_clause()?);
            } else {
                return Err(self.unexpected("FROM, AS or WITH"));
            }
        }
        let Some(source) = source else {
            return Err(self.unexpected("FROM or AS"));
        };
        Ok(Statement::CreateSink(CreateSink {
            name,
            or_replace,
            if_not_exists,
            options,
            source,
            emit,
        }))
    }

    fn sink_query(&mut self) -> Result<(SinkSource, Vec<EmitClause>)> {
        let start = self.next_offset();
        let query = self.query()?;
        let range = self.range_from(start);
        let mut emit = Vec::new();
        while !self.at_end() {
            emit.push(self.emit_clause()?);
        }
        Ok((SinkSource::Query(query, range), emit))
    }

    /// `PARTITIONED BY (a, b)`, as the option of that name.
    fn partitioned_by(&mut self) -> Result<WithOption> {
        let position = self.next_offset();
        let _ = self.words(&["PARTITIONED", "BY"]) || self.words(&["PARTITION", "BY"]);
        let names = if self.peek_token(&Token::LParen) {
            self.list(Self::name)?
        } else {
            self.comma_separated(Self::name)?
        };
        Ok(WithOption {
            key: "partition_by".to_owned(),
            value: names.join(","),
            position,
        })
    }
}

/// The query that reads all of a relation.
fn reading(relation: &ObjectName) -> Result<Box<Query>> {
    let parsed = super::parse(&format!("SELECT * FROM {relation}"))?;
    match parsed.into_iter().next().map(|parsed| parsed.statement) {
        Some(Statement::Query(query)) => Ok(query),
        _ => unreachable!("a SELECT was written"),
    }
}
