//! What runtimes and engines do with such a profile, by the name and version that they print. Found out by running them;
//! a version between two that were tried counts as the older one.

use std::process::Command;

/// What `PROGRAM --version` printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub name: String,
    pub version: (u32, u32),
}

impl Engine {
    /// Asks the program itself.
    pub fn of(program: &str) -> Result<Self, String> {
        let output = Command::new(program)
            .arg("--version")
            .output()
            .map_err(|error| format!("cannot run {program} --version: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Self::parse(&text).ok_or_else(|| format!("{program} --version printed no version: {:?}", text.trim()))
    }

    /// `runc version 1.1.5+ds1`, `crun version 1.8.1`, `Docker version 20.10.24, build 297e128`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split_ascii_whitespace();
        let name = words.next()?.to_ascii_lowercase();
        let version = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some(Self { name, version: (numbers.next()?.ok()?, numbers.next()?.ok()?) })
    }

    /// Whether it takes `WAIT_KILLABLE_RECV` in a profile: others refuse to start a container with a flag that they do
    /// not know.
    pub fn takes_wait_killable(&self) -> bool {
        match self.name.as_str() {
            "crun" => self.version >= (1, 8),
            "runc" => self.version >= (1, 5),
            _ => false,
        }
    }

    /// Why containers would not be supervised, or might not.
    pub fn escape(&self) -> Option<String> {
        let (major, minor) = self.version;
        let said = format!("{} {major}.{minor}", self.name);
        match self.name.as_str() {
            "docker" if self.version < (21, 0) => Some(format!(
                "{said} drops listenerPath: its containers do not start with this profile, and run unsupervised without; \
                 28 and later keep it"
            )),
            "docker" if major < 28 => {
                Some(format!("{said} was not tried with listenerPath; 28 and later keep it"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_printed() {
        for (text, flag, escapes) in [
            ("runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\n", false, false),
            ("runc version 1.5.1\n", true, false),
            ("crun version 1.8.1\ncommit: f8a096be\n", true, false),
            ("crun version 1.4\n", false, false),
            ("Docker version 20.10.24+dfsg1, build 297e128\n", false, true),
            ("Docker version 24.0.1, build 1\n", false, true),
            ("Docker version 28.5.2, build 1\n", false, false),
            ("podman version 4.3.1\n", false, false),
        ] {
            let engine = Engine::parse(text).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(
                (engine.takes_wait_killable(), engine.escape().is_some()),
                (flag, escapes),
                "{text:?}"
            );
        }
        for text in ["", "runc", "runc version", "runc version one", "1", "x 1"] {
            assert_eq!(Engine::parse(text), None, "{text:?}");
        }
    }
}
