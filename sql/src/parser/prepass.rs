//! A pass over the tokens of a statement before it is parsed, for the two things the library cannot do by itself.
//!
//! - `TUMBLE(TABLE t, ..)`: the word `TABLE` inside a window call is taken out.
//! - A chain such as `a OR b OR c ..` makes a tree as deep as it is long without the parser noticing. Chains that would
//!   overflow the stack later are refused here.

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::Result;
use crate::text::SourceText;

use super::tokens::too_deep;

/// Functions in FROM whose first argument may be written `TABLE t`.
const WINDOW_FUNCTIONS: [&str; 4] = ["TUMBLE", "HOP", "CUMULATE", "SESSION"];

/// Operators in one list item at one level of parentheses.
const CHAIN_MAX: usize = 1000;

pub fn rewrite(tokens: Vec<TokenWithSpan>, text: &SourceText) -> Result<Vec<TokenWithSpan>> {
    refuse_long_chains(&tokens, text)?;
    Ok(without_table_words(tokens))
}

fn refuse_long_chains(tokens: &[TokenWithSpan], text: &SourceText) -> Result<()> {
    let mut chains = vec![0usize];
    for token in tokens {
        match &token.token {
            Token::LParen => chains.push(0),
            Token::RParen if chains.len() > 1 => {
                chains.pop();
            }
            Token::Comma => *chains.last_mut().expect("the outermost level is never taken off") = 0,
            other if makes_tree(other) => {
                let chain = chains.last_mut().expect("the outermost level is never taken off");
                *chain += 1;
                if *chain > CHAIN_MAX {
                    return Err(too_deep().or_position(text.position(token.span.start)));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tokens that can put a level on top of the tree so far.
fn makes_tree(token: &Token) -> bool {
    const WORDS: [&str; 16] = [
        "AND",
        "OR",
        "NOT",
        "IS",
        "LIKE",
        "ILIKE",
        "SIMILAR",
        "BETWEEN",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "JOIN",
        "AT",
        "COLLATE",
        "CASE",
        "IN",
    ];
    match token {
        Token::Word(Word {
            value,
            quote_style: None,
            ..
        }) => WORDS.iter().any(|w| w.eq_ignore_ascii_case(value)),
        Token::Word(_)
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::Whitespace(_)
        | Token::SemiColon
        | Token::Placeholder(_)
        | Token::Period
        | Token::EOF => false,
        _ => true,
    }
}

fn without_table_words(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid: Vec<usize> = (0..tokens.len())
        .filter(|i| !matches!(tokens[*i].token, Token::Whitespace(_)))
        .collect();
    let word = |n: usize| match solid.get(n).map(|i| &tokens[*i].token) {
        Some(Token::Word(Word {
            value,
            quote_style: None,
            ..
        })) => Some(value.to_ascii_uppercase()),
        _ => None,
    };
    let token = |n: usize| solid.get(n).map(|i| &tokens[*i].token);
    let mut remove = Vec::new();
    for n in 2..solid.len() {
        if word(n).as_deref() != Some("TABLE") || !matches!(token(n + 1), Some(Token::Word(_))) {
            continue;
        }
        let first_argument = token(n - 1) == Some(&Token::LParen)
            && word(n - 2).is_some_and(|w| WINDOW_FUNCTIONS.contains(&w.as_str()));
        let named_argument = token(n - 1) == Some(&Token::RArrow);
        if first_argument || named_argument {
            remove.push(solid[n]);
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
