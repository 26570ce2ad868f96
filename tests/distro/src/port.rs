//! The serial port that carries lines to the host. Several threads write; a line is never torn.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::OFlag;
use nix::sys::termios::{SetArg, cfmakeraw, tcdrain, tcgetattr, tcsetattr};
use shellgate_guest::{Line, PORT};

#[derive(Clone)]
pub(crate) struct Port(Arc<Mutex<File>>);

/// The port in raw mode. Without it nobody would hear us, which the host finds out by itself.
pub(crate) fn open() -> Port {
    let file = device().unwrap_or_else(|error| panic!("cannot open {PORT}: {error}"));
    Port(Arc::new(Mutex::new(file)))
}

/// For a shell, which wants the terminal as it is.
pub(crate) fn device() -> std::io::Result<File> {
    let flags = (OFlag::O_NOCTTY | OFlag::O_CLOEXEC).bits();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(PORT)?;
    let mut settings = tcgetattr(&file)?;
    cfmakeraw(&mut settings);
    tcsetattr(&file, SetArg::TCSANOW, &settings)?;
    Ok(file)
}

impl Port {
    pub(crate) fn send(&self, line: &Line) {
        let mut port = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A host that is gone has ended the machine as well.
        let _ = port.write_all(&line.encode());
    }

    /// Waits until all of it has left.
    pub(crate) fn drain(&self) {
        let port = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = tcdrain(&*port);
    }
}
