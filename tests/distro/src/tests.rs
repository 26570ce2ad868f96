//! Each test of a test program as a process of its own: one that hangs or dies takes no other with it, and is known
//! by name when the kernel dies under it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use shellgate_guest::{How, Job, Line, Tally};

use crate::port::Port;
use crate::run::{command, watched};

/// How long a test program may take to list its tests.
const LISTING: u64 = 60;

pub(crate) fn each(job: &Job, port: &Port, tally: &mut Tally) {
    let list = |more: &[&str]| {
        let words = [&["--list", "--format", "terse"], more].concat();
        let listed = watched(&mut command(job, &words), LISTING);
        if listed.how == How::Passed { Ok(listed.text) } else { Err(listed.text) }
    };
    let wanted = list(&[]).and_then(|all| Ok(chosen(&all, &list(&["--ignored"])?, job)));
    let wanted: VecDeque<String> = match wanted {
        Ok(wanted) => wanted.into(),
        Err(text) => {
            tally.failed += 1;
            port.send(&Line::Trouble { what: format!("{} does not list its tests: {text}", job.name) });
            return;
        }
    };
    if wanted.is_empty() && job.filter.is_empty() {
        tally.failed += 1;
        port.send(&Line::Trouble { what: format!("{} has no test that was asked for", job.name) });
        return;
    }
    let (queue, total) = (Mutex::new(wanted), Mutex::new(tally));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for lane in 0..job.at_once {
            let (next, total) = (&next, &total);
            scope.spawn(move || {
                while let Some(test) = next() {
                    let (how, skips) = one(job, &test, lane, port);
                    let mut tally = total.lock().unwrap_or_else(PoisonError::into_inner);
                    tally.skipped += skips;
                    match how {
                        How::Passed => tally.passed += 1,
                        How::Exit(_) | How::Signal(_) | How::TimedOut => tally.failed += 1,
                    }
                }
            });
        }
    });
}

fn one(job: &Job, test: &str, lane: usize, port: &Port) -> (How, usize) {
    port.send(&Line::Started { job: job.name.clone(), test: test.to_owned() });
    let skips = Skips::new(lane);
    let mut command = command(job, &["--exact", test, "--include-ignored"]);
    let ran = watched(command.env("SHELLGATE_SKIPS", &skips.0), job.limit);
    let why = skips.said();
    for why in &why {
        port.send(&Line::Skipped { job: job.name.clone(), test: test.to_owned(), why: why.clone() });
    }
    if ran.how != How::Passed {
        port.send(&Line::Said { text: ran.text });
    }
    let (job, test, millis) = (job.name.clone(), test.to_owned(), ran.millis);
    port.send(&Line::Ended { job, test, how: ran.how, millis });
    (ran.how, why.len())
}

/// The file in which the harness tells what a test did not do.
struct Skips(PathBuf);

impl Skips {
    fn new(lane: usize) -> Self {
        let path = PathBuf::from(format!("/tmp/skips-{lane}"));
        // A test that runs as another user adds to it too.
        let made = std::fs::write(&path, "").and_then(|()| {
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666))
        });
        if let Err(error) = made {
            eprintln!("guest: cannot write {}: {error}", path.display());
        }
        Self(path)
    }

    /// Without the names of the tests, which stand before them.
    fn said(&self) -> Vec<String> {
        let text = std::fs::read_to_string(Path::new(&self.0)).unwrap_or_default();
        text.lines().map(|line| line.split_once(": ").map_or(line, |(_, why)| why).to_owned()).collect()
    }
}

/// Of the listed tests those that the job wants. The list names ignored ones too.
fn chosen(listed: &str, ignored: &str, job: &Job) -> Vec<String> {
    let named = |names: &[String], test: &str| names.iter().any(|name| test.contains(name.as_str()));
    let tests = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
    };
    let ignored = tests(ignored);
    let mut wanted = tests(listed);
    wanted.retain(|test| job.only.is_empty() || named(&job.only, test));
    wanted.retain(|test| !named(&job.without, test) && test.contains(&job.filter));
    wanted.retain(|test| !ignored.contains(test) || named(&job.ignored, test));
    wanted
}

#[cfg(test)]
mod listing {
    use super::*;

    #[test]
    fn a_job_has_the_tests_it_names_and_not_those_it_leaves_out() {
        let listed = "a::x: test\na::y: test\nb::z: test\nb::child: test\nb::bench: benchmark\n";
        let wanted = |only: &[&str], without: &[&str], ignored: &[&str]| {
            let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
            let job =
                Job { only: words(only), without: words(without), ignored: words(ignored), ..Job::default() };
            chosen(listed, "b::child: test\n", &job)
        };
        assert_eq!(wanted(&[], &[], &[]), ["a::x", "a::y", "b::z"]);
        assert_eq!(wanted(&["a::"], &["y"], &[]), ["a::x"]);
        assert_eq!(wanted(&["b::"], &[], &["child"]), ["b::z", "b::child"]);
        assert!(wanted(&["c::"], &[], &[]).is_empty());
    }
}
