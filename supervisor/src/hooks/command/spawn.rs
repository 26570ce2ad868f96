//! Starts the process of a hook, and says in words why one could not start and what would help.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::process::Process;
use super::{End, Fault, environment};
use crate::hooks::Defect;
use crate::hooks::manifest::CommandSpec;
use crate::sys::hook_process::{self, Company};

/// Hooks run here: always there, whatever the agent does to its own working directory.
const DIRECTORY: &str = "/";

pub(in crate::hooks) fn spawn(spec: &CommandSpec, company: Company) -> Result<Process, Fault> {
    if !spec.program.is_absolute() {
        return Err(Fault::new(
            Defect::Spawn,
            format!(
                "cannot start {}: the program of a hook must be an absolute path",
                spec.program.display()
            ),
        ));
    }
    let marker = marker();
    let env = environment::build(spec, &marker)?;
    let child = hook_process::spawn(&spec.program, &spec.args, &env, Path::new(DIRECTORY), company)
        .map_err(|error| Fault::new(Defect::Spawn, explain(&spec.program, &error)))?;
    Process::adopt(child, marker)
        .map_err(|error| Fault::new(Defect::Spawn, format!("cannot watch the hook's process: {error}")))
}

/// Unique among all runs of all supervisors on this machine, not a secret.
fn marker() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{run}-{now}", std::process::id())
}

fn explain(program: &Path, error: &io::Error) -> String {
    let shown = program.display();
    let is_directory = program.is_dir();
    let (name, help) = match error.raw_os_error() {
        Some(libc::ENOENT) if program.exists() => {
            ("ENOENT", "the interpreter named in its #! line does not exist".to_owned())
        }
        Some(libc::ENOENT | libc::ENOTDIR) => {
            ("ENOENT", "the file does not exist; restore it or correct the hook's command".to_owned())
        }
        Some(libc::EACCES) if is_directory => ("EACCES", "it is a directory".to_owned()),
        Some(libc::EACCES) => ("EACCES", access(program)),
        Some(libc::ENOEXEC) => {
            ("ENOEXEC", "it has neither a #! line nor the format of this machine's programs".to_owned())
        }
        Some(libc::ETXTBSY) => ("ETXTBSY", "the file is being written".to_owned()),
        _ => ("error", error.to_string()),
    };
    format!("cannot start {shown}: {name}: {help}")
}

fn access(program: &Path) -> String {
    let executable = program.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    if executable {
        "it, its interpreter or a directory on the way is not accessible to this user".to_owned()
    } else {
        format!("the file is not executable; run: chmod +x {}", program.display())
    }
}

/// `python3 /gone.py` exits 2, which would read as a deny with the interpreter's complaint as its reason.
/// A failing interpreter whose script is not there is a hook that could not start.
pub(in crate::hooks) fn missing_script(spec: &CommandSpec, end: End) -> Option<Fault> {
    if end == End::Exit(0) {
        return None;
    }
    let interpreter = spec.program.file_name()?.to_str()?;
    let known =
        ["sh", "bash", "dash", "ash", "ksh", "zsh", "python", "perl", "node", "ruby", "php", "deno", "bun"];
    if !known.iter().any(|name| {
        interpreter
            .strip_prefix(name)
            .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    }) {
        return None;
    }
    // Options before the script are skipped; after one that may carry code (`-c`, `-e`, `-m`) there is none.
    let carries_code =
        |arg: &str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['c', 'e', 'm']);
    let mut operands = spec.args.iter().take_while(|arg| !carries_code(arg));
    let script = operands.find(|arg| !arg.starts_with('-') && arg.contains('/'))?;
    let path = Path::new(DIRECTORY).join(script);
    if path.exists() {
        return None;
    }
    Some(Fault::new(
        Defect::Spawn,
        format!("its script {} does not exist; restore it or correct the hook's command", path.display()),
    ))
}
