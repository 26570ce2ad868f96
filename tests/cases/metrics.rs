//! What `run --metrics` serves while its session lasts.

use std::net::TcpListener;

use serde_json::json;
use shellgate_tests::{Gate, Metrics, need, policy};

#[test]
fn a_session_serves_what_it_has_decided() {
    need!(prometheus);
    let place = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = place.local_addr().expect("it is bound");
    drop(place);
    let gate = Gate::with_hooks(&[
        json!({
            "name": "guard", "binding": "on-shell", "commit_policy": "deny", "rules": [{"deny": "no", "exe": "touch"}],
            "otherwise": "none",
        }),
        policy(
            "breaks",
            "case $(cat) in *'\"path_raw\":\"/usr/bin/basename\"'*) exit 9;; esac; echo '{\"verdict\":\"none\"}'",
        ),
    ]);
    let port = address.port().to_string();
    let live = gate.pipe("go").options(["--metrics", &port]).start([
        "bash",
        "-c",
        "/bin/touch RAN; /usr/bin/basename x; /bin/true; echo up >up; read -r _ <go; exit 0",
    ]);
    live.file("up");
    let metrics = Metrics::of(address);
    live.give("go");
    let ran = live.finish();
    ran.exits(0);
    ran.absent(["RAN"]);
    let start = &ran.records[0];
    let (config, digest) = (start["config"].as_str().expect("text"), start["config_digest"].as_str());
    for (sample, value) in [
        ("shellgate_execs_total{verdict=allowed}", 2.0),
        ("shellgate_execs_total{verdict=refused}", 2.0),
        ("shellgate_refusals_total{hook=guard,reason=deny}", 1.0),
        ("shellgate_refusals_total{hook=breaks,reason=crash}", 1.0),
        ("shellgate_sessions{}", 1.0),
        ("shellgate_decision_seconds_count{}", 4.0),
        ("shellgate_decision_seconds_bucket{le=+Inf}", 4.0),
        ("shellgate_config_reloads_total{result=bad}", 0.0),
        (&format!("shellgate_config_info{{config={config},digest={}}}", digest.expect("text")), 1.0),
    ] {
        assert!((metrics.value(sample) - value).abs() < 0.1, "{sample}: {metrics:#?}");
    }
}

#[test]
fn metrics_that_cannot_be_served_are_an_error_before_anything_runs() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let ran = Gate::open().options(["--metrics", &address]).run(["touch", "RAN"]);
    ran.exits(125);
    ran.absent(["RAN"]);
    assert!(ran.stderr.contains(&format!("cannot serve metrics on {address}")), "{}", ran.stderr);
}
