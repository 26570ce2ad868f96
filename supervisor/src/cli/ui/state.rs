//! What the page shows besides a timeline: sessions and pending asks, as one value that replaces the one before. Whoever is
//! slow to take it misses the values in between and holds up nobody.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::detail::block;
use super::sessions::Sessions;
use crate::cli::approvals::desk::{Desk, Running};
use crate::cli::approvals::places::Places;
use crate::cli::log::escape::escape;
use crate::cli::log::source::Source;
use crate::control::tree::Tree;
use crate::control::wire::PendingAsk;

/// How often traces are looked at.
const LOOK: Duration = Duration::from_millis(400);

pub(super) struct Shown {
    workdir: Option<PathBuf>,
    pub(super) desk: Arc<Desk>,
    sessions: Mutex<Sessions>,
    version: Arc<watch::Sender<u64>>,
}

impl Shown {
    pub(super) fn start(workdir: Option<PathBuf>) -> anyhow::Result<Arc<Self>> {
        let version = Arc::new(watch::Sender::new(0));
        let places = workdir.clone().map_or_else(|| Places::Own(String::new()), Places::Workdir);
        let changed = Arc::clone(&version);
        let desk = Desk::open(places, Box::new(move || changed.send_modify(|version| *version += 1)))?;
        let shown = Arc::new(Self { workdir, desk, sessions: Mutex::default(), version });
        let looking = Arc::clone(&shown);
        thread::Builder::new().name("traces".into()).spawn(move || {
            loop {
                if looking.sessions().look(looking.workdir.as_deref()) {
                    looking.version.send_modify(|version| *version += 1);
                }
                thread::sleep(LOOK);
            }
        })?;
        Ok(shown)
    }

    /// What one step of a reader leaves behind is whole: a panic elsewhere spoils nothing.
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Told of each change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The trees that a client must not be of.
    pub(super) fn trees(&self) -> Vec<Arc<Tree>> {
        self.desk.sessions().into_iter().map(|running| running.tree).collect()
    }

    /// The session of exactly this name, also one that has just begun.
    pub(super) fn source(&self, id: &str) -> Option<Source> {
        let mut sessions = self.sessions();
        let find = |sessions: &Sessions| {
            let mut all = sessions.all().into_iter().map(|(source, _)| source);
            all.find(|source| source.session_id == id)
        };
        find(&sessions).or_else(|| {
            sessions.look(self.workdir.as_deref());
            find(&sessions)
        })
    }

    /// All of it, as the page reads it.
    pub(super) fn now(&self) -> Value {
        let running = self.desk.sessions();
        let find = |id: &str| running.iter().find(|running| running.facts.session_id == id);
        let listed = self.sessions().all();
        let sessions: Vec<Value> = listed
            .iter()
            .map(|(source, summary)| {
                let live = find(&source.session_id);
                json!({
                    "id": escape(&source.session_id),
                    "start": escape(&summary.start),
                    "command": escape(&summary.command),
                    "allowed": summary.allowed,
                    "refused": summary.refused,
                    "ended": summary.ended,
                    "running": live.is_some(),
                    "interactive": live.is_some_and(|live| live.facts.interactive),
                    "blind": live.and_then(|live| live.blind.as_deref()).map(escape),
                    "remembered": live.map_or_else(Vec::new, |live| {
                        live.approving.remembered.iter().map(|scope| escape(scope)).collect()
                    }),
                })
            })
            .collect();
        json!({
            "workdir": self.workdir.as_deref().map(Path::display).map(|path| path.to_string()),
            "sessions": sessions,
            "asks": running
                .iter()
                .flat_map(|running| running.pending().map(|ask| shown(running, &ask)))
                .collect::<Vec<_>>(),
        })
    }
}

/// All of an ask that decides what runs, made harmless.
fn shown(running: &Running, ask: &PendingAsk) -> Value {
    let argv = ask.argv.as_ref().map(|argv| argv.iter().map(|word| escape(word)).collect::<Vec<_>>());
    let input = ask.input.as_ref().map(|input| serde_json::to_string_pretty(input).unwrap_or_default());
    json!({
        "at": running.number,
        "session": escape(&running.facts.session_id),
        "id": ask.id,
        "seq": ask.seq,
        "hook": escape(&ask.hook),
        "question": escape(&ask.question),
        "call": escape(&ask.call),
        "path": ask.path.as_deref().map(escape),
        "argv": argv,
        "script": ask.script.as_deref().map(block),
        "tool": ask.tool_name.as_deref().map(escape),
        "input": input.as_deref().map(block),
        "scope": escape(&ask.scope),
        "seconds_left": ask.seconds_left,
    })
}
