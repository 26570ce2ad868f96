//! The counts of this process, under the names that Prometheus has them by.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};

use super::signal::text;
use crate::metrics::Metrics;
use crate::metrics::figures::{Figure, Labels, Points, Spread};

pub(super) fn of(metrics: &Metrics) -> Vec<Metric> {
    let times = (nanos(metrics.since()), nanos(SystemTime::now()));
    metrics.figures().into_iter().map(|figure| metric(figure, times)).collect()
}

pub(super) fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// `times` are when counting began, and now.
fn metric(Figure { name, help, points }: Figure, times: (u64, u64)) -> Metric {
    let cumulative = AggregationTemporality::Cumulative.into();
    let unit = if name.ends_with("_seconds") { "s" } else { "1" };
    let data = match points {
        Points::Counter(points) => Data::Sum(Sum {
            data_points: numbers(points, times),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        Points::Gauge(points) => Data::Gauge(Gauge { data_points: numbers(points, times) }),
        Points::Histogram(spread) => Data::Histogram(Histogram {
            data_points: vec![histogram(spread, times)],
            aggregation_temporality: cumulative,
        }),
    };
    Metric { name, description: help, unit: unit.to_owned(), data: Some(data), ..Metric::default() }
}

fn numbers(points: Vec<(Labels, f64)>, (since, now): (u64, u64)) -> Vec<NumberDataPoint> {
    let made = points.into_iter().map(|(labels, value)| NumberDataPoint {
        attributes: labels.iter().map(|(name, value)| text(name, value)).collect(),
        start_time_unix_nano: since,
        time_unix_nano: now,
        // All of them count whole things.
        value: Some(Value::AsInt(value as i64)),
        ..NumberDataPoint::default()
    });
    made.collect()
}

fn histogram(spread: Spread, (since, now): (u64, u64)) -> HistogramDataPoint {
    HistogramDataPoint {
        start_time_unix_nano: since,
        time_unix_nano: now,
        count: spread.count,
        sum: Some(spread.sum),
        bucket_counts: spread.counts,
        explicit_bounds: spread.bounds,
        ..HistogramDataPoint::default()
    }
}
