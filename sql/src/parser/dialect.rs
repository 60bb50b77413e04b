//! PostgreSQL's dialect, with the words of our clauses kept from being read as aliases.
//!
//! The library asks `dialect()` which dialect it is talking to; answering with PostgreSQL's type keeps every
//! PostgreSQL-only branch of its parser. What that dialect overrides is passed on here.

use std::any::TypeId;

use sqlparser::ast::{ColumnOption, Expr, Statement};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

#[derive(Debug, Default)]
pub struct MillpondDialect(PostgreSqlDialect);

/// True when the word just read begins a clause of ours instead of being an alias: `FROM t EMIT CHANGES`.
fn begins_clause(parser: &Parser) -> bool {
    let Token::Word(Word {
        value,
        quote_style: None,
        ..
    }) = &parser.get_current_token().token
    else {
        return false;
    };
    let next = |n: usize, words: &[&str]| match &parser.peek_nth_token_ref(n).token {
        Token::Word(w) if w.quote_style.is_none() => {
            words.iter().any(|word| w.value.eq_ignore_ascii_case(word))
        }
        _ => false,
    };
    match value.to_ascii_uppercase().as_str() {
        "EMIT" => next(
            0,
            &[
                "ON",
                "FINAL",
                "AFTER",
                "CHANGES",
                "CHANGELOG",
                "COMPLETE",
                "EVERY",
                "PERIODIC",
            ],
        ),
        "TRIGGER" => next(0, &["EVERY"]),
        "WATERMARK" => next(1, &["DELAY"]),
        "ALLOW" => next(0, &["LATENESS"]),
        "GRACE" => next(0, &["PERIOD"]),
        "LATE" => next(0, &["DATA"]),
        _ => false,
    }
}

impl Dialect for MillpondDialect {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }

    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        self.0.is_column_alias(keyword, parser) && !begins_clause(parser)
    }

    fn is_table_factor_alias(&self, explicit: bool, keyword: &Keyword, parser: &mut Parser) -> bool {
        explicit || (self.0.is_table_factor_alias(explicit, keyword, parser) && !begins_clause(parser))
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.0.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        self.0.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.0.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.0.is_identifier_part(ch)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        self.0.is_custom_operator_part(ch)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        self.0.is_reserved_for_identifier(keyword)
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        self.0.parse_prefix(parser)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        // The library would take all that follows, up to the closing bracket, as the right side.
        let compare = if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            Expr::IsDistinctFrom
        } else if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            Expr::IsNotDistinctFrom
        } else {
            return self.0.parse_infix(parser, expr, precedence);
        };
        let right = parser.parse_subexpr(precedence);
        Some(right.map(|right| compare(Box::new(expr.clone()), Box::new(right))))
    }

    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        self.0.parse_statement(parser)
    }

    fn parse_column_option(
        &self,
        parser: &mut Parser,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        self.0.parse_column_option(parser)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        self.0.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.0.prec_value(precedence)
    }

    fn supports_empty_projections(&self) -> bool {
        self.0.supports_empty_projections()
    }

    fn supports_unicode_string_literal(&self) -> bool {
        self.0.supports_unicode_string_literal()
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        self.0.supports_filter_during_aggregation()
    }

    fn supports_group_by_expr(&self) -> bool {
        self.0.supports_group_by_expr()
    }

    fn allow_extract_custom(&self) -> bool {
        self.0.allow_extract_custom()
    }

    fn allow_extract_single_quotes(&self) -> bool {
        self.0.allow_extract_single_quotes()
    }

    fn supports_factorial_operator(&self) -> bool {
        self.0.supports_factorial_operator()
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        self.0.supports_bitwise_shift_operators()
    }

    /// Argument names are identifiers. Expressions as names would make the parser read every argument twice, and so nested
    /// calls a number of times that doubles with each level.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// `f(a := 1)`, the older spelling of `f(a => 1)`.
    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        self.0.supports_nested_comments()
    }

    fn supports_string_escape_constant(&self) -> bool {
        self.0.supports_string_escape_constant()
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        self.0.supports_numeric_literal_underscores()
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        self.0.supports_array_typedef_with_brackets()
    }

    fn supports_notnull_operator(&self) -> bool {
        self.0.supports_notnull_operator()
    }

    fn supports_interval_options(&self) -> bool {
        self.0.supports_interval_options()
    }

    fn supports_select_wildcard_with_alias(&self) -> bool {
        self.0.supports_select_wildcard_with_alias()
    }

    fn supports_comma_separated_trim(&self) -> bool {
        self.0.supports_comma_separated_trim()
    }

    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }
}
