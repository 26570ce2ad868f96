//! The reader against small files made here, and against the running kernel where it has one.
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use super::*;

/// Builds a BTF file type by type.
#[derive(Default)]
struct Build {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Build {
    fn name(&mut self, name: &str) -> u32 {
        if self.strings.is_empty() {
            self.strings.push(0);
        }
        if name.is_empty() {
            return 0;
        }
        let at = self.strings.len() as u32;
        self.strings.extend(name.bytes());
        self.strings.push(0);
        at
    }

    fn words(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }

    fn composite(&mut self, kind: u32, name: &str, members: &[(&str, u32, u32)]) {
        let name = self.name(name);
        self.words(&[name, (kind << 24) | members.len() as u32, 64]);
        for (name, kind, bits) in members {
            let name = self.name(name);
            self.words(&[name, *kind, *bits]);
        }
    }

    fn done(&self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut out = vec![];
        out.extend(MAGIC.to_ne_bytes());
        out.extend([1, 0]);
        out.extend([24, 0, types, types, strings].iter().flat_map(|word: &u32| word.to_ne_bytes()));
        out.extend(&self.types);
        out.extend(&self.strings);
        out
    }
}

#[test]
fn a_member_inside_an_anonymous_union_is_found_at_the_sum_of_offsets() {
    let mut build = Build::default();
    build.composite(UNION, "", &[("other", 0, 0), ("f_path", 0, 32)]);
    build.composite(STRUCT, "file", &[("f_mode", 0, 0), ("", 1, 128)]);
    let bytes = build.done();
    let offsets = Btf::parse(&bytes, &[]).unwrap().offsets().unwrap();
    assert_eq!(offsets.file_path, 16 + 4);
    assert_eq!(offsets.task_mm, ABSENT);
}

#[test]
fn a_single_bit_is_found_by_its_bit() {
    let mut build = Build::default();
    let (name, member) = (build.name("linux_binprm"), build.name("is_check"));
    let one_bit_at_69 = (1 << 24) | 0x45;
    build.words(&[name, (1 << 31) | (STRUCT << 24) | 1, 64, member, 0, one_bit_at_69]);
    let bytes = build.done();
    assert_eq!(Btf::parse(&bytes, &[]).unwrap().offsets().unwrap().bprm_is_check, 69);
}

#[test]
fn a_function_is_found_by_its_whole_name() {
    let mut build = Build::default();
    for name in ["bpf_lsm_bpf_map", "bpf_lsm_bpf"] {
        let name = build.name(name);
        build.words(&[name, FUNC << 24, 0]);
    }
    let bytes = build.done();
    let btf = Btf::parse(&bytes, &["bpf_lsm_bpf", "bpf_lsm_none"]).unwrap();
    assert_eq!((btf.function(0), btf.function(1)), (Some(2), None));
}

#[test]
fn two_structs_of_one_name_that_disagree_are_refused() {
    let mut build = Build::default();
    build.composite(STRUCT, "path", &[("dentry", 0, 64)]);
    build.composite(STRUCT, "path", &[("dentry", 0, 128)]);
    let bytes = build.done();
    assert_eq!(Btf::parse(&bytes, &[]).unwrap().offsets(), Err(BtfError::Ambiguous("path.dentry")));
}

#[test]
fn a_file_cut_anywhere_is_an_error_and_no_panic() {
    let mut build = Build::default();
    build.composite(STRUCT, "path", &[("dentry", 0, 64), ("", 1, 0)]);
    let bytes = build.done();
    for len in 0..bytes.len() {
        assert!(Btf::parse(&bytes[..len], &[]).is_err(), "{len}");
    }
}

#[test]
fn a_kind_from_the_future_is_named() {
    let mut build = Build::default();
    build.name("");
    build.words(&[0, 30 << 24, 0]);
    assert_eq!(Btf::parse(&build.done(), &[]).unwrap_err(), BtfError::Kind(30));
}

#[test]
fn the_running_kernel_has_every_field_but_old_names() {
    let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        eprintln!("skipped: this kernel has no BTF");
        return;
    };
    let mut offsets = Btf::parse(&bytes, &[]).unwrap().offsets().unwrap();
    for (index, path) in Offsets::PATHS.iter().enumerate() {
        let found = *offsets.at(index).unwrap() != ABSENT;
        let may_lack = path.starts_with("inode.") && path.contains("ctime") || path.ends_with(".is_check");
        assert!(found || may_lack, "{path}");
    }
}
