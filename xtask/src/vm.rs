//! `cargo xtask vm`: the tests on other kernels than this machine's, each booted in QEMU from an initramfs that holds
//! the product, the tests, and of this machine's programs what they call. Needs no root and no disk image.
//!
//! Exit status: 0 everything passed, 1 a test failed or skipped what it must not, 2 there is no verdict.

mod accelerate;
mod allowed;
pub(crate) mod apt;
mod boots;
mod built;
mod carry;
mod console;
mod cpio;
mod image;
mod kernel;
mod machine;
mod report;
mod self_test;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use shellgate_guest::Plan;

use crate::places::target;
use crate::process::stdout;
use crate::setup::{has, is_root};
use accelerate::{Kvm, Wanted, candidates};
use boots::{Boot, Length, boots, filtered};
use kernel::Kernel;
use machine::{Accelerator, Parts, QEMU};
use report::Report;
use watch::{End, Heard, Limits};

#[derive(Debug, Args)]
pub(crate) struct VmArgs {
    /// A series of Debian's kernels (5.10, 6.1, 6.12, 6.18, 7.x, …), the path of a kernel image, or `all`.
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// Only tests whose name contains this.
    #[arg(long, value_name = "FILTER")]
    test: Option<String>,
    /// Only the boot of this name.
    #[arg(long, value_name = "NAME")]
    boot: Option<String>,
    /// One boot with the tests that say most, for every change.
    #[arg(long)]
    short: bool,
    #[arg(long, value_enum, default_value = "auto")]
    accel: Wanted,
    /// Build product and tests optimized: takes long once, and pays off where many tests are emulated. `--kernel all`
    /// in full does so anyway.
    #[arg(long)]
    optimized: bool,
    /// More for the kernel's command line.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    append: String,
    /// A shell in the guest instead of tests.
    #[arg(long)]
    shell: bool,
    /// Stop before the kernel's first instruction and wait for a debugger.
    #[arg(long)]
    gdb: bool,
    /// Leave the console log and the initramfs.
    #[arg(long)]
    keep: bool,
    /// Instead of tests, jobs that fail, hang, panic, power off and so on: each must be reported as what it is.
    #[arg(long)]
    self_test: bool,
}

pub(crate) fn run(root: &Path, args: &VmArgs) -> ExitCode {
    match Session::new(root, args).and_then(|session| session.run(root)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("vm: no verdict: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// What all boots of one call share.
struct Session<'a> {
    args: &'a VmArgs,
    cache: PathBuf,
    /// Of this call only: initramfs, console, monitor.
    folder: tempfile::TempDir,
    qemu: String,
    kernels: Vec<Kernel>,
    image: Vec<u8>,
}

impl<'a> Session<'a> {
    fn new(root: &Path, args: &'a VmArgs) -> Result<Self> {
        ensure!(cfg!(target_arch = "x86_64"), "guests are x86_64, and so must this machine be");
        let cache = target(root).join("vm");
        std::fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
        let qemu = qemu(&cache)?;
        let kernels = kernel::kernels(&cache, &args.kernel)?;
        let built = if args.self_test {
            built::runner_only(root)?
        } else {
            built::build(root, &cache, args.optimized || args.kernel == "all" && !args.short)?
        };
        let image = image::shared(&built)?;
        eprintln!("vm: the image has {} MiB", image.len() >> 20);
        let mut folder = tempfile::Builder::new().prefix("run-").tempdir_in(&cache)?;
        if args.keep {
            folder.disable_cleanup(true);
            eprintln!("vm: logs stay in {}", folder.path().display());
        }
        Ok(Self { args, cache, folder, qemu, kernels, image })
    }

    fn run(&self, root: &Path) -> Result<u8> {
        if self.args.shell {
            return self.shell();
        }
        if self.args.self_test {
            return self_test::run(self);
        }
        let mut reports = Vec::new();
        for kernel in &self.kernels {
            let report = self.kernel(kernel)?;
            for failure in &report.failures {
                eprintln!("vm: FAILED {failure}");
            }
            if let Some(why) = &report.lost {
                eprintln!("vm: NO VERDICT on {}: {why}", report.release);
            }
            eprintln!("{}", report.closing_line(&self.qemu));
            reports.push(report);
        }
        if self.args.kernel == "all" && self.args.boot.is_none() {
            report::write_page(root, &reports, &self.qemu, &self.list())?;
        }
        if reports.iter().any(|report| report.lost.is_some()) {
            return Ok(2);
        }
        Ok(u8::from(reports.iter().any(|report| !report.failures.is_empty())))
    }

    /// What was run, for the page.
    fn list(&self) -> String {
        let length = if self.args.short { "short" } else { "full" };
        match &self.args.test {
            Some(filter) => format!("those tests of the {length} list whose name contains `{filter}`"),
            None => format!("the {length} list of tests"),
        }
    }

    /// Every boot of one kernel, until one has no verdict.
    fn kernel(&self, kernel: &Kernel) -> Result<Report> {
        let start = Instant::now();
        let mut report = Report::default();
        let mut list = boots(if self.args.short { Length::Short } else { Length::Full });
        if let Some(name) = &self.args.boot {
            list.retain(|boot| boot.name == name);
            ensure!(!list.is_empty(), "no boot is called {name}");
        }
        if let Some(filter) = &self.args.test {
            list = filtered(list, filter);
        }
        for boot in list {
            let (accelerator, heard, end) = self.boot(kernel, &boot, Limits::of)?;
            report.add(boot.name, &heard);
            report.accelerator = accelerator.to_string();
            report.lost = match end {
                End::Verdict => continue,
                End::NoHello(why) => Some(format!("{} does not start: {why}", kernel.image.display())),
                End::Lost { why, console } => {
                    eprintln!("--- end of the console\n{console}\n---");
                    Some(format!("{}: {why}", boot.name))
                }
            };
            break;
        }
        report.seconds = start.elapsed().as_secs();
        Ok(report)
    }

    /// Boots, again where nothing of ours has run yet.
    fn boot(
        &self,
        kernel: &Kernel,
        boot: &Boot,
        limits: impl Fn(Accelerator) -> Limits,
    ) -> Result<(Accelerator, Heard, End)> {
        let kvm = Kvm::new(&self.cache, &self.qemu, kernel);
        let (accelerators, without) = candidates(self.args.accel, kvm.may_work());
        if let Some(why) = without {
            eprintln!("vm: not with KVM ({why})");
        }
        let mut accelerators = accelerators.into_iter().peekable();
        while let Some(accelerator) = accelerators.next() {
            let nonce = nonce()?;
            eprintln!("vm: {} under {accelerator}, boot `{}`", kernel.asked, boot.name);
            let plan = Plan { nonce: nonce.clone(), jobs: boot.jobs.clone(), shell: false };
            let append = format!("{} {}", boot.append, self.args.append);
            let parts = Parts {
                kernel: &kernel.image,
                folder: self.folder.path(),
                append: append.trim(),
                accelerator,
                disk_mib: boot.disk_mib,
                gdb: self.args.gdb,
                debugger: boot.debugger.as_deref(),
                terminal: false,
            };
            image::write(&self.image, &plan, &parts.initramfs())?;
            let mut limits = limits(accelerator);
            if self.args.gdb {
                eprintln!("vm: waiting for a debugger: `target remote :1234`");
                limits.hello = limits.whole;
                limits.silence = limits.whole;
            }
            let (heard, end) = watch::run(&parts, &nonce, limits)?;
            match &end {
                End::NoHello(why) if accelerators.peek().is_some() => {
                    eprintln!("vm: not started under {accelerator} ({why}); trying again");
                    if accelerator == Accelerator::Kvm {
                        kvm.failed();
                    }
                }
                End::NoHello(_) | End::Verdict | End::Lost { .. } => return Ok((accelerator, heard, end)),
            }
        }
        anyhow::bail!("no accelerator to try")
    }

    fn shell(&self) -> Result<u8> {
        let kernel = self.kernels.first().context("no kernel")?;
        let kvm = Kvm::new(&self.cache, &self.qemu, kernel);
        let accelerator = *candidates(self.args.accel, kvm.may_work()).0.first().context("no accelerator")?;
        let parts = Parts {
            kernel: &kernel.image,
            folder: self.folder.path(),
            append: &self.args.append,
            accelerator,
            disk_mib: 0,
            gdb: self.args.gdb,
            debugger: None,
            terminal: true,
        };
        let plan = Plan { nonce: nonce()?, jobs: Vec::new(), shell: true };
        image::write(&self.image, &plan, &parts.initramfs())?;
        let status = parts.start()?.child.wait()?;
        Ok(if status.success() { 0 } else { 2 })
    }
}

/// The version of QEMU, which is installed first where it is missing and we may.
fn qemu(cache: &Path) -> Result<String> {
    if !has(QEMU) {
        ensure!(
            is_root() && has("apt-get"),
            "{QEMU} is not installed; please install qemu-system-x86 (on Debian 12 from bookworm-backports: under 7.2 \
             some kernels crash)"
        );
        apt::install_qemu(&cache.join("apt-qemu"))?;
    }
    ensure!(has("setpriv"), "setpriv is not installed; please install util-linux");
    let told = stdout(Command::new(QEMU).arg("--version"))?;
    let version = told.split_whitespace().nth(3).context("QEMU does not tell its version")?.to_owned();
    if version.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|major: u32| major < 8) {
        eprintln!(
            "vm: QEMU {version} crashes some kernels when it emulates; 10 does not (on Debian 12: apt-get install -t \
             bookworm-backports qemu-system-x86 qemu-utils)"
        );
    }
    Ok(version)
}

fn nonce() -> Result<String> {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
