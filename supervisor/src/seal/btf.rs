//! Reads struct offsets and function ids out of the kernel's BTF (Documentation/bpf/btf.rst) in one pass.
//!
//! Trusts that `/sys/kernel/btf/vmlinux` comes from the kernel; a malformed one is an error, never a panic. A name
//! that several structs share must give one answer.
#![forbid(unsafe_code)]

use shellgate_common::offsets::{ABSENT, Offsets};

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const FUNC: u32 = 12;
/// How deep anonymous members are followed.
const DEPTH: u32 = 8;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum BtfError {
    #[error("kernel BTF is malformed at type {0}")]
    Malformed(u32),
    #[error("kernel BTF has an unknown header")]
    Header,
    #[error("kernel BTF has a kind of type this program does not know: {0}")]
    Kind(u32),
    #[error("kernel BTF has several structs for {0} that disagree")]
    Ambiguous(&'static str),
}

/// A parsed file: where each type begins, and where the structs and functions with the wanted names are.
#[derive(Debug)]
pub(crate) struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    starts: Vec<u32>,
    /// Type ids of structs, by the index of their name among the wanted ones.
    structs: Vec<Vec<u32>>,
    functions: Vec<Option<u32>>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// Whether the string at `offset` is `name`.
fn named(strings: &[u8], offset: u32, name: &str) -> bool {
    strings
        .get(offset as usize..)
        .and_then(|rest| rest.strip_prefix(name.as_bytes()))
        .is_some_and(|rest| rest.first() == Some(&0))
}

/// Which of `names` the string at `offset` is. Nearly all are none: the second letter decides before the rest.
fn find(strings: &[u8], offset: u32, names: &[&str]) -> Option<usize> {
    let start = strings.get(offset as usize + 1);
    names.iter().position(|name| name.as_bytes().get(1) == start && named(strings, offset, name))
}

/// The structs that [`Offsets::PATHS`] speaks of, each once.
fn wanted() -> Vec<&'static str> {
    let mut names: Vec<_> = Offsets::PATHS.iter().filter_map(|path| Some(path.split_once('.')?.0)).collect();
    names.dedup();
    names
}

impl<'a> Btf<'a> {
    /// One pass over all types. `functions`: names whose type ids are wanted.
    pub(crate) fn parse(bytes: &'a [u8], functions: &[&str]) -> Result<Self, BtfError> {
        let magic = bytes.first_chunk::<2>().map(|bytes| u16::from_ne_bytes(*bytes));
        if magic != Some(MAGIC) {
            return Err(BtfError::Header);
        }
        let header = |at| word(bytes, at).map(|value| value as usize).ok_or(BtfError::Header);
        let (base, types, types_len, strings, strings_len) =
            (header(4)?, header(8)?, header(12)?, header(16)?, header(20)?);
        let part = |at: usize, len: usize| {
            let start = base.checked_add(at)?;
            bytes.get(start..start.checked_add(len)?)
        };
        let types = part(types, types_len).ok_or(BtfError::Header)?;
        let strings = part(strings, strings_len).ok_or(BtfError::Header)?;

        let names = wanted();
        let mut out = Self {
            types,
            strings,
            starts: Vec::with_capacity(types_len / 24),
            structs: vec![Vec::new(); names.len()],
            functions: vec![None; functions.len()],
        };
        out.starts.push(u32::MAX); // type 0 is `void` and has no entry
        let mut at = 0;
        while at < types.len() {
            let id = out.starts.len() as u32;
            let (Some(name), Some(info)) = (word(types, at), word(types, at + 4)) else {
                return Err(BtfError::Malformed(id));
            };
            out.starts.push(at as u32);
            let kind = (info >> 24) & 0x1f;
            if kind == STRUCT
                && let Some(index) = find(strings, name, &names)
            {
                out.structs[index].push(id);
            } else if kind == FUNC
                && let Some(index) = find(strings, name, functions)
            {
                out.functions[index] = Some(id);
            }
            at += 12 + extra(kind, (info & 0xffff) as usize).ok_or(BtfError::Kind(kind))?;
        }
        if at != types.len() {
            return Err(BtfError::Malformed(out.starts.len() as u32 - 1));
        }
        Ok(out)
    }

    /// Type id of the function that was wanted as number `index`.
    pub(crate) fn function(&self, index: usize) -> Option<u32> {
        self.functions.get(index).copied().flatten()
    }

    /// Every offset this kernel has.
    pub(crate) fn offsets(&self) -> Result<Offsets, BtfError> {
        let mut out = Offsets::NONE;
        let names = wanted();
        for (index, path) in Offsets::PATHS.iter().enumerate() {
            let Some((structure, member)) = path.split_once('.') else { continue };
            let Some(ids) = names.iter().position(|name| *name == structure) else { continue };
            let mut found = None;
            for id in &self.structs[ids] {
                let here = self.member(*id, member, 0, DEPTH)?;
                if found.is_some() && here.is_some() && found != here {
                    return Err(BtfError::Ambiguous(path));
                }
                found = found.or(here);
            }
            if let Some(place) = out.at(index) {
                let bits = found.map(|bits| if Offsets::in_bits(index) { bits } else { bits / 8 });
                *place = bits.unwrap_or(ABSENT);
            }
        }
        Ok(out)
    }

    /// Offset in bits of `member` in struct or union `id`, anonymous members included.
    fn member(&self, id: u32, member: &str, base: u32, depth: u32) -> Result<Option<u32>, BtfError> {
        let bad = || BtfError::Malformed(id);
        let Some(&start) = self.starts.get(id as usize).filter(|start| **start != u32::MAX) else {
            return Ok(None);
        };
        let start = start as usize;
        let info = word(self.types, start + 4).ok_or_else(bad)?;
        if ![STRUCT, UNION].contains(&((info >> 24) & 0x1f)) {
            return Ok(None);
        }
        let bitfields = info >> 31 != 0;
        for index in 0..(info & 0xffff) as usize {
            let at = start + 12 + 12 * index;
            let part = |i: usize| word(self.types, at + 4 * i).ok_or_else(bad);
            let (name, kind, bits) = (part(0)?, part(1)?, part(2)?);
            let bits = if bitfields { bits & 0x00ff_ffff } else { bits };
            let here = base + bits;
            if named(self.strings, name, member) {
                return Ok(Some(here));
            }
            if depth > 0
                && named(self.strings, name, "")
                && let Some(found) = self.member(kind, member, here, depth - 1)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Bytes that follow the common part of a type (include/uapi/linux/btf.h).
fn extra(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        2 | 7..=12 | 16 | 18 => 0, // pointer, forward, typedef, volatile, const, restrict, func, float, tag
        1 | 14 | 17 => 4,          // int, var, declaration tag
        3 => 12,                   // array
        4 | 5 | 15 | 19 => 12 * count, // struct, union, data section, enum64
        6 | 13 => 8 * count,       // enum, function prototype
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
