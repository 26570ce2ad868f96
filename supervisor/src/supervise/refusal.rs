//! The sentence that a refused process reads on its own stderr. Never blocks, never matters for the verdict.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::hooks::Refusal;
use crate::notify::Target;
use crate::sys::pidfd;

/// `PIPE_BUF`: a write of at most this many bytes to a writable pipe neither blocks nor mixes with others.
const LONGEST: usize = 4096;

pub(super) fn sentence(path: &str, refusal: &Refusal) -> String {
    let reason = refusal.reason.trim().trim_end_matches('.');
    let stop = if reason.ends_with(['?', '!']) { "" } else { "." };
    let head = match refusal.defect {
        None => format!("shellgate: refused {path}: hook \"{}\": {reason}", refusal.hook),
        Some(_) => format!("shellgate: refused {path}: {reason}"),
    };
    let tail = format!("{stop} Retrying the same call unchanged will be refused again.\n");
    // One line, whatever the path or the reason holds, and no terminal escapes from either.
    let mut line: String = head.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let most = LONGEST - tail.len() - '…'.len_utf8();
    if line.len() > most {
        let mut end = most;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        line.push('…');
    }
    line + &tail
}

pub(super) fn tell(target: Target, sentence: &str) {
    if let Err(error) = try_tell(target, sentence) {
        tracing::debug!(tid = target.tid, %error, "the refusal could not be told on stderr");
    }
}

fn try_tell(target: Target, sentence: &str) -> io::Result<()> {
    let stderr = stderr_of(target)?;
    let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    poll(&mut ready, PollTimeout::ZERO)?;
    if !ready[0].revents().is_some_and(|events| events.contains(PollFlags::POLLOUT)) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    File::from(stderr).write_all(sentence.as_bytes())
}

/// The very descriptor, so that a file's offset stays shared; else the file opened again.
fn stderr_of(target: Target) -> io::Result<OwnedFd> {
    pidfd::open(target.pid).and_then(|process| pidfd::get_fd(process.as_fd(), 2)).or_else(|_| {
        File::options()
            .append(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(format!("/proc/{}/fd/2", target.tid))
            .map(Into::into)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Defect;

    fn refusal(reason: &str, defect: Option<Defect>) -> Refusal {
        Refusal { hook: "guard".into(), reason: reason.into(), defect, detail: None }
    }

    #[test]
    fn the_sentence_names_program_hook_and_reason_on_one_line() {
        let told = sentence("/usr/bin/git", &refusal("force-pushing rewrites\nshared history.", None));
        assert_eq!(
            told,
            "shellgate: refused /usr/bin/git: hook \"guard\": force-pushing rewrites shared history. Retrying the \
             same call unchanged will be refused again.\n"
        );
    }

    #[test]
    fn the_sentence_fits_a_pipe_and_carries_no_escapes() {
        let told = sentence("/x\x1b[2J", &refusal(&"é".repeat(5000), Some(Defect::Crash)));
        assert!(told.len() <= LONGEST && told.ends_with("again.\n") && !told.contains('\x1b'));
    }
}
