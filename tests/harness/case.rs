//! The builder of a case: a policy, files, an environment; then one run under the gate, or the same run bare.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::need::{PATH, is_root};
use crate::program::shellgate;
use crate::ran::Ran;
use crate::watched::{self, Finished};

/// Nobody, for cases that root runs as an ordinary user.
const NOBODY: u32 = 65534;

/// A case that has not run yet. Everything it makes is in a folder of its own: `work` is the cwd of the run.
#[derive(Debug)]
pub struct Gate {
    dir: TempDir,
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
            dir,
            root,
            env: Vec::new(),
            stdin: None,
            as_user: false,
            lingers: false,
            options: Vec::new(),
            through: Vec::new(),
            patience: Duration::from_mins(1),
        };
        let config = config.replace("{work}", gate.work().to_str().expect("a temporary path is text"));
        fs::write(gate.config(), config).expect("the case's folder is writable");
        gate
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

    /// The folder the case runs in, canonical.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn config(&self) -> PathBuf {
        self.root.join("shellgate.yaml")
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

    /// Run by root, run as an ordinary user all the same.
    #[must_use]
    pub fn as_user(mut self) -> Self {
        self.as_user = true;
        self
    }

    /// More options for `shellgate run`.
    #[must_use]
    pub fn options<W: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = W>) -> Self {
        self.options.extend(options.into_iter().map(|option| option.as_ref().to_owned()));
        self
    }

    /// Starts `shellgate` by this command: with fewer rights, in another namespace.
    #[must_use]
    pub fn through<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.through.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// How long the run may take before it counts as hanging; a minute if nothing is said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
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
        let session = self.root.join("session");
        let mut start = self.through.iter().map(OsString::as_os_str).chain([shellgate().as_os_str()]);
        let mut command = self.command(start.next().expect("at least shellgate itself"));
        command.args(start);
        command.args(["run", "--headless", "--workdir"]).arg(&session).arg("-c").arg(self.config());
        command.args(&self.options).arg("--").args(words);
        let finished = watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience);
        let work = self.work();
        Ran::new(&finished, self.dir, work, &session, self.lingers)
    }

    /// Runs the same command without shellgate, in the same place.
    pub fn bare<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Finished {
        let mut words = words.into_iter();
        let mut command = self.command(words.next().expect("a command has a first word").as_ref());
        command.args(words);
        watched::run(&mut command, self.stdin.clone(), &self.mark(), self.patience)
    }

    fn mark(&self) -> String {
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
