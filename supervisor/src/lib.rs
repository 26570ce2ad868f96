//! shellgate: a gate in front of every program that a process tree starts.
//!
//! The `shellgate` command is one user of this library; another is a program that starts its agent itself and has
//! hooks of its own, written in Rust: [`Supervisor`] starts the session, [`PolicyHook`] decides on programs, [`Hook`]
//! on tool calls and compaction, and [`Observer`] is told. `examples/embed.rs` is such a program, and
//! `docs/library.md` says what holds for them.
//!
//! # Where hooks live
//!
//! [`Builder::run`] forks. The gate runs in a child of the caller, the supervisor, and that is where the hooks are
//! called, on threads of their own. So
//!
//! * the caller must have one thread when it calls `run`, or gets [`RunError::Threads`]: of several, only one would live
//!   on in the fork, and a lock that another held would never be released. Call it first thing in `main`, before an
//!   async runtime is started.
//! * hooks see the memory of the caller as it was then. What they change, the caller does not see; what they learn goes
//!   to a file, a socket or a pipe that was opened before.
//! * descriptors that close on exec (all that Rust's standard library opens) are the hooks' to use. Others are for the
//!   command: it inherits them, they are closed in the supervisor, and a hook must not use them.
//! * the supervisor's standard input, output and error are `/dev/null`.
//! * a hook that panics, and one that is not back by its deadline, refuses (a policy) or has its failure logged (an
//!   observer). One that ends the process, by `abort` or a stack overflow, ends the gate with it: then no further
//!   program can be started. Build with `panic = "unwind"`.
//!
//! The caller is outside the tree, like the shell that starts `shellgate run`: what it runs is not judged.
//!
//! # The modules
//!
//! They stand in the order in which an exec travels through them.
#![deny(unsafe_code)]

pub mod cli; // the command line, on top
pub mod config; // shellgate.yaml, presets, where they are looked up
pub mod supervise; // the one file that knows every stage

pub mod capture; // what the caller asked for: path, argv, envp, file
pub mod enrich; // what a policy must read besides argv: script bodies
pub mod hooks; // the gate: every policy hook must return a clean none
pub mod launch; // fork, filter, hand-over of the listener
pub mod metrics; // counts for Prometheus
pub mod notify; // seccomp notifications, each answered exactly once
pub mod observe; // observer hooks, told afterwards
pub mod outcome; // how each admitted exec ended
pub mod seal; // what was judged is what runs
pub mod trace; // the record of it all

pub mod oci; // containers: listeners that their runtime hands over

pub mod control; // the socket: events from the runtime, answers to asks

mod errors; // the ground: errors in one line
pub mod event; // the ground: the event as hooks and trace see it
mod spare; // the ground: buffers that are used again
pub mod sys; // the ground: system calls, the only folder with `unsafe`

#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing; // entrances for the fuzz targets

#[cfg(test)]
mod reference; // docs/reference, written and compared by a test

// What an embedder needs, in one place.
pub use config::Config;
pub use config::ConfigSource;
pub use event::Event;
pub use event::lifecycle::LifecycleEvent;
pub use hooks::builtin;
pub use hooks::embed::{
    CompactResult, Failure, Hook, HookAction, Observer, PolicyHook, PostCompactContext, PostToolUseContext,
    PreCompactContext, PreToolUseContext, RunEndContext, RunStartContext,
};
pub use hooks::manifest::Binding;
pub use hooks::{HookAnswer, Refusal};
pub use seal::Level;
pub use supervise::{Builder, RunError, Supervisor};
