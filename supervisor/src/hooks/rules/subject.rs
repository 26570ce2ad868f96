//! Which programs one exec is: the file, its `#!` interpreters, what `ld.so` loads, the applet of a
//! multi-call binary. Rules and capabilities look at programs only through this.

use super::pattern::{Pattern, basename};
use crate::event::Event;

/// A program by its path, where it has one, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject<'e> {
    pub(super) path: Option<&'e str>,
    pub(super) name: &'e str,
}

impl<'e> Subject<'e> {
    fn path(path: &'e str) -> Self {
        Self { path: Some(path), name: basename(path) }
    }

    fn name(name: &'e str) -> Self {
        Self { path: None, name }
    }

    fn is_one_of(self, patterns: &[Pattern]) -> bool {
        patterns.iter().any(|pattern| pattern.matches(self.path, self.name))
    }
}

/// Everything a rule that refuses may know this exec by. The name the caller used counts too: `npm` is a
/// link to `npm-cli.js`, and nobody writes the second in a rule.
pub(super) fn aliases(event: &Event) -> Vec<Subject<'_>> {
    let mut found = vec![Subject { path: Some(&event.path), name: &event.name }];
    let raw = event.path_raw.as_str();
    if raw != event.path {
        found.push(if raw.starts_with('/') { Subject::path(raw) } else { Subject::name(basename(raw)) });
    }
    for interpreter in &event.interpreters {
        found.push(Subject::path(&interpreter.path));
        found.push(Subject::name(basename(&interpreter.raw)));
    }
    found.extend(event.payload.as_deref().map(Subject::path));
    found.extend(event.applet.as_deref().map(Subject::name));
    found.retain(|subject| !subject.name.is_empty());
    found
}

/// Whether a rule that lets pass means this exec. It trusts only what the kernel resolved, never a name the
/// caller chose, and it must mean the program that does the work: what `ld.so` loads and not `ld.so`, the
/// applet and not `busybox`; a script's interpreter will do, because that is what runs.
pub(super) fn passes(event: &Event, patterns: &[Pattern]) -> bool {
    if let Some(payload) = &event.payload {
        return Subject::path(payload).is_one_of(patterns);
    }
    if let Some(applet) = &event.applet {
        return Subject::name(applet).is_one_of(patterns);
    }
    let itself = Subject { path: Some(&event.path), name: &event.name };
    itself.is_one_of(patterns)
        || event.interpreters.last().is_some_and(|last| Subject::path(&last.path).is_one_of(patterns))
}

/// Whether the capability list admits every program this exec is: the file or, for a multi-call binary, its
/// applet; each interpreter; and what `ld.so` loads.
pub(crate) fn admitted(event: &Event, patterns: &[Pattern]) -> bool {
    let itself = Subject { path: Some(&event.path), name: &event.name };
    let program = match event.applet.as_deref() {
        // By name the applet stands for the binary; a path or glob of paths trusts the whole binary.
        Some(applet) => {
            Subject::name(applet).is_one_of(patterns)
                || patterns.iter().any(|pattern| pattern.matches(itself.path, ""))
        }
        None => itself.is_one_of(patterns),
    };
    program
        && event.interpreters.iter().all(|each| Subject::path(&each.path).is_one_of(patterns))
        && event.payload.as_deref().is_none_or(|payload| Subject::path(payload).is_one_of(patterns))
}
