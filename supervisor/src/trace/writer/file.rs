//! The file behind the trace: ours, regular, private. Anything else is refused, without waiting and without
//! touching it.

use std::fs::{self, File, FileType, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// How long another supervisor's write may be seen half done before the line counts as torn.
const SETTLE: Duration = Duration::from_millis(2);

/// Opens or creates; the reason when it may not be used.
pub(super) fn open(path: &Path) -> Result<File, String> {
    // Looked at before it is opened, because opening some devices already does something.
    match fs::symlink_metadata(path) {
        Ok(found) => regular(found.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.to_string()),
    }
    // O_NONBLOCK: whatever was put there in the meantime, opening it does not wait.
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    regular(found.file_type())?;
    let me = nix::unistd::geteuid().as_raw();
    if found.uid() != me {
        return Err(format!("it belongs to uid {}, not to uid {me}", found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))
            .map_err(|error| format!("others may read it and its mode cannot be changed: {error}"))?;
    }
    Ok(file)
}

fn regular(kind: FileType) -> Result<(), String> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(format!("it is {what}, not a regular file"))
}

/// Whether the last line has no end. A write of another supervisor may be seen half done, so a file that
/// still grows is asked again.
pub(super) fn ends_inside_a_line(file: &File) -> io::Result<bool> {
    let mut before = None;
    for _ in 0..5 {
        let size = file.metadata()?.len();
        if size == 0 {
            return Ok(false);
        }
        let mut last = [0];
        match file.read_exact_at(&mut last, size - 1) {
            Ok(()) => {}
            // Truncated in between.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => continue,
            Err(error) => return Err(error),
        }
        if last == *b"\n" {
            return Ok(false);
        }
        if before == Some(size) {
            return Ok(true);
        }
        before = Some(size);
        std::thread::sleep(SETTLE);
    }
    Ok(false)
}
