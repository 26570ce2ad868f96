//! Long output on a terminal, through a pager. It is started only once there is more than fits on the screen.

use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context as _, bail};
use nix::sys::signal::{SigSet, Signal};

use crate::sys::terminal::{self, Size};

/// Without `$PAGER`: shows our colours, and ends at once where all fits after all.
const PAGER: &str = "less -FR";
/// Of a terminal that does not tell.
const SIZE: Size = Size { rows: 24, columns: 80 };

/// Standard output, or a pager in front of it.
pub(super) enum Paged {
    Plain(io::BufWriter<io::StdoutLock<'static>>),
    /// What has come so far still fits.
    Waiting {
        command: String,
        size: Size,
        lines: usize,
        text: Vec<u8>,
    },
    Running {
        child: Child,
        input: Option<io::BufWriter<ChildStdin>>,
        command: String,
    },
}

impl Paged {
    /// With a pager where `wanted`, standard output is a terminal and there is one that can be used.
    pub(super) fn new(wanted: bool) -> Self {
        let command = wanted.then(command).flatten().filter(|_| io::stdout().is_terminal());
        match command {
            Some(command) => Self::Waiting { command, size: size(), lines: 0, text: Vec::new() },
            None => Self::plain(),
        }
    }

    fn plain() -> Self {
        Self::Plain(io::BufWriter::new(io::stdout().lock()))
    }

    /// All has been written: it is shown, and the reader is waited for.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Plain(mut out) => Ok(out.flush()?),
            Self::Waiting { text, .. } => {
                let mut out = io::stdout().lock();
                Ok(out.write_all(&text).and_then(|()| out.flush())?)
            }
            Self::Running { mut child, input, command } => {
                // A reader that has seen enough has closed it.
                let _ = input.map(|mut input| input.flush());
                let status = child.wait().context("cannot wait for the pager")?;
                if matches!(status.code(), Some(126 | 127)) {
                    bail!("the pager {command:?} cannot be run (set $PAGER to another, or give --no-pager)");
                }
                Ok(())
            }
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => return out.write(bytes),
            Self::Running { input: Some(input), .. } => return input.write(bytes),
            Self::Running { input: None, .. } => return Err(io::ErrorKind::BrokenPipe.into()),
            Self::Waiting { size, lines, text, command } => {
                text.extend_from_slice(bytes);
                *lines += bytes.split(|byte| *byte == b'\n').skip(1).count();
                // The last row is the shell's, and long lines take several.
                if *lines + 1 < size.rows.into()
                    && text.len() / usize::from(size.columns) + 1 < size.rows.into()
                {
                    return Ok(bytes.len());
                }
                let (text, command) = (std::mem::take(text), std::mem::take(command));
                *self = start(command)?;
                self.write_all(&text)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Running { input: Some(input), .. } => input.flush(),
            Self::Running { input: None, .. } | Self::Waiting { .. } => Ok(()),
        }
    }
}

/// `$PAGER`, else less where it is installed. An empty one and `cat` are none.
fn command() -> Option<String> {
    let given = std::env::var("PAGER").ok().map(|pager| pager.trim().to_owned());
    let command = given.or_else(|| is_installed("less").then(|| PAGER.to_owned()))?;
    (!command.is_empty() && command != "cat").then_some(command)
}

fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn start(command: String) -> io::Result<Paged> {
    // The keys that would end us are the pager's while it runs; it does not inherit this.
    let keys: SigSet = [Signal::SIGINT, Signal::SIGQUIT].into_iter().collect();
    keys.thread_block()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Also one that $PAGER names without it shows colours.
        shell.env("LESS", "FR");
    }
    let mut child = shell.spawn()?;
    let input = child.stdin.take().map(io::BufWriter::new);
    Ok(Paged::Running { child, input, command })
}

fn size() -> Size {
    terminal::size(io::stdout().as_fd()).ok().flatten().unwrap_or(SIZE)
}
