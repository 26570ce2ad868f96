//! The `#!` line exactly as the kernel reads it (fs/binfmt_script.c): the first 256 bytes, one optional
//! argument, a path that may be cut off nowhere.

/// `BINPRM_BUF_SIZE`.
pub const BUFFER: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shebang {
    pub interpreter: Vec<u8>,
    pub argument: Option<Vec<u8>>,
}

/// Reads the line from the start of a file. `None`: the kernel answers ENOEXEC.
pub fn parse(head: &[u8]) -> Option<Shebang> {
    // The kernel's buffer is zero-padded behind a short file.
    let mut buffer = [0_u8; BUFFER];
    let len = head.len().min(BUFFER);
    buffer[..len].copy_from_slice(&head[..len]);
    if !buffer.starts_with(b"#!") {
        return None;
    }
    let last = BUFFER - 1;
    let newline = buffer.iter().position(|byte| matches!(byte, b'\n' | 0)).filter(|at| buffer[*at] == b'\n');
    let mut end = if let Some(at) = newline {
        at
    } else {
        // Without a newline the path must at least be seen to end.
        let start = first(&buffer, 2, last, |byte| !blank(byte))?;
        first(&buffer, start, last, |byte| blank(byte) || byte == 0)?;
        last
    };
    while blank(buffer[end - 1]) {
        end -= 1;
    }
    let start = first(&buffer, 2, end, |byte| !blank(byte)).filter(|at| *at != end)?;
    let separator = first(&buffer, start, end, |byte| blank(byte) || byte == 0);
    let argument = separator
        .filter(|at| buffer[*at] != 0)
        .and_then(|at| first(&buffer, at, end, |byte| !blank(byte)))
        .filter(|at| *at != end)
        .map(|at| until_nul(&buffer[at..end]));
    let interpreter = until_nul(&buffer[start..separator.unwrap_or(end).min(end)]);
    Some(Shebang { interpreter, argument })
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// First position in `from..=last` whose byte fits.
fn first(buffer: &[u8], from: usize, last: usize, fits: impl Fn(u8) -> bool) -> Option<usize> {
    (from..=last).find(|at| fits(buffer[*at]))
}

fn until_nul(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &[u8]) -> Option<(String, Option<String>)> {
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        parse(text).map(|found| (lossy(found.interpreter), found.argument.map(lossy)))
    }

    #[test]
    fn the_line_is_read_as_the_kernel_reads_it() {
        let plain = |path: &str| Some((path.to_owned(), None));
        let with = |path: &str, arg: &str| Some((path.to_owned(), Some(arg.to_owned())));
        for (text, expected) in [
            (&b"#!/bin/sh\necho"[..], plain("/bin/sh")),
            (b"#! /bin/sh \t\n", plain("/bin/sh")),
            (b"#!/bin/sh -e\n", with("/bin/sh", "-e")),
            (b"#!/usr/bin/env  -S bash -c x \n", with("/usr/bin/env", "-S bash -c x")),
            (b"#!/bin/sh\r\n", plain("/bin/sh\r")),
            (b"#!/bin/sh", plain("/bin/sh")),
            (b"#!\n", None),
            (b"#!   \n", None),
            (b"#!\0\n", plain("")),
            (b"#!/bin/sh\0 -e\n", plain("/bin/sh")),
            (b"# !/bin/sh\n", None),
            (b"", None),
        ] {
            assert_eq!(line(text), expected, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_path_that_the_buffer_cuts_is_no_interpreter() {
        let long = [b"#!/".to_vec(), vec![b'a'; 300], b"\n".to_vec()].concat();
        assert_eq!(line(&long), None);
    }

    #[test]
    fn an_argument_that_the_buffer_cuts_is_passed_cut() {
        let long = [b"#!/bin/sh ".to_vec(), vec![b'a'; 300], b"\n".to_vec()].concat();
        let found = parse(&long).map(|found| found.argument.map(|arg| arg.len()));
        assert_eq!(found, Some(Some(BUFFER - 1 - 10)));
    }
}
