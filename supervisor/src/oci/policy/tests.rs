//! Which policy a container gets, and what becomes of one that changes.
#![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
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
    let (before, warnings) = policies.load(Some("a")).unwrap();
    assert!(warnings.is_empty());
    std::fs::write(&file, "version: 1\nhoks: []\n").unwrap();
    let (after, warnings) = policies.load(Some("a")).unwrap();
    assert_eq!(after.digest, before.digest);
    assert!(warnings[0].contains("last good") && warnings[0].contains("hoks"), "{warnings:?}");
    std::fs::write(&file, format!("{GOOD}# new\n")).unwrap();
    let (new, warnings) = policies.load(Some("a")).unwrap();
    assert!(new.digest != before.digest && warnings.is_empty());
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
