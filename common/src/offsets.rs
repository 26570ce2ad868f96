//! Where this kernel keeps the fields that the programs read. Filled from BTF by the supervisor, read-only
//! and constant for the programs, so the verifier folds them.

macro_rules! offsets {
    ($($(#[$doc:meta])* $name:ident = $path:literal,)+) => {
        /// Byte offsets; [`ABSENT`] where this kernel has no such field.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Offsets {
            $($(#[$doc])* pub $name: u32,)+
        }

        impl Offsets {
            pub const NONE: Self = Self { $($name: ABSENT,)+ };
            /// `structure.member` of every field, in order.
            pub const PATHS: &'static [&'static str] = &[$($path,)+];

            /// Whether entry `index` of [`Self::PATHS`] counts bits.
            #[must_use]
            pub fn in_bits(index: usize) -> bool {
                Self::PATHS.get(index).is_some_and(|path| path.ends_with(".is_check"))
            }

            /// The offset that belongs to entry `index` of [`Self::PATHS`].
            pub fn at(&mut self, index: usize) -> Option<&mut u32> {
                let fields = [$(&mut self.$name,)+];
                fields.into_iter().nth(index)
            }

            /// The bytes as the programs' constants have them.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; size_of::<Self>()] {
                let mut out = [0; size_of::<Self>()];
                for (place, value) in out.as_chunks_mut::<4>().0.iter_mut().zip([$(self.$name,)+]) {
                    *place = value.to_ne_bytes();
                }
                out
            }
        }

        const _: () = assert!(size_of::<Offsets>() == 4 * Offsets::PATHS.len());
    };
}

/// No such field.
pub const ABSENT: u32 = u32::MAX;

offsets! {
    task_mm = "task_struct.mm",
    task_tgid = "task_struct.tgid",
    task_pid = "task_struct.thread_pid",
    task_signal = "task_struct.signal",
    task_leader = "task_struct.group_leader",
    task_exit_code = "task_struct.exit_code",
    task_files = "task_struct.files",
    task_parent = "task_struct.real_parent",
    task_cred = "task_struct.real_cred",
    task_fs = "task_struct.fs",
    task_utime = "task_struct.utime",
    task_stime = "task_struct.stime",
    task_se = "task_struct.se",
    se_runtime = "sched_entity.sum_exec_runtime",
    mm_arg_start = "mm_struct.arg_start",
    mm_arg_end = "mm_struct.arg_end",
    mm_env_start = "mm_struct.env_start",
    mm_env_end = "mm_struct.env_end",
    mm_exe_file = "mm_struct.exe_file",
    /// A `kuid_t` and a `kgid_t`, each a struct of one number.
    cred_euid = "cred.euid",
    cred_egid = "cred.egid",
    fs_root = "fs_struct.root",
    fs_cwd = "fs_struct.pwd",
    files_fdt = "files_struct.fdt",
    fdt_max = "fdtable.max_fds",
    fdt_fd = "fdtable.fd",
    file_path = "file.f_path",
    path_mnt = "path.mnt",
    path_dentry = "path.dentry",
    mnt_flags = "vfsmount.mnt_flags",
    dentry_inode = "dentry.d_inode",
    inode_sb = "inode.i_sb",
    inode_ino = "inode.i_ino",
    /// An `atomic_t`: how many have it open for writing; negative while it is executed.
    inode_writers = "inode.i_writecount",
    /// `struct timespec64` up to 6.6.
    inode_ctime_old = "inode.i_ctime",
    /// The same, renamed, up to 6.10.
    inode_ctime_mid = "inode.__i_ctime",
    /// Split in two from 6.11 on; the top bits of the nanoseconds are a flag there.
    inode_ctime_sec = "inode.i_ctime_sec",
    inode_ctime_nsec = "inode.i_ctime_nsec",
    sb_dev = "super_block.s_dev",
    sb_magic = "super_block.s_magic",
    pid_level = "pid.level",
    pid_numbers = "pid.numbers",
    upid_nr = "upid.nr",
    upid_ns = "upid.ns",
    signal_live = "signal_struct.live",
    signal_flags = "signal_struct.flags",
    signal_exit_code = "signal_struct.group_exit_code",
    signal_utime = "signal_struct.utime",
    signal_stime = "signal_struct.stime",
    signal_runtime = "signal_struct.sum_sched_runtime",
    signal_maxrss = "signal_struct.maxrss",
    /// In bits, not bytes: the exec only asks whether it may (AT_EXECVE_CHECK, 6.14).
    bprm_is_check = "linux_binprm.is_check",
}

/// Size of `struct upid` (`int nr; struct pid_namespace *ns`) on every 64-bit kernel.
pub const UPID_SIZE: u32 = 16;

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test says so by failing")]

    use super::*;

    #[test]
    fn paths_and_fields_go_together() {
        let mut offsets = Offsets::NONE;
        let last = Offsets::PATHS.len() - 1;
        *offsets.at(0).unwrap() = 7;
        *offsets.at(last).unwrap() = 9;
        assert_eq!((offsets.task_mm, offsets.bprm_is_check), (7, 9));
        assert_eq!(offsets.at(last + 1), None);
        assert_eq!(offsets.to_bytes()[..4], 7u32.to_ne_bytes());
        assert_eq!(offsets.to_bytes()[4 * last..], 9u32.to_ne_bytes());
    }
}
