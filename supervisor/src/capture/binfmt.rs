//! binfmt_misc: formats that the administrator hands to other programs. Not modelled, so a file that such a
//! handler would take is refused rather than judged as something it is not.

use std::fs;
use std::path::Path;

const FOLDER: &str = "/proc/sys/fs/binfmt_misc";

/// The enabled handler that would take a file which is neither ELF nor a script.
pub fn handler(head: &[u8], path: &[u8]) -> Option<String> {
    handler_in(Path::new(FOLDER), head, path)
}

fn handler_in(folder: &Path, head: &[u8], path: &[u8]) -> Option<String> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "register" || name == "status" {
            continue;
        }
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        if takes(&text, head, path) {
            return Some(name);
        }
    }
    None
}

pub(crate) fn takes(text: &str, head: &[u8], path: &[u8]) -> bool {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if !text.lines().any(|line| line == "enabled") {
        return false;
    }
    if let Some(extension) = field("extension .") {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        return name.rsplit(|byte| *byte == b'.').next() == Some(extension.as_bytes());
    }
    let offset = field("offset ").and_then(|offset| offset.parse::<usize>().ok()).unwrap_or(0);
    let Some(magic) = field("magic ").and_then(hex) else { return false };
    let mask = field("mask ").and_then(hex).unwrap_or_else(|| vec![0xff; magic.len()]);
    magic
        .iter()
        .zip(&mask)
        .enumerate()
        .all(|(at, (byte, mask))| head.get(offset + at).is_some_and(|found| found & mask == byte & mask))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::takes;

    const JAVA: &str = "enabled\ninterpreter /usr/bin/jexec\nflags: \noffset 0\nmagic cafebabe\n";
    const EXE: &str = "enabled\ninterpreter /usr/bin/wine\nflags: \nextension .exe\n";

    #[test]
    fn a_handler_takes_what_its_magic_or_extension_names() {
        assert!(takes(JAVA, b"\xca\xfe\xba\xbe\0\0", b"/w/A.class"));
        assert!(!takes(JAVA, b"\xca\xfe", b"/w/A.class"));
        assert!(!takes(&JAVA.replace("enabled", "disabled"), b"\xca\xfe\xba\xbe", b"/w/A.class"));
        assert!(takes(EXE, b"MZ", b"/w/x.exe"));
        assert!(!takes(EXE, b"MZ", b"/w.exe/x"));
    }
}
