//! `shellgate doctor`: what this kernel and container allow, by really trying.

mod surroundings;

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::print;
use crate::capture::memory;
use crate::launch::probe;
use crate::seal;

/// Exit status: 0 when `shellgate run` can work here, 1 when it cannot.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// One thing that was tried.
struct Finding {
    name: &'static str,
    /// `run` cannot work without it.
    needed: bool,
    result: Result<String, String>,
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let findings = examine();
    let works = findings.iter().all(|finding| !finding.needed || finding.result.is_ok());
    let text = if args.json {
        let mut object = Map::new();
        object.insert("kernel".into(), json!(kernel()));
        object.insert("works".into(), json!(works));
        for finding in &findings {
            let (ok, text) = match &finding.result {
                Ok(text) => (true, text),
                Err(text) => (false, text),
            };
            object.insert(finding.name.into(), json!({"ok": ok, "needed": finding.needed, "detail": text}));
        }
        serde_json::to_string_pretty(&Value::Object(object))? + "\n"
    } else {
        let mut text = format!("kernel {}\n", kernel());
        for finding in &findings {
            let (mark, said) = match &finding.result {
                Ok(text) => ("yes", text),
                Err(text) if finding.needed => ("NO ", text),
                Err(text) => ("no ", text),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{mark} {:<22} {said}", finding.name);
        }
        text + if works { "shellgate run works here\n" } else { "shellgate run cannot work here\n" }
    };
    print(&text)?;
    Ok(ExitCode::from(u8::from(!works)))
}

fn kernel() -> String {
    nix::sys::utsname::uname()
        .map(|name| format!("{} {}", name.release().to_string_lossy(), name.machine().to_string_lossy()))
        .unwrap_or_default()
}

fn examine() -> Vec<Finding> {
    let tried = probe::filter();
    let installed =
        |flag: bool, yes: &str, no: &str| if flag { Ok(yes.to_owned()) } else { Err(no.to_owned()) };
    let mut findings = vec![Finding {
        name: "seccomp_listener",
        needed: true,
        result: tried
            .as_ref()
            .map(|_| "installed, and its ioctls answer".to_owned())
            .map_err(ToString::to_string),
    }];
    if let Ok(tried) = &tried {
        findings.push(Finding {
            name: "wait_killable_recv",
            needed: false,
            result: installed(
                tried.wait_killable,
                "signals do not interrupt a waiting exec",
                "a signal interrupts a waiting exec, which is then answered from the same judgement (before 5.19)",
            ),
        });
        findings.push(Finding {
            name: "sync_wake_up",
            needed: false,
            result: installed(tried.sync_wake_up, "faster answers", "slower answers (before 6.6)"),
        });
        findings.push(Finding {
            name: "landlock_signal_scope",
            needed: false,
            result: tried.signal_scope.clone(),
        });
    }
    findings.push(Finding {
        name: "caller_memory",
        needed: true,
        result: surroundings::with_a_child(|child| {
            memory::may_read(child)
                .map(|()| "what a process passes to execve can be read".to_owned())
                .map_err(|error| error.to_string())
        }),
    });
    let seals = seal::survey();
    findings.push(Finding {
        name: "seal",
        needed: true,
        result: seals
            .iter()
            .find_map(|(level, result)| result.as_ref().ok().map(|_| level.to_string()))
            .ok_or_else(|| "no seal works here, so nothing may run".into()),
    });
    for (level, result) in seals {
        findings.push(Finding {
            name: match level {
                seal::Level::Ebpf => "seal_ebpf",
                seal::Level::Ptrace => "seal_ptrace",
            },
            needed: false,
            result,
        });
    }
    findings.push(Finding {
        name: "exit_status_by_pidfd",
        needed: false,
        result: probe::exit_status_by_pidfd(),
    });
    findings.push(Finding { name: "no_new_privs_optional", needed: false, result: probe::privileged() });
    findings.extend(surroundings::examine(&tried));
    findings
}
