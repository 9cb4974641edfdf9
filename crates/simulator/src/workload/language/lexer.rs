//! From text to words.

use super::diagnostic::Diagnostic;
use super::parser::habits::said_of;
use super::source::{Source, Span};
use super::words::{reserved, takes_hyphen};

/// One word of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A reserved word, in the form that messages name.
    Reserved(&'static str),
    /// A name, in small letters.
    Name(String),
    /// A whole number.
    Number(i64),
    /// What stands between quotation marks.
    Text(String),
    /// Anything that is not made of letters.
    Symbol(&'static str),
    /// Behind the last word.
    End,
}

/// Words with their places.
pub type Tokens = Vec<(Token, Span)>;

/// Longer ones before those that they begin with.
const SYMBOLS: [&str; 27] = [
    "...", "**", "<=", ">=", "<>", "<<", ">>", "/\\", "\\/", ",", "{", "}", "[", "]", "(", ")", "+", "-",
    "*", "/", "=", "<", ">", "&", "|", ".", "~",
];

/// How the end of a string is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// At the quotation mark.
    Closed,
    /// Also before a line that begins with `}`: the last string of the paper's figure 6 is not closed.
    Forgotten,
}

/// The words of a text, each with its place, and the strings that were closed for the writer.
///
/// # Errors
/// A character that begins no word, a number that is none or too large, a string without an end.
pub fn tokens(source: &Source, quotes: Quotes) -> Result<(Tokens, Vec<Diagnostic>), Diagnostic> {
    let mut lexer = Lexer { text: &source.text, at: 0, quotes, found: Vec::new(), warnings: Vec::new() };
    while lexer.skip() {
        lexer.token()?;
    }
    let end = lexer.at as u32;
    lexer.found.push((Token::End, Span { start: end, end }));
    Ok((lexer.found, lexer.warnings))
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    quotes: Quotes,
    found: Tokens,
    warnings: Vec<Diagnostic>,
}

impl Lexer<'_> {
    /// Goes over spaces and comments; whether something follows.
    fn skip(&mut self) -> bool {
        loop {
            let rest = &self.text[self.at..];
            let spaces = rest.len() - rest.trim_start().len();
            self.at += spaces;
            if !rest[spaces..].starts_with('#') {
                return spaces < rest.len();
            }
            self.at += rest[spaces..].find('\n').unwrap_or(rest.len() - spaces);
        }
    }

    fn token(&mut self) -> Result<(), Diagnostic> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().unwrap_or_default();
        if first.is_ascii_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.word(length);
            return Ok(());
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '"' {
            return self.string();
        }
        match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => {
                self.push(Token::Symbol(symbol), symbol.len());
                Ok(())
            }
            None => Err(Diagnostic::new(
                self.span(first.len_utf8()),
                format!("the character {first:?} has no meaning here"),
                "expected a word, a number, a string or an operator",
            )
            .helped(said_of(first))),
        }
    }

    fn span(&self, length: usize) -> Span {
        Span { start: self.at as u32, end: (self.at + length) as u32 }
    }

    fn push(&mut self, token: Token, length: usize) {
        self.found.push((token, self.span(length)));
        self.at += length;
    }

    fn word(&mut self, length: usize) {
        let word = self.text[self.at..self.at + length].to_ascii_lowercase();
        match reserved(&word) {
            // `bits(…)` is a function.
            Some("bits") if self.text[self.at + length..].trim_start().starts_with('(') => {
                self.push(Token::Name(word), length);
            }
            Some(known) => {
                let hyphen = matches!(self.found.last(), Some((Token::Symbol("-"), _)));
                if hyphen && takes_hyphen(known) {
                    self.found.pop();
                }
                self.push(Token::Reserved(known), length);
            }
            None => self.push(Token::Name(word), length),
        }
    }

    /// Digits, with K, M, G or T for powers of 1024, or E and a power of ten.
    fn number(&mut self) -> Result<(), Diagnostic> {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest[..length].to_ascii_lowercase();
        let (digits, suffix) = word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap_or(length));
        let factor = match suffix.split_at_checked(1) {
            None => Some(1),
            Some(("k", "")) => Some(1 << 10),
            Some(("m", "")) => Some(1 << 20),
            Some(("g", "")) => Some(1 << 30),
            Some(("t", "")) => Some(1 << 40),
            Some(("e", power)) if !power.is_empty() && power.bytes().all(|b| b.is_ascii_digit()) => {
                power.parse().ok().and_then(|power| 10i64.checked_pow(power))
            }
            Some(_) => {
                return Err(Diagnostic::new(
                    self.span(length),
                    format!("`{}` is no number", &rest[..length]),
                    "expected digits, then K, M, G or T (powers of 1024), or E and a power of ten",
                ))
            }
        };
        if rest[length..].starts_with('.') && rest[length + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            let fraction = rest[length + 1..].find(|c: char| !c.is_ascii_digit());
            return Err(Diagnostic::new(
                self.span(length + 1 + fraction.unwrap_or(rest.len() - length - 1)),
                "a number with a fraction",
                "expected a whole number; take a smaller unit, or divide",
            ));
        }
        let number: Option<i64> = digits.parse().ok();
        match number.zip(factor).and_then(|(number, factor)| number.checked_mul(factor)) {
            Some(number) => {
                self.push(Token::Number(number), length);
                Ok(())
            }
            None => Err(Diagnostic::new(
                self.span(length),
                format!("the number `{}` is too large", &rest[..length]),
                format!("accepted are numbers up to {}", i64::MAX),
            )),
        }
    }

    /// Between quotation marks: \n, \" and \\ mean what they mean in C, a \ before the end of a line joins lines.
    fn string(&mut self) -> Result<(), Diagnostic> {
        let rest = &self.text[self.at..];
        let mut content = String::new();
        let mut characters = rest.char_indices().skip(1);
        while let Some((place, character)) = characters.next() {
            match character {
                '"' => {
                    self.push(Token::Text(content), place + 1);
                    return Ok(());
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => content.push('\n'),
                    Some((_, '\n')) | None => {}
                    Some((_, other)) => content.push(other),
                },
                '\n' if self.quotes == Quotes::Forgotten
                    && rest[place..].trim_start().starts_with('}')
                    && !content.contains('{') =>
                {
                    let start = self.at as u32;
                    self.push(Token::Text(content), place);
                    self.warnings.push(Diagnostic::new(
                        Span { start, end: start + 1 },
                        "this string is not closed",
                        "taken to end before the line that begins with `}`",
                    ));
                    return Ok(());
                }
                _ => content.push(character),
            }
        }
        Err(Diagnostic::new(self.span(1), "this string is not closed", "expected `\"` at its end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Token> {
        let source = Source { name: "test".into(), text: text.into() };
        let (found, _) = tokens(&source, Quotes::Closed).unwrap();
        found.into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn numbers_have_multipliers() {
        assert_eq!(
            words("14413K 8m 2G 1T 5E6 7"),
            [14413 << 10, 8 << 20, 2 << 30, 1 << 40, 5_000_000, 7]
                .map(Token::Number)
                .into_iter()
                .chain([Token::End])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_hyphen_before_a_unit_is_a_space_and_comments_are_nothing() {
        assert_eq!(words("A 64K-BYTE message # - x\n"), words("an 64k bytes messages"));
        assert_eq!(words("x-y").len(), 4);
        assert_eq!(words("bits(8)-word")[0], Token::Name("bits".into()));
    }

    #[test]
    fn strings_go_over_lines() {
        assert_eq!(words("\"a \\\"b\\\"\n c\\\n d\"")[0], Token::Text("a \"b\"\n c d".into()));
    }
}
