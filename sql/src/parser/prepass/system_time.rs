//! `t FOR SYSTEM_TIME AS OF s.proctime` in FROM, which the library's parser does not take in this dialect, as a call:
//! `lookup(t, 's.proctime')`. What the time is can be told only when both sides of the join are known, so it goes as text.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{is_word, solid};

pub fn as_calls(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid = solid(&tokens);
    // From the end, so that places before stay where they are.
    for n in (1..solid.len()).rev() {
        let token = |at: usize| solid.get(at).map(|place| &tokens[*place].token);
        let is = |at: usize, word: &str| is_word(token(at), word);
        let is_name = |at: usize| matches!(token(at), Some(Token::Word(_)));
        let is_period = |at: usize| token(at) == Some(&Token::Period);
        if !(is(n, "FOR") && is(n + 1, "SYSTEM_TIME") && is(n + 2, "AS") && is(n + 3, "OF")) {
            continue;
        }
        if !(is_name(n - 1) && is_name(n + 4)) {
            continue;
        }
        let mut first = n - 1;
        while first >= 2 && is_period(first - 1) && is_name(first - 2) {
            first -= 2;
        }
        let mut last = n + 4;
        while is_period(last + 1) && is_name(last + 2) {
            last += 2;
        }
        if token(last + 1) == Some(&Token::LParen) && token(last + 2) == Some(&Token::RParen) {
            last += 2;
        }
        let time: String = solid[n + 4..=last]
            .iter()
            .map(|place| text(&tokens[*place].token))
            .collect();
        let span = tokens[solid[n]].span;
        let call = [Token::Comma, Token::SingleQuotedString(time), Token::RParen];
        let call = call.map(|token| TokenWithSpan { token, span });
        tokens.splice(solid[n]..=solid[last], call);
        let open = [Token::make_word("lookup", None), Token::LParen];
        let open = open.map(|token| TokenWithSpan { token, span });
        tokens.splice(solid[first]..solid[first], open);
    }
    tokens
}

/// Names are folded as the planner folds them.
fn text(token: &Token) -> String {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
        Token::Word(word) => word.value.clone(),
        other => other.to_string(),
    }
}
