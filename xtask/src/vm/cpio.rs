//! An initramfs, written as the kernel reads it: cpio in its `newc` form, not compressed, which boots fastest.
//! (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.)

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

/// Entries in the order in which the kernel makes them. A path is given from the root, with or without its slash;
/// the first entry of a path stays.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    paths: BTreeSet<String>,
}

impl Archive {
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_start_matches('/'))
    }

    pub(crate) fn directory(&mut self, path: &str, mode: u32) -> Result<()> {
        self.entry(path, DIRECTORY | mode, (0, 0), b"")
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.entry(path, FILE | mode, (0, 0), content)
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) -> Result<()> {
        self.entry(path, SYMLINK | 0o777, (0, 0), target.as_bytes())
    }

    pub(crate) fn device(&mut self, path: &str, major: u32, minor: u32) -> Result<()> {
        self.entry(path, CHARACTER | 0o600, (major, minor), b"")
    }

    /// With its end. Nothing can be added any more.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        self.header("TRAILER!!!", 0, (0, 0), 0)?;
        Ok(self.bytes)
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) -> Result<()> {
        let path = path.trim_matches('/');
        if path.is_empty() || !self.paths.insert(path.to_owned()) {
            return Ok(());
        }
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.directory(folder, 0o755)?;
        }
        let size = u32::try_from(content.len()).with_context(|| format!("{path} is too large for cpio"))?;
        self.header(path, mode, device, size)?;
        self.bytes.extend_from_slice(content);
        self.pad();
        Ok(())
    }

    fn header(&mut self, path: &str, mode: u32, (major, minor): (u32, u32), size: u32) -> Result<()> {
        let inode = u32::try_from(self.paths.len()).context("too many files for cpio")?;
        let name = u32::try_from(path.len() + 1).context("a name too long for cpio")?;
        let (owner, links, time, of_device, check) = (0, 1, 1, 0, 0);
        let fields =
            [inode, mode, owner, owner, links, time, size, of_device, of_device, major, minor, name, check];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test says so by failing")]

    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn archive() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.file("/a/b/c", 0o755, b"12345").unwrap();
        archive.file("a/b/c", 0o644, b"a second one of this name").unwrap();
        archive.link("l", "a/b/c").unwrap();
        archive.device("dev/console", 5, 1).unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_names_only_once() {
        let bytes = archive();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("no {name:?}"));
        assert!(at("a\0") < at("a/b\0"));
        assert!(at("a/b\0") < at("a/b/c\0") && at("12345") < at("TRAILER!!!"));
        assert!(!text.contains("second one"));
    }

    #[test]
    fn another_reader_lists_what_was_written() {
        let Ok(mut busybox) =
            Command::new("busybox").args(["cpio", "-t"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        else {
            eprintln!("skipped: busybox is not installed");
            return;
        };
        busybox.stdin.take().unwrap().write_all(&archive()).unwrap();
        let done = busybox.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), "a\na/b\na/b/c\nl\ndev\ndev/console\n");
    }
}
