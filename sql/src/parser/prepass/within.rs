//! `WITHIN`, which the library's parser knows in aggregates only:
//!
//! - `SELECT DISTINCT ON (k) .. WITHIN WATERMARK` and `.. WITHIN INTERVAL '1 hour'`: the time becomes one more key,
//!   `dedup_within(..)`, which the planner knows.
//! - `a JOIN b WITHIN INTERVAL '1 hour' ON ..`: the time becomes a condition, `ON join_within(INTERVAL '1 hour') AND ..`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::function::Marker;

use super::{duration_end, is_word, solid};

/// A `WITHIN` that was found; all numbers are places among the tokens.
struct Within {
    /// The words that say it.
    words: (usize, usize),
    /// What is said, without `WITHIN`.
    duration: Vec<Token>,
    place: Place,
}

enum Place {
    /// Behind this `ON`, with `AND` behind it.
    Condition(usize),
    /// Before this parenthesis, behind other keys.
    Keys(usize),
}

pub fn as_calls(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // From the end, so that places before stay where they are.
    for within in find(&tokens).into_iter().rev() {
        let span = tokens[within.words.0].span;
        let tokens_end = tokens[within.words.1].span.end;
        let name = match within.place {
            Place::Condition(_) => Marker::JOIN_WITHIN,
            Place::Keys(_) => Marker::DEDUP_WITHIN,
        };
        let mut call = vec![Token::make_word(name, None), Token::LParen];
        if matches!(within.duration.first(), Some(Token::Number(..))) {
            call.push(Token::make_keyword("INTERVAL"));
        }
        call.extend(within.duration);
        call.push(Token::RParen);
        // The text of the query goes as far as its last token.
        let before = tokens[..within.words.0].iter_mut().rev();
        let last = { before }.find(|token| !matches!(token.token, Token::Whitespace(_)));
        if let Some(last) = last {
            last.span.end = tokens_end;
        }
        let blanks = (within.words.0..=within.words.1).map(|place| (place, Vec::new()));
        let (place, replacement) = match within.place {
            Place::Condition(on) => {
                call.push(Token::make_keyword("AND"));
                call.insert(0, tokens[on].token.clone());
                (on, call)
            }
            Place::Keys(close) => {
                call.insert(0, Token::Comma);
                call.push(Token::RParen);
                (close, call)
            }
        };
        let mut edits: Vec<(usize, Vec<Token>)> = blanks.chain([(place, replacement)]).collect();
        edits.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        for (place, replacement) in edits {
            let replacement = replacement.into_iter().map(|token| TokenWithSpan { token, span });
            tokens.splice(place..=place, replacement);
        }
    }
    tokens
}

fn find(tokens: &[TokenWithSpan]) -> Vec<Within> {
    let solid = solid(tokens);
    let is = |n: usize, word: &str| is_word(solid.get(n).map(|place| &tokens[*place].token), word);
    // Per level of parentheses: where the keys of its DISTINCT ON end. The keys themselves are a level.
    let mut levels: Vec<(Option<usize>, bool)> = vec![(None, false)];
    let mut found = Vec::new();
    for n in 0..solid.len() {
        match tokens[solid[n]].token {
            Token::LParen => {
                let keys = n >= 2 && is(n - 2, "DISTINCT") && is(n - 1, "ON");
                levels.push((None, keys));
                continue;
            }
            Token::RParen if levels.len() > 1 => {
                let keys = levels.pop().is_some_and(|(_, keys)| keys);
                if let Some((end, _)) = levels.last_mut().filter(|_| keys) {
                    *end = Some(solid[n]);
                }
                continue;
            }
            _ => {}
        }
        let keys = levels.last().and_then(|(end, _)| *end);
        if !is(n, "WITHIN") {
            continue;
        }
        if is(n + 1, "WATERMARK") {
            found.extend(keys.map(|close| Within {
                words: (solid[n], solid[n + 1]),
                duration: vec![Token::make_keyword("NULL")],
                place: Place::Keys(close),
            }));
            continue;
        }
        let Some(last) = duration_end(tokens, &solid, n + 1) else {
            continue;
        };
        let place = match is(last + 1, "ON") {
            true => Some(Place::Condition(solid[last + 1])),
            false => keys.map(Place::Keys),
        };
        let duration = solid[n + 1..=last].iter().map(|i| tokens[*i].token.clone());
        found.extend(place.map(|place| Within {
            words: (solid[n], solid[last]),
            duration: duration.collect(),
            place,
        }));
    }
    found
}
