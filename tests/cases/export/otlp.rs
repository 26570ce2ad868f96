//! Spans, logs and metrics, as a collector gets them.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, denies, need, passes, policy, rules, until};

use super::collector::{Got, Kept, Protocol, attribute, collector};
use crate::builtins::{faults, log, submit, watcher};
use crate::runners::http::{ok, served};

const PROTOCOLS: [Protocol; 3] = [Protocol::Grpc, Protocol::Protobuf, Protocol::Json];

fn passes_tools() -> Value {
    json!({"name": "tools", "binding": "on-tool-call", "commit_policy": "deny",
           "builtin": {"blocklist": {"deny": ["Bash"]}}})
}

/// A session with programs below programs, failures, both kinds of refusal, an observer that fails, and a tool call.
fn session(otel: Value) -> Ran {
    let hooks = [
        rules("guard", &json!([{"deny": "not for agents", "exe": ["touch"]}])),
        policy(
            "breaks",
            "case $(cat) in *'\"path_raw\":\"/usr/bin/basename\"'*) exit 9;; esac; echo '{\"verdict\":\"none\"}'",
        ),
        passes_tools(),
        watcher("out", otel),
        json!({"name": "fails", "binding": "on-session-start", "command": ["/bin/sh", "-c", "exit 1"]}),
    ];
    let tool = json!({"tool_name": "Read", "tool_use_id": "t1", "input": {}});
    let done =
        json!({"tool_name": "Read", "tool_use_id": "t1", "input": {}, "output": "x", "duration_ms": 5});
    let line = format!(
        "/bin/true one; /bin/false; dash -c '/bin/true two; exit 0'; /bin/touch RAN; /usr/bin/basename x; {}; {}; exit 0",
        submit("on-tool-call --phase before", &tool),
        submit("on-tool-call --phase after", &done)
    );
    let ran = Gate::with_hooks(&hooks).bash(&line);
    ran.exits(0);
    ran.absent(["RAN"]);
    let failed: Vec<_> = faults(&ran).iter().map(|fault| fault["hook"].clone()).collect();
    assert_eq!(failed, [json!("fails")], "{:?}", faults(&ran));
    ran
}

/// What has arrived, when the session is over.
fn arrived(kept: &Kept) -> std::sync::MutexGuard<'_, Got> {
    kept.lock().expect("nobody panics with it")
}

fn named<'g>(got: &'g Got, name: &str) -> Vec<&'g Span> {
    got.spans.iter().filter(|span| span.name == name).collect()
}

#[test]
fn programs_and_tools_are_spans_nested_as_they_were() {
    need!(outcomes);
    for protocol in PROTOCOLS {
        let (otel, kept) = collector(protocol);
        let ran = session(otel);
        let got = arrived(&kept);
        let (bash, dash, trues, whole) =
            (named(&got, "bash"), named(&got, "dash"), named(&got, "true"), named(&got, "session"));
        assert_eq!((bash.len(), trues.len(), whole.len()), (1, 2, 1), "{protocol:?} {got:#?}");
        assert_eq!(bash[0].parent_span_id, whole[0].span_id);
        let dash = dash.iter().find(|span| span.parent_span_id == bash[0].span_id).expect("bash started it");
        let below = |parent: &Span| trues.iter().filter(|span| span.parent_span_id == parent.span_id).count();
        assert_eq!((below(bash[0]), below(dash)), (1, 1), "{got:#?}");
        assert!(got.spans.iter().all(|span| span.trace_id == whole[0].trace_id && span.trace_id.len() == 16));
        assert!(got.spans.iter().all(|span| span.start_time_unix_nano <= span.end_time_unix_nano));
        // A span for every exec that was judged, for the tool call, and for the session.
        assert_eq!(got.spans.len(), ran.shells().len() + ran.denied().len() + 2, "{protocol:?} {got:#?}");
        let failed = named(&got, "false")[0];
        assert_eq!(failed.status.as_ref().map(|status| status.code), Some(2));
        assert_eq!(attribute(&failed.attributes, "process.exit.code"), json!(1));
        let refused = named(&got, "touch")[0];
        assert_eq!(refused.status.as_ref().map(|status| status.message.as_str()), Some("not for agents"));
        assert_eq!(refused.events[0].name, "shellgate.refused");
        assert_eq!(attribute(&refused.attributes, "process.command_args"), json!(["/bin/touch", "RAN"]));
        assert_eq!(attribute(&refused.attributes, "error.type"), json!("refused"));
        assert_eq!(attribute(&named(&got, "basename")[0].attributes, "error.type"), json!("crash"));
        let read = named(&got, "execute_tool Read")[0];
        assert_eq!(attribute(&read.attributes, "gen_ai.tool.call.id"), json!("t1"));
        assert!(got.tokens.iter().all(|token| token == "Bearer t"), "{:?}", got.tokens);
        for resource in &got.resources {
            assert_eq!(attribute(&resource.attributes, "service.name"), json!("agent"));
            assert!(attribute(&resource.attributes, "service.instance.id").is_string());
        }
    }
}

#[test]
fn each_refusal_is_a_log_record_of_its_span() {
    for protocol in PROTOCOLS {
        let (otel, kept) = collector(protocol);
        let ran = session(otel);
        let got = arrived(&kept);
        assert_eq!(got.logs.len(), ran.denied().len(), "{protocol:?} {got:#?}");
        for (name, hook, severity, defect) in
            [("touch", "guard", 13, Value::Null), ("basename", "breaks", 17, json!("crash"))]
        {
            let record =
                got.logs.iter().find(|record| attribute(&record.attributes, "shellgate.hook") == hook);
            let record = record.expect("one names the hook");
            let span = named(&got, name)[0];
            assert_eq!((&record.trace_id, &record.span_id), (&span.trace_id, &span.span_id), "{protocol:?}");
            assert_eq!(
                (record.severity_number, record.event_name.as_str()),
                (severity, "shellgate.call_denied")
            );
            assert_eq!(attribute(&record.attributes, "shellgate.defect"), defect);
            assert_eq!(attribute(&record.attributes, "process.executable.name"), name);
            assert!(record.body.is_some() && record.time_unix_nano > 0);
        }
    }
}

/// The points of a metric by their attributes, as `name=value,…`.
fn points(got: &Got, name: &str) -> BTreeMap<String, i64> {
    let metric = got.metrics.iter().find(|metric| metric.name == name).expect("there is such a metric");
    let points: &[NumberDataPoint] = match metric.data.as_ref().expect("it has data") {
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{metric:#?}");
            &sum.data_points
        }
        Data::Gauge(gauge) => &gauge.data_points,
        other => panic!("{other:?}"),
    };
    let point = |point: &NumberDataPoint| {
        let names = point.attributes.iter().map(|one| {
            let value = attribute(&point.attributes, &one.key);
            format!("{}={}", one.key, value.as_str().expect("labels are text"))
        });
        let Some(Number::AsInt(value)) = point.value else { panic!("{point:?}") };
        assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano <= point.time_unix_nano);
        (names.collect::<Vec<_>>().join(","), value)
    };
    points.iter().map(point).collect()
}

fn latency(got: &Got) -> &HistogramDataPoint {
    let metric = got.metrics.iter().find(|metric| metric.name == "shellgate_decision_seconds");
    let metric = metric.expect("there is such a metric");
    assert_eq!(metric.unit, "s");
    match &metric.data {
        Some(Data::Histogram(histogram)) => &histogram.data_points[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn counts_and_latencies_are_those_of_the_session() {
    for protocol in PROTOCOLS {
        let (otel, kept) = collector(protocol);
        let ran = session(otel);
        let got = arrived(&kept);
        let (allowed, refused) = (ran.shells().len() as i64, ran.denied().len() as i64);
        let execs = points(&got, "shellgate_execs");
        assert_eq!((execs["verdict=allowed"], execs["verdict=refused"]), (allowed, refused), "{protocol:?}");
        let refusals = points(&got, "shellgate_refusals");
        assert_eq!(refusals.values().sum::<i64>(), refused);
        assert_eq!((refusals["hook=guard,reason=deny"], refusals["hook=breaks,reason=crash"]), (1, 1));
        assert_eq!(points(&got, "shellgate_hook_faults")["hook=fails"], 1);
        let spread = latency(&got);
        assert_eq!(spread.count as i64, allowed + refused, "{spread:?}");
        assert_eq!(spread.bucket_counts.iter().sum::<u64>(), spread.count);
        assert_eq!(spread.bucket_counts.len(), spread.explicit_bounds.len() + 1);
        assert!(spread.sum.is_some_and(|sum| sum > 0.0));
    }
}

#[test]
fn only_the_signals_that_are_wanted_are_sent() {
    let (mut otel, kept) = collector(Protocol::Protobuf);
    otel["otel"]["signals"] = json!(["logs"]);
    session(otel);
    let got = arrived(&kept);
    assert_eq!((got.spans.len(), got.metrics.len()), (0, 0));
    assert!(!got.logs.is_empty());
}

#[test]
fn what_is_held_back_is_sent_though_nothing_more_happens() {
    let (otel, kept) = collector(Protocol::Grpc);
    let hook = json!({"name": "out", "binding": "on-shell", "builtin": otel});
    let gate = Gate::with_hooks(&[passes("guard"), hook]).pipe("go");
    let live = gate.start(["bash", "-c", "/bin/true; read -r _ <go; /bin/true; exit 0"]);
    until("the first span", || !named(&arrived(&kept), "true").is_empty());
    live.give("go");
    live.finish().exits(0);
    // The end of the session is not among its events, and all the same nothing is left behind.
    let got = arrived(&kept);
    assert_eq!((named(&got, "true").len(), named(&got, "bash").len()), (2, 1), "{got:#?}");
}

#[test]
fn what_no_collector_takes_is_counted_and_delays_nobody() {
    for protocol in ["grpc", "http/protobuf", "http/json"] {
        let nobody = json!({"otel": {"endpoint": "http://127.0.0.1:1", "protocol": protocol}});
        let ran = Gate::with_hooks(&[passes("guard"), watcher("out", nobody)]).bash("/bin/true; /bin/true");
        ran.exits(0);
        ran.nothing_refused();
        let said = log(&ran, "hook-out.log");
        assert!(said.contains("4 spans are lost: cannot ask"), "{protocol}: {said}");
        assert!(!faults(&ran).is_empty(), "{}", ran.story());
    }
    let (json, rejecting) =
        ("http/json", r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#);
    let endpoint =
        served(move |posted| ok(if posted.path == "/v1/traces" { rejecting } else { "" }).into_bytes());
    let otel = json!({"otel": {"endpoint": endpoint, "protocol": json}});
    let ran = Gate::with_hooks(&[passes("guard"), watcher("out", otel)]).bash("/bin/true");
    ran.exits(0);
    assert!(
        log(&ran, "hook-out.log").contains("2 of 3 spans were rejected: too old"),
        "{}",
        log(&ran, "hook-out.log")
    );
}

#[test]
fn a_collector_that_does_not_answer_holds_up_no_program() {
    // It answers when the command is over: if a program waited for it, neither would ever happen.
    let folder = tempfile::tempdir().expect("a folder");
    let over = folder.path().join("over");
    let seen = over.clone();
    let endpoint = served(move |_| {
        until("the end of the command", || seen.exists());
        ok("").into_bytes()
    });
    let hook = json!({"name": "out", "timeout": "100s", "builtin": {"otel": {"endpoint": endpoint}}});
    let ran = Gate::with_hooks(&[passes("guard"), hook])
        .bash(&format!("for i in {{1..140}}; do /bin/true; done; /bin/echo >{}; exit 0", over.display()));
    ran.exits(0);
    assert_eq!(ran.shells().len(), 142, "{}", ran.story());
    // Where sending takes longer than a session waits at its end, the end itself may be what is lost.
    assert!(faults(&ran).iter().all(|fault| fault["seq"].is_null()), "{:?}", faults(&ran));

    let deaf = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let endpoint = format!("http://{}", deaf.local_addr().expect("it is bound"));
    let otel = json!({"otel": {"endpoint": endpoint, "protocol": "grpc"}});
    // Shorter than what a session waits at its end, so that the hook is there to tell.
    let hook = json!({"name": "out", "timeout": "200ms", "builtin": otel});
    let ran = Gate::with_hooks(&[passes("guard"), hook]).bash("/bin/true; exit 0");
    ran.exits(0);
    let said = log(&ran, "hook-out.log");
    assert!(said.contains(" spans are lost: timed out after"), "{said}");
}

#[test]
fn wrong_options_are_errors_that_say_what_to_write() {
    for (options, told) in [
        (json!({"endpoint": "http://collector.example:4318"}), "plain http to another machine"),
        (
            json!({"endpoint": "http://collector.example:4317", "protocol": "grpc"}),
            "plain http to another machine",
        ),
        (json!({"endpoint": "http://127.0.0.1:4318/v1/traces"}), "write \"http://127.0.0.1:4318\""),
        (json!({"protocol": "udp"}), "http/protobuf"),
        (json!({"signals": []}), "signals: names nothing"),
        (json!({"signals": ["spans"]}), "traces"),
        (json!({"protocol": "grpc", "headers": {"a b": "x"}}), "headers"),
    ] {
        let ran = Gate::with_hooks(&[denies("guard", "no"), watcher("out", json!({"otel": options}))])
            .run(["/bin/true"]);
        ran.exits(125);
        assert!(ran.stderr.contains(told), "{options}: {}", ran.stderr);
    }
}
