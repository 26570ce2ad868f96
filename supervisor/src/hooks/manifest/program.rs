//! Which file a command hook runs: fixed at load time, with the supervisor's PATH, before anything the
//! agent does can shadow it. Looks at files, runs none.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Why a command cannot become a hook.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("command: is empty; name the program to run")]
    Empty,
    #[error("command: {0}")]
    Split(String),
    #[error("program \"{0}\" is in no directory of PATH; install it or write its absolute path")]
    NotOnPath(String),
    #[error("program {path} cannot be used: {source}")]
    Missing { path: PathBuf, source: io::Error },
    #[error("program {0} is a directory; name the file to run")]
    Directory(PathBuf),
    #[error("program {0} is not a regular file")]
    NotRegular(PathBuf),
    #[error("program {0} is not executable; run chmod +x on it, or name its interpreter in front")]
    NotExecutable(PathBuf),
    #[error("script {path} cannot be used: {source}")]
    Script { path: PathBuf, source: io::Error },
    #[error("script {0} is not a regular file")]
    ScriptNotRegular(PathBuf),
}

/// The command with every file it names made absolute, and those files.
#[derive(Debug, PartialEq, Eq)]
pub struct Resolved {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub files: Vec<PathBuf>,
}

/// Fixes the program and a script operand. `folder` is where relative paths start: the folder of the file
/// that declares the hook.
pub fn resolve(command: &[String], folder: &Path, path: Option<&OsStr>) -> Result<Resolved, ProgramError> {
    let Some((first, rest)) = command.split_first() else { return Err(ProgramError::Empty) };
    if first.trim().is_empty() {
        return Err(ProgramError::Empty);
    }
    let program = if first.contains('/') {
        let program = absolute(Path::new(first), folder);
        runnable(&program)?;
        program
    } else {
        search(first, path)?
    };
    let mut args = rest.to_vec();
    let mut files = vec![program.clone()];
    if let Some(at) = script_operand(&program, &args, folder) {
        let script = absolute(Path::new(&args[at]), folder);
        let facts = std::fs::metadata(&script)
            .map_err(|source| ProgramError::Script { path: script.clone(), source })?;
        if !facts.is_file() {
            return Err(ProgramError::ScriptNotRegular(script));
        }
        args[at] = script.to_string_lossy().into_owned();
        files.push(script);
    }
    Ok(Resolved { program, args, files })
}

/// Absolute without looking at links: an interpreter of a virtual environment is told apart by its link.
fn absolute(path: &Path, folder: &Path) -> PathBuf {
    folder.join(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// Relative entries of PATH are passed over: they would mean another file after each `cd`.
fn search(name: &str, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let mut refused = None;
    for folder in path.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(name);
        match runnable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(ProgramError::Missing { .. } | ProgramError::Directory(_)) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| ProgramError::NotOnPath(name.to_owned())))
}

fn runnable(path: &Path) -> Result<(), ProgramError> {
    let facts =
        std::fs::metadata(path).map_err(|source| ProgramError::Missing { path: path.to_owned(), source })?;
    if facts.is_dir() {
        return Err(ProgramError::Directory(path.to_owned()));
    }
    if !facts.is_file() {
        return Err(ProgramError::NotRegular(path.to_owned()));
    }
    // Root passes access() on a file without any x bit, and execve would still fail.
    if facts.permissions().mode() & 0o111 == 0 || access(path, AccessFlags::X_OK).is_err() {
        return Err(ProgramError::NotExecutable(path.to_owned()));
    }
    Ok(())
}

/// Position of the script file an interpreter is given. A missing one would make the interpreter exit with a
/// status of its own, which at a decision point looks like a policy's refusal.
fn script_operand(program: &Path, args: &[String], folder: &Path) -> Option<usize> {
    const SUFFIXES: [&str; 9] = [".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".pl", ".rb", ".ts"];
    if !is_interpreter(program.file_name()?.to_str()?) {
        return None;
    }
    for (at, word) in args.iter().enumerate() {
        if !word.starts_with('-') {
            // Behind options the word may be an option's value; then only what looks like a file counts.
            let looks = word.contains('/') || SUFFIXES.iter().any(|suffix| word.ends_with(suffix));
            return (at == 0 || looks || absolute(Path::new(word), folder).exists()).then_some(at);
        }
        // Code on the command line, a module, or standard input: no file.
        let code = !word.starts_with("--") && word.contains(['c', 'e', 'm', 'E', 's']);
        if code || matches!(word.as_str(), "-" | "--eval" | "--print" | "-p") {
            return None;
        }
    }
    None
}

fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        plain,
        "python"
            | "pypy"
            | "bash"
            | "sh"
            | "dash"
            | "zsh"
            | "ksh"
            | "node"
            | "nodejs"
            | "perl"
            | "ruby"
            | "php"
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use std::fs;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn file(path: &Path, mode: u32) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_relative_program_is_found_beside_its_configuration() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("guard.sh"), 0o755);
        let found = resolve(&words("./guard.sh x"), dir.path(), None).unwrap();
        assert_eq!(found.program, dir.path().join("guard.sh"));
        assert_eq!(found.args, ["x"]);
    }

    #[test]
    fn a_bare_name_is_fixed_with_path_and_relative_entries_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("guard"), 0o755);
        let path = format!(".:bin::{}", dir.path().display());
        let found = resolve(&words("guard"), Path::new("/"), Some(OsStr::new(&path))).unwrap();
        assert_eq!(found.program, dir.path().join("guard"));
        assert!(resolve(&words("guard"), dir.path(), Some(OsStr::new(".:bin"))).is_err());
    }

    #[test]
    fn what_cannot_run_is_an_error_that_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("plain"), 0o644);
        for (command, expected) in [
            ("./plain", "chmod +x"),
            ("./absent", "cannot be used"),
            ("/", "is a directory"),
            ("no-such-program-here", "in no directory of PATH"),
            ("/dev/null", "not a regular file"),
            ("", "is empty"),
        ] {
            let command = if command.is_empty() { Vec::new() } else { words(command) };
            let error = resolve(&command, dir.path(), Some(OsStr::new("/nowhere"))).unwrap_err();
            assert!(error.to_string().contains(expected), "{command:?}: {error}");
        }
    }

    #[test]
    fn a_script_operand_must_exist_and_becomes_absolute() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("guard.py"), 0o644);
        file(&dir.path().join("python3"), 0o755);
        let path = dir.path().as_os_str();
        let found = resolve(&words("python3 guard.py --strict"), dir.path(), Some(path)).unwrap();
        assert_eq!(found.args, [dir.path().join("guard.py").to_str().unwrap(), "--strict"]);
        assert_eq!(found.files.len(), 2);
        for missing in ["python3 /nonexistent.py", "python3 absent", "python3 -u absent.py", "python3 -W x/y"]
        {
            let error = resolve(&words(missing), dir.path(), Some(path)).unwrap_err();
            assert!(matches!(error, ProgramError::Script { .. }), "{missing}: {error}");
        }
    }

    #[test]
    fn code_on_the_command_line_names_no_file() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("bash"), 0o755);
        for line in ["bash -c exit", "bash -lc exit", "bash -s x", "bash -o pipefail -c exit", "bash"] {
            let found = resolve(&words(line), dir.path(), Some(dir.path().as_os_str())).unwrap();
            assert_eq!(found.files.len(), 1, "{line}");
        }
    }
}
