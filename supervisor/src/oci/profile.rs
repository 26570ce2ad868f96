//! `shellgate oci-profile`: a runtime's own seccomp profile, changed so that its containers are handed to the agent. What
//! the profile refuses it still refuses; execve and execveat, whatever it says of them, wait for the agent.

pub mod check; // what a profile or a container lets escape
pub mod engine; // what runtimes and engines are known to take

use serde_json::{Map, Value, json};

/// Calls that wait for a verdict.
const JUDGED: [&str; 2] = ["execve", "execveat"];
/// With it root in a container could reach the seal.
const REFUSED: &str = "bpf";
const NOTIFY: &str = "SCMP_ACT_NOTIFY";
const WAIT_KILLABLE: &str = "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV";

/// How a profile is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For `--security-opt seccomp=` and engine-wide settings: conditions stay in it.
    Engine,
    /// The runtime specification's: for `linux.seccomp` and Kubernetes' Localhost profiles. Conditions are decided now.
    Oci,
}

/// What the profile is to say.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub format: Format,
    pub listener: &'a str,
    pub metadata: Option<&'a str>,
    /// For the conditions of [`Format::Oci`].
    pub capabilities: &'a [String],
    /// The runtime takes the flag with which only a fatal signal ends a caller's wait.
    pub wait_killable: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("it is no seccomp profile: {0}")]
    Shape(String),
    #[error("the listener's path must be absolute: {0:?}")]
    Path(String),
}

/// Makes the profile.
pub fn make(base: &Value, wanted: &Wanted<'_>) -> Result<Value, ProfileError> {
    let shape = |what: &str| ProfileError::Shape(what.to_owned());
    if !wanted.listener.starts_with('/') {
        return Err(ProfileError::Path(wanted.listener.to_owned()));
    }
    let mut profile = base.as_object().ok_or_else(|| shape("it is not an object"))?.clone();
    if !profile.get("defaultAction").is_some_and(Value::is_string) {
        return Err(shape("it has no defaultAction"));
    }
    let rules = match profile.get("syscalls") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(rules)) => rules.clone(),
        Some(_) => return Err(shape("syscalls is not a list")),
    };
    let mut kept = Vec::new();
    for rule in rules {
        let Value::Object(mut rule) = rule else { return Err(shape("a rule is not an object")) };
        if wanted.format == Format::Oci && !applies(&rule, wanted.capabilities) {
            continue;
        }
        let names = names(&rule).ok_or_else(|| shape("a rule names no calls"))?;
        let others: Vec<String> =
            names.into_iter().filter(|name| !JUDGED.contains(&&**name) && name != REFUSED).collect();
        if others.is_empty() {
            continue;
        }
        rule.remove("name");
        rule.insert("names".into(), others.into());
        if wanted.format == Format::Oci {
            rule.retain(|key, _| ["names", "action", "errnoRet", "args"].contains(&key.as_str()));
        }
        kept.push(Value::Object(rule));
    }
    kept.push(json!({"names": JUDGED, "action": NOTIFY}));
    kept.push(json!({"names": [REFUSED], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::EPERM}));
    profile.insert("syscalls".into(), kept.into());
    architectures(&mut profile, wanted.format);
    if wanted.format == Format::Oci {
        profile.remove("defaultErrno");
    }
    profile.insert("listenerPath".into(), wanted.listener.into());
    match wanted.metadata {
        Some(metadata) => profile.insert("listenerMetadata".into(), metadata.into()),
        None => profile.remove("listenerMetadata"),
    };
    let mut flags: Vec<Value> = profile.get("flags").and_then(Value::as_array).cloned().unwrap_or_default();
    flags.retain(|flag| flag != WAIT_KILLABLE);
    flags.extend(wanted.wait_killable.then(|| WAIT_KILLABLE.into()));
    if flags.is_empty() {
        profile.remove("flags")
    } else {
        profile.insert("flags".into(), flags.into())
    };
    Ok(Value::Object(profile))
}

/// Which calls a rule is about; `name` is an older way to say one.
fn names(rule: &Map<String, Value>) -> Option<Vec<String>> {
    match (rule.get("names"), rule.get("name")) {
        (Some(Value::Array(names)), _) => {
            names.iter().map(|name| name.as_str().map(Into::into)).collect::<Option<Vec<String>>>()
        }
        (_, Some(Value::String(name))) => Some(vec![name.clone()]),
        _ => None,
    }
}

/// Whether the rule's conditions hold on this machine, for a container with these capabilities. The condition
/// `minKernel` is taken to hold: every kernel that shellgate runs on is newer than those that profiles ask for.
fn applies(rule: &Map<String, Value>, capabilities: &[String]) -> bool {
    let listed = |conditions: &str, kind: &str| -> Vec<String> {
        let list = rule.get(conditions).and_then(|found| found.get(kind)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
    };
    let (caps, arches) = (listed("includes", "caps"), listed("includes", "arches"));
    let ours = |arch: &String| ENGINE_ARCHES.contains(&arch.as_str());
    caps.iter().all(|cap| capabilities.contains(cap))
        && (arches.is_empty() || arches.iter().any(ours))
        && !listed("excludes", "caps").iter().any(|cap| capabilities.contains(cap))
        && !listed("excludes", "arches").iter().any(ours)
}

/// What engines call this machine in conditions.
const ENGINE_ARCHES: &[&str] =
    if cfg!(target_arch = "aarch64") { &["arm64", "aarch64"] } else { &["amd64", "x86_64", "x32", "x86"] };
/// Without the others a program of theirs is killed at its first call.
const ARCHITECTURES: &[&str] = if cfg!(target_arch = "aarch64") {
    &["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]
} else {
    &["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]
};

/// `archMap` says the same for many machines, and only engines read it.
fn architectures(profile: &mut Map<String, Value>, format: Format) {
    let mapped = profile.get("archMap").and_then(Value::as_array).is_some_and(|map| !map.is_empty());
    if format == Format::Engine && mapped {
        return;
    }
    profile.remove("archMap");
    let given = profile.get("architectures").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if !given {
        profile.insert("architectures".into(), json!(ARCHITECTURES));
    }
}

#[cfg(test)]
mod tests;
