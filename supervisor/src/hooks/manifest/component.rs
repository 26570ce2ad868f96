//! The component of a wasm hook: which file it is, and that it can be called. Runs nothing of it.

use std::path::PathBuf;

use serde_saphyr::Spanned;

use super::wire::RawManifest;
use super::{Problem, Runner, Workshop};

/// `file` is added to what the configuration runs.
pub(super) fn component(
    raw: &RawManifest,
    file: &Spanned<String>,
    workshop: &Workshop,
    files: &mut Vec<PathBuf>,
) -> Result<Runner, Problem> {
    if let Some(env) = &raw.env {
        let message = "env: belongs to hooks with a process; a component is granted variables by the configuration, \
                       in capabilities.hooks";
        return Err(Problem::at(env.referenced, message));
    }
    let path = workshop.folder.join(&file.value);
    let runner = load(raw, &path, workshop).map_err(|message| Problem::at(file.referenced, message))?;
    files.push(path);
    Ok(runner)
}

#[cfg(feature = "wasm")]
fn load(raw: &RawManifest, path: &std::path::Path, workshop: &Workshop) -> Result<Runner, String> {
    let named = raw.name.as_ref().and_then(|name| workshop.grants.get(&name.value));
    let hook = crate::hooks::wasm::Wasm::load(path, named.cloned().unwrap_or_default());
    hook.map(|hook| Runner::Native(std::sync::Arc::new(hook))).map_err(|error| error.to_string())
}

#[cfg(not(feature = "wasm"))]
fn load(_: &RawManifest, _: &std::path::Path, _: &Workshop) -> Result<Runner, String> {
    Err("this shellgate was built without the runner wasm; build it with the feature \"wasm\", which is on by default"
        .to_owned())
}
