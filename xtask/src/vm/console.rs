//! What a kernel's console says about the way it ended.

/// Lines of the log that are shown with a failure.
const TAIL: usize = 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A fault in the kernel; with `oops=panic` a panic follows.
    Oops(String),
    SoftLockup(String),
    /// The NMI that we send to a guest that is silent.
    Silenced(String),
    Panic(String),
    PoweredOff,
    Restarted,
}

/// The first cause: what comes later follows from it.
pub(crate) fn cause(log: &str) -> Option<Cause> {
    let find = |words: &[&str]| {
        let found = log.lines().find(|line| words.iter().any(|word| line.contains(word)));
        found.map(|line| without_time(line).to_owned())
    };
    let panic = find(&["Kernel panic - not syncing"]);
    if let Some(line) = find(&["soft lockup - CPU", "hard LOCKUP"]) {
        return Some(Cause::SoftLockup(line));
    }
    if panic.as_ref().is_some_and(|line| line.contains("NMI")) {
        return panic.map(Cause::Silenced);
    }
    let oops = ["BUG: ", "Oops: ", "general protection fault", "kernel BUG at", "double fault"];
    if let (Some(line), Some(_)) = (find(&oops), &panic) {
        return Some(Cause::Oops(line));
    }
    if panic.is_some() {
        return panic.map(Cause::Panic);
    }
    if find(&["reboot: Power down", "Power off not available", "reboot: System halted"]).is_some() {
        return Some(Cause::PoweredOff);
    }
    find(&["reboot: Restarting system", "reboot: machine restart"]).map(|_| Cause::Restarted)
}

pub(crate) fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(|line| line.trim_end_matches('\r')).collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// Without the time stamp before it.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((_, text)) => text.trim(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_told_from_the_others() {
        let panic = "[    9.1] Kernel panic - not syncing: sysrq triggered crash\r\n";
        let cases = [
            ("[    1.0] all is well\n".to_owned(), None),
            (panic.to_owned(), Some(Cause::Panic("Kernel panic - not syncing: sysrq triggered crash".into()))),
            (
                "[    2.0] BUG: kernel NULL pointer dereference, address: 0\n[ 2.1] Kernel panic - not syncing: Fatal exception"
                    .to_owned(),
                Some(Cause::Oops("BUG: kernel NULL pointer dereference, address: 0".into())),
            ),
            (
                "[  70.0] watchdog: BUG: soft lockup - CPU#0 stuck for 67s! [x:12]\n[ 70.1] Kernel panic - not syncing: softlockup: hung tasks"
                    .to_owned(),
                Some(Cause::SoftLockup("watchdog: BUG: soft lockup - CPU#0 stuck for 67s! [x:12]".into())),
            ),
            (
                "[  70.0] Kernel panic - not syncing: NMI: Not continuing".to_owned(),
                Some(Cause::Silenced("Kernel panic - not syncing: NMI: Not continuing".into())),
            ),
            ("[    3.0] reboot: Power down\n".to_owned(), Some(Cause::PoweredOff)),
            ("[    3.0] reboot: Restarting system\n".to_owned(), Some(Cause::Restarted)),
        ];
        for (log, expected) in cases {
            assert_eq!(cause(&log), expected, "{log}");
        }
    }

    #[test]
    fn a_warning_without_a_panic_is_no_end() {
        assert_eq!(cause("[    2.0] BUG: unusual but survived\n"), None);
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let log = (0..100).map(|line| format!("line {line}\r\n")).collect::<Vec<_>>().concat();
        let shown = tail(&log);
        assert_eq!(shown.lines().count(), TAIL);
        assert!(shown.ends_with("line 99") && !shown.contains('\r'));
    }
}
