//! How messages and data are described: how many, how large, how they lie in memory.

use super::{Parsed, Parser};
use crate::workload::language::diagnostic::meant;
use crate::workload::language::lexer::Token;
use crate::workload::language::tree::{Bytes, Expression, File, Messages, Unit};
use crate::workload::language::words::SIZES;

/// Units that are types: they can stand without a number.
const TYPES: [&str; 7] = ["bytes", "halfwords", "words", "integers", "doublewords", "quadwords", "pages"];

impl Parser {
    /// `a | N`: none for one.
    fn count(&mut self) -> Parsed<Option<Expression>> {
        if self.word("a") {
            return Ok(None);
        }
        Ok(Some(self.expression()?))
    }

    fn uniqueness(&mut self) {
        let _ = self.word("unique") || self.word("nonunique");
    }

    /// `a 64 kilobyte unaligned message with data touching from buffer 2`; a message without a size has none.
    pub(super) fn messages(&mut self) -> Parsed<Messages> {
        let count = self.count()?;
        self.uniqueness();
        let mut size = Bytes { count: Some(number(0, self.span())), unit: Unit::Bytes(1) };
        while !self.word("messages") {
            if self.word("unaligned") {
                continue;
            }
            if self.misspelt("messages") {
                return Err(self.unexpected());
            }
            let span = self.span();
            let found = match self.data_type() {
                Some(unit) => Bytes { count: Some(number(1, span)), unit },
                None => Bytes { count: Some(self.expression()?), unit: self.must_unit()? },
            };
            // What is aligned says how data lie, not how much they are.
            if !(self.word("aligned") || self.word("misaligned")) {
                self.word("sized");
                size = found;
            }
        }
        self.handling()?;
        Ok(Messages { count, size })
    }

    /// Whether a name stands here that was probably meant to be a reserved word.
    fn misspelt(&self, word: &str) -> bool {
        matches!(self.token(), Token::Name(met) if meant(met, [word]).is_some())
    }

    /// `N doublewords`: what is reduced.
    pub(super) fn reduced(&mut self) -> Parsed<Messages> {
        let count = self.count()?;
        self.uniqueness();
        self.word("unaligned");
        let unit = self.must_unit()?;
        self.handling()?;
        Ok(Messages { count: None, size: Bytes { count, unit } })
    }

    /// What is done with the data, and which buffer they lie in: neither changes what is sent.
    pub(super) fn handling(&mut self) -> Parsed<()> {
        if self.word("with") || self.word("without") {
            if self.word("data") {
                self.must("touching")?;
            } else {
                self.must("verification")?;
            }
        }
        let buffer = matches!(self.token(), Token::Reserved("from" | "into"))
            && !matches!(self.ahead(1), Token::Reserved("task" | "all" | "file"));
        if buffer {
            self.advance();
            if self.words(&["the", "default", "buffer"])? {
                return Ok(());
            }
            if !self.sees("buffer") {
                self.expression()?;
                self.must_unit()?;
                self.must("into")?;
                if self.words(&["the", "default", "buffer"])? {
                    return Ok(());
                }
            }
            self.must("buffer")?;
            self.expression()?;
        }
        Ok(())
    }

    /// The rest of `who receives it …`; whether that is asynchronous, if it is said.
    pub(super) fn receiving(&mut self) -> Parsed<Option<bool>> {
        let asynchronous = self.asynchrony();
        if self.word("as") {
            self.word("a");
            self.uniqueness();
            while !self.word("messages") {
                if self.word("unaligned") {
                    continue;
                }
                if self.data_type().is_none() {
                    self.expression()?;
                    self.must_unit()?;
                }
                if !self.word("misaligned") {
                    self.must("aligned")?;
                }
            }
        }
        self.handling()?;
        Ok(asynchronous)
    }

    /// Whether an action is asynchronous, if it is said.
    pub(super) fn asynchrony(&mut self) -> Option<bool> {
        if self.word("asynchronously") {
            Some(true)
        } else {
            self.word("synchronously").then_some(false)
        }
    }

    /// `E [unit]`: a size; bytes without a unit.
    pub(super) fn size(&mut self) -> Parsed<Bytes> {
        let count = Some(self.expression()?);
        Ok(Bytes { count, unit: self.unit().unwrap_or(Unit::Bytes(1)) })
    }

    /// `[a | the | its] [file] ["name"] [at offset]`.
    pub(super) fn file(&mut self) -> Parsed<File> {
        let _ = self.word("a") || self.word("the") || self.word("its");
        self.word("file");
        let name = match self.token() {
            Token::Text(_) => Some(self.text("a file's name")?.0),
            _ => {
                self.expects("a file's name in quotation marks");
                None
            }
        };
        let at = if self.word("at") { Some(self.size()?) } else { None };
        Ok(File { name, at, number: 0 })
    }

    fn data_type(&mut self) -> Option<Unit> {
        self.one_of(TYPES).map(|place| unit_of(TYPES[place]))
    }

    fn unit(&mut self) -> Option<Unit> {
        self.one_of(SIZES.iter().map(|(unit, _)| *unit)).map(|place| unit_of(SIZES[place].0))
    }

    fn must_unit(&mut self) -> Parsed<Unit> {
        if let Some(unit) = self.unit() {
            return Ok(unit);
        }
        self.expected.clear();
        self.expects("a unit of data (`bytes`, `words`, `doublewords`, `kilobytes`, …)");
        Err(self.unexpected())
    }
}

fn unit_of(word: &str) -> Unit {
    match SIZES.iter().find(|(unit, _)| *unit == word) {
        Some((_, bytes)) if *bytes > 0 => Unit::Bytes(*bytes),
        _ => Unit::Bits,
    }
}

fn number(number: i64, span: crate::workload::language::source::Span) -> Expression {
    Expression { kind: crate::workload::language::tree::Kind::Number(number), span }
}
