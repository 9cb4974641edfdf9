//! From words to a tree. One kind of sentence, one file; this one reads words and remembers what was expected.

mod action;
mod expression;
pub(super) mod habits;
mod header;
mod message;
mod statement;

use super::diagnostic::{listed, meant, Diagnostic};
use super::lexer::{tokens, Quotes, Token, Tokens};
use super::source::{Source, Span};
use super::tree::{Name, Statement, StatementId, Tree};

pub(super) type Parsed<T> = Result<T, Diagnostic>;

/// The tree of a program whose names are not resolved, and warnings.
///
/// # Errors
/// The first word that does not fit, with what was expected.
pub fn parse(source: &Source) -> Parsed<(Tree, Vec<Diagnostic>)> {
    let attempt = |quotes| {
        let (tokens, warnings) = tokens(source, quotes)?;
        let mut parser = Parser { tokens, at: 0, expected: Vec::new(), depth: 0, tree: Tree::default() };
        parser.program()?;
        Ok((parser.tree, warnings))
    };
    // A closing quotation mark that is forgotten is forgiven where the rest then makes a program.
    attempt(Quotes::Closed).or_else(|error| attempt(Quotes::Forgotten).map_err(|_: Diagnostic| error))
}

/// How deeply expressions and statements may stand within each other.
const DEPTH: u32 = 100;

struct Parser {
    tokens: Tokens,
    at: usize,
    /// What would have fitted at this place.
    expected: Vec<String>,
    depth: u32,
    tree: Tree,
}

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.at].0
    }

    /// The token so many further, or the end.
    fn ahead(&self, count: usize) -> &Token {
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The place of the last word that was read.
    fn before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    fn advance(&mut self) {
        self.expected.clear();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn expects(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.expected.contains(&what) {
            self.expected.push(what);
        }
    }

    fn sees(&self, word: &str) -> bool {
        matches!(self.token(), Token::Reserved(met) if *met == word)
    }

    /// Reads a reserved word if it is there.
    fn word(&mut self, word: &'static str) -> bool {
        let there = self.sees(word);
        if there {
            self.advance();
        } else {
            self.expects(format!("`{word}`"));
        }
        there
    }

    /// Reads several reserved words if the first is there; the others must follow.
    fn words(&mut self, words: &[&'static str]) -> Parsed<bool> {
        let Some((first, rest)) = words.split_first() else { return Ok(true) };
        if !self.word(first) {
            return Ok(false);
        }
        for word in rest {
            self.must(word)?;
        }
        Ok(true)
    }

    fn must(&mut self, word: &'static str) -> Parsed<()> {
        if self.word(word) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn symbol(&mut self, symbol: &'static str) -> bool {
        let there = self.sees_symbol(symbol);
        if there {
            self.advance();
        } else {
            self.expects(format!("`{symbol}`"));
        }
        there
    }

    fn sees_symbol(&self, symbol: &str) -> bool {
        matches!(self.token(), Token::Symbol(met) if *met == symbol)
    }

    fn must_symbol(&mut self, symbol: &'static str) -> Parsed<()> {
        if self.symbol(symbol) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Reads one of some reserved words; its place among them.
    fn one_of(&mut self, words: impl IntoIterator<Item = &'static str>) -> Option<usize> {
        words.into_iter().position(|word| self.word(word))
    }

    fn text(&mut self, what: &'static str) -> Parsed<(String, Span)> {
        let span = self.span();
        match self.token().clone() {
            Token::Text(text) => {
                self.advance();
                Ok((text, span))
            }
            _ => {
                self.expects(format!("{what} in quotation marks"));
                Err(self.unexpected())
            }
        }
    }

    fn name(&mut self, what: &'static str) -> Parsed<Name> {
        match self.maybe_name(what) {
            Some(name) => Ok(name),
            None => Err(self.unexpected()),
        }
    }

    fn maybe_name(&mut self, what: &'static str) -> Option<Name> {
        let span = self.span();
        match self.token().clone() {
            Token::Name(text) => {
                self.advance();
                Some(Name { text, span, slot: u32::MAX })
            }
            _ => {
                self.expects(what);
                None
            }
        }
    }

    fn push(&mut self, statement: Statement) -> StatementId {
        self.tree.statements.push(statement);
        self.tree.statements.len() as StatementId - 1
    }

    /// One level further in; so that no program can exhaust the stack.
    fn deeper<T>(&mut self, body: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH {
            let message = format!("more than {DEPTH} levels within each other");
            return Err(Diagnostic::new(self.span(), message, "give the inner ones names with `let`"));
        }
        self.depth += 1;
        let done = body(self);
        self.depth -= 1;
        done
    }

    /// The word at hand does not fit.
    fn unexpected(&mut self) -> Diagnostic {
        let found = match self.token() {
            Token::Reserved(_) | Token::Name(_) => format!("`{}`", self.met()),
            Token::Number(number) => format!("the number {number}"),
            Token::Text(_) => "a string".into(),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end of the program".into(),
        };
        let names: Vec<&str> = self.expected.iter().map(String::as_str).collect();
        let quoted = self.expected.iter().filter_map(|name| name.strip_prefix('`')?.strip_suffix('`'));
        let help = match self.token() {
            Token::Name(met) => habits::said(met, &self.expected)
                .or_else(|| meant(met, quoted).map(|name| format!("did you mean `{name}`?"))),
            Token::Reserved(_) if names.iter().any(|name| name.contains("name")) => {
                habits::said(&self.met(), &self.expected)
                    .or_else(|| Some(format!("`{}` is a word of the language, not a name", self.met())))
            }
            Token::Reserved(met) | Token::Symbol(met) => habits::said(met, &self.expected),
            _ => None,
        };
        let span = self.span();
        // An end has no width: the last word is shown.
        Diagnostic::new(span, format!("{found} does not fit here"), format!("expected {}", listed(&names)))
            .helped(help)
    }

    /// The word at hand as a message names it.
    fn met(&self) -> String {
        match self.token() {
            Token::Reserved(word) => (*word).to_string(),
            Token::Name(name) => name.clone(),
            _ => String::new(),
        }
    }
}
