//! Spans, as a collector gets them. The collector is the test's own; it answers as OTLP over HTTP does.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shellgate_tests::{Gate, denies, passes, rules};

use super::{faults, log, submit, watcher};
use crate::runners::http::{endpoint, ok};

/// A collector that answers with this body, and the spans it was sent.
fn collector(answer: &'static str) -> (Value, Arc<Mutex<Vec<Value>>>) {
    let spans = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&spans);
    let mut options = endpoint(move |body| {
        let sent = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned();
        into.lock().expect("nobody panics with it").extend(sent.unwrap_or_default());
        ok(answer)
    });
    (json!({"otel": {"endpoint": options["url"].take(), "service": "agent"}}), spans)
}

fn attribute<'v>(span: &'v Value, key: &str) -> &'v Value {
    let all = span["attributes"].as_array().expect("a list");
    all.iter().find(|one| one["key"] == key).map_or(&Value::Null, |one| &one["value"])
}

#[test]
fn programs_and_tools_are_spans_nested_as_they_were() {
    let (otel, spans) = collector("{}");
    let guard = rules("guard", &json!([{"deny": "not for agents", "exe": ["touch"]}]));
    let tool = json!({"tool_name": "Read", "tool_use_id": "t1", "input": {}});
    let done =
        json!({"tool_name": "Read", "tool_use_id": "t1", "input": {}, "output": "x", "duration_ms": 5});
    let line = format!(
        "/bin/true one; /bin/false; dash -c '/bin/true two; exit 0'; /bin/touch RAN; {}; {}",
        submit("on-tool-call --phase before", &tool),
        submit("on-tool-call --phase after", &done)
    );
    let ran = Gate::with_hooks(&[guard, passes_tools(), watcher("spans", otel)]).bash(&line);
    ran.exits(0);
    assert!(faults(&ran).is_empty(), "{}", ran.story());
    let spans = spans.lock().expect("nobody panics with it");
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let (bash, dash, trues) = (named("bash"), named("dash"), named("true"));
    let session = named("session");
    assert_eq!((bash.len(), trues.len(), session.len()), (1, 2, 1), "{spans:#?}");
    assert_eq!(bash[0]["parentSpanId"], session[0]["spanId"]);
    let dash = dash.iter().find(|span| span["parentSpanId"] == bash[0]["spanId"]).expect("bash started it");
    let below = |parent: &Value| trues.iter().filter(|span| span["parentSpanId"] == parent["spanId"]).count();
    assert_eq!((below(bash[0]), below(dash)), (1, 1), "{spans:#?}");
    assert!(spans.iter().all(|span| span["traceId"] == session[0]["traceId"]));
    assert_eq!(session[0]["traceId"].as_str().map(str::len), Some(32));
    for span in spans.iter() {
        let time = |key: &str| span[key].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a time");
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span:#}");
    }
    let failed = named("false")[0];
    assert_eq!(
        (&failed["status"]["code"], attribute(failed, "process.exit.code")),
        (&2.into(), &json!({"intValue": "1"}))
    );
    let refused = named("touch")[0];
    assert_eq!(refused["status"]["message"], "not for agents", "{refused:#}");
    assert_eq!(refused["events"][0]["name"], "shellgate.refused");
    let words = &attribute(refused, "process.command_args")["arrayValue"]["values"];
    assert_eq!(words, &json!([{"stringValue": "/bin/touch"}, {"stringValue": "RAN"}]));
    let read = named("execute_tool Read")[0];
    assert_eq!(attribute(read, "gen_ai.tool.call.id"), &json!({"stringValue": "t1"}));
}

fn passes_tools() -> Value {
    json!({"name": "tools", "binding": "on-tool-call", "commit_policy": "deny",
           "builtin": {"blocklist": {"deny": ["Bash"]}}})
}

#[test]
fn what_no_collector_takes_is_counted_and_delays_nobody() {
    let nobody = json!({"otel": {"endpoint": "http://127.0.0.1:1/v1/traces"}});
    let ran = Gate::with_hooks(&[passes("guard"), watcher("spans", nobody)]).bash("/bin/true; /bin/true");
    ran.exits(0);
    assert!(
        log(&ran, "hook-spans.log").contains("spans are lost: cannot ask"),
        "{}",
        log(&ran, "hook-spans.log")
    );

    let (otel, _) = collector(r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#);
    let ran = Gate::with_hooks(&[passes("guard"), watcher("spans", otel)]).bash("/bin/true");
    ran.exits(0);
    assert!(log(&ran, "hook-spans.log").contains("2 of"), "{}", log(&ran, "hook-spans.log"));
}

#[test]
fn spans_leave_the_machine_only_encrypted() {
    let open = json!({"otel": {"endpoint": "http://collector.example/v1/traces"}});
    let ran = Gate::with_hooks(&[denies("guard", "no"), watcher("spans", open)]).run(["/bin/true"]);
    ran.exits(125);
    assert!(ran.stderr.contains("plain http to another machine"), "{}", ran.stderr);
}
