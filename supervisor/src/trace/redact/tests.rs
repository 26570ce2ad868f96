//! What is masked, and what must not be.

#![expect(clippy::unwrap_used, reason = "a value that is missing is a failed test")]

use super::*;
use crate::event::{Recipe, RecipePart, RecipeRole, Script};
use crate::trace::samples::event;

fn text(input: &str) -> String {
    Redactor::default().text(input).into_owned()
}

fn argv(input: &[&str]) -> Vec<String> {
    let input: Vec<String> = input.iter().map(|&argument| argument.to_owned()).collect();
    Redactor::default().argv(&input).into_owned()
}

const GH: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

#[test]
fn every_built_in_pattern_compiles() {
    assert!(text("token=x").contains(MASK));
    assert_eq!(argv(&["a", "--token", "x"])[2], MASK);
}

#[test]
fn secrets_in_running_text_are_masked_and_what_follows_stays_readable() {
    for (input, masked) in [
        ("tool --token=T1 x", "tool --token=[redacted] x"),
        ("tool --password T2 x", "tool --password [redacted] x"),
        ("tool --password 'T2 T2' x", "tool --password '[redacted]' x"),
        ("mysql -u root -pT3 db", "mysql -u root -p[redacted] db"),
        ("sshpass -p T3 ssh h", "sshpass -p [redacted] ssh h"),
        ("redis-cli -h x -a T3 ping", "redis-cli -h x -a [redacted] ping"),
        ("docker login -u me -p T3 r; ls -p x", "docker login -u me -p [redacted] r; ls -p x"),
        ("zip -P T3 a.zip b", "zip -P [redacted] a.zip b"),
        ("telegram.token=T4; ls", "telegram.token=[redacted]; ls"),
        ("get https://u:T5@h/p", "get https://u:[redacted]@h/p"),
        ("get https://u:T5@T5@h/p", "get https://u:[redacted]@h/p"),
        ("curl -H 'Authorization: Bearer T6' h", "curl -H 'Authorization: Bearer [redacted]' h"),
        ("curl -H \"Authorization: Basic T6\" h", "curl -H \"Authorization: Basic [redacted]\" h"),
        ("curl -H 'Authorization: Odd T6' h", "curl -H 'Authorization: [redacted]' h"),
        ("curl -H Authorization:\\ Bearer\\ T6 h", "curl -H Authorization:\\ Bearer\\ [redacted] h"),
        ("curl -H 'X-Api-Key: T6' h", "curl -H 'X-Api-Key: [redacted]' h"),
        ("curl -H 'Cookie: a=T; b=T' h", "curl -H 'Cookie: [redacted]' h"),
        ("curl -u me:T6 h", "curl -u me:[redacted] h"),
        ("FOO_SECRET=T7 make", "FOO_SECRET=[redacted] make"),
        ("FOO_SECRET=\"T7 T7\" make", "FOO_SECRET=\"[redacted]\" make"),
        ("DEPLOY_KEY=T7 make", "DEPLOY_KEY=[redacted] make"),
        ("MYSQL_PWD=T7 make", "MYSQL_PWD=[redacted] make"),
        ("DB_PASS=T7 make", "DB_PASS=[redacted] make"),
        ("{\"password\": \"T8\", \"a\": 1}", "{\"password\": \"[redacted]\", \"a\": 1}"),
        ("curl -d \"{\\\"token\\\":\\\"T8\\\"}\" h", "curl -d \"{\\\"token\\\":\\\"[redacted]\\\"}\" h"),
        ("api_key = 'T8'", "api_key = '[redacted]'"),
        ("openssl -passin pass:T8 x", "openssl -passin pass:[redacted] x"),
        ("h/?a=1&sig=T9&b=2", "h/?a=1&sig=[redacted]&b=2"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nT9\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted]\nb"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhki", "[redacted]"),
    ] {
        assert_eq!(text(input), masked);
        assert_eq!(text(masked), masked, "masking twice is masking once");
    }
}

#[test]
fn tokens_that_carry_their_mark_are_masked_anywhere() {
    for token in [
        GH,
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        "sk-proj-0123456789abcdefghij",
        "sk_live_0123456789abcdef",
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "glpat-0123456789abcdefghij",
        "npm_0123456789abcdefghij0123456789abcdef",
        "AIzaSyA0123456789abcdefghij0123456789a",
        "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ] {
        assert_eq!(text(&format!("echo {token} | tee f")), "echo [redacted] | tee f");
        assert!(!text(&format!("https://{token}@h/p.git")).contains(&token[10..]), "{token}");
    }
}

#[test]
fn ordinary_commands_are_left_alone() {
    for input in [
        "git push -f origin main",
        "sort --key=2 f",
        "docker run -u 1000:1000 -p 80:80 -v /etc/passwd:/mnt i",
        "llm --max-tokens 4096 --max_tokens=4096",
        "tool --token-file=/run/t --password-stdin --secret-name x",
        "login --password --user me",
        "if token == other { }",
        "use token::Stream;",
        "mkdir -p a && ssh -p22 h",
        "cd /w/task-0123456789abcdefghij && author=me",
        "https://h:8080/a@b",
        "PWD=/w make",
        "git log --author=me --grep monkey",
    ] {
        assert_eq!(text(input), input);
        let words: Vec<&str> = input.split(' ').collect();
        assert_eq!(argv(&words), words);
    }
}

#[test]
fn in_an_argument_list_the_whole_value_is_masked() {
    let given = [
        "tool",
        "--token=T1 T1;T1",
        "--password",
        "T2 T2",
        "telegram.token=T4",
        "https://u:T5@h/",
        "-H",
        "Authorization: Bearer T6",
        "FOO_SECRET=T7 T7",
        GH,
        "--verbose",
    ];
    assert_eq!(
        argv(&given),
        [
            "tool",
            "--token=[redacted]",
            "--password",
            "[redacted]",
            "telegram.token=[redacted]",
            "https://u:[redacted]@h/",
            "-H",
            "Authorization: Bearer [redacted]",
            "FOO_SECRET=[redacted]",
            "[redacted]",
            "--verbose",
        ]
    );
}

#[test]
fn short_password_flags_are_known_by_their_program() {
    for (given, masked) in [
        (vec!["mysql", "-pT3"], vec!["mysql", "-p[redacted]"]),
        (vec!["sudo", "/usr/bin/mysqldump", "-pT3"], vec!["sudo", "/usr/bin/mysqldump", "-p[redacted]"]),
        (vec!["sshpass", "-p", "T3", "ssh"], vec!["sshpass", "-p", "[redacted]", "ssh"]),
        (vec!["docker", "login", "-p", "T3"], vec!["docker", "login", "-p", "[redacted]"]),
        (vec!["docker", "run", "-p", "80:80"], vec!["docker", "run", "-p", "80:80"]),
        (vec!["redis-cli", "-a", "T3"], vec!["redis-cli", "-a", "[redacted]"]),
        (vec!["ldapsearch", "-w", "T3"], vec!["ldapsearch", "-w", "[redacted]"]),
        (vec!["curl", "-u", "me:T6 T6", "h"], vec!["curl", "-u", "me:[redacted]", "h"]),
        (
            vec!["curl", "-H", "Authorization: Odd T6 T6", "-H", "Cookie: a=T6; b=T6"],
            vec!["curl", "-H", "Authorization: [redacted]", "-H", "Cookie: [redacted]"],
        ),
        (vec!["ssh", "-p22"], vec!["ssh", "-p22"]),
    ] {
        assert_eq!(argv(&given), masked);
    }
}

#[test]
fn a_secret_cannot_hide_the_command_after_it() {
    for before in [
        "echo token=x",
        "echo token=\\\"",
        "echo -u a:b",
        "Authorization: x",
        "echo Authorization: x",
        "echo \"Authorization: \"",
        "echo Cookie: a=b",
        "echo -----BEGIN PRIVATE KEY-----",
        "mysql -px",
        "curl https://u:p@h",
    ] {
        let masked = text(&format!("{before}; rm -rf /w; echo \\\" \""));
        assert!(masked.contains("; rm -rf /w; echo"), "{before} hides it: {masked}");
    }
    assert_eq!(argv(&["ssh", "h", "TOKEN=x make; rm -rf /"])[2], "TOKEN=[redacted] make; rm -rf /");
    let mut event = event(1);
    event.argv = ["bash", "-c", "TOKEN=x evil --now"].map(str::to_owned).to_vec();
    event.script = Some(script(&event.argv[2]));
    assert_eq!(Redactor::default().event(&event).argv[2], "TOKEN=[redacted] evil --now");
}

fn script(text: &str) -> Script {
    Script {
        text: Some(text.to_owned()),
        complete: true,
        arg0: Some("token=T1".to_owned()),
        args: vec!["--password".to_owned(), "T1".to_owned()],
        ..Script::blank(ScriptSource::Command)
    }
}

#[test]
fn no_part_of_an_event_keeps_the_secret() {
    let body = "curl --token=T1SECRET https://u:T1SECRET@h/";
    let mut given = event(1);
    given.path = "/w/token=T1SECRET/x".to_owned();
    given.path_raw = "./token=T1SECRET/x".to_owned();
    given.argv = ["bash", "-c", body, "--password", "T1SECRET"].map(str::to_owned).to_vec();
    given.command = shell_words::join(&given.argv);
    given.argv_base64 = Some(given.argv.iter().map(|argument| STANDARD.encode(argument)).collect());
    given.script = Some(Script { text: Some(body.to_owned()), ..script("") });
    given.recipe = Some(Recipe {
        tool: "make".to_owned(),
        name: "deploy".to_owned(),
        file: "/w/Makefile".to_owned(),
        line: Some(1),
        body: "DEPLOY_TOKEN=T1SECRET ./deploy".to_owned(),
        complete: false,
        note: Some("a note".to_owned()),
        runs: vec![RecipePart {
            name: "deploy".to_owned(),
            role: RecipeRole::Asked,
            file: "/w/Makefile".to_owned(),
            line: Some(1),
            shell: Some(vec!["/bin/sh".to_owned(), "-c".to_owned()]),
            body: "DEPLOY_TOKEN=T1SECRET ./deploy".to_owned(),
        }],
    });
    Arc::make_mut(&mut given.env).insert("MY_TOKEN".to_owned(), "T1SECRET".to_owned());
    Arc::make_mut(&mut given.env).insert("HOME".to_owned(), "/T1SECRET".to_owned());
    Arc::make_mut(&mut given.env).insert("GIT_SSH_COMMAND".to_owned(), "sshpass -p T1SECRET ssh".to_owned());
    Arc::make_mut(&mut given.env)
        .insert("NODE_OPTIONS".to_owned(), "--require x --token=T1SECRET".to_owned());
    let before = given.clone();
    let stored = Redactor::default().event(&given).into_owned();
    let json = serde_json::to_string(&stored).unwrap();
    assert!(!json.contains("T1SECRET"), "{json}");
    assert_eq!(given, before, "the event that hooks get is untouched");
    let exact = stored.argv_base64.unwrap();
    assert_eq!(STANDARD.decode(&exact[0]).unwrap(), b"bash");
    for (exact, argument) in exact.iter().zip(&stored.argv) {
        assert_eq!(STANDARD.decode(exact).unwrap(), argument.as_bytes());
    }
}

#[test]
fn an_argument_that_is_not_text_is_masked_and_its_neighbours_stay_exact() {
    let raw: [&[u8]; 3] = [b"tool", b"--token=T\xff1", b"\xfeplain"];
    let mut given = event(1);
    given.argv = raw.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    given.argv_base64 = Some(raw.iter().map(|bytes| STANDARD.encode(bytes)).collect());
    let stored = Redactor::default().event(&given).into_owned();
    let exact: Vec<Vec<u8>> =
        stored.argv_base64.unwrap().iter().map(|exact| STANDARD.decode(exact).unwrap()).collect();
    assert_eq!(exact, [&b"tool"[..], b"--token=[redacted]", b"\xfeplain"]);
}

#[test]
fn an_event_without_secrets_is_not_copied() {
    let mut given = event(1);
    Arc::make_mut(&mut given.env).insert("PATH".to_owned(), "/usr/bin".to_owned());
    assert!(matches!(Redactor::default().event(&given), Cow::Borrowed(_)));
}

#[test]
fn a_pattern_of_the_configuration_masks_its_match_or_its_group() {
    let both = Redactor::new(true, &["corp-[0-9]+".to_owned(), "pin (?P<secret>[0-9]+)".to_owned()]).unwrap();
    assert_eq!(both.text("a corp-12 pin 34 b"), "a [redacted] pin [redacted] b");
    assert_eq!(both.argv(&["corp-12".to_owned()])[0], MASK);
}

#[test]
fn a_pattern_that_cannot_work_is_an_error_even_when_redaction_is_off() {
    for (pattern, complaint) in [("(", "not a regular expression"), ("x*", "empty string")] {
        for enabled in [true, false] {
            let error = Redactor::new(enabled, &[pattern.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(complaint) && error.contains(pattern), "{error}");
        }
    }
}

#[test]
fn without_redaction_only_values_of_the_environment_are_kept_out() {
    let off = Redactor::new(false, &["corp".to_owned()]).unwrap();
    let mut given = event(1);
    given.argv = vec!["x".to_owned(), "--token=T1".to_owned(), "corp".to_owned()];
    Arc::make_mut(&mut given.env).insert("MY_TOKEN".to_owned(), "T1".to_owned());
    let stored = off.event(&given);
    assert_eq!(stored.argv, given.argv);
    assert_eq!(stored.env["MY_TOKEN"], MASK);
    assert_eq!(off.text("token=T1"), "token=T1");
}

#[test]
fn a_shortened_command_does_not_grow_back() {
    let mut given = event(1);
    given.argv = vec!["tool".to_owned(), "--token=T1".to_owned(), "x".repeat(10_000)];
    given.command = format!("tool --token=T1 {}…", "x".repeat(100));
    let stored = Redactor::default().event(&given).into_owned();
    assert!(stored.command.len() < 200, "{}", stored.command.len());
    assert!(!stored.command.contains("T1"));
}
