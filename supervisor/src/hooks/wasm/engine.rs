//! The one engine of the process: how components are compiled, what they may import, and the clock by which a running
//! one is interrupted. No thread exists before the first call: configurations are loaded before the supervisor forks.

use std::sync::{Condvar, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use wasmtime::component::Linker;
use wasmtime::{Config, Engine};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::random::WasiRandom;

use super::call::State;

/// How often running code is interrupted, to look whether its time is over.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// How components are compiled, and what they may import.
pub(super) struct Machine {
    pub(super) engine: Engine,
    pub(super) linker: Linker<State>,
}

/// The process's machine, made with the first component.
pub(super) fn machine() -> Result<&'static Machine, String> {
    static MACHINE: LazyLock<Result<Machine, String>> =
        LazyLock::new(|| make().map_err(|error| format!("{error:#}")));
    MACHINE.as_ref().map_err(Clone::clone)
}

fn make() -> wasmtime::Result<Machine> {
    let mut config = Config::new();
    // Running code looks at the epoch wherever it can loop.
    config.epoch_interruption(true);
    // A fault is for the agent and the trace; addresses within a component say nothing to either.
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    config.concurrency_support(false);
    let engine = Engine::new(&config)?;
    let mut linker = Linker::new(&engine);
    // io, clocks, random and the three streams of stdio.
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(&mut linker)?;
    let l = &mut linker;
    random::insecure::add_to_linker::<State, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<State, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    cli::environment::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::exit::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(l, State::cli)?;
    filesystem::preopens::add_to_linker::<State, WasiFilesystem>(l, State::filesystem)?;
    filesystem::types::add_to_linker::<State, WasiFilesystem>(l, State::filesystem)?;
    Ok(Machine { engine, linker })
}

/// While it lives, the epoch goes on.
pub(super) struct Ticking(());

struct Clock {
    running: Mutex<usize>,
    changed: Condvar,
}

static CLOCK: Clock = Clock { running: Mutex::new(0), changed: Condvar::new() };

impl Ticking {
    /// Starts the clock's thread with the first call. Without it nothing could be interrupted, so nothing is run.
    pub(super) fn start(engine: &'static Engine) -> Result<Self, String> {
        static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
        let started = STARTED.get_or_init(|| {
            let thread = std::thread::Builder::new().name("wasm-clock".into());
            thread.spawn(|| tick(engine)).map(drop).map_err(|error| error.to_string())
        });
        started.clone()?;
        *CLOCK.running.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        CLOCK.changed.notify_one();
        Ok(Self(()))
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        *CLOCK.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

fn tick(engine: &Engine) {
    loop {
        let running = CLOCK.running.lock().unwrap_or_else(PoisonError::into_inner);
        drop(CLOCK.changed.wait_while(running, |running| *running == 0));
        std::thread::sleep(TICK);
        engine.increment_epoch();
    }
}
