//! `ASOF JOIN`, in the spellings that there are, as a join with `asof_join(..)` in its condition, which the planner knows:
//!
//! - `a ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k`: `a JOIN b ON asof_join(a.ts >= b.ts) AND a.k = b.k`.
//! - `a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts`: `a JOIN b ON asof_join() AND a.k = b.k AND a.ts >= b.ts`.
//!
//! `LEFT` stands before `ASOF` or behind it.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::function::Marker;

use super::{is_word, solid};

/// An ASOF join; all numbers are places among the tokens.
struct Asof {
    word: usize,
    /// From `MATCH_CONDITION` to its closing parenthesis.
    condition: Option<(usize, usize)>,
    on: Option<usize>,
}

pub fn as_conditions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // From the end, so that places before stay where they are.
    for asof in find(&tokens).into_iter().rev() {
        let span = tokens[asof
            .on
            .or(asof.condition.map(|(first, _)| first))
            .unwrap_or(asof.word)]
        .span;
        let mut call = vec![
            Token::make_keyword("ON"),
            Token::make_word(Marker::ASOF_JOIN, None),
        ];
        match asof.condition {
            Some((first, last)) => {
                let inner = tokens[first + 1..=last].iter().map(|token| token.token.clone());
                call.extend(inner);
            }
            None => call.extend([Token::LParen, Token::RParen]),
        }
        let call = |and: bool| {
            let and = and.then(|| Token::make_keyword("AND"));
            let tokens = call.iter().cloned().chain(and);
            tokens
                .map(|token| TokenWithSpan { token, span })
                .collect::<Vec<_>>()
        };
        match (asof.condition, asof.on) {
            (Some((first, last)), Some(on)) => {
                tokens.splice(on..=on, call(true));
                tokens.drain(first..=last);
            }
            (Some((first, last)), None) => drop(tokens.splice(first..=last, call(false))),
            (None, Some(on)) => drop(tokens.splice(on..=on, call(true))),
            (None, None) => continue,
        }
        tokens.remove(asof.word);
    }
    tokens
}

fn find(tokens: &[TokenWithSpan]) -> Vec<Asof> {
    let solid = solid(tokens);
    let is = |n: usize, word: &str| is_word(solid.get(n).map(|place| &tokens[*place].token), word);
    let mut found = Vec::new();
    for n in 0..solid.len() {
        let joins = is(n + 1, "JOIN") || (is(n + 2, "JOIN") && (is(n + 1, "LEFT") || is(n + 1, "INNER")));
        let joins = joins || (is(n + 1, "LEFT") && is(n + 2, "OUTER") && is(n + 3, "JOIN"));
        if !is(n, "ASOF") || !joins || (n > 0 && is(n - 1, "AS")) {
            continue;
        }
        let mut asof = Asof {
            word: solid[n],
            condition: None,
            on: None,
        };
        let (mut depth, mut at) = (0, n + 1);
        while let Some(place) = solid.get(at) {
            match tokens[*place].token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                Token::SemiColon => break,
                _ => {}
            }
            if depth == 0 && is(at, "MATCH_CONDITION") && asof.condition.is_none() {
                let Some(close) = closing(tokens, &solid, at + 1) else {
                    break;
                };
                asof.condition = Some((*place, solid[close]));
                at = close;
                if !is(close + 1, "ON") {
                    break;
                }
            } else if depth == 0 && is(at, "ON") {
                asof.on = Some(*place);
                break;
            } else if depth == 0 && at > n + 3 && is(at, "JOIN") {
                break;
            }
            at += 1;
        }
        found.push(asof);
    }
    found
}

/// The place of the parenthesis that closes the one at `open`.
fn closing(tokens: &[TokenWithSpan], solid: &[usize], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, place) in solid.iter().enumerate().skip(open) {
        match tokens[*place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at > open).then_some(at);
        }
    }
    None
}
