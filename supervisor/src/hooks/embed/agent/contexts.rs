//! What a lifecycle hook is told, taken from what the runtime said. Nothing in it is trusted to be true, and what the
//! runtime did not say is `None`.

use serde_json::Value;

use crate::event::lifecycle::{LifecycleEvent, Payload};

/// What is known of a task that begins. What the runtime did not say is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStartContext {
    pub session_id: String,
    pub task_id: Option<String>,
    pub model: Option<String>,
    pub working_directory: String,
    pub prompt: Option<String>,
}

/// What is known of a task that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEndContext {
    pub session_id: String,
    pub task_id: Option<String>,
    /// In the runtime's words: complete, cancelled, error and so on.
    pub reason: Option<String>,
    pub total_turns: Option<u64>,
    /// `usage.total_tokens`, else the sum of `usage.input_tokens` and `usage.output_tokens`.
    pub total_tokens: Option<u64>,
    pub duration_ms: Option<u64>,
}

/// A tool call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct PreToolUseContext {
    pub session_id: String,
    pub tool_name: String,
    pub tool_use_id: Option<String>,
    /// The exact arguments the tool will get.
    pub input: Value,
    pub turn_number: Option<u64>,
    pub working_directory: String,
}

/// A tool call that was made. Secrets are masked.
#[derive(Debug, Clone, PartialEq)]
pub struct PostToolUseContext {
    pub session_id: String,
    pub tool_name: String,
    pub tool_use_id: Option<String>,
    pub input: Value,
    /// Cut to 64 KiB.
    pub output: Value,
    pub is_error: bool,
    pub duration_ms: Option<u64>,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone, PartialEq)]
pub struct PreCompactContext {
    pub session_id: String,
    /// `auto` or `manual`.
    pub trigger: Option<String>,
    pub message_count: Option<u64>,
    pub tokens_before: Option<u64>,
    pub context_window: Option<u64>,
    /// As the hooks before this one left them.
    pub custom_instructions: Option<String>,
}

/// A compaction that has happened.
#[derive(Debug, Clone, PartialEq)]
pub struct PostCompactContext {
    pub session_id: String,
    pub messages_compacted: Option<u64>,
    pub tokens_saved: Option<u64>,
    pub tokens_after: Option<u64>,
    pub duration_ms: Option<u64>,
}

impl From<&LifecycleEvent> for RunStartContext {
    fn from(event: &LifecycleEvent) -> Self {
        let payload = event.payload.clone();
        Self {
            session_id: event.session_id.clone(),
            task_id: payload.task_id,
            model: payload.model,
            working_directory: payload.cwd.unwrap_or_default(),
            prompt: payload.prompt,
        }
    }
}

impl From<&LifecycleEvent> for RunEndContext {
    fn from(event: &LifecycleEvent) -> Self {
        let payload = event.payload.clone();
        Self {
            session_id: event.session_id.clone(),
            total_tokens: total_tokens(&payload),
            task_id: payload.task_id,
            reason: payload.reason,
            total_turns: payload.turn,
            duration_ms: payload.duration_ms,
        }
    }
}

fn total_tokens(payload: &Payload) -> Option<u64> {
    let usage = payload.usage.as_ref()?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    count("total_tokens").or_else(|| count("input_tokens")?.checked_add(count("output_tokens")?))
}

impl From<&LifecycleEvent> for PreToolUseContext {
    fn from(event: &LifecycleEvent) -> Self {
        let payload = event.payload.clone();
        Self {
            session_id: event.session_id.clone(),
            tool_name: payload.tool_name.unwrap_or_default(),
            tool_use_id: payload.tool_use_id,
            input: payload.input.unwrap_or_default(),
            turn_number: payload.turn,
            working_directory: payload.cwd.unwrap_or_default(),
        }
    }
}

impl From<&LifecycleEvent> for PostToolUseContext {
    fn from(event: &LifecycleEvent) -> Self {
        let payload = event.payload.clone();
        Self {
            session_id: event.session_id.clone(),
            tool_name: payload.tool_name.unwrap_or_default(),
            tool_use_id: payload.tool_use_id,
            input: payload.input.unwrap_or_default(),
            output: payload.output.unwrap_or_default(),
            is_error: payload.is_error.unwrap_or(false),
            duration_ms: payload.duration_ms,
        }
    }
}

impl From<&LifecycleEvent> for PreCompactContext {
    fn from(event: &LifecycleEvent) -> Self {
        let payload = event.payload.clone();
        Self {
            session_id: event.session_id.clone(),
            trigger: payload.trigger,
            message_count: payload
                .message_count
                .or_else(|| payload.messages.as_ref().map(|messages| messages.len() as u64)),
            tokens_before: payload.tokens_before,
            context_window: payload.context_window,
            custom_instructions: payload.instructions,
        }
    }
}

impl From<&LifecycleEvent> for PostCompactContext {
    fn from(event: &LifecycleEvent) -> Self {
        let payload = event.payload.clone();
        let saved = payload.tokens_before.zip(payload.tokens_after);
        Self {
            session_id: event.session_id.clone(),
            messages_compacted: payload.messages_compacted,
            tokens_saved: saved.map(|(before, after)| before.saturating_sub(after)),
            tokens_after: payload.tokens_after,
            duration_ms: payload.duration_ms,
        }
    }
}
