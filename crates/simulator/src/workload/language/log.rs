//! What tasks log and put out while a program runs.

use super::tree::Aggregate;

/// Values of one column that one task logged.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Who logged them.
    pub task: u32,
    /// Under which name.
    pub label: String,
    pub(super) aggregate: Aggregate,
    pub(super) values: Vec<f64>,
}

/// Everything that was logged and put out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub(super) open: Vec<Column>,
    /// Columns whose values were drawn together: task, label with the kind of value, value.
    pub(super) written: Vec<(u32, String, f64)>,
    /// What tasks put out: task and text.
    pub outputs: Vec<(u32, String)>,
}

impl Log {
    pub(super) fn add(&mut self, task: u32, aggregate: Aggregate, label: &str, value: f64) {
        let open = self
            .open
            .iter_mut()
            .find(|column| column.task == task && column.label == label && column.aggregate == aggregate);
        match open {
            Some(column) => column.values.push(value),
            None => self.open.push(Column { task, label: label.into(), aggregate, values: vec![value] }),
        }
    }

    /// Draws the values of a task together; of every task when none is named.
    pub(super) fn flush(&mut self, task: Option<u32>) {
        let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|column| task.is_none_or(|task| column.task == task));
        self.open = open;
        for column in done {
            let row = |value| (column.task, column.label.clone(), value);
            match column.aggregate {
                Aggregate::Each => self.written.extend(column.values.iter().map(|value| row(*value))),
                Aggregate::Histogram => {
                    let mut sorted = column.values.clone();
                    sorted.sort_by(f64::total_cmp);
                    for chunk in sorted.chunk_by(|a, b| a == b) {
                        let label = format!("{} = {}", column.label, chunk[0]);
                        self.written.push((column.task, label, chunk.len() as f64));
                    }
                }
                aggregate => self.written.push(row(aggregated(aggregate, &column.values))),
            }
        }
    }

    /// Task, label and value of all that was logged so far.
    pub fn rows(&self) -> Vec<(u32, String, f64)> {
        let mut all = self.clone();
        all.flush(None);
        all.written
    }
}

/// One value for several, of which there is at least one.
fn aggregated(aggregate: Aggregate, values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = || values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    match aggregate {
        Aggregate::Mean => mean,
        Aggregate::HarmonicMean => count / values.iter().map(|value| 1.0 / value).sum::<f64>(),
        Aggregate::GeometricMean => (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp(),
        Aggregate::Median => {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let middle = sorted.len() / 2;
            if sorted.len() % 2 == 1 {
                sorted[middle]
            } else {
                (sorted[middle - 1] + sorted[middle]) / 2.0
            }
        }
        Aggregate::Deviation => variance().sqrt(),
        Aggregate::Variance => variance(),
        Aggregate::Sum => mean * count,
        Aggregate::Minimum => values.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Maximum => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        // `the E` is said of a value that is always the same.
        Aggregate::Only | Aggregate::Final | Aggregate::Each | Aggregate::Histogram => {
            values.last().copied().unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_drawn_together_as_is_said() {
        let values = [1.0, 2.0, 4.0, 4.0];
        for (aggregate, expected) in [
            (Aggregate::Mean, 2.75),
            (Aggregate::HarmonicMean, 2.0),
            (Aggregate::Median, 3.0),
            (Aggregate::Variance, 2.25),
            (Aggregate::Deviation, 1.5),
            (Aggregate::Sum, 11.0),
            (Aggregate::Minimum, 1.0),
            (Aggregate::Maximum, 4.0),
            (Aggregate::Final, 4.0),
        ] {
            assert_eq!(aggregated(aggregate, &values), expected, "{aggregate:?}");
        }
        assert!((aggregated(Aggregate::GeometricMean, &values) - 32f64.powf(0.25)).abs() < 1e-12);
        let mut log = Log::default();
        values.iter().for_each(|value| log.add(3, Aggregate::Histogram, "size", *value));
        assert_eq!(
            log.rows(),
            [(3, "size = 1".into(), 1.0), (3, "size = 2".into(), 1.0), (3, "size = 4".into(), 2.0)]
        );
    }
}
