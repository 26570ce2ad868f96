//! Who the caller is: its ids, from a handle of the thread where the kernel gives them (6.13), else from
//! `/proc/TID/status`, which costs ten times as much.

use std::fs::File;
use std::io::Read;

use crate::capture::CaptureError;
use crate::sys::pidfd;

/// A status is some 1.5 KiB; a long list of groups or CPUs makes it longer.
const ROOM: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Process {
    /// Thread group, as our pid namespace names it.
    pub pid: i32,
    pub ppid: i32,
    /// Effective ids.
    pub uid: u32,
    pub gid: u32,
}

/// The thread's and its process's id in the innermost pid namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inner {
    pub tid: i32,
    pub pid: i32,
}

pub fn read(tid: i32) -> Result<Process, CaptureError> {
    let failed = |source| CaptureError::Proc { what: "the ids", tid, source };
    match pidfd::ids(tid).map_err(failed)? {
        Some(ids) => Ok(Process { pid: ids.tgid, ppid: ids.ppid, uid: ids.euid, gid: ids.egid }),
        None => status(tid).map(|(process, _)| process),
    }
}

/// What the thread calls itself.
pub fn inner(tid: i32) -> Result<Inner, CaptureError> {
    status(tid).map(|(_, inner)| inner)
}

fn status(tid: i32) -> Result<(Process, Inner), CaptureError> {
    let failed = |source| CaptureError::Proc { what: "the status", tid, source };
    let mut file = File::open(format!("/proc/{tid}/status")).map_err(failed)?;
    // In one read as a rule: the kernel writes the whole record at once.
    let mut text = vec![0; ROOM];
    let mut len = 0;
    loop {
        match file.read(&mut text[len..]) {
            Ok(read) => {
                len += read;
                let found = parse(&String::from_utf8_lossy(&text[..len]));
                match found {
                    Some(ids) => return Ok(ids),
                    None if read == 0 => return Err(failed(std::io::Error::other("a field is missing"))),
                    None if len == text.len() => text.resize(2 * len, 0),
                    None => {}
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

fn parse(text: &str) -> Option<(Process, Inner)> {
    let (mut process, mut inner) = (Process::default(), Inner::default());
    let mut seen = 0;
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let mut words = value.split_ascii_whitespace();
        match name {
            "Tgid" => process.pid = words.next()?.parse().ok()?,
            "PPid" => process.ppid = words.next()?.parse().ok()?,
            "Uid" => process.uid = words.nth(1)?.parse().ok()?,
            "Gid" => process.gid = words.nth(1)?.parse().ok()?,
            "NStgid" => inner.pid = words.next_back()?.parse().ok()?,
            "NSpid" => inner.tid = words.next_back()?.parse().ok()?,
            // Behind what is needed: the lines above are whole, however much was read.
            "NSpgid" => return (seen == 6).then_some((process, inner)),
            _ => continue,
        }
        seen += 1;
    }
    None
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
        let expected = (Process { pid: 40, ppid: 39, uid: 0, gid: 50 }, Inner { tid: 8, pid: 7 });
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("Tgid:\t40\n"), None);
    }

    #[test]
    fn handle_and_status_say_the_same() {
        let theirs = std::thread::spawn(|| {
            let tid = nix::unistd::gettid().as_raw();
            (tid, read(tid).unwrap(), status(tid).unwrap())
        });
        let (tid, by_handle, (by_status, inner)) = theirs.join().unwrap();
        assert_eq!(by_handle, by_status);
        assert_eq!(by_handle.pid, std::process::id() as i32);
        assert_ne!(by_handle.pid, tid, "a thread's process is not the thread");
        assert!(inner.tid > 0 && inner.pid > 0);
    }

    #[test]
    fn a_thread_that_is_gone_has_no_ids() {
        assert!(read(i32::MAX).is_err());
    }
}
