//! A pass over the tokens of a statement before it is parsed, for what the library cannot do by itself.
//!
//! - `TUMBLE(TABLE t, ..)`: the word `TABLE` inside a window call is taken out.
//! - `SESSION(t PARTITION BY a, b, DESCRIPTOR(ts), ..)`: the columns become the argument `key => (a, b)`.
//! - `FROM t WATERMARK ts DELAY OF INTERVAL '10 minutes'`: becomes the call `watermark(t, ts, INTERVAL '10 minutes')`.
//! - `trim(LEADING FROM x)`: the word `FROM` is taken out.
//! - `JOIN t FOR SYSTEM_TIME AS OF s.at`: becomes the call `lookup(t, 's.at')`.
//! - `DISTINCT ON (k) .. WITHIN WATERMARK` and `a JOIN b WITHIN INTERVAL '1 hour' ON ..`: see [`within`].
//! - `a ASOF JOIN b MATCH_CONDITION (..) ON ..`: see [`asof`].
//! - `(row).*`: the star becomes the quoted name `"*"`, which the parser takes after a dot.
//! - A chain such as `a + b + c ..` makes a tree as deep as it is long without the parser noticing. Statements whose tree
//!   would overflow the stack of a server thread later are refused here, by an estimate of the tree's depth that is never
//!   too small. Chains of AND and OR do not count: they are balanced after parsing ([`super::balance`]).

mod asof;
mod system_time;
mod within;

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::Result;
use crate::text::SourceText;

use super::tokens::too_deep;

/// Functions in FROM whose first argument may be written `TABLE t`.
const WINDOW_FUNCTIONS: [&str; 4] = ["TUMBLE", "HOP", "CUMULATE", "SESSION"];

/// Depth of the tree of a statement. Planning in a debug build takes about 7 kB of stack for each level, and 100 kB for
/// each query in another's FROM: on the 8 MB that a server thread has, all limits together leave room.
const DEPTH_MAX: usize = 150;
/// Parentheses inside each other: the parser takes more for these.
const PARENTHESES_MAX: usize = 40;
/// Subqueries inside each other in expressions: the optimizer's work doubles with each.
const SUBQUERIES_MAX: usize = 12;
/// Terms of one chain of AND and OR, which is deep until it is balanced.
const TERMS_MAX: usize = 2000;

pub fn rewrite(tokens: Vec<TokenWithSpan>, text: &SourceText) -> Result<Vec<TokenWithSpan>> {
    refuse_deep_trees(&tokens, text)?;
    let tokens = partitions_as_keys(without_idle_words(tokens));
    let tokens = system_time::as_calls(watermarks_as_calls(tokens));
    let tokens = asof::as_conditions(within::as_calls(tokens));
    Ok(stars_as_names(tokens))
}

/// What is known of one level of parentheses.
#[derive(Default)]
struct Level {
    /// Operators in the operand being read, and the depth of the deepest parenthesis in it.
    operators: usize,
    nested: usize,
    /// The depth of the deepest operand so far.
    deepest: usize,
    /// AND and OR, and set operations and joins.
    terms: usize,
    sets: usize,
    /// Not right after FROM and the like.
    in_expression: bool,
    /// A query inside an expression.
    subquery: bool,
}

impl Level {
    fn finish_operand(&mut self) {
        self.deepest = self.depth_of_operands();
        self.operators = 0;
        self.nested = 0;
    }

    fn depth_of_operands(&self) -> usize {
        self.deepest.max(self.operators + self.nested)
    }

    fn depth(&self) -> usize {
        self.depth_of_operands() + 2 * (self.terms + 1).ilog2() as usize + self.sets + 1
    }
}

/// What a token does to the tree.
enum Effect {
    Open,
    Close,
    /// Ends an operand, and makes nothing deeper.
    Separate,
    /// Joins two operands in a way that can be balanced.
    Term,
    /// Puts everything so far one level down.
    Set,
    Operator,
    Nothing,
}

fn refuse_deep_trees(tokens: &[TokenWithSpan], text: &SourceText) -> Result<()> {
    let mut levels = vec![Level::default()];
    let mut previous = String::new();
    for token in tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))) {
        let word = match &token.token {
            Token::Word(Word {
                value,
                quote_style: None,
                ..
            }) => value.to_ascii_uppercase(),
            other => other.to_string(),
        };
        let depth = levels.len();
        let level = levels.last_mut().expect("the outermost level is never taken off");
        match effect(&token.token) {
            Effect::Open => {
                // A call, a cast or an index may follow another: `x[1][1]`.
                level.operators += 1;
                let in_expression = !["FROM", "JOIN", "LATERAL", "AS", "UNION"].contains(&previous.as_str());
                levels.push(Level {
                    in_expression,
                    ..Level::default()
                });
            }
            Effect::Close if depth > 1 => {
                let inner = levels.pop().map_or(0, |inner| inner.depth());
                let outer = levels.last_mut().expect("there was more than one level");
                outer.nested = outer.nested.max(inner);
            }
            Effect::Separate => level.finish_operand(),
            Effect::Term => {
                level.finish_operand();
                level.terms += 1;
            }
            Effect::Set => {
                level.finish_operand();
                level.sets += 1;
            }
            Effect::Operator => level.operators += 1,
            Effect::Close | Effect::Nothing => {}
        }
        let level = levels.last_mut().expect("the outermost level is never taken off");
        level.subquery |= word == "SELECT" && level.in_expression;
        previous = word;
        let level = levels.last().expect("the outermost level is never taken off");
        let subqueries = levels.iter().filter(|level| level.subquery).count();
        if subqueries > SUBQUERIES_MAX
            || levels.len() > PARENTHESES_MAX
            || level.depth() > DEPTH_MAX
            || level.terms > TERMS_MAX
        {
            return Err(too_deep().or_position(text.position(token.span.start)));
        }
    }
    Ok(())
}

fn effect(token: &Token) -> Effect {
    match token {
        Token::LParen | Token::LBracket => Effect::Open,
        Token::RParen | Token::RBracket => Effect::Close,
        Token::Comma => Effect::Separate,
        Token::Word(Word {
            value,
            quote_style: None,
            ..
        }) => match value.to_ascii_uppercase().as_str() {
            "CASE" => Effect::Open,
            "END" => Effect::Close,
            "AND" | "OR" => Effect::Term,
            "UNION" | "EXCEPT" | "INTERSECT" | "JOIN" => Effect::Set,
            "SELECT" | "FROM" | "WHERE" | "GROUP" | "HAVING" | "ORDER" | "LIMIT" | "OFFSET" | "ON"
            | "WHEN" | "THEN" | "ELSE" | "VALUES" | "AS" | "BY" | "WITH" => Effect::Separate,
            "NOT" | "IS" | "ISNULL" | "NOTNULL" | "LIKE" | "ILIKE" | "SIMILAR" | "BETWEEN" | "IN" | "AT"
            | "COLLATE" | "OPERATOR" | "INTERVAL" | "ANY" | "ALL" | "EXISTS" => Effect::Operator,
            _ => Effect::Nothing,
        },
        Token::Word(_)
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::Whitespace(_)
        | Token::SemiColon
        | Token::Placeholder(_)
        | Token::Period
        | Token::EOF => Effect::Nothing,
        _ => Effect::Operator,
    }
}

/// Places of the tokens that are not blanks or comments.
fn solid(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let is_solid = |place: &usize| !matches!(tokens[*place].token, Token::Whitespace(_));
    (0..tokens.len()).filter(is_solid).collect()
}

/// Whether a token is this word, in any case and without quotes.
fn is_word(token: Option<&Token>, expected: &str) -> bool {
    matches!(token, Some(Token::Word(word))
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

/// Without the `TABLE` of window functions, and the `FROM` of a trim of spaces.
fn without_idle_words(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid = solid(&tokens);
    let token = |n: usize| solid.get(n).map(|i| &tokens[*i].token);
    let is = |n: usize, word: &str| is_word(token(n), word);
    let is_one_of = |n: usize, words: &[&str]| words.iter().any(|word| is(n, word));
    let mut remove = Vec::new();
    for (n, place) in solid.iter().enumerate().skip(2) {
        let trims = is(n, "FROM") && is_one_of(n - 1, &["LEADING", "TRAILING", "BOTH"]);
        if trims && token(n - 2) == Some(&Token::LParen) {
            remove.push(*place);
        }
        if !is(n, "TABLE") || !matches!(token(n + 1), Some(Token::Word(_))) {
            continue;
        }
        let first_argument = token(n - 1) == Some(&Token::LParen) && is_one_of(n - 2, &WINDOW_FUNCTIONS);
        let named_argument = token(n - 1) == Some(&Token::RArrow);
        if first_argument || named_argument {
            remove.push(*place);
        }
    }
    let mut index = 0;
    let mut tokens = tokens;
    tokens.retain(|_| {
        index += 1;
        remove.binary_search(&(index - 1)).is_err()
    });
    tokens
}

/// `(row).*` with the star as a quoted name.
fn stars_as_names(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid = solid(&tokens);
    for places in solid.windows(3) {
        let [before, dot, star] = [0, 1, 2].map(|n| &tokens[places[n]].token);
        if (before, dot, star) == (&Token::RParen, &Token::Period, &Token::Mul) {
            tokens[places[2]].token = Token::make_word("*", Some('"'));
        }
    }
    tokens
}

/// `t PARTITION BY a, b, DESCRIPTOR(..)` as the first arguments of SESSION: `t, key => (a, b), DESCRIPTOR(..)`.
fn partitions_as_keys(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid = solid(&tokens);
    for (n, place) in solid.iter().copied().enumerate().rev() {
        let by = solid
            .get(n + 1)
            .copied()
            .filter(|by| is_word(Some(&tokens[*by].token), "BY"));
        let Some(by) = by.filter(|_| is_word(Some(&tokens[place].token), "PARTITION")) else {
            continue;
        };
        let opening = solid[..n].iter().rposition(|i| tokens[*i].token == Token::LParen);
        let is_session = opening
            .filter(|opening| *opening > 0)
            .is_some_and(|opening| is_word(Some(&tokens[solid[opening - 1]].token), "SESSION"));
        let end = solid[n..].windows(2).find(|pair| {
            tokens[pair[0]].token == Token::Comma && is_word(Some(&tokens[pair[1]].token), "DESCRIPTOR")
        });
        let Some(comma) = end.map(|pair| pair[0]).filter(|_| is_session) else {
            continue;
        };
        let at = |token: Token, like: &TokenWithSpan| TokenWithSpan {
            token,
            span: like.span,
        };
        let (partition, close) = (tokens[place].clone(), tokens[comma].clone());
        tokens.insert(comma, at(Token::RParen, &close));
        tokens[by] = at(Token::LParen, &partition);
        tokens[place] = at(Token::RArrow, &partition);
        tokens.insert(place, at(Token::make_word("key", None), &partition));
        tokens.insert(place, at(Token::Comma, &partition));
    }
    tokens
}

/// `t WATERMARK ts DELAY OF INTERVAL '1 minute'` as a call: `watermark(t, ts, INTERVAL '1 minute')`.
fn watermarks_as_calls(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid = solid(&tokens);
    // From the end, so that places before stay where they are.
    for n in (1..solid.len()).rev() {
        let is = |at: usize, word: &str| is_word(solid.get(at).map(|place| &tokens[*place].token), word);
        if !(is(n, "WATERMARK") && is(n + 2, "DELAY") && is(n + 3, "OF")) {
            continue;
        }
        let is_name = |at: usize| matches!(tokens[solid[at]].token, Token::Word(_));
        let mut first = n - 1;
        while first >= 2 && tokens[solid[first - 1]].token == Token::Period && is_name(first - 2) {
            first -= 2;
        }
        let Some(last) = duration_end(&tokens, &solid, n + 4).filter(|_| is_name(n - 1)) else {
            continue;
        };
        let at = |token: Token, place: usize| TokenWithSpan {
            token,
            span: tokens[place].span,
        };
        let (close, comma) = (at(Token::RParen, solid[last]), at(Token::Comma, solid[n]));
        let (call, open) = (
            at(Token::make_word("watermark", None), solid[first]),
            at(Token::LParen, solid[first]),
        );
        tokens.insert(solid[last] + 1, close);
        tokens[solid[n + 2]] = comma.clone();
        tokens.remove(solid[n + 3]);
        tokens[solid[n]] = comma;
        tokens.splice(solid[first]..solid[first], [call, open]);
    }
    tokens
}

/// The last token of a duration that begins at `first`: `INTERVAL '1 minute'`, `INTERVAL 1 MINUTE` or `'1 minute'`.
fn duration_end(tokens: &[TokenWithSpan], solid: &[usize], first: usize) -> Option<usize> {
    const UNITS: [&str; 7] = [
        "MICROSECOND",
        "MILLISECOND",
        "SECOND",
        "MINUTE",
        "HOUR",
        "DAY",
        "WEEK",
    ];
    let token = |n: usize| solid.get(n).map(|i| &tokens[*i].token);
    let is_value = |n: usize| matches!(token(n), Some(Token::SingleQuotedString(_) | Token::Number(..)));
    let is_word = |n: usize, test: &dyn Fn(&str) -> bool| matches!(token(n), Some(Token::Word(word)) if word.quote_style.is_none() && test(&word.value.to_ascii_uppercase()));
    let value = if is_word(first, &|word| word == "INTERVAL") {
        first + 1
    } else {
        first
    };
    if !is_value(value) {
        return None;
    }
    let has_unit = is_word(value + 1, &|word| UNITS.contains(&word.trim_end_matches('S')));
    Some(value + usize::from(has_unit))
}
