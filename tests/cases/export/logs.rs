//! Events in the system's logs, taken by the receivers that people have: systemd's journal, rsyslog, and whoever collects
//! standard output.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use shellgate_tests::{Finished, Gate, Ran, denies, need, passes, policy, rsyslogd, rules, until};

use crate::builtins::{faults, log, watcher};

/// A program that ends well, one that is killed, and refusals of both kinds.
const LINE: &str =
    "/bin/true $'two\\nlines' 'a]\"\\b'; sh -c 'kill -9 $$'; /bin/touch RAN; /usr/bin/basename x; exit 0";

fn hooks(out: Value) -> [Value; 3] {
    [
        rules("guard", &json!([{"deny": "not \"for\" [agents]", "exe": ["touch"]}])),
        policy(
            "breaks",
            "case $(cat) in *'\"path_raw\":\"/usr/bin/basename\"'*) exit 9;; esac; echo '{\"verdict\":\"none\"}'",
        ),
        watcher("out", out),
    ]
}

/// The one entry about a program of this name.
#[track_caller]
fn about<'v>(entries: &'v [Value], key: &str, program: &str) -> &'v Value {
    let mut found =
        entries.iter().filter(|entry| entry[key].as_str().is_some_and(|path| path.ends_with(program)));
    let one = found.next().unwrap_or_else(|| panic!("nothing about {program}: {entries:#?}"));
    assert!(found.next().is_none(), "{program} twice: {entries:#?}");
    one
}

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Runs a line of shell in a mount namespace with a journal of its own, whose socket is `/run/systemd/journal.t/socket`.
fn beside_a_journal(gate: &Gate, line: &str) -> Finished {
    let script = format!(
        "mount -t tmpfs none /run && mount -t tmpfs none /var/log && mkdir -p /run/systemd/journal.t /var/log/journal &&
         {{ /lib/systemd/systemd-journald t & journal=$!; }} &&
         for i in {{1..600}}; do [ -S /run/systemd/journal.t/socket ] && break; sleep 0.1; done &&
         {{ {line}; }}; status=$?
         journalctl --namespace=t --sync; journalctl --namespace=t --all -o json -t shellgate >entries
         kill $journal; wait $journal; exit $status"
    );
    gate.bare(["unshare", "-m", "bash", "-c", &script])
}

#[test]
fn the_journal_has_an_entry_with_fields_for_each_event() {
    need!(root, mount_ns, journalctl, journald);
    let out = json!({"journald": {"socket": "/run/systemd/journal.t/socket"}});
    let gate = Gate::with_hooks(&hooks(out));
    // One whose fields no datagram holds: the journal is handed a file instead.
    let (run, session) = (gate.shellgate_words("session"), gate.session());
    let words = LINE.replace(
        "exit 0",
        "/bin/echo $(printf x%.0s {1..120000}) $(printf y%.0s {1..120000}) >/dev/null; exit 0",
    );
    fs::write(gate.work().join("words"), words).expect("it is ours");
    let done = beside_a_journal(
        &gate,
        &format!(
            "{run} bash -c \"$(cat words)\" && until grep -q session_end {0}/trace.jsonl; do sleep 0.1; done",
            session.display()
        ),
    );
    assert_eq!(done.code, 0, "{}", done.stderr());
    let trace = fs::read_to_string(gate.session().join("trace.jsonl")).expect("a trace");
    assert!(!trace.contains(r#""record":"hook_fault""#), "{trace}");
    let entries = objects(&fs::read_to_string(gate.work().join("entries")).expect("journalctl wrote"));
    let touch = about(&entries, "SHELLGATE_PATH", "/touch");
    for (field, value) in [
        ("PRIORITY", "4"),
        ("SYSLOG_IDENTIFIER", "shellgate"),
        ("SHELLGATE_VERDICT", "refused"),
        ("SHELLGATE_HOOK", "guard"),
        ("SHELLGATE_REASON", "not \"for\" [agents]"),
        ("SHELLGATE_ARGV", r#"["/bin/touch","RAN"]"#),
        ("_TRANSPORT", "journal"),
    ] {
        assert_eq!(touch[field], value, "{touch:#}");
    }
    assert!(
        touch["MESSAGE"].as_str().expect("text").contains("refused /bin/touch RAN by guard"),
        "{touch:#}"
    );
    let basename = about(&entries, "SHELLGATE_PATH", "/basename");
    assert_eq!((&basename["PRIORITY"], &basename["SHELLGATE_DEFECT"]), (&"3".into(), &"crash".into()));
    let killed = entries.iter().filter(|entry| entry["SHELLGATE_SIGNAL"] == "9").count();
    assert_eq!(killed, 1, "{entries:#?}");
    let both = about(&entries, "SHELLGATE_PATH", "/true");
    assert_eq!((&both["SHELLGATE_VERDICT"], &both["SHELLGATE_EXIT_CODE"]), (&"ran".into(), &"0".into()));
    let argv: Value = serde_json::from_str(both["SHELLGATE_ARGV"].as_str().expect("text")).expect("JSON");
    assert_eq!(argv, json!(["/bin/true", "two\nlines", "a]\"\\b"]));
    let long = about(&entries, "SHELLGATE_PATH", "/echo");
    assert!(long["SHELLGATE_ARGV"].as_str().expect("text").len() > 240_000, "the whole of it");
}

#[test]
fn rsyslog_takes_every_message_whole() {
    need!(rsyslog);
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, udp) = rsyslogd(folder.path());
    for address in [format!("unix:{}", folder.path().join("log").display()), format!("udp:{udp}")] {
        let out = json!({"syslog": {"address": address, "facility": "local3"}});
        let ran = Gate::with_hooks(&hooks(out)).bash(LINE);
        ran.exits(0);
        ran.absent(["RAN"]);
        assert!(faults(&ran).is_empty(), "{:?}", faults(&ran));
        let id = ran.records[0]["session_id"].as_str().expect("text");
        let messages = || -> Vec<Value> {
            let text = fs::read_to_string(folder.path().join("messages")).unwrap_or_default();
            // The last line may still be on its way.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            objects(whole).into_iter().filter(|message| data(message)["session"] == id).collect()
        };
        // Every exec, and the beginning and end of the session.
        until("the messages", || messages().len() >= ran.shells().len() + ran.denied().len() + 2);
        let all = messages();
        let data: Vec<Value> = all.iter().map(|message| data(message).clone()).collect();
        let touch = about(&data, "path", "/touch");
        assert_eq!((&touch["hook"], &touch["reason"]), (&"guard".into(), &"not \"for\" [agents]".into()));
        assert_eq!(about(&data, "path", "/basename")["defect"], "crash");
        assert_eq!(about(&data, "path", "/true")["argv"], r#"["/bin/true","two\nlines","a]\"\\b"]"#);
        let refused: Vec<_> = all.iter().filter(|message| message["msgid"] == "refused").collect();
        assert_eq!(refused.len(), 2, "{all:#?}");
        for message in refused {
            assert_eq!(
                (&message["app-name"], &message["syslogfacility"]),
                (&"shellgate".into(), &"19".into())
            );
            assert_eq!(message["protocol-version"], "1");
        }
        let severities: Vec<_> =
            all.iter().filter_map(|message| message["syslogseverity"].as_str()).collect();
        assert!(["3", "4", "6"].iter().all(|severity| severities.contains(severity)), "{severities:?}");
    }
}

/// The structured data of a message, as rsyslog itself has parsed it.
fn data(message: &Value) -> &Value {
    &message["$!"]["rfc5424-sd"]["shellgate@32473"]
}

#[test]
fn what_no_log_takes_is_counted_and_changes_nothing() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let gone = silent.local_addr().expect("it is bound");
    drop(silent);
    for out in [
        json!({"journald": {"socket": "/no/such/socket"}}),
        json!({"syslog": {"address": "unix:/no/such/socket"}}),
        json!({"syslog": {"address": format!("udp:{gone}")}}),
    ] {
        let ran = Gate::with_hooks(&hooks(out.clone())).bash(LINE);
        ran.exits(0);
        ran.absent(["RAN"]);
        let lost = faults(&ran);
        let events = ran.shells().len() + ran.denied().len() + 2;
        // The kernel may hear that nobody takes a datagram only after the next one.
        let fewest = if out["syslog"]["address"] == format!("udp:{gone}") { 1 } else { events };
        assert!((fewest..=events).contains(&lost.len()), "{out}: {lost:#?}");
        assert!(
            lost.iter().all(|fault| fault["detail"].as_str().expect("text").contains("an event is lost"))
        );
        assert!(log(&ran, "hook-out.log").contains("cannot send it to"), "{out}");
    }
}

#[test]
fn wrong_options_are_errors_that_name_the_option() {
    for (out, told) in [
        (json!({"journald": {"socket": "run/socket"}}), "not an absolute path"),
        (json!({"syslog": {"address": "udp:192.0.2.1:514"}}), "is another machine"),
        (json!({"syslog": {"address": "tcp:127.0.0.1:514"}}), "udp:ADDRESS:PORT"),
        (json!({"syslog": {"facility": "kern"}}), "authpriv"),
        (json!({"syslog": {"identifier": "a b"}}), "identifier"),
        (json!({"json": {"to": "socket"}}), "stderr"),
    ] {
        let ran = Gate::with_hooks(&[denies("guard", "no"), watcher("out", out.clone())]).run(["/bin/true"]);
        ran.exits(125);
        assert!(ran.stderr.contains(told), "{out}: {}", ran.stderr);
    }
}

#[test]
fn json_lines_go_to_the_output_that_shellgate_was_given() {
    for to in ["stdout", "stderr"] {
        let ran = Gate::with_hooks(&hooks(json!({"json": {"to": to}}))).bash(LINE);
        let text = if to == "stdout" { &ran.stdout } else { &ran.stderr };
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
        check(&ran, &objects(&lines.join("\n")));
    }
    // To a file, behind what the programs write to it.
    let gate = Gate::with_hooks(&hooks(json!("json")));
    let line = format!(
        "{} bash -c 'echo one; exit 0' >out; until grep -q session_end {}/trace.jsonl; do sleep 0.1; done",
        gate.shellgate_words("session"),
        gate.session().display()
    );
    assert_eq!(gate.bare(["bash", "-c", &line]).code, 0);
    let out = fs::read_to_string(gate.work().join("out")).expect("text");
    let events = objects(&out.lines().filter(|line| line.starts_with('{')).collect::<Vec<_>>().join("\n"));
    assert!(out.contains("one\n") && events.iter().any(|event| event["event"] == "on-shell"), "{out}");
}

#[track_caller]
fn check(ran: &Ran, events: &[Value]) {
    ran.exits(0);
    assert!(faults(ran).is_empty(), "{:?}", faults(ran));
    let programs = events.iter().filter(|event| event["event"] == "on-shell").count();
    assert_eq!(programs, ran.shells().len() + ran.denied().len(), "{}", ran.story());
    let touch = about(events, "path", "/touch");
    assert_eq!((&touch["refusal"]["hook"], &touch["outcome"]), (&"guard".into(), &Value::Null));
}

#[test]
fn a_reader_that_reads_nothing_holds_up_neither_a_program_nor_the_end() {
    let hook = json!({"name": "out", "timeout": "200ms", "builtin": "json"});
    let gate = Gate::with_hooks(&[passes("guard"), hook]);
    let line = format!(
        "mkfifo full; sleep 600 <full & exec 3>full; \
         {} bash -c 'for i in {{1..200}}; do /bin/true; done; exec 3>&-; date >after; exit 0' >&3; echo $?; \
         until grep -q session_end {}/trace.jsonl; do sleep 0.1; done; kill %1",
        gate.shellgate_words("session"),
        gate.session().display()
    );
    let done = gate.bare(["bash", "-c", &line]);
    assert_eq!(done.stdout(), "0\n", "{}", done.stderr());
    assert!(Path::new(&gate.work().join("after")).exists());
    let trace = fs::read_to_string(gate.session().join("trace.jsonl")).expect("a trace");
    assert!(trace.contains("an event is lost: cannot send it to stdout: nobody reads it"), "{trace}");
}
