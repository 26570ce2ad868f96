//! The exec call itself: which one, through which ABI, with which strings.

use crate::capture::CaptureError;
use crate::capture::memory::Memory;
use crate::capture::strings::Strings;
use crate::launch::filter::{self, Numbers};
use crate::notify::RawCall;

/// `MAX_ARG_STRLEN`: the longest single string the kernel copies, with its NUL.
const LONGEST_STRING: usize = 32 * 4096;
/// The most bytes of strings and pointers the kernel takes whatever the stack limit (three quarters of 8 MiB).
const MOST_BYTES: usize = 6 * 1024 * 1024;
/// `PATH_MAX`, with its NUL.
const LONGEST_PATH: usize = 4096;
/// `AT_EXECVE_CHECK` (6.14): asks whether the file could be executed.
const AT_EXECVE_CHECK: u32 = 0x10000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syscall {
    Execve,
    Execveat,
}

impl Syscall {
    pub fn name(self) -> &'static str {
        match self {
            Self::Execve => "execve",
            Self::Execveat => "execveat",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abi {
    pub name: &'static str,
    numbers: Numbers,
    pointer: usize,
}

impl Abi {
    fn of(arch: u32) -> Option<Self> {
        let (name, numbers, pointer) = match arch {
            filter::ARCH_X86_64 => ("x86_64", filter::X86_64, 8),
            filter::ARCH_I386 => ("i386", filter::I386, 4),
            filter::ARCH_AARCH64 => ("aarch64", filter::AARCH64, 8),
            filter::ARCH_ARM => ("arm", filter::ARM, 4),
            _ => return None,
        };
        Some(Self { name, numbers, pointer })
    }

    /// The ABI of this program.
    pub const NATIVE: Self = if cfg!(target_arch = "aarch64") {
        Self { name: "aarch64", numbers: filter::AARCH64, pointer: 8 }
    } else {
        Self { name: "x86_64", numbers: filter::X86_64, pointer: 8 }
    };
}

/// What the caller passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub syscall: Syscall,
    pub abi: Abi,
    /// `AT_FDCWD` for execve.
    pub dirfd: i32,
    pub flags: u32,
    pub path: Vec<u8>,
    pub argv: Vec<Vec<u8>>,
    pub envp: Strings,
}

impl Call {
    /// Whether the caller only asks, and nothing will run.
    pub fn is_check(&self) -> bool {
        self.flags & AT_EXECVE_CHECK != 0
    }

    /// The name under which an interpreter is given the script. A file given by descriptor has no path that it
    /// could open.
    pub fn name_for_interpreters(&self) -> Vec<u8> {
        match self.syscall {
            Syscall::Execveat if self.dirfd != libc::AT_FDCWD && !self.path.starts_with(b"/") => {
                let mut name = format!("/dev/fd/{}", self.dirfd).into_bytes();
                if !self.path.is_empty() {
                    name.push(b'/');
                    name.extend_from_slice(&self.path);
                }
                name
            }
            Syscall::Execve | Syscall::Execveat => self.path.clone(),
        }
    }
}

/// Reads the call. The inner error is the errno with which the kernel would fail it.
pub fn read(tid: i32, raw: RawCall) -> Result<Result<Call, i32>, CaptureError> {
    let abi = Abi::of(raw.arch).ok_or(CaptureError::Architecture(raw.arch))?;
    let arg = raw.args.map(|arg| if abi.pointer == 4 { arg & 0xffff_ffff } else { arg });
    let (syscall, dirfd, path, argv, envp, flags) = if raw.nr == abi.numbers.execve {
        (Syscall::Execve, libc::AT_FDCWD, arg[0], arg[1], arg[2], 0)
    } else if raw.nr == abi.numbers.execveat {
        (Syscall::Execveat, arg[0] as u32 as i32, arg[1], arg[2], arg[3], arg[4] as u32)
    } else if filter::is_x32(raw.arch, raw.nr) {
        // Our own filter says so before anybody is asked; a container's has another author.
        return Ok(Err(libc::ENOSYS));
    } else {
        return Err(CaptureError::NoExec { abi: abi.name, nr: raw.nr });
    };
    let mut reader = Reader { tid, memory: Memory::of(tid), pointer: abi.pointer, budget: MOST_BYTES };
    // One read for the three places that every exec needs.
    reader.memory.prefetch([path, argv, envp].into_iter().filter(|addr| *addr != 0))?;
    let mut text = Vec::new();
    match reader.memory.string(path, LONGEST_PATH, &mut text)? {
        Some(true) => {}
        Some(false) => return Ok(Err(libc::ENAMETOOLONG)),
        None => return Err(CaptureError::Unreadable { what: "the path", tid, addr: path }),
    }
    let path = text;
    let Some(argv) = reader.strings("argv", argv)? else { return Ok(Err(libc::E2BIG)) };
    let mut argv: Vec<Vec<u8>> = argv.iter().map(<[u8]>::to_vec).collect();
    if argv.is_empty() {
        // Since 5.18 no program starts without a first word: the kernel puts an empty one there.
        argv.push(Vec::new());
    }
    let Some(envp) = reader.strings("envp", envp)? else { return Ok(Err(libc::E2BIG)) };
    Ok(Ok(Call { syscall, abi, dirfd, flags, path, argv, envp }))
}

struct Reader {
    tid: i32,
    memory: Memory,
    pointer: usize,
    /// Bytes the kernel may still take.
    budget: usize,
}

impl Reader {
    /// The strings of a NULL-terminated pointer array (none for a NULL array, as the kernel reads it); `None`
    /// when they are more than the kernel takes.
    fn strings(&mut self, what: &'static str, array: u64) -> Result<Option<Strings>, CaptureError> {
        let Some(pointers) = self.pointers(what, array)? else { return Ok(None) };
        self.memory.prefetch(pointers.iter().copied())?;
        let mut strings = Strings::default();
        for addr in pointers {
            let before = strings.as_bytes().len();
            let whole = strings.read(|text| {
                let read = self.memory.string(addr, LONGEST_STRING, text)?;
                read.ok_or(CaptureError::Unreadable { what, tid: self.tid, addr })
            })?;
            let left = self.budget.checked_sub(strings.as_bytes().len() - before);
            let (true, Some(left)) = (whole, left) else { return Ok(None) };
            self.budget = left;
        }
        Ok(Some(strings))
    }

    fn pointers(&mut self, what: &'static str, array: u64) -> Result<Option<Vec<u64>>, CaptureError> {
        let mut pointers = Vec::new();
        if array == 0 {
            return Ok(Some(pointers));
        }
        let tid = self.tid;
        let unreadable = |addr| CaptureError::Unreadable { what, tid, addr };
        let (width, mut addr, mut across) = (self.pointer, array, [0; 8]);
        loop {
            let Some(rest) = self.memory.rest(addr)? else { return Err(unreadable(addr)) };
            let words = if rest.len() >= width {
                rest
            } else {
                // One that begins in this page and ends in the next.
                if !self.memory.copy(addr, &mut across[..width])? {
                    return Err(unreadable(addr));
                }
                &across[..width]
            };
            for word in words.chunks_exact(width) {
                let mut bytes = [0; 8];
                bytes[..width].copy_from_slice(word);
                let pointer = u64::from_le_bytes(bytes);
                if pointer == 0 {
                    return Ok(Some(pointers));
                }
                let Some(budget) = self.budget.checked_sub(width) else { return Ok(None) };
                self.budget = budget;
                pointers.push(pointer);
                addr = addr.wrapping_add(width as u64);
            }
        }
    }
}
