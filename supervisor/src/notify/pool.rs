//! Judging threads. One of them, the lead, receives a notification, judges it and answers it, and no other thread is
//! woken for that: the caller, the lead and the caller again follow each other on one CPU. A lead that is about to wait
//! for something outside the kernel's reach (a hook, a person, a tracer) says so first ([`about_to_wait`]), and the
//! next thread leads; one that is held up without having said so (a file system that does not answer) loses the lead
//! to the watch. So a slow hook occupies one thread and delays no other process. When every thread is occupied,
//! further callers wait in the kernel, where nothing runs.

mod lead;

use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::{Listener, Notification};
use lead::{Lead, Term};

pub use lead::about_to_wait;

/// As many callers can be judged at once; each costs a stack.
const MOST_THREADS: usize = 512;
/// Reserved, not used: compiling a condition of a policy needs over half a mebibyte in an unoptimised build, and an
/// overflow ends the whole supervisor.
const STACK_BYTES: usize = 2 * 1024 * 1024;
/// A notification that is there this soon after an answer has been waiting: one thread is not enough.
const BACKLOG: Duration = Duration::from_micros(5);
/// A lead that is busy with one notification for longer than this, and up to twice as long, is replaced.
const PATIENCE: Duration = Duration::from_millis(10);
/// After so many looks at nothing the watch sleeps until the next notification.
const IN_VAIN: u32 = 100;

/// Judges and answers one notification.
pub type Handler = dyn Fn(Notification) + Send + Sync;

struct Pool {
    listener: Arc<Listener>,
    handler: Box<Handler>,
    lead: Lead,
    /// A term that nobody leads yet, and the threads that wait for one.
    vacant: Mutex<Vacant>,
    taken: Condvar,
    /// Threads with a notification.
    busy: AtomicUsize,
    received: AtomicU64,
    watch_sleeps: AtomicBool,
    watch: Mutex<Option<thread::Thread>>,
    ended: Mutex<Option<std::io::Result<()>>>,
    end: Condvar,
    /// Readable once `ended` is set.
    signal: EventFd,
}

#[derive(Default)]
struct Vacant {
    term: Option<Term>,
    idle: usize,
    threads: usize,
    over: bool,
}

/// A running pool.
#[derive(Clone)]
pub struct Served(Arc<Pool>);

/// Starts answering.
pub fn serve(listener: Arc<Listener>, handler: Box<Handler>) -> std::io::Result<Served> {
    let pool = Arc::new(Pool {
        listener,
        handler,
        lead: Lead::default(),
        vacant: Mutex::new(Vacant { term: Some(Term::FIRST), ..Vacant::default() }),
        taken: Condvar::new(),
        busy: AtomicUsize::new(0),
        received: AtomicU64::new(0),
        watch_sleeps: AtomicBool::new(false),
        watch: Mutex::default(),
        ended: Mutex::new(None),
        end: Condvar::new(),
        signal: EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?,
    });
    let theirs = Arc::clone(&pool);
    let watch = thread::Builder::new().name("watch".into()).spawn(move || theirs.watch())?;
    *pool.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch.thread().clone());
    // Two from the start, so that the first hand-over does not pay for a thread.
    for _ in 0..2 {
        let mut vacant = pool.vacant();
        pool.spawn(&mut vacant)?;
    }
    Ok(Served(pool))
}

impl Served {
    /// Readable when no more notifications are received.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.0.signal.as_fd()
    }

    /// Whether that is so because no process is left.
    pub fn is_deserted(&self) -> bool {
        matches!(*self.0.ended.lock().unwrap_or_else(PoisonError::into_inner), Some(Ok(())))
    }

    /// Why none are received although a tree may be there. The callers wait in the kernel until the listener is
    /// closed, which means until this process ends.
    pub fn failure(&self) -> Option<String> {
        let ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.as_ref()?.as_ref().err().map(ToString::to_string)
    }

    /// Waits until no process is left under the filter and every answer has been given.
    pub fn wait(&self) {
        while !self.wait_for(Duration::from_hours(1)) {}
    }

    /// The same, at most this long; whether it is so.
    pub fn wait_for(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while ended.is_none() || self.0.busy.load(Ordering::SeqCst) > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            ended = self.0.end.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Pool {
    fn vacant(&self) -> std::sync::MutexGuard<'_, Vacant> {
        self.vacant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(self: &Arc<Self>, vacant: &mut Vacant) -> std::io::Result<()> {
        let theirs = Arc::clone(self);
        thread::Builder::new().name("judge".into()).stack_size(STACK_BYTES).spawn(move || theirs.work())?;
        vacant.threads += 1;
        Ok(())
    }

    /// A thread's life: it waits for the lead, and leads until it hands it over.
    fn work(self: &Arc<Self>) {
        while let Some(taken) = self.await_term() {
            let mut term = Some(taken);
            let mut answered: Option<Instant> = None;
            while let Some(led) = term {
                match self.listener.next() {
                    Ok(Some(notification)) => {
                        let backlog = answered.is_some_and(|at| at.elapsed() < BACKLOG);
                        term = self.judge(notification, led, backlog);
                        answered = Some(Instant::now());
                    }
                    Ok(None) => return self.finish(Ok(())),
                    Err(error) => return self.finish(Err(error)),
                }
            }
        }
    }

    /// `None` when nobody will lead any more.
    fn await_term(&self) -> Option<Term> {
        let mut vacant = self.vacant();
        while !vacant.over {
            if let Some(term) = vacant.term.take() {
                return Some(term);
            }
            vacant.idle += 1;
            vacant = self.taken.wait(vacant).unwrap_or_else(PoisonError::into_inner);
            vacant.idle -= 1;
        }
        None
    }

    /// The term, if the thread still has it afterwards.
    fn judge(self: &Arc<Self>, notification: Notification, term: Term, backlog: bool) -> Option<Term> {
        self.received.fetch_add(1, Ordering::SeqCst);
        self.busy.fetch_add(1, Ordering::SeqCst);
        self.lead.begin(term);
        if self.watch_sleeps.swap(false, Ordering::SeqCst)
            && let Some(watch) = &*self.watch.lock().unwrap_or_else(PoisonError::into_inner)
        {
            watch.unpark();
        }
        if backlog {
            self.hand_over(term);
        }
        // A panic drops the notification on its way out, which refuses the exec; the thread lives on.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            lead::during(self, term, || (self.handler)(notification));
        }));
        self.busy.fetch_sub(1, Ordering::SeqCst);
        let kept = self.lead.end(term);
        if !kept && self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            self.end.notify_all();
        }
        kept.then_some(term)
    }

    /// Lets another thread lead, unless one does already.
    fn hand_over(self: &Arc<Self>, term: Term) {
        let Some(next) = self.lead.leave(term) else { return };
        let mut vacant = self.vacant();
        vacant.term = Some(next);
        if vacant.idle > 0 {
            self.taken.notify_one();
        } else if vacant.threads < MOST_THREADS {
            // Without a new thread the others will take the term later; the callers wait meanwhile.
            let _ = self.spawn(&mut vacant);
        }
    }

    /// Takes the lead from a thread that is held up.
    fn watch(self: Arc<Self>) {
        let (mut seen, mut in_vain) = (0, 0);
        while self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            if in_vain >= IN_VAIN {
                self.watch_sleeps.store(true, Ordering::SeqCst);
                // Whatever was received before the lead could see that is looked at below.
                if self.received.load(Ordering::SeqCst) == seen {
                    thread::park();
                }
                self.watch_sleeps.store(false, Ordering::SeqCst);
                in_vain = 0;
            }
            thread::park_timeout(PATIENCE);
            let received = self.received.load(Ordering::SeqCst);
            match self.lead.busy() {
                Some(term) if received == seen => self.hand_over(term),
                Some(_) => in_vain = 0,
                None => in_vain += 1,
            }
            seen = received;
        }
    }

    fn finish(&self, how: std::io::Result<()>) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() {
            *ended = Some(how);
        }
        let _ = self.signal.write(1);
        self.end.notify_all();
        drop(ended);
        self.vacant().over = true;
        self.taken.notify_all();
        if let Some(watch) = &*self.watch.lock().unwrap_or_else(PoisonError::into_inner) {
            watch.unpark();
        }
    }
}
