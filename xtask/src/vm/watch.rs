//! Listens to a guest until its verdict, or until it is clear that none will come, and then says why.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use shellgate_guest::{How, Line, Tally};

use super::console::{self, Cause};
use super::machine::{Accelerator, Machine, Parts};

/// How long a guest may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Until it says hello.
    pub(crate) hello: Duration,
    /// From one sign of life to the next.
    pub(crate) silence: Duration,
    pub(crate) whole: Duration,
}

impl Limits {
    /// Emulation on a machine with other work may take a minute for what takes three seconds.
    pub(crate) fn of(accelerator: Accelerator) -> Self {
        let seconds = Duration::from_secs;
        match accelerator {
            Accelerator::Kvm => Self { hello: seconds(20), silence: seconds(30), whole: seconds(3600) },
            Accelerator::Tcg => Self { hello: seconds(150), silence: seconds(90), whole: seconds(4 * 3600) },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) job: String,
    pub(crate) name: String,
    pub(crate) how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) job: String,
    pub(crate) test: String,
    pub(crate) why: String,
}

/// All that a guest has said.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) release: Option<String>,
    pub(crate) tests: Vec<Test>,
    pub(crate) skips: Vec<Skip>,
    pub(crate) troubles: Vec<String>,
    /// What programs that are no test programs wrote, by job.
    pub(crate) said: Vec<(String, String)>,
    running: BTreeSet<(String, String)>,
    /// How the guest's runner ended, if the first process had to tell.
    runner: Option<String>,
    verdict: Option<Tally>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The guest has told its count, and it is the one we have counted.
    Verdict,
    /// Nothing of ours has run. The boot may be tried again.
    NoHello(String),
    /// Something of ours ran, and there is no verdict.
    Lost { why: String, console: String },
}

impl Heard {
    /// Takes note of a line; says what of it the user sees.
    fn take(&mut self, line: Line, nonce: &str) -> Option<String> {
        match line {
            Line::Hello { nonce: given, release } if given == nonce => {
                let shown = format!("booted {release}");
                self.release = Some(release);
                Some(shown)
            }
            Line::Done { nonce: given, tally } if given == nonce => {
                self.verdict = Some(tally);
                None
            }
            Line::Hello { .. } | Line::Done { .. } => {
                Some("a verdict without the right word is ignored".into())
            }
            Line::Beat => None,
            Line::Started { job, test } => {
                self.running.insert((job, test));
                None
            }
            Line::Said { text } => {
                let single =
                    self.running.iter().find(|(_, test)| test.is_empty()).map(|(job, _)| job.clone());
                match single {
                    Some(job) => {
                        self.said.push((job, text));
                        None
                    }
                    None => Some(text.trim_end().to_owned()),
                }
            }
            Line::Skipped { job, test, why } => {
                let shown = format!("{job} {test}: skipped: {why}");
                self.skips.push(Skip { job, test, why });
                Some(shown)
            }
            Line::Ended { job, test, how, millis } => {
                self.running.remove(&(job.clone(), test.clone()));
                let seconds = Duration::from_millis(millis).as_secs_f64();
                let shown = format!("{job} {test}: {} ({:.1} s)", told(how), seconds);
                self.tests.push(Test { job, name: test, how });
                Some(shown)
            }
            Line::RunnerEnded { status } => {
                self.runner = Some(status);
                None
            }
            Line::Trouble { what } => {
                let shown = format!("trouble: {what}");
                self.troubles.push(what);
                Some(shown)
            }
        }
    }

    fn running(&self) -> String {
        let names: Vec<String> = self.running.iter().map(|(job, test)| format!("{job} {test}")).collect();
        if names.is_empty() {
            "between two tests".to_owned()
        } else {
            format!("during {}", names.join(" and "))
        }
    }

    /// What we have counted ourselves.
    fn tally(&self) -> Tally {
        let passed = self.tests.iter().filter(|test| test.how == How::Passed).count();
        Tally { passed, failed: self.tests.len() - passed + self.troubles.len(), skipped: self.skips.len() }
    }
}

fn told(how: How) -> String {
    match how {
        How::Passed => "ok".to_owned(),
        How::Exit(code) => format!("FAILED, exit status {code}"),
        How::Signal(signal) => format!("FAILED, killed by signal {signal}"),
        How::TimedOut => "FAILED, took too long and was ended".to_owned(),
    }
}

/// Boots and listens.
pub(crate) fn run(parts: &Parts<'_>, nonce: &str, limits: Limits) -> Result<(Heard, End)> {
    let mut machine = parts.start()?;
    let lines = lines_of(&mut machine)?;
    let mut stderr = machine.child.stderr.take().context("QEMU has no stderr")?;
    let complaints = thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    let mut heard = Heard::default();
    let given_up = listen(&machine, &lines, parts, nonce, limits, &mut heard);
    // A guest that is about to end by itself may do so, and its console is whole then.
    let patience = if given_up.is_some() { Duration::ZERO } else { Duration::from_secs(10) };
    let status = machine.end(patience);
    let complaints = complaints.join().unwrap_or_default();
    let log = fs::read(parts.console()).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    if let Some(tally) = heard.verdict {
        if tally == heard.tally() {
            return Ok((heard, End::Verdict));
        }
        let why = format!("the guest has counted {tally:?}, and told of {:?}", heard.tally());
        return Ok((heard, End::Lost { why, console: console::tail(&log) }));
    }
    let mut why = given_up.unwrap_or_else(|| match status {
        Some(status) if status.success() => "the guest reset itself without a word".to_owned(),
        Some(status) => format!("QEMU ended ({status})"),
        None => "QEMU did not end".to_owned(),
    });
    if let Some(status) = &heard.runner {
        why = format!("the guest's runner ended ({status})");
    } else if let Some(cause) = console::cause(&log) {
        why = explained(&cause, &why);
    } else if !complaints.trim().is_empty() {
        why = format!("{why}: {}", complaints.trim().lines().take(3).collect::<Vec<_>>().join(" / "));
    }
    if heard.release.is_none() {
        return Ok((heard, End::NoHello(why)));
    }
    let why = format!("{why}, {}", heard.running());
    Ok((heard, End::Lost { why, console: console::tail(&log) }))
}

fn explained(cause: &Cause, given_up: &str) -> String {
    match cause {
        Cause::Oops(line) => format!("the guest's kernel had a fault ({line})"),
        Cause::SoftLockup(line) => format!("the guest's kernel was stuck ({line})"),
        Cause::Silenced(_) => format!("the guest was starved: {given_up}; the console shows what kept it"),
        Cause::Panic(line) => format!("the guest's kernel panicked ({line})"),
        Cause::PoweredOff => "the guest was powered off before its verdict".to_owned(),
        Cause::Restarted => "the guest was restarted before its verdict".to_owned(),
    }
}

/// Until the stream ends; or why we do not wait any longer.
fn listen(
    machine: &Machine,
    lines: &Receiver<Vec<u8>>,
    parts: &Parts<'_>,
    nonce: &str,
    limits: Limits,
    heard: &mut Heard,
) -> Option<String> {
    let (start, mut last, mut interrupted) = (Instant::now(), Instant::now(), None::<Instant>);
    loop {
        match lines.recv_timeout(Duration::from_millis(250)) {
            Ok(bytes) => {
                last = Instant::now();
                let text = String::from_utf8_lossy(&bytes);
                let shown = match Line::decode(&text) {
                    Some(line) => heard.take(line, nonce),
                    None => Some(text.trim_end().to_owned()).filter(|text| !text.is_empty()),
                };
                if let Some(shown) = shown {
                    println!("  {shown}");
                }
                if heard.verdict.is_some() {
                    return None;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let seconds = |span: Duration| span.as_secs();
        if heard.release.is_none() {
            if start.elapsed() > limits.hello {
                return Some(format!("the guest said nothing in {} s", seconds(limits.hello)));
            }
            if parts.accelerator == Accelerator::Kvm
                && start.elapsed() > Duration::from_secs(1)
                && machine.is_broken()
            {
                return Some("KVM gave up on the guest (internal error)".to_owned());
            }
        } else if last.elapsed() > limits.silence && interrupted.is_none() {
            // Its panic ends QEMU and leaves a backtrace on the console.
            interrupted = Some(Instant::now());
            machine.interrupt();
        }
        if interrupted.is_some_and(|since| since.elapsed() > Duration::from_secs(20)) {
            return Some(format!("the guest gave no sign of life for {} s", seconds(last.elapsed())));
        }
        if start.elapsed() > limits.whole {
            return Some(format!("the guest took longer than {} s", seconds(limits.whole)));
        }
    }
}

fn lines_of(machine: &mut Machine) -> Result<Receiver<Vec<u8>>> {
    let stdout = machine.child.stdout.take().context("QEMU has no stdout")?;
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            match reader.read_until(b'\n', &mut line) {
                Ok(1..) if sender.send(line).is_ok() => {}
                Ok(_) | Err(_) => return,
            }
        }
    });
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_with_another_nonce_is_none() {
        let mut heard = Heard::default();
        heard.take(Line::Done { nonce: "guessed".into(), tally: Tally::default() }, "right");
        assert_eq!(heard.verdict, None);
        heard.take(Line::Done { nonce: "right".into(), tally: Tally::default() }, "right");
        assert_eq!(heard.verdict, Some(Tally::default()));
    }

    #[test]
    fn what_ran_when_the_guest_was_lost_is_known_by_name() {
        let mut heard = Heard::default();
        let test = || ("cases".to_owned(), "a::b".to_owned());
        let (job, name) = test();
        heard.take(Line::Started { job, test: name }, "");
        assert_eq!(heard.running(), "during cases a::b");
        let (job, test) = test();
        heard.take(Line::Ended { job, test, how: How::Signal(9), millis: 1 }, "");
        assert_eq!(heard.running(), "between two tests");
        assert_eq!(heard.tally(), Tally { passed: 0, failed: 1, skipped: 0 });
    }
}
