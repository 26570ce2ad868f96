//! The LSM guards: refusals that only exist where BPF LSM is active. Each is tried by itself and is a value the
//! user can read, whether it holds or not.
#![forbid(unsafe_code)]

/// One guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Name of its program.
    pub name: &'static str,
    /// What it keeps from happening.
    pub purpose: &'static str,
    pub state: GuardState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardState {
    /// Loaded, attached, and the kernel asks it.
    Active,
    /// Not in force, and why.
    Inactive(String),
}

/// A guard as the object has it: program, the kernel function it hangs on, purpose.
pub(super) const GUARDS: [(&str, &str, &str); 4] = [
    (
        "guard_exec",
        "bpf_lsm_bprm_check_security",
        "an exec nobody let through fails before the old program is gone",
    ),
    ("guard_ptrace", "bpf_lsm_ptrace_access_check", "the tree cannot trace or read the supervisor"),
    ("guard_kill", "bpf_lsm_task_kill", "the tree cannot signal the supervisor"),
    ("guard_bpf", "bpf_lsm_bpf", "the tree cannot get hold of the supervisor's maps and programs"),
];

/// Whether the kernel asks BPF programs at all: a program that loads and attaches without that refuses nothing.
pub(super) fn lsm_is_active() -> Result<(), String> {
    let path = "/sys/kernel/security/lsm";
    match std::fs::read_to_string(path) {
        Ok(list) if list.trim().split(',').any(|name| name == "bpf") => Ok(()),
        Ok(list) => Err(format!("bpf is not among the active security modules ({})", list.trim())),
        Err(error) => Err(format!("cannot read {path}: {error}")),
    }
}

impl std::fmt::Display for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.state {
            GuardState::Active => write!(f, "{} (active)", self.purpose),
            GuardState::Inactive(why) => write!(f, "{} (inactive: {why})", self.purpose),
        }
    }
}
