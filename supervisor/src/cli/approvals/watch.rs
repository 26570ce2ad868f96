//! A screen with the asks that wait, answered with single keys. It must be on another terminal than a watched command:
//! whoever shares a terminal can type into it and draw over it.

mod board;
mod screen;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use nix::sys::signal::{SigSet, Signal};
use procfs::process::Process;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use ratatui::crossterm::execute;

use self::board::{Act, Board};
use super::desk::{Desk, Running};
use super::places::Places;

/// How often the seconds that are left are drawn anew.
const TICK: Duration = Duration::from_secs(1);

/// What the screen reacts to.
enum News {
    Changed,
    Typed(Event),
    Signal(Signal),
    /// The terminal is gone.
    Hangup,
}

pub(super) fn watch(places: Places) -> anyhow::Result<ExitCode> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!("watch needs a terminal to show and ask on; use list, allow and deny");
    }
    let (send, news) = channel();
    // Before any thread is there, so that none of them takes one: the terminal is put right first.
    let signals = fatal_signals();
    signals.thread_block().context("cannot hold signals back")?;
    let changed = send.clone();
    let desk = Desk::open(places, Box::new(move || drop(changed.send(News::Changed))))?;
    let mut screen = Screen::open().context("cannot use the terminal")?;
    listen(&send, signals)?;
    show(&mut screen, &desk, &news)
}

/// Those that end a process, and the one that would stop it with the terminal as it is.
fn fatal_signals() -> SigSet {
    let all = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP];
    all.into_iter().collect()
}

fn listen(send: &Sender<News>, signals: SigSet) -> io::Result<()> {
    let of_signals = send.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        while let Ok(signal) = signals.wait() {
            if of_signals.send(News::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    let of_keys = send.clone();
    thread::Builder::new().name("keys".into()).spawn(move || {
        while let Ok(event) = event::read() {
            if of_keys.send(News::Typed(event)).is_err() {
                return;
            }
        }
        let _ = of_keys.send(News::Hangup);
    })?;
    Ok(())
}

fn show(screen: &mut Screen, desk: &Arc<Desk>, news: &Receiver<News>) -> anyhow::Result<ExitCode> {
    let ours = Process::myself().and_then(|process| process.stat()).map_or(0, |stat| stat.tty_nr);
    let mut board = Board::default();
    loop {
        let running = desk.sessions();
        refuse_shared(&running, ours)?;
        board.update(&running, Instant::now());
        screen.0.draw(|frame| screen::draw(frame, &board, Instant::now()))?;
        match news.recv_timeout(TICK) {
            Ok(News::Changed | News::Signal(Signal::SIGTSTP)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(News::Signal(signal)) => {
                let code = 128 + signal as i32;
                return Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)));
            }
            Ok(News::Hangup) | Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
            Ok(News::Typed(event)) => match board.typed(&event, Instant::now()) {
                Act::Nothing => {}
                Act::Quit => return Ok(ExitCode::SUCCESS),
                Act::Decide(key, decision) => {
                    let done = desk.decide(key.number, key.id, &decision, |_| Ok(()));
                    board.answered(&decision, done);
                }
            },
        }
    }
}

/// A session's command could type the answer itself.
fn refuse_shared(running: &[Running], ours: i32) -> anyhow::Result<()> {
    match running.iter().find(|session| session.facts.terminal == ours) {
        Some(session) => bail!(
            "this terminal is also that of the watched command of session {}, which could type the answer itself; \
             watch from another one",
            session.facts.session_id
        ),
        None => Ok(()),
    }
}

/// The terminal while it is ours; put right when this goes out of scope, and before a panic is told.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        let screen = Self(ratatui::try_init()?);
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = execute!(io::stdout(), DisableBracketedPaste);
            told(panic);
        }));
        // What is pasted must not answer a question.
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        let _ = ratatui::try_restore();
    }
}
