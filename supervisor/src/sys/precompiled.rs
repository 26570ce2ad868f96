//! Machine code that was compiled from a component in an earlier session. Loading it is as running a program: wasmtime
//! checks that it fits this engine, and believes every byte of the rest.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Loads the file `name` of `folder`. Both must belong to us and be writable by nobody else, and neither may be reached
/// through a link as its last step.
pub fn load(engine: &Engine, folder: &Path, name: &str) -> wasmtime::Result<Component> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let folder = ours(open(folder, flags | OFlag::O_DIRECTORY, Mode::empty())?)?;
    let mut file = ours(openat(&folder, name, flags, Mode::empty())?)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
    }
    // Copied, never mapped: what somebody writes to the file afterwards must not become our code.
    let mut code = Vec::new();
    file.read_to_end(&mut code)?;
    // SAFETY: `deserialize` needs bytes that `Component::serialize` made. Only this user could write the file or replace
    // it in its folder, as was checked on the open descriptors, and of this user's programs only `hooks/wasm/cache`
    // writes there. A program of the same user that means harm could do so; it can write this user's shell profile too.
    unsafe { Component::deserialize(engine, &code) }
}

/// Checked on the descriptor: what a name leads to may change between two looks.
fn ours(fd: OwnedFd) -> io::Result<File> {
    let file = File::from(fd);
    let facts = file.metadata()?;
    if facts.uid() != nix::unistd::geteuid().as_raw() || facts.mode() & 0o022 != 0 {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    Ok(file)
}
