//! Questions that wait for someone outside the tree, and answers that were to be remembered. Whoever may answer is
//! decided before anything here is called.

mod scope;

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::wire::{Approving, PendingAsk};
use crate::hooks::gate::{AskAnswer, Asker, Question};

use scope::Scope;

/// Questions that wait at the same time. Each holds a call up, and a tree can make calls faster than anyone reads.
const MOST_PENDING: usize = 256;
/// Answers that are remembered.
const MOST_REMEMBERED: usize = 4096;
/// How often a waiting call looks whether its caller is still there.
const LOOK: Duration = Duration::from_millis(100);
/// Longest word of a denial, in characters.
const REASON_LIMIT: usize = 1000;

/// How an ask ended, for the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub seq: u64,
    pub hook: String,
    pub question: String,
    pub answer: String,
    pub by: Option<String>,
    pub scope: Option<String>,
}

/// Told about an ask that begins to wait, with its id.
pub type OnPending = Box<dyn Fn(u64, &str) + Send + Sync>;
/// Told about each ask that ended.
pub type OnAsked = Box<dyn Fn(Asked) + Send + Sync>;

/// The asks of a session.
pub struct Approvals {
    timeout: Mutex<Duration>,
    on_pending: OnPending,
    on_asked: OnAsked,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last_id: u64,
    version: u64,
    pending: BTreeMap<u64, Waiting>,
    remembered: Vec<Scope>,
}

struct Waiting {
    scope: Scope,
    shown: PendingAsk,
    until: Instant,
    given: Option<Given>,
}

#[derive(Clone)]
enum Given {
    Allowed {
        by: String,
        remembered: bool,
    },
    Denied {
        by: String,
        note: Option<String>,
    },
    /// By an answer to an equal call.
    Waived,
}

impl Approvals {
    pub fn new(timeout: Duration, on_pending: OnPending, on_asked: OnAsked) -> Self {
        Self {
            timeout: Mutex::new(timeout),
            on_pending,
            on_asked,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Another policy is in force: what was remembered was an answer to the one before.
    pub fn renew(&self, timeout: Duration) {
        *self.timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
        let mut state = self.state();
        state.remembered.clear();
        self.change(&mut state);
    }

    /// The state is whole between any two statements: a panic elsewhere spoils nothing.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits. With `after`, only once the list is another one than that, or `wait` has passed.
    pub fn list(&self, after: Option<u64>, wait: Duration, wanted: &dyn Fn() -> bool) -> Approving {
        let until = Instant::now() + wait;
        let mut state = self.state();
        while Some(state.version) == after && wanted() {
            let left = until.saturating_duration_since(Instant::now()).min(LOOK);
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let now = Instant::now();
        let open = state.pending.values().filter(|waiting| waiting.given.is_none());
        let pending = open
            .map(|waiting| PendingAsk {
                seconds_left: waiting.until.saturating_duration_since(now).as_secs(),
                ..waiting.shown.clone()
            })
            .collect();
        let remembered = state.remembered.iter().map(|scope| scope.shown().to_owned()).collect();
        Approving { version: state.version, pending, remembered }
    }

    /// The scope that the answer holds for. The error is the id that does not wait.
    pub fn allow(&self, id: u64, remember: bool, by: &str) -> Result<String, u64> {
        let mut state = self.state();
        let scope = open(&mut state, id)?.scope.clone();
        let full = state.remembered.len() >= MOST_REMEMBERED;
        let remembered = remember && scope.is_whole() && !full;
        open(&mut state, id)?.given = Some(Given::Allowed { by: by.to_owned(), remembered });
        if !remembered {
            self.change(&mut state);
            return Ok(match (remember, full) {
                (false, _) => "this call alone".to_owned(),
                (true, true) => format!("this call alone: {MOST_REMEMBERED} answers are remembered already"),
                (true, false) => "this call alone: not all of what it runs is known".to_owned(),
            });
        }
        for equal in state.pending.values_mut().filter(|waiting| waiting.scope == scope) {
            equal.given.get_or_insert(Given::Waived);
        }
        let shown = scope.shown().to_owned();
        state.remembered.push(scope);
        self.change(&mut state);
        Ok(shown)
    }

    pub fn deny(&self, id: u64, reason: Option<String>, by: &str) -> Result<(), u64> {
        let note =
            reason.map(|reason| reason.chars().filter(|c| !c.is_control()).take(REASON_LIMIT).collect());
        let mut state = self.state();
        open(&mut state, id)?.given = Some(Given::Denied { by: by.to_owned(), note });
        self.change(&mut state);
        Ok(())
    }

    fn change(&self, state: &mut State) {
        state.version += 1;
        self.changed.notify_all();
    }

    fn wait(&self, id: u64, wanted: &dyn Fn() -> bool) -> End {
        let mut state = self.state();
        loop {
            let Some(waiting) = state.pending.get(&id) else { return End::Withdrawn };
            let left = waiting.until.saturating_duration_since(Instant::now());
            let end = match &waiting.given {
                Some(given) => Some(End::Given(given.clone())),
                None if left.is_zero() => Some(End::Expired),
                None if !wanted() => Some(End::Withdrawn),
                None => None,
            };
            if let Some(end) = end {
                state.pending.remove(&id);
                self.change(&mut state);
                return end;
            }
            state =
                self.changed.wait_timeout(state, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

enum End {
    Given(Given),
    Expired,
    Withdrawn,
}

fn open(state: &mut State, id: u64) -> Result<&mut Waiting, u64> {
    state.pending.get_mut(&id).filter(|waiting| waiting.given.is_none()).ok_or(id)
}

impl Asker for Approvals {
    fn ask(&self, question: &Question<'_>) -> AskAnswer {
        let scope = Scope::of(question);
        let mut asked = Asked {
            seq: scope::seq(question),
            hook: question.hook.to_owned(),
            question: question.text.to_owned(),
            answer: String::new(),
            by: None,
            scope: None,
        };
        let mut state = self.state();
        if state.remembered.contains(&scope) {
            drop(state);
            "waived".clone_into(&mut asked.answer);
            asked.scope = Some(scope.shown().to_owned());
            (self.on_asked)(asked);
            return AskAnswer::Approved;
        }
        if state.pending.len() >= MOST_PENDING {
            return AskAnswer::Unanswered { why: format!("while {MOST_PENDING} others wait for one") };
        }
        state.last_id += 1;
        let id = state.last_id;
        let shown = scope::shown(id, question, &scope);
        let call = shown.call.clone();
        let timeout = *self.timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + timeout;
        state.pending.insert(id, Waiting { scope: scope.clone(), shown, until, given: None });
        self.change(&mut state);
        drop(state);
        (self.on_pending)(id, &format!("{}: {} [{call}]", question.hook, question.text));
        let (answer, told) = match self.wait(id, &question.wanted) {
            End::Given(Given::Allowed { by, remembered }) => {
                asked.by = Some(by);
                asked.scope = remembered.then(|| scope.shown().to_owned());
                let (answer, told) = if remembered {
                    (AskAnswer::Remembered, "remembered")
                } else {
                    (AskAnswer::Approved, "allowed")
                };
                (answer, told.to_owned())
            }
            End::Given(Given::Waived) => {
                asked.scope = Some(scope.shown().to_owned());
                (AskAnswer::Approved, "waived".to_owned())
            }
            End::Given(Given::Denied { by, note }) => {
                asked.by = Some(by);
                let told =
                    note.as_ref().map_or_else(|| "denied".to_owned(), |note| format!("denied: {note}"));
                (AskAnswer::Denied { note }, told)
            }
            End::Expired => {
                let why = format!("that nobody gave within {}s", timeout.as_secs_f64());
                (AskAnswer::Unanswered { why }, "expired".to_owned())
            }
            End::Withdrawn => {
                let why = "that its caller did not wait for".to_owned();
                (AskAnswer::Unanswered { why }, "withdrawn".to_owned())
            }
        };
        asked.answer = told;
        (self.on_asked)(asked);
        answer
    }
}

#[cfg(test)]
mod tests;
