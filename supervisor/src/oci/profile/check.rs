//! `oci-profile --check`: what of a container would start without being judged. Reads a seccomp profile, the
//! `config.json` of a bundle, or what `docker inspect` and `podman inspect` print.

use serde_json::{Map, Value};

use super::{JUDGED, NOTIFY, REFUSED, names};

/// Everything that escapes or endangers the seal, in words. Empty when nothing does.
pub fn check(document: &Value) -> Result<Vec<String>, String> {
    match document {
        Value::Array(inspected) if inspected.iter().all(|one| one.get("HostConfig").is_some()) => {
            Ok(inspected.iter().flat_map(container).collect())
        }
        Value::Object(found) if found.contains_key("HostConfig") => Ok(container(document)),
        Value::Object(found) if found.contains_key("ociVersion") => Ok(bundle(document)),
        Value::Object(found) if found.contains_key("defaultAction") => Ok(profile(found)),
        _ => Err("it is no seccomp profile (defaultAction), no bundle's config.json (ociVersion) and no output of inspect \
                  (HostConfig)"
            .into()),
    }
}

fn profile(profile: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    match profile.get("listenerPath").and_then(Value::as_str) {
        Some(path) if path.starts_with('/') => {}
        Some(path) => found.push(format!("listenerPath {path:?} is not absolute")),
        None => found.push("there is no listenerPath: nothing is handed to an agent".into()),
    }
    let rules: Vec<&Map<String, Value>> = profile
        .get("syscalls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .collect();
    let about = |name: &str| -> Vec<&&Map<String, Value>> {
        let is = |rule: &&&Map<String, Value>| {
            names(rule).is_some_and(|names| names.iter().any(|one| one == name))
        };
        rules.iter().filter(is).collect()
    };
    let action =
        |rule: &Map<String, Value>| rule.get("action").and_then(Value::as_str).unwrap_or("").to_owned();
    let default = action_of_default(profile);
    for name in JUDGED {
        let rules = about(name);
        let conditional = |rule: &Map<String, Value>| {
            ["args", "includes", "excludes"]
                .iter()
                .any(|key| rule.get(*key).is_some_and(|value| !is_empty(value)))
        };
        if !rules.iter().any(|rule| action(rule) == NOTIFY && !conditional(rule)) {
            found.push(format!(
                "{name} does not wait for a verdict: no rule without conditions says {NOTIFY}"
            ));
        }
        if let Some(rule) = rules.iter().find(|rule| is_pass(&action(rule))) {
            found.push(format!("{name} also has a rule that says {}", action(rule)));
        }
    }
    let bpf = about(REFUSED);
    let refused = bpf.iter().any(|rule| !is_pass(&action(rule)));
    if bpf.iter().any(|rule| is_pass(&action(rule))) || (is_pass(&default) && !refused) {
        found.push(format!("{REFUSED} is allowed: with CAP_SYS_ADMIN a container could undo the eBPF seal"));
    }
    for rule in &rules {
        let others = names(rule).unwrap_or_default();
        let others: Vec<_> = others.iter().filter(|name| !JUDGED.contains(&name.as_str())).collect();
        if action(rule) == NOTIFY && !others.is_empty() {
            found.push(format!("the agent answers execve and execveat alone and would refuse {others:?}"));
        }
    }
    found
}

fn action_of_default(profile: &Map<String, Value>) -> String {
    profile.get("defaultAction").and_then(Value::as_str).unwrap_or("").to_owned()
}

fn is_pass(action: &str) -> bool {
    matches!(action, "SCMP_ACT_ALLOW" | "SCMP_ACT_LOG" | "SCMP_ACT_TRACE")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Null => true,
        _ => false,
    }
}

fn bundle(config: &Value) -> Vec<String> {
    let mut found = match config.pointer("/linux/seccomp").and_then(Value::as_object) {
        Some(seccomp) => profile(seccomp),
        None => vec!["there is no linux.seccomp (unconfined, or privileged): nothing is judged".into()],
    };
    let namespaces = config.pointer("/linux/namespaces").and_then(Value::as_array);
    let own_pids = namespaces.is_some_and(|list| list.iter().any(|one| one["type"] == "pid"));
    let own_users = namespaces.is_some_and(|list| list.iter().any(|one| one["type"] == "user"));
    let bounding = config.pointer("/process/capabilities/bounding").and_then(Value::as_array);
    let has = |name: &str| bounding.is_some_and(|list| list.iter().any(|one| one == name));
    if !own_pids && !own_users && has("CAP_SYS_PTRACE") {
        found.push(
            "it sees the host's processes and has CAP_SYS_PTRACE: it could have others execute for it".into(),
        );
    }
    if !own_users && ["CAP_SYS_MODULE", "CAP_SYS_RAWIO"].iter().any(|name| has(name)) {
        found.push("it may load kernel modules or write to memory: no seal holds against that".into());
    }
    found
}

fn container(inspected: &Value) -> Vec<String> {
    let name = inspected["Name"].as_str().or(inspected["Id"].as_str()).unwrap_or("container");
    let mut found = Vec::new();
    let options = inspected["HostConfig"]["SecurityOpt"].as_array();
    let seccomp = options
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .find_map(|option| option.strip_prefix("seccomp=").or_else(|| option.strip_prefix("seccomp:")));
    let privileged = inspected["HostConfig"]["Privileged"] == true;
    match seccomp {
        Some("unconfined") => found.push("seccomp=unconfined: nothing is judged".to_owned()),
        None if privileged => {
            found.push("it is privileged, so no profile holds: nothing is judged".to_owned());
        }
        None => {
            found.push("it has the engine's own profile: judged only if that one is engine-wide".to_owned());
        }
        // Engines put the text itself there.
        Some(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(text)) => found.extend(profile(&text)),
            _ => found.push(format!("seccomp={text}: check that file too")),
        },
    }
    if privileged && seccomp.is_some() {
        found.push("it is privileged: it may load kernel modules, and no seal holds against that".into());
    }
    found.into_iter().map(|what| format!("{name}: {what}")).collect()
}
