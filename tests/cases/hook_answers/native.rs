//! `native`: exit 0 and exactly one object with a verdict.

use super::Expected::{Deny, Fault, Runs};
use super::{Row, run_table};

const ROWS: &[Row] = &[
    (r#"echo '{"verdict":"deny","reason":"no"}'"#, Deny("no")),
    (r#"printf '%s' '{"reason":"first\nsecond","verdict":"deny"}'"#, Deny("first")),
    (r#"echo '{"verdict":"none","reason":"fine"}'"#, Runs),
    (r#"echo '{"verdict":"none"}'; sleep 60 &"#, Runs),
    (r#"echo '{"verdict":"deny","reason":"no"}'; sleep 60 &"#, Deny("no")),
    (r#"(sleep 0.05; echo '{"verdict":"none"}') & exit 0"#, Runs),
    ("exit 0", Fault("unreadable", "without writing a verdict")),
    ("true", Fault("unreadable", "without writing a verdict")),
    ("echo", Fault("unreadable", "without writing a verdict")),
    ("sleep 60 & exit 0", Fault("unreadable", "without writing a verdict")),
    ("exit 2", Fault("crash", "exited with status 2")),
    ("echo no >&2; exit 2", Fault("crash", "exited with status 2")),
    (r#"echo '{"verdict":"none"}'; exit 2"#, Fault("crash", "exited with status 2")),
    ("echo all is well", Fault("unreadable", "")),
    ("echo 17", Fault("unreadable", "")),
    ("echo '{}'", Fault("unreadable", "without a \"verdict\"")),
    (r#"echo '{"decision":"deny","reason":"no"}'"#, Fault("unreadable", "")),
    (r#"echo '{"verdcit":"deny","reason":"typo"}'"#, Fault("unreadable", "")),
    (r#"echo '{"verdict":"none","extra":1}'"#, Fault("unreadable", "unknown key \"extra\"")),
    (r#"echo '{"verdict":"deny","verdict":"none","reason":"x"}'"#, Fault("unreadable", "appears twice")),
    (r#"echo '{"verdict":"none","verdict":"none"}'"#, Fault("unreadable", "appears twice")),
    (r#"echo '{"verdict":"NONE"}'"#, Fault("wrong_arm", "unknown verdict: \"NONE\"")),
    (r#"echo '{"Verdict":"none"}'"#, Fault("unreadable", "")),
    (r#"echo '{"verdict":" none"}'"#, Fault("wrong_arm", "unknown verdict")),
    (r#"echo '{"verdict":"allow"}'"#, Fault("wrong_arm", "unknown verdict: \"allow\"")),
    (r#"echo '{"verdict":"write-manifests"}'"#, Fault("wrong_arm", "unknown verdict")),
    (r#"echo '{"verdict":null}'"#, Fault("unreadable", "not a string")),
    (r#"echo '{"verdict":["none"]}'"#, Fault("unreadable", "not a string")),
    (r#"echo '{"verdict":"ask","reason":"really?"}'"#, Fault("unanswered", "really?")),
    (r#"echo '{"verdict":"ask"}'"#, Fault("empty_reason", "ask without a reason")),
    (r#"echo '{"verdict":"deny"}'"#, Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"verdict":"deny","reason":""}'"#, Fault("empty_reason", "deny without a reason")),
    (r#"printf '%s' '{"verdict":"deny","reason":"  \n"}'"#, Fault("empty_reason", "deny without a reason")),
    (
        r#"printf '%s' '{"verdict":"deny","reason":"\u200b\u0007"}'"#,
        Fault("empty_reason", "deny without a reason"),
    ),
    (r#"echo '{"verdict":"deny","reason":7}'"#, Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"verdict":"deny","reason":null}'"#, Fault("empty_reason", "deny without a reason")),
    (r#"echo '{"verdict":"none","reason":7}'"#, Fault("unreadable", "")),
    (r#"printf '{"verdict":"deny","reason":"\377"}'"#, Fault("unreadable", "")),
    (r#"printf '{"verdict":"none"}\0'"#, Fault("unreadable", "")),
    (r"printf '\377\376{\0}\0'", Fault("unreadable", "")),
    (r#"echo '{"verdict":"none",}'"#, Fault("unreadable", "")),
    (r#"echo "{'verdict':'none'}""#, Fault("unreadable", "")),
];

/// G01, G02, G03, G06, G07, G09, G10, G12, G14, G16
#[test]
fn only_a_clean_none_of_the_native_protocol_passes() {
    run_table("native", r#"printf '{"verdict":"none"}'"#, ROWS);
}
