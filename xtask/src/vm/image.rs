//! The initramfs of one boot: the part that every boot shares, and the plan, which the kernel unpacks after it.

use std::path::Path;

use anyhow::{Context as _, Result};
use shellgate_guest::{PLAN, Plan};

use super::built::Built;
use super::carry::Carrier;
use super::cpio::Archive;

/// Where the guest has what was built.
pub(crate) const FOLDER: &str = "/shellgate";

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\n";

/// Everything but the plan.
pub(crate) fn shared(built: &Built) -> Result<Vec<u8>> {
    let mut carrier = Carrier::new()?;
    for folder in ["dev", "proc", "sys", "run", "root", "mnt"] {
        carrier.archive.directory(folder, 0o755)?;
    }
    for folder in ["tmp", "var/tmp"] {
        carrier.archive.directory(folder, 0o1777)?;
    }
    carrier.archive.device("dev/console", 5, 1)?;
    carrier.archive.device("dev/null", 1, 3)?;
    for (name, text) in [
        ("passwd", PASSWD),
        ("group", GROUP),
        ("hosts", "127.0.0.1 localhost\n"),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ] {
        carrier.archive.file(&format!("etc/{name}"), 0o644, text.as_bytes())?;
    }
    carrier.file_as(&built.init, "init")?;
    if let Some(shellgate) = &built.shellgate {
        carrier.file_as(shellgate, &format!("{FOLDER}/shellgate"))?;
    }
    for (name, path) in &built.examples {
        carrier.file_as(path, &format!("{FOLDER}/examples/{name}"))?;
    }
    for (name, path) in &built.tests {
        carrier.file_as(path, &test_program(name))?;
    }
    for path in &built.programs {
        let name = path.file_name().and_then(|name| name.to_str()).context("a program has a name")?;
        carrier.file_as(path, &format!("{FOLDER}/programs/{name}"))?;
    }
    carrier.userland()?;
    carrier.archive.finish()
}

/// The guest's path of a test program.
pub(crate) fn test_program(name: &str) -> String {
    format!("{FOLDER}/tests/{name}")
}

/// The shared part and a plan, as one file.
pub(crate) fn write(shared: &[u8], plan: &Plan, to: &Path) -> Result<()> {
    let mut archive = Archive::default();
    archive.file(PLAN, 0o600, &serde_json::to_vec(plan)?)?;
    let whole = [shared, &archive.finish()?].concat();
    std::fs::write(to, whole).with_context(|| format!("cannot write {}", to.display()))
}
