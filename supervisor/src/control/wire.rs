//! The messages of the control socket, as they are on the wire. Versioned; no behaviour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Phase;
use crate::event::lifecycle::{LifecycleEvent, Payload};
use crate::hooks::lifecycle::Reply;
use crate::hooks::manifest::Binding;

/// Version of this protocol; raised when something changes its meaning or goes away.
pub const SCHEMA: u32 = 1;
/// Longest message in bytes, the line feed not counted.
pub const LINE_LIMIT: usize = 1 << 20;

/// What is sent: a line that holds this and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Always `2.0`.
    pub jsonrpc: String,
    /// A number or a string, given back with the answer. Without it there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    pub method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

/// What comes back: `result` or `error`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    pub jsonrpc: String,
    /// Null when the request's own could not be read.
    pub id: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    /// -32700 no JSON, -32600 no request, -32601 no such method, -32602 wrong params, -32603 shellgate failed,
    /// -32001 not for this peer, -32002 too much at once, -32003 not in this state.
    pub code: i32,
    pub message: String,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

pub const PARSE: i32 = -32700;
pub const INVALID: i32 = -32600;
pub const NO_METHOD: i32 = -32601;
pub const PARAMS: i32 = -32602;
pub const INTERNAL: i32 = -32603;
pub const FORBIDDEN: i32 = -32001;
pub const BUSY: i32 = -32002;
pub const STATE: i32 = -32003;
/// Nothing is wrong: the same process is to connect once more, and is known then.
pub const AGAIN: i32 = -32004;

/// Params of `event`; the result is a [`Reply`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventRequest {
    /// `on-task-start`, `on-inference`, `on-tool-call`, `on-compaction` or `on-task-end`.
    pub binding: Binding,
    #[serde(default = "before")]
    pub phase: Phase,
    #[serde(default)]
    pub payload: Payload,
}

fn before() -> Phase {
    Phase::Before
}

/// Result of `session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFacts {
    pub session_id: String,
    /// Version of this protocol.
    pub schema: u32,
    /// Version of shellgate.
    pub version: String,
    pub seal: String,
    /// Device number of the terminal that the tree runs on; 0 for none.
    pub terminal: i32,
    /// Whether someone may answer asks.
    pub interactive: bool,
    /// Whether it is a container's: its processes are known by their seccomp filter.
    #[serde(default)]
    pub container: bool,
    /// The process above the tree: what is below it is the tree.
    pub reaper: i32,
    /// Nothing is judged: `shellgate record`.
    pub ungated: bool,
    /// Hooks that decide on programs, and on tool calls.
    pub policy_hooks: Vec<String>,
    pub tool_policy_hooks: Vec<String>,
}

/// Params of `approvals.list`. With `after`, the answer waits until the list is another one, or `wait_ms` have passed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListRequest {
    pub after: Option<u64>,
    /// At most 30000.
    pub wait_ms: u64,
}

/// Result of `approvals.list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approving {
    /// Changes with the list.
    pub version: u64,
    pub pending: Vec<PendingAsk>,
    /// What has been remembered in this session.
    pub remembered: Vec<String>,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingAsk {
    pub id: u64,
    /// The call's number in the session.
    pub seq: u64,
    pub hook: String,
    pub question: String,
    /// The call, for a person. The whole of it is in `argv` or `input`.
    pub call: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Absent, as is `input`, when it is larger than 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The text that a shell or interpreter will run, at most 32 KiB of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What `remember` would hold for.
    pub scope: String,
    /// Until it is a refusal.
    pub seconds_left: u64,
}

/// Params of `approvals.allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowRequest {
    pub id: u64,
    /// Equal calls are allowed too, as long as the session lasts.
    #[serde(default)]
    pub remember: bool,
}

/// Params of `approvals.deny`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenyRequest {
    pub id: u64,
    /// For the agent.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Every message in one place, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema is made from the types; nothing is ever built")]
pub(super) struct Protocol {
    request: Request,
    response: Response,
    event_params: EventRequest,
    event_result: Reply,
    session_result: SessionFacts,
    list_params: ListRequest,
    list_result: Approving,
    allow_params: AllowRequest,
    deny_params: DenyRequest,
    lifecycle_event: LifecycleEvent,
}
