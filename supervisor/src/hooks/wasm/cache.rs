//! Compiled components, kept from one session to the next under a name of their content. They stand beside the sessions
//! and not in ~/.cache, which sandboxes leave open to the tree: whoever can write here runs code in the next supervisor.
//!
//! Nothing depends on it. A folder or file that is not ours alone is not used, and a cache that fails is no cache.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::sys::precompiled;
use crate::trace::sessions;

const SUFFIX: &str = "cwasm";
/// Files that are kept; the oldest go.
const KEPT: usize = 16;

/// The component of these bytes, compiled now or before.
pub(super) fn compiled(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Component> {
    compiled_in(folder().as_deref(), engine, bytes)
}

pub(super) fn compiled_in(
    folder: Option<&Path>,
    engine: &Engine,
    bytes: &[u8],
) -> wasmtime::Result<Component> {
    let Some(folder) = folder else { return Component::from_binary(engine, bytes) };
    let name = name(engine, bytes);
    if let Ok(component) = precompiled::load(engine, folder, &name) {
        return Ok(component);
    }
    let component = Component::from_binary(engine, bytes)?;
    if let Err(error) = keep(folder, &name, &component) {
        tracing::debug!(folder = %folder.display(), "a compiled component is not kept: {error:#}");
    }
    Ok(component)
}

/// Beside the folder of the sessions.
fn folder() -> Option<PathBuf> {
    Some(sessions::root().ok()?.with_file_name("wasm"))
}

/// What the content is, and everything else that the compiled code depends on.
fn name(engine: &Engine, bytes: &[u8]) -> String {
    let mut compatible = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut compatible);
    format!("{:x}-{:016x}.{SUFFIX}", Sha256::digest(bytes), compatible.finish())
}

/// Written beside and renamed: whoever reads sees all of it or nothing.
fn keep(folder: &Path, name: &str, component: &Component) -> wasmtime::Result<()> {
    let code = component.serialize()?;
    DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
    let fresh = folder.join(format!("{name}.{}", std::process::id()));
    let _ = fs::remove_file(&fresh);
    let written = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| file.write_all(&code))
        .and_then(|()| fs::rename(&fresh, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written?;
    Ok(forget_the_oldest(folder)?)
}

fn forget_the_oldest(folder: &Path) -> io::Result<()> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new(SUFFIX)) {
            kept.push((fs::symlink_metadata(&path)?.modified()?, path));
        }
    }
    kept.sort();
    let surplus = kept.len().saturating_sub(KEPT);
    kept.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
}
