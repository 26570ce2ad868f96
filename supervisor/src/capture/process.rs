//! Who the caller is: `/proc/TID/status`, read once per exec.

use crate::capture::CaptureError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Process {
    /// Thread group, as our pid namespace names it.
    pub pid: i32,
    pub ppid: i32,
    /// The thread's and the process's id in the innermost pid namespace.
    pub inner_tid: i32,
    pub inner_pid: i32,
    /// Effective ids.
    pub uid: u32,
    pub gid: u32,
}

pub fn read(tid: i32) -> Result<Process, CaptureError> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/status"))
        .map_err(|source| CaptureError::Proc { what: "the status", tid, source })?;
    parse(&text).ok_or_else(|| CaptureError::Proc {
        what: "the status",
        tid,
        source: std::io::Error::other("a field is missing"),
    })
}

fn parse(text: &str) -> Option<Process> {
    let mut process = Process::default();
    let mut seen = 0;
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let mut words = value.split_ascii_whitespace();
        match name {
            "Tgid" => process.pid = words.next()?.parse().ok()?,
            "PPid" => process.ppid = words.next()?.parse().ok()?,
            "Uid" => process.uid = words.nth(1)?.parse().ok()?,
            "Gid" => process.gid = words.nth(1)?.parse().ok()?,
            "NStgid" => process.inner_pid = words.next_back()?.parse().ok()?,
            "NSpid" => {
                process.inner_tid = words.next_back()?.parse().ok()?;
                // What is needed stands above this line.
                seen += 1;
                break;
            }
            _ => continue,
        }
        seen += 1;
    }
    (seen == 6).then_some(process)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed read fails the test")]
    use super::*;

    #[test]
    fn the_callers_ids_are_effective_and_innermost() {
        let text = "Name:\tx y:z\nUmask:\t0022\nState:\tS\nTgid:\t40\nNgid:\t0\nPid:\t41\nPPid:\t39\n\
                    TracerPid:\t0\nUid:\t1000\t0\t0\t0\nGid:\t100\t50\t50\t50\nFDSize:\t64\nGroups:\t\n\
                    NStgid:\t40\t7\nNSpid:\t41\t8\nNSpgid:\t40\t7\n";
        let expected = Process { pid: 40, ppid: 39, inner_tid: 8, inner_pid: 7, uid: 0, gid: 50 };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("Tgid:\t40\n"), None);
    }

    #[test]
    fn our_own_status_has_every_field() {
        let tid = nix::unistd::gettid().as_raw();
        assert_eq!(read(tid).unwrap().pid, std::process::id() as i32);
    }
}
