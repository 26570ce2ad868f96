//! Events whose hooks change what the runtime goes on with: each hook is heard in manifest order, a failing one is
//! reported and commits nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use serde_json::Value;

use super::{Lifecycle, Opening, Reply, Wanted, Word, hear, steer};
use crate::event::Phase;
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::command::Fault;
use crate::hooks::manifest::{Binding, Manifest};
use crate::hooks::protocol::{Said, StagedManifest};
use crate::hooks::{Defect, together};

/// Tasks whose reopenings are counted. A runtime that names more of them reopens none of the rest.
const MOST_TASKS: usize = 4096;

/// What one hook's answer changed, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub hook: String,
    pub arm: String,
    pub what: String,
}

/// What the hooks of an event came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Commits {
    pub reply: Reply,
    pub committed: Vec<Committed>,
    /// on-stage: what is to be written, and who wants it.
    pub manifests: Vec<(String, StagedManifest)>,
}

impl Lifecycle {
    /// Hears the hooks that commit something at this binding and phase, and on on-stage every hook.
    pub fn commit(&self, binding: Binding, event: &mut LifecycleEvent, wanted: Wanted<'_>) -> Commits {
        let mut commits = Commits::default();
        let mut feedback = Vec::new();
        if binding == Binding::OnTaskEnd {
            event.payload.reopened = Some(self.times_reopened(event));
        }
        let hooks: Vec<&Manifest> =
            self.committers.iter().filter(|hook| concerns(hook, binding, event)).collect();
        'hooks: for batch in hooks.chunk_by(|one, next| steer::together(one, next)) {
            let seen = &*event;
            let one = |place: usize, wanted: Wanted<'_>| {
                let hook: &Manifest = batch[place];
                catch_unwind(AssertUnwindSafe(|| hear(hook, hook.commit_policy, seen, wanted)))
                    .unwrap_or_else(|_| Err(Fault::new(Defect::Crash, "calling it panicked")))
            };
            let heard = together::hear(batch.len(), &one, &|_| false, wanted);
            for (hook, heard) in batch.iter().zip(heard) {
                let heard =
                    heard.unwrap_or_else(|| Err(Fault::new(Defect::Internal, "the hook was not heard")));
                match heard {
                    Ok(_) if !hook.commits_at(binding) => {}
                    Ok(said) if hook.steers() => {
                        steer::take(hook, said, event, &mut commits, &mut feedback);
                    }
                    Ok(said) => {
                        if take(hook, said, event, &mut commits, &mut feedback) {
                            break 'hooks;
                        }
                    }
                    Err(fault) => {
                        (self.report)(event.seq, &hook.name, &fault);
                        steer::failed(hook, fault, event, &mut commits);
                    }
                }
            }
        }
        match binding {
            Binding::OnSessionStart => self.keep_for_the_first_task(&mut commits.reply),
            Binding::OnTaskStart => {
                self.keep_to_the_budget(&mut commits.reply);
                self.open(event, &mut commits.reply);
            }
            Binding::OnTaskEnd => self.reopen(event, &feedback, &mut commits.reply),
            _ => {}
        }
        commits
    }

    fn keep_for_the_first_task(&self, reply: &mut Reply) {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        opening.context.append(&mut reply.context);
        opening.notes.extend(reply.notes.iter().cloned());
    }

    /// What is refused takes nothing with it; the agent's first task takes what the session's start had to say.
    fn open(&self, event: &LifecycleEvent, reply: &mut Reply) {
        if reply.verdict == Some(Word::Deny) {
            (reply.messages, reply.prompt) = (None, None);
            reply.context.clear();
        } else if event.payload.kind.is_none() {
            let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
            let Opening { context, notes } = std::mem::take(&mut *opening);
            reply.context.splice(0..0, context);
            reply.notes.splice(0..0, notes);
        }
    }

    /// Whole messages, in their order, as long as they fit.
    fn keep_to_the_budget(&self, reply: &mut Reply) {
        let Some(messages) = &mut reply.messages else { return };
        let all = messages.len();
        let mut bytes = 0;
        let fits = |message: &Value| {
            bytes += message.to_string().len();
            bytes <= self.seed_budget
        };
        let kept = messages.iter().map(fits).take_while(|fits| *fits).count();
        if kept < all {
            messages.truncate(kept);
            reply.notes.push(format!(
                "{} of {all} messages for the head of the task were left out: they exceed context.seed_budget \
                 ({} bytes)",
                all - kept,
                self.seed_budget
            ));
        }
    }

    fn times_reopened(&self, event: &LifecycleEvent) -> u32 {
        let reopened = self.reopened.lock().unwrap_or_else(PoisonError::into_inner);
        reopened.get(&task(event)).copied().unwrap_or(0)
    }

    fn reopen(&self, event: &LifecycleEvent, feedback: &[String], reply: &mut Reply) {
        // A halt ends the turn whatever else was said.
        if feedback.is_empty() || reply.halt.is_some() {
            return;
        }
        let mut reopened = self.reopened.lock().unwrap_or_else(PoisonError::into_inner);
        let full = reopened.len() >= MOST_TASKS && !reopened.contains_key(&task(event));
        let times = reopened.get(&task(event)).copied().unwrap_or(0);
        if full || times >= self.reopen_limit {
            reply.notes.push(format!(
                "the task was not reopened: it has been {times} times, and task.reopen_limit is {}",
                self.reopen_limit
            ));
            return;
        }
        reopened.insert(task(event), times + 1);
        reply.reopen = Some(feedback.join("\n\n"));
    }
}

/// Tasks of different kinds may have the same name.
fn task(event: &LifecycleEvent) -> String {
    let (kind, id) = (event.payload.kind, event.payload.task_id.as_deref().unwrap_or_default());
    kind.map_or_else(|| id.to_owned(), |kind| format!("{kind:?} {id}"))
}

/// Whether the hook is heard here: before what happens, and a hook that steers tool calls after the call.
fn concerns(hook: &Manifest, binding: Binding, event: &LifecycleEvent) -> bool {
    let bound = hook.commits_at(binding) || binding == Binding::OnStage && hook.binding == Some(binding);
    let phase = if binding == Binding::OnToolCall { Phase::After } else { Phase::Before };
    bound && event.phase == phase && hook.terms.attends(event)
}

/// Whether the hooks after this one are not heard.
fn take(
    hook: &Manifest,
    said: Said,
    event: &mut LifecycleEvent,
    commits: &mut Commits,
    feedback: &mut Vec<String>,
) -> bool {
    let Said { messages, abort, instructions, reopen, manifests, context, notes, halt, .. } = said;
    let mut committed = |what: String| {
        let arm = hook.commit_policy.to_string();
        commits.committed.push(Committed { hook: hook.name.clone(), arm, what });
    };
    let reply = &mut commits.reply;
    if let Some(messages) = messages {
        committed(format!("{} messages", messages.len()));
        if event.event == Binding::OnCompaction.to_string() {
            // A later hook sees the history that an earlier one made.
            event.payload.messages = Some(messages.clone());
            reply.messages = Some(messages);
        } else {
            reply.messages.get_or_insert_default().extend(messages);
        }
    }
    if let Some(instructions) = instructions {
        committed("instructions".to_owned());
        event.payload.instructions = Some(instructions.clone());
        reply.instructions = Some(instructions);
    }
    if let Some(text) = reopen {
        committed("feedback".to_owned());
        feedback.push(text);
    }
    if abort {
        committed("abort".to_owned());
    }
    for manifest in manifests {
        committed(format!("manifest {}", manifest.name));
        commits.manifests.push((hook.name.clone(), manifest));
    }
    reply.abort |= abort;
    reply.context.extend(context);
    reply.notes.extend(notes);
    if reply.halt.is_none() {
        reply.halt = halt;
    }
    abort
}
