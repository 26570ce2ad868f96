//! Who the caller is: `/proc/TID/status`, read once per exec.

use std::fs::File;
use std::io::Read;

use crate::capture::CaptureError;

/// A status is some 1.5 KiB; a long list of groups or CPUs makes it longer.
const ROOM: usize = 4096;

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
                    Some(process) => return Ok(process),
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
            "NSpid" => process.inner_tid = words.next_back()?.parse().ok()?,
            // Behind what is needed: the lines above are whole, however much was read.
            "NSpgid" => return (seen == 6).then_some(process),
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
