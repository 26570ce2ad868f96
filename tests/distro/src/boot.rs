//! File systems and devices that a test expects to find.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use nix::mount::{MsFlags, mount};

/// Type, place, data.
const MOUNTS: [(&str, &str, &str); 11] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("devpts", "/dev/pts", "ptmxmode=666"),
    ("tmpfs", "/dev/shm", "mode=1777"),
    ("securityfs", "/sys/kernel/security", ""),
    ("bpf", "/sys/fs/bpf", ""),
    ("tracefs", "/sys/kernel/tracing", ""),
    ("cgroup2", "/sys/fs/cgroup", ""),
    ("tmpfs", "/tmp", "mode=1777"),
    ("tmpfs", "/run", "mode=755"),
];

const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// What fails is said on the console; a test that needed it will say so too.
pub(crate) fn mount_all() {
    for (kind, place, data) in MOUNTS {
        // Already there, or the mount fails and tells.
        let _ = fs::create_dir_all(place);
        if let Err(errno) = mount(Some(kind), place, Some(kind), MsFlags::empty(), Some(data)) {
            eprintln!("guest: cannot mount {place}: {errno}");
        }
    }
    for (link, target) in LINKS {
        if let Err(error) = symlink(target, link) {
            eprintln!("guest: cannot link {link}: {error}");
        }
    }
    let up = Command::new("/usr/bin/busybox").args(["ip", "link", "set", "lo", "up"]).status();
    if !up.is_ok_and(|status| status.success()) {
        eprintln!("guest: the loopback device stays down");
    }
}
