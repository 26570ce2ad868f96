//! The control socket: who may say what, and that nobody who misbehaves costs anybody else anything.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shellgate_tests::{Finished, Gate, Live, Ran, Socket, bound, gone, need, passes, shellgate};

/// A session that goes on until its pipe is written to.
fn held() -> Live {
    let tools = bound("tools", "on-tool-call", "deny", r#"cat >/dev/null; echo '{"verdict":"none"}'"#);
    let live = Gate::with_hooks(&[passes("guard"), tools]).pipe("go").start([
        "bash",
        "-c",
        "echo > up; read x < go",
    ]);
    live.file("up");
    live
}

#[track_caller]
fn end(live: Live) -> Ran {
    live.give("go");
    let ran = live.finish();
    ran.exits(0);
    ran
}

fn tool_call() -> Value {
    json!({"binding": "on-tool-call", "payload": {"tool_name": "Bash", "input": {"command": "ls"}}})
}

#[track_caller]
fn refused(answer: &Value, code: i64, says: &str) {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    let message = answer["error"]["message"].as_str().expect("an error says why");
    assert!(message.contains(says), "{says:?} is not in {answer}");
}

#[test]
fn the_socket_is_for_its_user_alone_and_gone_with_the_session() {
    let live = held();
    let path = live.socket();
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let facts = Socket::connect(&path).call("session", &json!({}));
    assert_eq!(facts["result"]["tool_policy_hooks"], json!(["tools"]), "{facts}");
    assert_eq!(facts["result"]["interactive"], false);
    end(live);
    assert!(!path.exists());
}

#[test]
fn the_tree_is_told_where_its_socket_is_and_not_where_another_one_is() {
    let ran = Gate::open()
        .env("SHELLGATE_SOCKET", "/elsewhere")
        .bash("echo $SHELLGATE_SOCKET; test -S $SHELLGATE_SOCKET");
    ran.exits(0);
    assert!(ran.stdout.contains("/session/control-"), "{}", ran.story());
}

/// A run whose session is in a folder with a path that is too long for a socket's address.
fn run_deep(gate: &Gate, line: &str) -> (Finished, PathBuf) {
    let dir = gate.work().join("d".repeat(120));
    fs::create_dir(&dir).expect("the work folder is writable");
    let config = gate.config();
    let places = [dir.to_str().expect("text"), config.to_str().expect("text")];
    // The last --workdir counts, where it may be given twice; so the run is started by hand.
    let done = gate.shellgate(["run", "--workdir", places[0], "-c", places[1], "--", "bash", "-c", line]);
    (done, dir)
}

#[test]
fn a_session_in_a_folder_with_a_long_path_has_its_socket_elsewhere() {
    let python =
        "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SHELLGATE_SOCKET'])";
    let binary = shellgate();
    let line = format!(
        "python3 -c \"{python}\" && ls -ld $(dirname $SHELLGATE_SOCKET) | cut -c1-10 && \
         {} approvals --workdir $PWD/d* list 2>&1; echo $SHELLGATE_SOCKET",
        binary.display()
    );
    let gate = Gate::open();
    let (done, dir) = run_deep(&gate, &line);
    assert_eq!(done.code, 0, "{}{}", done.stdout(), done.stderr());
    let said = done.stdout();
    assert!(said.starts_with("drwx------\n"), "{said}");
    // Through the link, and to the session: it says who may not ask.
    assert!(said.contains("may submit events and nothing else"), "{said}");
    let socket = PathBuf::from(said.lines().last().expect("a line"));
    assert!(!socket.exists() && !socket.parent().expect("a folder").exists(), "{said}");
    let left: Vec<_> =
        fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("sock")), "{left:?}");
}

#[test]
fn a_socket_that_cannot_be_bound_is_a_warning_and_the_gate_holds() {
    let gate = Gate::refusing(&["touch"]).env("XDG_RUNTIME_DIR", "/proc");
    let (done, dir) = run_deep(&gate, "echo socket=$SHELLGATE_SOCKET; touch RAN");
    assert_eq!(done.stdout(), "socket=\n", "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
    let trace = fs::read_to_string(dir.join("trace.jsonl")).expect("a trace");
    assert!(trace.lines().next().expect("a first record").contains("no control socket at"), "{trace}");
}

#[test]
fn an_unknown_method_bad_json_and_wrong_params_are_errors_and_the_connection_goes_on() {
    let live = held();
    let mut socket = Socket::acquainted(&live.socket());
    refused(&socket.call("no.such", &json!({})), -32601, "no.such");
    refused(&socket.call("event", &json!({"binding": "on-nothing"})), -32602, "on-nothing");
    refused(&socket.call("event", &json!({"binding": "on-tool-call"})), -32602, "tool_name");
    refused(
        &socket.call("event", &json!({"binding": "on-tool-call", "payload": {"tool_name": "x"}})),
        -32602,
        "input",
    );
    refused(&socket.call("event", &json!({"binding": "on-tool-call", "payload": {"tol": 1}})), -32602, "tol");
    for own in ["on-stage", "on-session-start", "on-session-end"] {
        refused(&socket.call("event", &json!({"binding": own})), -32602, "shellgate itself");
    }
    refused(&socket.call("event", &json!({"binding": "on-shell"})), -32602, "the kernel");
    for (line, code) in [
        ("nonsense\n", -32700),
        ("\u{0}\u{1}\n", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"session\"}\n", -32700),
        ("[]\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"session\"}\n", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"session\"}\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session\",\"extra\":1}\n", -32600),
        ("17\n", -32600),
    ] {
        assert!(socket.send(line));
        let answer = socket.receive().expect("an answer");
        assert_eq!(answer["error"]["code"], code, "{line} {answer}");
    }
    assert!(socket.send(vec![b'['; 5000]) && socket.send("\n"));
    assert_eq!(socket.receive().expect("an answer")["error"]["code"], -32700);
    // A notification has no answer; the next request has.
    assert!(socket.send("\n\n{\"jsonrpc\":\"2.0\",\"method\":\"session\"}\n"));
    assert_eq!(socket.call("event", &tool_call())["result"]["verdict"], "none");
    end(live);
}

#[test]
fn a_huge_line_ends_its_connection_and_no_other() {
    let live = held();
    let (mut huge, mut other) = (Socket::connect(&live.socket()), Socket::connect(&live.socket()));
    let block = vec![b'x'; 1 << 16];
    let sent = (0..64).take_while(|_| huge.send(&block)).count();
    assert!(sent < 64, "somebody reads four mebibytes");
    assert_eq!(other.call("event", &tool_call())["result"]["verdict"], "none");
    end(live);
}

#[test]
fn half_a_line_and_then_silence_is_ended_after_a_while() {
    let live = held();
    let mut half = Socket::connect(&live.socket());
    assert!(half.send("{\"jsonrpc\":"));
    let start = Instant::now();
    let answer = half.receive().expect("it is told why");
    refused(&answer, -32600, "whole within 10 seconds");
    assert!(half.receive().is_none());
    assert!(start.elapsed() < Duration::from_secs(40));
    end(live);
}

#[test]
fn a_peer_that_reads_nothing_holds_up_nobody() {
    let live = held();
    let mut deaf = Socket::connect(&live.socket());
    // Answers pile up until the session stops reading; the socket's buffers bound both directions.
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session\"}\n".repeat(100);
    std::thread::spawn(move || while deaf.send(&request) {});
    for _ in 0..20 {
        assert_eq!(Socket::connect(&live.socket()).call("event", &tool_call())["result"]["verdict"], "none");
    }
    end(live);
}

#[test]
fn a_thousand_connections_are_refused_from_some_point_on_and_later_ones_are_served_again() {
    let live = held();
    let path = live.socket();
    let mut first = Socket::connect(&path);
    assert!(first.call("session", &json!({}))["result"].is_object());
    let mut crowd: Vec<Socket> = (0..1000).map(|_| Socket::connect(&path)).collect();
    let last = crowd.last_mut().expect("there are a thousand");
    refused(&last.receive().expect("it is told why"), -32002, "peers are connected already");
    assert!(first.call("session", &json!({}))["result"].is_object());
    drop(crowd);
    let start = Instant::now();
    loop {
        let mut again = Socket::connect(&path);
        if again.call("session", &json!({}))["result"].is_object() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "no place is given back");
    }
    end(live);
}

/// Python, inside the tree: each line of its argument is sent as one request, answers are printed. It connects twice,
/// because some kernels know it only then.
const SPEAKER: &str = "import os, socket, sys\nfor _ in range(2):\n \
                       s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SHELLGATE_SOCKET'])\n \
                       f = s.makefile('rw'); f.write('{}\\n'); f.flush(); f.readline()\n\
                       for line in sys.argv[1:]:\n f.write(line + '\\n'); f.flush(); print(f.readline(), end='')\n";

#[test]
fn a_process_of_the_tree_may_submit_events_and_nothing_else() {
    need!(python3);
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let tools = bound("tools", "on-tool-call", "deny", r#"cat >/dev/null; echo '{"verdict":"none"}'"#);
    let lines = [
        request("session", json!({})),
        request("event", tool_call()),
        request("approvals.list", json!({})),
        request("approvals.allow", json!({"id": 1})),
        request("approvals.deny", json!({"id": 1})),
        request("shutdown", json!({})),
    ];
    let gate = Gate::with_hooks(&[passes("guard"), tools]).file("speak.py", SPEAKER);
    let words = ["python3", "speak.py"].into_iter().map(str::to_owned).chain(lines);
    let ran = gate.run(words);
    ran.exits(0);
    let answers: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 6, "{}", ran.story());
    assert!(answers[0]["result"].is_object());
    assert_eq!(answers[1]["result"]["verdict"], "none");
    for answer in &answers[2..] {
        refused(answer, -32001, "a process of the watched tree");
    }
}

/// An orphan, and one whose connection is used by a child while it has ended itself.
#[test]
fn neither_an_orphan_nor_the_heir_of_a_connection_is_taken_for_an_outsider() {
    need!(python3);
    let heir = "import os, socket, time\n\
        def connect():\n s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SHELLGATE_SOCKET']); return s\n\
        def ask(s, out):\n s.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"approvals.list\"}\\n')\n open(out, 'w').write(s.makefile().readline())\n\
        a, b = socket.socketpair()\n\
        pid = os.fork()\n\
        if pid == 0:\n s = connect(); socket.send_fds(a, [b'x'], [s.fileno()]); os._exit(0)\n\
        _, fds, _, _ = socket.recv_fds(b, 10, 1)\nos.waitpid(pid, 0)\nask(socket.socket(fileno=fds[0]), 'heir')\n\
        if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(0.3); ask(connect(), 'orphan.new'); os.rename('orphan.new', 'orphan')\n os._exit(0)\n\
        os.wait()\n\
        while not os.path.exists('orphan'): time.sleep(0.01)\n";
    let ran = Gate::open().file("heir.py", heir).run(["python3", "heir.py"]);
    ran.exits(0);
    for name in ["heir", "orphan"] {
        let text = fs::read_to_string(ran.work.join(name)).expect("it was answered");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        // Each has connected only once.
        let code = if peers_are_named() { -32001 } else { -32004 };
        assert_eq!(answer["error"]["code"], code, "{name}: {answer}");
    }
}

/// Whether the kernel hands out a handle of who connected (6.5); older ones know a process the second time.
fn peers_are_named() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("every kernel has a release");
    let mut numbers = release.split('.').map(|number| number.parse::<u32>().expect("a number"));
    (numbers.next(), numbers.next()) >= (Some(6), Some(5))
}

#[test]
fn a_script_submits_an_event_and_its_status_is_the_verdict() {
    let hook = r#"case $(cat) in *rm*) echo '{"verdict":"deny","reason":"no rm"}';; *) echo '{"verdict":"none"}';; esac"#;
    let tools = bound("tools", "on-tool-call", "deny", hook);
    let line = format!(
        "e() {{ echo \"$2\" | {} event $1 --json -; echo status=$?; }}\n\
         e on-tool-call '{{\"tool_name\":\"Bash\",\"input\":{{\"command\":\"ls\"}}}}'\n\
         e on-tool-call '{{\"tool_name\":\"Bash\",\"input\":{{\"command\":\"rm x\"}}}}'\n\
         e on-tool-call '{{\"tool_name\":\"Bash\"}}' 2>/dev/null\n\
         e on-tool-call 'nonsense' 2>/dev/null\n\
         e on-task-start '{{\"prompt\":\"hello\"}}'\n\
         SHELLGATE_SOCKET=/nowhere e on-tool-call '{{\"tool_name\":\"Bash\",\"input\":{{}}}}' 2>/dev/null",
        shellgate().display()
    );
    let ran = Gate::with_hooks(&[passes("guard"), tools]).bash(&line);
    ran.exits(0);
    let statuses: Vec<_> = ran.stdout.lines().filter_map(|line| line.strip_prefix("status=")).collect();
    assert_eq!(statuses, ["0", "126", "125", "125", "0", "125"], "{}", ran.story());
    let denied: Value = ran
        .stdout
        .lines()
        .find(|line| line.contains("deny"))
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .expect("a refusal");
    assert_eq!(
        denied["message"],
        "shellgate: refused tool Bash: hook \"tools\": no rm. Retrying the same call unchanged will be refused again."
    );
}

#[test]
fn a_peer_that_hangs_up_ends_the_hooks_that_were_asked_for_it() {
    let slow = bound("slow", "on-tool-call", "deny", "echo $$ > {work}/hook; exec sleep 600");
    let live =
        Gate::with_hooks(&[passes("guard"), slow]).pipe("go").start(["bash", "-c", "echo > up; read x < go"]);
    live.file("up");
    let mut socket = Socket::connect(&live.socket());
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "event", "params": tool_call()});
    assert!(socket.send(format!("{request}\n")));
    let hook = live.file("hook").parse().expect("a process id");
    drop(socket);
    gone(hook);
    live.recorded("the call was refused", |records| {
        records.iter().any(|record| record["record"] == "call_denied" && record["hook"] == "slow")
    });
    let ran = end(live);
    assert!(!ran.records.iter().any(|record| record["record"] == "tool_call"), "{}", ran.story());
}

#[test]
fn one_slow_hook_of_a_peer_delays_neither_another_peer_nor_an_exec() {
    let slow = r#"case $(cat) in *wait*) read x < {work}/hold;; esac; echo '{"verdict":"none"}'"#;
    let live = Gate::with_hooks(&[passes("guard"), bound("slow", "on-tool-call", "deny", slow)])
        .pipe("on")
        .pipe("go")
        .pipe("hold")
        .start(["bash", "-c", "echo > up; read x < on; /bin/true; echo done > ran; read x < go"]);
    live.file("up");
    let mut waiting = Socket::connect(&live.socket());
    let payload = json!({"tool_name": "wait", "input": {}});
    let params = json!({"binding": "on-tool-call", "payload": payload});
    assert!(
        waiting
            .send(format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "event", "params": params})))
    );
    assert_eq!(Socket::connect(&live.socket()).call("event", &tool_call())["result"]["verdict"], "none");
    live.give("on");
    live.file("ran");
    live.give("hold");
    assert_eq!(waiting.receive().expect("an answer")["result"]["verdict"], "none");
    end(live);
}
