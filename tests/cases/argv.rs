//! The argument list, whole and byte for byte, from whatever memory it comes.

use serde_json::json;
use shellgate_tests::{Gate, need, program, strings};

/// C07
#[test]
fn a_missing_or_empty_argument_list_is_one_empty_string() {
    let argc0 = program("argc0");
    for form in ["null", "empty"] {
        let ran = Gate::open().run([argc0.to_str().expect("text"), form, "/usr/bin/id"]);
        ran.exits(0);
        assert_eq!(ran.event_for("id")["argv"], json!([""]), "{form}");
        let refused =
            Gate::refusing(&["/usr/bin/id"]).run([argc0.to_str().expect("text"), form, "/usr/bin/id"]);
        refused.refused("id", 1);
        assert_eq!(refused.stdout, "");
        let by_argv = Gate::with_rules("- {deny: nameless, if: 'argv[0] == \"\"'}");
        by_argv.run([argc0.to_str().expect("text"), form, "/usr/bin/id"]).refused("id", 1);
    }
}

/// C08
#[test]
fn empty_arguments_are_counted() {
    let ran = Gate::open().run(["/usr/bin/printf", "", "a", "", "", "b", ""]);
    assert_eq!(ran.event_for("printf")["argv"], json!(["/usr/bin/printf", "", "a", "", "", "b", ""]));
}

/// C08
#[test]
fn bytes_that_are_not_text_are_exact_in_base64() {
    let ran = Gate::open().bash(r"/usr/bin/printf %s $'\xff\x01\n'");
    let event = ran.event_for("printf");
    assert_eq!(strings(&event["argv_base64"]), ["L3Vzci9iaW4vcHJpbnRm", "JXM=", "/wEK"]);
    assert_eq!(strings(&event["argv"])[2], "\u{fffd}\u{1}\n");
    assert!(ran.events_for("bash")[0]["argv_base64"].is_null());
}

/// C10
#[test]
fn many_arguments_are_all_there() {
    let ran = Gate::open().bash("/bin/true $(seq 1 5000)");
    let argv = &ran.argvs("true")[0];
    assert_eq!((argv.len(), argv[1].as_str(), argv[5000].as_str()), (5001, "1", "5000"));
    let rule = "- {deny: number 5000, exe: \"true\", if: 'argv.exists(a, a == \"5000\")'}";
    Gate::with_rules(rule).bash("/bin/true $(seq 1 5000)").refused("true", 1);
}

/// C10
#[test]
fn the_longest_argument_the_kernel_takes_is_whole() {
    let ran = Gate::open().bash("/bin/true \"$(head -c 131071 /dev/zero | tr '\\0' x)\"");
    ran.exits(0);
    let argv = &ran.argvs("true")[0];
    assert_eq!(argv[1].len(), 131_071);
    assert!(argv[1].bytes().all(|byte| byte == b'x'));
}

/// C10
#[test]
fn nearly_two_mebibytes_of_arguments_are_whole_and_their_end_is_judged() {
    let line = "a=$(head -c 130000 /dev/zero | tr '\\0' x); /bin/true $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a end";
    let ran = Gate::open().bash(line);
    ran.exits(0);
    let argv = &ran.argvs("true")[0];
    assert_eq!((argv.len(), argv.iter().map(String::len).sum::<usize>() > 1_900_000), (17, true));
    assert_eq!(argv[16], "end");
    let rule = "- {deny: the end, exe: \"true\", if: 'argv[argv.size() - 1] == \"end\"'}";
    Gate::with_rules(rule).bash(line).refused("true", 1);
}

/// C10
#[test]
fn one_byte_too_many_is_the_kernels_to_refuse() {
    let gate = Gate::open();
    let line = "/bin/true \"$(head -c 131072 /dev/zero | tr '\\0' x)\"";
    let bare = gate.bare(["bash", "-c", line]);
    let ran = gate.bash(line);
    assert_eq!((ran.code, &ran.stderr), (bare.code, &bare.stderr()));
    assert!(ran.stderr.contains("Argument list too long"), "{}", ran.stderr);
    ran.nothing_refused();
}

/// C25
#[test]
fn strings_that_end_where_readable_memory_ends_are_read_whole() {
    let pageend = program("pageend");
    let ran = Gate::open().run([pageend.to_str().expect("text"), "/bin/echo"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "crossing end\n"), "{}", ran.story());
    assert_eq!(ran.argvs("echo"), [["echo", "crossing", "end"]]);
    let rule = "- {deny: the end, exe: echo, if: 'argv[2] == \"end\"'}";
    let ran = Gate::with_rules(rule).run([pageend.to_str().expect("text"), "/bin/echo"]);
    ran.refused("echo", 1);
    assert_eq!(ran.stdout, "Operation not permitted\n");
}

/// C25
#[test]
fn memory_that_cannot_be_read_runs_nothing() {
    let badptr = program("badptr");
    let ran = Gate::open().run([badptr.as_os_str()]);
    ran.exits(0);
    assert_eq!(ran.stdout.matches(": -1 ").count(), 2, "both calls fail: {}", ran.stdout);
    ran.admitted("true", 0);
}

/// C10
#[test]
fn a_thirty_two_bit_call_is_decoded_and_judged() {
    need!(x86_64);
    let int80 = program("int80");
    let ran = Gate::refusing(&["/usr/bin/touch"]).run([int80.to_str().expect("text"), "/usr/bin/touch"]);
    if ran.stdout.contains("returned -38") || ran.code == 139 {
        return shellgate_tests::skip("x86_64", "this kernel has no 32-bit calls");
    }
    ran.exits(9);
    ran.refused("touch", 1);
    assert_eq!(ran.event_for("touch")["abi"], "i386");
    assert!(ran.stdout.contains("returned -1"), "{}", ran.stdout);

    let ran = Gate::open().run([int80.to_str().expect("text"), "/usr/bin/true"]);
    ran.exits(0);
    assert_eq!(ran.event_for("true")["abi"], "i386");
}

/// C10
#[test]
fn the_x32_abi_does_not_exist() {
    need!(x86_64);
    let x32 = program("x32");
    let ran = Gate::open().run([x32.as_os_str()]);
    ran.exits(9);
    assert!(ran.stdout.contains("Function not implemented"), "{}", ran.stdout);
    ran.admitted("true", 0);
}
