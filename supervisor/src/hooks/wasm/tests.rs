//! What the end-to-end tests cannot see: a call that nobody waits for, and the cache. Everything else is in
//! tests/cases/runners/wasm.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::component::Component;

use super::*;
use crate::sys::precompiled;

/// A hook whose function does this. It takes events of up to a page.
fn hook(body: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component
             (core module $code
               (memory (export "memory") 2)
               (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
               (func (export "handle") (param i32 i32) (result i32) {body}))
             (core instance $core (instantiate $code))
             (func $handle (param "event" string) (result (result string (error string)))
               (canon lift (core func $core "handle") (memory (core memory $core "memory"))
                 (realloc (core func $core "realloc"))))
             (instance $handler (export "handle" (func $handle)))
             (export "shellgate:hook/handler@1.0.0" (instance $handler)))"#
    ))
    .unwrap()
}

#[test]
fn a_call_that_nobody_waits_for_any_more_ends() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hook.wasm");
    fs::write(&file, hook("(loop $again (br $again)) unreachable")).unwrap();
    let hook = Wasm::load(&file, Grants::default()).unwrap();
    let wanted = AtomicBool::new(true);
    let fault = std::thread::scope(|scope| {
        let asked =
            scope.spawn(|| hook.ask(Duration::from_mins(10), b"{}\n", &|| wanted.load(Ordering::Relaxed)));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!asked.is_finished());
        wanted.store(false, Ordering::Relaxed);
        asked.join().unwrap().unwrap_err()
    });
    assert_eq!(fault.defect, Defect::Internal);
}

/// The folder of a cache with one entry, and that entry's name.
fn cached() -> (tempfile::TempDir, PathBuf, String) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("wasm");
    let engine = &engine::machine().unwrap().engine;
    cache::compiled_in(Some(&folder), engine, &hook("unreachable")).unwrap();
    let mut entries = fs::read_dir(&folder).unwrap();
    let name = entries.next().unwrap().unwrap().file_name().into_string().unwrap();
    assert!(entries.next().is_none(), "nothing else is left in the folder");
    (dir, folder, name)
}

fn load(folder: &Path, name: &str) -> wasmtime::Result<Component> {
    precompiled::load(&engine::machine().unwrap().engine, folder, name)
}

#[test]
fn what_was_compiled_once_is_loaded_the_next_time() {
    let (_dir, folder, name) = cached();
    assert!(load(&folder, &name).is_ok());
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(folder.join(&name)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn code_that_others_could_have_written_is_not_loaded() {
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (_dir, folder, name) = cached();
    for mode in [0o620, 0o602, 0o666] {
        chmod(&folder.join(&name), mode);
        assert!(load(&folder, &name).is_err(), "{mode:o}");
    }
    chmod(&folder.join(&name), 0o600);
    for mode in [0o720, 0o702, 0o1777] {
        chmod(&folder, mode);
        assert!(load(&folder, &name).is_err(), "{mode:o}");
    }
    chmod(&folder, 0o700);
    assert!(load(&folder, &name).is_ok());
    let link = folder.with_file_name("link");
    symlink(&folder, &link).unwrap();
    assert!(load(&link, &name).is_err());
    symlink(folder.join(&name), folder.join("name")).unwrap();
    assert!(load(&folder, "name").is_err());
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(folder.join(&name), Some(65534), None).unwrap();
        assert!(load(&folder, &name).is_err(), "it belongs to another user");
    }
}

#[test]
fn what_does_not_fit_is_compiled_again() {
    let (_dir, folder, name) = cached();
    let engine = &engine::machine().unwrap().engine;
    let whole = fs::read(folder.join(&name)).unwrap();
    for content in [&b""[..], b"not code", &whole[..200]] {
        fs::write(folder.join(&name), content).unwrap();
        assert!(load(&folder, &name).is_err());
        assert!(cache::compiled_in(Some(&folder), engine, &hook("unreachable")).is_ok());
        assert!(load(&folder, &name).is_ok(), "it was written anew");
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let engine = &engine::machine().unwrap().engine;
    for folder in [None, Some(file.as_path()), Some(Path::new("/proc/none"))] {
        assert!(cache::compiled_in(folder, engine, &hook("unreachable")).is_ok());
    }
}

#[test]
fn old_entries_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let engine = &engine::machine().unwrap().engine;
    for number in 0..20 {
        let body = format!("(drop (i32.const {number})) unreachable");
        cache::compiled_in(Some(dir.path()), engine, &hook(&body)).unwrap();
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 16);
}
