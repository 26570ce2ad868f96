//! Which clients are answered: those outside of the tree that have the link, on the page's own address.

use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ui, need, until};

use super::{asking, asks};

/// The good headers with one replaced, or left out.
fn with(ui: &Ui, name: &str, value: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers = ui.headers();
    let at = headers.iter().position(|(known, _)| *known == name).expect("a header of ours");
    match value {
        Some(value) => value.clone_into(&mut headers[at].1),
        None => drop(headers.remove(at)),
    }
    headers
}

#[test]
fn an_ask_is_answered_over_http_once_remembered_or_refused_with_a_reason() {
    let line = "touch ONE; touch TWO; touch TWO; touch THREE; mv ONE FOUR";
    let live = asking().start(["bash", "-c", line]);
    let ui = live.ui();
    let answers = [
        json!({"answer": "once"}),
        json!({"answer": "remember"}),
        json!({"answer": "deny", "reason": "two are enough"}),
    ];
    for (answer, file) in answers.iter().zip(["ONE", "TWO", "THREE"]) {
        let asked = asks(&ui, 1);
        assert_eq!(asked[0]["argv"], json!(["touch", file]));
        assert!(!live.work().join(file).exists(), "it waits");
        let reply = ui.answer(&asked[0], answer);
        assert_eq!(reply.status, 200, "{reply:?}");
        let again = ui.answer(&asked[0], answer);
        assert_eq!(again.status, 409, "once: {again:?}");
        live.recorded("the answer", |records| {
            records.iter().any(|record| record["record"] == "ask" && record["seq"] == asked[0]["seq"])
        });
    }
    let ran = live.finish();
    ran.present(["ONE", "TWO"]);
    ran.absent(["THREE", "FOUR"]);
    assert!(ran.stderr.contains("(two are enough)"), "{}", ran.story());
    let by = format!("pid {}", ui.pid());
    let asked = ran.records.iter().filter(|record| record["record"] == "ask" && record["by"].is_string());
    assert!(
        asked.clone().count() == 3 && asked.into_iter().all(|record| record["by"].to_string().contains(&by))
    );
    ui.end();
}

#[test]
fn a_wrong_host_origin_token_or_kind_answers_no_ask() {
    let live = asking().start(["touch", "RAN"]);
    let ui = live.ui();
    let asked = asks(&ui, 1);
    let path = format!("/api/running/{}/asks/{}", asked[0]["at"], asked[0]["id"]);
    let port = ui.address.port();
    let once = json!({"answer": "once"}).to_string();
    for (name, value, status) in [
        ("Host", Some("evil.example".to_owned()), 421),
        ("Host", Some(format!("evil.example:{port}")), 421),
        ("Host", Some(format!("localhost:{port}")), 421),
        ("Host", Some("127.0.0.1".to_owned()), 421),
        ("Origin", Some("http://evil.example".to_owned()), 403),
        ("Origin", Some("null".to_owned()), 403),
        // What an agent serves on a port of its own.
        ("Origin", Some("http://127.0.0.1:3000".to_owned()), 403),
        ("Origin", None, 403),
        ("Authorization", Some("Bearer ".to_owned() + &"A".repeat(43)), 401),
        ("Authorization", None, 401),
        // What a form can send without asking.
        ("Content-Type", Some("text/plain".to_owned()), 415),
    ] {
        let reply = ui.request("POST", &path, &with(&ui, name, value.as_deref()), &once);
        assert_eq!(reply.status, status, "{name} {value:?}: {reply:?}");
    }
    let mut foreign = ui.headers();
    foreign.push(("Sec-Fetch-Site", "same-site".to_owned()));
    assert_eq!(ui.request("POST", &path, &foreign, &once).status, 403);
    assert_eq!(ui.request("GET", &path, &ui.headers(), &once).status, 404, "only POST answers");
    for body in ["", "{}", "[]", r#"{"answer":"always"}"#, r#"{"answer":"once","id":1}"#] {
        assert_eq!(ui.request("POST", &path, &ui.headers(), body).status, 400, "{body}");
    }
    let long = json!({"answer": "deny", "reason": "x".repeat(20_000)}).to_string();
    assert_eq!(ui.request("POST", &path, &ui.headers(), &long).status, 413);
    for wrong in
        ["/api/running/99/asks/1", "/api/running/../asks/1", "/api/running/1/asks/99", "/api/running//asks/x"]
    {
        assert!([404, 409].contains(&ui.request("POST", wrong, &ui.headers(), &once).status), "{wrong}");
    }
    // Reading needs as much.
    for (name, value) in [("Host", Some("evil.example")), ("Origin", Some("null")), ("Authorization", None)] {
        for path in ["/api/live", &format!("/api/sessions/{}/rows", live.session_id())] {
            let reply = ui.request("GET", path, &with(&ui, name, value), "");
            assert!([401, 403, 421].contains(&reply.status), "{name} {path}: {reply:?}");
        }
    }
    assert_eq!(asks(&ui, 1)[0]["id"], asked[0]["id"], "it still waits");
    assert!(!live.work().join("RAN").exists());
    live.approvals(["deny", "1"]);
    live.finish().absent(["RAN"]);
}

#[test]
fn a_process_of_the_tree_that_has_the_link_is_refused_all_the_same() {
    need!(python3);
    // As bad as it gets: the token is handed to it.
    let script = r#"
import os, socket, sys, threading
while not os.path.exists("link"): pass
address, token = open("link").read().split()
host, port = address.split(":")
def ask(method, path, body=""):
    s = socket.create_connection((host, int(port)))
    s.sendall(f"{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nOrigin: http://{address}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    s.settimeout(20)
    got = b""
    while True:
        more = s.recv(65536)
        if not more: break
        got += more
    return got.decode().replace("\r\n", " ")
session = open("session").read().strip()
for _ in range(2):
    print(ask("POST", f"/api/running/{session}/asks/1", '{"answer":"remember"}'))
    print(ask("GET", "/api/live"))
    print(ask("GET", "/"))
    # Its parent is nobody of ours any more, and it has a session of its own.
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
print("all tried", flush=True)
"#;
    let line = "touch RAN & until [ -e session ]; do sleep 0.05; done; exec python3 client.py";
    let live = asking().file("client.py", script).start(["bash", "-c", line]);
    let ui = live.ui();
    let asked = asks(&ui, 1);
    let work = live.work();
    std::fs::write(work.join("link.new"), format!("{} {}\n", ui.address, ui.token)).expect("writable");
    std::fs::rename(work.join("link.new"), work.join("link")).expect("writable");
    std::fs::write(work.join("session"), asked[0]["at"].to_string()).expect("writable");
    until("six attempts", || live.stdout().contains("all tried"));
    let said = live.stdout();
    assert_eq!(said.matches("HTTP/1.1 403").count(), 6, "{said}");
    assert_eq!(said.matches("inside a watched tree").count(), 6, "{said}");
    assert_eq!(asks(&ui, 1)[0]["id"], asked[0]["id"], "it still waits");
    assert!(!work.join("RAN").exists());
    live.approvals(["deny", "1"]);
    live.finish().absent(["RAN"]);
}

/// Listens at one path, passes everything on to the socket at another, and writes down what it was asked.
const IMPOSTOR: &str = r#"
import socket, sys, threading
here, real, log = sys.argv[1:]
log = open(log, "w", buffering=1)
server = socket.socket(socket.AF_UNIX)
server.bind(here)
server.listen(64)
print("ready", flush=True)
def copy(source, sink, note):
    for line in source.makefile("r"):
        if note: log.write(line)
        sink.sendall(line.encode())
while True:
    client = server.accept()[0]
    session = socket.socket(socket.AF_UNIX)
    session.connect(real)
    threading.Thread(target=copy, args=(client, session, True), daemon=True).start()
    threading.Thread(target=copy, args=(session, client, False), daemon=True).start()
"#;

#[test]
fn an_answer_goes_to_the_process_that_showed_the_question_and_to_nobody_else() {
    need!(python3);
    let live = asking().start(["touch", "RAN"]);
    let shown_by_the_session = live.ui();
    let asked = asks(&shown_by_the_session, 1);
    let (socket, log) = (live.socket(), live.work().join("log"));
    let aside = socket.with_file_name("aside.sock");
    std::fs::rename(&socket, &aside).expect("our folder");
    let mut impostor = Command::new("python3")
        .args(["-c", IMPOSTOR])
        .args([&socket, &aside, &log])
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut ready = [0; 6];
    impostor.stdout.take().expect("a pipe").read_exact(&mut ready).expect("it is ready");
    let refused = |ui: &Ui, asked: &Value| {
        let reply = ui.answer(asked, &json!({"answer": "remember"}));
        assert_eq!(reply.status, 409, "{reply:?}");
        assert!(reply.body.contains("another process"), "{reply:?}");
        let heard = std::fs::read_to_string(&log).expect("it writes one");
        assert!(heard.contains("\"session\"") && !heard.contains("approvals.allow"), "{heard}");
        assert!(!live.work().join("RAN").exists());
    };
    refused(&shown_by_the_session, &asked[0]);
    let shown_by_the_impostor = live.ui();
    let shown = asks(&shown_by_the_impostor, 1);
    assert_eq!(shown[0]["argv"], asked[0]["argv"]);
    std::fs::rename(&aside, &socket).expect("our folder");
    refused(&shown_by_the_impostor, &shown[0]);
    let reply = shown_by_the_session.answer(&asked[0], &json!({"answer": "once"}));
    assert_eq!(reply.status, 200, "{reply:?}");
    live.finish().present(["RAN"]);
    impostor.kill().expect("it is ours");
    impostor.wait().expect("it is ours");
}

#[test]
fn the_link_is_not_to_be_read_from_the_tree() {
    let gate = asking().pipe("go");
    let live = gate.start(["bash", "-c", "read x < go; pid=$(<pid); for f in cmdline environ maps mem; do cat /proc/$pid/$f; done; ls -l /proc/$pid/fd; ls /proc/$pid/task/$pid/fd"]);
    let ui = live.ui();
    std::fs::write(live.work().join("pid"), ui.pid().to_string()).expect("writable");
    live.give("go");
    let ran = live.finish();
    assert!(ran.stdout.contains("ui\0--workdir"), "the command line is read: {}", ran.story());
    assert!(!ran.stdout.contains(&ui.token) && !ran.stderr.contains(&ui.token), "{}", ran.story());
    if !shellgate_tests::is_root() {
        let denied = ran.stderr.matches("Permission denied").count();
        assert!(denied >= 4, "environment, maps and descriptors: {}", ran.story());
    }
    let dumpable = std::fs::metadata(format!("/proc/{}/mem", ui.pid())).expect("it runs");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&dumpable), 0, "not dumpable: only root may look");
}

#[test]
fn it_does_not_start_inside_of_a_tree() {
    let binary = shellgate_tests::shellgate().display();
    let ran = Gate::open().bash(&format!("{binary} ui; echo st=$?"));
    assert!(ran.stdout.ends_with("st=125\n"), "{}", ran.story());
    assert!(ran.stderr.contains("inside a watched tree"), "{}", ran.story());
}

#[test]
fn the_page_brings_everything_itself_and_lets_nothing_else_in() {
    let live = asking().pipe("go").start(["bash", "-c", "read x < go"]);
    let ui = live.ui();
    let page = ui.request("GET", "/", &[("Host", ui.address.to_string())], "");
    assert_eq!(page.status, 200);
    for wanted in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.head.contains(wanted), "{wanted}: {}", page.head);
    }
    assert!(!page.head.contains("set-cookie"), "{}", page.head);
    let linked = page.body.split('"').filter(|word| ["app.js", "style.css"].contains(word));
    assert_eq!(linked.count(), 2, "{}", page.body);
    assert!(!page.body.contains("//") && !page.body.contains("<script>"), "{}", page.body);
    let files = ["app", "api", "asks", "element", "health", "list", "timeline", "tree"];
    let files = files.iter().map(|name| format!("/{name}.js")).chain(["/style.css".to_owned()]);
    for file in files {
        let reply = ui.request("GET", &file, &[("Host", ui.address.to_string())], "");
        assert_eq!(reply.status, 200, "{file}");
        let outside = ["http://", "https://", "//cdn", "innerHTML", "insertAdjacentHTML", "document.write"];
        assert!(outside.iter().all(|word| !reply.body.contains(word)), "{file}");
        assert!(!reply.body.contains(&ui.token));
    }
    for (method, path) in [("GET", "/etc/passwd"), ("GET", "/../../etc/passwd"), ("PUT", "/"), ("POST", "/")]
    {
        assert!([404, 405].contains(&ui.request(method, path, &ui.headers(), "").status), "{method} {path}");
    }
    live.give("go");
    live.finish();
}

#[test]
fn it_listens_on_the_loopback_interface_alone() {
    let live = asking().pipe("go").start(["bash", "-c", "read x < go"]);
    let ui = live.ui();
    assert!(ui.address.ip().is_loopback());
    let table =
        ["tcp", "tcp6"].map(|name| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default());
    let port = format!(":{:04X} ", ui.address.port());
    let listening: Vec<_> = table
        .iter()
        .flat_map(|table| table.lines())
        .filter_map(|line| line.split_ascii_whitespace().nth(1).filter(|_| line.contains(" 0A ")))
        .filter(|local| format!("{local} ").ends_with(&port))
        .collect();
    assert_eq!(listening, [format!("0100007F:{:04X}", ui.address.port())]);
    ui.end();
    live.give("go");
    live.finish();
}
