//! What really starts: the kernel's `#!` rewriting undone or done, dynamic loaders and multi-call binaries
//! looked through.

use std::borrow::Cow;

use super::reading::lossy;
use super::{Subject, loader, multicall};

/// A program file and its argv, before loaders and applets are looked through.
pub(super) struct Started<'a> {
    pub(super) path: Cow<'a, str>,
    argv: Vec<Cow<'a, [u8]>>,
}

impl Started<'_> {
    pub(super) fn words(&self) -> Vec<&[u8]> {
        self.argv.iter().map(Cow::as_ref).collect()
    }
}

/// The program whose command line it is.
pub(super) struct Program<'a> {
    /// The name it is known by: of the file, or of the applet.
    pub(super) name: String,
    pub(super) applet: Option<String>,
    /// The shell grammar of a multi-call binary.
    pub(super) shell: Option<&'static str>,
    pub(super) words: Vec<&'a [u8]>,
}

/// The subject itself, without its interpreters.
pub(super) fn direct<'a>(subject: &Subject<'a>) -> Started<'a> {
    let argv = subject.argv.iter().map(|word| Cow::Borrowed(word.as_slice())).collect();
    Started { path: Cow::Borrowed(subject.path), argv }
}

/// The subject as the kernel starts it. `raw` is the name the first interpreter is written with, if known.
pub(super) fn started<'a>(subject: &Subject<'a>, raw: Option<&'a [u8]>) -> Started<'a> {
    let mut started = direct(subject);
    for (depth, (path, arg)) in subject.interpreters.iter().enumerate() {
        // The kernel drops argv[0] for the path of the script.
        let script = match depth {
            0 => Cow::Borrowed(subject.path_raw),
            _ => Cow::Owned(started.path.into_owned().into_bytes()),
        };
        let name = raw.filter(|_| depth == 0).unwrap_or(path.as_bytes());
        let head = [Some(Cow::Borrowed(name)), arg.as_ref().map(|arg| Cow::Borrowed(arg.as_bytes()))];
        let argv = head.into_iter().flatten().chain([script]);
        let argv = argv.chain(started.argv.into_iter().skip(1)).collect();
        started = Started { path: Cow::Borrowed(path), argv };
    }
    started
}

/// Looks through loaders and multi-call binaries. `canonical` resolves a path as the target sees it.
pub(super) fn behind<'a>(
    started: &'a Started<'_>,
    canonical: &dyn Fn(&[u8]) -> Option<String>,
) -> Program<'a> {
    let mut path = Cow::Borrowed(&*started.path);
    let mut words = started.words();
    // A loader refuses to load itself, so one level is all there is.
    if let Some(found) = loader::operand(&path, &words) {
        path = Cow::Owned(canonical(found.program).unwrap_or_else(|| lossy(found.program)));
        let argv0 = found.argv0.unwrap_or(found.program);
        words = [argv0].into_iter().chain(words.iter().skip(found.index + 1).copied()).collect();
    }
    let name = base(&path).to_owned();
    match multicall::applet(&name, &words) {
        Some(found) => {
            words.drain(..found.skip);
            Program { name: found.name.clone(), applet: Some(found.name), shell: Some(found.shell), words }
        }
        None => Program { name, applet: None, shell: None, words },
    }
}

pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
