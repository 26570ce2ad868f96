//! Changes to the guest that a job asks for.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount, umount};
use shellgate_guest::Prepare;

/// The disk of the guest, where a boot has one: NVMe is built into every kernel that we boot.
const DISK: &str = "/dev/nvme0n1";

pub(crate) fn carry_out(step: &Prepare) -> Result<(), String> {
    match step {
        Prepare::Sysctl { name, value } => {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            fs::write(&path, value).map_err(|error| format!("cannot write {value} to {path}: {error}"))
        }
        Prepare::Hide(path) => {
            mount(Some("/dev/null"), path.as_str(), None::<&str>, MsFlags::MS_BIND, None::<&str>)
                .map_err(|errno| format!("cannot hide {path}: {errno}"))
        }
        Prepare::Show(path) => umount(path.as_str()).map_err(|errno| format!("cannot show {path}: {errno}")),
        Prepare::Mount { kind, on, data } => {
            fs::create_dir_all(on).map_err(|error| format!("cannot create {on}: {error}"))?;
            let (kind, data) = (kind.as_str(), data.as_str());
            mount(Some(kind), on.as_str(), Some(kind), MsFlags::empty(), Some(data))
                .map_err(|errno| format!("cannot mount {kind} ({data}) on {on}: {errno}"))
        }
        Prepare::Swap { mib } => swap(*mib),
    }
}

/// The area is the disk itself, whose size the host has chosen.
fn swap(mib: u64) -> Result<(), String> {
    if !Path::new(DISK).exists() {
        return Err(format!("no disk {DISK} for {mib} MiB of swap"));
    }
    for words in [["mkswap", DISK], ["swapon", DISK]] {
        let done = Command::new("/usr/bin/busybox").args(words).output();
        let done = done.map_err(|error| format!("cannot start busybox {}: {error}", words[0]))?;
        if !done.status.success() {
            return Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim()));
        }
    }
    Ok(())
}
