//! Quotes: which line ends end a record, and what a quoted value is.

/// The characters that take the meaning from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoting {
    pub quote: u8,
    /// Equal to `quote` where quotes are doubled.
    pub escape: u8,
}

/// What a place in a file is inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuoteState {
    quoted: bool,
    /// Between quotes, behind an escape character that is not the quote.
    escaped: bool,
}

impl Quoting {
    /// The state behind `bytes`, which begin in `state`.
    pub fn skip(&self, state: &mut QuoteState, bytes: &[u8]) {
        self.line_ends(state, bytes, |_| true);
    }

    /// Calls `found` with the place behind each line end that ends a record, until it returns false; then `state` is that
    /// of the place behind that line end.
    fn line_ends(&self, state: &mut QuoteState, bytes: &[u8], mut found: impl FnMut(usize) -> bool) {
        let mut at = 0;
        while at < bytes.len() {
            if state.escaped {
                // Whatever follows an escape is the value's, whether the escape meant something or not.
                state.escaped = false;
                at += 1;
                continue;
            }
            let rest = &bytes[at..];
            let hit = match (state.quoted, self.escape == self.quote) {
                (false, _) => memchr::memchr2(self.quote, b'\n', rest),
                (true, true) => memchr::memchr(self.quote, rest),
                (true, false) => memchr::memchr2(self.quote, self.escape, rest),
            };
            let Some(hit) = hit else { return };
            let byte = rest[hit];
            at += hit + 1;
            if byte == b'\n' && !state.quoted {
                if !found(at) {
                    return;
                }
            } else if byte == self.quote {
                // A doubled quote leaves and enters again, with nothing in between.
                state.quoted = !state.quoted;
            } else {
                state.escaped = true;
            }
        }
    }

    /// The place behind the first line end that ends a record, if there is one; `state` goes there or to the end.
    pub fn first_end(&self, state: &mut QuoteState, bytes: &[u8]) -> Option<usize> {
        let mut first = None;
        self.line_ends(state, bytes, |end| {
            first = Some(end);
            false
        });
        first
    }

    /// The places behind the last record end that is not past `limit`, and behind the first one that is. `state` stops at
    /// the latter, or goes to the end.
    pub fn ends_around(
        &self,
        state: &mut QuoteState,
        bytes: &[u8],
        limit: usize,
    ) -> (Option<usize>, Option<usize>) {
        let (mut before, mut past) = (None, None);
        self.line_ends(state, bytes, |end| {
            if end > limit {
                past = Some(end);
                return false;
            }
            before = Some(end);
            true
        });
        (before, past)
    }

    /// The length of the quoted part that `bytes` begin with, with its quotes, as a reader finds it that looks at each
    /// quote on its own: a doubled quote ends one part and begins the next. `None` if it is not closed.
    pub fn quoted_length(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = 1;
        loop {
            let rest = bytes.get(at..)?;
            let hit = if self.escape == self.quote {
                memchr::memchr(self.quote, rest)
            } else {
                memchr::memchr2(self.quote, self.escape, rest)
            }?;
            at += hit + 1;
            if rest[hit] == self.quote {
                return Some(at);
            }
            // Over what is escaped.
            at += 1;
        }
    }

    /// Appends the value that `raw`, which may have quotes anywhere, stands for.
    pub fn unquote(&self, raw: &str, output: &mut String) {
        let (quote, escape) = (char::from(self.quote), char::from(self.escape));
        let mut quoted = false;
        let mut characters = raw.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            if quoted && character == escape && (next == Some(quote) || next == Some(escape)) {
                output.extend(characters.next());
            } else if character == quote {
                quoted = !quoted;
            } else {
                output.push(character);
            }
        }
    }
}
