//! Runners that are told each event as JSON and answer with one object of the native protocol: a service, an
//! endpoint, a component. They differ in how the two travel and in nothing else.

use std::fmt;
use std::time::Duration;

use super::command::Fault;
use super::protocol::Reply;

/// One such runner, for as long as the session lasts. Its `Display` is for people: what runs the hook, in one line.
pub trait Native: fmt::Debug + fmt::Display + Send + Sync {
    /// Asks about one event. Anything but a reply within `timeout` is a fault; once `wanted` says no, nobody waits
    /// for one any more.
    fn ask(&self, timeout: Duration, payload: &[u8], wanted: &dyn Fn() -> bool) -> Result<Reply, Fault>;

    /// The files it is made of are those of now; a change of them is a fault from here on.
    fn pin(&self) {}

    /// Ends what runs for longer than one event. From then on every event is a fault.
    fn close(&self) {}
}
