//! One call: a fresh store with what is granted, one instance, one function. The calling thread runs it and looks at
//! each tick whether the time is over or nobody waits any more; both end it wherever it is.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use tokio::runtime::{Builder, Runtime};
use wasmtime::component::ResourceTable;
use wasmtime::{Store, Trap};
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtx, WasiCtxView, WasiView};

use super::bounds::Bounds;
use super::engine::{TICK, Ticking, machine};
use super::load::Loaded;
use super::stderr::Tail;
use crate::hooks::Defect;
use crate::hooks::command::{Fault, STDERR_TAIL};
use crate::hooks::manifest::Grants;

/// Handles (streams, files, timers) that a call may have open.
const HANDLES: usize = 1024;

/// What a store holds for its one call.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    bounds: Bounds,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The function's result, and the end of what it wrote to stderr.
pub(super) fn call(
    loaded: &Loaded,
    grants: &Grants,
    event: &str,
    timeout: Duration,
    wanted: &dyn Fn() -> bool,
) -> (Result<Result<String, String>, Fault>, Vec<u8>) {
    let stderr = Tail::default();
    let said = run(loaded, grants, event, timeout, wanted, &stderr);
    (said, stderr.take())
}

fn run(
    loaded: &Loaded,
    grants: &Grants,
    event: &str,
    timeout: Duration,
    wanted: &dyn Fn() -> bool,
    stderr: &Tail,
) -> Result<Result<String, String>, Fault> {
    let deadline = Instant::now() + timeout;
    let internal = |why: String| Fault::new(Defect::Internal, format!("cannot run components: {why}"));
    let machine = machine().map_err(internal)?;
    let _ticking = Ticking::start(&machine.engine).map_err(internal)?;
    let _traps = Traps::unblocked().map_err(|errno| internal(errno.to_string()))?;
    let executor = Executor::new().map_err(|error| internal(error.to_string()))?;
    let state = State {
        wasi: granted(grants, stderr)?,
        table: {
            let mut table = ResourceTable::new();
            table.set_max_capacity(HANDLES);
            table
        },
        bounds: Bounds::new(grants.memory),
    };
    let mut store = Store::new(&machine.engine, state);
    store.limiter(|state| &mut state.bounds);
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    // What is copied out of the component in one go cannot be more than it may have.
    store.set_hostcall_fuel(grants.memory);
    let ended = executor.run(invoke(loaded, &mut store, event), deadline, wanted);
    match ended {
        Ended::Itself(Ok(said)) => Ok(said),
        Ended::Itself(Err(error)) => Err(failed(&error, store.data().bounds.exceeded.as_deref())),
        Ended::Late => Err(Fault::new(Defect::Timeout, format!("timed out after {timeout:?}"))),
        Ended::Unwanted => Err(Fault::new(Defect::Internal, "nobody waits for the answer any more")),
    }
}

async fn invoke(
    loaded: &Loaded,
    store: &mut Store<State>,
    event: &str,
) -> wasmtime::Result<Result<String, String>> {
    let instance = loaded.component.instantiate_async(&mut *store).await?;
    let handle =
        instance.get_typed_func::<(&str,), (Result<String, String>,)>(&mut *store, loaded.function)?;
    let (said,) = handle.call_async(store, (event,)).await?;
    Ok(said)
}

/// Nothing, but for what the configuration grants. Folders are opened for each call, to be read only.
fn granted(grants: &Grants, stderr: &Tail) -> Result<WasiCtx, Fault> {
    let mut wasi = WasiCtx::builder();
    wasi.stderr(stderr.clone());
    for (name, value) in &grants.env {
        wasi.env(name, value);
    }
    for folder in &grants.dirs {
        wasi.preopened_dir(folder, folder.to_string_lossy(), FsPerms::ReadOnly).map_err(|error| {
            let detail = format!("cannot open the granted folder {}: {error:#}", folder.display());
            Fault::new(Defect::Spawn, detail)
        })?;
    }
    Ok(wasi.build())
}

fn failed(error: &wasmtime::Error, exceeded: Option<&str>) -> Fault {
    if error.is::<std::str::Utf8Error>() {
        return Fault::new(Defect::Unreadable, format!("answered with something that is no text: {error}"));
    }
    let detail = match (exceeded, error.downcast_ref::<I32Exit>(), error.downcast_ref::<Trap>()) {
        (Some(exceeded), _, _) => exceeded.to_owned(),
        (None, Some(exit), _) => format!("exited with status {} instead of answering", exit.0),
        (None, None, Some(trap)) => format!("trapped: {trap}"),
        (None, None, None) => format!("failed: {error:#}"),
    };
    Fault::new(Defect::Crash, detail)
}

/// The fault of a hook that says it has no answer.
pub(super) fn gave_up(why: &str) -> Fault {
    let cause = why.lines().next().unwrap_or_default();
    let short: String = cause.chars().take(200).collect();
    let fault = Fault::new(Defect::Crash, format!("gave no answer: {short}"));
    if short == why {
        fault
    } else {
        fault.with_stderr(&why.as_bytes()[why.len().saturating_sub(STDERR_TAIL)..])
    }
}

/// A trap is a signal to the thread that runs the code. The supervisor's threads block every signal, and one of this kind
/// that is blocked would end the process instead.
struct Traps(SigSet);

impl Traps {
    fn unblocked() -> nix::Result<Self> {
        let signals = SigSet::from_iter([Signal::SIGSEGV, Signal::SIGILL, Signal::SIGFPE, Signal::SIGBUS]);
        signals.thread_swap_mask(SigmaskHow::SIG_UNBLOCK).map(Self)
    }
}

impl Drop for Traps {
    fn drop(&mut self) {
        // It was this thread's mask before, so the kernel takes it.
        let _ = self.0.thread_set_mask();
    }
}

enum Ended<T> {
    Itself(T),
    Late,
    Unwanted,
}

/// Runs one call on the calling thread.
struct Executor(Option<Runtime>);

impl Executor {
    fn new() -> std::io::Result<Self> {
        // Only timers: no component is given anything that would wait for a descriptor.
        Builder::new_current_thread().enable_time().build().map(|runtime| Self(Some(runtime)))
    }

    fn run<T>(
        &self,
        call: impl Future<Output = T>,
        deadline: Instant,
        wanted: &dyn Fn() -> bool,
    ) -> Ended<T> {
        let Some(runtime) = &self.0 else { return Ended::Unwanted };
        runtime.block_on(async {
            let mut call = pin!(call);
            let mut tick = tokio::time::interval(TICK);
            poll_fn(|context| {
                if Instant::now() >= deadline {
                    return Poll::Ready(Ended::Late);
                }
                if !wanted() {
                    return Poll::Ready(Ended::Unwanted);
                }
                // Whether the call sleeps or not, this is looked at again with the next tick.
                while tick.poll_tick(context).is_ready() {}
                call.as_mut().poll(context).map(Ended::Itself)
            })
            .await
        })
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // A file operation that hangs (on a pipe, on a network file system) must not hold the answer up.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
