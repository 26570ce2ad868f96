//! What is counted, as values for an exporter: read from the very text that Prometheus gets, so that both say the same.
//! The library keeps its registry to itself but for that text.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::Metrics;

/// One metric, with the name that Prometheus has it by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) points: Points,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Points {
    /// Only grows.
    Counter(Vec<(Labels, f64)>),
    Gauge(Vec<(Labels, f64)>),
    Histogram(Spread),
}

pub(crate) type Labels = Vec<(String, String)>;

/// How values are spread. `counts` has one more than `bounds`: what is above the last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) bounds: Vec<f64>,
    pub(crate) counts: Vec<u64>,
    pub(crate) sum: f64,
    pub(crate) count: u64,
}

impl Metrics {
    /// When counting began.
    pub(crate) fn since(&self) -> SystemTime {
        self.since
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        // Writing to a String does not fail.
        read(&self.text().unwrap_or_default())
    }
}

/// All metrics in this text, in its order. What cannot be read is left out.
fn read(text: &str) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let mut help = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, text)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            help.insert(name.to_owned(), text.to_owned());
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let points = match kind {
                "counter" => Points::Counter(Vec::new()),
                "gauge" => Points::Gauge(Vec::new()),
                "histogram" => Points::Histogram(Spread::default()),
                _ => continue,
            };
            let help = help.remove(name).unwrap_or_default();
            figures.push(Figure { name: name.to_owned(), help, points });
        } else if let (Some(figure), Some((name, labels, value))) = (figures.last_mut(), sample(line)) {
            figure.add(name, labels, value);
        }
    }
    figures
}

impl Figure {
    fn add(&mut self, name: &str, labels: Labels, value: f64) {
        let Some(suffix) = name.strip_prefix(&self.name) else { return };
        match (&mut self.points, suffix) {
            (Points::Counter(points), "_total") | (Points::Gauge(points), "") => points.push((labels, value)),
            (Points::Histogram(spread), "_sum") => spread.sum = value,
            (Points::Histogram(spread), "_count") => spread.count = value as u64,
            (Points::Histogram(spread), "_bucket") => {
                // The text counts all values up to a bound.
                let below: u64 = spread.counts.iter().sum();
                spread.counts.push((value as u64).saturating_sub(below));
                let bound = labels.iter().find(|(name, _)| name == "le");
                spread.bounds.extend(
                    bound.and_then(|(_, text)| text.parse().ok()).filter(|bound: &f64| bound.is_finite()),
                );
            }
            _ => {}
        }
    }
}

/// `name{label="value",…} number`.
fn sample(line: &str) -> Option<(&str, Labels, f64)> {
    let (name, rest) = line.split_at(line.find(['{', ' '])?);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Labels::new(), rest),
    };
    Some((name, labels, value.trim().parse().ok()?))
}

/// The labels of a sample, and what stands behind their bracket.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Labels::new();
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        loop {
            match letters.next()? {
                (at, '"') => {
                    rest = &quoted[at + 1..];
                    break;
                }
                (_, '\\') => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    letter => value.push(letter),
                },
                (_, letter) => value.push(letter),
            }
        }
        labels.push((name.to_owned(), value));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a metric that is missing fails the test")]
    use std::time::Duration;

    use super::super::BUCKETS;
    use super::*;

    #[test]
    fn figures_are_what_the_text_says() {
        let metrics = Metrics::default();
        metrics.allowed();
        for hook in ["a\"b\\c\nd,}", "two"] {
            metrics.hook_fault(hook);
        }
        for took in [50, 60, 200, 200_000_000] {
            metrics.decided(Duration::from_micros(took));
        }
        let figures = metrics.figures();
        let of = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        let Points::Counter(execs) = &of("shellgate_execs").points else { panic!("a counter") };
        assert!(execs.contains(&(vec![("verdict".into(), "allowed".into())], 1.0)), "{execs:?}");
        let Points::Counter(faults) = &of("shellgate_hook_faults").points else { panic!("a counter") };
        assert!(faults.contains(&(vec![("hook".into(), "a\"b\\c\nd,}".into())], 1.0)), "{faults:?}");
        assert_eq!(faults.len(), 2);
        assert_eq!(of("shellgate_sessions").points, Points::Gauge(vec![(Vec::new(), 0.0)]));
        let Points::Histogram(Spread { bounds, counts, sum, count }) =
            &of("shellgate_decision_seconds").points
        else {
            panic!("a histogram")
        };
        assert_eq!(bounds, &BUCKETS);
        assert_eq!(counts, &[2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((*count, sum.round()), (4, 200.0));
        assert!(of("shellgate_execs").help.starts_with("Program starts"));
    }
}
