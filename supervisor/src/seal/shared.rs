//! One seal for many sessions of one process: the kernel side is loaded once, and each session has numbers of its own.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Armed, Caller, Expectation, Identity, KernelRecord, Level, OpenFile, Seal, SealError, Sink};
use crate::notify::Target;

/// Bits of a seal's number that are the exec's number in its session.
const SEQ_BITS: u32 = 40;
const SEQ_MASK: u64 = (1 << SEQ_BITS) - 1;

#[derive(Default)]
struct Sessions {
    last: u64,
    sinks: BTreeMap<u64, Sink>,
}

/// A seal that sessions share.
pub struct Shared {
    seal: Box<dyn Seal>,
    sessions: Arc<Mutex<Sessions>>,
}

impl Shared {
    pub fn new(seal: Box<dyn Seal>) -> Result<Arc<Self>, SealError> {
        let sessions: Arc<Mutex<Sessions>> = Arc::default();
        let theirs = Arc::clone(&sessions);
        seal.records(Box::new(move |records| route(&theirs, records)))?;
        Ok(Arc::new(Self { seal, sessions }))
    }

    pub fn level(&self) -> Level {
        self.seal.level()
    }

    /// A session's own view of it, which ends with the session.
    pub fn part(self: &Arc<Self>) -> Box<dyn Seal> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.last += 1;
        Box::new(Part { shared: Arc::clone(self), session: sessions.last })
    }
}

/// A process's end is told to every session: only the one whose program it was knows it.
fn route(sessions: &Mutex<Sessions>, records: &[KernelRecord]) {
    let sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    for (session, sink) in &sessions.sinks {
        let theirs = records.iter().filter_map(|record| match *record {
            KernelRecord::Exec { seq, pid, fate } => {
                (seq >> SEQ_BITS == *session).then_some(KernelRecord::Exec { seq: seq & SEQ_MASK, pid, fate })
            }
            KernelRecord::Exit { .. } | KernelRecord::Lost { .. } => Some(*record),
        });
        let theirs: Vec<_> = theirs.collect();
        if !theirs.is_empty() {
            sink(&theirs);
        }
    }
}

struct Part {
    shared: Arc<Shared>,
    session: u64,
}

impl Seal for Part {
    fn level(&self) -> Level {
        self.shared.seal.level()
    }

    fn enroll(&self, pid: i32) -> Result<(), SealError> {
        self.shared.seal.enroll(pid)
    }

    fn adopt(&self, pid: i32, waits: &dyn Fn() -> bool) -> Result<(), SealError> {
        self.shared.seal.adopt(pid, waits)
    }

    fn identify(&self, file: BorrowedFd<'_>, stat: Identity) -> Result<Identity, SealError> {
        self.shared.seal.identify(file, stat)
    }

    fn caller(&self, tid: i32) -> Option<Caller> {
        self.shared.seal.caller(tid)
    }

    fn open_file(&self, file: BorrowedFd<'_>) -> Option<OpenFile> {
        self.shared.seal.open_file(file)
    }

    fn arm(&self, expectation: &Expectation) -> Result<Box<dyn Armed>, SealError> {
        if expectation.seq > SEQ_MASK {
            return Err(SealError("the session has no more numbers for execs".into()));
        }
        let seq = self.session << SEQ_BITS | expectation.seq;
        self.shared.seal.arm(&Expectation { seq, ..expectation.clone() })
    }

    fn caller_returned(&self, target: Target, call: u64) {
        self.shared.seal.caller_returned(target, call);
    }

    fn records(&self, sink: Sink) -> Result<(), SealError> {
        let mut sessions = self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.sinks.insert(self.session, sink);
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let sink = {
            let mut sessions = self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.sinks.remove(&self.session)
        };
        // It may hold the last of a session, whose end is not for others to wait for.
        drop(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Fate;

    struct Recorded(Mutex<Option<Sink>>, Mutex<Vec<u64>>);

    impl Seal for Arc<Recorded> {
        fn level(&self) -> Level {
            Level::Ptrace
        }
        fn enroll(&self, _pid: i32) -> Result<(), SealError> {
            Ok(())
        }
        fn arm(&self, expectation: &Expectation) -> Result<Box<dyn Armed>, SealError> {
            self.1.lock().expect("no test panics with it").push(expectation.seq);
            Err(SealError("only a test".into()))
        }
        fn records(&self, sink: Sink) -> Result<(), SealError> {
            *self.0.lock().expect("no test panics with it") = Some(sink);
            Ok(())
        }
    }

    #[test]
    fn each_session_hears_of_its_own_execs_and_of_every_end() {
        let below = Arc::new(Recorded(Mutex::new(None), Mutex::default()));
        let shared = Shared::new(Box::new(Arc::clone(&below))).expect("nothing can fail");
        let heard: Vec<_> = (0..2)
            .map(|_| {
                let (part, heard) = (shared.part(), Arc::new(Mutex::new(Vec::<KernelRecord>::new())));
                let theirs = Arc::clone(&heard);
                part.records(Box::new(move |records| theirs.lock().expect("as above").extend(records)))
                    .expect("nothing can fail");
                let exe = Identity { dev: 1, ino: 1, ctime_sec: 0, ctime_nsec: 0 };
                let target = Target { tid: 7, pid: 7 };
                let _ = part.arm(&Expectation { seq: 3, target, call: 1, argv: vec![], envp: vec![], exe });
                (part, heard)
            })
            .collect();
        let sealed = below.1.lock().expect("as above").clone();
        assert_ne!(sealed[0], sealed[1]);
        let tell = |records: &[_]| below.0.lock().expect("as above").as_ref().expect("it listens")(records);
        let ran = KernelRecord::Exec { seq: sealed[1], pid: 7, fate: Fate::Ran };
        tell(&[ran, KernelRecord::Lost { count: 2 }]);
        let own = KernelRecord::Exec { seq: 3, pid: 7, fate: Fate::Ran };
        let lost = KernelRecord::Lost { count: 2 };
        assert_eq!(*heard[0].1.lock().expect("as above"), [lost]);
        assert_eq!(*heard[1].1.lock().expect("as above"), [own, lost]);
    }
}
