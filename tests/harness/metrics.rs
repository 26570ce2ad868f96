//! Metrics as Prometheus reads them: asked for over HTTP, and taken apart by its own parser.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use crate::builder::tools;
use crate::need::PATH;

/// Prints each sample as `name{label=value,…}`, a tab and its value. Both of its readers must take the text: the strict one
/// for the format that it is in, and the one for the older format.
const READER: &str = r#"
import sys
from prometheus_client import parser
from prometheus_client.openmetrics import parser as strict
text = sys.stdin.read()
old = [sample for family in parser.text_string_to_metric_families(text) for sample in family.samples]
new = [sample for family in strict.text_string_to_metric_families(text) for sample in family.samples]
assert [s[:3] for s in old] == [s[:3] for s in new], (old, new)
for sample in new:
    labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
    print(f"{sample.name}{{{labels}}}\t{sample.value}")
"#;

/// What was served at one moment.
#[derive(Debug)]
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    #[track_caller]
    pub fn of(address: SocketAddr) -> Self {
        let mut reader = Command::new("python3")
            .args(["-c", READER])
            .env("PATH", PATH)
            .env("PYTHONPATH", tools().join("prometheus"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let text = served(address);
        // Dropped at once: the reader reads to the end.
        reader.stdin.take().expect("it was piped").write_all(text.as_bytes()).expect("it reads");
        let done = reader.wait_with_output().expect("it ends");
        assert!(done.status.success(), "{}\n{text}", String::from_utf8_lossy(&done.stderr));
        let sample = |line: &str| {
            let (name, value) = line.split_once('\t').expect("the reader writes tabs");
            (name.to_owned(), value.parse().expect("the reader writes numbers"))
        };
        Self(String::from_utf8_lossy(&done.stdout).lines().map(sample).collect())
    }

    /// A sample, as `name{label=value,…}` with the labels in their order; 0 where there is none.
    pub fn value(&self, sample: &str) -> f64 {
        self.0.get(sample).copied().unwrap_or(0.0)
    }

    pub fn samples(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[track_caller]
fn served(address: SocketAddr) -> String {
    let mut connection = TcpStream::connect(address).expect("metrics are served");
    connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
    let mut said = String::new();
    connection.read_to_string(&mut said).expect("it answers");
    let (head, text) = said.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    text.to_owned()
}
