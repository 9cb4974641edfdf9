//! Sets of numbers that are written out or go on as they began.

use super::diagnostic::Diagnostic;
use super::source::Span;

/// Numbers in order, none of which is stored but the first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progression {
    listed: Vec<i64>,
    /// How the last one listed goes on.
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Not at all.
    End,
    /// By steps up to a last one.
    Steps { step: i64, last: i64 },
    /// By a factor up to a last one.
    Times { factor: i64, last: i64 },
    /// By a divisor down to a last one.
    Parts { divisor: i64, last: i64 },
}

impl Progression {
    /// Just these.
    pub fn listed(listed: Vec<i64>) -> Progression {
        Progression { listed, rule: Rule::End }
    }

    /// `{1, 3, ..., 9}`, `{1, 2, 4, ..., 64}`, `{5, ..., 1}`: up or down to `last`, which need not be met.
    ///
    /// # Errors
    /// Numbers that begin neither an arithmetic nor a geometric progression, or one that never reaches `last`.
    pub fn continued(listed: Vec<i64>, last: i64, span: Span) -> Result<Progression, Diagnostic> {
        let refused = |message: &str, label: &str| Err(Diagnostic::new(span, message, label));
        let pairs = || listed.iter().zip(&listed[1..]);
        let first = listed[0];
        let second = listed.get(1).copied().unwrap_or(first + (last - first).signum());
        let step = second - first;
        let rule = if step != 0 && pairs().all(|(a, b)| b - a == step) {
            Rule::Steps { step, last }
        } else if listed.len() == 1 || pairs().all(|(a, b)| a == b) {
            // One number, again and again, reaches itself at once.
            if first != last {
                return refused(
                    "a set that never ends",
                    "expected a second number that differs from the first",
                );
            }
            Rule::End
        } else if first != 0
            && second % first == 0
            && pairs().all(|(a, b)| a * (second / first) == *b)
            && (second / first).abs() > 1
        {
            Rule::Times { factor: second / first, last }
        } else if second != 0
            && first % second == 0
            && pairs().all(|(a, b)| b * (first / second) == *a)
            && (first / second).abs() > 1
        {
            Rule::Parts { divisor: first / second, last }
        } else {
            return refused(
                "numbers that do not go on evenly",
                "expected equal steps, such as {1, 3, ..., 9}, or factors, such as {1, 2, 4, ..., 64}",
            );
        };
        let wrong_way = match rule {
            Rule::Steps { step, last } => (last - first).signum() * step.signum() < 0,
            Rule::Times { factor, last } => factor > 0 && last.abs() < first.abs(),
            Rule::Parts { last, .. } => last.abs() > first.abs(),
            Rule::End => false,
        };
        if wrong_way {
            return refused("a set that goes away from its last number", "expected it to come nearer");
        }
        Ok(Progression { listed, rule })
    }

    /// The number behind `before`, which is the one at `place - 1`; the first one at place 0.
    pub fn next(&self, place: u64, before: i64) -> Option<i64> {
        if let Some(listed) = self.listed.get(place as usize) {
            // A listed number may already lie beyond the last one: {1, 3, ..., 2} is just 1.
            return self.within(*listed).then_some(*listed);
        }
        let next = match self.rule {
            Rule::End => None,
            Rule::Steps { step, .. } => before.checked_add(step),
            Rule::Times { factor, .. } => before.checked_mul(factor),
            Rule::Parts { divisor, .. } => {
                Some(before / divisor).filter(|next| *next != before && *next != 0)
            }
        }?;
        self.within(next).then_some(next)
    }

    fn within(&self, value: i64) -> bool {
        match self.rule {
            Rule::End => true,
            Rule::Steps { step, last } => {
                if step > 0 {
                    value <= last
                } else {
                    value >= last
                }
            }
            Rule::Times { last, .. } => value.abs() <= last.abs(),
            Rule::Parts { last, .. } => value.abs() >= last.abs(),
        }
    }

    /// Whether a number is one of these.
    pub fn contains(&self, value: i64) -> bool {
        if let Rule::Steps { step, .. } = self.rule {
            let first = self.listed[0];
            return self.within(value)
                && (value - first) % step == 0
                && (value - first).signum() * step.signum() >= 0;
        }
        let (mut place, mut before) = (0, 0);
        while let Some(next) = self.next(place, before) {
            if next == value {
                return true;
            }
            (place, before) = (place + 1, next);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(listed: &[i64], last: i64) -> Vec<i64> {
        let set = Progression::continued(listed.to_vec(), last, Span::default()).unwrap();
        let (mut found, mut before) = (Vec::new(), 0);
        while let Some(next) = set.next(found.len() as u64, before) {
            assert!(set.contains(next));
            found.push(next);
            before = next;
        }
        found
    }

    #[test]
    fn sets_go_on_as_they_begin() {
        assert_eq!(numbers(&[1], 4), [1, 2, 3, 4]);
        assert_eq!(numbers(&[3], 1), [3, 2, 1]);
        assert_eq!(numbers(&[1, 3], 8), [1, 3, 5, 7]);
        assert_eq!(numbers(&[1, 2, 4], 64), [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(numbers(&[64, 16, 4], 1), [64, 16, 4, 1]);
        assert_eq!(numbers(&[1, 3], 2), [1]);
        assert_eq!(numbers(&[5], 5), [5]);
        let set = Progression::continued(vec![0], 1_000_000_000_000, Span::default()).unwrap();
        assert!(set.contains(999_999_999_999) && !set.contains(-1));
        for (listed, last) in [(vec![1, 2, 5], 9), (vec![2, 2], 9), (vec![5, 6], 1), (vec![0, 0, 3], 9)] {
            assert!(Progression::continued(listed.clone(), last, Span::default()).is_err(), "{listed:?}");
        }
    }
}
