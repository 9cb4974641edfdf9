//! The text of a program, and places in it.

/// A part of the text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Where it begins.
    pub start: u32,
    /// Where it has ended.
    pub end: u32,
}

impl Span {
    /// From the beginning of this to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

/// A program's text under the name that messages call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Mostly the path of a file.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// Line and column of a place, both counted from 1, columns in characters.
    pub fn place(&self, offset: u32) -> (usize, usize) {
        let before = &self.text[..self.floor(offset)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }

    /// The text of a line, counted from 1, without its end.
    pub fn line(&self, number: usize) -> &str {
        self.text.split('\n').nth(number - 1).unwrap_or("").trim_end_matches('\r')
    }

    /// What stands in a span.
    pub fn words(&self, span: Span) -> &str {
        &self.text[self.floor(span.start)..self.floor(span.end)]
    }

    /// The place itself, or the beginning of the character that it lies in.
    fn floor(&self, offset: u32) -> usize {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}
