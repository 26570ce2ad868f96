//! What the kernel side answers when the supervisor asks about a waiting caller or about an open file.

use crate::seal::FileId;

/// A caller that waits in a notification.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its parent's process id in the initial pid namespace.
    pub ppid: u32,
    /// Effective ids in the initial user namespace.
    pub euid: u32,
    pub egid: u32,
    /// Of `SAME_ROOT` and `CWD_ON_ROOT`.
    pub flags: u32,
    /// Which directory its working directory is: the address of its dentry, for comparing only.
    pub cwd: u64,
}

/// The caller's root directory is the supervisor's, in the same mount namespace.
pub const SAME_ROOT: u32 = 1;
/// Its working directory lies on the mount of that root.
pub const CWD_ON_ROOT: u32 = 2;

/// A file that the supervisor has open.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct OpenFile {
    pub id: FileId,
    /// The address of its dentry, for comparing only.
    pub dentry: u64,
    /// `f_type` of its file system.
    pub magic: u64,
    /// How many have it open for writing; negative while it is executed.
    pub writers: i32,
    /// Of `NOEXEC` and `ON_ROOT`.
    pub flags: u32,
}

/// It was reached through a mount from which nothing is executed.
pub const NOEXEC: u32 = 1;
/// It was reached through the mount of the supervisor's root.
pub const ON_ROOT: u32 = 2;

/// The answer map's only element: each question fills its part.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Answer {
    pub caller: Caller,
    pub file: OpenFile,
}

const _: () = assert!(size_of::<Caller>() == 24 && size_of::<OpenFile>() == 56);
const _: () = assert!(size_of::<Answer>() == 80);

impl Answer {
    /// From the words as the map has them.
    #[must_use]
    pub fn from_words(words: &[u64; size_of::<Self>() / 8]) -> Self {
        let halves = |word: u64| {
            let bytes = word.to_ne_bytes();
            let [first, second] = core::array::from_fn(|i| u32::from_ne_bytes(bytes.as_chunks::<4>().0[i]));
            (first, second)
        };
        let [ids, more, cwd, dev, ino, ctime_sec, ctime_nsec, dentry, magic, rest] = *words;
        let ((ppid, euid), (egid, flags), (writers, of_file)) = (halves(ids), halves(more), halves(rest));
        let id = FileId { dev, ino, ctime_sec, ctime_nsec };
        Self {
            caller: Caller { ppid, euid, egid, flags, cwd },
            file: OpenFile { id, dentry, magic, writers: writers.cast_signed(), flags: of_file },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_side_puts_them() {
        let words = core::array::from_fn(|i| (2 * i as u64) | ((2 * i as u64 + 1) << 32));
        let answer = Answer::from_words(&words);
        // Number by number, as `repr(C)` lays them out.
        let wide = |i: usize| words[i];
        let caller = Caller { ppid: 0, euid: 1, egid: 2, flags: 3, cwd: wide(2) };
        let id = FileId { dev: wide(3), ino: wide(4), ctime_sec: wide(5), ctime_nsec: wide(6) };
        let file = OpenFile { id, dentry: wide(7), magic: wide(8), writers: 18, flags: 19 };
        assert_eq!(answer, Answer { caller, file });
        assert_eq!(core::mem::offset_of!(Caller, cwd), 16);
        assert_eq!(core::mem::offset_of!(OpenFile, writers), 48);
        assert_eq!(core::mem::offset_of!(Answer, file), 24);
    }
}
