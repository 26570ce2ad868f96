//! Watches one hook from spawn to answer: feeds, gathers, and decides when enough has been seen.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::pipes::{Feed, Gathered};
use super::process::Process;
use super::{DRAIN, End, Fault, GRACE, Run, STDOUT_LIMIT};
use crate::hooks::Defect;

/// How often the requester is asked whether it still waits.
const TICK: Duration = Duration::from_millis(50);

pub(super) struct Seen {
    pub(super) run: Run,
    /// A process that is not the hook's leader still held an output when the answer was due.
    pub(super) held_open: bool,
}

pub(super) fn watch(
    process: &mut Process,
    payload: &[u8],
    deadline: Instant,
    timeout: Duration,
    wanted: &dyn Fn() -> bool,
) -> Result<Seen, Fault> {
    let lost = |what: &str| Fault::new(Defect::Internal, format!("lost the hook's {what}"));
    let child = process.child().ok_or_else(|| lost("process"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let unblocked = |error: Errno| lost(&format!("pipes: {error}"));
    let mut feed = Feed::new(stdin.ok_or_else(|| lost("stdin"))?, payload).map_err(unblocked)?;
    let mut stdout = Gathered::stdout(stdout.ok_or_else(|| lost("stdout"))?).map_err(unblocked)?;
    let mut stderr = Gathered::stderr(stderr.ok_or_else(|| lost("stderr"))?).map_err(unblocked)?;
    let mut ended: Option<(End, Instant)> = None;
    let mut tick = Instant::now() + TICK;
    loop {
        let now = Instant::now();
        if stdout.is_flooded() {
            let detail = format!("wrote more than {STDOUT_LIMIT} bytes to stdout");
            return Err(Fault::new(Defect::Unreadable, detail).with_stderr(&stderr.bytes));
        }
        let until = match ended {
            // stderr matters only to explain a failure, so a success does not wait for it.
            Some((end, until)) => {
                let complete = !stdout.is_open() && (end == End::Exit(0) || !stderr.is_open());
                if complete || now >= until {
                    let held_open = stdout.is_open() || stderr.is_open();
                    let stdout_open = stdout.is_open();
                    let run = Run { end, stdout: stdout.bytes, stdout_open, stderr: stderr.bytes };
                    return Ok(Seen { run, held_open });
                }
                until
            }
            None if now >= deadline => {
                process.terminate(GRACE);
                let detail = format!("timed out after {timeout:?}");
                return Err(Fault::new(Defect::Timeout, detail).with_stderr(&stderr.bytes));
            }
            None => deadline,
        };
        if now >= tick {
            if !wanted() {
                return Err(Fault::new(Defect::Internal, "nobody waits for the answer any more"));
            }
            tick = now + TICK;
        }
        let leader = ended.is_none().then(|| process.pidfd());
        let ready = ready([feed.fd(), stdout.fd(), stderr.fd(), leader], until.min(tick) - now)
            .map_err(|error| Fault::new(Defect::Internal, format!("cannot watch the hook: {error}")))?;
        if ready[0] {
            feed.write();
        }
        if ready[3] {
            let end = process
                .ended()
                .map_err(|error| Fault::new(Defect::Crash, format!("its exit status is lost: {error}")))?;
            ended = end.map(|end| (end, Instant::now() + DRAIN));
        }
        if ready[1] {
            stdout.read();
        }
        if ready[2] {
            stderr.read();
        }
        // Whatever was written before the end is in the pipes by now, and their end too unless another
        // process holds them: without this an answered hook would look as if it held stderr open.
        if ended.is_some() {
            stderr.read_all_there_is();
        }
    }
}

/// Which of the descriptors have something to say, after at most `wait`. The first is for writing.
fn ready(fds: [Option<BorrowedFd<'_>>; 4], wait: Duration) -> nix::Result<[bool; 4]> {
    let mut polled = Vec::with_capacity(fds.len());
    let mut places = Vec::with_capacity(fds.len());
    for (place, fd) in fds.iter().enumerate() {
        if let Some(fd) = fd {
            let events = if place == 0 { PollFlags::POLLOUT } else { PollFlags::POLLIN };
            polled.push(PollFd::new(*fd, events));
            places.push(place);
        }
    }
    // Rounded up: rounding down would spin through the last millisecond.
    let millis = u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX);
    match poll(&mut polled, PollTimeout::from(millis)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error),
    }
    let mut ready = [false; 4];
    for (place, fd) in places.into_iter().zip(&polled) {
        ready[place] = fd.revents().is_some_and(|events| !events.is_empty());
    }
    Ok(ready)
}
