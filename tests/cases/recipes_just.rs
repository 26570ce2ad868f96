//! What `just` will run is with its event before just does anything, and what it starts is judged again.

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ran, need, strings};

const RULE: &str = r#"- {deny: touches, exe: just, if: 'recipe != null && recipe.runs.exists(run, run.body.contains("touch"))'}"#;

/// The recipe in the only event of just.
fn recipe(ran: &Ran) -> &Value {
    &ran.event_for("just")["recipe"]
}

fn bodies(ran: &Ran) -> Vec<&str> {
    let runs = recipe(ran)["runs"].as_array().unwrap_or_else(|| panic!("no recipe\n{}", ran.story()));
    runs.iter().map(|run| run["body"].as_str().expect("a body is text")).collect()
}

/// D14
#[test]
fn arguments_are_in_the_body_as_just_pastes_them() {
    need!(just);
    let justfile = "b t:\n    echo {{t}}\n";
    let ran = Gate::refusing(&["touch"]).file("justfile", justfile).run(["just", "b", "x; touch J1"]);
    ran.refused("touch", 1);
    ran.absent(["J1"]);
    assert_eq!(recipe(&ran)["body"], "echo x; touch J1");
    assert_eq!((&recipe(&ran)["complete"], &recipe(&ran)["line"]), (&json!(true), &json!(1)));
    assert_eq!(recipe(&ran)["file"], ran.work.join("justfile").display().to_string());
    assert_eq!(ran.argvs("sh"), [["sh", "-cu", "echo x; touch J1"]]);
    let ran = Gate::with_rules(RULE).file("justfile", justfile).run(["just", "b", "x; touch J1"]);
    ran.exits(126);
    ran.refused("just", 1);
    ran.absent(["J1"]);
    Gate::with_rules(RULE).file("justfile", justfile).run(["just", "b", "x"]).exits(0);
}

/// D14
#[test]
fn a_script_is_shown_with_the_arguments_in_it() {
    need!(just, python3);
    let justfile = "p n:\n    #!/usr/bin/env python3\n    print(\"{{n}}\")\n";
    let ran = Gate::open().file("justfile", justfile).run(["just", "p", "1\"); open(\"J1\", \"w\"); (\""]);
    ran.exits(0);
    ran.present(["J1"]);
    let body = "#!/usr/bin/env python3\nprint(\"1\"); open(\"J1\", \"w\"); (\"\")";
    assert_eq!((&recipe(&ran)["body"], &recipe(&ran)["complete"]), (&json!(body), &json!(true)));
}

/// D15
#[test]
fn backticks_at_the_top_are_part_of_every_recipe() {
    need!(just);
    let justfile = "v := `touch J2`\nhello:\n    echo hi > RAN\n";
    let ran = Gate::refusing(&["touch"]).file("justfile", justfile).run(["just", "hello"]);
    assert_ne!(ran.code, 0);
    ran.refused("touch", 1);
    ran.absent(["J2", "RAN"]);
    assert_eq!(bodies(&ran), ["touch J2", "echo hi > RAN"]);
    assert_eq!(recipe(&ran)["runs"][0]["role"], "reading");
    assert_eq!(recipe(&ran)["runs"][0]["shell"], json!(["sh", "-cu"]));
    let ran = Gate::with_rules(RULE).file("justfile", justfile).run(["just", "v=1", "hello"]);
    ran.exits(0);
    ran.present(["RAN"]);
    assert_eq!(bodies(&ran), ["echo hi > RAN"]);
}

/// D16
#[test]
fn looking_at_a_justfile_runs_nothing_and_evaluating_it_does() {
    need!(just);
    let line = "just --dry-run hello; just --dump --dump-format json; just --list; just --show hello; just --summary; true";
    let gate = Gate::with_rules(RULE).file("justfile", "v := `touch J2`\nhello:\n    echo {{v}}\n");
    let ran = gate.bash(line);
    ran.nothing_refused();
    assert_eq!(ran.events_for("just").len(), 5);
    assert!(ran.events_for("just").iter().all(|event| event["recipe"].is_null()), "{}", ran.story());
    ran.absent(["J2"]);
    let gate = Gate::with_rules(RULE).file("justfile", "v := `touch J2`\nhello:\n    echo {{v}}\n");
    let ran = gate.run(["just", "--evaluate"]);
    ran.refused("just", 1);
    ran.absent(["J2"]);
}

/// D18
#[test]
fn all_that_runs_is_listed_in_the_order_in_which_it_runs() {
    need!(just);
    let justfile = "alias b := build\nbuild: _p && after\n    touch J3\n[private]\n_p:\n    touch J4\nafter:\n    touch J5\n";
    for words in [&["just", "b"][..], &["just"]] {
        let ran = Gate::open().file("justfile", justfile).run(words);
        ran.exits(0);
        ran.present(["J3", "J4", "J5"]);
        assert_eq!(bodies(&ran), ["touch J4", "touch J3", "touch J5"]);
        assert_eq!((&recipe(&ran)["name"], &recipe(&ran)["body"]), (&json!("build"), &json!("touch J3")));
        let told: Vec<_> =
            ran.events_for("touch").iter().map(|event| strings(&event["argv"]).join(" ")).collect();
        assert_eq!(told, bodies(&ran));
    }
    let ran = Gate::open().file("justfile", justfile).run(["just", "_p"]);
    assert_eq!(recipe(&ran)["body"], "touch J4");
}

/// D19
#[test]
fn scripts_of_recipes_are_events_with_their_text() {
    need!(just, python3);
    let justfile =
        "py:\n    #!/usr/bin/env python3\n    open(\"J6\", \"w\")\n[script('bash')]\ns:\n    touch J7\n";
    let ran =
        Gate::refusing(&["touch"]).file("justfile", justfile).run(["just", "--tempdir", ".", "py", "s"]);
    assert_ne!(ran.code, 0);
    ran.present(["J6"]);
    ran.absent(["J7"]);
    let script = ran.event_for("py");
    let path = script["path"].as_str().expect("a path is text");
    assert!(path.starts_with(&ran.work.display().to_string()), "{path}");
    assert!(script["script"]["text"].as_str().is_some_and(|text| text.contains("open(\"J6\", \"w\")")));
    assert_eq!(script["ancestry"][0]["seq"], ran.event_for("just")["seq"]);
    assert_eq!(recipe(&ran)["runs"][0]["shell"], json!(["/usr/bin/env", "python3"]));
    assert_eq!(recipe(&ran)["runs"][1]["shell"], json!(["bash"]));
    assert_eq!(bodies(&ran)[1], "touch J7");
}

/// D21
#[test]
fn a_justfile_that_is_no_file_costs_nothing_and_blocks_nothing() {
    need!(just);
    let line = "mkfifo F; for f in F /dev/zero . missing /proc/self/mem; do timeout 5 just --justfile $f x </dev/null; done; \
                printf 'import \"self.just\"\\nx:\\n    x\\n' > self.just; just -f self.just x; true";
    let ran = Gate::open().bash(&line.replace("timeout 5 just", "timeout 1 just"));
    ran.exits(0);
    let events = ran.events_for("just");
    assert_eq!(events.len(), 6, "{}", ran.story());
    assert!(events.iter().all(|event| event["recipe"].is_null()), "{}", ran.story());
}
