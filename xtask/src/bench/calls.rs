//! The system calls that an exec costs the thread that answers it, as strace(1) sees them. Counts, unlike times, do not
//! depend on the machine's load.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use shellgate_tests::{per_notification, program};

use super::Bench;
use super::costs::{self, Costs};

/// From one notification to the next, as it is most often; and what else it costs.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) names: Vec<String>,
    pub(super) costs: Costs,
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
    let names =
        per_notification(&String::from_utf8_lossy(&text)).context("strace saw no two notifications")?;
    Ok(Some(Calls { names, costs: costs::per_exec(bench)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_those_that_most_notifications_took() {
        let log = "7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=1}) = 0\n9 getpid() = 9\n7 read(4, <unfinished ...>\n\
                   9 getpid() = 9\n7 <... read resumed>\"x\", 1) = 1\n7 close(4) = 0\n\
                   7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=2}) = 0\n7 poll([], 0, 1) = 0\n\
                   7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=3}) = 0\n7 poll([], 0, 1) = 0\n\
                   7 ioctl(3, SECCOMP_IOCTL_NOTIF_RECV, {id=4}) = 0\n";
        assert_eq!(per_notification(log), Some(vec!["ioctl".to_owned(), "poll".to_owned()]));
        assert_eq!(per_notification("9 getpid() = 9\n"), None);
    }
}
