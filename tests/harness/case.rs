//! The builder of a case: a policy, files, an environment; then one run under the gate, or the same run bare.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::stat::Mode;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::live::Live;
use crate::need::{PATH, is_root};
use crate::program::{program, shellgate};
use crate::ran::Ran;
use crate::terminal::Terminal;
use crate::watched::{self, Finished, Watched, patience};

/// Nobody, for cases that root runs as an ordinary user.
const NOBODY: u32 = 65534;

/// A case that has not run yet. Everything it makes is in a folder of its own: `work` is the cwd of the run.
#[derive(Debug)]
pub struct Gate {
    dir: Arc<TempDir>,
    root: PathBuf,
    env: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
    as_user: bool,
    lingers: bool,
    options: Vec<OsString>,
    through: Vec<OsString>,
    patience: Duration,
}

impl Gate {
    /// With a whole configuration; `{work}` in it stands for the folder the case runs in.
    pub fn with_config(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("the temporary folder is writable");
        // The path that an event shows is the canonical one.
        let root = fs::canonicalize(dir.path()).expect("it was just made");
        for folder in ["work", "home"] {
            fs::create_dir(root.join(folder)).expect("the case's folder is writable");
        }
        let gate = Self {
            dir: Arc::new(dir),
            root,
            env: Vec::new(),
            stdin: None,
            as_user: false,
            lingers: false,
            options: Vec::new(),
            through: Vec::new(),
            patience: patience(),
        };
        let config = config.replace("{work}", gate.work().to_str().expect("a temporary path is text"));
        fs::write(gate.config(), config).expect("the case's folder is writable");
        gate
    }

    /// With these hooks and defaults for the rest.
    pub fn with_hooks(hooks: &[Value]) -> Self {
        Self::with_config(&json!({"version": 1, "hooks": hooks}).to_string())
    }

    /// With one policy hook called `guard` made of these rules (a YAML list), which lets everything else through.
    pub fn with_rules(rules: &str) -> Self {
        Self::with_guard(rules, "none")
    }

    /// With one policy hook called `guard` that refuses what its rules do not pass.
    pub fn with_allow_list(rules: &str) -> Self {
        Self::with_guard(rules, "{deny: not on the list}")
    }

    /// With a policy that refuses these programs, by name or path, and nothing else.
    pub fn refusing(programs: &[&str]) -> Self {
        Self::with_rules(&format!("- {{deny: not for agents, exe: [{}]}}", programs.join(", ")))
    }

    /// With a policy that looks and lets everything through.
    pub fn open() -> Self {
        Self::refusing(&["no-such-program-anywhere"])
    }

    fn with_guard(rules: &str, otherwise: &str) -> Self {
        let rules: String =
            rules.trim().lines().fold(String::new(), |text, line| text + "      " + line + "\n");
        Self::with_config(&format!(
            "version: 1\ncapabilities: {{shell: {{allow: [\"*\"]}}}}\nhooks:\n  - name: guard\n    \
             binding: on-shell\n    commit_policy: deny\n    rules:\n{rules}    otherwise: {otherwise}\n"
        ))
    }

    /// With a policy hook called `guard` that is a shell script with this body. It has the event in `$event`, and
    /// no objection unless it says otherwise with a whole answer and an exit of its own.
    pub fn with_hook(body: &str) -> Self {
        let gate = Self::with_config(
            "version: 1\ncapabilities: {shell: {allow: [\"*\"]}}\nhooks:\n  - name: guard\n    binding: on-shell\n    \
             commit_policy: deny\n    command: [\"{work}/../hook\"]\n    timeout: 60s\n",
        );
        let body = body.replace("{work}", gate.work().to_str().expect("a temporary path is text"));
        let hook = gate.root.join("hook");
        let text = format!("#!/bin/sh\nIFS= read -r event\n{body}\necho '{{\"verdict\":\"none\"}}'\n");
        fs::write(&hook, text).expect("the case's folder is writable");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("our own file");
        gate
    }

    /// With a policy hook that has no objection, but says so for programs of this name only once the pipe `go` of
    /// the work folder is written to. Until then `asked` holds its pid.
    pub fn holding(name: &str) -> Self {
        let hold = "echo $$ >> {work}/asked; read go < {work}/go";
        Self::with_hook(&format!("case $event in *'\"name\":\"{name}\",\"path_raw\"'*) {hold};; esac"))
            .pipe("go")
    }

    /// A named pipe in the work folder: who reads it waits without executing anything.
    #[must_use]
    pub fn pipe(self, name: &str) -> Self {
        let path = self.work().join(name);
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).expect("the work folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("our own file");
        self
    }

    /// The folder the case runs in, canonical.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The configuration of the case; not in the work folder.
    pub fn config(&self) -> PathBuf {
        self.root.join("shellgate.yaml")
    }

    /// The folder that [`Gate::run`] gives as `--workdir`.
    pub fn session(&self) -> PathBuf {
        self.root.join("session")
    }

    /// A file in the work folder.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the work folder is writable");
        fs::write(&path, content).expect("the work folder is writable");
        self
    }

    /// An executable file in the work folder.
    #[must_use]
    pub fn script(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let gate = self.file(name, content);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(gate.work().join(name), executable).expect("our own file");
        gate
    }

    /// A symbolic link in the work folder.
    #[must_use]
    pub fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        symlink(target, self.work().join(name)).expect("the work folder is writable");
        self
    }

    /// A git repository in the work folder, with one commit of everything that is there.
    #[must_use]
    pub fn repository(self) -> Self {
        let made =
            self.bare(["sh", "-c", "git init -q . && git add -A && git commit -q --allow-empty -m first"]);
        assert_eq!(made.code, 0, "no repository: {}", made.stderr());
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().into()));
        self
    }

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// More words for `shellgate run`.
    #[must_use]
    pub fn options<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.options.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Another word for `shellgate run`.
    #[must_use]
    pub fn option(self, word: &'static str) -> Self {
        self.options([word])
    }

    /// Starts `shellgate` by this command: with fewer rights, in another namespace.
    #[must_use]
    pub fn through<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.through.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// How long the run may take before it counts as hanging; two minutes if nothing is said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Run by root, run as an ordinary user all the same.
    #[must_use]
    pub fn as_user(mut self) -> Self {
        self.as_user = true;
        self
    }

    /// Something outlives the main command: the session's end is not waited for.
    #[must_use]
    pub fn lingers(mut self) -> Self {
        self.lingers = true;
        self
    }

    /// Runs a line of bash under the gate.
    pub fn bash(self, line: &str) -> Ran {
        self.run(["bash", "-c", line])
    }

    /// Runs a command under the gate, headless.
    pub fn run<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Ran {
        let mut command = self.gated(words);
        let finished = watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience);
        self.ran(&finished)
    }

    /// Runs a program of `supervisor/examples`, which starts a session itself, in this case's session folder or none.
    pub fn run_host<W: AsRef<OsStr>>(self, example: &str, words: impl IntoIterator<Item = W>) -> Ran {
        let mut command = self.command(crate::program::example(example));
        command.args(words);
        let finished = watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience);
        self.ran(&finished)
    }

    /// Starts a command under the gate.
    pub fn start<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Live {
        let mut command = self.gated(words);
        let run = Watched::start(&mut command, self.stdin.clone(), &self.mark(), self.patience);
        Live::new(run, self)
    }

    /// Runs a program bare that is given the command line of a gated run of `words` as its arguments.
    pub fn run_by<W: AsRef<OsStr>>(self, caller: &[&OsStr], words: impl IntoIterator<Item = W>) -> Ran {
        let mut command = self.command(caller[0]);
        command.args(&caller[1..]).arg(shellgate()).args(self.run_words()).args(words);
        let finished = watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience);
        self.ran(&finished)
    }

    /// An interactive bash with job control on a terminal of its own, in which `gate COMMAND` is a gated run.
    pub fn terminal(self) -> Terminal {
        let quoted = |word: &OsStr| format!("'{}'", word.to_str().expect("a path that is text"));
        let words: Vec<_> = self.run_words().iter().map(|word| quoted(word)).collect();
        let alias = format!("alias gate=\"{} {}\"", quoted(shellgate().as_os_str()), words.join(" "));
        let rc = self.file(".rc", format!("PS1='@ '; unset HISTFILE; {alias}\n"));
        let mut command = rc.command(program("lead"));
        command.args(["bash", "--noprofile", "--noediting", "--rcfile", ".rc", "-i"]);
        command.env("TERM", "dumb");
        Terminal::new(command, rc)
    }

    /// A gated command that leads the session of a terminal of its own.
    pub fn lead<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Terminal {
        let mut command = self.command(program("lead"));
        command.arg(shellgate()).args(self.run_words()).args(words);
        Terminal::new(command, self)
    }

    /// A shell's words for another gated run in a session folder of this name, inside this one.
    pub fn shellgate_words(&self, session: &str) -> String {
        let (binary, config) = (shellgate().display(), self.config());
        format!("{binary} run --workdir {} -c {} --", self.root.join(session).display(), config.display())
    }

    fn gated<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut start = self.through.iter().map(OsString::as_os_str).chain([shellgate().as_os_str()]);
        let mut command = self.command(start.next().expect("at least shellgate itself"));
        command.args(start).args(self.run_words()).args(words);
        command
    }

    fn run_words(&self) -> Vec<OsString> {
        // Nobody is asked unless a case says so.
        let asks = self.options.iter().any(|option| option == "--interactive");
        let mut words: Vec<OsString> = vec!["run".into()];
        words.extend((!asks).then(|| "--headless".into()));
        words.push("--workdir".into());
        words.extend([self.session().into(), "-c".into(), self.config().into()]);
        words.extend(self.options.iter().map(Into::into));
        words.push("--".into());
        words
    }

    pub(crate) fn trace(&self) -> PathBuf {
        self.session().join("trace.jsonl")
    }

    #[track_caller]
    pub(crate) fn ran(&self, finished: &Finished) -> Ran {
        Ran::new(finished, Arc::clone(&self.dir), self.work(), &self.session(), self.lingers)
    }

    /// Runs `shellgate` itself with these words, in the same place, without a configuration of its own.
    pub fn shellgate<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Finished {
        let mut command = self.command(shellgate());
        command.args(words);
        watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience)
    }

    /// Runs the same command without shellgate, in the same place.
    pub fn bare<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Finished {
        let mut words = words.into_iter();
        let mut command = self.command(words.next().expect("a command has a first word").as_ref());
        command.args(words);
        watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience)
    }

    pub(crate) fn mark(&self) -> String {
        self.root.display().to_string()
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work()).env_clear().env("PATH", PATH).env("LC_ALL", "C");
        command.env("HOME", self.root.join("home")).env("XDG_STATE_HOME", self.root.join("home/state"));
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "case")
                .env(format!("GIT_{who}_EMAIL"), "case@example.invalid");
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if self.as_user && is_root() {
            for folder in [&self.root, &self.work(), &self.root.join("home")] {
                fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("our own folder");
            }
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}
