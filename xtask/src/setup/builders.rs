//! Tools from package registries, in the target folder of this checkout: what makes components of the examples, and
//! Prometheus' own reader of metrics. Without them these are not tested, which the tests say themselves, so a machine
//! without a network can still run the rest.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::has;
use crate::process::must;

/// A package, the program that installs it, and a file that is there when it is.
struct Builder {
    package: &'static str,
    with: &'static str,
    folder: &'static str,
    proof: &'static str,
}

const BUILDERS: &[Builder] = &[
    Builder {
        package: "componentize-py==0.25.1",
        with: "pip3",
        folder: "python",
        proof: "componentize_py-0.25.1.dist-info/METADATA",
    },
    Builder {
        package: "componentize-qjs@0.4.5",
        with: "npm",
        folder: "javascript",
        proof: "node_modules/componentize-qjs/package.json",
    },
    Builder {
        package: "prometheus-client==0.26.0",
        with: "pip3",
        folder: "prometheus",
        proof: "prometheus_client-0.26.0.dist-info/METADATA",
    },
];

pub(super) fn install() -> Result<()> {
    let tools = target()?.join("hook-tools");
    for builder in BUILDERS {
        let folder = tools.join(builder.folder);
        if folder.join(builder.proof).is_file() {
            continue;
        }
        if !has(builder.with) {
            eprintln!("setup: tests that need it will skip; please install: {}", builder.with);
        } else if let Err(error) = must(&mut builder.command(&folder)) {
            eprintln!("setup: tests that need {} will skip: {error:#}", builder.package);
        }
    }
    Ok(())
}

impl Builder {
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(self.with);
        if self.with == "pip3" {
            command.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade"]);
            command.arg("--target").arg(folder).env("PIP_ROOT_USER_ACTION", "ignore");
        } else {
            command.args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts"]);
            command.arg("--prefix").arg(folder);
        }
        command.arg(self.package);
        command
    }
}

/// Where cargo put this very program: TARGET/PROFILE/xtask.
fn target() -> Result<PathBuf> {
    let ourselves = std::env::current_exe().context("cannot tell where xtask is")?;
    let target = ourselves.ancestors().nth(2).context("xtask is not in a target folder")?;
    Ok(target.to_path_buf())
}
