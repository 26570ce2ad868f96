//! What came of a kernel: the closing line, and the page of all kernels.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use shellgate_guest::How;

use super::allowed;
use super::watch::Heard;

/// Everything that ran on one kernel.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) release: String,
    pub(crate) accelerator: String,
    pub(crate) passed: usize,
    /// What failed, in words.
    pub(crate) failures: Vec<String>,
    /// Why there is no verdict, if there is none.
    pub(crate) lost: Option<String>,
    /// How often for which reason.
    pub(crate) skips: BTreeMap<String, usize>,
    /// What the doctor said, by boot.
    pub(crate) doctors: Vec<(String, Value)>,
    pub(crate) seconds: u64,
}

impl Report {
    pub(crate) fn add(&mut self, boot: &str, heard: &Heard) {
        if let Some(release) = &heard.release {
            self.release.clone_from(release);
        }
        self.passed += heard.tests.iter().filter(|test| test.how == How::Passed).count();
        let failed = heard.tests.iter().filter(|test| test.how != How::Passed);
        self.failures
            .extend(failed.map(|test| format!("{boot}: {} {}: {:?}", test.job, test.name, test.how)));
        self.failures.extend(heard.troubles.iter().map(|what| format!("{boot}: {what}")));
        for skip in allowed::forbidden(&self.release, boot, &heard.skips) {
            let (job, test, why) = (&skip.job, &skip.test, &skip.why);
            self.failures.push(format!("{boot}: {job} {test}: must not skip here: {why}"));
        }
        for skip in &heard.skips {
            *self.skips.entry(skip.why.clone()).or_default() += 1;
        }
        let doctors = heard.said.iter().filter(|(job, _)| job == "doctor");
        let read = doctors.filter_map(|(_, text)| serde_json::from_str(text).ok());
        self.doctors.extend(read.map(|value| (boot.to_owned(), value)));
    }

    pub(crate) fn closing_line(&self, qemu: &str) -> String {
        let skipped: usize = self.skips.values().sum();
        let reasons: Vec<String> = self.skips.iter().map(|(why, count)| format!("{count}: {why}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        format!(
            "vm: {}, {}, QEMU {qemu}: {} passed, {} failed, {skipped} skipped{reasons}, {} s",
            self.release,
            self.accelerator,
            self.passed,
            self.failures.len(),
            self.seconds
        )
    }
}

/// Rows of the page: what the doctor calls it, and what we call it there.
const ROWS: [(&str, &str); 7] = [
    ("seccomp_listener", "gate"),
    ("seal_ebpf", "eBPF seal"),
    ("seal_ptrace", "ptrace seal"),
    ("wait_killable_recv", "a signal does not interrupt a waiting exec"),
    ("sync_wake_up", "answers wake the caller on the same CPU"),
    ("landlock_signal_scope", "Landlock keeps the tree's signals inside"),
    ("exit_status_by_pidfd", "exit status of every process without eBPF"),
];

/// Writes `docs/kernel-support.md`.
pub(crate) fn write_page(root: &Path, reports: &[Report], qemu: &str, list: &str) -> Result<()> {
    let path = root.join("docs/kernel-support.md");
    std::fs::write(&path, page(reports, qemu, list))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn page(reports: &[Report], qemu: &str, list: &str) -> String {
    let mut text = String::from(
        "# Kernels\n\nWritten by `cargo xtask vm --kernel all`, which boots each of these kernels and tries. \"No\" is \
         followed by what\n`shellgate doctor` says about it there.\n\n",
    );
    // Writing to a String cannot fail.
    let mut row = |cells: Vec<String>| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    let head = |first: &str, cell: &dyn Fn(&Report) -> String| {
        std::iter::once(first.to_owned()).chain(reports.iter().map(cell)).collect::<Vec<_>>()
    };
    row(head("", &|report| report.release.clone()));
    row(head("---", &|_| "---".to_owned()));
    for (name, shown) in ROWS {
        row(head(shown, &|report| {
            let doctor = report.doctors.first().map_or(&Value::Null, |(_, doctor)| doctor);
            verdict(&doctor[name])
        }));
    }
    row(head("LSM guards (`bpf` among the modules)", &|report| guards(report, "lsm with bpf")));
    row(head("LSM guards (`bpf` not among them)", &|report| guards(report, "lsm without bpf")));
    row(head("eBPF seal under `lockdown=integrity`", &|report| {
        let found = report.doctors.iter().find(|(boot, _)| boot == "lockdown");
        verdict(found.map_or(&Value::Null, |(_, doctor)| &doctor["seal_ebpf"]))
    }));
    row(head("tests passed", &|report| report.passed.to_string()));
    row(head("tests failed", &|report| report.failures.len().to_string()));
    row(head("tests skipped", &|report| report.skips.values().sum::<usize>().to_string()));
    for report in reports {
        if report.failures.is_empty() && report.skips.is_empty() && report.lost.is_none() {
            continue;
        }
        let _ = writeln!(text, "\n## {}\n", report.release);
        if let Some(why) = &report.lost {
            let _ = writeln!(text, "- no verdict: {why}");
        }
        for failure in &report.failures {
            let _ = writeln!(text, "- failed: {}", failure.lines().next().unwrap_or_default());
        }
        for (why, count) in &report.skips {
            let _ = writeln!(text, "- skipped {count}: {why}");
        }
    }
    let accelerators: Vec<&str> = reports.iter().map(|report| report.accelerator.as_str()).collect();
    let accelerators = accelerators.join(", ");
    let _ = writeln!(text, "\nRun with {list}, under QEMU {qemu}, accelerators: {accelerators}.");
    text
}

/// A cell from what the doctor found.
fn verdict(finding: &Value) -> String {
    let detail = finding["detail"].as_str().unwrap_or_default().replace('|', "\\|").replace('<', "\\<");
    match finding["ok"].as_bool() {
        Some(true) => "yes".to_owned(),
        Some(false) => format!("no: {detail}"),
        None => "not asked".to_owned(),
    }
}

fn guards(report: &Report, boot: &str) -> String {
    let found = report.doctors.iter().find(|(name, _)| name == boot);
    let Some(detail) = found.and_then(|(_, doctor)| doctor["seal_ebpf"]["detail"].as_str()) else {
        return "not asked".to_owned();
    };
    let (active, inactive) = (detail.matches("(active)").count(), detail.matches("(inactive").count());
    if active + inactive == 0 { "no".to_owned() } else { format!("{active} of {}", active + inactive) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::watch::{Skip, Test};
    use super::*;

    fn report() -> Report {
        let test = |name: &str, how| Test { job: "cases".into(), name: name.into(), how };
        let mut heard = Heard::default();
        heard.release = Some("6.1.0-1-cloud".into());
        heard.tests = vec![test("good", How::Passed), test("bad", How::Exit(101))];
        heard.skips =
            vec![Skip { job: "cases".into(), test: "s".into(), why: "gdb is not installed".into() }];
        heard.said = vec![(
            "doctor".into(),
            json!({"seal_ebpf": {"ok": true, "detail": "a (active), b (inactive: x)"},
                    "sync_wake_up": {"ok": false, "detail": "before 6.6"}})
            .to_string(),
        )];
        let mut report = Report { accelerator: "tcg".into(), ..Report::default() };
        report.add("lsm with bpf", &heard);
        report
    }

    #[test]
    fn the_closing_line_names_kernel_accelerator_qemu_counts_and_reasons() {
        let line = report().closing_line("10.0.2");
        for part in ["6.1.0-1-cloud", "tcg", "QEMU 10.0.2", "1 passed", "1 failed", "1: gdb is not installed"]
        {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn the_page_shows_what_works_what_does_not_and_why() {
        let page = page(&[report()], "10.0.2", "the full list of tests");
        for part in
            ["| eBPF seal | yes |", "no: before 6.6", "| 1 of 2 |", "- failed: lsm with bpf: cases bad"]
        {
            assert!(page.contains(part), "{page}");
        }
    }
}
