//! Ways to run a command line: bare, under the floor, under the gate in its forms, under peers.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, thread};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use shellgate_tests::{Component, program};

use super::Bench;

#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// The words before the command line.
    pub(super) before: Vec<String>,
    /// Not ours: it may fail, and the table says so.
    pub(super) peer: bool,
}

fn column(name: &str, before: &[&str]) -> Column {
    Column { name: name.to_owned(), before: before.iter().map(ToString::to_string).collect(), peer: false }
}

/// First in every table: the others are ratios to it.
pub(super) fn bare() -> Column {
    column("bare", &[])
}

/// What asking anybody costs: a notifier in C that reads path and argv and lets everything through.
pub(super) fn floor() -> Column {
    column("floor", &[&program("naive").display().to_string(), "floor"])
}

/// Tools that also look at each exec, or confine it. What is not there is said.
pub(super) fn peers(folder: &Path) -> Result<Vec<Column>> {
    const PEERS: &[(&str, &[&str])] = &[
        (
            "strace",
            &["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=execve,execveat", "-o", "/dev/null"],
        ),
        ("bwrap", &["bwrap", "--dev-bind", "/", "/"]),
        ("syd", &["syd", "-poci", "-mdefault/exec:allow"]),
        ("sandlock", &["sandlock", "run", "--"]),
    ];
    let mut columns: Vec<Column> = PEERS.iter().map(|(name, words)| column(name, words)).collect();
    columns.push(sudo(folder)?);
    columns.retain(works);
    for column in &mut columns {
        column.peer = true;
    }
    Ok(columns)
}

/// sudo's intercept mode, as it is quickest: with a sudoers file of our own, which only a mount namespace of ours sees.
fn sudo(folder: &Path) -> Result<Column> {
    let file = folder.join("sudoers");
    let text = "Defaults intercept, intercept_type=trace, !intercept_verify\nALL ALL=(ALL) NOPASSWD: ALL\n";
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    // sudo reads no file that others may write.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o440))?;
    let script = "mount --bind \"$0\" /etc/sudoers && exec sudo -n -- \"$@\"";
    let mut column = column("sudo trace", &["unshare", "-m", "sh", "-c", script]);
    column.before.push(file.display().to_string());
    Ok(column)
}

/// Whether `true` runs so; why not is said.
fn works(column: &Column) -> bool {
    let words = &column.before;
    match Command::new(&words[0]).args(&words[1..]).arg("true").stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            eprintln!("bench: {} is left out: {}", column.name, said.lines().next().unwrap_or("it fails"));
            false
        }
        Err(error) => {
            eprintln!("bench: {} is left out: {error}", column.name);
            false
        }
    }
}

impl Bench {
    /// With each seal that works here, and twenty rules.
    pub(super) fn sealed(&self) -> Vec<Column> {
        let config = self.config("sealed", &rules(20));
        let columns = ["ebpf", "ptrace"].map(|seal| {
            let config = config.as_deref().unwrap_or("");
            self.gated(&format!("shellgate {seal}"), &["--seal", seal, "-c", config])
        });
        columns.into_iter().filter(works).collect()
    }

    /// With policies of several sizes, none of whose rules is about what is run.
    pub(super) fn policies(&self) -> Result<Vec<Column>> {
        let mut columns = vec![bare()];
        for count in [0, 20, 200, 2000] {
            let name = format!("{count} rules");
            let config = self.config(&name, &rules(count))?;
            columns.push(self.gated(&name, &["-c", &config]));
        }
        Ok(columns)
    }

    /// With one policy hook of each runner, which has no objection.
    pub(super) fn runners(&self) -> Result<Vec<Column>> {
        let text = |path: &Path| path.display().to_string();
        let hooks = [
            ("rules", json!([{"deny": "never", "exe": "nobody"}])),
            ("wasm", json!(text(&Component::answering(r#"{"verdict":"none"}"#).file()))),
            ("service", json!([text(&program("answers"))])),
            ("command", json!([text(&program("pause")), "0"])),
            ("http", json!({"url": endpoint()?})),
        ];
        let mut columns = vec![bare()];
        for (runner, hook) in hooks {
            let mut whole = json!({"name": "bench", "binding": "on-shell", "commit_policy": "deny"});
            whole[runner] = hook;
            if runner == "rules" {
                whole["otherwise"] = json!("none");
            }
            let config = self.config(runner, &json!({"version": 1, "hooks": [whole]}).to_string())?;
            columns.push(self.gated(runner, &["-c", &config]));
        }
        Ok(columns)
    }

    fn gated(&self, name: &str, options: &[&str]) -> Column {
        let session = self.folder.path().join("session").display().to_string();
        let gate = self.gate.display().to_string();
        column(name, &[&[&gate, "run", "--workdir", &session], options, &["--"]].concat())
    }

    fn config(&self, name: &str, text: &str) -> Result<String> {
        let file = self.folder.path().join(format!("{name}.yaml"));
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file.display().to_string())
    }
}

fn rules(count: usize) -> String {
    let mut text =
        "version: 1\nhooks:\n  - name: bench\n    binding: on-shell\n    commit_policy: deny\n".to_owned();
    text += if count == 0 { "    rules: []\n" } else { "    rules:\n" };
    for n in 0..count {
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "      - {{deny: rule {n}, exe: program{n}, if: 'argv.exists(a, a == \"-f\")'}}");
    }
    text + "    otherwise: none\n"
}

/// An endpoint on loopback without objections, for as long as we live.
fn endpoint() -> Result<Value> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
    let url = format!("http://{}/", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    Ok(url.into())
}

/// Until the other side has enough.
fn serve(stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\n{\"verdict\":\"none\"}";
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() || reader.get_mut().write_all(answer).is_err() {
            return;
        }
    }
}
