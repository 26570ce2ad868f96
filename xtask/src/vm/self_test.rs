//! `cargo xtask vm --self-test`: jobs that end badly on purpose. Each must be reported as what it is, or the runner
//! cannot be believed when it says that all is well.

mod fault;

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use shellgate_guest::{How, Job, Prepare};

use super::Session;
use super::boots::Boot;
use super::machine::CONSOLE;
use super::watch::{End, Heard, Limits};

const FAULT: &str = "a fault in the kernel";

/// How a boot is expected to end.
enum Expected {
    /// With a verdict, and these ends of its jobs.
    Verdict(&'static [How]),
    /// Without one, for a reason that contains this.
    Lost(&'static str),
}

fn job(line: &str) -> Job {
    let words = ["/bin/sh", "-c", line].map(str::to_owned).into();
    Job { name: line.to_owned(), words, limit: 60, ..Job::default() }
}

fn table() -> Vec<(&'static str, Vec<Job>, Expected)> {
    let hanging = Job { limit: 5, ..job("sleep 1000") };
    let sysctl = |name: &str, value: &str| Prepare::Sysctl { name: name.into(), value: value.into() };
    let starving = Job {
        prepare: vec![sysctl("kernel.sched_rt_runtime_us", "-1")],
        ..job("for i in 1 2 3; do chrt -f 99 sh -c 'while :; do :; done' & done; wait")
    };
    let forged =
        r#"echo '@{"Done":{"nonce":"guessed","tally":{"passed":1,"failed":0,"skipped":0}}}' > /dev/ttyS1"#;
    let off = "echo o > /proc/sysrq-trigger; sleep 30";
    vec![
        (
            "failing, killed and hanging jobs, and a good one behind them",
            vec![job("exit 3"), job("kill -SEGV $$"), hanging, job("true")],
            Expected::Verdict(&[How::Exit(3), How::Signal(11), How::TimedOut, How::Passed]),
        ),
        ("a panic", vec![job("echo c > /proc/sysrq-trigger")], Expected::Lost("kernel panicked")),
        (FAULT, vec![job(fault::LINE)], Expected::Lost("kernel had a fault")),
        ("a power-off", vec![job(off)], Expected::Lost("powered off before its verdict")),
        ("a restart", vec![job("echo b > /proc/sysrq-trigger; sleep 30")], Expected::Lost("reset itself")),
        ("a starved guest", vec![starving], Expected::Lost("starved")),
        ("a runner that is killed", vec![job("kill -9 -1; sleep 5")], Expected::Lost("runner ended")),
        (
            "a forged verdict before a power-off",
            vec![job(&format!("{forged}; {off}"))],
            Expected::Lost("powered off before its verdict"),
        ),
    ]
}

/// 0 when all were, 1 when one was not.
pub(super) fn run(session: &Session<'_>) -> Result<u8> {
    let kernel = session.kernels.first().context("no kernel")?;
    let mut wrong = 0;
    for (name, jobs, expected) in table() {
        let debugger = (name == FAULT).then(|| session.folder.path().join("debugger"));
        let boot = Boot { name, append: String::new(), disk_mib: 0, debugger: debugger.clone(), jobs };
        let limits = |accelerator| Limits { silence: Duration::from_secs(15), ..Limits::of(accelerator) };
        let console = session.folder.path().join(CONSOLE);
        // The log of the boot before tells no address.
        let striking = debugger.map(|port| thread::spawn(move || fault::strike(&console, &port)));
        let (_, heard, end) = session.boot(kernel, &boot, limits)?;
        if let Some(Ok(Err(error))) = striking.map(thread::JoinHandle::join) {
            eprintln!("vm: {name}: {error:#}");
        }
        match fault(&heard, &end, &expected) {
            None => eprintln!("vm: {name}: reported as it should be: {}", told(&end)),
            Some(fault) => {
                wrong += 1;
                eprintln!("vm: {name}: REPORTED WRONGLY: {fault}");
            }
        }
    }
    eprintln!("vm: self-test: {wrong} of {} reported wrongly", table().len());
    Ok(u8::from(wrong > 0))
}

fn told(end: &End) -> &str {
    match end {
        End::Verdict => "a verdict",
        End::NoHello(why) | End::Lost { why, .. } => why,
    }
}

fn fault(heard: &Heard, end: &End, expected: &Expected) -> Option<String> {
    let ends: Vec<How> = heard.tests.iter().map(|test| test.how).collect();
    let right = match (expected, end) {
        (Expected::Verdict(hows), End::Verdict) => ends == *hows,
        (Expected::Lost(part), End::Lost { why, .. }) => why.contains(part),
        (Expected::Verdict(_), End::NoHello(_) | End::Lost { .. })
        | (Expected::Lost(_), End::NoHello(_) | End::Verdict) => false,
    };
    (!right).then(|| format!("{end:?}, jobs {ends:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_of_another_kind_is_a_fault() {
        let lost =
            End::Lost { why: "the guest was powered off before its verdict".into(), console: String::new() };
        let heard = Heard::default();
        assert_eq!(fault(&heard, &lost, &Expected::Lost("powered off")), None);
        assert!(fault(&heard, &lost, &Expected::Lost("panicked")).is_some());
        assert!(fault(&heard, &End::Verdict, &Expected::Lost("powered off")).is_some());
        assert!(fault(&heard, &End::Verdict, &Expected::Verdict(&[How::Passed])).is_some());
    }
}
