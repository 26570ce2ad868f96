//! `claude`: hooks written for Claude Code. The strictest of the places that may decide counts.

use super::Expected::{Deny, Fault, Runs};
use super::{Row, run_table};

const ROWS: &[Row] = &[
    ("exit 0", Runs),
    ("echo all is well", Runs),
    ("sleep 60 & exit 0", Runs),
    ("echo '{}'", Runs),
    (r#"echo '{"continue":true,"suppressOutput":true,"systemMessage":"hello"}'"#, Runs),
    (r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"x"}}'"#, Runs),
    ("echo no >&2; exit 2", Deny("no")),
    (r#"echo '{"decision":"approve"}'; echo no >&2; exit 2"#, Deny("no")),
    (
        r#"printf '%s' '{"hookSpecificOutput":{"hookEventName":"on-shell","permissionDecision":"deny","permissionDecisionReason":"no"}}'"#,
        Deny("no"),
    ),
    (r#"echo '{"decision":"deny","reason":"no"}'"#, Deny("no")),
    (r#"echo '{"decision":"block","reason":"no"}'"#, Deny("no")),
    (r#"echo '{"continue":false,"stopReason":"no"}'"#, Deny("no")),
    (
        r#"echo '{"decision":"approve","hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}'"#,
        Deny("no"),
    ),
    (
        r#"echo '{"decision":"block","reason":"no","hookSpecificOutput":{"permissionDecision":"allow"}}'"#,
        Deny("no"),
    ),
    ("exit 2", Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"decision":"deny","reason":"no"}'; exit 2"#, Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"continue":false}'"#, Fault("empty_reason", "deny without a reason")),
    (
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny"}}'"#,
        Fault("empty_reason", "deny without a reason"),
    ),
    (
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":7}}'"#,
        Fault("empty_reason", "deny without a reason"),
    ),
    (r#"echo '{"decision":"block","reason":" "}'"#, Fault("empty_reason", "deny without a reason")),
    (
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"really?"}}'"#,
        Fault("unanswered", "really?"),
    ),
    (r#"echo '{"hookSpecificOutput":{"permissionDecision":"defer"}}'"#, Fault("wrong_arm", "\"defer\"")),
    (r#"echo '{"hookSpecificOutput":{"permissionDecision":"Deny"}}'"#, Fault("wrong_arm", "\"Deny\"")),
    (r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}'"#, Fault("wrong_arm", "PostToolUse")),
    (
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"true"}}}'"#,
        Fault("unreadable", "updatedInput"),
    ),
    (r#"echo '{"hookSpecificOutput":"deny"}'"#, Fault("unreadable", "not an object")),
    (r#"echo '{"decision":"NONE"}'"#, Fault("wrong_arm", "unknown decision")),
    (r#"echo '{"decison":"deny","reason":"typo"}'"#, Fault("unreadable", "")),
    (r#"echo '{"reason":"no"}'"#, Fault("unreadable", "")),
    (r#"echo '{"decision":"deny","decision":"none","reason":"x"}'"#, Fault("unreadable", "appears twice")),
    (r#"echo '{"continue":"false"}'"#, Fault("unreadable", "not true or false")),
    ("printf 'unfinished'; sleep 60 & exit 0", Fault("unreadable", "")),
];

/// G01, G02, G03, G06, G07, G09, G10, G12, G14, G16
#[test]
fn only_a_clean_none_of_the_claude_protocol_passes() {
    run_table("claude", r#"printf '{"hookSpecificOutput":{"permissionDecision":"allow"}}'"#, ROWS);
}
