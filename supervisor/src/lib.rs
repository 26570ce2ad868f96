//! shellgate: a gate in front of every program that a process tree starts.
//!
//! The modules stand in the order in which an exec travels through them.
#![deny(unsafe_code)]

pub mod cli; // the command line, on top
pub mod config; // shellgate.yaml, presets, where they are looked up
pub mod supervise; // the one file that knows every stage

pub mod capture; // what the caller asked for: path, argv, envp, file
pub mod enrich; // what a policy must read besides argv: script bodies
pub mod hooks; // the gate: every policy hook must return a clean none
pub mod launch; // fork, filter, hand-over of the listener
pub mod notify; // seccomp notifications, each answered exactly once
pub mod observe; // observer hooks, told afterwards
pub mod outcome; // how each admitted exec ended
pub mod seal; // what was judged is what runs
pub mod trace; // the record of it all

pub mod oci; // containers: listeners that their runtime hands over

pub mod control; // the socket: events from the runtime, answers to asks

pub mod event; // the ground: the event as hooks and trace see it
pub mod sys; // the ground: system calls, the only folder with `unsafe`

#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing; // entrances for the fuzz targets
