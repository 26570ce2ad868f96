//! What the operations work on: a caller's memory, programs and policies, whose lengths are the same on every machine.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use nix::sys::stat::fstat;
use shellgate::capture::Attempt;
use shellgate::capture::call::{Abi, Call, Syscall};
use shellgate::capture::process::Process;
use shellgate::capture::program::{Format, Program};
use shellgate::capture::resolve::Resolved;
use shellgate::capture::view::{Cwd, View};
use shellgate::enrich::environment::Environments;
use shellgate::event::FileKind;
use shellgate::hooks::gate::Gate;
use shellgate::launch::filter;
use shellgate::notify::{RawCall, Target};
use shellgate::trace::{Redactor, Trace};
use shellgate::{Config, ConfigSource, Event, config};

/// A call as agents make most of them.
pub(crate) const PROGRAM: [&str; 4] = ["git", "commit", "-m", "capture: read argv with one bounded copy"];
/// One whose body is read.
pub(crate) const SHELL: [&str; 3] =
    ["bash", "-c", "cd src && for file in *.c; do cc -O2 -c \"$file\" || exit 1; done; ls -l *.o | wc -l"];
/// One with something to mask.
pub(crate) const SECRET: [&str; 5] =
    ["git", "clone", "--password", "correct-horse", "https://user:hunter2hunter2@example.invalid/a.git"];

/// As a session of an agent has them, but fewer.
const ENVIRONMENT: [&str; 14] = [
    "HOME=/home/agent",
    "LANG=C.UTF-8",
    "LOGNAME=agent",
    "OLDPWD=/home/agent",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "PWD=/home/agent/project",
    "SHELL=/bin/bash",
    "SHLVL=2",
    "TERM=xterm-256color",
    "TMPDIR=/tmp",
    "USER=agent",
    "XDG_RUNTIME_DIR=/run/user/1000",
    "GIT_AUTHOR_NAME=agent",
    "_=/usr/bin/git",
];

/// A folder for a policy and a trace, gone when the operation is.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("the temporary folder is writable") }
    }

    /// A call as capture hands it on, of a file in /usr/bin that is the same everywhere.
    pub(crate) fn attempt(&self, words: &[&str]) -> Attempt {
        let path = format!("/usr/bin/{}", words[0]);
        let call = Call {
            syscall: Syscall::Execve,
            abi: Abi::NATIVE,
            dirfd: libc::AT_FDCWD,
            flags: 0,
            path: path.clone().into_bytes(),
            argv: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
            envp: ENVIRONMENT.iter().collect(),
        };
        let folder = File::open(self.folder.path()).expect("our own folder");
        let mut stat = fstat(&folder).expect("it is open");
        (stat.st_dev, stat.st_ino, stat.st_size) = (0x801, 1_234_567, 2_345_678);
        (stat.st_mode, stat.st_uid) = (0o100_755, 0);
        (stat.st_mtime, stat.st_mtime_nsec) = (1_767_225_600, 123_456_789);
        let file = Resolved {
            fd: folder.into(),
            path: path.into_bytes(),
            kind: FileKind::Regular,
            stat,
            held: None,
            known: false,
        };
        Attempt {
            target: Target { tid: 4242, pid: 4242 },
            process: Process { pid: 4242, ppid: 4240, uid: 1000, gid: 1000 },
            call: Arc::new(call),
            cwd: Cwd { path: "/home/agent/project".into(), deleted: false },
            program: Program { file, format: Format::Elf, interpreters: Vec::new() },
            view: View { tid: nix::unistd::gettid().as_raw(), shares_our_root: true, cwd: None },
        }
    }

    pub(crate) fn event(&self, words: &[&str]) -> Arc<Event> {
        super::event_of(&self.attempt(words), &Environments::new(config::EventEnv::Known))
    }

    pub(crate) fn gate(&self, rules: &str) -> Gate {
        let file = self.folder.path().join("shellgate.yaml");
        let text = format!(
            "version: 1\nhooks:\n  - name: bench\n    binding: on-shell\n    commit_policy: deny\n    rules:\n{rules}    \
             otherwise: none\n"
        );
        fs::write(&file, text).expect("our own folder");
        let Config { capabilities, hooks, .. } =
            Config::load(&ConfigSource::File(file)).expect("a policy that is right");
        Gate::new(Box::new(move |event| capabilities.admits(event)), hooks)
    }

    pub(crate) fn trace(&self) -> Trace {
        let redactor = Redactor::default();
        redactor.prepare();
        let path: &Path = &self.folder.path().join("trace.jsonl");
        Trace::open(path).expect("our own folder").with_redactor(redactor)
    }
}

/// So many rules, none of which is about what is run.
pub(crate) fn others(count: usize) -> String {
    (0..count).fold(String::new(), |text, n| text + &rule(&format!("{n:04}"), &format!("other{n:04}")))
}

/// The last one is about it, and its condition does not hold.
pub(crate) fn concerned(count: usize) -> String {
    others(count - 1) + &rule("about it", PROGRAM[0])
}

/// The last one refuses it.
pub(crate) fn refused(count: usize) -> String {
    others(count - 1) + &format!("      - {{deny: not here, exe: {}}}\n", PROGRAM[0])
}

fn rule(name: &str, exe: &str) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "      - {{deny: rule {name}, exe: {exe}, if: 'argv.size() > 1 && argv.exists(a, a in [\"-f\", \"--force\"])'}}"
    );
    text
}

/// Strings and pointers to them, as execve(2) is given them: side by side, and from the beginning of a page, as where they
/// lie decides how they are read.
pub(crate) struct Memory {
    bytes: Vec<u8>,
    strings: usize,
    argv: usize,
    envp: usize,
}

const PAGE: usize = 4096;

impl Memory {
    pub(crate) fn of(words: &[&str]) -> Self {
        let mut bytes = vec![0; 4 * PAGE];
        let address = bytes.as_ptr() as usize;
        let strings = address.next_multiple_of(PAGE) - address;
        let mut end = strings;
        let mut put = |texts: &[&str]| -> Vec<usize> {
            let mut pointers = Vec::new();
            for text in texts {
                bytes[end..end + text.len()].copy_from_slice(text.as_bytes());
                pointers.push(address + end);
                end += text.len() + 1;
            }
            pointers.push(0);
            pointers
        };
        let (argv, envp) = (put(words), put(&ENVIRONMENT));
        let mut at = strings + 2 * PAGE;
        let mut point = |pointers: Vec<usize>| -> usize {
            let start = at;
            for pointer in pointers {
                bytes[at..at + 8].copy_from_slice(&pointer.to_ne_bytes());
                at += 8;
            }
            start
        };
        let (argv, envp) = (point(argv), point(envp));
        Self { bytes, strings, argv, envp }
    }

    pub(crate) fn call(&self) -> RawCall {
        let (arch, nr) = if cfg!(target_arch = "aarch64") {
            (filter::ARCH_AARCH64, filter::AARCH64.execve)
        } else {
            (filter::ARCH_X86_64, filter::X86_64.execve)
        };
        let address = |at: usize| (self.bytes.as_ptr() as usize + at) as u64;
        RawCall { arch, nr, args: [address(self.strings), address(self.argv), address(self.envp), 0, 0, 0] }
    }
}
