//! Skips that are no surprise. A test that skips in a guest for any other reason fails the run: a kernel that stops
//! having a feature, or an image that stops carrying a program, must not go unnoticed.

use super::watch::Skip;

/// Major and minor number.
type Version = (u32, u32);

struct Allowed {
    /// Part of what the test says.
    why: &'static str,
    /// Kernels before this one only; none for all.
    before: Option<Version>,
    /// This boot only; none for all.
    boot: Option<&'static str>,
}

const fn always(why: &'static str) -> Allowed {
    Allowed { why, before: None, boot: None }
}

const fn before(why: &'static str, version: Version) -> Allowed {
    Allowed { why, before: Some(version), boot: None }
}

const fn under(why: &'static str, boot: &'static str) -> Allowed {
    Allowed { why, before: None, boot: Some(boot) }
}

const ALLOWED: &[Allowed] = &[
    // The programs use bpf_loop.
    before("no eBPF seal here", (5, 17)),
    // Without that seal only a pidfd tells of every process (6.15).
    before("nobody tells here how a process ends", (5, 17)),
    before("signals interrupt an exec that waits here", (5, 19)),
    before("no Landlock here that keeps signals in the tree", (6, 12)),
    // That boot is there to leave it out; and on its stock command line, 5.10 does.
    under("no LSM guard here: bpf is not among the active security modules", "lsm without bpf"),
    before("no LSM guard here: bpf is not among the active security modules", (6, 1)),
    // Other jobs have the level that the test is about.
    always("Yama is above 1, which other tests are about"),
    // Too large for an image that is unpacked into memory, or of no use without a network.
    always("node is not installed"),
    always("npm is not installed"),
    always("componentize-py is not installed"),
    always("componentize-qjs is not installed"),
    always("chromium-headless-shell is not installed"),
    always("gdb is not installed"),
    always("git-lfs is not installed"),
    always("runc is not installed"),
    always("crun is not installed"),
    always("podman is not installed"),
    always("prometheus is not installed"),
    always("golang-github-containers-common is not installed"),
    always("containerd is not installed"),
    always("dockerd is not installed"),
    always("grpcio is not installed"),
    always("kubectl is not installed"),
    always("schemas is not installed"),
    always("vim is not installed"),
    always("cc is not installed"),
    // They stay on the host.
    always("the sources cannot be read"),
    // Asks PAM.
    always("su is not installed"),
];

/// The skips that nobody has allowed on this kernel.
pub(crate) fn forbidden<'a>(release: &str, boot: &str, skips: &'a [Skip]) -> Vec<&'a Skip> {
    let version = version(release);
    let allows = |allowed: &Allowed, skip: &Skip| {
        let old = allowed.before.is_none_or(|before| version.is_some_and(|version| version < before));
        let here = allowed.boot.is_none_or(|name| name == boot);
        old && here && skip.why.contains(allowed.why)
    };
    skips.iter().filter(|skip| !ALLOWED.iter().any(|allowed| allows(allowed, skip))).collect()
}

/// Of a release such as `6.1.0-57-cloud-amd64`.
fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(['.', '-', '+']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(why: &str) -> Skip {
        Skip { job: "cases".into(), test: "a".into(), why: why.into() }
    }

    #[test]
    fn an_old_kernel_may_lack_what_a_new_one_must_have() {
        let skips = [skip("no eBPF seal here: \"…\"")];
        assert!(forbidden("5.10.0-46-cloud-amd64", "stock", &skips).is_empty());
        assert_eq!(forbidden("6.1.0-57-cloud-amd64", "stock", &skips).len(), 1);
        assert_eq!(forbidden("unreadable", "stock", &skips).len(), 1);
    }

    #[test]
    fn a_guard_may_be_missing_only_where_the_boot_leaves_it_out() {
        let skips = [skip("no LSM guard here: bpf is not among the active security modules (yama)")];
        assert!(forbidden("6.12.1", "lsm without bpf", &skips).is_empty());
        assert_eq!(forbidden("6.12.1", "lsm with bpf", &skips).len(), 1);
    }

    #[test]
    fn a_skip_for_a_reason_that_nobody_knows_is_forbidden() {
        assert_eq!(
            forbidden("6.1.0", "stock", &[skip("bash is not installed"), skip("gdb is not installed")]).len(),
            1
        );
    }
}
