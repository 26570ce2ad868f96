//! Events whose hooks change what the runtime goes on with: each hook is heard in manifest order, a failing one is
//! reported and commits nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use serde_json::Value;

use super::{Lifecycle, Reply, Wanted, hear};
use crate::event::lifecycle::LifecycleEvent;
use crate::hooks::Defect;
use crate::hooks::command::Fault;
use crate::hooks::manifest::{Binding, Manifest};
use crate::hooks::protocol::{Said, StagedManifest};

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
    /// Hears the hooks that commit something at this binding, and on on-stage every hook.
    pub fn commit(&self, binding: Binding, event: &mut LifecycleEvent, wanted: Wanted<'_>) -> Commits {
        let mut commits = Commits::default();
        let mut feedback = Vec::new();
        if binding == Binding::OnTaskEnd {
            event.payload.reopened = Some(self.times_reopened(event));
        }
        for hook in &self.committers {
            let here = hook.commits_at(binding);
            if !(here || binding == Binding::OnStage && hook.binding == Some(binding)) {
                continue;
            }
            let heard = catch_unwind(AssertUnwindSafe(|| hear(hook, hook.commit_policy, event, wanted)))
                .unwrap_or_else(|_| Err(Fault::new(Defect::Crash, "calling it panicked")));
            match heard {
                Ok(_) if !here => {}
                Ok(said) => {
                    if take(hook, said, event, &mut commits, &mut feedback) {
                        break;
                    }
                }
                Err(fault) => (self.report)(event.seq, &hook.name, &fault),
            }
        }
        match binding {
            Binding::OnTaskStart => self.keep_to_the_budget(&mut commits.reply),
            Binding::OnTaskEnd => self.reopen(event, &feedback, &mut commits.reply),
            _ => {}
        }
        commits
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
        reopened.get(task(event)).copied().unwrap_or(0)
    }

    fn reopen(&self, event: &LifecycleEvent, feedback: &[String], reply: &mut Reply) {
        if feedback.is_empty() {
            return;
        }
        let mut reopened = self.reopened.lock().unwrap_or_else(PoisonError::into_inner);
        let full = reopened.len() >= MOST_TASKS && !reopened.contains_key(task(event));
        let times = reopened.get(task(event)).copied().unwrap_or(0);
        if full || times >= self.reopen_limit {
            reply.notes.push(format!(
                "the task was not reopened: it has been {times} times, and task.reopen_limit is {}",
                self.reopen_limit
            ));
            return;
        }
        reopened.insert(task(event).to_owned(), times + 1);
        reply.reopen = Some(feedback.join("\n\n"));
    }
}

fn task(event: &LifecycleEvent) -> &str {
    event.payload.task_id.as_deref().unwrap_or_default()
}

/// Whether the hooks after this one are not heard.
fn take(
    hook: &Manifest,
    said: Said,
    event: &mut LifecycleEvent,
    commits: &mut Commits,
    feedback: &mut Vec<String>,
) -> bool {
    let Said { answer: _, input: _, messages, abort, instructions, reopen, manifests, context, notes, halt } =
        said;
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
