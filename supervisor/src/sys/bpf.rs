//! The bpf() system call, one thin wrapper a command. Argument structs are prefixes of `union bpf_attr`
//! (include/uapi/linux/bpf.h): the kernel takes a shorter one and reads the rest as zero.
//!
//! May not decide anything. Descriptors are owned and close-on-exec (the kernel makes them so).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use aya_obj::generated::bpf_insn;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const MAP_DELETE_ELEM: libc::c_int = 3;
const PROG_LOAD: libc::c_int = 5;
const PROG_TEST_RUN: libc::c_int = 10;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const BTF_LOAD: libc::c_int = 18;
const MAP_FREEZE: libc::c_int = 22;

/// Create or replace.
pub const ANY: u64 = 0;
/// Replace only.
pub const EXIST: u64 = 2;

/// Calls bpf() with a prefix of its attributes.
///
/// # Safety
/// Every address in `attr` must be valid for what `command` does with it.
unsafe fn bpf<A>(command: libc::c_int, attr: &mut A) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are exclusively ours and exactly that long; the caller vouches for what they name.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attr), size_of::<A>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as libc::c_int) }
}

/// Takes the descriptor that bpf() returned.
fn own(fd: libc::c_int) -> OwnedFd {
    // SAFETY: the call that returned it made it for us, and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// At most 15 bytes of a name, with a NUL behind.
fn name(text: &str) -> [u8; 16] {
    let mut out = [0; 16];
    for (place, byte) in out.iter_mut().take(15).zip(text.bytes()) {
        *place = byte;
    }
    out
}

/// What a map is made of.
#[derive(Debug, Clone, Copy)]
pub struct MapShape {
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
}

/// A map and the sizes it was made with, so that no call can read or write past a buffer.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    shape: MapShape,
    value_room: usize,
}

#[repr(C)]
struct CreateAttr {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; 16],
}

#[repr(C)]
struct ElemAttr {
    map_fd: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    pub fn create(label: &str, shape: MapShape) -> io::Result<Self> {
        let MapShape { kind, key_size, value_size, max_entries, flags } = shape;
        let mut attr = CreateAttr {
            kind,
            key_size,
            value_size,
            max_entries,
            flags,
            inner_map_fd: 0,
            numa_node: 0,
            name: name(label),
        };
        // SAFETY: MAP_CREATE reads nothing but the attributes.
        let fd = own(unsafe { bpf(MAP_CREATE, &mut attr) }?);
        // Per-CPU kinds give and take one value per CPU; we never look at those from here.
        let per_cpu = [5, 6, 10, 21].contains(&kind);
        Ok(Self { fd, shape, value_room: if per_cpu { usize::MAX } else { value_size as usize } })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub fn shape(&self) -> MapShape {
        self.shape
    }

    /// Attributes of an element command, after a check that key and value are as long as the map's.
    fn element(&self, key: &u32, value: u64, len: usize, flags: u64) -> io::Result<ElemAttr> {
        if self.shape.key_size != 4 || len != self.value_room {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let map_fd = self.fd.as_raw_fd() as u32;
        Ok(ElemAttr { map_fd, pad: 0, key: std::ptr::from_ref(key) as u64, value, flags })
    }

    /// Copies one value out; `None` when there is no such key.
    pub fn lookup<const N: usize>(&self, key: u32) -> io::Result<Option<[u8; N]>> {
        let mut out = [0; N];
        Ok(self.copy_out(key, &mut out)?.then_some(out))
    }

    /// Whether there is such a key.
    pub fn has(&self, key: u32) -> io::Result<bool> {
        self.copy_out(key, &mut vec![0; self.shape.value_size as usize])
    }

    /// False when there is no such key.
    fn copy_out(&self, key: u32, value: &mut [u8]) -> io::Result<bool> {
        let mut attr = self.element(&key, value.as_mut_ptr() as u64, value.len(), 0)?;
        // SAFETY: `element` made sure that key and value are as long as the map's, and both live through the call.
        match unsafe { bpf(MAP_LOOKUP_ELEM, &mut attr) } {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes one value. `flags`: [`ANY`] or [`EXIST`].
    pub fn update(&self, key: u32, value: &[u8], flags: u64) -> io::Result<()> {
        let mut attr = self.element(&key, value.as_ptr() as u64, value.len(), flags)?;
        // SAFETY: as in `copy_out`; the kernel only reads.
        unsafe { bpf(MAP_UPDATE_ELEM, &mut attr) }.map(drop)
    }

    /// Removes one key; true when it was there.
    pub fn delete(&self, key: u32) -> io::Result<bool> {
        let mut attr = self.element(&key, 0, self.value_room, 0)?;
        // SAFETY: as in `copy_out`; no value is touched.
        match unsafe { bpf(MAP_DELETE_ELEM, &mut attr) } {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes the map constant for user space; with BPF_F_RDONLY_PROG the verifier then knows its values.
    pub fn freeze(&self) -> io::Result<()> {
        let mut attr = self.fd.as_raw_fd() as u32;
        // SAFETY: the attribute is one descriptor number.
        unsafe { bpf(MAP_FREEZE, &mut attr) }.map(drop)
    }
}

#[repr(C)]
struct BtfAttr {
    btf: u64,
    log_buf: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    pad: u32,
}

/// Loads type information of our own programs. With `log`, the kernel's words about it are written there.
pub fn load_btf(bytes: &[u8], log: Option<&mut [u8]>) -> io::Result<OwnedFd> {
    let mut attr = BtfAttr {
        btf: bytes.as_ptr() as u64,
        log_buf: 0,
        size: bytes.len() as u32,
        log_size: 0,
        log_level: 0,
        pad: 0,
    };
    if let Some(log) = log {
        attr.log_level = 1;
        attr.log_size = log.len() as u32;
        attr.log_buf = log.as_mut_ptr() as u64;
    }
    // SAFETY: the kernel reads `size` bytes, which are there, and writes into the log no more than it has room for.
    unsafe { bpf(BTF_LOAD, &mut attr) }.map(own)
}

/// A program as the kernel is to check it.
#[derive(Debug)]
pub struct Program<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub attach_type: u32,
    pub attach_btf_id: u32,
    pub instructions: &'a [bpf_insn],
    pub license: &'a CStr,
    pub btf: BorrowedFd<'a>,
    pub func_info: &'a [u8],
    pub func_info_size: u32,
}

#[repr(C)]
#[derive(Default)]
struct LoadAttr {
    kind: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; 16],
    prog_ifindex: u32,
    attach_type: u32,
    prog_btf_fd: u32,
    func_info_rec_size: u32,
    func_info: u64,
    func_info_cnt: u32,
    line_info_rec_size: u32,
    line_info: u64,
    line_info_cnt: u32,
    attach_btf_id: u32,
    attach_fd: u32,
    pad: u32,
}

const _: () = assert!(size_of::<bpf_insn>() == 8);
// No gap in any of them: a kernel that does not know what lies there refuses the call unless it is zero.
const _: () = assert!(size_of::<CreateAttr>() == 7 * 4 + 16);
const _: () = assert!(size_of::<ElemAttr>() == 2 * 4 + 3 * 8);
const _: () = assert!(size_of::<BtfAttr>() == 2 * 8 + 4 * 4);
const _: () = assert!(size_of::<LoadAttr>() == 16 * 4 + 5 * 8 + 16);
const _: () = assert!(size_of::<OpenAttr>() == 8 + 2 * 4);
const _: () = assert!(size_of::<RunAttr>() == 10 * 4 + 4 * 8);

/// Has the kernel check and take a program. With `log`, the verifier's words are written there.
pub fn load_program(program: &Program<'_>, log: Option<&mut [u8]>) -> io::Result<OwnedFd> {
    let func_info_cnt = program.func_info.len().checked_div(program.func_info_size as usize).unwrap_or(0);
    let mut attr = LoadAttr {
        kind: program.kind,
        insn_cnt: program.instructions.len() as u32,
        insns: program.instructions.as_ptr() as u64,
        license: program.license.as_ptr() as u64,
        prog_name: name(program.name),
        attach_type: program.attach_type,
        prog_btf_fd: program.btf.as_raw_fd() as u32,
        func_info_rec_size: program.func_info_size,
        func_info: program.func_info.as_ptr() as u64,
        func_info_cnt: func_info_cnt as u32,
        attach_btf_id: program.attach_btf_id,
        ..LoadAttr::default()
    };
    if let Some(log) = log {
        attr.log_level = 1;
        attr.log_size = log.len() as u32;
        attr.log_buf = log.as_mut_ptr() as u64;
    }
    // SAFETY: every address comes from a slice or C string that outlives the call, with its own length beside it.
    unsafe { bpf(PROG_LOAD, &mut attr) }.map(own)
}

#[repr(C)]
struct OpenAttr {
    name: u64,
    prog_fd: u32,
    pad: u32,
}

/// Attaches a raw tracepoint program to `tracepoint`, or an LSM program (which knows its place) with `None`.
/// The attachment lives as long as the descriptor.
pub fn attach(program: BorrowedFd<'_>, tracepoint: Option<&CStr>) -> io::Result<OwnedFd> {
    let mut attr = OpenAttr {
        name: tracepoint.map_or(0, |name| name.as_ptr() as u64),
        prog_fd: program.as_raw_fd() as u32,
        pad: 0,
    };
    // SAFETY: the kernel reads the C string, which outlives the call.
    unsafe { bpf(RAW_TRACEPOINT_OPEN, &mut attr) }.map(own)
}

#[repr(C)]
#[derive(Default)]
struct RunAttr {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
}

/// Runs a raw tracepoint program here and now, in this thread, with one argument; returns what it returns.
pub fn run(program: BorrowedFd<'_>, argument: u64) -> io::Result<u32> {
    let arguments = [argument];
    let mut attr = RunAttr {
        prog_fd: program.as_raw_fd() as u32,
        ctx_size_in: size_of_val(&arguments) as u32,
        ctx_in: arguments.as_ptr() as u64,
        ..RunAttr::default()
    };
    // SAFETY: the kernel copies the arguments, which are that long and outlive the call.
    unsafe { bpf(PROG_TEST_RUN, &mut attr) }?;
    Ok(attr.retval)
}
