//! Entrances for the fuzz targets: each takes bytes as an attacker could choose them, and panics when something holds no
//! more that must. Built with the feature `fuzzing` and for tests only.
#![forbid(unsafe_code)]

mod tree;

use std::path::Path;

use crate::capture::call::{self, Call};
use crate::capture::program::Format;
use crate::capture::{binfmt, program, shebang};
use crate::config::Config;
use crate::enrich::{self, Subject, commands};
use crate::event::{Event, Script, ScriptSource};
use crate::hooks::HookAnswer;
use crate::hooks::command::{End, Run};
use crate::hooks::manifest::{CommitPolicy, Protocol};
use crate::hooks::point::Point;
use crate::hooks::protocol;
use crate::launch::filter;
use crate::notify::RawCall;

/// The shell parser's own panics are caught, and are a text that cannot be read; anyone else's end the run.
pub fn let_the_shell_parser_panic() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("brush-parser")) {
            ends(panic);
        }
    }));
}

/// A command line of an interpreter: its path and then its words, a line each; behind `---` files as [`tree::input`] reads them.
pub fn shell_forms(data: &[u8]) {
    let (words, tree) = tree::input(data);
    let path = words.first().map(|word| String::from_utf8_lossy(word).into_owned()).unwrap_or_default();
    let interpreters =
        [("/bin/sh".to_owned(), words.get(1).map(|word| String::from_utf8_lossy(word).into_owned()))];
    for interpreters in [&[][..], &interpreters] {
        for unknown_format in [false, true] {
            let subject = Subject {
                path: &path,
                path_raw: path.as_bytes(),
                argv: &words,
                interpreters,
                unknown_format,
            };
            let script = enrich::script(&subject, &tree);
            assert!(
                script.is_none_or(|script| script.text.is_some() || !script.complete),
                "no text is not all of it"
            );
            let _ = (enrich::payload(&subject), enrich::applet(&subject));
        }
    }
}

/// A build tool over a folder `/w`: its words, a line each, and behind `---` the files.
pub fn recipe(tool: &str, data: &[u8]) {
    let (mut words, tree) = tree::input(data);
    words.insert(0, tool.as_bytes().to_vec());
    let path = format!("/usr/bin/{tool}");
    let subject = Subject {
        path: &path,
        path_raw: path.as_bytes(),
        argv: &words,
        interpreters: &[],
        unknown_format: false,
    };
    let env = [b"PATH=/usr/bin".to_vec(), b"HOME=/root".to_vec()];
    let Some(recipe) = enrich::recipe::recipe(&subject, tree::CWD, || env.to_vec(), &tree) else { return };
    assert!(recipe.complete != recipe.note.is_some(), "a recipe is complete or says why not");
    let _ = commands::of_recipe(&recipe);
}

/// A configuration file.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(config) = Config::of_text(text, Path::new("/proc/self/no-such-folder")) {
        assert!(!config.digest.is_empty());
    }
}

/// What a hook did: one byte how it ended, the rest what it wrote.
pub fn protocols(data: &[u8]) {
    let Some((how, stdout)) = data.split_first() else { return };
    let end = match how & 3 {
        0 => End::Exit(0),
        1 => End::Exit(2),
        2 => End::Exit(1),
        _ => End::Signal(9),
    };
    let run = Run { end, stdout: stdout.to_vec(), stdout_open: how & 4 != 0, stderr: stdout.to_vec() };
    for protocol in [Protocol::Claude, Protocol::HookRunner] {
        for point in Point::ALL {
            let decides = point == Point::PreToolUse;
            let arm = if decides { CommitPolicy::Deny } else { CommitPolicy::Steer };
            let Ok(said) = protocol::lifecycle_answer(protocol, arm, Some(point), &run) else { continue };
            assert!(!decides || said.answer != HookAnswer::None || end == End::Exit(0), "{protocol:?}");
            assert!(said.input.is_none() || said.answer == HookAnswer::None, "{protocol:?}");
            let texts = said.block.iter().chain(&said.halt).chain(&said.notes);
            assert!(texts.into_iter().all(|text| !text.trim().is_empty()), "{protocol:?} {point}");
        }
    }
    for protocol in [Protocol::Native, Protocol::Claude, Protocol::ExitCode, Protocol::HookRunner] {
        match protocol::answer(protocol, &run) {
            HookAnswer::None => {
                assert_eq!(end, End::Exit(0), "{protocol:?}");
                let says_so = serde_json::from_slice::<serde_json::Value>(stdout)
                    .is_ok_and(|said| said["verdict"] == "none");
                let marked = stdout.strip_prefix(b"\xef\xbb\xbf").is_some();
                assert!(
                    protocol != Protocol::Native || says_so || marked,
                    "native says none in so many words"
                );
            }
            HookAnswer::Deny { reason } | HookAnswer::Ask { reason } => {
                assert!(!reason.trim().is_empty(), "{protocol:?}");
            }
            HookAnswer::Fault { detail, .. } => assert!(!detail.is_empty(), "{protocol:?}"),
        }
    }
}

/// The memory of a caller, with pointers into it where its first words are small; and the start of a program file.
pub fn capture(data: &[u8]) {
    let head = &data[..data.len().min(shebang::BUFFER)];
    match (program::format(head), shebang::parse(head)) {
        (Format::Script, _) | (_, None) => {}
        (format, Some(line)) => panic!("{format:?} has the line {line:?}"),
    }
    let text = String::from_utf8_lossy(data);
    let _ = binfmt::takes(&text, head, b"/w/a.exe");
    let _ = binfmt::takes(&format!("enabled\n{text}"), head, b"/w/a.exe");
    let mut memory = data.to_vec();
    memory.resize(memory.len().next_multiple_of(8) + 16, 0);
    let base = memory.as_ptr() as u64;
    // Addresses are what a fuzzer cannot guess: a small number stands for a place in the caller's memory.
    for at in (0..memory.len() - 16).step_by(8) {
        let word = memory[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        if word != 0 && word < memory.len() as u64 {
            memory[at..at + 8].copy_from_slice(&(base + word).to_le_bytes());
        }
    }
    let arch = if cfg!(target_arch = "aarch64") { filter::ARCH_AARCH64 } else { filter::ARCH_X86_64 };
    let place = |at: usize| data.get(at).map_or(0, |byte| base + u64::from(*byte));
    for nr in [59, 322] {
        let raw = RawCall { arch, nr, args: [place(0), place(1), place(2), place(3), u64::from(nr), 0] };
        if let Ok(Ok(Call { argv, path, .. })) = call::read(nix::unistd::gettid().as_raw(), raw) {
            assert!(!argv.is_empty(), "no program starts without a first word");
            assert!(!path.contains(&0) && argv.iter().all(|word| !word.contains(&0)));
        }
    }
    drop(memory);
}

/// The text of a shell.
pub fn commands(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = commands::read(&text);
    assert!(read.commands.is_some() || read.syntax_error.is_some(), "a text is read or it is said why not");
    for command in read.commands.iter().flatten() {
        assert!(command.is_static && command.line > 0);
        assert!(
            !command.literal || command.name.is_some() || command.argv.first().is_none_or(String::is_empty)
        );
    }
    let script = Script {
        language: Some("bash".into()),
        text: Some(text.into_owned()),
        ..Script::blank(ScriptSource::Command)
    };
    let event = Event { script: Some(script), ..Event::blank() };
    assert!(protocol::payload(Protocol::Claude, &event).is_ok());
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use super::*;

    type Target<'f> = (&'f str, &'f dyn Fn(&[u8]));

    /// Changed copies of each seed.
    const CHANGES: usize = 60;

    /// Each seed whole, and with a few bytes cut out, doubled or replaced: what the fuzzer starts with must hold.
    #[test]
    fn every_seed_and_its_neighbours_hold() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
        let targets: [Target<'_>; 8] = [
            ("capture", &capture),
            ("commands", &commands),
            ("config", &config),
            ("just", &|data| recipe("just", data)),
            ("make", &|data| recipe("make", data)),
            ("npm", &|data| recipe("npm", data)),
            ("protocols", &protocols),
            ("shell_forms", &shell_forms),
        ];
        let mut state = 7_u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound.max(1)
        };
        for (target, feed) in targets {
            for seed in std::fs::read_dir(corpus.join(target)).unwrap() {
                let seed = std::fs::read(seed.unwrap().path()).unwrap();
                feed(&seed);
                for _ in 0..CHANGES {
                    let mut changed = seed.clone();
                    let start = below(changed.len());
                    let end = (start + 1 + below(6)).min(changed.len());
                    match below(3) {
                        0 => drop(changed.drain(start..end)),
                        1 => changed.extend_from_within(start..end),
                        _ => changed[start..end].fill(below(256) as u8),
                    }
                    feed(&changed);
                }
            }
        }
    }
}
