//! The files a hook is made of, as they were when the session started. A hook that the agent could rewrite in
//! mid-session would be the agent's own policy, so one that changed is not asked: it refuses.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::hooks::manifest::CommandSpec;

/// What a change of content cannot leave as it is; the ctime not even by whoever sets times back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    ctime: (i64, i64),
}

impl Stamp {
    /// Of what a path leads to; `None` when nothing can be seen there.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|facts| Self::of(&facts))
    }

    fn of(facts: &Metadata) -> Self {
        let ctime = (facts.ctime(), facts.ctime_nsec());
        Self { dev: facts.dev(), ino: facts.ino(), size: facts.size(), ctime }
    }
}

/// The files of one hook: its program, and what its operands name that is code. Other files it names are its
/// data, which may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins(Vec<(PathBuf, Stamp)>);

impl Pins {
    pub fn of(spec: &CommandSpec) -> Self {
        let operands = spec.args.iter().flat_map(|arg| named_in(arg, spec));
        let pinned = std::iter::once(spec.program.clone()).chain(operands).filter_map(|path| {
            let facts = fs::metadata(&path).ok().filter(|facts| facts.is_file() && is_code(&path, facts))?;
            Some((path, Stamp::of(&facts)))
        });
        Self(pinned.collect())
    }

    /// The first file that is not what it was. One that is gone is left to the start of the hook, which says so.
    pub fn changed(&self) -> Option<&Path> {
        let other = |(path, stamp): &&(PathBuf, Stamp)| {
            fs::metadata(path).is_ok_and(|facts| Stamp::of(&facts) != *stamp)
        };
        self.0.iter().find(other).map(|(path, _)| path.as_path())
    }
}

fn is_code(path: &Path, facts: &Metadata) -> bool {
    const SUFFIXES: [&str; 9] = ["py", "sh", "bash", "js", "mjs", "cjs", "pl", "rb", "ts"];
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    facts.mode() & 0o111 != 0 || suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix))
}

/// Absolute paths among the words of an operand, which may itself be a shell's line with the hook's variables.
fn named_in(arg: &str, spec: &CommandSpec) -> Vec<PathBuf> {
    let mut line = arg.to_owned();
    for (name, value) in &spec.env {
        line = line.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    let words = line.split_whitespace().map(|word| word.replace(['"', '\''], ""));
    words.map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
    use super::*;
    use crate::hooks::manifest::Protocol;
    use crate::hooks::sample;

    #[test]
    fn a_hook_file_that_is_rewritten_or_replaced_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("guard.sh");
        fs::write(&script, "exit 0\n").unwrap();
        let mut spec = sample::sh("", Protocol::ExitCode);
        spec.args = vec![script.display().to_string()];
        let pins = Pins::of(&spec);
        assert_eq!(pins.changed(), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&script, "exit 9\n").unwrap();
        assert_eq!(pins.changed(), Some(script.as_path()));
        let pins = Pins::of(&spec);
        fs::rename(dir.path().join("guard.sh"), dir.path().join("old")).unwrap();
        assert_eq!(pins.changed(), None, "a missing file is the start's to explain");
        fs::write(&script, "exit 9\n").unwrap();
        assert_eq!(pins.changed(), Some(script.as_path()));
    }

    #[test]
    fn files_that_a_shell_line_names_belong_to_the_hook() {
        let mut spec = sample::sh("\"$PROJECT\"/guard.sh --strict; /bin/x", Protocol::Claude);
        spec.env.insert("PROJECT".into(), "/w".into());
        assert_eq!(named_in(&spec.args[1], &spec), [PathBuf::from("/w/guard.sh"), "/bin/x".into()]);
    }
}
