//! From the bytes of the object to attached programs: offsets, constants, maps, programs, attachments.
//!
//! Reads the kernel's BTF and nothing else it does not own. Any step that fails is the reason why this seal is
//! not to be had here; nothing half-loaded survives, because everything is a descriptor.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use aya_obj::btf::BtfFeatures;
use aya_obj::{EbpfSectionKind, Object};
use shellgate_common::answer::Answer;
use shellgate_common::mac::Key;
use shellgate_common::offsets::{ABSENT, Offsets};

use super::guard::{GUARDS, Guard, GuardState, lsm_is_active};
use super::members::Members;
use super::{Ledger, SealError, Shared};
use crate::seal::btf::Btf;
use crate::sys::bpf::{self, Map, MapShape, Program};
use crate::sys::mapped::Mapped;
use crate::sys::ring::Ring;
use crate::sys::shared_mapping::Mapping;

/// Built by `cargo xtask ebpf` from `ebpf/`, and compared with it by `cargo xtask ebpf --check`.
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("../../../../ebpf/dist/shellgate.bpf.o"));

/// The parser wants ELF structures where their alignment puts them.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

/// BPF_PROG_TYPE_RAW_TRACEPOINT and BPF_PROG_TYPE_LSM with BPF_LSM_MAC (include/uapi/linux/bpf.h).
const RAW_TRACEPOINT: u32 = 17;
const LSM: u32 = 29;
const LSM_MAC: u32 = 27;

/// Bytes, a power of two, for records that the reader has not come to. Each takes 64: those of 32,768 processes, which is
/// how many a kernel lets live unless it is told otherwise, may end together and none of it is lost.
const ROOM_FOR_RECORDS: u32 = 32_768 * 64;

/// Fields the product can do without: other names of one field, and what only makes an outcome richer.
const OPTIONAL: [&str; 12] = [
    "linux_binprm.is_check",
    "inode.i_ctime",
    "inode.__i_ctime",
    "inode.i_ctime_sec",
    "inode.i_ctime_nsec",
    "task_struct.utime",
    "task_struct.stime",
    "sched_entity.sum_exec_runtime",
    "signal_struct.utime",
    "signal_struct.stime",
    "signal_struct.sum_sched_runtime",
    "signal_struct.maxrss",
];

pub(super) struct Loaded {
    pub(super) shared: Shared,
    pub(super) ring: Ring,
    pub(super) members: Members,
    pub(super) claim: OwnedFd,
    pub(super) links: Vec<OwnedFd>,
    pub(super) guards: Vec<Guard>,
}

fn because<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> SealError {
    move |error| SealError(format!("{what}: {error}"))
}

/// `room`: how many members the tree may have at once, or `None` for what the object says.
pub(super) fn load(room: Option<u32>) -> Result<Loaded, SealError> {
    refuse_preemptible_tracepoints()?;
    let path = "/sys/kernel/btf/vmlinux";
    let bytes = Mapped::open(path).map_err(because(format!("cannot read {path}")))?;
    // Without BPF LSM no guard is loaded, and functions are by far the most names.
    let lsm = lsm_is_active();
    let functions = if lsm.is_ok() { GUARDS.map(|(_, function, _)| function).to_vec() } else { vec![] };
    let btf = Btf::parse(&bytes, &functions).map_err(because(path))?;
    let offsets = offsets(&btf)?;
    let key = random_key()?;

    let mut object = Object::parse(&OBJECT.0).map_err(because("the eBPF object is damaged"))?;
    let (offset_bytes, key_bytes) = (offsets.to_bytes(), key.to_bytes());
    let constants = HashMap::from([("OFFSETS", (&offset_bytes[..], true)), ("KEY", (&key_bytes[..], true))]);
    object.patch_map_data(constants).map_err(because("the eBPF object has no such constant"))?;
    let types = load_types(&mut object)?;
    let mut maps = create_maps(&mut object, room)?;

    let [on_exec, on_exit, on_fork, ask_file, ask_caller, claim, learn] =
        load_at_once(&object, PROGRAMS, types.as_fd())?;
    if bpf::run(learn.as_fd(), 0).map_err(because("cannot run a program in the kernel"))? != 0 {
        return Err(SealError("the kernel's pid structures are not where its BTF says".into()));
    }
    let mut links = vec![];
    for (program, tracepoint) in
        [(on_fork, c"sched_process_fork"), (on_exit, c"sched_process_exit"), (on_exec, c"sched_process_exec")]
    {
        let link = bpf::attach(program.as_fd(), Some(tracepoint));
        links.push(link.map_err(because(format!("cannot attach to {}", tracepoint.to_string_lossy())))?);
    }
    let guards = load_guards(&object, &btf, &lsm, types.as_fd(), &mut links);

    let mut take =
        |name: &str| maps.remove(name).ok_or_else(|| SealError(format!("the eBPF object has no map {name}")));
    let (members, claimed) = (take("MEMBERS")?, take("CLAIMED")?);
    let records = take("RECORDS")?;
    let ring = Ring::new(records.fd(), records.shape().max_entries as usize)
        .map_err(because("cannot map the record buffer"))?;
    let answer = Mapping::new(take("ANSWER")?.fd(), size_of::<Answer>(), libc::PROT_READ, 0)
        .map_err(because("cannot map the answers"))?;
    let shared = Shared {
        key,
        seals: take("SEALS")?,
        state: take("STATE")?,
        ask_caller,
        ask_file,
        answer: Mutex::new(answer),
        ledger: Mutex::new(Ledger::default()),
        sink: Mutex::new(None),
        held: AtomicU64::new(0),
    };
    let members = Members::new(members, claimed, &shared.state);
    Ok(Loaded { shared, ring, members, claim, links, guards })
}

/// On PREEMPT_RT a tracepoint program may be preempted and a second run on the same CPU is then skipped, which
/// would let an exec pass unseen.
fn refuse_preemptible_tracepoints() -> Result<(), SealError> {
    match std::fs::read_to_string("/sys/kernel/realtime") {
        Ok(text) if text.trim() == "1" => {
            Err(SealError("this kernel is PREEMPT_RT, where tracepoint programs may be skipped".into()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn offsets(btf: &Btf<'_>) -> Result<Offsets, SealError> {
    let mut offsets = btf.offsets().map_err(because("/sys/kernel/btf/vmlinux"))?;
    for (index, path) in Offsets::PATHS.iter().enumerate() {
        if offsets.at(index).is_some_and(|offset| *offset == ABSENT) && !OPTIONAL.contains(path) {
            return Err(SealError(format!("this kernel's BTF has no {path}")));
        }
    }
    let whole = offsets.inode_ctime_old != ABSENT
        || offsets.inode_ctime_mid != ABSENT
        || (offsets.inode_ctime_sec != ABSENT && offsets.inode_ctime_nsec != ABSENT);
    if !whole {
        return Err(SealError("this kernel's BTF has no change time in struct inode".into()));
    }
    Ok(offsets)
}

fn random_key() -> Result<Key, SealError> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(because("cannot draw a key from /dev/urandom"))?;
    Ok(Key::from_bytes(bytes))
}

/// The object's own type information: `bpf_loop` callbacks are checked against it.
fn load_types(object: &mut Object) -> Result<OwnedFd, SealError> {
    // All of these are older than `bpf_loop` (5.17), but for the last, which stays off.
    let features = BtfFeatures::new(true, true, true, false, true, true, true, false);
    let types =
        object.fixup_and_sanitize_btf(&features).map_err(because("the eBPF object's BTF is damaged"))?;
    let types = types.ok_or_else(|| SealError("the eBPF object has no BTF".into()))?;
    let bytes = types.to_bytes();
    bpf::load_btf(&bytes, None).map_err(|error| {
        let why = explained("BTF", |log| drop(bpf::load_btf(&bytes, Some(log))));
        SealError(format!("the kernel refused BTF (CAP_BPF is needed): {error}{why}"))
    })
}

/// The last of the kernel's words about something that it refused, which is tried once more only to hear them.
fn explained(what: &str, again: impl FnOnce(&mut [u8])) -> String {
    let mut log = vec![0; 1 << 20];
    again(&mut log);
    let text = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
    tracing::debug!(what, log = %text, "the kernel's words");
    let last = text.lines().rfind(|line| !line.starts_with("processed "));
    last.map_or(String::new(), |line| format!(" ({line})"))
}

fn create_maps(object: &mut Object, room: Option<u32>) -> Result<HashMap<String, Map>, SealError> {
    let mut maps = HashMap::new();
    // In one order, so that two tries fail at the same one.
    let mut definitions: Vec<_> = object.maps.iter().collect();
    definitions.sort_by_key(|(name, _)| *name);
    for (name, map) in definitions {
        let shape = MapShape {
            kind: map.map_type(),
            key_size: map.key_size(),
            value_size: map.value_size(),
            max_entries: match name.as_str() {
                "MEMBERS" => room.unwrap_or(map.max_entries()),
                "RECORDS" => ROOM_FOR_RECORDS,
                _ => map.max_entries(),
            },
            flags: map.map_flags(),
        };
        let made = Map::create(name, shape).map_err(|error| {
            // Before 5.11 this is also how a map is refused that is larger than RLIMIT_MEMLOCK; those kernels have
            // no `bpf_loop` either, so raising the limit would gain nothing.
            let denied = error.raw_os_error() == Some(libc::EPERM);
            let why = if denied { " (needs CAP_BPF, and a kernel from 5.17 on)" } else { "" };
            SealError(format!("cannot create eBPF map {name}: {error}{why}"))
        })?;
        if map.section_kind() == EbpfSectionKind::Rodata {
            made.update(0, map.data(), bpf::ANY)
                .and_then(|()| made.freeze())
                .map_err(because(format!("cannot fill eBPF map {name}")))?;
        }
        maps.insert(name.clone(), made);
    }
    let text: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
    let definitions = std::mem::take(&mut object.maps);
    let places = maps
        .iter()
        .filter_map(|(name, map)| Some((name.as_str(), map.fd().as_raw_fd(), definitions.get(name)?)));
    object.relocate_maps(places, &text).map_err(because("the eBPF object's maps do not fit"))?;
    object.relocate_calls(&text).map_err(because("the eBPF object's calls do not fit"))?;
    Ok(maps)
}

/// The programs every session needs, in the order in which [`load`] takes them: the longest first.
const PROGRAMS: [&str; 7] =
    ["on_exec", "on_exit", "on_fork", "ask_file", "ask_caller", "ask_claim", "ask_learn"];

/// The kernel's verifier is most of our start-up, and works on each program by itself. No thread outlives this.
fn load_at_once<const N: usize>(
    object: &Object,
    names: [&str; N],
    types: BorrowedFd<'_>,
) -> Result<[OwnedFd; N], SealError> {
    let loaded = std::thread::scope(|scope| {
        let threads = names.map(|name| {
            let load = move || load_program(object, name, RAW_TRACEPOINT, 0, types);
            std::thread::Builder::new().spawn_scoped(scope, load)
        });
        threads.map(|thread| {
            let thread = thread.map_err(because("cannot start a thread for an eBPF program"))?;
            thread.join().unwrap_or_else(|_| Err(SealError("loading an eBPF program failed".into())))
        })
    });
    let loaded: Vec<OwnedFd> = loaded.into_iter().collect::<Result<_, _>>()?;
    loaded.try_into().map_err(|_| SealError("an eBPF program is missing".into()))
}

fn load_program(
    object: &Object,
    name: &str,
    kind: u32,
    attach_btf_id: u32,
    types: BorrowedFd<'_>,
) -> Result<OwnedFd, SealError> {
    let missing = || SealError(format!("the eBPF object has no program {name}"));
    let function =
        object.programs.get(name).and_then(|program| object.functions.get(&program.function_key()));
    let function = function.ok_or_else(missing)?;
    let func_info = function.func_info.func_info_bytes();
    let program = Program {
        name,
        kind,
        attach_type: if kind == LSM { LSM_MAC } else { 0 },
        attach_btf_id,
        instructions: &function.instructions,
        license: &object.license,
        btf: types,
        func_info: &func_info,
        func_info_size: function.func_info_rec_size as u32,
    };
    bpf::load_program(&program, None).map_err(|error| {
        let why = explained(name, |log| drop(bpf::load_program(&program, Some(log))));
        SealError(format!("the kernel refused eBPF program {name}: {error}{why}"))
    })
}

/// Tries every guard; one that fails says why and takes nothing else with it.
fn load_guards(
    object: &Object,
    btf: &Btf<'_>,
    active: &Result<(), String>,
    types: BorrowedFd<'_>,
    links: &mut Vec<OwnedFd>,
) -> Vec<Guard> {
    let mut guards = vec![];
    for (index, (name, function, purpose)) in GUARDS.into_iter().enumerate() {
        let attached = active.clone().and_then(|()| {
            let id = btf.function(index).ok_or_else(|| format!("this kernel has no {function}"))?;
            let program = load_program(object, name, LSM, id, types).map_err(|error| error.to_string())?;
            bpf::attach(program.as_fd(), None).map_err(|error| format!("cannot attach: {error}"))
        });
        let state = match attached {
            Ok(link) => {
                links.push(link);
                GuardState::Active
            }
            Err(reason) => GuardState::Inactive(reason),
        };
        guards.push(Guard { name, purpose, state });
    }
    guards
}
