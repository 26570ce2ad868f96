//! Which programs one exec is: the file, its `#!` interpreters, what `ld.so` loads, the applet of a
//! multi-call binary. Rules and capabilities look at programs only through this.

use std::borrow::Cow;

use super::pattern::{Pattern, basename};
use crate::event::Event;

/// A program by its path, where it has one, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject<'e> {
    pub(super) path: Option<Cow<'e, str>>,
    pub(super) name: &'e str,
}

impl<'e> Subject<'e> {
    fn itself(event: &'e Event) -> Self {
        Self { path: Some(Cow::Borrowed(&event.path)), name: &event.name }
    }

    fn path(path: &'e str) -> Self {
        Self { path: Some(Cow::Borrowed(path)), name: basename(path) }
    }

    fn name(name: &'e str) -> Self {
        Self { path: None, name }
    }

    pub(super) fn matches(&self, pattern: &Pattern) -> bool {
        pattern.matches(self.path.as_deref(), self.name)
    }

    pub(super) fn is_one_of(&self, patterns: &[Pattern]) -> bool {
        patterns.iter().any(|pattern| self.matches(pattern))
    }
}

/// Everything a rule that refuses may know this exec by. The names the caller and the `#!` line used count
/// too: `npm` is a link to `npm-cli.js` and `/bin/sh` one to `/usr/bin/dash`, and nobody writes the second in
/// a rule.
pub(super) fn aliases(event: &Event) -> Vec<Subject<'_>> {
    let mut found = vec![Subject::itself(event)];
    let raw = event.path_raw.as_str();
    if raw != event.path {
        found.push(as_written(raw, &event.cwd));
    }
    for interpreter in &event.interpreters {
        found.push(Subject::path(&interpreter.path));
        found.push(as_written(&interpreter.raw, &event.cwd));
    }
    found.extend(event.payload.as_deref().map(Subject::path));
    found.extend(event.applet.as_deref().map(Subject::name));
    found.retain(|subject| !subject.name.is_empty());
    let twins: Vec<_> = found.iter().filter_map(twin).collect();
    found.extend(twins);
    found
}

/// A path as someone wrote it: made absolute and rid of `.`, `..` and double slashes, links left alone.
fn as_written<'e>(raw: &'e str, cwd: &str) -> Subject<'e> {
    let name = basename(raw);
    if !raw.contains('/') {
        return Subject::name(name);
    }
    let plain = raw.starts_with('/') && !raw.contains("//") && !raw.contains("/.");
    let path = if plain { Cow::Borrowed(raw) } else { Cow::Owned(lexical(raw, cwd)) };
    Subject { path: Some(path), name }
}

fn lexical(raw: &str, cwd: &str) -> String {
    let base = if raw.starts_with('/') { "" } else { cwd };
    let mut parts = Vec::new();
    for part in base.split('/').chain(raw.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Where `/bin` is a link to `/usr/bin`, a program has two paths, and a rule may be written with either. Where it
/// is none, a rule about the one refuses the other as well, which is no loss.
fn twin<'e>(subject: &Subject<'e>) -> Option<Subject<'e>> {
    let path = subject.path.as_deref()?;
    let of_system =
        |path: &str| ["/bin/", "/sbin/", "/lib/", "/lib64/"].iter().any(|top| path.starts_with(top));
    let other = match path.strip_prefix("/usr") {
        Some(rest) if of_system(rest) => rest.to_owned(),
        None if of_system(path) => format!("/usr{path}"),
        Some(_) | None => return None,
    };
    Some(Subject { path: Some(Cow::Owned(other)), name: subject.name })
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
    let itself = Subject::itself(event);
    itself.is_one_of(patterns)
        || event.interpreters.last().is_some_and(|last| Subject::path(&last.path).is_one_of(patterns))
}

/// Whether a list that refuses or asks means this exec, by any name it may be known by.
pub(crate) fn concerned(event: &Event, patterns: &[Pattern]) -> bool {
    aliases(event).iter().any(|subject| subject.is_one_of(patterns))
}

/// Whether the capability list admits every program this exec is: the file or, for a multi-call binary, its
/// applet; each interpreter; and what `ld.so` loads.
pub(crate) fn admitted(event: &Event, patterns: &[Pattern]) -> bool {
    let itself = Subject::itself(event);
    let program = match event.applet.as_deref() {
        // By name the applet stands for the binary; a path or glob of paths trusts the whole binary.
        Some(applet) => {
            Subject::name(applet).is_one_of(patterns)
                || patterns.iter().any(|pattern| pattern.matches(itself.path.as_deref(), ""))
        }
        None => itself.is_one_of(patterns),
    };
    program
        && event.interpreters.iter().all(|each| Subject::path(&each.path).is_one_of(patterns))
        && event.payload.as_deref().is_none_or(|payload| Subject::path(payload).is_one_of(patterns))
}
