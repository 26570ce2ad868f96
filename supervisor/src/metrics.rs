//! What Prometheus may ask for. Counting is a handful of atomic additions; whoever reads is served by a thread of its
//! own, which holds up no exec.
#![forbid(unsafe_code)]

#[cfg(feature = "otlp")]
pub(crate) mod figures;
mod server;

use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::hooks::{Defect, Refusal};

pub use server::serve;

/// Seconds from a notification to its answer. Rules take microseconds, hooks milliseconds, people minutes.
const BUCKETS: [f64; 12] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0, 120.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verdict {
    verdict: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "these are the values of a label")]
enum Word {
    allowed,
    refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    hook: String,
    /// `deny`, or what was wrong with the hook.
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Hook {
    hook: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reload {
    result: Result,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "these are the values of a label")]
enum Result {
    good,
    bad,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Info {
    config: String,
    digest: String,
}

/// The counts of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    execs: Family<Verdict, Counter>,
    refusals: Family<Refused, Counter>,
    hook_faults: Family<Hook, Counter>,
    decisions: Histogram,
    sessions: Gauge,
    reloads: Family<Reload, Counter>,
    configs: Family<Info, Gauge>,
    /// The digest that each configuration is shown with.
    shown: Mutex<HashMap<String, String>>,
    /// When counting began.
    #[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "an exporter's to tell"))]
    since: SystemTime,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut made = Self {
            registry: Registry::with_prefix("shellgate"),
            execs: Family::default(),
            refusals: Family::default(),
            hook_faults: Family::default(),
            decisions: Histogram::new(BUCKETS),
            sessions: Gauge::default(),
            reloads: Family::default(),
            configs: Family::default(),
            shown: Mutex::default(),
            since: SystemTime::now(),
        };
        let to = &mut made.registry;
        to.register("execs", "Program starts that were judged, by the verdict", made.execs.clone());
        to.register(
            "refusals",
            "Refused program starts, by the hook (or stage) that refused and why: deny, or its defect",
            made.refusals.clone(),
        );
        to.register(
            "hook_faults",
            "Failures of hooks that decide nothing, which changed nothing",
            made.hook_faults.clone(),
        );
        to.register(
            "decision_seconds",
            "From the kernel's notification of a program start to the answer",
            made.decisions.clone(),
        );
        to.register("sessions", "Sessions that are not over", made.sessions.clone());
        to.register(
            "config_reloads",
            "Changed configuration files: good ones hold, bad ones are not used",
            made.reloads.clone(),
        );
        to.register("config_info", "The digest of each configuration in force", made.configs.clone());
        // Shown before they are needed: a rate needs a beginning.
        for verdict in [Word::allowed, Word::refused] {
            drop(made.execs.get_or_create(&Verdict { verdict }));
        }
        for result in [Result::good, Result::bad] {
            drop(made.reloads.get_or_create(&Reload { result }));
        }
        made
    }
}

impl Metrics {
    pub(crate) fn allowed(&self) {
        self.execs.get_or_create(&Verdict { verdict: Word::allowed }).inc();
    }

    pub(crate) fn refused(&self, refusal: &Refusal) {
        self.execs.get_or_create(&Verdict { verdict: Word::refused }).inc();
        let reason = refusal.defect.map_or_else(|| "deny".to_owned(), Defect::word);
        self.refusals.get_or_create(&Refused { hook: refusal.hook.clone(), reason }).inc();
    }

    pub(crate) fn hook_fault(&self, hook: &str) {
        self.hook_faults.get_or_create(&Hook { hook: hook.to_owned() }).inc();
    }

    pub(crate) fn decided(&self, took: Duration) {
        self.decisions.observe(took.as_secs_f64());
    }

    pub(crate) fn session_begins(&self) {
        self.sessions.inc();
    }

    pub(crate) fn session_ends(&self) {
        self.sessions.dec();
    }

    pub(crate) fn reloaded(&self, good: bool) {
        let result = if good { Result::good } else { Result::bad };
        self.reloads.get_or_create(&Reload { result }).inc();
    }

    /// Shows the digest of a configuration in place of the one that it had before.
    pub(crate) fn in_force(&self, config: &str, digest: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let info = |digest: &str| Info { config: config.to_owned(), digest: digest.to_owned() };
        if let Some(before) = shown.insert(config.to_owned(), digest.to_owned())
            && before != digest
        {
            self.configs.remove(&info(&before));
        }
        self.configs.get_or_create(&info(digest)).set(1);
    }

    /// In OpenMetrics' text format, which Prometheus reads as it reads its own.
    fn text(&self) -> std::result::Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// `PORT` on this machine alone, or `ADDRESS:PORT`.
pub fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| format!("{text:?} is neither PORT nor ADDRESS:PORT"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
    use super::*;

    #[test]
    fn a_port_alone_is_this_machines() {
        assert_eq!(address("9464").unwrap().to_string(), "127.0.0.1:9464");
        assert_eq!(address("[::1]:1").unwrap().to_string(), "[::1]:1");
        assert_eq!(address("0.0.0.0:9464").unwrap().to_string(), "0.0.0.0:9464");
        for text in ["", "localhost:1", "70000", "1.2.3.4", ":9464"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_configuration_is_shown_with_one_digest() {
        let metrics = Metrics::default();
        metrics.in_force("a", "1");
        metrics.in_force("a", "2");
        metrics.in_force("b\"\n", "3");
        let text = metrics.text().unwrap();
        let shown: Vec<&str> =
            text.lines().filter(|line| line.starts_with("shellgate_config_info{")).collect();
        assert_eq!(shown.len(), 2, "{text}");
        assert!(text.contains("shellgate_config_info{config=\"a\",digest=\"2\"} 1"), "{text}");
        assert!(text.contains("config=\"b\\\"\\n\""), "{text}");
    }

    #[test]
    fn a_refusal_names_its_hook_and_what_was_wrong_with_it() {
        let metrics = Metrics::default();
        for defect in [None, Some(Defect::Timeout), Some(Defect::EmptyReason)] {
            metrics.refused(&Refusal { hook: "guard".into(), reason: "no".into(), defect, detail: None });
        }
        let text = metrics.text().unwrap();
        for reason in ["deny", "timeout", "empty_reason"] {
            let line = format!("shellgate_refusals_total{{hook=\"guard\",reason=\"{reason}\"}} 1");
            assert!(text.contains(&line), "{text}");
        }
        assert!(text.contains("shellgate_execs_total{verdict=\"refused\"} 3"), "{text}");
        assert!(text.contains("shellgate_execs_total{verdict=\"allowed\"} 0"), "{text}");
    }
}
