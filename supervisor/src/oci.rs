//! Containers from outside: a runtime hands its seccomp listener over (`listenerPath` of the OCI runtime
//! specification), and the container gets a session like any other.
//!
//! Trusts the runtime, which is root, as to who the container is. What runs in the container is hostile.
#![forbid(unsafe_code)]

pub mod agent; // receives listeners, one session per container
pub mod holder; // keeps listeners while no agent runs
mod policy; // which policy a container gets
pub mod profile; // seccomp profiles that hand a container over
mod receive; // one connection of a runtime
mod rights; // descriptors over sockets
mod span; // which notifications an agent has received
pub mod state; // the container process state, as runtimes write it

pub use policy::{News, Policies, PolicyError, Selector, Standing};
