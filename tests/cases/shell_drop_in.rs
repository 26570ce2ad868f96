//! `shellgate-sh`: a shell under the gate by its name. It does what sh does; what is refused leaves nothing behind; where
//! it cannot judge it runs nothing; and inside a gate it is judged there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use shellgate_tests::{Finished, Gate, need, program, shellgate};

/// The binary under its other name, beside the work folder.
fn link(gate: &Gate) -> String {
    let link = gate.work().join("../shellgate-sh");
    if !link.exists() {
        symlink(shellgate(), &link).expect("the case's folder is writable");
    }
    link.to_str().expect("a temporary path is text").to_owned()
}

/// With a configuration that the environment names, as nothing else is there to name one.
fn configured(gate: Gate) -> Gate {
    let config = gate.config();
    gate.env("SHELLGATE_CONFIG", config)
}

fn sh(gate: &Gate, words: &[&str]) -> Finished {
    gate.bare([&[link(gate).as_str()], words].concat())
}

fn sessions(gate: &Gate) -> Vec<PathBuf> {
    let folder = gate.work().join("../home/state/shellgate/sessions");
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[track_caller]
fn nothing_ran(gate: &Gate, done: &Finished, says: &str) {
    assert_eq!(done.code, 125, "{}", done.stderr());
    assert!(done.stderr().contains(says), "{says:?} is not said: {}", done.stderr());
    assert!(!gate.work().join("RAN").exists(), "it ran all the same: {}", done.stderr());
}

#[test]
fn it_does_what_sh_does() {
    let rows: &[(&[&str], &str)] = &[
        (&["-c", "echo out; echo err >&2; exit 7"], ""),
        (&["-c", "cat; echo $0 \"$@\"", "zero", "a", "b c"], "from stdin\n"),
        (&["-c", "echo $0"], ""),
        (&["-s", "a b"], "echo \"$1\"; exit 3\n"),
        (&[], "echo script on stdin; exit 4\n"),
        (&["-e", "-c", "false; echo no"], ""),
        (&["-lc", "echo login"], ""),
        (&["./script", "x"], ""),
        (&["-c", "kill -TERM $$"], ""),
        (&["-c", "no-such-program"], ""),
        (&["-c", "head -c 100000 /dev/zero | wc -c; yes | head -1"], ""),
        (&["--no-such-option"], ""),
    ];
    for (words, stdin) in rows {
        let gate = configured(Gate::open()).stdin(*stdin).file("script", "echo $0 $1; exit 5\n");
        let bare = gate.bare([&["sh"], *words].concat());
        assert_eq!(sh(&gate, words), bare, "{words:?}");
        assert_eq!(sessions(&gate).len(), 1, "{words:?} was not under the gate");
    }
}

#[test]
fn a_refused_program_leaves_no_file_and_the_shell_goes_on() {
    let gate = configured(Gate::refusing(&["touch"]));
    let done = sh(&gate, &["-c", "/bin/touch RAN; echo rc=$?"]);
    assert_eq!((done.code, done.stdout().as_str()), (0, "rc=126\n"), "{}", done.stderr());
    assert!(done.stderr().contains("shellgate: refused"), "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
    let trace = fs::read_to_string(sessions(&gate)[0].join("trace.jsonl")).expect("a trace");
    assert!(
        trace.contains("\"record\":\"call_denied\"") && trace.contains("\"command\":[\"sh\",\"-c\""),
        "{trace}"
    );
    let refused = configured(Gate::refusing(&["sh", "dash", "bash"]));
    let done = sh(&refused, &["-c", "echo > RAN"]);
    assert!(done.code == 126 && !refused.work().join("RAN").exists(), "{}", done.stderr());
}

#[test]
fn a_login_and_a_foreign_name_reach_the_shell() {
    let gate = configured(Gate::open());
    let path = link(&gate);
    let named =
        |name: &str| gate.bare(["bash", "-c", &format!("exec -a {name} {path} -c 'echo $0'")]).stdout();
    assert_eq!(named("-shellgate-sh"), "-sh\n");
    // The file's name is enough: callers choose the first argument freely.
    assert_eq!(named("sh"), "sh\n");
    let by_word = format!("exec -a shellgate-sh {} -c 'echo $0'", shellgate().display());
    assert_eq!(gate.bare(["bash", "-c", &by_word]).stdout(), "sh\n");
    assert_eq!(sessions(&gate).len(), 3);
}

#[test]
fn the_shell_is_the_one_that_is_named_and_is_judged() {
    let gate = configured(Gate::refusing(&["touch"])).env("SHELLGATE_SHELL", "/bin/bash");
    let done = sh(&gate, &["-c", "echo ${BASH_VERSION:+bash} $0; /bin/touch RAN"]);
    assert!(done.stdout() == "bash bash\n" && done.code == 126, "{} {}", done.stdout(), done.stderr());
    let done = sh(&gate.env("SHELLGATE_SHELL", "/bin/touch"), &["RAN"]);
    assert_eq!(done.code, 126, "{}", done.stderr());
    for (name, says) in [("bash", "no absolute path"), ("../bash", "no absolute path")] {
        let gate = configured(Gate::open()).env("SHELLGATE_SHELL", name);
        nothing_ran(&gate, &sh(&gate, &["-c", "echo > RAN"]), says);
    }
    for path in [link(&Gate::open()), shellgate().display().to_string()] {
        let gate = configured(Gate::open()).env("SHELLGATE_SHELL", path);
        nothing_ran(&gate, &sh(&gate, &["-c", "echo > RAN"]), "shellgate itself");
    }
    let gone = configured(Gate::open()).env("SHELLGATE_SHELL", "/no/such/shell");
    assert_eq!(sh(&gone, &["-c", "echo > RAN"]).code, 127);
}

#[test]
fn neither_the_working_directory_nor_home_names_a_policy_and_without_one_nothing_runs() {
    let text = fs::read_to_string(Gate::open().config()).expect("a configuration");
    let gate =
        Gate::open().file("shellgate.yaml", &text).file("../home/.config/shellgate/config.yaml", &text);
    nothing_ran(&gate, &sh(&gate, &["-c", "echo > RAN"]), "there is no configuration");
    for (name, says) in [("shellgate.yaml", "is relative"), ("/no/such.yaml", "cannot read configuration")] {
        let gate = Gate::open().file("shellgate.yaml", &text).env("SHELLGATE_CONFIG", name);
        nothing_ran(&gate, &sh(&gate, &["-c", "echo > RAN"]), says);
    }
    let broken = configured(Gate::with_config("version: 1\nhooks: [{name: x}]\n"));
    nothing_ran(&broken, &sh(&broken, &["-c", "echo > RAN"]), "hooks[0]");
    // A policy that has none refuses, as everywhere.
    let empty = configured(Gate::with_config("version: 1\n"));
    assert_eq!(sh(&empty, &["-c", "echo > RAN"]).code, 126);
    assert!(!empty.work().join("RAN").exists());
}

#[test]
fn the_environment_does_not_choose_another_policy_than_the_one_in_etc() {
    need!(root, mount_ns);
    let strict = Gate::refusing(&["touch"]);
    let lax = Gate::open().config();
    let path = link(&strict);
    let place = "unshare -m --propagation private sh -c 'cp -a /etc ../etc && mkdir -p ../etc/shellgate && \
                 cp ../shellgate.yaml ../etc/shellgate/config.yaml && mount --bind ../etc /etc && exec \"$@\"' -";
    let run = |before: &str| {
        let line = format!("{before} {path} -c \"/bin/touch RAN; echo rc=\\$?\"");
        strict.bare(["bash", "-c", &format!("{place} env {line}")])
    };
    let done = run("");
    assert_eq!(done.stdout(), "rc=126\n", "{}", done.stderr());
    let lax = lax.display();
    nothing_ran(&strict, &run(&format!("SHELLGATE_CONFIG={lax}")), "the environment does not choose another");
    let same = run("SHELLGATE_CONFIG=/etc/shellgate/config.yaml");
    assert_eq!(same.stdout(), "rc=126\n", "{}", same.stderr());
    let home = run(&format!("HOME=/nowhere XDG_CONFIG_HOME=/nowhere PATH=/nowhere LAX={lax}"));
    assert_eq!(home.stdout(), "rc=126\n", "{}", home.stderr());
}

#[test]
fn without_a_seal_nothing_runs() {
    let gate = configured(Gate::open().as_user());
    let (nonotif, path) = (program("nonotif"), link(&gate));
    let done = gate.bare([nonotif.to_str().expect("text"), "receive", &path, "-c", "echo > RAN"]);
    nothing_ran(&gate, &done, "its ioctls are blocked here");
}

#[test]
fn inside_a_gate_it_is_judged_there_and_needs_no_configuration() {
    let gate = Gate::refusing(&["touch"]);
    let path = link(&gate);
    let ran =
        gate.env("SHELL", &path).bash("$SHELL -c '/bin/touch RAN; id -u; $SHELL -c \"exit 9\"'; echo rc=$?");
    assert!(ran.stdout.ends_with("\nrc=9\n"), "{}", ran.story());
    ran.absent(["RAN"]);
    ran.refused("touch", 1);
    ran.admitted("id", 1);
    ran.admitted("shellgate", 2);
    assert!(!ran.work.join("../home/state/shellgate/sessions").exists(), "a session of its own");
    // One that is not admitted does not run, and its shell neither.
    let gate = Gate::refusing(&["dash", "sh"]);
    let path = link(&gate);
    let ran = gate.bash(&format!("{path} -c 'echo > RAN'; echo rc=$?"));
    assert_eq!(ran.stdout, "rc=126\n", "{}", ran.story());
    ran.absent(["RAN"]);
}

/// Answers like a session, from within the tree and as somebody's child: with a reaper that it says.
const FAKE: &str = "import json, os, socket, sys\n\
    s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n\
    reaper = {'init': 1, 'parent': os.getppid(), 'me': os.getpid()}[sys.argv[2]]\n\
    open('ready', 'w').close()\n\
    c, _ = s.accept(); f = c.makefile('rw'); id = json.loads(f.readline())['id']\n\
    facts = {'session_id': 'fake', 'schema': 1, 'version': '0', 'seal': 'ebpf', 'terminal': 0, 'interactive': False,\n\
             'reaper': reaper, 'ungated': False, 'policy_hooks': ['x'], 'tool_policy_hooks': []}\n\
    f.write(json.dumps({'jsonrpc': '2.0', 'id': id, 'result': facts}) + '\\n'); f.flush()\n";

#[test]
fn where_it_is_not_certain_that_a_gate_judges_it_it_runs_nothing() {
    need!(python3);
    let listened = "already under a seccomp listener";
    let uncertain = "is not certain";
    // Outside of all sessions' sockets: the listener may be anybody's.
    let lines = [
        ("SHELLGATE_SOCKET= LINK -c 'echo > RAN'".to_owned(), listened),
        ("SHELLGATE_SOCKET=/no/such LINK -c 'echo > RAN'".to_owned(), uncertain),
    ];
    let fakes = ["init", "parent", "me"].map(|reaper| {
        let wait = "while ! [ -e ready ]; do :; done";
        let line =
            format!("python3 fake.py ../s {reaper} & {wait}; SHELLGATE_SOCKET=../s LINK -c 'echo > RAN'");
        (line, uncertain)
    });
    for (line, says) in lines.into_iter().chain(fakes) {
        let gate = configured(Gate::open()).file("fake.py", FAKE);
        let line = line.replace("LINK", &link(&gate)) + "; echo rc=$?";
        let ran = gate.bash(&line);
        assert!(ran.stdout.ends_with("rc=125\n") && ran.stderr.contains(says), "{line}\n{}", ran.story());
        ran.absent(["RAN"]);
    }
}

#[test]
fn inside_a_recording_it_runs_nothing_since_nothing_would_judge_it() {
    let gate = configured(Gate::refusing(&["touch"]));
    let line = format!("{} -c '/bin/touch RAN'; echo rc=$?", link(&gate));
    let done = gate.shellgate(["record", "--workdir", "session", "--", "bash", "-c", &line]);
    assert_eq!(done.stdout(), "rc=125\n", "{}", done.stderr());
    assert!(done.stderr().contains("is a recording: it judges nothing"), "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
}

#[test]
fn a_session_that_the_environment_names_does_not_keep_a_shell_outside_of_it_from_its_own_gate() {
    let gate = configured(Gate::refusing(&["touch"])).env("SHELLGATE_SOCKET", "/no/such");
    let done = sh(&gate, &["-c", "/bin/touch RAN; echo rc=$?"]);
    assert_eq!(done.stdout(), "rc=126\n", "{}", done.stderr());
    assert!(!gate.work().join("RAN").exists());
    assert_eq!(sessions(&gate).len(), 1);
}
