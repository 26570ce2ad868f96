//! The `claude` protocol: hooks written for Claude Code's PreToolUse and PostToolUse, unchanged. An exec is
//! shown to them as a call of the tool `Bash`.

use serde::Serialize;
use serde_json::Value;

use super::strict::Object;
use super::{Decision, Output, crash, sort, unknown_word, unreadable};
use crate::event::{Event, Outcome, OutcomeKind, Phase, ScriptSource};
use crate::hooks::HookAnswer;
use crate::hooks::command::{End, Fault, Run};

/// stdin of the hook.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are Claude Code's")]
pub(super) struct Input<'a> {
    session_id: &'a str,
    transcript_path: &'static str,
    cwd: &'a str,
    hook_event_name: &'static str,
    permission_mode: &'static str,
    tool_name: &'static str,
    tool_input: ToolInput,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_response: Option<ToolResponse>,
    /// The whole event, for hooks that know us.
    shellgate: &'a Event,
}

#[derive(Debug, Serialize)]
struct ToolInput {
    command: String,
}

/// What became of it, in the words such hooks look for.
#[derive(Debug, Serialize)]
struct ToolResponse {
    kind: OutcomeKind,
    exit_code: Option<i32>,
    signal: Option<i32>,
    duration_ms: u64,
}

impl ToolResponse {
    fn new(outcome: &Outcome) -> Self {
        Self {
            kind: outcome.kind,
            exit_code: outcome.code,
            signal: outcome.signal,
            duration_ms: outcome.duration_us / 1000,
        }
    }
}

impl<'a> Input<'a> {
    pub(super) fn new(event: &'a Event) -> Self {
        Self {
            session_id: &event.session_id,
            transcript_path: "",
            cwd: &event.cwd,
            hook_event_name: match event.phase {
                Phase::Before => "PreToolUse",
                Phase::After => "PostToolUse",
            },
            permission_mode: "default",
            tool_name: "Bash",
            tool_input: ToolInput { command: command(event) },
            tool_response: event.outcome.as_ref().map(ToolResponse::new),
            shellgate: event,
        }
    }
}

/// A shell's `-c` body when it says all there is to say, anything else as argv quoted for a shell: with
/// positional parameters, `sh -c 'eval "$1"' _ TEXT` would hide the text. Never the display form, which may be
/// shortened.
pub(super) fn command(event: &Event) -> String {
    if let Some(script) = &event.script
        && script.source == ScriptSource::Command
        && script.complete
        && script.args.is_empty()
        && let Some(text) = &script.text
    {
        return text.clone();
    }
    shell_words::join(&event.argv)
}

pub(super) fn answer(run: &Run) -> Result<HookAnswer, Fault> {
    match run.end {
        End::Exit(0) => match sort(run)? {
            Output::Silent => Ok(HookAnswer::None),
            Output::Object(text) => object(text),
        },
        End::Exit(2) => Decision::Deny.with_reason(Some(&String::from_utf8_lossy(&run.stderr))),
        End::Exit(_) | End::Signal(_) => Err(crash(run.end)),
    }
}

/// The object may decide in up to three places; the strictest counts. A rewrite ends it: a gate cannot change what
/// runs, and running the original is not what was meant.
fn object(text: &[u8]) -> Result<HookAnswer, Fault> {
    let written = Written::parse(text, &["PreToolUse", "on-shell"], Unknown::Fault)?;
    if written.updated_input.is_some() {
        return Err(unreadable("wrote an \"updatedInput\", and a program's start cannot be rewritten", text));
    }
    written.decision()
}

/// What to make of keys that are not in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Fault,
    Ignore,
}

/// One object, read and not yet weighed.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Places that decide, in the order in which the first of equals counts.
    found: Vec<(Decision, Option<String>)>,
    pub(super) updated_input: Option<Value>,
    pub(super) updated_output: Option<Value>,
    pub(super) context: Option<String>,
    pub(super) message: Option<String>,
    /// `continue: false`.
    pub(super) halts: bool,
    pub(super) stop_reason: Option<String>,
    /// Keys that were ignored.
    pub(super) ignored: Vec<String>,
}

impl Written {
    /// `names` are those that `hookEventName` may have.
    pub(super) fn parse(text: &[u8], names: &[&str], unknown: Unknown) -> Result<Self, Fault> {
        let mut object = Object::parse(text)?;
        if unknown == Unknown::Ignore {
            object.drop_nulls();
        }
        let mut written = Self::default();
        if let Some(specific) = object.take_object("hookSpecificOutput")? {
            written.specific(specific, names, unknown)?;
        }
        let reason = object.take("reason");
        match object.take_string("decision")? {
            Some(word) => {
                let decision = match word.as_str() {
                    "approve" | "allow" | "none" => Decision::None,
                    "ask" => Decision::Ask,
                    "block" | "deny" => Decision::Deny,
                    other => return Err(unknown_word("decision", other)),
                };
                written.found.push((decision, text_of(reason)));
            }
            None if reason.is_some() && unknown == Unknown::Fault => {
                return Err(object.unreadable("wrote a \"reason\" without a \"decision\""));
            }
            None => {}
        }
        written.stop_reason = text_of(object.take("stopReason"));
        written.halts = object.take_bool("continue")? == Some(false);
        // There is no transcript here that a hook's output could be kept out of.
        object.take_bool("suppressOutput")?;
        written.message = object.take_string("systemMessage")?;
        // Some write the reason there and nowhere else.
        for (_, reason) in &mut written.found {
            if reason.is_none() {
                reason.clone_from(&written.message);
            }
        }
        written.end(object, unknown)?;
        Ok(written)
    }

    fn specific(&mut self, mut specific: Object<'_>, names: &[&str], unknown: Unknown) -> Result<(), Fault> {
        match specific.take_string("hookEventName")? {
            Some(other) if !names.contains(&other.as_str()) => {
                return Err(unknown_word("hookEventName", &other));
            }
            None | Some(_) => {}
        }
        self.context = specific.take_string("additionalContext")?;
        let reason = specific.take("permissionDecisionReason");
        let decision = match specific.take_string("permissionDecision")?.as_deref() {
            Some("allow") => Some(Decision::None),
            Some("ask") => Some(Decision::Ask),
            Some("deny") => Some(Decision::Deny),
            Some(other) => return Err(unknown_word("permissionDecision", other)),
            None if reason.is_some() && unknown == Unknown::Fault => {
                return Err(specific
                    .unreadable("wrote a \"permissionDecisionReason\" without a \"permissionDecision\""));
            }
            None => None,
        };
        self.found.extend(decision.map(|decision| (decision, text_of(reason))));
        self.updated_input = specific.take("updatedInput");
        if unknown == Unknown::Ignore {
            let of_any = specific.take("updatedToolOutput");
            self.updated_output = specific.take("updatedMCPToolOutput").or(of_any);
        }
        self.end(specific, unknown)
    }

    fn end(&mut self, object: Object<'_>, unknown: Unknown) -> Result<(), Fault> {
        match unknown {
            Unknown::Fault => object.finish(),
            Unknown::Ignore => {
                self.ignored.extend(object.rest().into_iter().map(|(key, _)| key));
                Ok(())
            }
        }
    }

    /// The strictest of all places, and the reason that was given for it.
    pub(super) fn decision(&self) -> Result<HookAnswer, Fault> {
        let halt = self.halts.then(|| (Decision::Deny, self.stop_reason.clone()));
        let found: Vec<_> = self.found.iter().cloned().chain(halt).collect();
        // `max_by_key` would take the last of equals; the first is what the author wrote for this call.
        let strictest = found.iter().map(|(decision, _)| *decision).max().unwrap_or(Decision::None);
        let reason =
            found.into_iter().find(|(decision, _)| *decision == strictest).and_then(|(_, reason)| reason);
        strictest.with_reason(reason.as_deref())
    }

    /// The reason of a block, where nothing else can be decided; empty when none was given.
    pub(super) fn block(&self) -> Option<&str> {
        let block = self.found.iter().find(|(decision, _)| *decision == Decision::Deny);
        block.map(|(_, reason)| reason.as_deref().unwrap_or_default())
    }
}

/// A reason that is not a string counts as none given.
fn text_of(reason: Option<Value>) -> Option<String> {
    match reason {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}
