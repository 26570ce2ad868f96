//! From a file to a component that can be called: read, compiled or taken from the cache, and linked. What it imports
//! and we do not offer, and what it should export and does not, is found here, before anything of it runs.

use std::io;
use std::path::{Path, PathBuf};

use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};

use super::cache;
use super::call::State;
use super::engine::{Machine, machine};

/// The interface that a hook exports, and its function (wit/hook.wit).
const INTERFACE: &str = "shellgate:hook/handler@1.0.0";
const FUNCTION: &str = "handle";
/// A component with a whole interpreter in it has some 20 MiB.
const LARGEST: u64 = 256 << 20;

/// A component with its imports resolved; a call only has to instantiate it.
pub(super) struct Loaded {
    pub(super) component: InstancePre<State>,
    pub(super) function: ComponentExportIndex,
}

/// Why a file cannot be a hook.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("component {path} cannot be used: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("component {path} cannot be used: it is not a regular file of at most 256 MiB")]
    NotAFile { path: PathBuf },
    #[error("{0} is a core module; make a component of it, for the world shellgate:hook/hook")]
    CoreModule(PathBuf),
    #[error("{path} is not a WebAssembly component: {reason}")]
    Invalid { path: PathBuf, reason: String },
    #[error(
        "component {path} imports what a hook is not given: {reason}; \
         it may import wasi:io, wasi:clocks, wasi:random, wasi:cli and wasi:filesystem (0.2), and nothing else"
    )]
    Import { path: PathBuf, reason: String },
    #[error(
        "component {path} is no hook: {reason}; it must export {INTERFACE}, as supervisor/wit/hook.wit says"
    )]
    Export { path: PathBuf, reason: String },
    #[error("components cannot be run here: {0}")]
    Engine(String),
}

pub(super) fn load(path: &Path) -> Result<Loaded, LoadError> {
    let machine = machine().map_err(LoadError::Engine)?;
    let bytes = read(path)?;
    // The fifth byte on is the version, and the last two of it the layer: 0 for core modules, 1 for components.
    if bytes.starts_with(b"\0asm") && bytes.get(6..8) == Some(&[0, 0]) {
        return Err(LoadError::CoreModule(path.to_owned()));
    }
    let component = cache::compiled(&machine.engine, &bytes)
        .map_err(|error| LoadError::Invalid { path: path.to_owned(), reason: format!("{error:#}") })?;
    let function = exported(machine, &component)
        .map_err(|reason| LoadError::Export { path: path.to_owned(), reason })?;
    let component = machine
        .linker
        .instantiate_pre(&component)
        .map_err(|error| LoadError::Import { path: path.to_owned(), reason: format!("{error:#}") })?;
    Ok(Loaded { component, function })
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |source| LoadError::Read { path: path.to_owned(), source };
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let facts = std::fs::metadata(path).map_err(failed)?;
    if !facts.is_file() || facts.len() > LARGEST {
        return Err(LoadError::NotAFile { path: path.to_owned() });
    }
    std::fs::read(path).map_err(failed)
}

/// The function that is called, if it is there and takes and gives text.
fn exported(machine: &Machine, component: &Component) -> Result<ComponentExportIndex, String> {
    let Some((ComponentItem::ComponentInstance(_), interface)) = component.get_export(None, INTERFACE) else {
        let ty = component.component_type();
        let found: Vec<&str> = ty.exports(&machine.engine).map(|(name, _)| name).collect();
        return Err(match found.as_slice() {
            [] => "it exports nothing".to_owned(),
            names => format!("it exports {}", names.join(", ")),
        });
    };
    match component.get_export(Some(&interface), FUNCTION) {
        Some((ComponentItem::ComponentFunc(function), index)) if is_text(&function) => Ok(index),
        Some(_) => Err(format!("its {FUNCTION} is not func(event: string) -> result<string, string>")),
        None => Err(format!("its {INTERFACE} has no {FUNCTION}")),
    }
}

fn is_text(function: &ComponentFunc) -> bool {
    let mut results = function.results();
    let answers = match (results.next(), results.next()) {
        (Some(Type::Result(result)), None) => {
            result.ok() == Some(Type::String) && result.err() == Some(Type::String)
        }
        _ => false,
    };
    answers && function.params().map(|(_, ty)| ty).eq([Type::String])
}
