//! Which of a program's variables an event shows. The programs of a tree mostly hand the same environment on, so the
//! last ones are kept, and events share them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::describe::lossy;
use crate::capture::strings::Strings;
use crate::config::EventEnv;

/// Variables that are known to change what programs execute.
const KNOWN_ENV: [&str; 34] = [
    "BASHOPTS",
    "BASH_ENV",
    "CC",
    "CDPATH",
    "CXX",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LUA_INIT",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PHPRC",
    "PROMPT_COMMAND",
    "PS4",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC_WRAPPER",
    "SHELL",
    "SHELLOPTS",
    "VISUAL",
];
const KNOWN_PREFIXES: [&str; 7] = ["BASH_FUNC_", "CARGO_", "DYLD_", "GIT_", "LD_", "PYTHON", "npm_config_"];

/// So many are kept. A shell gives each command another `_`.
const MOST_KEPT: usize = 32;
/// A longer one is not kept, in bytes.
const LONGEST_KEPT: usize = 64 * 1024;

/// The variables that are shown, and the names of all, sorted.
pub type Shown = (Arc<BTreeMap<String, String>>, Arc<Vec<String>>);

/// The environments that were seen last, latest first.
#[derive(Debug)]
pub struct Environments {
    which: EventEnv,
    kept: Mutex<VecDeque<(Strings, Shown)>>,
}

impl Environments {
    pub fn new(which: EventEnv) -> Self {
        Self { which, kept: Mutex::default() }
    }

    pub fn of(&self, envp: &Strings) -> Shown {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(known, _)| known == envp)
            && let Some(found) = kept.remove(at)
        {
            let shown = found.1.clone();
            kept.push_front(found);
            return shown;
        }
        let (shown, names) = environment(envp, self.which);
        let shown = (Arc::new(shown), Arc::new(names));
        if envp.as_bytes().len() <= LONGEST_KEPT {
            kept.truncate(MOST_KEPT - 1);
            kept.push_front((envp.clone(), shown.clone()));
        }
        shown
    }
}

fn environment(envp: &Strings, which: EventEnv) -> (BTreeMap<String, String>, Vec<String>) {
    let mut shown = BTreeMap::new();
    let mut names = Vec::with_capacity(64);
    for entry in envp.iter() {
        let (name, value) = match entry.iter().position(|byte| *byte == b'=') {
            Some(at) => (&entry[..at], &entry[at + 1..]),
            None => (entry, &[][..]),
        };
        let name = lossy(name);
        let known = KNOWN_ENV.binary_search(&name.as_str()).is_ok()
            || KNOWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if known || which == EventEnv::All {
            // A program takes the first of two entries with one name.
            shown.entry(name.clone()).or_insert_with(|| lossy(value));
        }
        names.push(name);
    }
    names.sort_unstable();
    names.dedup();
    (shown, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_names_can_be_searched() {
        assert!(KNOWN_ENV.is_sorted());
    }

    #[test]
    fn values_are_shown_only_of_variables_that_change_what_runs() {
        let envp: Strings = ["PATH=/bin", "TOKEN=x", "LD_PRELOAD=/x=y", "PATH=/evil"].iter().collect();
        let (shown, names) = environment(&envp, EventEnv::Known);
        let expected = [("LD_PRELOAD", "/x=y"), ("PATH", "/bin")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(shown, BTreeMap::from(expected));
        assert_eq!(names, ["LD_PRELOAD", "PATH", "TOKEN"]);
        assert!(environment(&envp, EventEnv::All).0.contains_key("TOKEN"));
    }

    #[test]
    fn equal_environments_are_shared_and_others_are_not() {
        let environments = Environments::new(EventEnv::Known);
        let of = |text: &str| environments.of(&std::iter::once(text).collect());
        let first = of("PATH=/a");
        assert!(Arc::ptr_eq(&first.0, &of("PATH=/a").0));
        assert_eq!(of("PATH=/b").0["PATH"], "/b");
        for n in 0..MOST_KEPT {
            of(&format!("PATH=/{n}"));
        }
        let again = of("PATH=/a");
        assert!(!Arc::ptr_eq(&first.0, &again.0), "the oldest makes room");
        assert_eq!(first, again);
        let long = format!("PATH=/{}", "x".repeat(LONGEST_KEPT));
        assert!(!Arc::ptr_eq(&of(&long).0, &of(&long).0));
    }
}
