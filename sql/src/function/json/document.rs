//! A JSON document that refers to its text, so that numbers keep all of their digits.

/// A value, with its text as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a>(&'a str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Scalar,
    Text,
    Array,
    Object,
}

impl<'a> Document<'a> {
    /// `None` for a text that is not one JSON value.
    pub fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
        Some(Self(text.trim_matches(is_blank)))
    }

    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::Text,
            Some(b'n') => Kind::Null,
            _ => Kind::Scalar,
        }
    }

    pub fn written(self) -> &'a str {
        self.0
    }

    /// The content of a text, the document as written of anything else.
    pub fn content(self) -> String {
        serde_json::from_str(self.0).unwrap_or_else(|_| self.0.to_owned())
    }

    /// Elements of an array; none of anything else.
    pub fn elements(self) -> Vec<Document<'a>> {
        match self.kind() {
            Kind::Array => self.parts(b",").into_iter().map(Document).collect(),
            _ => Vec::new(),
        }
    }

    /// Names and values of an object; none of anything else.
    pub fn members(self) -> Vec<(String, Document<'a>)> {
        if self.kind() != Kind::Object {
            return Vec::new();
        }
        let parts = self.parts(b",:");
        let members = parts.chunks_exact(2);
        members
            .map(|member| (Document(member[0]).content(), Document(member[1])))
            .collect()
    }

    /// What stands between the outermost brackets, cut at those of the `separators` that are not within something.
    fn parts(self, separators: &[u8]) -> Vec<&'a str> {
        let inner = self.0[1..self.0.len() - 1].trim_matches(is_blank);
        if inner.is_empty() {
            return Vec::new();
        }
        let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
        let (mut in_text, mut escaped) = (false, false);
        for (at, byte) in inner.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ if depth == 0 && separators.contains(&byte) => {
                    parts.push(inner[start..at].trim_matches(is_blank));
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(inner[start..].trim_matches(is_blank));
        parts
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_keep_their_text() {
        let text = r#" {"a": 12.500, "b" : [1, "x,]\"", {"c": null}], "a": 1e400, "\u0064": ""} "#;
        let document = Document::parse(text).unwrap();
        let members = document.members();
        let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a", "d"]);
        assert_eq!(members[0].1.written(), "12.500");
        assert_eq!(members[3].1.content(), "");
        let elements = members[1].1.elements();
        assert_eq!(elements.len(), 3);
        assert_eq!(elements[1].content(), "x,]\"");
        assert_eq!(elements[2].members()[0].1.kind(), Kind::Null);
        assert_eq!(Document::parse("[ ]").unwrap().elements(), []);
        for broken in ["", "{", "[1,]", "{\"a\"}", "1 2", "nul"] {
            assert_eq!(Document::parse(broken), None, "{broken}");
        }
    }
}
