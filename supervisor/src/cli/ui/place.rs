//! Who is at the other end of a TCP connection: the processes that hold its socket, found by the socket's inode. The
//! loopback interface is as near to the watched tree as to us, so each of them must stand outside of every tree.

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread;
use std::time::Duration;

use procfs::net::TcpState;
use procfs::process::{FDTarget, Process};

use crate::control::tree::{Standing, Tree};
use crate::sys::pidfd;

/// Both ends of a connection, as the kernel's table names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) client: SocketAddr,
    pub(super) ours: SocketAddr,
}

/// What cannot be told for sure is looked at again, so often: processes come and go meanwhile.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);

/// Whether all that hold the client's end stand outside of these trees. The error says why not; what cannot be told is not.
pub(super) fn is_outside(connection: Connection, trees: &[&Tree]) -> Result<(), String> {
    let mut unsure = String::new();
    for _ in 0..LOOKS {
        match stands(connection, trees) {
            Standing::Outside => return Ok(()),
            Standing::Inside => return Err("the process that connected is inside a watched tree".to_owned()),
            Standing::Unknown(why) => unsure = why,
        }
        thread::sleep(PAUSE);
    }
    Err(format!("{unsure}; answer with `shellgate approvals`"))
}

fn stands(connection: Connection, trees: &[&Tree]) -> Standing {
    let holders = match socket(connection).and_then(holders) {
        Ok(holders) => holders,
        Err(why) => return Standing::Unknown(why),
    };
    if holders.is_empty() {
        return Standing::Unknown("the process that connected cannot be found".to_owned());
    }
    // One that has ended is nobody's tree any more, and no ask of it waits.
    let there = || trees.iter().filter(|tree| tree.is_there());
    let places =
        holders.iter().flat_map(|(pid, handle)| there().map(|tree| tree.place(*pid, handle.as_fd())));
    places.fold(Standing::Outside, |so_far, place| match (so_far, place) {
        (Standing::Inside, _) | (_, Standing::Inside) => Standing::Inside,
        (Standing::Outside, place) => place,
        (unsure, _) => unsure,
    })
}

/// The inode of the client's socket, which must be of our user or root's.
fn socket(connection: Connection) -> Result<u64, String> {
    let table = procfs::net::tcp().map_err(|error| format!("cannot read /proc/net/tcp: {error}"))?;
    let mut found = table.into_iter().filter(|entry| {
        (entry.local_address, entry.remote_address) == (connection.client, connection.ours)
            && entry.state == TcpState::Established
    });
    let (Some(entry), None) = (found.next(), found.next()) else {
        return Err("the connection is not in the kernel's table: its client is gone".to_owned());
    };
    let us = nix::unistd::geteuid().as_raw();
    if entry.uid != us && entry.uid != 0 {
        return Err(format!(
            "this page is for the user that started it and for root, not for uid {}",
            entry.uid
        ));
    }
    Ok(entry.inode)
}

/// The processes that have it open, each with a handle that was made while it had.
fn holders(inode: u64) -> Result<Vec<(i32, OwnedFd)>, String> {
    let all = procfs::process::all_processes().map_err(|error| format!("cannot read /proc: {error}"))?;
    let mut found = Vec::new();
    for process in all.flatten() {
        if !holds(&process, inode) {
            continue;
        }
        // One that has ended holds nothing any more. The number could have become another process's before the handle
        // was made.
        if let Ok(handle) = pidfd::open(process.pid)
            && holds(&process, inode)
        {
            found.push((process.pid, handle));
        }
    }
    Ok(found)
}

/// Not so for a process whose descriptors we may not read.
fn holds(process: &Process, inode: u64) -> bool {
    let Ok(open) = process.fd() else { return false };
    open.flatten().any(|open| open.target == FDTarget::Socket(inode))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn connected() -> (TcpStream, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (client_end, ours) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        // Accepted and kept, or the kernel would reset it.
        drop(thread::spawn(move || (listener.accept(), thread::park())));
        (client, Connection { client: client_end, ours })
    }

    fn below(pid: u32) -> Tree {
        Tree::below(pid.cast_signed()).unwrap()
    }

    #[test]
    fn whoever_holds_the_other_end_is_found_and_placed() {
        let (client, connection) = connected();
        assert_eq!(is_outside(connection, &[]), Ok(()));
        let ours = below(std::process::id());
        assert!(is_outside(connection, &[&ours]).unwrap_err().contains("inside a watched tree"));
        drop(client);
        assert!(is_outside(connection, &[]).unwrap_err().contains("gone"));
    }

    #[test]
    fn one_holder_inside_is_enough_to_refuse() {
        use std::process::{Command, Stdio};
        let (client, connection) = connected();
        let inherited = Stdio::from(OwnedFd::from(client.try_clone().unwrap()));
        let mut child = Command::new("/bin/sleep").arg("60").stdin(inherited).spawn().unwrap();
        let tree = below(child.id());
        let said = is_outside(connection, &[&tree]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(said.unwrap_err().contains("inside a watched tree"), "we hold it too, and stand outside");
    }
}
