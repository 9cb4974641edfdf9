//! The functions of the language.

use super::diagnostic::Diagnostic;
use super::evaluate::{overflow, Outcome, Values};
use super::source::Span;
use super::topology;
use super::tree::{Expression, Function, Mesh};
use crate::engine::random::{bits, unit, Purpose};

/// The value of a function as a whole number.
pub fn call(values: &Values, function: Function, arguments: &[Expression], span: Span) -> Outcome<i64> {
    if let Some(exact) = real(function) {
        // Roots and logarithms are rounded down, as is whatever else has a fraction.
        return whole(exact(values.real(&arguments[0])?).floor(), span);
    }
    if function.is_random() {
        return random(values, function, arguments, span);
    }
    let given = arguments.iter().map(|argument| values.integer(argument)).collect::<Outcome<Vec<_>>>()?;
    let arity = |place: usize, least: i64| match given.get(place).copied().unwrap_or(2) {
        arity if arity >= least => Ok(arity),
        arity => Err(Diagnostic::new(
            arguments[place].span,
            format!("a tree of arity {arity}"),
            format!("accepted are {least} and more"),
        )),
    };
    let tasks = i64::from(values.tasks());
    let of = |place: usize| given.get(place).copied().unwrap_or(tasks);
    Ok(match function {
        Function::Abs => given[0].checked_abs().ok_or_else(|| overflow(span))?,
        Function::Bits => i64::from(64 - given[0].unsigned_abs().leading_zeros()),
        Function::Factor10 => factor10(given[0]),
        Function::Max => given.iter().copied().max().unwrap_or(0),
        Function::Min => given.iter().copied().min().unwrap_or(0),
        Function::Root => {
            let degree = given[0];
            if degree <= 0 || given[1] < 0 {
                let message = format!("root {degree} of {}", given[1]);
                return Err(Diagnostic::new(
                    span,
                    message,
                    "accepted are roots of 1 and more, of 0 and more",
                ));
            }
            root(degree, given[1])
        }
        Function::TreeParent => topology::tree_parent(given[0], arity(1, 1)?),
        Function::TreeChild => {
            topology::tree_child(given[0], given[1], arity(2, 1)?).ok_or_else(|| overflow(span))?
        }
        Function::KnomialParent => topology::knomial_parent(given[0], arity(1, 2)?, of(2)),
        Function::KnomialChild => topology::knomial_children(given[0], arity(2, 2)?, of(3))
            .nth(usize::try_from(given[1]).unwrap_or(usize::MAX))
            .unwrap_or(-1),
        Function::KnomialChildren => topology::knomial_children(given[0], arity(1, 2)?, of(2)).count() as i64,
        // Those with real values and random ones were dealt with above.
        _ => 0,
    })
}

/// What a function of one number does to it where fractions are kept.
pub fn real(function: Function) -> Option<fn(f64) -> f64> {
    Some(match function {
        Function::Cbrt => f64::cbrt,
        Function::Ceiling => f64::ceil,
        Function::Floor => f64::floor,
        Function::Log10 => f64::log10,
        Function::Round => f64::round,
        Function::Sqrt => f64::sqrt,
        Function::Real => |value| value,
        _ => return None,
    })
}

/// The whole number below a real one.
pub fn whole(value: f64, span: Span) -> Outcome<i64> {
    let whole = value.floor();
    if (-(2f64.powi(63))..2f64.powi(63)).contains(&whole) {
        return Ok(whole as i64);
    }
    Err(Diagnostic::new(span, format!("the value {value}"), "no whole number can hold it"))
}

/// The largest number whose power is not more than `value`.
fn root(degree: i64, value: i64) -> i64 {
    if degree >= 63 {
        // Two to that power is more than any number here.
        return value.min(1);
    }
    let fits = |root: i64| {
        u32::try_from(degree)
            .ok()
            .and_then(|degree| root.checked_pow(degree))
            .is_some_and(|power| power <= value)
    };
    let mut guess = (value as f64).powf(1.0 / degree as f64).round() as i64;
    while !fits(guess) {
        guess -= 1;
    }
    while fits(guess + 1) && guess < i64::MAX - 1 && degree > 1 {
        guess += 1;
    }
    guess
}

/// The number rounded down to one digit and zeros: 4975 becomes 4000.
fn factor10(value: i64) -> i64 {
    let mut place = 1;
    while value / place > 9 || value / place < -9 {
        place *= 10;
    }
    value / place * place
}

/// Random numbers are the same on every task: they depend on seed, place in the text, step and arguments.
fn random(values: &Values, function: Function, arguments: &[Expression], span: Span) -> Outcome<i64> {
    let given = arguments.iter().map(|argument| values.real(argument)).collect::<Outcome<Vec<_>>>()?;
    let entity =
        given.iter().fold(u64::from(span.start), |entity, value| entity.rotate_left(17) ^ value.to_bits());
    let draw = |count: u64| unit(bits(values.seed, Purpose::Program, entity, values.step << 16 | count));
    let refused = |message: String, label: &str| Err(Diagnostic::new(span, message, label));
    let value = match function {
        Function::RandomUniform => {
            if given[0] >= given[1] {
                return refused(
                    format!("no number in [{}, {})", given[0], given[1]),
                    "expected a lower bound below the upper one",
                );
            }
            given[0] + draw(0) * (given[1] - given[0])
        }
        Function::RandomGaussian => {
            // Box and Muller's method.
            let radius = (-2.0 * (1.0 - draw(0)).ln()).sqrt();
            (given[0] + given[1] * radius * (std::f64::consts::TAU * draw(1)).cos()).round()
        }
        Function::RandomPoisson => {
            if !(0.0..=700.0).contains(&given[0]) {
                return refused(
                    format!("a Poisson distribution of mean {}", given[0]),
                    "accepted are 0 to 700",
                );
            }
            // Knuth's method.
            let (limit, mut product, mut count) = ((-given[0]).exp(), draw(0), 0);
            while product > limit {
                count += 1;
                product *= draw(count);
            }
            count as f64
        }
        _ => {
            if given[0] <= 0.0 || given.get(1).is_some_and(|low| *low <= 0.0) {
                return refused(
                    "a Pareto distribution with a bound that is not positive".into(),
                    "accepted is more than 0",
                );
            }
            let (shape, low) = (given[0], given[1]);
            let uniform = 1.0 - draw(0);
            match given.get(2) {
                Some(high) => {
                    let (l, h) = (low.powf(shape), high.powf(shape));
                    ((h - uniform * (h - l)) / (h * l)).powf(-1.0 / shape)
                }
                None => low / uniform.powf(1.0 / shape),
            }
        }
    };
    whole(value, span)
}

/// `mesh_neighbor`, `mesh_coordinate` and `mesh_distance`.
pub fn mesh(
    values: &Values,
    mesh: Mesh,
    dimensions: &[(Expression, bool)],
    task: &Expression,
    rest: &[Expression],
) -> Outcome<i64> {
    let mut extents = Vec::with_capacity(dimensions.len());
    let mut size: i64 = 1;
    for (extent, ring) in dimensions {
        let length = values.integer(extent)?;
        if length < 1 {
            let message = format!("a mesh with an extent of {length}");
            return Err(Diagnostic::new(extent.span, message, "accepted are 1 and more"));
        }
        size = size.checked_mul(length).ok_or_else(|| overflow(extent.span))?;
        extents.push((length, *ring));
    }
    let task = values.integer(task)?;
    let first = values.integer(&rest[0])?;
    Ok(match mesh {
        Mesh::Neighbor => {
            let offsets = rest.iter().map(|offset| values.integer(offset)).collect::<Outcome<Vec<_>>>()?;
            topology::mesh_neighbor(task, &extents, &offsets)
        }
        Mesh::Coordinate => {
            let lengths: Vec<i64> = extents.iter().map(|(length, _)| *length).collect();
            let Some(axis) = usize::try_from(first).ok().filter(|axis| *axis < lengths.len()) else {
                let message = format!("axis {first} of a mesh of {} dimensions", lengths.len());
                let label = format!("accepted are 0 to {}", lengths.len() - 1);
                return Err(Diagnostic::new(rest[0].span, message, label));
            };
            topology::mesh_place(task, &lengths).map_or(-1, |place| place[axis])
        }
        Mesh::Distance => topology::mesh_distance(task, first, &extents),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_factors_are_rounded_down() {
        assert_eq!(
            [(2, 24), (2, 25), (3, 26), (3, 27), (1, 7)].map(|(degree, value)| root(degree, value)),
            [4, 5, 2, 3, 7]
        );
        assert_eq!(root(2, i64::MAX), 3_037_000_499);
        assert_eq!(
            [root(62, 1 << 62), root(63, i64::MAX), root(5_000_000_000, 7), root(100, 0)],
            [2, 1, 1, 0]
        );
        assert_eq!([0, 9, 10, 4975, -23].map(factor10), [0, 9, 10, 4000, -20]);
    }
}
