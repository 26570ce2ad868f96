//! A fault in the guest's kernel, made through QEMU's debugger port: an instruction that does not exist is written
//! over the first one of a system call that the guest then makes. Nothing inside a guest could do that without a
//! module built for its kernel.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// The guest tells where the system call is, on its console, and calls it until something happens.
pub(super) const LINE: &str = "echo \"fault goes here: $(grep ' __x64_sys_sethostname$' /proc/kallsyms)\" > /dev/kmsg; \
                               while :; do hostname faulty; sleep 0.2; done";
const MARK: &str = "fault goes here: ";
/// `ud2`.
const NO_INSTRUCTION: &str = "0f0b";
const PATIENCE: Duration = Duration::from_mins(4);

/// Waits for the guest's word and strikes.
pub(super) fn strike(console: &Path, port: &Path) -> Result<()> {
    let start = Instant::now();
    let address = loop {
        let log = fs::read(console).unwrap_or_default();
        if let Some(address) = address(&String::from_utf8_lossy(&log)) {
            break address;
        }
        if start.elapsed() > PATIENCE {
            bail!("the guest tells no address");
        }
        thread::sleep(Duration::from_millis(100));
    };
    let mut port = UnixStream::connect(port).context("cannot connect to the debugger port")?;
    port.set_read_timeout(Some(Duration::from_secs(5)))?;
    // A processor that was stopped in user mode may not have the kernel mapped: then later.
    for _ in 0..50 {
        if ask(&mut port, &format!("M{address},2:{NO_INSTRUCTION}"))?.contains("OK") {
            return ask(&mut port, "D").map(drop);
        }
        port.write_all(packet("c").as_bytes())?;
        thread::sleep(Duration::from_millis(20));
        // Stops it again.
        port.write_all(&[3])?;
        read(&mut port)?;
    }
    bail!("the guest's kernel cannot be written to")
}

fn address(log: &str) -> Option<String> {
    let (_, rest) = log.split_once(MARK)?;
    let (address, rest) = rest.split_once(' ')?;
    rest.contains('\n').then(|| address.to_owned())
}

/// `$TEXT#SUM`, as the remote protocol of gdb has it.
fn packet(text: &str) -> String {
    let sum = text.bytes().fold(0_u8, u8::wrapping_add);
    format!("${text}#{sum:02x}")
}

fn ask(port: &mut UnixStream, text: &str) -> Result<String> {
    port.write_all(packet(text).as_bytes())?;
    read(port)
}

/// One answer, acknowledged.
fn read(port: &mut UnixStream) -> Result<String> {
    let (mut answer, mut block) = (String::new(), [0; 512]);
    while !answer.contains('#') {
        let got = port.read(&mut block).context("the debugger port is silent")?;
        if got == 0 {
            bail!("the debugger port is closed");
        }
        answer += &String::from_utf8_lossy(&block[..got]);
    }
    port.write_all(b"+")?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_sum_of_its_bytes() {
        assert_eq!(packet("OK"), "$OK#9a");
    }

    #[test]
    fn the_address_is_the_word_behind_the_mark() {
        assert_eq!(address("[ 1.0] fault goes here: ffffffff8123 T x\r\n").as_deref(), Some("ffffffff8123"));
        assert_eq!(address("fault goes here: ffff"), None);
    }
}
