//! `EXPLAIN` and `DESCRIBE`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::statement::{Explain, ExplainStage, ExplainTarget, Show, Statement};

use super::Tokens;

impl Tokens<'_> {
    pub fn explain(&mut self) -> Result<Statement> {
        self.expect_word("EXPLAIN")?;
        let mut explain = Explain {
            analyze: false,
            stage: ExplainStage::default(),
            target: ExplainTarget::View(sqlparser::ast::ObjectName(Vec::new())),
        };
        // A parenthesis may also begin the query.
        if self.peek_token(&Token::LParen)
            && !matches!(
                self.peek_nth_word(1).as_deref(),
                None | Some("SELECT" | "WITH" | "VALUES" | "TABLE")
            )
        {
            self.list(|tokens| tokens.explain_option(&mut explain))?;
        } else {
            while let Some(word) = self.one_of(&["ANALYZE", "VERBOSE"]) {
                explain.analyze |= word == "ANALYZE";
            }
        }
        let views = [&["STREAMING", "VIEW"], &["MATERIALIZED", "VIEW"]];
        explain.target = if views.iter().any(|words| self.words(*words)) {
            ExplainTarget::View(self.object_name()?)
        } else {
            let position = self.next_offset();
            match self.statement()? {
                statement @ (Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::CreateView(_)
                | Statement::DeclareCursor(_)
                | Statement::Execute(_)) => ExplainTarget::Statement(Box::new(statement)),
                _ => {
                    let message = "EXPLAIN takes a query, INSERT, UPDATE, DELETE, CREATE STREAMING VIEW or a streaming view's name";
                    return Err(self.at(Error::syntax(message), position));
                }
            }
        };
        Ok(Statement::Explain(explain))
    }

    fn explain_option(&mut self, explain: &mut Explain) -> Result<()> {
        let offset = self.next_offset();
        let name = self.name()?;
        let value = match self.peek_word() {
            Some(value) if ["TRUE", "FALSE", "ON", "OFF", "TEXT"].contains(&value.as_str()) => {
                self.parser.advance_token();
                value == "TRUE" || value == "ON" || value == "TEXT"
            }
            _ => true,
        };
        match name.as_str() {
            "statement" => explain.stage = ExplainStage::Statement,
            "plan" => explain.stage = ExplainStage::Plan,
            "dataflow" => explain.stage = ExplainStage::Dataflow,
            "analyze" => explain.analyze = value,
            // Postgres' own, which change nothing here.
            "verbose" | "costs" | "buffers" | "timing" | "summary" | "settings" | "wal" | "generic_plan" => {}
            "format" if value => {}
            other => {
                let known = ["statement", "plan", "dataflow", "analyze", "verbose"];
                let error = Error::syntax(format!("unrecognized EXPLAIN option \"{other}\""));
                return Err(self.at(
                    error.with_hint_if(crate::suggest::did_you_mean(other, known)),
                    offset,
                ));
            }
        }
        Ok(())
    }

    /// `DESCRIBE t` lists the columns of `t`; `DESCRIBE SELECT ..` is EXPLAIN.
    pub fn describe(&mut self) -> Result<Statement> {
        let _ = self.one_of(&["DESCRIBE", "DESC"]);
        let _ = self.word("EXTENDED") || self.word("TABLE");
        Ok(Statement::Show(Show::Columns(self.object_name()?)))
    }
}
