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
}

const fn always(why: &'static str) -> Allowed {
    Allowed { why, before: None }
}

const fn before(why: &'static str, version: Version) -> Allowed {
    Allowed { why, before: Some(version) }
}

const ALLOWED: &[Allowed] = &[
    // The programs use bpf_loop.
    before("no eBPF seal here", (5, 17)),
    // Too large for an image that is unpacked into memory, or of no use without a network.
    always("node is not installed"),
    always("npm is not installed"),
    always("gdb is not installed"),
    always("vim is not installed"),
    always("cc is not installed"),
    // Asks PAM.
    always("su is not installed"),
];

/// The skips that nobody has allowed on this kernel.
pub(crate) fn forbidden<'a>(release: &str, skips: &'a [Skip]) -> Vec<&'a Skip> {
    let version = version(release);
    let allows = |allowed: &Allowed, skip: &Skip| {
        let old = allowed.before.is_none_or(|before| version.is_some_and(|version| version < before));
        old && skip.why.contains(allowed.why)
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
        assert!(forbidden("5.10.0-46-cloud-amd64", &skips).is_empty());
        assert_eq!(forbidden("6.1.0-57-cloud-amd64", &skips).len(), 1);
        assert_eq!(forbidden("unreadable", &skips).len(), 1);
    }

    #[test]
    fn a_skip_for_a_reason_that_nobody_knows_is_forbidden() {
        assert_eq!(
            forbidden("6.1.0", &[skip("bash is not installed"), skip("gdb is not installed")]).len(),
            1
        );
    }
}
