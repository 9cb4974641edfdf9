//! Declarations: the version of the language, and the program's parameters.

use super::{Parsed, Parser};
use crate::workload::language::diagnostic::Diagnostic;
use crate::workload::language::lexer::Token;
use crate::workload::language::tree::Parameter;

/// The newest version of the language that is understood.
const VERSION: (u32, u32) = (1, 5);

impl Parser {
    /// Reads a declaration, if one begins here.
    pub(super) fn declaration(&mut self) -> Parsed<bool> {
        if self.words(&["require", "language", "version"])? {
            self.version()?;
            return Ok(true);
        }
        if self.words(&["the", "backend", "declares"])? {
            self.text("code")?;
            return Ok(true);
        }
        let declares =
            matches!(self.token(), Token::Name(_)) && matches!(self.ahead(1), Token::Reserved("is"));
        self.expects("a parameter's name");
        if declares {
            let parameter = self.parameter()?;
            self.tree.parameters.push(parameter);
        }
        Ok(declares)
    }

    fn version(&mut self) -> Parsed<()> {
        let (text, span) = self.text("a version")?;
        let parts: Vec<Option<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        match parts[..] {
            [Some(major), Some(minor)] if (1, 0) <= (major, minor) && (major, minor) <= VERSION => Ok(()),
            [Some(_), Some(_)] => Err(Diagnostic::new(
                span,
                format!("version {text:?} of the language is not known"),
                "accepted are \"1.0\" to \"1.5\"",
            )),
            _ => {
                Err(Diagnostic::new(span, format!("{text:?} is no version"), "expected one such as \"1.5\""))
            }
        }
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.name("a parameter's name")?;
        self.must("is")?;
        let (description, _) = self.text("a description")?;
        self.words(&["and"])?;
        self.must("comes")?;
        self.must("from")?;
        let mut options = vec![self.option()?];
        while self.word("or") {
            options.push(self.option()?);
        }
        self.must("with")?;
        self.must("default")?;
        let default = self.expression()?;
        Ok(Parameter { name, description, options, default })
    }

    fn option(&mut self) -> Parsed<(String, crate::workload::language::source::Span)> {
        let (text, span) = self.text("an option")?;
        let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or("");
        if name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c == '=')
        {
            return Err(Diagnostic::new(
                span,
                format!("{text:?} is no option"),
                "expected one such as \"--reps\" or \"-r\"",
            ));
        }
        Ok((text, span))
    }
}
