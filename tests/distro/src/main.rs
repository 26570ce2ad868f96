//! The first process of the guest, linked statically, so that it runs under any kernel and beside any library.
//!
//! It mounts what a test expects, starts the runner as a process of its own, reaps whatever is orphaned, and
//! powers off. It judges nothing: the verdict is what the runner writes to the port.
#![forbid(unsafe_code)]

mod boot;
mod port;
mod prepare;
mod run;
mod tests;

use std::process::{Command, ExitCode};

use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use shellgate_guest::Line;

/// The word that makes this program the runner.
const RUNNER: &str = "runner";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(RUNNER) {
        return run::all();
    }
    boot::mount_all();
    match Command::new("/init").arg(RUNNER).spawn() {
        Ok(runner) => reap_until_it_ends(Pid::from_raw(runner.id().cast_signed())),
        Err(error) => eprintln!("guest: cannot start the runner: {error}"),
    }
    nix::unistd::sync();
    // Without the runner's verdict the host takes this for what it then is: an end before the verdict.
    let failed = reboot(RebootMode::RB_POWER_OFF);
    eprintln!("guest: cannot power off: {failed:?}");
    ExitCode::FAILURE
}

/// Orphans of tests are ours to wait for; a test that looks whether a process is gone relies on it.
fn reap_until_it_ends(runner: Pid) {
    loop {
        match waitpid(None::<Pid>, Some(WaitPidFlag::__WALL)) {
            Ok(status) if status.pid() == Some(runner) => {
                if status != nix::sys::wait::WaitStatus::Exited(runner, 0) {
                    port::open().send(&Line::RunnerEnded { status: format!("{status:?}") });
                }
                return;
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => {
                eprintln!("guest: cannot wait: {errno}");
                return;
            }
        }
    }
}

/// Ends everything but the first process and the runner that calls it.
pub(crate) fn end_all_others() {
    // Nobody left is as good.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
}
