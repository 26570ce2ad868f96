//! `journald`: every event as an entry of systemd's journal, with fields of its own. Nobody waits for it; an entry that
//! the journal does not take is lost, which is a failure in the hook's log.
//!
//! The protocol is a datagram with a field a line; what is too large for one goes as a sealed memory file
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>).

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};
use schemars::JsonSchema;
use serde::Deserialize;

use super::facts::Facts;
use super::lost;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};

/// Options of `journald`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Journald {
    /// Where the journal listens.
    pub socket: PathBuf,
    /// `SYSLOG_IDENTIFIER` of the entries.
    pub identifier: String,
}

impl Default for Journald {
    fn default() -> Self {
        Self { socket: "/run/systemd/journal/socket".into(), identifier: "shellgate".to_owned() }
    }
}

impl Journald {
    pub(super) fn build(&self) -> Result<Entries, String> {
        if !self.socket.is_absolute() {
            return Err(format!("socket: {:?} is not an absolute path", self.socket.display().to_string()));
        }
        Ok(Entries(self.clone()))
    }
}

#[derive(Debug)]
pub(super) struct Entries(Journald);

impl InProcess for Entries {
    fn observe(&self, timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let Journald { socket, identifier } = &self.0;
        let entry = entry(&Facts::of(told), identifier);
        send(socket, timeout, &entry).map_err(|error| lost(&socket.display(), &error))
    }
}

/// The fields of an event, as the journal wants them.
fn entry(facts: &Facts, identifier: &str) -> Vec<u8> {
    let mut entry = Vec::new();
    field(&mut entry, "MESSAGE", &facts.message);
    field(&mut entry, "PRIORITY", &(facts.severity as u8).to_string());
    field(&mut entry, "SYSLOG_IDENTIFIER", identifier);
    for (name, value) in &facts.fields {
        field(&mut entry, &format!("SHELLGATE_{}", name.to_ascii_uppercase()), value);
    }
    entry
}

fn field(entry: &mut Vec<u8>, name: &str, value: &str) {
    entry.extend_from_slice(name.as_bytes());
    if value.contains('\n') {
        entry.push(b'\n');
        entry.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend_from_slice(value.as_bytes());
    entry.push(b'\n');
}

/// Sends one entry; waits at most this long for room.
fn send(socket: &Path, timeout: Duration, entry: &[u8]) -> io::Result<()> {
    let from = UnixDatagram::unbound()?;
    from.set_write_timeout(Some(timeout))?;
    match from.send_to(entry, socket) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EMSGSIZE | libc::ENOBUFS)) => {
            let memory = sealed(entry)?;
            let descriptors = [memory.as_raw_fd()];
            let message = [ControlMessage::ScmRights(&descriptors)];
            let address = UnixAddr::new(socket)?;
            sendmsg(from.as_raw_fd(), &[], &message, MsgFlags::MSG_NOSIGNAL, Some(&address))?;
            Ok(())
        }
        sent => sent.map(drop),
    }
}

/// The journal takes a memory file only if nobody can change it any more.
fn sealed(entry: &[u8]) -> io::Result<File> {
    let memory = memfd_create(c"shellgate-entry", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
    let mut memory = File::from(memory);
    memory.write_all(entry)?;
    let seals =
        SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SEAL;
    fcntl(&memory, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno: Errno| io::Error::from(errno))?;
    Ok(memory)
}

impl fmt::Display for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin: journald")
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_value_of_several_lines_has_its_length_in_front() {
        let mut entry = Vec::new();
        field(&mut entry, "A", "x=y");
        field(&mut entry, "B", "1\n2");
        assert_eq!(entry, b"A=x=y\nB\n\x03\0\0\0\0\0\0\x001\n2\n");
    }
}
