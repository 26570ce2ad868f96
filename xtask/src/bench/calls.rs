//! The system calls that an exec costs the thread that answers it, as strace(1) sees them. Counts, unlike times, do not
//! depend on the machine's load.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use shellgate_tests::program;

use super::Bench;

/// From one notification to the next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) names: Vec<String>,
}

/// `None` where there is no strace.
pub(super) fn per_exec(bench: &Bench) -> Result<Option<Calls>> {
    let log = bench.folder.path().join("strace");
    let mut column = bench.sealed();
    if column.is_empty() {
        return Ok(None);
    }
    let gated = column.remove(0).before;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(&log).args(&gated);
    strace.arg(program("spawns")).args(["vfork", "40"]).arg(program("nothing"));
    let output = match strace.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("bench: the calls are not counted: strace: {error}");
            return Ok(None);
        }
    };
    ensure!(output.status.success(), "strace: {}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    let calls = between_notifications(&String::from_utf8_lossy(&text));
    Ok(Some(Calls { names: calls.context("strace saw no notification")? }))
}

/// The calls of the thread that received most, between two of its notifications in the middle.
fn between_notifications(log: &str) -> Option<Vec<String>> {
    let mut threads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        if let Some((thread, call)) = line.split_once(char::is_whitespace) {
            threads.entry(thread).or_default().push(call.trim_start());
        }
    }
    let received = |calls: &Vec<&str>| -> Vec<usize> {
        let at = calls.iter().enumerate().filter(|(_, call)| call.contains("SECCOMP_IOCTL_NOTIF_RECV"));
        at.map(|(at, _)| at).collect()
    };
    let (_, calls) = threads.iter().max_by_key(|(_, calls)| received(calls).len())?;
    let received = received(calls);
    let middle = received.len() / 2;
    let between = calls.get(*received.get(middle)?..*received.get(middle + 1)?)?;
    // The second half of a call that another thread came into is told as `<... resumed>`.
    let names = between.iter().filter_map(|call| call.split_once('(').filter(|_| !call.starts_with('<')));
    Some(names.map(|(name, _)| name.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_from_one_notification_to_the_next() {
        let log = "7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=1}) = 0\n9 getpid() = 9\n7 read(4, <unfinished ...>\n\
                   9 getpid() = 9\n7 <... read resumed>\"x\", 1) = 1\n7 close(4) = 0\n\
                   7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=2}) = 0\n7 poll([], 0, 1) = 0\n\
                   7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=3}) = 0\n";
        assert_eq!(between_notifications(log), Some(vec!["ioctl".to_owned(), "poll".to_owned()]));
        assert_eq!(between_notifications("9 getpid() = 9\n"), None);
    }
}
