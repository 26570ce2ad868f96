//! The environment a hook starts with: built from nothing, the same size for every event.

use std::ffi::OsString;

use super::Fault;
use crate::hooks::Defect;
use crate::hooks::manifest::CommandSpec;

/// PATH of every hook that does not set its own.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Marks every process of one run, so that descendants which left the group can still be found.
pub(super) const MARKER: &str = "SHELLGATE_HOOK_RUN";

/// Handed on from the supervisor when set.
const HANDED_ON: [&str; 3] = ["HOME", "USER", "TMPDIR"];

/// Variables that run code before the hook's own first line. A hook may not have them, not even by its
/// manifest: what decides must be what the manifest names.
pub fn is_forbidden(name: &str) -> bool {
    matches!(name, "BASH_ENV" | "ENV" | "SHELLOPTS" | "BASHOPTS" | MARKER)
        || name.starts_with("LD_")
        || name.starts_with("BASH_FUNC_")
        || name.is_empty()
        || name.contains(['=', '\0'])
}

pub(super) fn build(spec: &CommandSpec, marker: &str) -> Result<Vec<(OsString, OsString)>, Fault> {
    if let Some(name) = spec.env.keys().find(|name| is_forbidden(name)) {
        return Err(Fault::new(
            Defect::Spawn,
            format!("a hook may not be given the variable {name:?}; remove it from the manifest's env"),
        ));
    }
    let mut env: Vec<(OsString, OsString)> =
        vec![("LANG".into(), "C.UTF-8".into()), (MARKER.into(), marker.into())];
    if !spec.env.contains_key("PATH") {
        env.push(("PATH".into(), PATH.into()));
    }
    for name in HANDED_ON.iter().filter(|name| !spec.env.contains_key(**name)) {
        if let Some(value) = std::env::var_os(name) {
            env.push((name.into(), value));
        }
    }
    if spec.env.contains_key("LANG") {
        env.remove(0);
    }
    env.extend(spec.env.iter().map(|(name, value)| (name.into(), value.into())));
    Ok(env)
}
