//! Examples that a tool makes components of. `cargo xtask setup` puts the tools in the checkout's target folder, where
//! root's second run as an ordinary user has no way in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::need::{PATH, is_root};
use crate::program::{made, scratch};

/// The folder of the workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A tool that makes components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builder {
    Python,
    JavaScript,
}

/// What a test that cannot run is skipped for, and why.
pub type Missing = (&'static str, String);

impl Builder {
    /// The component of `examples/wasm/guard`, built once for each version of its source.
    pub fn guard(self) -> Result<PathBuf, Missing> {
        let (name, suffix) = match self {
            Self::Python => ("python", "py"),
            Self::JavaScript => ("javascript", "js"),
        };
        let tool = self.tool(&tools().join(name))?;
        let source = Path::new(ROOT).join("examples/wasm/guard").with_extension(suffix);
        let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let both = [read(&source), read(&Path::new(ROOT).join("supervisor/wit/hook.wit"))].concat();
        Ok(made(&format!("guard-{suffix}.wasm"), &both, |fresh| self.build(&tool, &source, fresh)))
    }

    fn tool(self, folder: &Path) -> Result<PathBuf, Missing> {
        let (name, program) = match self {
            Self::Python => ("componentize-py", "bin/componentize-py"),
            Self::JavaScript => ("componentize-qjs", "node_modules/componentize-qjs/bin/componentize-qjs"),
        };
        let tool = folder.join(program);
        if tool.is_file() {
            return Ok(tool);
        }
        let what = if is_root() { name } else { "toolchain" };
        Err((what, format!("{name} is not installed")))
    }

    fn build(self, tool: &Path, source: &Path, fresh: &Path) {
        let wit = Path::new(ROOT).join("supervisor/wit");
        let mut command = match self {
            Self::Python => {
                let mut command = Command::new("python3");
                command.arg(tool).arg("-d").arg(wit).args([
                    "-w",
                    "hook",
                    "componentize",
                    "--stub-wasi",
                    "-p",
                ]);
                command.arg(source.parent().expect("a source has a folder")).args(["guard", "-o"]).arg(fresh);
                command.env("PYTHONPATH", tools().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Self::JavaScript => {
                let mut command = Command::new("node");
                command.arg(tool).arg("--wit").arg(wit).args(["-n", "hook", "--stub-wasi", "--sync", "-j"]);
                command.arg(source).arg("-o").arg(fresh);
                command
            }
        };
        let done = command.env("PATH", PATH).output().expect("the tool starts");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{} does not build: {said}", source.display());
    }
}

/// A state folder that tests share: what was compiled once need not be compiled again.
pub fn shared_state() -> PathBuf {
    scratch().join("state")
}

/// Where `cargo xtask setup` puts what it does not install.
pub(crate) fn tools() -> PathBuf {
    let ourselves = std::env::current_exe().expect("a test has an executable");
    let target = ourselves.ancestors().nth(3).expect("cargo puts tests in TARGET/PROFILE/deps");
    target.join("hook-tools")
}
