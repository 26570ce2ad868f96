//! The seccomp filter, as data: which system calls wait for a verdict. Reviewed jump by jump, tested by
//! interpreting it, since no single kernel has all of the ABIs.
//!
//! Offsets are into `struct seccomp_data`: the number at 0, the architecture at 4.

use crate::sys::seccomp::Instruction;

const LOAD_WORD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const OFFSET_NR: u32 = 0;
const OFFSET_ARCH: u32 = 4;

const ALLOW: u32 = 0x7fff_0000;
const NOTIFY: u32 = 0x7fc0_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO_ENOSYS: u32 = 0x0005_0000 | libc::ENOSYS as u32;
const ERRNO_EPERM: u32 = 0x0005_0000 | libc::EPERM as u32;

pub const ARCH_X86_64: u32 = 0xc000_003e;
pub const ARCH_I386: u32 = 0x4000_0003;
pub const ARCH_AARCH64: u32 = 0xc000_00b7;
pub const ARCH_ARM: u32 = 0x4000_0028;

/// Numbers of one ABI's calls that the filter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    pub execve: u32,
    pub execveat: u32,
    /// Refused: who has CAP_SYS_ADMIN can open the seal's maps by number, or load a program that undoes it.
    pub bpf: u32,
}

pub const X86_64: Numbers = Numbers { execve: 59, execveat: 322, bpf: 321 };
pub const I386: Numbers = Numbers { execve: 11, execveat: 358, bpf: 357 };
pub const AARCH64: Numbers = Numbers { execve: 221, execveat: 281, bpf: 280 };
pub const ARM: Numbers = Numbers { execve: 11, execveat: 387, bpf: 386 };

/// Whether a number is an exec call of any ABI that this host has.
pub fn is_exec(number: u64) -> bool {
    let abis = if cfg!(target_arch = "aarch64") { [AARCH64, ARM] } else { [X86_64, I386] };
    abis.iter().any(|abi| number == u64::from(abi.execve) || number == u64::from(abi.execveat))
}

/// Bit 30 marks an x32 call, which shares its architecture value with x86_64.
const X32_BIT: u32 = 0x4000_0000;

/// Whether it is a call of the x32 ABI, whose exec numbers the filter answers as a kernel without that ABI would.
pub fn is_x32(arch: u32, number: u32) -> bool {
    arch == ARCH_X86_64 && number & X32_BIT != 0
}

const fn load(k: u32) -> Instruction {
    Instruction { code: LOAD_WORD, jt: 0, jf: 0, k }
}
const fn equal(k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: JUMP_EQUAL, jt, jf, k }
}
const fn at_least(k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: JUMP_AT_LEAST, jt, jf, k }
}
const fn answer(k: u32) -> Instruction {
    Instruction { code: RETURN, jt: 0, jf: 0, k }
}

/// For x86_64 hosts.
pub const FILTER_X86_64: [Instruction; 18] = [
    /*  0 */ load(OFFSET_ARCH),
    /*  1 */ equal(ARCH_X86_64, 6, 0), // the native ABI → 8
    /*  2 */
    equal(ARCH_I386, 0, 14), // int 0x80 and 32-bit programs → 3; any other architecture → kill (17)
    /*  3 */ load(OFFSET_NR),
    /*  4 */ equal(I386.execve, 9, 0), // → notify (14)
    /*  5 */ equal(I386.execveat, 8, 0), // → notify (14)
    /*  6 */ equal(I386.bpf, 9, 0), // → refuse (16)
    /*  7 */ answer(ALLOW), // the rest of the 32-bit ABI is none of our business
    /*  8 */ load(OFFSET_NR),
    /*  9 */
    at_least(X32_BIT, 5, 0), // x32 has exec numbers of its own (520, 545): refused whole → 15
    /* 10 */ equal(X86_64.execve, 3, 0), // → notify (14)
    /* 11 */ equal(X86_64.execveat, 2, 0), // → notify (14)
    /* 12 */ equal(X86_64.bpf, 3, 0), // → refuse (16)
    /* 13 */ answer(ALLOW), // everything that starts no program
    /* 14 */ answer(NOTIFY),
    /* 15 */ answer(ERRNO_ENOSYS), // what a kernel without x32 answers
    /* 16 */ answer(ERRNO_EPERM), // what a caller without rights to it gets
    /* 17 */ answer(KILL_PROCESS),
];

/// For aarch64 hosts.
pub const FILTER_AARCH64: [Instruction; 16] = [
    /*  0 */ load(OFFSET_ARCH),
    /*  1 */ equal(ARCH_AARCH64, 6, 0), // the native ABI → 8
    /*  2 */
    equal(ARCH_ARM, 0, 12), // 32-bit programs → 3; any other architecture → kill (15)
    /*  3 */ load(OFFSET_NR),
    /*  4 */ equal(ARM.execve, 8, 0), // → notify (13)
    /*  5 */ equal(ARM.execveat, 7, 0), // → notify (13)
    /*  6 */ equal(ARM.bpf, 7, 0), // → refuse (14)
    /*  7 */ answer(ALLOW),
    /*  8 */ load(OFFSET_NR),
    /*  9 */ equal(AARCH64.execve, 3, 0), // → notify (13)
    /* 10 */ equal(AARCH64.execveat, 2, 0), // → notify (13)
    /* 11 */ equal(AARCH64.bpf, 2, 0), // → refuse (14)
    /* 12 */ answer(ALLOW),
    /* 13 */ answer(NOTIFY),
    /* 14 */ answer(ERRNO_EPERM),
    /* 15 */ answer(KILL_PROCESS),
];

#[cfg(target_arch = "x86_64")]
pub const FILTER: &[Instruction] = &FILTER_X86_64;
#[cfg(target_arch = "aarch64")]
pub const FILTER: &[Instruction] = &FILTER_AARCH64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel would.
    fn run(filter: &[Instruction], arch: u32, nr: u32) -> u32 {
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let step = filter[at];
            at += 1;
            match step.code {
                LOAD_WORD if step.k == OFFSET_ARCH => accumulator = arch,
                LOAD_WORD if step.k == OFFSET_NR => accumulator = nr,
                JUMP_EQUAL => at += usize::from(if accumulator == step.k { step.jt } else { step.jf }),
                JUMP_AT_LEAST => at += usize::from(if accumulator >= step.k { step.jt } else { step.jf }),
                RETURN => return step.k,
                code => panic!("instruction {code:#x} is not in the table"),
            }
        }
    }

    #[test]
    fn exec_calls_of_every_native_and_compat_abi_wait_for_a_verdict() {
        for (filter, arch, numbers) in [
            (&FILTER_X86_64[..], ARCH_X86_64, X86_64),
            (&FILTER_X86_64[..], ARCH_I386, I386),
            (&FILTER_AARCH64[..], ARCH_AARCH64, AARCH64),
            (&FILTER_AARCH64[..], ARCH_ARM, ARM),
        ] {
            assert_eq!(run(filter, arch, numbers.execve), NOTIFY);
            assert_eq!(run(filter, arch, numbers.execveat), NOTIFY);
        }
    }

    #[test]
    fn every_other_number_passes_without_a_notification() {
        for nr in (0..600).filter(|nr| ![59, 322, 321].contains(nr)) {
            assert_eq!(run(&FILTER_X86_64, ARCH_X86_64, nr), ALLOW, "x86_64 {nr}");
        }
        for nr in (0..600).filter(|nr| ![11, 358, 357].contains(nr)) {
            assert_eq!(run(&FILTER_X86_64, ARCH_I386, nr), ALLOW, "i386 {nr}");
        }
        for nr in (0..600).filter(|nr| ![221, 281, 280].contains(nr)) {
            assert_eq!(run(&FILTER_AARCH64, ARCH_AARCH64, nr), ALLOW, "aarch64 {nr}");
        }
        for nr in (0..600).filter(|nr| ![11, 387, 386].contains(nr)) {
            assert_eq!(run(&FILTER_AARCH64, ARCH_ARM, nr), ALLOW, "arm {nr}");
        }
    }

    #[test]
    fn bpf_is_refused_in_every_abi() {
        for (filter, arch, numbers) in [
            (&FILTER_X86_64[..], ARCH_X86_64, X86_64),
            (&FILTER_X86_64[..], ARCH_I386, I386),
            (&FILTER_AARCH64[..], ARCH_AARCH64, AARCH64),
            (&FILTER_AARCH64[..], ARCH_ARM, ARM),
        ] {
            assert_eq!(run(filter, arch, numbers.bpf), ERRNO_EPERM);
        }
    }

    #[test]
    fn x32_numbers_do_not_exist() {
        for nr in [59, 322, 520, 545, 0, 1] {
            assert_eq!(run(&FILTER_X86_64, ARCH_X86_64, X32_BIT | nr), ERRNO_ENOSYS, "x32 {nr}");
        }
    }

    #[test]
    fn a_foreign_architecture_is_killed_whatever_the_number() {
        for nr in [0, 11, 59, 221, 0xffff_ffff] {
            assert_eq!(run(&FILTER_X86_64, ARCH_AARCH64, nr), KILL_PROCESS);
            assert_eq!(run(&FILTER_AARCH64, ARCH_X86_64, nr), KILL_PROCESS);
            assert_eq!(run(&FILTER_X86_64, 0, nr), KILL_PROCESS);
        }
    }
}
