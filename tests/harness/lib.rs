//! The end-to-end harness: given a policy, when this runs under `shellgate run`, then this status, these records.
//!
//! It trusts nothing the product says about itself but what stands in the trace and on disk. Every run, whatever
//! it tests, is also checked for the bookkeeping that must always hold: see [`Ran`].
#![forbid(unsafe_code)]

mod browser;
mod builder;
mod calls;
mod case;
mod component;
mod container;
mod engine;
mod hook;
mod live;
mod metrics;
mod need;
mod program;
mod ran;
mod rsyslog;
mod schemas;
mod socket;
mod terminal;
mod ui;
mod watched;

pub use browser::Browser;
pub use builder::{Builder, Missing, shared_state};
pub use calls::{Calls, per_notification};
pub use case::Gate;
pub use component::Component;
pub use container::{Pod, Service, Session};
pub use engine::{Engine, Started, kubectl};
pub use hook::{bound, denies, observer, passes, policy, rules, with};
pub use live::{Leftover, Live, children, gone, only_child, running, signal, state, status_field, until};
pub use metrics::Metrics;
pub use need::{in_guest, is_root, lacks, skip};
pub use program::{example, program, shellgate};
pub use ran::{Ran, strings};
pub use rsyslog::{Rsyslog, rsyslogd};
pub use schemas::{faults, ocsf_faults};
pub use socket::Socket;
pub use terminal::Terminal;
pub use ui::{Event, Reply, Ui};
pub use watched::Finished;
