//! Schemas, indexes, comments, new names, and statements that are accepted and do nothing.

use sqlparser::ast::{self, SetExpr};
use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{
    Accepted, CommentTarget, CreateIndex, CreateTableAs, Definition, DropKind, Statement,
};

use super::Tokens;

/// What GRANT and REVOKE are answered.
const NO_PRIVILEGES: &str = "there are no privileges: whoever can connect may do everything";

impl Tokens<'_> {
    /// What follows `CREATE SCHEMA`.
    pub fn create_schema(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = if self.word("AUTHORIZATION") {
            self.identifier()?
        } else {
            let name = self.identifier()?;
            if self.word("AUTHORIZATION") {
                self.identifier()?;
            }
            name
        };
        if !self.at_end() {
            return Err(self.here(Error::unsupported(
                "elements in CREATE SCHEMA are not supported yet",
            )));
        }
        Ok(Statement::Definition(Definition::CreateSchema {
            name,
            if_not_exists,
        }))
    }

    /// What follows `CREATE [UNIQUE] INDEX`.
    pub fn create_index(&mut self, unique: bool) -> Result<Statement> {
        let _ = self.word("CONCURRENTLY");
        let if_not_exists = self.if_not_exists();
        let name = match self.peek_word().as_deref() {
            Some("ON") => None,
            _ => Some(self.identifier()?),
        };
        self.expect_word("ON")?;
        let _ = self.word("ONLY");
        let table = self.object_name()?;
        let method = match self.word("USING") {
            true => Some(self.identifier()?),
            false => None,
        };
        let columns = self.list(|tokens| tokens.library(|p| p.parse_order_by_expr()))?;
        if self.word("INCLUDE") {
            self.list(Self::identifier)?;
        }
        let _ = self.words(&["NULLS", "DISTINCT"]);
        if self.peek_words(&["WITH"]) {
            self.word("WITH");
            self.options()?;
        }
        let condition = match self.word("WHERE") {
            true => Some(self.expr()?),
            false => None,
        };
        Ok(Statement::Definition(Definition::CreateIndex(Box::new(
            CreateIndex {
                unique,
                if_not_exists,
                name,
                table,
                method,
                columns,
                condition,
            },
        ))))
    }

    /// `DROP SCHEMA` and `DROP INDEX`, if one of them comes after `DROP`.
    pub fn drop_definition(&mut self) -> Result<Option<Statement>> {
        if self.word("SCHEMA") {
            let if_exists = self.words(&["IF", "EXISTS"]);
            let names = self.comma_separated(Self::identifier)?;
            let cascade = self.one_of(&["CASCADE", "RESTRICT"]) == Some("CASCADE");
            return Ok(Some(Statement::Definition(Definition::DropSchema {
                names,
                if_exists,
                cascade,
            })));
        }
        if self.word("INDEX") {
            let _ = self.word("CONCURRENTLY");
            let if_exists = self.words(&["IF", "EXISTS"]);
            let names = self.comma_separated(Self::object_name)?;
            let _ = self.one_of(&["CASCADE", "RESTRICT"]);
            return Ok(Some(Statement::Definition(Definition::DropIndex {
                names,
                if_exists,
            })));
        }
        Ok(None)
    }

    pub fn comment(&mut self) -> Result<Statement> {
        self.expect_words(&["COMMENT", "ON"])?;
        let target = if self.word("COLUMN") {
            CommentTarget::Column(self.object_name()?)
        } else if self.word("SCHEMA") {
            CommentTarget::Schema(self.identifier()?)
        } else if self.word("INDEX") {
            CommentTarget::Index(self.object_name()?)
        } else if self.word("DATABASE") {
            CommentTarget::Database(self.identifier()?)
        } else {
            let kind = self.object_kind("COMMENT ON")?;
            CommentTarget::Object(kind, self.object_name()?)
        };
        self.expect_word("IS")?;
        let text = match self.word("NULL") {
            true => None,
            // An empty comment is none.
            false => Some(self.string()?).filter(|text| !text.is_empty()),
        };
        Ok(Statement::Definition(Definition::Comment { target, text }))
    }

    /// What follows the name in `ALTER kind name`, where it is not about the query of a view.
    pub fn alter_definition(
        &mut self,
        kind: DropKind,
        name: ast::ObjectName,
        if_exists: bool,
    ) -> Result<Option<Statement>> {
        if self.words(&["RENAME", "TO"]) {
            let new_name = self.identifier()?;
            return Ok(Some(Statement::Definition(Definition::Rename {
                kind,
                name,
                if_exists,
                new_name,
            })));
        }
        if self.words(&["OWNER", "TO"]) {
            self.identifier()?;
            let tag = match kind {
                DropKind::Table | DropKind::Stream => "ALTER TABLE",
                DropKind::Source => "ALTER SOURCE",
                DropKind::AnyView => "ALTER VIEW",
                DropKind::View => "ALTER MATERIALIZED VIEW",
                DropKind::Sink => "ALTER SINK",
            };
            return Ok(Some(Statement::Accepted(Accepted {
                tag,
                notice: Some("objects have no owners: whoever can connect may do everything"),
            })));
        }
        Ok(None)
    }

    /// Statements about privileges and upkeep, which are read to their end.
    pub fn accepted(&mut self, word: &str) -> Result<Statement> {
        let (tag, notice) = match word {
            "GRANT" => ("GRANT", Some(NO_PRIVILEGES)),
            "REVOKE" => ("REVOKE", Some(NO_PRIVILEGES)),
            "VACUUM" => ("VACUUM", None),
            "ANALYZE" | "ANALYSE" => ("ANALYZE", None),
            "REINDEX" => ("REINDEX", None),
            _ => ("CHECKPOINT", None),
        };
        self.parser.advance_token();
        if matches!(tag, "GRANT" | "REVOKE") && self.at_end() {
            return Err(self.unexpected("privileges"));
        }
        while !self.at_end() {
            self.parser.advance_token();
        }
        Ok(Statement::Accepted(Accepted { tag, notice }))
    }

    /// `[(columns)] AS query [WITH [NO] DATA]` behind the name of a table, if it comes next.
    pub fn create_table_as(
        &mut self,
        name: &ast::ObjectName,
        temporary: bool,
        if_not_exists: bool,
    ) -> Result<Option<Statement>> {
        let columns = match self.columns_before_as() {
            Some(true) => self.list(Self::identifier)?,
            Some(false) => Vec::new(),
            None => return Ok(None),
        };
        self.expect_word("AS")?;
        let start = self.next_offset();
        let words: &[&str] = match self.position_of_last_words(&["WITH", "NO", "DATA"]) {
            Some(_) => &["WITH", "NO", "DATA"],
            None => &["WITH", "DATA"],
        };
        let (query, query_range) = match self.position_of_last_words(words) {
            // The library would take them for a part of the query.
            Some(end) => self.before(end, |tokens| {
                let query = tokens.query()?;
                Ok((query, tokens.range_from(start)))
            })?,
            None => (self.query()?, self.range_from(start)),
        };
        let query_range = Some(query_range);
        let with_data = !self.words(&["WITH", "NO", "DATA"]);
        let _ = self.words(&["WITH", "DATA"]);
        Ok(Some(Statement::CreateTableAs(CreateTableAs {
            name: name.clone(),
            temporary,
            if_not_exists,
            columns,
            query,
            query_range,
            with_data,
        })))
    }

    /// Whether AS comes next, or comes after a list of names (`Some(true)`).
    fn columns_before_as(&self) -> Option<bool> {
        if self.peek_words(&["AS"]) {
            return Some(false);
        }
        if !self.peek_token(&Token::LParen) {
            return None;
        }
        for n in 1.. {
            match &self.parser.peek_nth_token_ref(n).token {
                Token::Word(_) | Token::Comma => {}
                Token::RParen => return (self.peek_nth_word(n + 1)? == "AS").then_some(true),
                _ => return None,
            }
        }
        None
    }

    /// A query, or `SELECT .. INTO t`, which makes a table.
    pub fn query_or_table(&mut self) -> Result<Statement> {
        let mut query = self.query()?;
        let SetExpr::Select(select) = query.body.as_mut() else {
            return Ok(Statement::Query(query));
        };
        match select.into.take() {
            Some(into) => Ok(Statement::CreateTableAs(CreateTableAs {
                name: into.name,
                temporary: into.temporary,
                if_not_exists: false,
                columns: Vec::new(),
                query,
                query_range: None,
                with_data: true,
            })),
            None => Ok(Statement::Query(query)),
        }
    }
}
