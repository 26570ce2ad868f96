//! Lifecycle events: what a hook is told about them, and the one arm that its answer may use. Another arm is a
//! fault, and nothing of such an answer counts.

use serde_json::Value;

use super::strict::Object;
use super::{Decision, crash, exit_code, hook_runner, native, reason, trim, turn, unknown_word, unreadable};
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::{End, Fault, Run};
use crate::hooks::manifest::{CommitPolicy, Protocol};
use crate::hooks::point::Point;
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
    (CommitPolicy::Steer, &["block", "prompt", "output", "is_error"]),
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
    /// steer: against what happens here, and why.
    pub block: Option<String>,
    /// steer: the prompt, rewritten.
    pub prompt: Option<String>,
    /// steer: the tool's result, rewritten, and whether it counts as an error.
    pub output: Option<Value>,
    pub is_error: Option<bool>,
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
            block: None,
            prompt: None,
            output: None,
            is_error: None,
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
        Protocol::Claude => serde_json::to_vec(&turn::input(event)),
        Protocol::HookRunner => serde_json::to_vec(&hook_runner::input(event)),
    };
    let mut json = json.map_err(|error| {
        Fault::new(Defect::Internal, format!("the event could not be written as JSON: {error}"))
    })?;
    json.push(b'\n');
    Ok(json)
}

/// Reads the answer of a hook whose commit policy is `arm`.
pub fn lifecycle_answer(
    protocol: Protocol,
    arm: CommitPolicy,
    point: Option<Point>,
    run: &Run,
) -> Result<Said, Fault> {
    let placed = || {
        point.ok_or_else(|| {
            Fault::new(Defect::WrongArm, format!("protocol {protocol} has no word for this event"))
        })
    };
    let said = match (protocol, arm) {
        // What it prints is discarded.
        (_, CommitPolicy::None) if run.end == End::Exit(0) => Ok(Said::default()),
        (_, CommitPolicy::None) => Err(crash(run.end)),
        (Protocol::Native, _) => native(arm, run),
        (Protocol::ExitCode, CommitPolicy::Deny) => exit_code::answer(run).map(Said::from),
        (Protocol::Claude, CommitPolicy::Deny | CommitPolicy::Steer) => {
            placed().and_then(|point| turn::answer(point, run))
        }
        (Protocol::HookRunner, CommitPolicy::Deny | CommitPolicy::Steer) => {
            placed().and_then(|point| hook_runner::answer(point, run))
        }
        (Protocol::Claude | Protocol::ExitCode | Protocol::HookRunner, _) => {
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
    said.block = spoken(&mut object, "block")?;
    said.prompt = object.take_string("prompt")?;
    said.output = object.take("output");
    said.is_error = object.take_bool("is_error")?;
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
    let reason = native::reason(object, decision, text)?;
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

/// A piece of context, cut to what one may be.
pub(in crate::hooks) fn bounded(text: &str) -> String {
    let mut kept: String = text.chars().take(CONTEXT_LIMIT).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
