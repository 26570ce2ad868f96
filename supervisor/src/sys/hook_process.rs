//! Starting a hook's process: its own session, only descriptors 0, 1 and 2, default signals, and an exec
//! that means exactly the named file. Trusts the caller for what to run; never looks at PATH.
#![expect(
    unsafe_code,
    reason = "setsid, prctl, close_range and execve between fork and exec, pidfd_open and waitid"
)]

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::alone;

/// Whether the process may start others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Company {
    Allowed,
    /// It can start threads and no process: see [`super::alone`].
    Alone,
}

/// Starts `program` with piped standard streams, an environment of exactly `env`, in `cwd`.
///
/// The child leads a new session and so a new process group, and is killed when the calling *thread* ends:
/// call it on the thread that will wait for it. Errors are those of the failing call, `execve` included.
pub fn spawn(
    program: &Path,
    args: &[String],
    env: &[(OsString, OsString)],
    cwd: &Path,
    company: Company,
) -> io::Result<Child> {
    let image = Image::new(program.as_os_str(), args, env)?;
    let parent = libc::pid_t::try_from(std::process::id()).map_err(io::Error::other)?;
    let mut command = Command::new(program);
    command.current_dir(cwd).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: the closure runs in the child between fork and exec, where only async-signal-safe calls are
    // allowed: `isolate`, `stay_alone` and `Image::exec` make plain system calls on memory that was allocated before the
    // fork, take no lock and allocate nothing; an `io::Error` made from errno does not allocate either.
    unsafe {
        command.pre_exec(move || {
            isolate(parent)?;
            if company == Company::Alone {
                alone::stay_alone()?;
            }
            Err(image.exec())
        });
    }
    command.spawn()
}

/// How a process ended, as `waitid` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    /// Any signal; nix's decoding has no name for the real-time ones and fails.
    Killed(i32),
}

/// How the child behind a pidfd ended, if it did; it stays a zombie.
pub fn ended(pidfd: BorrowedFd<'_>) -> io::Result<Option<Ended>> {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    let id = libc::id_t::try_from(pidfd.as_raw_fd()).map_err(io::Error::other)?;
    // SAFETY: the descriptor is borrowed for the call, and `info` is a live siginfo_t that the kernel fills.
    if unsafe { libc::waitid(libc::P_PIDFD, id, info.as_mut_ptr(), flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: siginfo_t is plain data, zeroed above, which is what "nothing to report" looks like.
    let info = unsafe { info.assume_init() };
    // SAFETY: after waitid the fields of SIGCHLD are the ones that are set, or all of it is zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    let ended = if info.si_code == libc::CLD_EXITED { Ended::Exited(status) } else { Ended::Killed(status) };
    Ok((pid != 0).then_some(ended))
}

/// What execve is given, laid out before the fork.
struct Image {
    program: CString,
    argv: Vector,
    envp: Vector,
}

/// A NULL-terminated array of pointers into strings that live as long as it does.
struct Vector {
    pointers: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

// SAFETY: the pointers lead into heap memory owned by `_strings`, which is never changed; moving the struct
// to another thread moves the owner along and shared access only reads.
unsafe impl Send for Vector {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for Vector {}

impl Vector {
    fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { pointers, _strings: strings }
    }
}

impl Image {
    fn new(program: &OsStr, args: &[String], env: &[(OsString, OsString)]) -> io::Result<Self> {
        let program = CString::new(program.as_bytes())?;
        let mut argv = vec![program.clone()];
        for arg in args {
            argv.push(CString::new(arg.as_bytes())?);
        }
        let mut envp = Vec::with_capacity(env.len());
        for (name, value) in env {
            envp.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        Ok(Self { program, argv: Vector::new(argv), envp: Vector::new(envp) })
    }

    /// Becomes the program, or says why not. Not left to `Command`: its execvp hands a file the kernel does
    /// not know to /bin/sh, and a shell that chokes on it exits 2, which two protocols read as a deny.
    fn exec(&self) -> io::Error {
        // SAFETY: a NUL-terminated path and two NULL-terminated arrays of NUL-terminated strings, all owned
        // by `self`, which outlives the call.
        unsafe {
            libc::execve(self.program.as_ptr(), self.argv.pointers.as_ptr(), self.envp.pointers.as_ptr())
        };
        io::Error::last_os_error()
    }
}

/// Runs in the child, before exec.
fn isolate(parent: libc::pid_t) -> io::Result<()> {
    // SAFETY: system calls on integers and on memory of this stack; the kernel's sigaction is at most 32
    // bytes on the architectures we build for, its mask 8. See `spawn` for why they are allowed here.
    unsafe {
        // No controlling terminal: a hook can neither eat keystrokes nor be stopped by SIGTTIN.
        if libc::setsid() == -1 {
            return Err(io::Error::last_os_error());
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have died before the line above took effect.
        if libc::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // The system call itself: libc's keeps signals 32 and 33 to itself, and a caller may have left them
        // ignored. All zero is SIG_DFL, no flags, no mask. Fails for KILL and STOP, which never change.
        let default = [0_u64; 4];
        for signal in 1..=64 {
            let no_old = std::ptr::null_mut::<u64>();
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), no_old, 8_usize);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        // Marked, not closed: the pipe on which `Command` reports a failed exec is one of them.
        let marked = libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        if marked == -1 {
            return mark_one_by_one();
        }
    }
    Ok(())
}

/// For kernels before 5.11 and containers whose filter does not know close_range.
fn mark_one_by_one() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes one struct that lives on this stack; fcntl takes integers, and a descriptor
    // that is not open gives EBADF, which is as good.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == -1 {
            return Err(io::Error::last_os_error());
        }
        // The hard limit: descriptors opened before a soft limit was lowered stay open above it.
        let end = libc::c_int::try_from(limit.rlim_max.min(1 << 20)).unwrap_or(1 << 20);
        for fd in 3..end {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    Ok(())
}
