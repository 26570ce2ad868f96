//! KVM where it has proven itself, emulation everywhere else. Opening /dev/kvm proves nothing: nested in some clouds
//! it opens, and the guest never starts. So the boot itself is the proof, and a failure is remembered.

use std::fs;
use std::path::{Path, PathBuf};

use super::kernel::Kernel;
use super::machine::Accelerator;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wanted {
    Auto,
    Kvm,
    Tcg,
}

/// How often a boot under emulation is tried when nothing of ours has run: on some machines one in a hundred hangs.
const TRIES: usize = 3;

/// Accelerators in the order in which to try them, and why there is no KVM among them.
pub(crate) fn candidates(wanted: Wanted, kvm: Result<(), String>) -> (Vec<Accelerator>, Option<String>) {
    let emulated = vec![Accelerator::Tcg; TRIES];
    match (wanted, kvm) {
        (Wanted::Kvm, _) => (vec![Accelerator::Kvm], None),
        (Wanted::Tcg, _) => (emulated, None),
        (Wanted::Auto, Ok(())) => ([vec![Accelerator::Kvm], emulated].concat(), None),
        (Wanted::Auto, Err(why)) => (emulated, Some(why)),
    }
}

/// What is known about KVM for this kernel, since this machine was started.
#[derive(Debug)]
pub(crate) struct Kvm {
    failures: PathBuf,
    key: String,
}

impl Kvm {
    pub(crate) fn new(cache: &Path, qemu: &str, kernel: &Kernel) -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let key = format!("{} {qemu} {}", boot.trim(), kernel.image.display());
        Self { failures: cache.join("kvm-failures"), key }
    }

    /// Whether it is worth a try.
    pub(crate) fn may_work(&self) -> Result<(), String> {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if !has_virtualization(&processor) {
            return Err("the processor shows neither vmx nor svm".to_owned());
        }
        let opened = fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
        opened.map_err(|error| format!("/dev/kvm: {error}"))?;
        let failures = fs::read_to_string(&self.failures).unwrap_or_default();
        if failures.lines().any(|line| line == self.key) {
            return Err("this kernel did not start under it before".to_owned());
        }
        Ok(())
    }

    pub(crate) fn failed(&self) {
        let failures = fs::read_to_string(&self.failures).unwrap_or_default();
        // Forgotten, the next run loses some seconds.
        let _ = fs::write(&self.failures, format!("{failures}{}\n", self.key));
    }
}

fn has_virtualization(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    flags.split_ascii_whitespace().any(|flag| flag == "vmx" || flag == "svm")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test says so by failing")]

    use super::*;

    #[test]
    fn emulation_follows_kvm_only_where_nobody_asked_for_kvm_alone() {
        let last = |wanted, kvm| candidates(wanted, kvm).0.last().copied();
        assert_eq!(candidates(Wanted::Auto, Ok(())).0[0], Accelerator::Kvm);
        assert_eq!(last(Wanted::Auto, Ok(())), Some(Accelerator::Tcg));
        assert_eq!(last(Wanted::Kvm, Err(String::new())), Some(Accelerator::Kvm));
        let (without, why) = candidates(Wanted::Auto, Err("no vmx".into()));
        assert!(!without.contains(&Accelerator::Kvm) && why.is_some());
    }

    #[test]
    fn a_flag_is_a_word_of_its_own() {
        assert!(has_virtualization("model name : x\nflags\t\t: fpu vmx sse\n"));
        assert!(!has_virtualization("flags\t\t: fpu vmxx\nbugs : svm\n"));
    }

    #[test]
    fn a_failure_is_remembered_for_this_kernel() {
        let cache = tempfile::tempdir().unwrap();
        let kernel = |image: &str| Kernel { asked: "x".into(), image: image.into() };
        Kvm::new(cache.path(), "10", &kernel("/a")).failed();
        let failures = fs::read_to_string(cache.path().join("kvm-failures")).unwrap();
        assert!(failures.contains(&Kvm::new(cache.path(), "10", &kernel("/a")).key));
        assert!(!failures.contains(&Kvm::new(cache.path(), "10", &kernel("/b")).key));
    }
}
