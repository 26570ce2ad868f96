//! A run on a terminal of its own: keys are typed, the screen is read.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{Termios, tcgetattr};

use crate::case::Gate;
use crate::live::until;
use crate::ran::Ran;
use crate::watched::{Finished, MARK, end_all, patience};

/// A session leader and the other end of its terminal.
#[derive(Debug)]
pub struct Terminal {
    leader: Child,
    /// Taken by a hang-up.
    keys: Option<File>,
    screen: Arc<Mutex<Vec<u8>>>,
    /// What was found on the screen so far ends here.
    seen: usize,
    gate: Gate,
    reader: Option<JoinHandle<()>>,
    hung_up: Arc<AtomicBool>,
}

/// Until the last process let go of the terminal, or we do.
fn read(mut from: File, into: &Mutex<Vec<u8>>, stop: &AtomicBool) {
    let mut block = vec![0; 4096];
    while !stop.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, 20_u16) == Ok(0) {
            continue;
        }
        let Ok(got @ 1..) = from.read(&mut block) else { return };
        into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&block[..got]);
    }
}

/// Both ends, which no program that is started meanwhile inherits: it would keep the terminal from hanging up.
fn pair() -> nix::Result<(File, File)> {
    let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname_r(&master)?;
    let slave = File::options().read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits()).open(name);
    let slave = slave.map_err(|error| nix::Error::from_raw(error.raw_os_error().unwrap_or_default()))?;
    Ok((File::from(OwnedFd::from(master)), slave))
}

impl Terminal {
    pub(crate) fn new(mut command: Command, gate: Gate) -> Self {
        let (master, slave) = pair().expect("the kernel has pseudo terminals");
        let end = |file: &File| file.try_clone().expect("a descriptor is free");
        command.stdin(end(&slave)).stdout(end(&slave)).stderr(slave);
        let leader = command.env(MARK, gate.mark()).spawn().expect("the leader starts");
        // Or we would keep the terminal open.
        drop(command);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (into, from) = (Arc::clone(&screen), end(&master));
        let hung_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&hung_up);
        let reader = Some(thread::spawn(move || read(from, &into, &stop)));
        let mut terminal = Self { leader, keys: Some(master), screen, seen: 0, gate, reader, hung_up };
        terminal.resize(24, 80);
        terminal
    }

    pub fn leader(&self) -> i32 {
        self.leader.id().cast_signed()
    }

    pub fn work(&self) -> PathBuf {
        self.gate.work()
    }

    pub fn type_keys(&mut self, keys: &str) {
        self.master().write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Types a line.
    pub fn line(&mut self, line: &str) {
        self.type_keys(&format!("{line}\n"));
    }

    fn master(&mut self) -> &mut File {
        self.keys.as_mut().expect("it was not hung up")
    }

    /// The whole screen so far.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits for a text behind the last one that was waited for.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            let all = self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(at) = all[self.seen..].windows(text.len()).position(|part| part == text.as_bytes()) {
                self.seen += at + text.len();
                return;
            }
            let screen = String::from_utf8_lossy(&all);
            assert!(start.elapsed() < patience(), "{text:?} never comes; after byte {}: {screen}", self.seen);
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether a text came behind the last one that was waited for.
    pub fn has_shown(&self, text: &str) -> bool {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&screen[self.seen..]).contains(text)
    }

    pub fn settings(&mut self) -> Termios {
        tcgetattr(self.master()).expect("it is a terminal")
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        let (rows, columns) = (rows.to_string(), columns.to_string());
        let master = self.master().try_clone().expect("a descriptor is free");
        let mut stty = Command::new("stty");
        let done =
            stty.args(["rows", &rows, "cols", &columns]).stdin(master).status().expect("stty is installed");
        assert!(done.success(), "the terminal cannot be resized");
    }

    /// Closes our end, as a terminal emulator that is closed.
    pub fn hang_up(&mut self) {
        self.hung_up.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader does not panic");
        }
        self.keys = None;
    }

    /// The end of the leader; then the session's end is waited for.
    #[track_caller]
    pub fn finish(mut self) -> Ran {
        let mut status = None;
        until("the end of the leader", || {
            status = self.leader.try_wait().expect("our own child");
            status.is_some()
        });
        let status = status.expect("it has ended");
        let code = status.code().unwrap_or_else(|| 128 + status.signal().expect("no code means a signal"));
        let stdout = self.screen().into_bytes();
        self.gate.ran(&Finished { code, stdout, stderr: Vec::new() })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        end_all(&self.gate.mark());
        let _ = self.leader.kill();
        let _ = self.leader.wait();
    }
}
