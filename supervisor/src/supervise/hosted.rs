//! A session inside a program that goes on afterwards: the front is a child of its own. The host keeps its signals,
//! descriptors and terminal; nothing of it but the hooks runs in the forks.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use super::builder::{Prepared, RunError};
use crate::launch::front::FAILED;
use crate::sys::process::{self, Fork};

pub(super) fn run(session: Prepared) -> Result<u8, RunError> {
    // As system(3) does: they are the command's, which shares the terminal. They come when the session is over.
    let keys = SigSet::from_iter([Signal::SIGINT, Signal::SIGQUIT]);
    let before = keys
        .thread_swap_mask(SigmaskHow::SIG_BLOCK)
        .map_err(|errno| RunError::system("hold signals back")(errno.into()))?;
    // Who kills the program that they see kills the gate, and without the gate nothing more can be executed.
    let status = match process::fork_bound() {
        Ok(Fork::Child) => process::exit_now(i32::from(be_the_front(session))),
        Ok(Fork::Parent { child }) => await_front(child),
        Err(source) => Err(RunError::System { what: "fork the front of the session", source }),
    };
    // It was this thread's mask a moment ago.
    let _ = before.thread_set_mask();
    status
}

/// Whatever happens in here, the host's code must not run a second time in this process or in the supervisor, which is
/// forked from it: a panic ends here too.
fn be_the_front(session: Prepared) -> u8 {
    match catch_unwind(AssertUnwindSafe(|| session.launch())) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => {
            crate::launch::say(format_args!("{error}"));
            FAILED
        }
        Err(_) => FAILED,
    }
}

fn await_front(child: i32) -> Result<u8, RunError> {
    loop {
        match process::wait(child, 0) {
            Ok(Some(end)) if libc::WIFEXITED(end.status) => return Ok(libc::WEXITSTATUS(end.status) as u8),
            Ok(Some(end)) if libc::WIFSIGNALED(end.status) => {
                return Err(RunError::Killed(libc::WTERMSIG(end.status)));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(RunError::System {
                    what: "learn how the session ended (is SIGCHLD ignored here?)",
                    source,
                });
            }
        }
    }
}
