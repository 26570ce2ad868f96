//! One QEMU: its command line, its process, and the few words of its monitor that are needed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

pub(crate) const QEMU: &str = "qemu-system-x86_64";
/// What the kernel says, in the folder of the machine.
pub(crate) const CONSOLE: &str = "console.log";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accelerator {
    Kvm,
    Tcg,
}

impl std::fmt::Display for Accelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}

/// What a machine is made of. Its folder gets the initramfs, the console log and the monitor's socket.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) append: &'a str,
    pub(crate) accelerator: Accelerator,
    /// Size of an empty disk, 0 for none.
    pub(crate) disk_mib: u64,
    /// Wait for a debugger before the first instruction.
    pub(crate) gdb: bool,
    /// Socket for a debugger that comes later.
    pub(crate) debugger: Option<&'a Path>,
    /// The port is the caller's terminal.
    pub(crate) terminal: bool,
}

impl Parts<'_> {
    pub(crate) fn initramfs(&self) -> PathBuf {
        self.folder.join("initramfs.cpio")
    }

    pub(crate) fn console(&self) -> PathBuf {
        self.folder.join(CONSOLE)
    }

    fn monitor(&self) -> PathBuf {
        self.folder.join("monitor")
    }

    /// An oops is a panic: tests on a damaged kernel prove nothing. A panic ends QEMU (`-no-reboot`), so does an NMI
    /// that asks a silent guest where it hangs.
    fn kernel_words(&self) -> String {
        let console = if self.terminal { "console=ttyS0 quiet" } else { "console=ttyS0" };
        let gdb = if self.gdb { " nokaslr" } else { "" };
        format!(
            "{console} panic=-1 oops=panic sysctl.kernel.softlockup_panic=1 sysctl.kernel.watchdog_thresh=30 \
             sysctl.kernel.unknown_nmi_panic=1 sysctl.kernel.panic_on_io_nmi=1{gdb} {}",
            self.append
        )
    }

    /// `setpriv` has the kernel kill QEMU when we end, however we end.
    fn command(&self) -> Result<Command> {
        let mut qemu = Command::new("setpriv");
        qemu.args(["--pdeathsig", "KILL", QEMU]);
        qemu.args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-smp",
            "2",
            "-m",
            "2048",
        ]);
        qemu.args(match self.accelerator {
            Accelerator::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Accelerator::Tcg => ["-accel", "tcg,thread=multi", "-cpu", "max"],
        });
        qemu.arg("-kernel").arg(self.kernel).arg("-initrd").arg(self.initramfs());
        qemu.arg("-append").arg(self.kernel_words());
        qemu.arg("-serial").arg(format!("file:{}", self.console().display()));
        qemu.args(["-chardev", "stdio,id=port,signal=off", "-serial", "chardev:port"]);
        qemu.arg("-qmp").arg(format!("unix:{},server=on,wait=off", self.monitor().display()));
        if self.disk_mib > 0 {
            let disk = self.folder.join("disk");
            let file =
                fs::File::create(&disk).with_context(|| format!("cannot create {}", disk.display()))?;
            file.set_len(self.disk_mib << 20)?;
            qemu.arg("-drive").arg(format!("file={},format=raw,if=none,id=disk", disk.display()));
            qemu.args(["-device", "nvme,drive=disk,serial=guest"]);
        }
        if let Some(socket) = self.debugger {
            qemu.arg("-gdb").arg(format!("unix:{},server=on,wait=off", socket.display()));
        }
        if self.gdb {
            // Not `-s`, which listens on every interface.
            qemu.args(["-gdb", "tcp:127.0.0.1:1234", "-S"]);
        }
        Ok(qemu)
    }

    pub(crate) fn start(&self) -> Result<Machine> {
        let mut command = self.command()?;
        if !self.terminal {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let child = command.spawn().with_context(|| format!("cannot start setpriv and {QEMU}"))?;
        Ok(Machine { child, monitor: self.monitor() })
    }
}

/// A QEMU that runs. Let go of, it is killed.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) child: Child,
    monitor: PathBuf,
}

impl Machine {
    /// Whether KVM has given up on the guest: QEMU then stays alive, with the guest paused.
    pub(crate) fn is_broken(&self) -> bool {
        self.ask("query-status").is_some_and(|answer| answer.contains("internal-error"))
    }

    /// Asks a silent guest for a backtrace of what keeps its processors.
    pub(crate) fn interrupt(&self) {
        self.ask("inject-nmi");
    }

    fn ask(&self, command: &str) -> Option<String> {
        let mut monitor = UnixStream::connect(&self.monitor).ok()?;
        monitor.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
        let words = format!("{{\"execute\":\"qmp_capabilities\"}}\n{{\"execute\":\"{command}\"}}\n");
        monitor.write_all(words.as_bytes()).ok()?;
        let (mut answer, mut block) = (String::new(), [0; 4096]);
        // Greeting, two answers, and then silence.
        while let Ok(got @ 1..) = monitor.read(&mut block) {
            answer += &String::from_utf8_lossy(&block[..got]);
        }
        Some(answer)
    }

    /// Its end, waited for so long, or brought about.
    pub(crate) fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
