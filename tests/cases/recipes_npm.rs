//! What `npm` and its kin will run is with their event before they do anything.

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, need};

const PACKAGE: &str =
    r#"{"scripts": {"pretest": "touch N1", "test": "touch N2", "posttest": "touch N3", "w": "echo W"}}"#;

fn bodies(event: &Value) -> Vec<&str> {
    let runs = event["recipe"]["runs"].as_array().unwrap_or_else(|| panic!("no recipe: {event}"));
    runs.iter().map(|run| run["body"].as_str().expect("a body is text")).collect()
}

/// The two events of one npm: the script with its `#!`, and node.
fn both(ran: &Ran) -> [&Value; 2] {
    [ran.event_for("npm-cli.js"), ran.event_for("node")]
}

/// D09
#[test]
fn scripts_before_and_after_are_listed_with_the_one_that_is_asked_for() {
    need!(npm, node);
    let gate = || Gate::refusing(&["touch"]).file("package.json", PACKAGE);
    for words in [&["npm", "test"][..], &["npm", "t"], &["npm", "run-script", "test"]] {
        let ran = gate().run(words);
        assert_ne!(ran.code, 0);
        ran.refused("touch", 1);
        ran.absent(["N1", "N2", "N3"]);
        for event in both(&ran) {
            assert_eq!(bodies(event), ["touch N1", "touch N2", "touch N3"], "{words:?}");
            let recipe = &event["recipe"];
            assert_eq!((&recipe["name"], &recipe["body"]), (&json!("test"), &json!("touch N2")));
            assert_eq!((&recipe["tool"], &recipe["complete"]), (&json!("npm"), &json!(true)));
        }
    }
    let only = |ran: &Ran| both(ran).map(bodies).iter().all(|bodies| bodies == &["touch N2"]);
    assert!(only(&gate().run(["npm", "test", "--ignore-scripts"])));
    assert!(only(&gate().file(".npmrc", "ignore-scripts=true\n").run(["npm", "test"])));
    assert!(only(&gate().env("npm_config_ignore_scripts", "true").run(["npm", "test"])));
}

/// D09
#[test]
fn a_policy_may_refuse_npm_for_what_a_script_says() {
    need!(npm, node);
    let rule = r#"- {deny: touches, if: 'recipe != null && recipe.runs.exists(run, run.body.contains("touch N1"))'}"#;
    let ran = Gate::with_rules(rule).file("package.json", PACKAGE).run(["npm", "test"]);
    ran.exits(126);
    ran.absent(["N1", "N2", "N3"]);
    let ran = Gate::with_rules(rule).file("package.json", PACKAGE).run(["npm", "run", "w"]);
    ran.exits(0);
    let rule = r#"- {deny: touches, if: 'recipe != null && recipe.body == "touch N2"'}"#;
    Gate::with_rules(rule).file("package.json", PACKAGE).run(["npm", "test"]).exits(126);
}

/// D10
#[test]
fn forwarded_arguments_are_quoted_as_npm_quotes_them() {
    need!(npm, node);
    let gate = Gate::refusing(&["id"]).file("package.json", PACKAGE);
    let ran = gate.run(["npm", "run", "w", "--", "a b", "$(id)", ";x"]);
    ran.exits(0);
    ran.nothing_refused();
    let body = "echo W 'a b' '$(id)' ';x'";
    for event in both(&ran) {
        assert_eq!(bodies(event), [body]);
    }
    assert_eq!(ran.argvs("sh"), [["sh", "-c", body]]);
    assert!(ran.events_for("id").is_empty());
}

/// D11
#[test]
fn every_workspace_that_runs_is_listed_with_its_file() {
    need!(npm, node);
    let gate = || {
        let root = r#"{"workspaces": ["packages/a", "packages/a/b"], "scripts": {"x": "touch ROOT"}}"#;
        Gate::open()
            .file("package.json", root)
            .file("packages/a/package.json", r#"{"name": "a", "scripts": {"x": "echo A"}}"#)
            .file("packages/a/b/package.json", r#"{"name": "b", "scripts": {"x": "echo B"}}"#)
    };
    let told = |ran: &Ran| {
        let [first, second] = both(ran).map(|event| event["recipe"]["runs"].clone());
        assert_eq!(first, second);
        let work = ran.work.display().to_string();
        let runs = first.as_array().unwrap_or_else(|| panic!("{}", ran.story())).iter();
        let short = |run: &Value| {
            format!("{} {}", run["file"].as_str().unwrap_or_default().replace(&work, ""), run["body"])
        };
        let ours: Vec<String> = runs.map(short).collect();
        let real: Vec<_> = ran.argvs("sh").iter().map(|argv| format!("{:?}", argv[2])).collect();
        assert!(ours.iter().zip(&real).all(|(ours, real)| ours.ends_with(real)), "{ours:?} {real:?}");
        assert_eq!(ours.len(), real.len());
        ours
    };
    let (a, b) = ("/packages/a/package.json \"echo A\"", "/packages/a/b/package.json \"echo B\"");
    assert_eq!(told(&gate().run(["npm", "run", "x", "-ws"])), [a, b]);
    assert_eq!(told(&gate().run(["npm", "run", "x", "-w", "b"])), [b]);
    assert_eq!(told(&gate().bash("cd packages/a && exec npm run x")), [a]);
    assert_eq!(told(&gate().file(".npmrc", "workspace=a\n").run(["npm", "run", "x"]))[0], a);
}

/// D13
#[test]
fn npm_is_known_behind_every_front_door() {
    need!(npm, node);
    let gate = || Gate::open().file("package.json", PACKAGE);
    let ran = gate().bash("exec node --no-warnings \"$(readlink -f \"$(command -v npm)\")\" run w");
    ran.exits(0);
    assert_eq!(bodies(ran.event_for("node")), ["echo W"]);
    let ran = gate().run(["npm", "run", "w", "--script-shell=/bin/bash"]);
    assert_eq!(both(&ran)[0]["recipe"]["runs"][0]["shell"], json!(["/bin/bash", "-c"]));
    assert_eq!(ran.argvs("bash"), [["/bin/bash", "-c", "echo W"]]);
    let ran = gate().run(["npx", "--no-install", "no-such-tool"]);
    assert!(ran.events_for("node").iter().all(|event| event["recipe"].is_null()), "{}", ran.story());
}

/// D13
#[test]
fn scripts_of_pnpm_and_yarn_are_shown() {
    need!(node);
    let front = "#!/usr/bin/env node\n";
    let gate = Gate::open().file("package.json", PACKAGE).script("pnpm.cjs", front).script("yarn.js", front);
    let ran = gate.bash("./pnpm.cjs run w; ./yarn.js w a");
    ran.exits(0);
    for (name, tool, body) in [("pnpm.cjs", "pnpm", "echo W"), ("yarn.js", "yarn", "echo W a")] {
        let event = ran.event_for(name);
        assert_eq!((&event["recipe"]["tool"], bodies(event)), (&json!(tool), vec![body]));
    }
}

/// D21
#[test]
fn a_package_json_that_is_no_file_costs_nothing_and_blocks_nothing() {
    need!(npm, node);
    for make in [
        "mkfifo package.json",
        "ln -s /dev/zero package.json",
        "truncate -s 2G package.json",
        "mkdir package.json",
    ] {
        let ran = Gate::open().bash(&format!("{make}; timeout 2 npm run x --loglevel silent; true"));
        let events = [ran.events_for("npm-cli.js"), ran.events_for("node")].concat();
        assert!(!events.is_empty(), "{}", ran.story());
        assert!(events.iter().all(|event| event["recipe"].is_null()), "{make}\n{}", ran.story());
    }
    let json = "\u{feff}{\r\n\"scripts\": {\"w\": \"echo 1\",\r\n\"w\": \"echo 2\"}}\r\n";
    let ran = Gate::open().file("package.json", json).run(["npm", "run", "w"]);
    ran.exits(0);
    assert_eq!(bodies(both(&ran)[0]), ["echo 2"]);
    assert_eq!(ran.argvs("sh"), [["sh", "-c", "echo 2"]]);
}
