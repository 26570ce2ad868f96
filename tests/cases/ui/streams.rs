//! The streams of the page: what they hold, that they go on where they were cut off, and that nobody waits for a slow reader.

use std::io::Read as _;
use std::time::Duration;

use serde_json::{Value, json};
use shellgate_tests::{Event, Gate, Live, Ui, need};

use super::{asking, asks};

fn path(live: &Live) -> String {
    format!("/api/sessions/{}/rows", live.session_id())
}

/// The rows up to one that is so.
#[track_caller]
fn rows(ui: &Ui, path: &str, after: Option<&str>, last: impl Fn(&Value) -> bool) -> (Vec<Value>, Vec<Event>) {
    let all = |event: &Event| event.data.as_array().cloned().unwrap_or_default();
    let events = ui.events(path, after, |event| event.name == "rows" && all(event).iter().any(&last));
    (events.iter().filter(|event| event.name == "rows").flat_map(all).collect(), events)
}

fn is(row: &Value, kind: &str, text: &str) -> bool {
    row["kind"] == kind && row["text"].as_str().is_some_and(|shown| shown.contains(text))
}

#[test]
fn a_timeline_has_who_started_what_how_it_ended_and_why_it_was_refused() {
    let line = "bash -c 'true one; false'; mv a b; read x < go";
    let live = asking().pipe("go").start(["bash", "-c", line]);
    let ui = live.ui();
    let (rows, _) = rows(&ui, &path(&live), None, |row| is(row, "deny", "mv a b"));
    let find =
        |kind, text| rows.iter().find(|row| is(row, kind, text)).unwrap_or_else(|| panic!("{rows:#?}"));
    let outer = find("ran", "read x");
    let inner = find("ran", "bash -c 'true one");
    assert_eq!((&inner["parent"], &inner["folded"]), (&outer["seq"], &json!("script")));
    let denied = find("deny", "mv a b");
    assert_eq!((&denied["hook"], &denied["why"]), (&json!("guard"), &json!("not moved")));
    assert_eq!(denied["parent"], outer["seq"]);
    let ended = rows.iter().find(|row| row["kind"] == "outcome" && row["seq"] == inner["seq"]);
    let ended = ended.unwrap_or_else(|| panic!("{rows:#?}"));
    assert_eq!((&ended["text"], &ended["good"]), (&json!("exit 1"), &json!(false)));
    let start = &find("start", "")["start"];
    assert_eq!(start["policy_hooks"], json!(["guard"]));
    assert_eq!(start["digest"].as_str().map(str::len), Some(64));
    assert_eq!(inner["answers"][0]["answer"], "none");
    // The whole record, with its script line by line.
    let record = format!("/api/sessions/{}/records/{}/{}", live.session_id(), outer["at"], outer["seq"]);
    let sections = ui.get(&record).json();
    let text = sections["sections"].to_string();
    assert!(text.contains("argv") && text.contains("read x < go") && text.contains("guard  none"), "{text}");
    assert_eq!(ui.get(&record.replace("/records/", "/records/1")).status, 404);
    live.give("go");
    live.finish();
}

#[test]
fn a_stream_that_was_cut_off_goes_on_behind_the_last_message() {
    let line = "/bin/true first; read x < go; /bin/true second; read x < on";
    let live = asking().pipe("go").pipe("on").start(["bash", "-c", line]);
    let (ui, path) = (live.ui(), path(&live));
    let (_, events) = rows(&ui, &path, None, |row| row["kind"] == "ran");
    let id = events.iter().rev().find_map(|event| event.id.clone()).expect("rows have an id");
    live.give("go");
    live.recorded("the second", |records| {
        records.iter().filter(|record| record["record"] == "outcome").count() > 1
    });
    let (more, events) = rows(&ui, &path, Some(&id), |row| row["kind"] == "outcome");
    assert!(more.iter().all(|row| row["kind"] != "start"), "not from the beginning: {more:#?}");
    assert!(events.iter().all(|event| event.name != "restart"));
    // An id that means nothing here, or of a trace that is another by now.
    for foreign in ["x", "1.2.3"] {
        let (all, events) = rows(&ui, &path, Some(foreign), |row| row["kind"] == "outcome");
        assert!(all.iter().any(|row| row["kind"] == "start"), "{foreign}: {all:#?}");
        assert_eq!(events.iter().any(|event| event.name == "restart"), foreign == "1.2.3");
    }
    live.give("on");
    live.finish();
}

#[test]
fn readers_that_do_not_read_delay_nobody() {
    need!(python3);
    // Enough that no buffer on the way holds it.
    let spawn = "import os, subprocess\nfor n in range(400): subprocess.run(['/bin/true', 'x' * 20000])\n";
    let live = asking().file("many.py", spawn).pipe("go").start([
        "bash",
        "-c",
        "python3 many.py; touch RAN; read x < go",
    ]);
    let (ui, path) = (live.ui(), path(&live));
    let slow: Vec<_> = (0..6).map(|_| ui.open("GET", &path, &ui.headers(), "")).collect();
    let live_slow: Vec<_> = (0..6).map(|_| ui.open("GET", "/api/live", &ui.headers(), "")).collect();
    // Meanwhile somebody else sees all of it, and answers.
    let asked = asks(&ui, 1);
    let (all, _) = rows(&ui, &path, None, |row| is(row, "ran", "many.py"));
    assert!(!all.is_empty());
    assert_eq!(ui.answer(&asked[0], &json!({"answer": "once"})).status, 200);
    live.recorded("what was allowed", |records| {
        records.iter().any(|record| record["record"] == "outcome" && record["seq"] == asked[0]["seq"])
    });
    // And those who were slow find all of it still.
    for mut stream in slow {
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a plain socket option");
        let (mut text, mut block) = (String::new(), vec![0; 1 << 16]);
        while !text.contains("touch RAN") {
            let got = stream.read(&mut block).expect("the stream goes on");
            text.push_str(&String::from_utf8_lossy(&block[..got]));
        }
    }
    drop(live_slow);
    live.give("go");
    live.finish().present(["RAN"]);
}

#[test]
fn hostile_text_is_made_visible_before_it_leaves() {
    let line = "true $'a\\e[2Jb\\nc' $'rm\\u202efdp' '<img src=x onerror=alert(1)>'; read x < go";
    let live =
        Gate::open().env("LC_ALL", "C.UTF-8").pipe("go").start(["bash", "-c", &format!("/bin/{line}")]);
    let (ui, path) = (live.ui(), path(&live));
    let (_, events) =
        rows(&ui, &path, None, |row| is(row, "ran", "<img src=x onerror=alert(1)>") && row["seq"] == 2);
    let all = format!("{events:?}");
    assert!(!all.contains('\u{202e}') && !all.contains('\x1b'), "{all}");
    let (shown, _) = rows(&ui, &path, None, |row| row["seq"] == 2);
    let row = shown.iter().find(|row| row["seq"] == 2 && row["kind"] == "ran").expect("it ran");
    let text = row["text"].as_str().expect("text");
    assert!(text.contains("\\x1b[2J") && text.contains("\\u{202e}"), "{text}");
    live.give("go");
    live.finish();
}
