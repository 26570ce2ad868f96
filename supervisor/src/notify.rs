//! seccomp notifications, each answered exactly once.
#![forbid(unsafe_code)]

/// Who called execve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The calling thread, as the supervisor's pid namespace names it.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
}
