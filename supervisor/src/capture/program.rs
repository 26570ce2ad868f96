//! The program behind the path: the file itself and, for `#!` scripts, the chain of interpreters the kernel
//! would go through, each opened and identified.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::stat::{SFlag, fstat};

use crate::capture::call::{Call, Syscall};
use crate::capture::hold::{Held, Hold, hold};
use crate::capture::lookout::Lookout;
use crate::capture::process::Process;
use crate::capture::resolve::{self, Base, Located, Resolved};
use crate::capture::shebang::{self, Shebang};
use crate::capture::view::View;
use crate::capture::{CaptureError, binfmt};
use crate::event::FileKind;
use crate::notify::pool;
use crate::sys::files;

/// How often the kernel goes from script to interpreter before it says ELOOP.
const MOST_INTERPRETERS: usize = 5;
/// Longer than the coarsest tick that stamps a file's ctime: a file that is older cannot be changed again
/// without its ctime showing it.
const SETTLED: Duration = Duration::from_millis(12);
/// A file that was changed again after so many waits is not waited for any longer.
const MOST_WAITS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Elf,
    Script,
    /// The kernel will say ENOEXEC, and a shell may then read it itself.
    Unknown,
    /// Executable but not readable for us; if it were a script, the seal would see it.
    Unreadable,
}

#[derive(Debug)]
pub struct Interpreter {
    pub line: Shebang,
    pub file: Resolved,
}

#[derive(Debug)]
pub struct Program {
    pub file: Resolved,
    pub format: Format,
    /// In the order the kernel meets them; the last one is what it maps.
    pub interpreters: Vec<Interpreter>,
}

impl Program {
    /// The file that the kernel will map.
    pub fn mapped(&self) -> &Resolved {
        self.interpreters.last().map_or(&self.file, |interpreter| &interpreter.file)
    }

    /// Whether the files are still what was looked at. One that was recognised `just_now` is not looked at again: its
    /// identity was the kernel's own, and the seal compares that.
    pub fn is_unchanged(&self, lookout: &Lookout, just_now: bool) -> bool {
        let same = |file: &Resolved| {
            if file.known {
                return just_now || lookout.is_unchanged(file);
            }
            fstat(&file.fd).is_ok_and(|now| resolve::identity(&now) == file.identity())
                && file.held.as_ref().is_none_or(Held::is_quiet)
        };
        same(&self.file) && self.interpreters.iter().all(|interpreter| same(&interpreter.file))
    }
}

/// The inner error is the kernel's errno.
pub fn open(
    view: &View,
    process: &Process,
    call: &Call,
    lookout: &Lookout,
) -> Result<Result<Program, i32>, CaptureError> {
    // Our own rights stand for the caller's only when it is the same user; otherwise the kernel says it later.
    let same_user = process.uid == our_uid();
    let at = match find(view, call) {
        Ok(at) => at,
        Err(errno) => return Ok(Err(errno)),
    };
    let (file, mut format, mut head) = match admit(at, same_user, lookout)? {
        Ok(admitted) => admitted,
        Err(errno) => return Ok(Err(errno)),
    };
    let first_format = format;
    let mut interpreters: Vec<Interpreter> = Vec::new();
    while format == Format::Script {
        let Some(line) = shebang::parse(&head) else {
            format = Format::Unknown;
            break;
        };
        if interpreters.len() == MOST_INTERPRETERS {
            return Ok(Err(libc::ELOOP));
        }
        let path = interpreter_path(view, &line);
        let found = match path {
            Ok(at) => admit(at, same_user, lookout)?,
            Err(errno) => Err(errno),
        };
        let (file, next, next_head) = match found {
            Ok(found) => found,
            Err(errno) => return Ok(Err(errno)),
        };
        interpreters.push(Interpreter { line, file });
        (format, head) = (next, next_head);
    }
    if format == Format::Unknown {
        let subject = interpreters.last().map_or(&file, |interpreter| &interpreter.file);
        if let Some(handler) = binfmt::handler(&head, &subject.path) {
            return Err(CaptureError::BinfmtMisc { path: subject.display(), handler });
        }
    }
    let format = if interpreters.is_empty() { format } else { first_format };
    Ok(Ok(Program { file, format, interpreters }))
}

/// It does not change: whoever judges keeps the rights it began with.
fn our_uid() -> u32 {
    static UID: OnceLock<u32> = OnceLock::new();
    *UID.get_or_init(|| nix::unistd::geteuid().as_raw())
}

fn find(view: &View, call: &Call) -> Result<Located, i32> {
    let known = libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW;
    if call.flags & !(known as u32) != 0 {
        return Err(libc::EINVAL);
    }
    let base = match call.syscall {
        Syscall::Execve => Base::Cwd,
        Syscall::Execveat if call.dirfd == libc::AT_FDCWD => Base::Cwd,
        Syscall::Execveat => Base::Fd(call.dirfd),
    };
    if call.path.is_empty() && call.flags & libc::AT_EMPTY_PATH as u32 != 0 {
        return match base {
            Base::Fd(fd) => resolve::descriptor(view, fd),
            // The working directory cannot be executed.
            Base::Cwd => Err(libc::EACCES),
        };
    }
    let follow = call.flags & libc::AT_SYMLINK_NOFOLLOW as u32 == 0;
    resolve::locate(view, base, &call.path, follow)
}

fn interpreter_path(view: &View, line: &Shebang) -> Result<Located, i32> {
    if line.interpreter.is_empty() {
        // The kernel takes it for the working directory.
        return Err(libc::EACCES);
    }
    resolve::locate(view, Base::Cwd, &line.interpreter, true)
}

/// The checks the kernel makes before it looks inside, and a look inside.
#[expect(clippy::type_complexity, reason = "one caller, which takes the parts apart at once")]
fn admit(
    at: Located,
    same_user: bool,
    lookout: &Lookout,
) -> Result<Result<(Resolved, Format, Vec<u8>), i32>, CaptureError> {
    let file = match lookout.recognise(at) {
        Ok(known) => return Ok(Ok((known, Format::Elf, Vec::new()))),
        Err(at) => match at.examine() {
            Ok(file) => file,
            Err(errno) => return Ok(Err(errno)),
        },
    };
    let mode = file.stat.st_mode;
    if mode & SFlag::S_IFMT.bits() == SFlag::S_IFLNK.bits() {
        return Ok(Err(libc::ELOOP));
    }
    if mode & SFlag::S_IFMT.bits() != SFlag::S_IFREG.bits() || mode & 0o111 == 0 {
        return Ok(Err(libc::EACCES));
    }
    if same_user && let Err(error) = files::may_execute(file.fd.as_fd()) {
        let errno = error.raw_os_error().unwrap_or(libc::EACCES);
        // Kernels before 5.8 do not know the call; the mode bits have been looked at.
        if errno != libc::ENOSYS && errno != libc::EINVAL {
            return Ok(Err(errno));
        }
    }
    let open = match readable(&file) {
        Ok(open) => open,
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            return Ok(Ok((settle(file)?, Format::Unreadable, Vec::new())));
        }
        Err(source) => return Err(CaptureError::File { path: file.display(), source }),
    };
    // Before the first look: what is looked at is what stays.
    let mut file = file;
    let open = match hold(open) {
        Hold::Held(held) => {
            file.held = Some(held);
            None
        }
        Hold::Busy => return Ok(Err(libc::ETXTBSY)),
        Hold::Unavailable(open) => Some(open),
    };
    let file = settle(file)?;
    let open = file.held.as_ref().map(Held::file).or(open.as_ref());
    let head = open.map(|open| head(open, file.stat.st_size)).transpose();
    let head =
        head.map_err(|source| CaptureError::File { path: file.display(), source })?.unwrap_or_default();
    let format = format(&head);
    if format == Format::Elf && same_user && file.held.is_some() {
        lookout.remember(&file);
    }
    Ok(Ok((file, format, head)))
}

/// What the kernel takes a file for that starts like this.
pub(crate) fn format(head: &[u8]) -> Format {
    if head.starts_with(b"\x7fELF") && is_for_this_machine(head) {
        Format::Elf
    } else if head.starts_with(b"#!") {
        Format::Script
    } else {
        Format::Unknown
    }
}

/// `e_machine` of the ABIs the filter knows; other machines' programs run through binfmt_misc or not at all.
fn is_for_this_machine(head: &[u8]) -> bool {
    let machine = head.get(18..20).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    match machine {
        Some(62 | 3) => cfg!(target_arch = "x86_64"),
        Some(183 | 40) => cfg!(target_arch = "aarch64"),
        _ => false,
    }
}

/// Timestamps are coarse: a file written in this very tick can be written again without a trace. It is looked
/// at only once it is older than a tick.
fn settle(mut file: Resolved) -> Result<Resolved, CaptureError> {
    let failed = |file: &Resolved, source| CaptureError::File { path: file.display(), source };
    // With an early stat the change that made us open it may be missing.
    file.stat = fstat(&file.fd).map_err(|errno| failed(&file, errno.into()))?;
    for _ in 0..MOST_WAITS {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let changed = Duration::new(file.stat.st_ctime.max(0) as u64, file.stat.st_ctime_nsec as u32);
        let missing = now.checked_sub(changed).and_then(|age| SETTLED.checked_sub(age));
        let Some(missing) = missing.filter(|_| file.kind == FileKind::Regular) else { return Ok(file) };
        pool::about_to_wait();
        std::thread::sleep(missing);
        file.stat = fstat(&file.fd).map_err(|errno| failed(&file, errno.into()))?;
    }
    Err(failed(&file, std::io::Error::other("it changes all the time")))
}

/// The start of a file of `size` bytes; a size of 0 may mean that the file system does not know it.
fn head(file: &File, size: i64) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; shebang::BUFFER];
    let mut len = 0;
    while len == 0 || len < head.len() && len as i64 != size {
        match file.read_at(&mut head[len..], len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(len);
    Ok(head)
}

/// A second, readable descriptor of the same inode.
pub fn readable(file: &Resolved) -> std::io::Result<File> {
    File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(format!("/proc/self/fd/{}", file.fd.as_raw_fd()))
}
