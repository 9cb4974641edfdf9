//! A program's parameters: what is given for them, and what stands for the others.

use super::diagnostic::meant;
use super::evaluate::Values;
use super::lexer::{tokens, Quotes, Token};
use super::source::Source;
use super::Program;
use thalweg_foundation::{Error, Kind, Result};

/// The values of a program's parameters, in their order, behind the number of tasks.
///
/// `given` has names, or options with their dashes, and numbers as the language writes them (`8M`).
///
/// # Errors
/// `Invalid` for a parameter that the program does not have, one that is given twice, and what is no number.
pub fn values(program: &Program, tasks: u32, given: &[(String, String)]) -> Result<Vec<i64>> {
    let parameters = &program.tree.parameters;
    let mut chosen: Vec<Option<i64>> = vec![None; parameters.len()];
    for (name, text) in given {
        let place = parameters
            .iter()
            .position(|parameter| {
                parameter.name.text == name.to_ascii_lowercase()
                    || parameter.options.iter().any(|(option, _)| option == name)
            })
            .ok_or_else(|| unknown(program, name))?;
        if chosen[place].is_some() {
            return Err(refused(format!("{name} is given twice")));
        }
        chosen[place] = Some(number(text).ok_or_else(|| {
            refused(format!("{name} is {text:?}; accepted are whole numbers such as 100, -3, 8M or 5E6"))
        })?);
    }
    let mut values = Values::new(program.tree.slots, tasks, 0);
    for (parameter, chosen) in parameters.iter().zip(chosen) {
        let value = match chosen {
            Some(value) => value,
            None => values.integer(&parameter.default).map_err(|found| found.error(&program.source))?,
        };
        values.variables[parameter.name.slot as usize] = value;
    }
    Ok(values.variables)
}

/// A number as the language writes it, with a sign if need be.
fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let source = Source { name: String::new(), text: digits.into() };
    match &tokens(&source, Quotes::Closed).ok()?.0[..] {
        [(Token::Number(number), _), (Token::End, _)] => Some(sign * number),
        _ => None,
    }
}

fn refused(detail: String) -> Error {
    Error::new(Kind::Invalid, "workload program: parameters", detail)
}

fn unknown(program: &Program, name: &str) -> Error {
    let parameters = &program.tree.parameters;
    let names = || {
        parameters.iter().flat_map(|parameter| {
            std::iter::once(parameter.name.text.as_str())
                .chain(parameter.options.iter().map(|(option, _)| option.as_str()))
        })
    };
    let accepted = match meant(name, names()) {
        Some(known) => format!("did you mean {known}?"),
        None if parameters.is_empty() => "the program has none".into(),
        None => format!("accepted are {}", names().collect::<Vec<_>>().join(", ")),
    };
    refused(format!("{} has no parameter {name}; {accepted}", program.source.name))
}
