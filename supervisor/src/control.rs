//! The control socket: JSON-RPC 2.0, one message a line, over a Unix socket in the session's folder. Runtimes in the
//! tree submit events through it; people and programs outside the tree answer asks. Trusts nothing that comes in:
//! what a peer may do follows from where its process stands, as the kernel tells it.
#![forbid(unsafe_code)]

pub mod approvals;
mod client;
mod connection;
mod deciding;
mod enclosing;
mod lines;
mod methods;
mod peer;
mod schema;
mod server;
pub(crate) mod tree;
pub mod wire;

use crate::hooks::lifecycle::Reply;
use wire::{EventRequest, SessionFacts};

pub use client::{Client, ClientError};
pub use enclosing::{Uncertain, judged_by};
pub use schema::schema;
pub use server::{Bound, Serving, bind, listen_privately, serve};
pub use tree::Tree;

/// Variable of the tree's environment that holds the socket's path.
pub const VARIABLE: &str = "SHELLGATE_SOCKET";

/// What the socket gives access to.
pub trait Service: Send + Sync {
    /// Takes an event. May block as long as its hooks take; `wanted` says no when the peer is gone.
    fn event(&self, request: EventRequest, wanted: &(dyn Fn() -> bool + Sync)) -> Result<Reply, EventError>;
    fn session(&self) -> SessionFacts;
    /// `None`: headless, nobody is asked.
    fn approvals(&self) -> Option<&approvals::Approvals>;
}

/// An event that was not taken: no hook has seen it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("{0}")]
    Params(String),
    #[error("{0}")]
    State(String),
}
