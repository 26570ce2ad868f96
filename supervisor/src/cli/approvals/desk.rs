//! The asks of all sessions that run, as they come and go: one thread looks for sessions, one a session waits for its list
//! to change. Whoever shows them is told that something changed and takes what there is then, so nothing piles up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::places::Places;
use super::{Decision, answer};
use crate::control::tree::Tree;
use crate::control::wire::{Approving, FORBIDDEN, ListRequest, PendingAsk, STATE, SessionFacts};
use crate::control::{Client, ClientError};

/// How often it is looked for new sessions, and whether one that asks nobody still runs.
const LOOK: Duration = Duration::from_millis(500);
/// How long one look at a list may wait, in milliseconds.
const WAIT_MS: u64 = 20_000;
/// Whoever listens on a socket has so long to answer: the watched tree can put one of its own there.
const PATIENCE: Duration = Duration::from_secs(5);
/// Sockets that are followed at the same time.
const MOST: usize = 64;

/// A session that runs.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Running {
    /// Names it here. A session's own name does not: whoever listens gives it.
    pub(in crate::cli) number: u64,
    pub(in crate::cli) facts: SessionFacts,
    pub(in crate::cli) tree: Arc<Tree>,
    pub(in crate::cli) approving: Approving,
    /// Why its asks cannot be seen.
    pub(in crate::cli) blind: Option<String>,
    /// When `approving` was told.
    told: Instant,
    socket: PathBuf,
}

impl Running {
    /// What waits, with the seconds that are left now.
    pub(in crate::cli) fn pending(&self) -> impl Iterator<Item = PendingAsk> {
        let passed = self.told.elapsed().as_secs();
        self.approving.pending.iter().map(move |ask| PendingAsk {
            seconds_left: ask.seconds_left.saturating_sub(passed),
            ..ask.clone()
        })
    }
}

/// Told after each change.
type OnChange = dyn Fn() + Send + Sync;

/// All sessions that run.
pub(in crate::cli) struct Desk {
    places: Places,
    /// By their sockets.
    running: Mutex<BTreeMap<PathBuf, Running>>,
    /// Sockets that a thread is busy with.
    taken: Mutex<BTreeSet<PathBuf>>,
    last_number: AtomicU64,
    on_change: Box<OnChange>,
}

impl Desk {
    /// Looks for sessions until the process ends.
    pub(in crate::cli) fn open(places: Places, on_change: Box<OnChange>) -> anyhow::Result<Arc<Self>> {
        // What cannot be looked at at all is an error now; later it is looked at again.
        places.sockets()?;
        let desk = Arc::new(Self {
            places,
            running: Mutex::default(),
            taken: Mutex::default(),
            last_number: AtomicU64::new(0),
            on_change,
        });
        let looking = Arc::clone(&desk);
        thread::Builder::new().name("sessions".into()).spawn(move || {
            loop {
                looking.look();
                thread::sleep(LOOK);
            }
        })?;
        Ok(desk)
    }

    /// The state is whole between any two statements: a panic elsewhere spoils nothing.
    fn running(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs now.
    pub(in crate::cli) fn sessions(&self) -> Vec<Running> {
        self.running().values().cloned().collect()
    }

    fn taken(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each socket has a thread of its own from the first word on: one that does not answer holds up no other.
    fn look(self: &Arc<Self>) {
        for socket in self.places.sockets().unwrap_or_default() {
            let mut taken = self.taken();
            if taken.len() >= MOST || !taken.insert(socket.clone()) {
                continue;
            }
            drop(taken);
            let desk = Arc::clone(self);
            let name = thread::Builder::new().name("asks".into());
            let started = name.spawn(move || {
                if let Ok((client, mut running)) = meet(&socket) {
                    running.number = desk.last_number.fetch_add(1, Ordering::Relaxed) + 1;
                    desk.running().insert(socket.clone(), running);
                    (desk.on_change)();
                    desk.follow(client, &socket);
                    desk.running().remove(&socket);
                    (desk.on_change)();
                }
                desk.taken().remove(&socket);
            });
            if started.is_err() {
                return;
            }
        }
    }

    /// Until the session ends.
    fn follow(&self, mut client: Client, socket: &Path) {
        let mut after = None;
        if client.wait_at_most(PATIENCE + Duration::from_millis(WAIT_MS)).is_err() {
            return;
        }
        loop {
            let list = client.call("approvals.list", &ListRequest { after, wait_ms: WAIT_MS });
            let (approving, blind) = match list {
                Ok(list) => (list, None),
                Err(ClientError::Refused(error)) if [STATE, FORBIDDEN].contains(&error.code) => {
                    (nothing(), Some(error.message))
                }
                Err(_) => return,
            };
            let wait = blind.is_some();
            after = Some(approving.version);
            self.update(socket, approving, blind);
            if wait {
                thread::sleep(LOOK);
            }
        }
    }

    fn update(&self, socket: &Path, approving: Approving, blind: Option<String>) {
        let mut running = self.running();
        let Some(known) = running.get_mut(socket) else { return };
        let changed = known.approving != approving || known.blind != blind;
        (known.approving, known.blind, known.told) = (approving, blind, Instant::now());
        drop(running);
        if changed {
            (self.on_change)();
        }
    }

    /// Answers an ask, if `may` has no objection for the tree that it comes from. The tree is that of the very connection
    /// on which the answer goes, and who listens there must be the process that showed the ask: in the session's folder the
    /// watched tree can put a socket of its own, with harmless questions, in the place of the session's.
    pub(in crate::cli) fn decide(
        &self,
        number: u64,
        id: u64,
        decision: &Decision,
        may: impl FnOnce(&Tree) -> Result<(), String>,
    ) -> Result<String, String> {
        let shown = self.running().values().find(|known| known.number == number).cloned();
        let shown = shown.ok_or("the session does not run any more")?;
        let (mut client, running) = meet(&shown.socket).map_err(|error| error.to_string())?;
        if !shown.tree.is(&running.tree) {
            return Err("another process than the one that asked listens there now".to_owned());
        }
        may(&running.tree)?;
        answer(&mut client, id, decision).map_err(|error| error.to_string())
    }
}

fn meet(socket: &Path) -> Result<(Client, Running), ClientError> {
    let mut client = Client::connect(socket)?;
    client.wait_at_most(PATIENCE)?;
    // The process is there when its number is looked up, or the call behind it would not be answered.
    let tree = client.tree()?;
    let facts: SessionFacts = client.call("session", &json!({}))?;
    let tree = Arc::new(if facts.container { tree.of_containers() } else { tree });
    let (told, socket) = (Instant::now(), socket.to_owned());
    Ok((client, Running { number: 0, facts, tree, approving: nothing(), blind: None, told, socket }))
}

fn nothing() -> Approving {
    Approving { version: 0, pending: Vec::new(), remembered: Vec::new() }
}
