//! The runner: reads the plan, does its jobs one after the other, and says how each went.

use std::io::{Read as _, pipe};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use shellgate_guest::{BEAT, How, Job, Line, PLAN, Plan, Tally};

use crate::port::{self, Port};
use crate::{end_all_others, prepare, tests};

/// What is kept of the output of one program.
const KEPT: usize = 64 << 10;
/// How long a leftover may hold the output open after its program ended.
const DRAIN: Duration = Duration::from_secs(2);

pub(crate) fn all() -> ExitCode {
    let port = port::open();
    let plan = std::fs::read(PLAN).map_err(|error| error.to_string());
    let plan: Plan =
        match plan.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string())) {
            Ok(plan) => plan,
            Err(error) => {
                port.send(&Line::Trouble { what: format!("cannot read {PLAN}: {error}") });
                return ExitCode::FAILURE;
            }
        };
    // No test may learn the nonce.
    let _ = std::fs::remove_file(PLAN);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    port.send(&Line::Hello { nonce: plan.nonce.clone(), release: release.trim().to_owned() });
    if plan.shell {
        return shell();
    }
    let beating = port.clone();
    thread::spawn(move || {
        loop {
            thread::sleep(BEAT);
            beating.send(&Line::Beat);
        }
    });
    let mut tally = Tally::default();
    for job in &plan.jobs {
        do_job(job, &port, &mut tally);
        end_all_others();
    }
    port.send(&Line::Done { nonce: plan.nonce, tally });
    port.drain();
    ExitCode::SUCCESS
}

fn do_job(job: &Job, port: &Port, tally: &mut Tally) {
    for step in &job.prepare {
        if let Err(what) = prepare::carry_out(step) {
            tally.failed += 1;
            port.send(&Line::Trouble { what: format!("{}: {what}", job.name) });
            return;
        }
    }
    if job.at_once > 0 {
        tests::each(job, port, tally);
        return;
    }
    port.send(&Line::Started { job: job.name.clone(), test: String::new() });
    let ran = watched(&mut command(job, &[]), job.limit);
    port.send(&Line::Said { text: ran.text });
    port.send(&Line::Ended { job: job.name.clone(), test: String::new(), how: ran.how, millis: ran.millis });
    if ran.how == How::Passed {
        tally.passed += 1;
    } else {
        tally.failed += 1;
    }
}

/// The program of a job with more arguments, in the environment that every job has.
pub(crate) fn command(job: &Job, more: &[&str]) -> Command {
    let (program, words) =
        job.words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut command = Command::new(program);
    command.args(words).args(more).env_clear().current_dir("/tmp");
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
    command.env("TMPDIR", "/tmp").env("RUST_BACKTRACE", "1");
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    if let Some(uid) = job.uid {
        command.uid(uid).gid(uid).env("HOME", "/tmp");
    }
    command
}

pub(crate) struct Ran {
    pub(crate) how: How,
    pub(crate) text: String,
    pub(crate) millis: u64,
}

/// Runs a program to its end or its limit, whichever comes first; its process group goes with it.
pub(crate) fn watched(command: &mut Command, limit: u64) -> Ran {
    let start = Instant::now();
    let millis = || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    match started(command) {
        Ok((mut child, output)) => {
            let how = wait(&mut child, Duration::from_secs(limit));
            Ran { how, millis: millis(), text: output.text() }
        }
        Err(error) => Ran {
            how: How::Exit(127),
            millis: millis(),
            text: format!("cannot start {command:?}: {error}\n"),
        },
    }
}

fn started(command: &mut Command) -> std::io::Result<(Child, Output)> {
    let (from, to) = pipe()?;
    command.stdin(Stdio::null()).stdout(to.try_clone()?).stderr(to).process_group(0);
    let child = command.spawn();
    // The command holds our copies of the writing end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((child?, Output::collect(from)))
}

fn wait(child: &mut Child, limit: Duration) -> How {
    let start = Instant::now();
    let group = Pid::from_raw(child.id().cast_signed());
    let how = loop {
        match child.try_wait() {
            Ok(Some(status)) => break how(status),
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                let _ = killpg(group, Signal::SIGKILL);
                let _ = child.wait();
                break How::TimedOut;
            }
        }
    };
    // What it left in its group; usually nothing.
    let _ = killpg(group, Signal::SIGKILL);
    how
}

fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(0), _) => How::Passed,
        (Some(code), _) => How::Exit(code),
        (None, signal) => How::Signal(signal.unwrap_or(0)),
    }
}

/// The last [`KEPT`] bytes of what a program writes, read to its end so that it never waits for us.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Output {
    fn collect(mut from: std::io::PipeReader) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut block = [0; 1 << 14];
            while let Ok(got @ 1..) = from.read(&mut block) {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&block[..got]);
                let over = kept.len().saturating_sub(KEPT);
                kept.drain(..over);
            }
        });
        Self { bytes, reader }
    }

    fn text(&self) -> String {
        let start = Instant::now();
        while !self.reader.is_finished() && start.elapsed() < DRAIN {
            thread::sleep(Duration::from_millis(2));
        }
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// A shell on the port, for as long as somebody wants it.
fn shell() -> ExitCode {
    let Ok(device) = port::device() else { return ExitCode::FAILURE };
    let (Ok(input), Ok(output)) = (device.try_clone(), device.try_clone()) else { return ExitCode::FAILURE };
    // `setsid -c` makes the port its terminal, so that Ctrl-C works.
    let mut bash = Command::new("/usr/bin/busybox");
    bash.args(["setsid", "-c", "bash", "-c", "stty sane; exec bash -i"])
        .stdin(input)
        .stdout(output)
        .stderr(device);
    bash.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/shellgate")
        .env("HOME", "/root");
    bash.env("TERM", "vt100").env("PS1", "guest# ");
    match bash.status() {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
