//! The seal as it lies in the kernel's map, and the identity of a file in the kernel's own terms.

/// Execs of one process that may be under way at once (threads of one process that call execve directly).
pub const SLOTS: usize = 4;

/// What the supervisor let through and the kernel must see again. A `mac` of zero is an empty slot.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Over pid, argv, envp and file: decides alone.
    pub mac: u64,
    /// Over pid, argv and envp: says what differed, decides nothing.
    pub text: u64,
    /// Number of the exec in its session.
    pub seq: u64,
}

/// All live seals of one process, keyed by its id in the supervisor's pid namespace. One exec that succeeds
/// ends every other thread, so it uses up all of them.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Seals {
    pub slots: [Slot; SLOTS],
}

/// Identity of a file as its inode has it. `dev` is in the kernel's own encoding, see [`kernel_dev`].
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct FileId {
    pub dev: u64,
    pub ino: u64,
    pub ctime_sec: u64,
    pub ctime_nsec: u64,
}

const _: () = assert!(size_of::<Slot>() == 24 && size_of::<Seals>() == 24 * SLOTS);
const _: () = assert!(size_of::<FileId>() == 32);

impl Seals {
    /// The bytes as the map has them.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; size_of::<Self>()] {
        let mut out = [0; size_of::<Self>()];
        let words = self.slots.iter().flat_map(|slot| [slot.mac, slot.text, slot.seq]);
        for (place, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
        out
    }

    /// The reverse of [`Self::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8; size_of::<Self>()]) -> Self {
        let mut out = Self::default();
        let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        for slot in &mut out.slots {
            for field in [&mut slot.mac, &mut slot.text, &mut slot.seq] {
                *field = words.next().unwrap_or(0);
            }
        }
        out
    }

    /// Whether no slot is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.mac == 0)
    }
}

/// `st_dev` (what stat reports, `new_encode_dev` widened by glibc) in the encoding of `super_block.s_dev`
/// (12 bits major, 20 bits minor; include/linux/kdev_t.h).
#[must_use]
pub const fn kernel_dev(st_dev: u64) -> u64 {
    let major = ((st_dev >> 8) & 0xfff) | ((st_dev >> 32) & 0xffff_f000);
    let minor = (st_dev & 0xff) | ((st_dev >> 12) & 0xffff_ff00);
    (major << 20) | (minor & 0xf_ffff)
}

/// The reverse of [`kernel_dev`].
#[must_use]
pub const fn user_dev(s_dev: u64) -> u64 {
    let (major, minor) = ((s_dev >> 20) & 0xfff, s_dev & 0xf_ffff);
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seals_survive_the_way_through_the_map() {
        let mut seals = Seals::default();
        assert!(seals.is_empty());
        seals.slots[1] = Slot { mac: 1, text: 2, seq: 3 };
        seals.slots[3] = Slot { mac: u64::MAX, text: 4, seq: 5 };
        assert_eq!(Seals::from_bytes(&seals.to_bytes()), seals);
        assert!(!seals.is_empty());
    }

    #[test]
    fn device_numbers_survive_the_way_there_and_back() {
        for (major, minor) in [(8, 1), (0, 0x35), (254, 0), (259, 0x1_2345), (4095, 0xf_ffff), (7, 256)] {
            let s_dev = (major << 20) | minor;
            assert_eq!(kernel_dev(user_dev(s_dev)), s_dev, "{major}:{minor}");
        }
    }

    #[test]
    fn sda1_is_0801_for_stat_and_800001_for_the_kernel() {
        assert_eq!(kernel_dev(0x0801), 0x80_0001);
        assert_eq!(user_dev(0x80_0001), 0x0801);
    }
}
