//! Every way a policy hook can answer or fail, through the real binary: a table per protocol. A row runs
//! `/bin/touch RAN` once and says what the hook does and what must come of it.

mod claude;
mod exit_code;
mod native;

use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use shellgate_tests::{Gate, Ran};

/// What must come of a row.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    Runs,
    /// A real deny with this reason.
    Deny(&'static str),
    /// This defect, and a reason that holds this text.
    Fault(&'static str, &'static str),
}
use Expected::{Fault, Runs};

/// A line of `sh` that is the hook, and what must come of it.
type Row = (&'static str, Expected);

/// What every protocol makes of the hook's process, whatever it says. `SAY_NONE` stands for a clean none.
const ANY_PROTOCOL: &[Row] = &[
    ("SAY_NONE", Runs),
    ("cat >/dev/null; SAY_NONE", Runs),
    ("exec 0<&-; SAY_NONE", Runs),
    ("head -c 300000 /dev/zero >&2; SAY_NONE", Runs),
    ("printf '\\357\\273\\277'; printf ' \\r\\n\\t'; SAY_NONE; printf '\\n\\n'", Runs),
    ("cat >/dev/null; echo 'policy violated' >&2; exit 1", Fault("crash", "exited with status 1")),
    ("SAY_NONE; exit 1", Fault("crash", "exited with status 1")),
    ("SAY_NONE; exit 3", Fault("crash", "exited with status 3")),
    ("exit 126", Fault("crash", "exited with status 126")),
    ("exit 255", Fault("crash", "exited with status 255")),
    ("set -e; no-such-jq .; SAY_NONE", Fault("crash", "exited with status 127: a command was not found")),
    ("SAY_NONE; kill -SEGV $$", Fault("crash", "killed by signal 11 (SIGSEGV)")),
    ("SAY_NONE; kill -KILL $$", Fault("crash", "killed by signal 9 (SIGKILL)")),
    ("SAY_NONE; kill -TERM $$", Fault("crash", "killed by signal 15 (SIGTERM)")),
    ("SAY_NONE; kill -PIPE $$", Fault("crash", "killed by signal 13 (SIGPIPE)")),
    ("SAY_NONE; kill -40 $$", Fault("crash", "killed by signal 40")),
    ("SHORT; SAY_NONE; sleep 60", Fault("timeout", "timed out after 500ms")),
    ("SHORT; trap '' TERM; while :; do sleep 60; done", Fault("timeout", "timed out after 500ms")),
    ("SHORT; SAY_NONE; kill -STOP $$", Fault("timeout", "timed out after 500ms")),
    ("SHORT; sleep 300 & sleep 300 & wait", Fault("timeout", "timed out after 500ms")),
    ("SHORT; read x </dev/tty || sleep 60", Fault("timeout", "timed out after 500ms")),
    ("head -c 2000000 /dev/zero; SAY_NONE", Fault("unreadable", "wrote more than 1048576 bytes")),
    ("yes", Fault("unreadable", "wrote more than 1048576 bytes")),
    ("echo 'shell ready'; SAY_NONE", Fault("unreadable", "")),
    ("SAY_NONE; echo 'shell closed'", Fault("unreadable", "")),
    ("SAY_NONE; SAY_NONE", Fault("unreadable", "")),
    ("printf '\\033[0m'; SAY_NONE", Fault("unreadable", "")),
    ("printf 'data: '; SAY_NONE", Fault("unreadable", "")),
    ("SAY_NONE | head -c 8", Fault("unreadable", "")),
    ("printf '['; SAY_NONE; printf ']'", Fault("unreadable", "")),
    ("echo null", Fault("unreadable", "")),
    ("echo '[]'", Fault("unreadable", "")),
    ("echo '\"deny\"'", Fault("unreadable", "")),
    ("echo true", Fault("unreadable", "")),
    ("printf '{}\\n{}'", Fault("unreadable", "")),
    ("printf '{\"a\":'; sleep 60 &", Fault("unreadable", "")),
    ("cat", Fault("unreadable", "")),
    ("yes '{\"a\":' | head -n 200", Fault("unreadable", "")),
    ("BAD_SHEBANG", Fault("spawn", "ENOENT: the interpreter named in its #! line does not exist")),
    ("NO_SHEBANG", Fault("spawn", "ENOEXEC")),
    ("FOREIGN_ELF", Fault("spawn", "ENOEXEC")),
    ("EMPTY_FILE", Fault("spawn", "ENOEXEC")),
];

/// Runs every row of both tables, a few at a time: a row waits more than it works.
fn run_table(protocol: &str, say_none: &str, own: &[Row]) {
    let rows: Vec<Row> = ANY_PROTOCOL.iter().chain(own).copied().collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some((line, expected)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let row = || check(&run_row(protocol, &line.replace("SAY_NONE", say_none)), *expected);
            if catch_unwind(row).is_err() {
                failed.lock().expect("nothing panics while it is held").push(*line);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("nothing panics while it is held");
    assert!(failed.is_empty(), "rows that failed, each shown above: {failed:#?}");
}

fn run_row(protocol: &str, line: &str) -> Ran {
    let file =
        ["BAD_SHEBANG", "NO_SHEBANG", "FOREIGN_ELF", "EMPTY_FILE"].into_iter().find(|name| *name == line);
    let command = file.map_or_else(
        || json!(["/bin/sh", "-c", line.trim_start_matches("SHORT; ")]),
        |name| json!(format!("{{work}}/{name}")),
    );
    let timeout = if line.starts_with("SHORT; ") { "500ms" } else { "60s" };
    let config = json!({"version": 1, "hooks": [{
        "name": "guard", "binding": "on-shell", "commit_policy": "deny",
        "command": command, "protocol": protocol, "timeout": timeout,
    }]});
    let mut foreign = b"\x7fELF\x02\x01\x01".to_vec();
    foreign.resize(64, 0);
    (foreign[16], foreign[18], foreign[20]) = (2, 0xf3, 1);
    Gate::with_config(&config.to_string())
        .script("BAD_SHEBANG", "#!/no/such/interpreter\n")
        .script("NO_SHEBANG", "echo\n")
        .script("FOREIGN_ELF", foreign)
        .script("EMPTY_FILE", "")
        .run(["/bin/touch", "RAN"])
}

fn check(ran: &Ran, expected: Expected) {
    match expected {
        Runs => {
            ran.exits(0);
            ran.present(["RAN"]);
            ran.nothing_refused();
            ran.admitted("touch", 1);
        }
        Expected::Deny(reason) => ran.refused_by("guard", reason, None),
        Fault(defect, cause) => ran.refused_by("guard", cause, Some(defect)),
    }
}
