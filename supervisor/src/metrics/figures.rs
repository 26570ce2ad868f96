//! What is counted, as values for an exporter: read from the very text that Prometheus gets, so that both say the same.
//! The library keeps its registry to itself but for that text.

use std::collections::BTreeMap;

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

/// All metrics in this text, in its order. What cannot be read is left out.
pub(super) fn read(text: &str) -> Vec<Figure> {
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
