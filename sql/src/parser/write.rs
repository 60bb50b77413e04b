//! `UPDATE`, `DELETE` and `TRUNCATE`, and what they share with `INSERT`.

use sqlparser::ast::{SelectItem, TableWithJoins, With};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{AssignedValue, Assignment, Delete, Statement, Truncate, Update, WriteTarget};

use super::Tokens;
use super::balance::balance;

impl Tokens<'_> {
    /// A statement that begins with WITH: a query, or a change of a table.
    pub fn with_statement(&mut self) -> Result<Statement> {
        let changes = |p: &mut Parser<'_>| {
            let with = parse_with(p)?;
            let word = p.peek_token_ref().token.to_string().to_ascii_uppercase();
            match word.as_str() {
                "INSERT" | "UPDATE" | "DELETE" => Ok(with),
                _ => p.expected_ref("a statement that changes a table", p.peek_token_ref()),
            }
        };
        let Some(mut with) = self.library(|p| p.maybe_parse(changes))? else {
            return self.query_statement();
        };
        balance(&mut with);
        let mut statement = self.statement()?;
        match &mut statement {
            Statement::Insert(insert) => insert.with = Some(with),
            Statement::Update(update) => update.with = Some(with),
            Statement::Delete(delete) => delete.with = Some(with),
            _ => return Err(self.unexpected("INSERT, UPDATE or DELETE")),
        }
        Ok(statement)
    }

    pub fn update(&mut self) -> Result<Statement> {
        self.expect_word("UPDATE")?;
        let target = self.write_target(&["SET"])?;
        self.expect_word("SET")?;
        let assignments = self.comma_separated(Self::assignment)?;
        let from = self.tables_after("FROM")?;
        let selection = self.selection()?;
        let returning = self.returning()?;
        Ok(Statement::Update(Update {
            with: None,
            target,
            assignments,
            from,
            selection,
            returning,
        }))
    }

    pub fn delete(&mut self) -> Result<Statement> {
        self.expect_words(&["DELETE", "FROM"])?;
        let target = self.write_target(&["USING", "WHERE", "RETURNING"])?;
        let using = self.tables_after("USING")?;
        let selection = self.selection()?;
        let returning = self.returning()?;
        Ok(Statement::Delete(Delete {
            with: None,
            target,
            using,
            selection,
            returning,
        }))
    }

    pub fn truncate(&mut self) -> Result<Statement> {
        self.expect_word("TRUNCATE")?;
        let _ = self.word("TABLE");
        let tables = self.comma_separated(|tokens| {
            let _ = tokens.word("ONLY");
            let table = tokens.object_name()?;
            let _ = tokens.token(&Token::Mul);
            Ok(table)
        })?;
        // There are no sequences that could restart, and no foreign keys that CASCADE would follow.
        let _ = self.words(&["RESTART", "IDENTITY"]) || self.words(&["CONTINUE", "IDENTITY"]);
        let _ = self.one_of(&["CASCADE", "RESTRICT"]);
        Ok(Statement::Truncate(Truncate { tables }))
    }

    /// `[ONLY] t [*] [[AS] alias]`, where the alias is none of `followers`.
    pub fn write_target(&mut self, followers: &[&str]) -> Result<WriteTarget> {
        let _ = self
            .peek_nth_word(1)
            .is_some_and(|word| !followers.contains(&word.as_str()))
            && self.word("ONLY");
        let table = self.object_name()?;
        let _ = self.token(&Token::Mul);
        let bare = |tokens: &Self| match &tokens.parser.peek_token_ref().token {
            Token::Word(word) => {
                word.quote_style.is_some() || !followers.contains(&word.value.to_ascii_uppercase().as_str())
            }
            _ => false,
        };
        let alias = if self.word("AS") || bare(self) {
            Some(self.identifier()?)
        } else {
            None
        };
        Ok(WriteTarget { table, alias })
    }

    pub fn assignment(&mut self) -> Result<Assignment> {
        let columns = if self.peek_token(&Token::LParen) {
            self.list(Self::identifier)?
        } else {
            vec![self.identifier()?]
        };
        if self.peek_token(&Token::Period) {
            return Err(self.here(Error::unsupported(
                "columns in SET are written without their table",
            )));
        }
        if self.peek_token(&Token::LBracket) {
            return Err(self.here(
                Error::unsupported("assigning to an element of an array is not supported")
                    .with_hint("Assign the whole array."),
            ));
        }
        self.expect_token(&Token::Eq)?;
        let value = self.assigned_value(columns.len())?;
        Ok(Assignment { columns, value })
    }

    fn assigned_value(&mut self, columns: usize) -> Result<AssignedValue> {
        let is_row = self.peek_words(&["ROW"]) || (columns > 1 && self.peek_token(&Token::LParen));
        if !is_row {
            return Ok(AssignedValue::One(Box::new(self.expr()?)));
        }
        let row = self.word("ROW");
        if !row
            && matches!(
                self.peek_nth_word(1).as_deref(),
                Some("SELECT" | "WITH" | "VALUES" | "TABLE")
            )
        {
            self.expect_token(&Token::LParen)?;
            let query = self.query()?;
            self.expect_token(&Token::RParen)?;
            return Ok(AssignedValue::Query(query));
        }
        Ok(AssignedValue::Row(self.list(Self::expr)?))
    }

    fn tables_after(&mut self, word: &str) -> Result<Vec<TableWithJoins>> {
        if !self.word(word) {
            return Ok(Vec::new());
        }
        let mut tables = self.library(|p| p.parse_comma_separated(Parser::parse_table_and_joins))?;
        tables.iter_mut().for_each(balance);
        Ok(tables)
    }

    pub fn selection(&mut self) -> Result<Option<sqlparser::ast::Expr>> {
        if !self.word("WHERE") {
            return Ok(None);
        }
        if self.peek_words(&["CURRENT", "OF"]) {
            return Err(self.here(
                Error::unsupported("WHERE CURRENT OF is not supported")
                    .with_hint("Name the row by its key: WHERE id = ..."),
            ));
        }
        Ok(Some(self.expr()?))
    }

    pub fn returning(&mut self) -> Result<Vec<SelectItem>> {
        if !self.word("RETURNING") {
            return Ok(Vec::new());
        }
        let mut items = self.library(|p| p.parse_comma_separated(Parser::parse_select_item))?;
        items.iter_mut().for_each(balance);
        Ok(items)
    }
}

fn parse_with(p: &mut Parser<'_>) -> Result<With, ParserError> {
    let with_token = p.expect_keyword(Keyword::WITH)?.into();
    Ok(With {
        with_token,
        recursive: p.parse_keyword(Keyword::RECURSIVE),
        cte_tables: p.parse_comma_separated(Parser::parse_cte)?,
    })
}
