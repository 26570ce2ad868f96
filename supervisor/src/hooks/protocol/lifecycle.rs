//! Lifecycle events: what a hook is told about them, and the one arm that its answer may use. Another arm is a
//! fault, and nothing of such an answer counts.

use serde_json::{Value, json};

use super::strict::Object;
use super::{Decision, claude, crash, exit_code, reason, trim, unknown_word, unreadable};
use crate::event::Phase;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::{End, Fault, Run};
use crate::hooks::manifest::{CommitPolicy, Protocol};
use crate::hooks::{Defect, HookAnswer};

/// Longest piece of context, in characters.
const CONTEXT_LIMIT: usize = 10_000;
/// The keys of each arm.
const ARMS: &[(CommitPolicy, &[&str])] = &[
    (CommitPolicy::Deny, &["input", "reason"]),
    (CommitPolicy::WriteManifests, &["manifests"]),
    (CommitPolicy::SeedContext, &["messages"]),
    (CommitPolicy::ReplaceContext, &["messages", "abort", "instructions"]),
    (CommitPolicy::ReopenTask, &["reopen"]),
];

/// What a hook's answer to a lifecycle event says.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// `None` for every arm but deny.
    pub answer: HookAnswer,
    /// deny: the tool's input, rewritten.
    pub input: Option<Value>,
    /// seed-context, replace-context.
    pub messages: Option<Vec<Value>>,
    /// replace-context: do not compact now.
    pub abort: bool,
    /// replace-context: what the summary is to be like, instead of what it was to be like.
    pub instructions: Option<String>,
    /// reopen-task: what to tell the agent.
    pub reopen: Option<String>,
    /// write-manifests.
    pub manifests: Vec<StagedManifest>,
    /// For the agent.
    pub context: Vec<String>,
    /// For the user.
    pub notes: Vec<String>,
    /// The turn ends, and why.
    pub halt: Option<String>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            answer: HookAnswer::None,
            input: None,
            messages: None,
            abort: false,
            instructions: None,
            reopen: None,
            manifests: Vec::new(),
            context: Vec::new(),
            notes: Vec::new(),
            halt: None,
        }
    }
}

impl From<HookAnswer> for Said {
    fn from(answer: HookAnswer) -> Self {
        Self { answer, ..Self::default() }
    }
}

/// A file that on-stage may write: `tools/NAME/shellgate.yaml` in the session's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedManifest {
    pub name: String,
    pub text: String,
}

/// What goes to stdin.
pub fn lifecycle_payload(protocol: Protocol, event: &LifecycleEvent) -> Result<Vec<u8>, Fault> {
    let json = match protocol {
        Protocol::Native | Protocol::ExitCode => serde_json::to_vec(event),
        Protocol::Claude => serde_json::to_vec(&claude_input(event)),
    };
    let mut json = json.map_err(|error| {
        Fault::new(Defect::Internal, format!("the event could not be written as JSON: {error}"))
    })?;
    json.push(b'\n');
    Ok(json)
}

/// In the words of Claude Code, as far as it has some for the event.
fn claude_input(event: &LifecycleEvent) -> Value {
    let payload = &event.payload;
    let name = match (event.event.as_str(), event.phase) {
        ("on-tool-call", Phase::Before) => "PreToolUse",
        ("on-tool-call", Phase::After) => "PostToolUse",
        ("on-session-start", _) => "SessionStart",
        ("on-session-end", _) => "SessionEnd",
        ("on-task-start", _) => "UserPromptSubmit",
        ("on-task-end", _) => "Stop",
        ("on-compaction", Phase::Before) => "PreCompact",
        ("on-compaction", Phase::After) => "PostCompact",
        (other, _) => other,
    };
    let mut input = json!({
        "session_id": event.session_id,
        "transcript_path": "",
        "cwd": payload.cwd.as_deref().unwrap_or_default(),
        "hook_event_name": name,
        "permission_mode": "default",
        "shellgate": event,
    });
    let parts = [
        ("tool_name", payload.tool_name.as_ref().map(|text| json!(text))),
        ("tool_use_id", payload.tool_use_id.as_ref().map(|text| json!(text))),
        ("tool_input", payload.input.clone()),
        ("tool_response", payload.output.clone()),
        ("prompt", payload.prompt.as_ref().map(|text| json!(text))),
        ("trigger", payload.trigger.as_ref().map(|text| json!(text))),
        ("custom_instructions", payload.instructions.as_ref().map(|text| json!(text))),
        ("stop_hook_active", payload.reopened.map(|times| json!(times > 0))),
    ];
    for (key, value) in parts {
        if let Some(value) = value {
            input[key] = value;
        }
    }
    input
}

/// Reads the answer of a hook whose commit policy is `arm`.
pub fn lifecycle_answer(protocol: Protocol, arm: CommitPolicy, run: &Run) -> Result<Said, Fault> {
    let said = match (protocol, arm) {
        // What it prints is discarded.
        (_, CommitPolicy::None) if run.end == End::Exit(0) => Ok(Said::default()),
        (_, CommitPolicy::None) => Err(crash(run.end)),
        (Protocol::Native, _) => native(arm, run),
        // Their words for anything but a decision are not read here; `updatedInput` is a fault.
        (Protocol::Claude, CommitPolicy::Deny) => claude::answer(run).map(Said::from),
        (Protocol::ExitCode, CommitPolicy::Deny) => exit_code::answer(run).map(Said::from),
        (Protocol::Claude | Protocol::ExitCode, _) => {
            Err(Fault::new(Defect::WrongArm, format!("protocol {protocol} has no words for {arm}")))
        }
    };
    said.map_err(|fault| fault.with_stderr(&run.stderr))
}

fn native(arm: CommitPolicy, run: &Run) -> Result<Said, Fault> {
    if run.end != End::Exit(0) {
        return Err(crash(run.end));
    }
    let text = trim(&run.stdout);
    if text.is_empty() {
        return match arm {
            CommitPolicy::Deny => Err(Fault::new(Defect::Unreadable, "exited without writing a verdict")),
            _ => Ok(Said::default()),
        };
    }
    said(arm, Object::parse(text)?, text)
}

/// Reads the object of a hook that commits `arm`.
pub(super) fn said(arm: CommitPolicy, mut object: Object<'_>, text: &[u8]) -> Result<Said, Fault> {
    let own = ARMS.iter().find(|(policy, _)| *policy == arm).map_or(&[][..], |(_, keys)| keys);
    for (policy, keys) in ARMS {
        if let Some(key) = keys.iter().find(|key| object.has(key) && !own.contains(key)) {
            let detail = format!("answered with {key:?}, which is {policy}'s; this hook commits {arm}");
            return Err(Fault::new(Defect::WrongArm, detail));
        }
    }
    let mut said = Said { answer: verdict(arm, &mut object, text)?, ..Said::default() };
    said.input = object.take("input");
    said.messages = object.take_list("messages")?;
    said.abort = object.take_bool("abort")?.unwrap_or(false);
    said.instructions = object.take_string("instructions")?;
    said.reopen = spoken(&mut object, "reopen")?;
    said.manifests = manifests(&mut object)?;
    said.context = object.take_texts("context")?.iter().map(|text| bounded(text)).collect();
    said.notes = object.take_texts("notes")?.iter().filter_map(|text| reason::clean(text)).collect();
    said.halt = spoken(&mut object, "halt")?;
    object.finish()?;
    if said.input.is_some() && said.answer != HookAnswer::None {
        return Err(unreadable("rewrote the input of a call that it does not let through", text));
    }
    Ok(said)
}

fn verdict(arm: CommitPolicy, object: &mut Object<'_>, text: &[u8]) -> Result<HookAnswer, Fault> {
    let word = object.take_string("verdict")?;
    let decision = match (arm, word.as_deref()) {
        (CommitPolicy::Deny, None) => {
            return Err(unreadable("wrote an object without a \"verdict\"", text));
        }
        (_, None | Some("none")) => Decision::None,
        (CommitPolicy::Deny, Some("ask")) => Decision::Ask,
        (CommitPolicy::Deny, Some("deny")) => Decision::Deny,
        (_, Some(other)) => return Err(unknown_word("verdict", other)),
    };
    let reason = match object.take("reason") {
        Some(Value::String(text)) => Some(text),
        None => None,
        Some(_) if decision != Decision::None => None,
        Some(_) => return Err(unreadable("wrote a \"reason\" that is not a string", text)),
    };
    decision.with_reason(reason.as_deref())
}

/// A text that must say something if it is there.
fn spoken(object: &mut Object<'_>, key: &str) -> Result<Option<String>, Fault> {
    match object.take_string(key)? {
        None => Ok(None),
        Some(text) => reason::clean(&text)
            .map(Some)
            .ok_or_else(|| Fault::new(Defect::EmptyReason, format!("answered {key} without a text"))),
    }
}

fn manifests(object: &mut Object<'_>) -> Result<Vec<StagedManifest>, Fault> {
    let items = object.take_list("manifests")?.unwrap_or_default();
    let one = |item: &Value| {
        let fields = item.as_object().filter(|fields| fields.len() == 2)?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(StagedManifest { name: text("name")?, text: text("text")? })
    };
    items
        .iter()
        .map(|item| {
            one(item).ok_or_else(|| {
                object.unreadable("wrote a manifest that is not {\"name\":…,\"text\":…}, both strings")
            })
        })
        .collect()
}

/// A piece of context, cut.
pub(in crate::hooks) fn bounded(text: &str) -> String {
    let mut kept: String = text.chars().take(CONTEXT_LIMIT).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
