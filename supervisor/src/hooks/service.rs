//! The `service` runner: one long-lived process, a JSON line in for each event and a JSON line out for each answer.
//! Events are told apart by number, so several may be open at once. Whatever breaks the conversation (the process
//! ends, a line is no answer, stdin does not drain) ends that process, and every call that waited for it is a
//! fault; the next call starts another.

mod conversation;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::process::ChildStdin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Defect;
use super::command::Fault;
use super::command::pins::Pins;
use super::manifest::CommandSpec;
use super::native::Native;
use super::protocol::Reply;

/// How often a waiting call looks whether its answer is still of use.
const TICK: Duration = Duration::from_millis(50);
/// After a process that answered nothing, the next one waits this long, and twice as long each time after.
const REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_secs(5);

/// A hook that is one process for the whole session, started with its first event.
pub struct Service {
    /// For the thread that listens to its process, which must not keep it.
    me: Weak<Self>,
    spec: CommandSpec,
    pins: OnceLock<Pins>,
    state: Mutex<State>,
    said: Condvar,
}

#[derive(Default)]
struct State {
    instance: Option<Instance>,
    /// Number of the last instance.
    instances: u64,
    last_call: u64,
    /// Calls without an answer yet have `None`.
    calls: HashMap<u64, Call>,
    /// Instances in a row that answered nothing.
    useless: u32,
    rest_until: Option<Instant>,
    closed: bool,
}

struct Call {
    instance: u64,
    answer: Option<Result<Reply, Fault>>,
}

struct Instance {
    number: u64,
    stdin: Arc<Mutex<ChildStdin>>,
    answers: u64,
    conversation: conversation::Handle,
}

impl Service {
    pub fn new(spec: CommandSpec) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            spec,
            pins: OnceLock::new(),
            state: Mutex::default(),
            said: Condvar::new(),
        })
    }
}

impl Native for Service {
    fn pin(&self) {
        self.pins.get_or_init(|| Pins::of(&self.spec));
    }

    fn ask(&self, timeout: Duration, payload: &[u8], wanted: &dyn Fn() -> bool) -> Result<Reply, Fault> {
        if let Some(path) = self.pins.get().and_then(Pins::changed) {
            return Err(Fault::changed(path));
        }
        let deadline = Instant::now() + timeout;
        let (id, instance, stdin) = self.open_call()?;
        let line =
            [format!("{{\"id\":{id},\"event\":").as_bytes(), payload.trim_ascii_end(), b"}\n"].concat();
        let told = tell(&stdin, &line, deadline, wanted);
        let asked = Instant::now();
        let answer = match told {
            Ok(()) => self.await_answer(id, deadline, timeout, wanted),
            Err(fault) => {
                // Half a line may be in the pipe: nothing that follows it would be understood.
                self.lose(instance, &fault);
                self.close_call(id);
                Err(fault)
            }
        };
        if matches!(&answer, Err(fault) if fault.defect == Defect::Timeout) {
            self.give_up_on(instance, asked);
        }
        answer
    }

    /// Gently at first. Calls that wait are faults.
    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        if let Some(instance) = state.instance.take() {
            drop(state);
            instance.conversation.stop();
        }
    }
}

impl Service {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_call(&self) -> Result<(u64, u64, Arc<Mutex<ChildStdin>>), Fault> {
        let mut state = self.state();
        if state.closed {
            return Err(Fault::new(Defect::Internal, "the session has ended"));
        }
        if state.instance.is_none() {
            if let Some(left) =
                state.rest_until.and_then(|until| until.checked_duration_since(Instant::now()))
            {
                let times = state.useless;
                let detail = format!("ended without an answer {times} times; the next start is in {left:?}");
                return Err(Fault::new(Defect::Crash, detail));
            }
            state.instances += 1;
            let number = state.instances;
            let (stdin, conversation) =
                conversation::start(Weak::clone(&self.me), self.spec.clone(), number)?;
            let stdin = Arc::new(Mutex::new(stdin));
            state.instance = Some(Instance { number, stdin, answers: 0, conversation });
        }
        let Some(instance) = &state.instance else {
            return Err(Fault::new(Defect::Internal, "the service is not there"));
        };
        let (number, stdin) = (instance.number, Arc::clone(&instance.stdin));
        state.last_call += 1;
        let id = state.last_call;
        state.calls.insert(id, Call { instance: number, answer: None });
        Ok((id, number, stdin))
    }

    fn close_call(&self, id: u64) -> Option<Call> {
        self.state().calls.remove(&id)
    }

    fn await_answer(
        &self,
        id: u64,
        deadline: Instant,
        timeout: Duration,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Reply, Fault> {
        let mut state = self.state();
        loop {
            match state.calls.get(&id) {
                Some(Call { answer: Some(_), .. }) => {}
                Some(Call { answer: None, .. }) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.calls.remove(&id);
                        return Err(Fault::new(Defect::Timeout, format!("timed out after {timeout:?}")));
                    }
                    let (guard, waited) =
                        self.said.wait_timeout(state, left.min(TICK)).unwrap_or_else(PoisonError::into_inner);
                    state = guard;
                    if waited.timed_out() && !wanted() {
                        state.calls.remove(&id);
                        return Err(Fault::new(Defect::Internal, "nobody waits for the answer any more"));
                    }
                    continue;
                }
                None => return Err(Fault::new(Defect::Internal, "the call was lost")),
            }
            let answer = state.calls.remove(&id).and_then(|call| call.answer);
            return answer.unwrap_or_else(|| Err(Fault::new(Defect::Internal, "the answer was lost")));
        }
    }

    /// An answer arrived. An id nobody waits for is one whose time was over.
    fn hear(&self, instance: u64, id: u64, reply: Reply) {
        let mut state = self.state();
        state.useless = 0;
        if let Some(current) = state.instance.as_mut().filter(|current| current.number == instance) {
            current.answers += 1;
        }
        if let Some(call) = state.calls.get_mut(&id).filter(|call| call.instance == instance) {
            call.answer.get_or_insert(Ok(reply));
            self.said.notify_all();
        }
    }

    /// Whether a call of this number was ever made.
    fn knows(&self, id: u64) -> bool {
        (1..=self.state().last_call).contains(&id)
    }

    /// The conversation with an instance is over; everything that waited for it is a fault.
    fn lose(&self, instance: u64, fault: &Fault) {
        let mut state = self.state();
        for call in state.calls.values_mut().filter(|call| call.instance == instance) {
            call.answer.get_or_insert_with(|| Err(fault.clone()));
        }
        self.said.notify_all();
        let Some(lost) = state.instance.take_if(|current| current.number == instance) else { return };
        if lost.answers == 0 {
            let rest = REST.saturating_mul(1 << state.useless.min(16)).min(LONGEST_REST);
            state.useless += 1;
            state.rest_until = Some(Instant::now() + rest);
        }
        drop(state);
        lost.conversation.stop();
    }

    /// A call timed out. A process that has answered nothing at all since then is stuck.
    fn give_up_on(&self, instance: u64, since: Instant) {
        let stuck = {
            let state = self.state();
            state.instance.as_ref().is_some_and(|current| {
                current.number == instance && current.conversation.last_answer() < since
            })
        };
        if stuck {
            self.lose(instance, &Fault::new(Defect::Timeout, "the service answers nothing any more"));
        }
    }
}

/// Writes a whole line. Calls take turns; one whose turn does not come in time gives up.
fn tell(
    stdin: &Mutex<ChildStdin>,
    mut line: &[u8],
    deadline: Instant,
    wanted: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
    while !line.is_empty() {
        match stdin.write(line) {
            Ok(written) => line = &line[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() || !wanted() {
                    return Err(Fault::new(Defect::Timeout, "does not read its events"));
                }
                let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLOUT)];
                let millis = u16::try_from(left.min(TICK).as_millis() + 1).unwrap_or(u16::MAX);
                let _ = poll(&mut fds, PollTimeout::from(millis));
            }
            Err(error) => {
                return Err(Fault::new(Defect::Crash, format!("does not take its events: {error}")));
            }
        }
    }
    Ok(())
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "service: {}", self.spec)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.close();
    }
}
