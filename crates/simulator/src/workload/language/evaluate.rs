//! Values of expressions and conditions.

use super::diagnostic::Diagnostic;
use super::functions;
use super::progression::Progression;
use super::source::Span;
use super::tree::{
    Binary, Bytes, Comparison, Condition, Counter, Expression, Function, Kind, Set, Time, Unary, Unit,
};
use crate::engine::Picos;

pub(super) type Outcome<T> = Result<T, Diagnostic>;

/// The values of variables, and what else an expression can depend on.
#[derive(Clone, Debug)]
pub struct Values {
    /// By slot; the first is the number of tasks.
    pub variables: Vec<i64>,
    /// From which random numbers follow, and how many statements were begun: the same on every task.
    pub seed: u64,
    pub step: u64,
    /// Which task this is.
    pub task: u32,
    /// What the task has counted.
    pub counted: [f64; 8],
}

impl Values {
    /// Nothing has a value yet but the number of tasks.
    pub fn new(slots: u32, tasks: u32, seed: u64) -> Values {
        let mut variables = vec![0; slots as usize];
        variables[0] = i64::from(tasks);
        Values { variables, seed, step: 0, task: 0, counted: [0.0; 8] }
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> u32 {
        self.variables[0] as u32
    }

    /// A whole number.
    pub fn integer(&self, expression: &Expression) -> Outcome<i64> {
        let span = expression.span;
        match &expression.kind {
            Kind::Number(number) => Ok(*number),
            Kind::Variable(name) => Ok(self.variables[name.slot as usize]),
            Kind::Counter(counter) => Ok(self.counter(*counter) as i64),
            Kind::MyTask => Ok(i64::from(self.task)),
            Kind::Unary(operator, of) => {
                let of = self.integer(of)?;
                match operator {
                    Unary::Plus => Ok(of),
                    Unary::Minus => of.checked_neg().ok_or_else(|| overflow(span)),
                    Unary::Not => Ok(!of),
                }
            }
            Kind::Chain(first, rest) => self.whole_chain(first, rest),
            Kind::Choice(condition, yes, no) => self.integer(if self.holds(condition)? { yes } else { no }),
            Kind::Call(Function::Real, arguments) => functions::whole(self.real(&arguments[0])?, span),
            Kind::Call(function, arguments) => functions::call(self, *function, arguments, span),
            Kind::Mesh(mesh, dimensions, task, rest) => functions::mesh(self, *mesh, dimensions, task, rest),
        }
    }

    /// A number that may have a fraction: arithmetic without rounding.
    pub fn real(&self, expression: &Expression) -> Outcome<f64> {
        match &expression.kind {
            Kind::Counter(counter) => Ok(self.counter(*counter)),
            Kind::Unary(Unary::Minus, of) => Ok(-self.real(of)?),
            Kind::Unary(Unary::Plus, of) => self.real(of),
            Kind::Choice(condition, yes, no) => self.real(if self.holds(condition)? { yes } else { no }),
            Kind::Chain(first, rest) => {
                // Up to the last operator that takes whole numbers alone, all are whole.
                let whole =
                    rest.iter().rposition(|(operator, _)| operator.is_whole()).map_or(0, |last| last + 1);
                let (before, rest) = rest.split_at(whole);
                let mut value =
                    if whole == 0 { self.real(first)? } else { self.whole_chain(first, before)? as f64 };
                for (operator, operand) in rest {
                    let operand = self.real(operand)?;
                    match operator {
                        Binary::Add => value += operand,
                        Binary::Subtract => value -= operand,
                        Binary::Multiply => value *= operand,
                        Binary::Power => value = value.powf(operand),
                        // What was measured may be nothing: a rate is then infinite.
                        _ => value /= operand,
                    }
                }
                Ok(value)
            }
            Kind::Call(function, arguments) => match functions::real(*function) {
                Some(function) => Ok(function(self.real(&arguments[0])?)),
                None if *function == Function::Root => {
                    Ok(self.real(&arguments[1])?.powf(1.0 / self.real(&arguments[0])?))
                }
                None => self.integer(expression).map(|value| value as f64),
            },
            _ => self.integer(expression).map(|value| value as f64),
        }
    }

    fn whole_chain(&self, first: &Expression, rest: &[(Binary, Expression)]) -> Outcome<i64> {
        rest.iter().try_fold(self.integer(first)?, |left, (operator, operand)| {
            let span = first.span.to(operand.span);
            operation(*operator, left, self.integer(operand)?, span, operand.span)
        })
    }

    fn counter(&self, counter: Counter) -> f64 {
        self.counted[counter as usize]
    }

    /// Whether a condition holds.
    pub fn holds(&self, condition: &Condition) -> Outcome<bool> {
        match condition {
            Condition::Any(parts) => {
                for part in parts {
                    if self.holds(part)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::All(parts) => {
                for part in parts {
                    if !self.holds(part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Compare(comparison, left, right) => {
                let (a, b) = (self.integer(left)?, self.integer(right)?);
                Ok(match comparison {
                    Comparison::Equal => a == b,
                    Comparison::Different => a != b,
                    Comparison::Less => a < b,
                    Comparison::Greater => a > b,
                    Comparison::LessOrEqual => a <= b,
                    Comparison::GreaterOrEqual => a >= b,
                    Comparison::Divides if a == 0 => return Err(by_zero(left.span)),
                    Comparison::Divides => b.wrapping_rem(a) == 0,
                })
            }
            Condition::Even(value) => Ok(self.integer(value)? & 1 == 0),
            Condition::Odd(value) => Ok(self.integer(value)? & 1 == 1),
            Condition::In { value, sets, not } => {
                let value = self.integer(value)?;
                for set in sets {
                    if self.progression(set)?.contains(value) {
                        return Ok(!not);
                    }
                }
                Ok(*not)
            }
            Condition::Between { value, from, to, not } => {
                let range = self.integer(from)?..=self.integer(to)?;
                Ok(range.contains(&self.integer(value)?) != *not)
            }
        }
    }

    /// The numbers of a set.
    pub fn progression(&self, set: &Set) -> Outcome<Progression> {
        let items = set.items.iter().map(|item| self.integer(item)).collect::<Outcome<Vec<_>>>()?;
        match &set.last {
            None => Ok(Progression::listed(items)),
            Some(last) => Progression::continued(items, self.integer(last)?, set.span),
        }
    }

    /// How often: not negative.
    pub fn count(&self, expression: &Expression, what: &str) -> Outcome<u64> {
        let count = self.integer(expression)?;
        u64::try_from(count).map_err(|_| {
            Diagnostic::new(expression.span, format!("{what} is {count}"), "accepted are 0 and more")
        })
    }

    /// A time: not negative, and not longer than the clock of a machine.
    pub fn time(&self, time: &Time) -> Outcome<Picos> {
        let count = self.count(&time.count, "a time")?;
        count.checked_mul(time.unit).map(Picos).ok_or_else(|| overflow(time.count.span))
    }

    /// How many bytes: not negative, and not more than a machine can hold.
    pub fn bytes(&self, bytes: &Bytes) -> Outcome<u64> {
        let Some(expression) = &bytes.count else {
            return Ok(if let Unit::Bytes(unit) = bytes.unit { unit as u64 } else { 1 });
        };
        let count = self.count(expression, "a size")?;
        let size = match bytes.unit {
            Unit::Bytes(unit) => count.checked_mul(unit as u64),
            Unit::Bits => Some(count.div_ceil(8)),
        };
        size.filter(|size| *size <= 1 << 50).ok_or_else(|| {
            Diagnostic::new(expression.span, "a size of more than 1 PiB", "accepted are up to 2^50 bytes")
        })
    }
}

fn operation(operator: Binary, left: i64, right: i64, span: Span, right_span: Span) -> Outcome<i64> {
    let shift = u32::try_from(right).ok();
    let checked = match operator {
        Binary::Add => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::Multiply => left.checked_mul(right),
        Binary::Divide | Binary::Modulo if right == 0 => return Err(by_zero(right_span)),
        // Division rounds down, so that remainders are not negative for positive divisors.
        Binary::Divide => left
            .checked_div(right)
            .map(|quotient| quotient - i64::from(left % right != 0 && (left < 0) != (right < 0))),
        Binary::Modulo => left.checked_rem(right).map(|rest| {
            if rest != 0 && (rest < 0) != (right < 0) {
                rest + right
            } else {
                rest
            }
        }),
        Binary::Power if right < 0 => {
            return Err(Diagnostic::new(right_span, format!("a power of {right}"), "accepted are 0 and more"))
        }
        Binary::Power => shift.and_then(|power| left.checked_pow(power)),
        Binary::ShiftLeft | Binary::ShiftRight if !(0..64).contains(&right) => {
            return Err(Diagnostic::new(
                right_span,
                format!("a shift by {right} bits"),
                "accepted are 0 to 63",
            ))
        }
        Binary::ShiftLeft => left
            .checked_mul(1i64.checked_shl(right as u32).filter(|one| *one > 0).unwrap_or(0))
            .filter(|_| right < 63),
        Binary::ShiftRight => Some(left >> right),
        Binary::And => Some(left & right),
        Binary::Or => Some(left | right),
        Binary::Xor => Some(left ^ right),
    };
    checked.ok_or_else(|| overflow(span))
}

pub(super) fn overflow(span: Span) -> Diagnostic {
    Diagnostic::new(span, "a number that is too large", format!("accepted are numbers up to {}", i64::MAX))
}

fn by_zero(span: Span) -> Diagnostic {
    Diagnostic::new(span, "division by zero", "this is 0")
}
