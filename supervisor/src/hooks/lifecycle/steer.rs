//! Hooks that steer: what a block, a rewrite, context, notes and a halt do at each point. The first block, rewrite and
//! halt count, context and notes add up; a later hook sees what an earlier one rewrote.

use serde_json::{Value, json};

use super::commit::Committed;
use super::{Commits, Reply, Word};
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::Fault;
use crate::hooks::gate;
use crate::hooks::manifest::{Manifest, OnFault, Protocol, Runner};
use crate::hooks::point::{Block, Point};
use crate::hooks::protocol::Said;
use crate::hooks::{Defect, Refusal};

/// Whether two neighbours are heard at the same time.
pub(super) fn together(one: &Manifest, next: &Manifest) -> bool {
    one.terms.group.is_some() && one.terms.group == next.terms.group
}

/// Whether its protocol is that of the nine phases.
fn is_runner(hook: &Manifest) -> bool {
    matches!(&hook.runner, Runner::Command(spec) if spec.protocol == Protocol::HookRunner)
}

/// What this hook's block does here.
fn block_of(hook: &Manifest, point: Option<Point>) -> Block {
    let block = point.map_or(Block::Notes, Point::block);
    match block {
        Block::Refuses => block,
        // It has no say there but a guardrail's over a result.
        _ if is_runner(hook) && !(hook.terms.guardrail && block == Block::Tells) => Block::Notes,
        _ => block,
    }
}

/// Takes in what a hook said.
pub(super) fn take(
    hook: &Manifest,
    said: Said,
    event: &mut LifecycleEvent,
    commits: &mut Commits,
    feedback: &mut Vec<String>,
) {
    let point = Point::of(event);
    let block = block_of(hook, point);
    let Said { block: reason, prompt, output, is_error, context, notes, halt, .. } = said;
    let mut done = |what: &str| {
        let (hook, arm) = (hook.name.clone(), hook.commit_policy.to_string());
        commits.committed.push(Committed { hook, arm, what: what.to_owned() });
    };
    let reply = &mut commits.reply;
    if let Some(prompt) = prompt {
        if point == Some(Point::UserPromptSubmit) && reply.prompt.is_none() {
            done("prompt");
            event.payload.prompt = Some(prompt.clone());
            reply.prompt = Some(prompt);
        } else {
            reply.notes.push(not_rewritten(hook, "prompt"));
        }
    }
    if output.is_some() || is_error.is_some() {
        if point == Some(Point::PostToolUse)
            && (reply.output.is_none() && reply.is_error.is_none() || hook.terms.guardrail)
        {
            done("output");
            replace(output, is_error, event, reply);
        } else {
            reply.notes.push(not_rewritten(hook, "output"));
        }
    }
    match block {
        Block::Reopens => feedback.extend(context),
        _ => reply.context.extend(context),
    }
    reply.notes.extend(notes);
    if reply.halt.is_none()
        && let Some(halt) = halt
    {
        done("halt");
        reply.halt = Some(halt);
    }
    let Some(reason) = reason else { return };
    done("block");
    match block {
        Block::Refuses => {
            refuse(reply, Refusal { hook: hook.name.clone(), reason, defect: None, detail: None });
        }
        Block::Reopens => feedback.push(reason),
        Block::Tells if hook.terms.guardrail => {
            bar(&reason, event, reply);
        }
        Block::Tells => reply.context.push(format!("hook {:?}: {reason}", hook.name)),
        Block::Aborts => {
            reply.abort = true;
            reply.notes.push(format!("hook {:?} put the compaction off: {reason}", hook.name));
        }
        Block::Notes => {
            let point = point.map_or_else(|| event.event.clone(), |point| point.to_string());
            reply
                .notes
                .push(format!("hook {:?} objects, and {point} cannot be held up: {reason}", hook.name));
        }
    }
}

/// A hook that failed changed nothing, which is a note; where it could have refused, what it would have said is not
/// known, and unless it says otherwise that refuses. A guardrail over results may choose that too.
pub(super) fn failed(hook: &Manifest, fault: Fault, event: &mut LifecycleEvent, commits: &mut Commits) {
    let block = block_of(hook, Point::of(event));
    let by_protocol = match &hook.runner {
        Runner::Command(spec) if spec.protocol == Protocol::Claude => OnFault::Note,
        _ if block == Block::Refuses => OnFault::Block,
        _ => OnFault::Note,
    };
    let blocks = hook.steers() && hook.terms.on_fault.unwrap_or(by_protocol) == OnFault::Block;
    let Refusal { reason, .. } = gate::failed(&hook.name, fault.defect, fault.detail.clone());
    let reply = &mut commits.reply;
    match block {
        Block::Refuses if blocks => {
            let (hook, defect) = (hook.name.clone(), Some::<Defect>(fault.defect));
            refuse(reply, Refusal { hook, reason, defect, detail: Some(fault.detail) });
        }
        Block::Tells if blocks && hook.terms.guardrail => bar(&reason, event, reply),
        _ => {
            let cause = fault.detail.lines().next().unwrap_or_default();
            reply.notes.push(format!("hook {:?} failed and changed nothing: {cause}", hook.name));
        }
    }
}

/// The first block counts.
fn refuse(reply: &mut Reply, refusal: Refusal) {
    if reply.verdict.is_some() {
        return;
    }
    reply.verdict = Some(Word::Deny);
    reply.hook = Some(refusal.hook);
    reply.reason = Some(refusal.reason);
    reply.defect = refusal.defect;
}

/// Record, reply and observers see this one from here on. Without an output the one there is stays, whole: what hooks
/// see of it may be cut.
fn replace(output: Option<Value>, is_error: Option<bool>, event: &mut LifecycleEvent, reply: &mut Reply) {
    if let Some(output) = output {
        event.payload.output = Some(output.clone());
        event.payload.output_cut = None;
        reply.output = Some(output);
    }
    event.payload.is_error = is_error.or(event.payload.is_error);
    reply.is_error = is_error.or(reply.is_error);
}

/// What a guardrail lets through of a result: that there was one.
fn bar(reason: &str, event: &mut LifecycleEvent, reply: &mut Reply) {
    let told = json!(format!("blocked by guardrail: {reason}"));
    replace(Some(told), Some(true), event, reply);
}

fn not_rewritten(hook: &Manifest, what: &str) -> String {
    format!("hook {:?} wanted to rewrite the {what}, which was not done", hook.name)
}
