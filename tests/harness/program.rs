//! What a test runs that is not installed: the `shellgate` under test, and the small hostile C programs.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::SystemTime;

/// The binary under test: `$SHELLGATE_BIN`, else the one beside this test's own executable, built when it is
/// missing or older than its sources.
pub fn shellgate() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("SHELLGATE_BIN").map_or_else(beside_us, |given| {
            let given = PathBuf::from(given);
            assert!(given.is_file(), "SHELLGATE_BIN names no file: {}", given.display());
            given
        })
    });
    &BINARY
}

/// A program of `supervisor/examples`: beside the binary under test, built like it. `$SHELLGATE_BIN` has its own in a
/// folder `examples` next to it.
pub fn example(name: &str) -> PathBuf {
    let file = Path::new("examples").join(name);
    match std::env::var_os("SHELLGATE_BIN") {
        Some(given) => {
            let given = Path::new(&given).with_file_name(&file);
            assert!(given.is_file(), "SHELLGATE_BIN has no example beside it: {}", given.display());
            given
        }
        None => built(&file, &["--example", name]),
    }
}

fn beside_us() -> PathBuf {
    built(Path::new("shellgate"), &[])
}

/// A file of our profile's folder, and what cargo is told to make it.
fn built(file: &Path, words: &[&str]) -> PathBuf {
    let ourselves = std::env::current_exe().expect("a test has an executable");
    let profile = ourselves.parent().and_then(Path::parent).expect("cargo puts tests in PROFILE/deps");
    let binary = profile.join(file);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in the workspace");
    let built = fs::metadata(&binary).and_then(|facts| facts.modified()).ok();
    let sources = ["supervisor", "common"].map(|part| newest(&root.join(part)));
    if built.is_none_or(|built| sources.iter().any(|source| *source > built)) {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "shellgate"]).args(words).arg("--target-dir");
        cargo.arg(profile.parent().expect("a profile is in the target folder")).current_dir(root);
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success(), "{} does not build", file.display());
    }
    binary
}

fn newest(path: &Path) -> SystemTime {
    let Ok(facts) = fs::metadata(path) else { return SystemTime::UNIX_EPOCH };
    let own = if facts.is_file() {
        facts.modified().unwrap_or(SystemTime::UNIX_EPOCH)
    } else {
        SystemTime::UNIX_EPOCH
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| newest(&entry.path())).fold(own, SystemTime::max)
}

/// The path of `programs/NAME.c`, compiled. Kept under a name of its content, so that tests of several processes
/// share it. `$SHELLGATE_PROGRAMS` names another folder, which may have it compiled already.
pub fn program(name: &str) -> PathBuf {
    let sources = sources();
    if sources.join(name).is_file() {
        return sources.join(name);
    }
    let source = sources.join(name).with_extension("c");
    let text = fs::read(&source).unwrap_or_else(|error| panic!("cannot read {}: {error}", source.display()));
    made(name, &text, |fresh| {
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-w", "-pthread", "-o"]).arg(fresh).arg(&source);
        // A program may ask for more in its first line.
        let text = String::from_utf8_lossy(&text);
        let flags = text.lines().next().and_then(|line| line.split_once("flags: "));
        cc.args(flags.iter().flat_map(|(_, flags)| flags.split_ascii_whitespace()));
        let done = cc.output().expect("a C compiler is needed: cc does not start");
        assert!(done.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&done.stderr));
    })
}

/// A file of this content.
pub(crate) fn kept(name: &str, content: &[u8]) -> PathBuf {
    made(name, content, |fresh| fs::write(fresh, content).expect("the temporary folder is writable"))
}

/// What `make` makes of a source, made once.
pub(crate) fn made(name: &str, source: &[u8], make: impl FnOnce(&Path)) -> PathBuf {
    let mut hash = DefaultHasher::new();
    source.hash(&mut hash);
    let folder = scratch().join(format!("{:016x}", hash.finish()));
    let file = folder.join(name);
    if !file.exists() {
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let thread = format!("{:?}", std::thread::current().id());
        let fresh = folder.join(format!("{name}.{}.{thread}", std::process::id()));
        make(&fresh);
        fs::rename(&fresh, &file).expect("a rename in one folder");
    }
    file
}

/// What tests of this user keep from one run to the next.
pub(crate) fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("shellgate-programs-{}", nix::unistd::geteuid()))
}

/// Where the sources of `programs` are.
pub(crate) fn sources() -> PathBuf {
    std::env::var_os("SHELLGATE_PROGRAMS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"), PathBuf::from)
}
