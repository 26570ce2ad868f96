//! One git command at a time, bounded, with a clean environment. But for a push the kernel lets it start no process, so
//! nothing that the repository names is run: no hook, no filter, no monitor, no fetch of a missing object. The settings
//! and the empty work tree keep git from trying, and from failing for that.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::hooks::Defect;
use crate::hooks::command::pins::Pins;
use crate::hooks::command::{self, End, Fault, Run};
use crate::hooks::in_process::Wanted;
use crate::hooks::manifest::{CommandSpec, Protocol};

/// Against the repository's own configuration: the command line comes last.
const SETTINGS: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "commit.gpgSign=false",
    "push.gpgSign=false",
];

/// A name and an address.
type Identity = (String, String);

/// The git of a session.
#[derive(Debug)]
pub(super) struct Git {
    program: PathBuf,
    author: Option<Identity>,
    /// The program as the session found it.
    pins: Pins,
}

/// A repository, and a folder in which git finds no file to look at.
pub(super) struct Repository {
    /// The work tree.
    pub(super) top: PathBuf,
    git_dir: PathBuf,
    empty: PathBuf,
}

/// The same for one event.
pub(super) struct Bounded<'a> {
    git: &'a Git,
    timeout: Duration,
    wanted: Wanted<'a>,
}

/// `NAME <EMAIL>`.
pub(super) fn identity(text: &str) -> Result<Identity, String> {
    let parts = text.trim().strip_suffix('>').and_then(|text| text.split_once('<'));
    let fits = |part: &str| !part.is_empty() && !part.contains(['<', '>', '\n', '\0']);
    match parts.map(|(name, email)| (name.trim(), email.trim())) {
        Some((name, email)) if fits(name) && fits(email) => Ok((name.to_owned(), email.to_owned())),
        _ => Err(format!("author: {text:?} is not \"NAME <EMAIL>\"")),
    }
}

impl Git {
    pub(super) fn new(program: PathBuf, author: Option<Identity>) -> Self {
        let mut git = Self { program, author, pins: Pins::default() };
        git.pins = Pins::of(&git.spec(Vec::new()));
        git
    }

    pub(super) fn bounded<'a>(&'a self, timeout: Duration, wanted: Wanted<'a>) -> Bounded<'a> {
        Bounded { git: self, timeout, wanted }
    }

    fn spec(&self, args: Vec<String>) -> CommandSpec {
        let mut env: BTreeMap<String, String> = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        if let Some((name, email)) = &self.author {
            for role in ["AUTHOR", "COMMITTER"] {
                env.insert(format!("GIT_{role}_NAME"), name.clone());
                env.insert(format!("GIT_{role}_EMAIL"), email.clone());
            }
        }
        CommandSpec {
            program: self.program.clone(),
            args,
            env,
            protocol: Protocol::Native,
            pins: self.pins.clone(),
        }
    }
}

/// One command on its way.
pub(super) struct Call<'a> {
    bounded: &'a Bounded<'a>,
    verb: String,
    spec: CommandSpec,
    stdin: Vec<u8>,
    /// It may start the programs of a transport.
    travels: bool,
}

impl Bounded<'_> {
    /// A command in this folder.
    pub(super) fn call(&self, folder: &Path, words: &[&str]) -> Result<Call<'_>, Fault> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let place = ["-C", text(folder)?];
        let args = place.into_iter().chain(settings).chain(words.iter().copied());
        Ok(Call {
            bounded: self,
            verb: words.first().copied().unwrap_or_default().to_owned(),
            spec: self.git.spec(args.map(str::to_owned).collect()),
            stdin: Vec::new(),
            travels: false,
        })
    }

    /// The repository whose work tree the folder is in.
    pub(super) fn repository(&self, folder: &Path, empty: PathBuf) -> Result<Repository, Fault> {
        let ask = |what| self.call(folder, &["rev-parse", what])?.line().map(PathBuf::from);
        let (top, git_dir) = (ask("--show-toplevel")?, ask("--absolute-git-dir")?);
        match fs::create_dir(&empty) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(Fault::new(Defect::Crash, format!("cannot make {}: {error}", empty.display())))
            }
            _ => Ok(Repository { top, git_dir, empty }),
        }
    }

    /// A command about this repository.
    pub(super) fn within(&self, repository: &Repository, words: &[&str]) -> Result<Call<'_>, Fault> {
        let Repository { git_dir, empty, .. } = repository;
        let call = self.call(empty, words)?;
        Ok(call.env("GIT_DIR", text(git_dir)?).env("GIT_WORK_TREE", text(empty)?))
    }
}

impl Call<'_> {
    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.spec.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With an index of our own instead of the repository's.
    pub(super) fn index(self, index: &Path) -> Result<Self, Fault> {
        let index = text(index)?.to_owned();
        Ok(self.env("GIT_INDEX_FILE", &index))
    }

    /// With the transports that are named here.
    pub(super) fn travelling(mut self, protocols: &str) -> Self {
        self.travels = true;
        self.env("GIT_ALLOW_PROTOCOL", protocols)
    }

    pub(super) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs it; a status other than 0 is a fault.
    pub(super) fn run(self) -> Result<Vec<u8>, Fault> {
        let verb = self.verb.clone();
        let run = self.end()?;
        match run.end {
            End::Exit(0) => Ok(run.stdout),
            End::Exit(code) => Err(failed(&verb, &format!("exited with status {code}"), &run)),
            End::Signal(signal) => Err(failed(&verb, &format!("was killed by signal {signal}"), &run)),
        }
    }

    /// What it prints, without the line feed at its end.
    pub(super) fn line(self) -> Result<String, Fault> {
        let verb = self.verb.clone();
        let bytes = self.run()?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Fault::new(Defect::Unreadable, format!("git {verb} printed what is no text")))?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// The same, or `None` where it says with status 1 that there is no such thing.
    pub(super) fn line_if_any(self) -> Result<Option<String>, Fault> {
        let verb = self.verb.clone();
        let run = self.end()?;
        match run.end {
            End::Exit(0) => Ok(Some(String::from_utf8_lossy(&run.stdout).trim_end().to_owned())),
            End::Exit(1) => Ok(None),
            _ => Err(failed(&verb, "failed", &run)),
        }
    }

    fn end(self) -> Result<Run, Fault> {
        let Self { bounded, verb, spec, stdin, travels } = self;
        let ask = if travels { command::ask_whole } else { command::ask_alone };
        ask(&spec, bounded.timeout, &stdin, bounded.wanted)
            .map_err(|fault| Fault::new(fault.defect, format!("git {verb}: {}", fault.detail)))
    }
}

fn failed(verb: &str, how: &str, run: &Run) -> Fault {
    let said = String::from_utf8_lossy(&run.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim();
    Fault::new(Defect::Crash, format!("git {verb} {how}: {first}"))
}

/// Paths go to git as arguments and variables, which are text here.
pub(super) fn text(path: &Path) -> Result<&str, Fault> {
    path.to_str().filter(|text| !text.as_bytes().contains(&0)).ok_or_else(|| {
        let bytes = path.as_os_str().as_bytes();
        let shown = String::from_utf8_lossy(bytes);
        Fault::new(
            Defect::Unreadable,
            format!("the path {shown:?} is not text, and git is not asked about it"),
        )
    })
}
