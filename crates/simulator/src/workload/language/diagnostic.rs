//! What is wrong with a program: where, with which word, and what was expected.

use super::source::{Source, Span};
use std::fmt::Write;
use thalweg_foundation::{Error, Kind};

/// One finding about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What stands under the carets; mostly what was expected.
    pub label: String,
    /// What may have been meant.
    pub help: Option<String>,
    /// Where the block began that is not closed here.
    pub opened: Option<Span>,
}

impl Diagnostic {
    /// A finding without help.
    pub fn new(span: Span, message: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), span, label: label.into(), help: None, opened: None }
    }

    /// The same with help, if there is some.
    #[must_use]
    pub fn helped(self, help: Option<String>) -> Diagnostic {
        Diagnostic { help, ..self }
    }

    /// As people read it: the message, the place, the line, and carets under the word.
    pub fn shown(&self, source: &Source, severity: &str) -> String {
        let (line, column) = source.place(self.span.start);
        let text = source.line(line);
        let margin = line.to_string().len();
        let pad: String = text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let left = text.chars().count().saturating_sub(column - 1);
        let carets = source.words(self.span).chars().count().clamp(1, left.max(1));
        let mut shown = format!("{severity}: {}\n", self.message);
        let _ = writeln!(shown, "{:margin$}--> {}:{line}:{column}", "", source.name);
        let _ = writeln!(shown, "{:margin$} |", "");
        let _ = writeln!(shown, "{line} | {text}");
        let _ = write!(shown, "{:margin$} | {pad}{} {}", "", "^".repeat(carets), self.label);
        if let Some(opened) = self.opened {
            let (line, column) = source.place(opened.start);
            let _ = write!(shown, "\n{:margin$} = the block began at {}:{line}:{column}", "", source.name);
        }
        if let Some(help) = &self.help {
            let _ = write!(shown, "\n{:margin$} = help: {help}", "");
        }
        shown
    }

    /// As an error of the house.
    pub fn error(&self, source: &Source) -> Error {
        Error { kind: Kind::Invalid, message: self.shown(source, "workload program") }
    }
}

/// Names as a sentence lists them: `a`, `b` or `c`.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The name out of `known` that `met` was probably meant to be.
pub fn meant<'a>(met: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = met.chars().count().div_ceil(3).min(3);
    known
        .into_iter()
        .map(|name| (distance(met, name), name))
        .filter(|(distance, _)| (1..=allowed).contains(distance))
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be put, taken, changed or exchanged with the next to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = rows[i][j] + usize::from(a != b);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_shows_the_line_and_the_word() {
        let source = Source { name: "ring.ncptl".into(), text: "# a ring\nall tasks sned a".into() };
        let finding = Diagnostic::new(Span { start: 19, end: 23 }, "found `sned`", "expected a verb");
        assert_eq!(
            finding.helped(Some("did you mean `send`?".into())).shown(&source, "error"),
            "error: found `sned`\n --> ring.ncptl:2:11\n  |\n2 | all tasks sned a\n  |           ^^^^ expected a verb\n  = help: did you mean `send`?"
        );
    }

    #[test]
    fn a_word_that_is_nearly_another_is_recognised() {
        let known = ["sends", "receives", "reduces"];
        assert_eq!(meant("sned", known), Some("sends"));
        assert_eq!(meant("recieves", known), Some("receives"));
        assert_eq!(meant("computes", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
