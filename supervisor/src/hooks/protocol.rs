//! What a hook process is told and how its answer is read. Four protocols, one rule: an answer that is not
//! in the protocol's table is a fault, never a none.

mod claude;
mod exit_code;
mod hook_runner;
mod lifecycle;
mod native;
mod reason;
mod reply;
mod strict;
#[cfg(test)]
mod tests;
mod turn;

use super::command::{End, Fault, PATH, Run};
use super::manifest::Protocol;
use super::{Defect, HookAnswer};
use crate::enrich::commands::with_commands;
use crate::event::Event;

pub(in crate::hooks) use lifecycle::bounded;
pub use lifecycle::{Said, StagedManifest, lifecycle_answer, lifecycle_payload};
pub use reply::Reply;
pub(crate) use strict::Unique;

/// What goes to stdin: one JSON object and a line feed, so that `read -r` in a shell succeeds.
pub fn payload(protocol: Protocol, event: &Event) -> Result<Vec<u8>, Fault> {
    let event = with_commands(event);
    let json = match protocol {
        Protocol::Native | Protocol::ExitCode => serde_json::to_vec(&event),
        Protocol::Claude => serde_json::to_vec(&claude::Input::new(&event)),
        Protocol::HookRunner => serde_json::to_vec(&hook_runner::exec_input(&event)),
    };
    let mut json = json.map_err(|error| {
        Fault::new(Defect::Internal, format!("the event could not be written as JSON: {error}"))
    })?;
    json.push(b'\n');
    Ok(json)
}

/// Reads the answer of a finished run.
pub fn answer(protocol: Protocol, run: &Run) -> HookAnswer {
    let answer = match protocol {
        Protocol::Native => native::answer(run),
        Protocol::Claude => claude::answer(run),
        Protocol::ExitCode => exit_code::answer(run),
        Protocol::HookRunner => hook_runner::exec_answer(run),
    };
    answer.unwrap_or_else(|fault| fault.with_stderr(&run.stderr).into())
}

/// What a decision word means. Nothing can widen, so every word of consent is a none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    None,
    Ask,
    Deny,
}

impl Decision {
    /// With its reason, which a deny and an ask must have.
    fn with_reason(self, text: Option<&str>) -> Result<HookAnswer, Fault> {
        let word = match self {
            Self::None => return Ok(HookAnswer::None),
            Self::Ask => "ask",
            Self::Deny => "deny",
        };
        let Some(reason) = text.and_then(reason::clean) else {
            return Err(Fault::new(Defect::EmptyReason, format!("answered {word} without a reason")));
        };
        Ok(match self {
            Self::Ask => HookAnswer::Ask { reason },
            Self::None | Self::Deny => HookAnswer::Deny { reason },
        })
    }
}

/// An answer that came as a value, held to the form of one that came as text.
pub(in crate::hooks) fn well_formed(answer: HookAnswer) -> HookAnswer {
    let formed = match answer {
        HookAnswer::Deny { reason } => Decision::Deny.with_reason(Some(&reason)),
        HookAnswer::Ask { reason } => Decision::Ask.with_reason(Some(&reason)),
        HookAnswer::None | HookAnswer::Fault { .. } => return answer,
    };
    formed.unwrap_or_else(Into::into)
}

fn unknown_word(key: &str, word: &str) -> Fault {
    Fault::new(
        Defect::WrongArm,
        format!("answered with an unknown {key}: {}", reason::excerpt(word.as_bytes())),
    )
}

fn unreadable(why: &str, stdout: &[u8]) -> Fault {
    Fault::new(Defect::Unreadable, format!("{why}\nstdout: {}", reason::excerpt(stdout)))
}

/// The fault of a process that ended in a way its protocol does not know.
pub(super) fn crash(end: End) -> Fault {
    let detail = match end {
        End::Exit(code @ (126 | 127)) => format!(
            "exited with status {code}: a command was not found or not executable (hooks run with \
             PATH={PATH}; name programs by their absolute path)"
        ),
        End::Exit(code) => format!("exited with status {code}"),
        End::Signal(signal) => {
            let name = nix::sys::signal::Signal::try_from(signal).map_or("unknown", |known| known.as_str());
            format!("was killed by signal {signal} ({name})")
        }
    };
    Fault::new(Defect::Crash, detail)
}

/// White space of JSON; other white space is text.
fn trim(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// Output of the protocols in which text may precede no decision: empty, plain text, or one object.
enum Output<'a> {
    Silent,
    Object(&'a [u8]),
}

/// Sorts the stdout of the `claude` and `exit-code` protocols.
///
/// Plain text is silence. Text around an object is not: a profile's greeting before `{"decision":"deny"}`
/// must not turn a deny into a none.
fn sort(run: &Run) -> Result<Output<'_>, Fault> {
    let text = trim(&run.stdout);
    if text.first() == Some(&b'{') {
        return Ok(Output::Object(text));
    }
    if text.is_empty() {
        return Ok(Output::Silent);
    }
    if run.stdout_open {
        return Err(unreadable("left unfinished output on a stdout that another process still holds", text));
    }
    let bare = serde_json::from_slice::<serde_json::Value>(text).is_ok_and(|value| !value.is_number());
    let opens_object = |at: usize| text[at] == b'{' && trim(&text[at + 1..]).first() == Some(&b'"');
    let object_inside = text.split(|byte| *byte == b'\n').any(|line| trim(line).first() == Some(&b'{'))
        || (0..text.len()).any(opens_object);
    if bare || object_inside {
        return Err(unreadable("wrote something that is neither plain text nor one JSON object", text));
    }
    Ok(Output::Silent)
}
