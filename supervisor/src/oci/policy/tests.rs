//! Which policy a container gets, and what becomes of one that changes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed call fails the test")]
use std::collections::HashMap;

use super::*;

const GOOD: &str = "version: 1\nhooks: []\n";

fn said(id: &str, metadata: &str, annotations: &[(&str, &str)]) -> ProcessState {
    let annotations: HashMap<&str, &str> = annotations.iter().copied().collect();
    serde_json::from_value(serde_json::json!({
        "fds": [], "metadata": metadata, "state": {"id": id, "annotations": annotations},
    }))
    .unwrap()
}

fn policies(files: &[&str], selectors: &[&str]) -> (tempfile::TempDir, Policies) {
    let folder = tempfile::tempdir().unwrap();
    for name in files {
        std::fs::write(folder.path().join(format!("{name}.yaml")), GOOD).unwrap();
    }
    let selectors = selectors.iter().map(|text| text.parse().unwrap()).collect();
    let policies = Policies::open(None, Some(folder.path().to_owned()), selectors).unwrap();
    (folder, policies)
}

#[test]
fn the_command_line_chooses_before_the_profile_does() {
    let (_folder, policies) = policies(
        &["strict", "loose", "ci"],
        &["annotation.io.kubernetes.cri.sandbox-namespace=prod-*:strict", "id=build:ci"],
    );
    let namespace = "io.kubernetes.cri.sandbox-namespace";
    for (said, expected) in [
        (said("x", "policy=loose", &[(namespace, "prod-eu")]), Some("strict")),
        (said("x", "policy=loose", &[(namespace, "test")]), Some("loose")),
        (said("build", "", &[]), Some("ci")),
        (said("builder", "team=a, policy=loose", &[]), Some("loose")),
        (said("x", "team=a", &[]), None),
        (said("x", "", &[]), None),
    ] {
        assert_eq!(policies.choose(&said).unwrap().as_deref(), expected, "{said:?}");
    }
}

#[test]
fn a_name_never_leads_out_of_the_folder() {
    let (_folder, policies) = policies(&["a"], &[]);
    for name in ["", ".", "..", "../a", "a/../a", ".hidden", "a\0", "ä", "a b"] {
        assert!(policies.choose(&said("x", &format!("policy={name}"), &[])).is_err(), "{name:?}");
        assert!(policies.load(Some(name)).is_err(), "{name:?}");
    }
}

#[test]
fn a_container_for_which_nothing_is_said_is_an_error() {
    let (_folder, policies) = policies(&["a"], &[]);
    assert!(matches!(policies.load(None), Err(PolicyError::NoDefault)));
    assert!(matches!(policies.load(Some("b")), Err(PolicyError::Config(_))));
    let none = Policies::open(None, None, Vec::new()).unwrap();
    assert!(matches!(none.load(Some("a")), Err(PolicyError::NoFolder(_))));
}

#[test]
fn a_policy_that_became_bad_keeps_its_last_good_text_and_says_so() {
    let (folder, policies) = policies(&["a"], &[]);
    let file = folder.path().join("a.yaml");
    let (before, version, warnings) = policies.load(Some("a")).unwrap();
    assert!(warnings.is_empty() && looked(&policies).is_empty());
    std::fs::write(&file, "version: 1\nhoks: []\n").unwrap();
    let [News::Bad { error, .. }] = &looked(&policies)[..] else { panic!("it is bad") };
    assert!(error.contains("hoks"), "{error}");
    let (after, same, warnings) = policies.load(Some("a")).unwrap();
    assert_eq!((&after.digest, same), (&before.digest, version));
    assert!(warnings[0].contains("last good") && warnings[0].contains("hoks"), "{warnings:?}");
    assert!(looked(&policies).is_empty(), "it is said once");
    assert_eq!(policies.standing(Some("a")).unwrap().rejections, 1);
    std::fs::write(&file, format!("{GOOD}# new\n")).unwrap();
    let [News::Good { digest, .. }] = &looked(&policies)[..] else { panic!("it is good") };
    let (new, newer, warnings) = policies.load(Some("a")).unwrap();
    assert!(new.digest != before.digest && &new.digest == digest && newer > version && warnings.is_empty());
}

/// What two looks find: one alone is not believed.
fn looked(policies: &Policies) -> Vec<News> {
    assert_eq!(policies.look(), []);
    policies.look()
}

#[test]
fn half_of_a_file_is_no_policy() {
    let (folder, policies) = policies(&["a"], &[]);
    let file = folder.path().join("a.yaml");
    let (before, ..) = policies.load(Some("a")).unwrap();
    // A shorter text is a policy of its own, with less in it.
    for text in ["version: 1\n", "version: 1\nhooks: []\n# as it is"] {
        std::fs::write(&file, text).unwrap();
        assert_eq!(policies.look(), []);
        assert_eq!(policies.load(Some("a")).unwrap().0.digest, before.digest);
    }
    std::fs::write(&file, "version: 1\nhooks: []\n# as it is meant\n").unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Good { .. }]));
}

#[test]
fn a_link_that_is_exchanged_a_renamed_file_and_a_new_manifest_are_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // As the kubelet mounts a ConfigMap.
    for (data, comment) in [("..1", "one"), ("..2", "two")] {
        std::fs::create_dir(path(data)).unwrap();
        std::fs::write(path(data).join("a.yaml"), format!("{GOOD}# {comment}\n")).unwrap();
    }
    std::os::unix::fs::symlink("..1", path("..data")).unwrap();
    std::os::unix::fs::symlink("..data/a.yaml", path("a.yaml")).unwrap();
    let policies = Policies::open(None, Some(folder.path().to_owned()), Vec::new()).unwrap();
    let (before, ..) = policies.load(Some("a")).unwrap();
    std::os::unix::fs::symlink("..2", path("..new")).unwrap();
    std::fs::rename(path("..new"), path("..data")).unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Good { .. }]));
    let (second, ..) = policies.load(Some("a")).unwrap();
    assert_ne!(second.digest, before.digest);
    // As editors save.
    let manifest = "name: m\nbinding: on-shell\ncommit_policy: deny\nrules: []\notherwise: none\n";
    std::fs::write(path("m.txt"), manifest).unwrap();
    std::fs::write(path("a.new"), "version: 1\nhooks: [m.txt]\n").unwrap();
    std::fs::rename(path("a.new"), path("a.yaml")).unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Good { .. }]));
    let (third, ..) = policies.load(Some("a")).unwrap();
    std::fs::write(path("m.txt"), format!("{manifest}# more\n")).unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Good { .. }]));
    assert_ne!(policies.load(Some("a")).unwrap().0.digest, third.digest);
    // Without a part of it there is nothing to give to another container.
    std::fs::remove_file(path("m.txt")).unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Bad { .. }]));
    assert!(policies.load(Some("a")).is_err());
    // The file itself gone: its last good text holds.
    std::fs::write(path("m.txt"), manifest).unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Good { .. }]));
    std::fs::remove_file(path("a.yaml")).unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Bad { .. }]));
    assert!(policies.load(Some("a")).is_ok());
    // And a policy that was not there.
    std::fs::write(path("b.yaml"), GOOD).unwrap();
    let news = looked(&policies);
    assert!(matches!(&news[..], [News::Good { file, .. }] if file.ends_with("b.yaml")), "{news:?}");
}

#[test]
fn a_touched_file_is_no_change_and_a_changed_program_of_a_hook_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let (file, script) = (folder.path().join("a.yaml"), folder.path().join("guard.sh"));
    std::fs::write(&script, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let text = "version: 1\nhooks: [{name: g, binding: on-shell, commit_policy: deny, protocol: exit-code, \
                command: ./guard.sh}]\n";
    std::fs::write(&file, text).unwrap();
    let policies = Policies::open(Some(file.clone()), None, Vec::new()).unwrap();
    let before = policies.standing(None).unwrap();
    std::fs::write(&file, text).unwrap();
    assert!(looked(&policies).is_empty());
    assert_eq!(policies.standing(None).unwrap(), before);
    std::fs::write(&script, "#!/bin/sh\nexit 0 # other\n").unwrap();
    assert!(matches!(&looked(&policies)[..], [News::Good { .. }]));
    assert_eq!(policies.standing(None).unwrap().version, before.version + 1);
}

#[test]
fn a_bad_policy_is_found_when_the_agent_starts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "version: 7\n").unwrap();
    assert!(Policies::open(None, Some(folder.path().to_owned()), Vec::new()).is_err());
    let chosen = vec!["id=x:gone".parse().unwrap()];
    let empty = tempfile::tempdir().unwrap();
    assert!(Policies::open(None, Some(empty.path().to_owned()), chosen).is_err());
}

#[test]
fn what_is_no_selector_says_why() {
    for text in ["", "id", "id=x", "pid=3:a", "annotation.=x:a", "id=a*b:c", "id=x:../c", "id=x:"] {
        assert!(text.parse::<Selector>().is_err(), "{text:?}");
    }
}
