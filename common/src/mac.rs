//! The keyed MAC of a seal: SipHash-1-3, absorbed word by word so that a `bpf_loop` step can do one chunk.
//!
//! Trusts that the key stays in the supervisor and its programs. A forger gets one guess per process, and a
//! wrong one kills it, so the short variant of SipHash is enough.

#![expect(clippy::inline_always, reason = "the kernel side must be one function: calls cost and lose bounds")]

use crate::seal::FileId;

/// Bytes a kernel-side step absorbs at once.
pub const CHUNK: usize = 256;
/// The same in words.
pub const CHUNK_WORDS: usize = CHUNK / 8;

/// Secret of one session.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Key {
    pub k0: u64,
    pub k1: u64,
}

impl Key {
    /// From sixteen random bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_ne_bytes(bytes);
        Self { k0: both as u64, k1: (both >> 64) as u64 }
    }

    /// The bytes as the programs' constants have them.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.k0.to_ne_bytes());
        out[8..].copy_from_slice(&self.k1.to_ne_bytes());
        out
    }
}

/// SipHash state between two words.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sip {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl Sip {
    #[inline(always)]
    pub fn new(key: Key) -> Self {
        Self {
            v0: key.k0 ^ 0x736f_6d65_7073_6575,
            v1: key.k1 ^ 0x646f_7261_6e64_6f6d,
            v2: key.k0 ^ 0x6c79_6765_6e65_7261,
            v3: key.k1 ^ 0x7465_6462_7974_6573,
        }
    }

    #[inline(always)]
    fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v2 = self.v2.rotate_left(32);
    }

    /// Absorbs eight bytes, little endian.
    #[inline(always)]
    pub fn word(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.v0 ^= word;
    }

    /// Absorbs what `Text` puts before the bytes: whose text it is, and where argv ends and envp begins.
    #[inline(always)]
    pub fn head(&mut self, pid: u32, argv_len: u64, envp_len: u64) {
        self.word(u64::from(pid));
        self.word(argv_len);
        self.word(envp_len);
    }

    /// Absorbs one chunk. The last one of a text is filled up with zeros: its lengths, which come first, say
    /// where it ends, and a loop without a way out is cheap for the verifier.
    #[inline(always)]
    pub fn chunk(&mut self, words: &[u64; CHUNK_WORDS]) {
        for word in words {
            self.word(*word);
        }
    }

    /// Ends a message of `len` bytes, all of which were whole words.
    #[inline(always)]
    pub fn finish(mut self, len: u64) -> u64 {
        self.word(len << 56);
        self.v2 ^= 0xff;
        self.round();
        self.round();
        self.round();
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }
}

/// Bytes that are hashed for a text of `len` bytes.
#[inline(always)]
pub fn hashed(len: u64) -> u64 {
    24 + len.next_multiple_of(CHUNK as u64)
}

/// MAC over pid, lengths and bytes: the whole text in one go, as the supervisor does it.
pub fn text(key: Key, pid: u32, argv: &[u8], envp: &[u8]) -> u64 {
    let mut sip = Sip::new(key);
    sip.head(pid, argv.len() as u64, envp.len() as u64);
    // argv and envp stand next to each other in the new program's memory, so they are one stream here too.
    let mut words = [0; CHUNK_WORDS];
    let mut filled = 0;
    for part in [argv, envp] {
        let mut rest = part;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK - filled));
            filled = fill(&mut words, filled, now);
            rest = later;
            if filled == CHUNK {
                sip.chunk(&words);
                (words, filled) = ([0; CHUNK_WORDS], 0);
            }
        }
    }
    if filled > 0 {
        sip.chunk(&words);
    }
    sip.finish(hashed((argv.len() + envp.len()) as u64))
}

/// Puts bytes into a chunk at byte `at`; returns where they end.
fn fill(words: &mut [u64; CHUNK_WORDS], at: usize, bytes: &[u8]) -> usize {
    let mut place = at;
    let mut rest = bytes;
    while !rest.is_empty() {
        if place.is_multiple_of(8)
            && let Some((word, later)) = rest.split_first_chunk::<8>()
        {
            words[place / 8] = u64::from_le_bytes(*word);
            (place, rest) = (place + 8, later);
        } else {
            words[place / 8] |= u64::from(rest[0]) << (8 * (place % 8));
            (place, rest) = (place + 1, &rest[1..]);
        }
    }
    place
}

/// Binds the text to the file that is mapped. One number stands for the whole promise, so no torn read of a
/// seal can mix two of them.
#[inline(always)]
pub fn bind(key: Key, text: u64, file: &FileId) -> u64 {
    let mut sip = Sip::new(key);
    sip.word(text);
    sip.word(file.ino);
    sip.word(file.dev);
    sip.word(file.ctime_sec);
    sip.word(file.ctime_nsec);
    sip.finish(40)
}

#[cfg(test)]
mod tests {
    use core::hash::Hasher;

    use siphasher::sip::SipHasher13;

    use super::*;

    const KEY: Key = Key { k0: 0x0706_0504_0302_0100, k1: 0x0f0e_0d0c_0b0a_0908 };

    fn reference(words: &[u64], bytes: &[&[u8]]) -> u64 {
        let mut sip = SipHasher13::new_with_keys(KEY.k0, KEY.k1);
        for word in words {
            sip.write(&word.to_le_bytes());
        }
        for part in bytes {
            sip.write(part);
        }
        sip.finish()
    }

    fn noise<const N: usize>(seed: u8) -> [u8; N] {
        core::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ (i / 256) as u8 ^ seed)
    }

    #[test]
    fn the_text_mac_is_siphash_of_head_and_padded_bytes_for_every_split() {
        let (a, e) = (noise::<600>(1), noise::<600>(200));
        let lengths = [0, 1, 7, 8, 9, 63, 64, 255, 256, 257, 300, 511, 512, 513, 600];
        for argv in lengths.map(|len| &a[..len]) {
            for envp in lengths.map(|len| &e[..len]) {
                let pad = [0; CHUNK];
                let pad = &pad[..(argv.len() + envp.len()).next_multiple_of(CHUNK) - argv.len() - envp.len()];
                let want = reference(&[77, argv.len() as u64, envp.len() as u64], &[argv, envp, pad]);
                assert_eq!(text(KEY, 77, argv, envp), want, "{} + {}", argv.len(), envp.len());
            }
        }
    }

    #[test]
    fn a_zero_at_the_end_is_not_taken_for_padding() {
        assert_ne!(text(KEY, 1, b"a", b""), text(KEY, 1, b"a\0", b""));
        assert_ne!(text(KEY, 1, b"a", b"b"), text(KEY, 1, b"a", b"b\0"));
    }

    #[test]
    fn moving_a_byte_from_argv_to_envp_changes_the_mac() {
        assert_ne!(text(KEY, 1, b"a\0b\0", b"c\0"), text(KEY, 1, b"a\0", b"b\0c\0"));
    }

    #[test]
    fn the_mac_of_one_process_is_no_good_for_another() {
        assert_ne!(text(KEY, 1, b"a\0", b""), text(KEY, 2, b"a\0", b""));
    }

    #[test]
    fn every_part_of_the_file_identity_changes_the_bound_mac() {
        let file = FileId { dev: 1, ino: 2, ctime_sec: 3, ctime_nsec: 4 };
        let mac = bind(KEY, 9, &file);
        assert_eq!(mac, reference(&[9, 2, 1, 3, 4], &[]));
        for other in [
            FileId { dev: 2, ..file },
            FileId { ino: 3, ..file },
            FileId { ctime_sec: 4, ..file },
            FileId { ctime_nsec: 5, ..file },
        ] {
            assert_ne!(mac, bind(KEY, 9, &other));
        }
        assert_ne!(mac, bind(KEY, 8, &file));
    }
}
