//! The page in a real browser: asks answered by clicking, hostile text shown as text, a long session that stays smooth.

use std::fmt::Write as _;

use serde_json::json;
use shellgate_tests::{Browser, Gate, skip, until};

use super::asking;

/// Returns from the test where there is no browser.
macro_rules! browser {
    ($link:expr) => {
        match Browser::missing() {
            Some(why) => return skip("chromium-headless-shell", &why),
            None => Browser::open($link),
        }
    };
}

/// Clicks a button of the one card, once the card takes clicks.
#[track_caller]
fn answer(browser: &mut Browser, file: &str, button: &str) {
    browser.until(&format!("document.querySelector('.card .call')?.textContent === 'touch {file}'"));
    // It takes none in its first moments.
    browser.value("new Promise((done) => setTimeout(done, 700))");
    browser.click(&format!(".card {button}"));
}

#[test]
fn asks_are_answered_by_clicking() {
    let live = asking().start(["bash", "-c", "touch ONE; touch TWO; touch TWO; touch THREE; touch FOUR"]);
    let ui = live.ui();
    let mut browser = browser!(&ui.link());
    browser.until("document.querySelector('.card .call')?.textContent === 'touch ONE'");
    assert!(!live.work().join("ONE").exists(), "it waits");
    answer(&mut browser, "ONE", ".once");
    until("what was allowed", || live.work().join("ONE").exists());
    answer(&mut browser, "TWO", ".remember");
    // The second is not asked about.
    answer(&mut browser, "THREE", "input");
    browser.type_text("two are enough");
    browser.click(".card .deny");
    answer(&mut browser, "FOUR", ".deny");
    browser.until("document.querySelector('#asks').hidden");
    assert_eq!(browser.value("location.hash"), json!(""), "the token is not left in the address bar");
    assert_eq!(browser.said(), [] as [String; 0], "no error, nothing that the policy of the page held up");
    let ran = live.finish();
    ran.present(["ONE", "TWO"]);
    ran.absent(["THREE", "FOUR"]);
    assert!(ran.stderr.contains("(two are enough)"), "{}", ran.story());
}

#[test]
fn a_card_that_has_just_come_takes_no_click() {
    let live = asking().start(["touch", "RAN"]);
    let ui = live.ui();
    let mut browser = browser!(&ui.link());
    browser.until("document.querySelector('.card .once') !== null");
    // In the moment in which it comes, as a click that was meant for something else.
    browser.value(
        "new Promise((done) => { const asks = document.querySelector('#asks'); const old = asks.querySelector('.card'); \
         window.early = 0; new MutationObserver(() => { const once = asks.querySelector('.card .once'); \
         if (once && !window.early) { window.early = 1; once.click(); done(); } }).observe(asks, {childList: true}); \
         old.remove(); import('/asks.js').then(({Asks}) => new Asks(asks).set([{at: 9, session: 's', id: 9, seq: 1, hook: 'h', \
         question: 'q', call: 'c', scope: 's', seconds_left: 60}])); })",
    );
    browser.until("document.querySelector('.card .said').textContent.includes('just come')");
    assert!(!live.work().join("RAN").exists());
    live.approvals(["deny", "1"]);
    live.finish().absent(["RAN"]);
}

#[test]
fn what_a_program_wrote_is_text_and_never_markup() {
    let evil = "<img src=x onerror=\"window.owned=1\"><script>window.owned=2</script>";
    let script = format!("#!/bin/bash\n# {evil}\ntouch 'RAN'\n");
    let live =
        asking().script("evil.sh", script).start(["bash", "-c", "./evil.sh \"$1\"; touch \"$1\"", "x", evil]);
    let ui = live.ui();
    let mut browser = browser!(&ui.link());
    browser.until("document.querySelector('.card .call')?.textContent === 'touch RAN'");
    // Folded out: argv and the script.
    let find = "[...document.querySelectorAll('.row .line')].find((line) => line.querySelector('.command').textContent.startsWith('./evil.sh'))";
    browser.until(&format!("{find}?.textContent.includes('<img src=x onerror=')"));
    browser.value(&format!("{find}.click()"));
    browser.until("document.querySelector('.more')?.textContent.includes('# <img src=x onerror=')");
    browser.value("new Promise((done) => setTimeout(done, 700))");
    browser.click(".card .deny");
    browser.until("document.querySelector('.card .call')?.textContent.includes('<img src=x onerror=')");
    assert_eq!(browser.value("document.querySelectorAll('img, script:not([src])').length"), json!(0));
    assert_eq!(browser.value("window.owned ?? null"), json!(null));
    assert_eq!(browser.said(), [] as [String; 0]);
    live.approvals(["deny", "2"]);
    live.finish().absent(["RAN"]);
}

/// A trace of this many execs, each with an end; every tenth is refused.
fn trace(execs: u64) -> String {
    let mut text = String::new();
    let start = json!({"record": "session_start", "seq": 0, "time": "2026-11-29T10:00:00.000000Z", "session_id": "long",
        "version": "0.1.0", "config": "preset:dev", "config_digest": "ab".repeat(32), "seal": "ebpf", "command": ["make"],
        "policy_hooks": ["dev"], "observer_hooks": [], "warnings": []});
    let _ = writeln!(text, "{start}");
    let answers = json!([{"hook": "dev", "answer": "none", "duration_us": 40}]);
    for seq in 1..=execs {
        let time = format!("2026-11-29T10:{:02}:{:02}.000000Z", seq / 60 % 60, seq % 60);
        // Eight below each.
        let parent = json!([{"seq": (seq + 6) / 8, "path": "/bin/sh"}]);
        let ancestry = if seq == 1 { json!([]) } else { parent };
        let event = json!({"event": "on-shell", "phase": "before", "schema": 1, "session_id": "long", "seq": seq,
            "time": time, "path": "/usr/bin/cc", "name": "cc", "path_raw": "cc", "argv": ["cc", "-c", format!("file{seq}.c")],
            "argv_base64": null, "command": format!("cc -c file{seq}.c"), "cwd": "/w", "cwd_deleted": false, "pid": 1000 + seq,
            "tid": 1000 + seq, "ppid": 1, "uid": 0, "gid": 0, "ancestry": ancestry, "depth": 1, "interpreters": [],
            "payload": null, "applet": null, "script": null, "recipe": null, "env": {}, "env_names": [],
            "file": {"kind": "regular", "dev": "8:1", "inode": 1, "size": 1, "mode": "0755", "uid": 0, "mtime": time,
                "setuid": false, "foreign_mount_ns": false}, "syscall": "execve", "abi": "x86_64", "outcome": null});
        if seq % 10 == 0 {
            let denied = json!({"record": "call_denied", "seq": seq, "time": time, "session_id": "long", "hook": "dev",
                "reason": "not this one", "defect": null, "detail": null, "event": event, "answers": answers});
            let _ = writeln!(text, "{denied}");
            continue;
        }
        let ran = json!({"record": "shell", "seq": seq, "time": time, "session_id": "long", "event": event, "answers": answers});
        let outcome = json!({"record": "outcome", "seq": seq, "time": time, "session_id": "long", "outcome": {"kind": "exited",
            "code": i32::from(seq % 77 == 0), "signal": null, "errno": null, "by": null, "duration_us": 1500 + seq,
            "user_us": null, "system_us": null, "max_rss_kib": null}});
        let _ = writeln!(text, "{ran}\n{outcome}");
    }
    text
}

#[test]
fn a_session_of_five_thousand_events_scrolls_and_searches() {
    const EXECS: u64 = 5000;
    let gate = Gate::open();
    std::fs::create_dir(gate.session()).expect("the case's folder is writable");
    std::fs::write(gate.session().join("trace.jsonl"), trace(EXECS)).expect("the case's folder is writable");
    let ui = gate.ui();
    let mut browser = browser!(&ui.link());
    browser.until(&format!("document.querySelector('#count').textContent === '{} rows'", EXECS + 1));
    // What is not seen does not exist.
    let drawn = "document.querySelectorAll('.row').length";
    assert!(browser.value(drawn).as_u64().is_some_and(|rows| (10..150).contains(&rows)));
    let measured = browser.value(
        "(async () => { const place = document.querySelector('#timeline'); const frames = []; let last = performance.now(); \
         for (let step = 0; step <= 120; step += 1) { place.scrollTop = place.scrollHeight * step / 120; \
         await new Promise(requestAnimationFrame); const now = performance.now(); frames.push(now - last); last = now; } \
         frames.sort((a, b) => a - b); return { median: frames[60], worst: frames.at(-1) }; })()",
    );
    // Told, not judged: a busy machine is no fault of the page.
    eprintln!("frames of a scroll through {EXECS} rows, in ms: {measured}");
    browser.until("[...document.querySelectorAll('.row')].some((row) => row.offsetTop + row.offsetHeight === document.querySelector('.space').offsetHeight)");
    assert!(browser.value(drawn).as_u64().is_some_and(|rows| (10..150).contains(&rows)));
    browser.click("#search");
    browser.type_text("file4321.c");
    browser.until("document.querySelector('#count').textContent === '1 of 5001 rows'");
    browser.until("document.body.innerText.includes('cc -c file4321.c')");
    let took = browser.value(
        "(() => { const search = document.querySelector('#search'); const from = performance.now(); search.value = 'file'; \
         search.dispatchEvent(new Event('input')); return performance.now() - from; })()",
    );
    eprintln!("a search through {EXECS} rows, in ms: {took}");
    browser.value("(() => { const search = document.querySelector('#search'); search.value = ''; search.dispatchEvent(new Event('input')); })()");
    browser.click("[data-show=refused]");
    browser.until("document.querySelector('#count').textContent === '500 of 5001 rows'");
    browser.click("[data-show=failed]");
    browser.until("/^5\\d of 5001 rows$/.test(document.querySelector('#count').textContent)");
    browser.click("[data-show=all]");
    // By keyboard: the first row, its details, and the next.
    browser.value("document.querySelector('#timeline').focus()");
    for key in ["Home", "ArrowDown", "Enter"] {
        browser.press(key);
    }
    browser.until("document.querySelector('.row.selected .more')?.textContent.includes('file1.c')");
    browser.press("ArrowDown");
    browser.until("document.querySelector('.row.selected .command').textContent === 'cc -c file2.c'");
    assert_eq!(browser.said(), [] as [String; 0]);
}

/// The picture in the documentation, of a session that really was:
/// `cargo test -p shellgate-tests the_picture -- --ignored`.
#[test]
#[ignore = "draws docs/ui.png anew"]
fn the_picture_of_the_documentation() {
    let rules = "
- {deny: force-pushing rewrites shared history, exe: git, if: \"argv.exists(a, a == '--force')\"}
- {deny: this reads a credential, exe: [cat, less], if: \"argv.exists(a, a.contains('shadow'))\"}
- {ask: install packages?, exe: npm, if: \"argv.exists(a, a == 'install')\"}";
    let agent = "git status --short\nmake test\ngit commit -qam 'count words'\ngit push --force origin main\n\
                 cat /etc/shadow\nnpm install --save-dev prettier\nmake test\n";
    let makefile =
        "count: count.c\n\tcc -o count count.c\n\ntest: count\n\tprintf 'one two' | ./count | grep -qx 2\n";
    let source = "#include <stdio.h>\nint main(void) { int c, n = 1; while ((c = getchar()) != EOF) n += c == ' '; return !printf(\"%d\\n\", n); }\n";
    let gate = Gate::with_rules(rules).option("--interactive");
    let gate = gate.file("Makefile", makefile).file("count.c", source).file("agent.sh", agent).repository();
    let live = gate.start(["bash", "agent.sh"]);
    let ui = live.ui();
    let mut browser = browser!(&ui.link());
    browser.until("document.querySelector('.card') !== null");
    let find = "[...document.querySelectorAll('.row .line')].find((line) => line.querySelector('.command').textContent.startsWith('make test'))";
    browser.until(&format!("{find} !== undefined"));
    browser.value(&format!("{find}.click()"));
    browser.until("document.querySelector('.more') !== null");
    // Closed again is what make started, so that what was refused is in the picture.
    browser.value(&format!("{find}.querySelector('.twist').click()"));
    browser.value("new Promise((done) => setTimeout(done, 300))");
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ui.png");
    browser.screenshot(&file);
    let size = std::fs::metadata(&file).expect("it was just written").len();
    assert!(size < 200_000, "{size} bytes are too many");
    live.approvals(["deny", "1"]);
    live.finish();
}
