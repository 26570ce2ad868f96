//! `exit-code`: 0 passes, 2 denies with stderr as the reason, and an object may decide at 0.

use super::Expected::{Deny, Fault, Runs};
use super::{Row, run_table};

const ROWS: &[Row] = &[
    ("exit 0", Runs),
    ("echo all is well", Runs),
    ("sleep 60 & exit 0", Runs),
    (r#"echo '{"verdict":"none"}'"#, Runs),
    (r#"echo '{"decision":"approve"}'"#, Runs),
    (r#"echo '{"decision":"allow","reason":"fine"}'"#, Runs),
    ("echo no >&2; exit 2", Deny("no")),
    ("echo no >&2; sleep 60 & exit 2", Deny("no")),
    (r#"echo '{"decision":"deny","reason":"no"}'"#, Deny("no")),
    (r#"echo '{"decision":"block","reason":"no"}'"#, Deny("no")),
    (r#"echo '{"verdict":"deny","reason":"no"}'"#, Deny("no")),
    (r#"echo '{"decision":"deny","reason":"no"}'; exit 2"#, Deny("no")),
    (r#"echo '{"decision":"allow"}'; echo no >&2; exit 2"#, Deny("no")),
    (r#"echo '{"decision":"deny","reason":"no"}'; exit 1"#, Fault("crash", "exited with status 1")),
    ("exit 2", Fault("empty_reason", "deny without a reason")),
    ("echo >&2; exit 2", Fault("empty_reason", "deny without a reason")),
    ("echo no; exit 2", Fault("empty_reason", "deny without a reason")),
    ("printf 'unfinished'; sleep 60 & exit 0", Fault("unreadable", "")),
    ("echo '{}'", Fault("unreadable", "without a \"decision\"")),
    (r#"echo '{"continue":true}'"#, Fault("unreadable", "")),
    (r#"echo '{"decison":"deny","reason":"typo"}'"#, Fault("unreadable", "")),
    (r#"echo '{"decision":"allow","verdict":"none"}'"#, Fault("unreadable", "both")),
    (r#"echo '{"decision":"deny","decision":"none","reason":"x"}'"#, Fault("unreadable", "appears twice")),
    (r#"echo '{"decision":"NONE"}'"#, Fault("wrong_arm", "unknown decision")),
    (r#"echo '{"decision":"defer"}'"#, Fault("wrong_arm", "unknown decision")),
    (r#"echo '{"decision":"ask","reason":"really?"}'"#, Fault("unanswered", "really?")),
    (r#"echo '{"decision":"ask"}'"#, Fault("empty_reason", "ask without a reason")),
    (r#"echo '{"decision":"block"}'"#, Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"decision":"deny","reason":""}'"#, Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"decision":"deny","reason":{}}'"#, Fault("empty_reason", "deny without a reason")),
];

/// G01, G02, G03, G06, G07, G09, G10, G12, G14, G16
#[test]
fn only_a_clean_none_of_the_exit_code_protocol_passes() {
    run_table("exit-code", r#"printf '{"decision":"none"}'"#, ROWS);
}
