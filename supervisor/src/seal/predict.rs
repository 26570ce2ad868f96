//! What the kernel will have copied when the judged call is the one that runs.

use crate::capture::Attempt;
use crate::capture::call::Call;
use crate::seal::{Expectation, Identity};

/// The expectation for one attempt, of the notification with the number `call`, whose mapped file the seal has
/// identified as `exe`.
pub fn predict(seq: u64, attempt: &Attempt, call: u64, exe: Identity) -> Expectation {
    let lines = attempt
        .program
        .interpreters
        .iter()
        .map(|interpreter| (&interpreter.line.interpreter[..], interpreter.line.argument.as_deref()));
    Expectation {
        seq,
        target: attempt.target,
        call,
        argv: joined(&rewritten(&attempt.call, lines)),
        envp: attempt.call.envp.as_bytes().to_vec(),
        exe,
    }
}

/// argv after the kernel's `#!` rewriting (fs/binfmt_script.c): each level replaces the first word by
/// interpreter, optional argument and the name under which the script was found.
fn rewritten<'a>(
    call: &Call,
    interpreters: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
) -> Vec<Vec<u8>> {
    let mut argv = call.argv.clone();
    let mut script = call.name_for_interpreters();
    for (interpreter, argument) in interpreters {
        let mut words = vec![interpreter.to_vec()];
        words.extend(argument.map(<[u8]>::to_vec));
        words.push(std::mem::replace(&mut script, interpreter.to_vec()));
        argv.splice(..1, words);
    }
    argv
}

fn joined(strings: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(strings.iter().map(|text| text.len() + 1).sum());
    for text in strings {
        bytes.extend_from_slice(text);
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::call::{Abi, Syscall};
    use crate::capture::strings::Strings;

    fn call(syscall: Syscall, dirfd: i32, path: &str, argv: &[&str]) -> Call {
        Call {
            syscall,
            abi: Abi::NATIVE,
            dirfd,
            flags: 0,
            path: path.into(),
            argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
            envp: Strings::default(),
        }
    }

    fn words(call: &Call, lines: &[(&str, Option<&str>)]) -> String {
        let lines = lines.iter().map(|(path, arg)| (path.as_bytes(), arg.map(str::as_bytes)));
        String::from_utf8(joined(&rewritten(call, lines))).unwrap_or_default()
    }

    #[test]
    fn a_plain_program_gets_its_words_as_they_are() {
        let call = call(Syscall::Execve, libc::AT_FDCWD, "/bin/x", &["lie", "", "b"]);
        assert_eq!(words(&call, &[]), "lie\0\0b\0");
    }

    #[test]
    fn each_interpreter_pushes_itself_its_argument_and_the_script() {
        let call = call(Syscall::Execve, libc::AT_FDCWD, "./t", &["t", "a"]);
        assert_eq!(words(&call, &[("/bin/sh", Some("-e"))]), "/bin/sh\0-e\0./t\0a\0");
        let nested = [("./s2", Some("x")), ("/bin/sh", None)];
        assert_eq!(words(&call, &nested), "/bin/sh\0./s2\0x\0./t\0a\0");
    }

    #[test]
    fn a_script_given_by_descriptor_is_named_by_it() {
        let whole = call(Syscall::Execveat, 3, "", &["t", "a"]);
        assert_eq!(words(&whole, &[("/bin/sh", None)]), "/bin/sh\0/dev/fd/3\0a\0");
        let below = call(Syscall::Execveat, 3, "d/t", &["t"]);
        assert_eq!(words(&below, &[("/bin/sh", None)]), "/bin/sh\0/dev/fd/3/d/t\0");
        let absolute = call(Syscall::Execveat, 3, "/t", &["t"]);
        assert_eq!(words(&absolute, &[("/bin/sh", None)]), "/bin/sh\0/t\0");
    }
}
