//! What `cargo xtask vm` and the guest say to each other: the plan that travels in the initramfs, and the lines
//! that come back over the second serial port. One definition, used by both sides.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// Where the guest finds its plan.
pub const PLAN: &str = "/plan.json";
/// The port that carries [`Line`]s; the first one is the kernel's console.
pub const PORT: &str = "/dev/ttyS1";
/// How often a guest that lives says so.
pub const BEAT: std::time::Duration = std::time::Duration::from_secs(1);

/// All that one boot has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Known to the guest's own runner only: a verdict without it is not one.
    pub nonce: String,
    pub jobs: Vec<Job>,
    /// A shell on the port instead of the jobs.
    pub shell: bool,
}

/// A program to run, or each test of a test program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Job {
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Each test of the program is a process of its own, as many at once as this; 0 for a program without tests.
    pub at_once: usize,
    /// Only tests whose name contains one of these; all if there is none.
    pub only: Vec<String>,
    /// Not the tests whose name contains one of these.
    pub without: Vec<String>,
    /// Of all these only tests whose name contains this; then none left is no fault.
    pub filter: String,
    /// Tests that are marked `ignore` and are to run here all the same.
    pub ignored: Vec<String>,
    /// Seconds that the program, or each test, may take.
    pub limit: u64,
    pub uid: Option<u32>,
    /// Done before, in this order.
    pub prepare: Vec<Prepare>,
}

/// A change to the guest that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Prepare {
    Sysctl {
        name: String,
        value: String,
    },
    /// An empty file is mounted over this one.
    Hide(String),
    /// What was mounted over this is taken away.
    Show(String),
    Mount {
        kind: String,
        on: String,
        data: String,
    },
    /// A swap area of this many MiB, on the disk of the guest.
    Swap {
        mib: u64,
    },
}

/// One line from the guest. Text that is none of these is noise, and is shown as such.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Line {
    /// The kernel has booted and our runner lives.
    Hello {
        nonce: String,
        release: String,
    },
    Beat,
    Started {
        job: String,
        test: String,
    },
    /// What a program without tests, or a test that failed, has written.
    Said {
        text: String,
    },
    Skipped {
        job: String,
        test: String,
        why: String,
    },
    Ended {
        job: String,
        test: String,
        how: How,
        millis: u64,
    },
    /// The plan could not be carried out. Counts as a failure.
    Trouble {
        what: String,
    },
    /// From the first process: there will be no verdict.
    RunnerEnded {
        status: String,
    },
    Done {
        nonce: String,
        tally: Tally,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    Passed,
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// What the guest has counted; the host compares it with the lines it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Line {
    /// As it goes over the wire, with its end.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("strings and numbers only, which JSON can hold");
        format!("@{json}\n").into_bytes()
    }

    pub fn decode(text: &str) -> Option<Self> {
        serde_json::from_str(text.trim_end().strip_prefix('@')?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_arrives_as_it_was_sent_whatever_it_holds() {
        let line = Line::Said { text: "a\n@{\"Beat\"} \u{1b}\"\\".to_owned() };
        let wire = String::from_utf8(line.encode()).expect("JSON is text");
        assert_eq!(wire.matches('\n').count(), 1);
        assert_eq!(Line::decode(&wire), Some(line));
    }

    #[test]
    fn noise_is_no_line() {
        for noise in ["", "@", "@HELLO", "{\"Beat\"}", "@{\"Done\":{}}"] {
            assert_eq!(Line::decode(noise), None, "{noise}");
        }
    }
}
