//! Leader and followers: one thread waits for a notification, and whoever received one judges and answers it
//! itself after making sure that another thread waits. A process that waits ten seconds for a slow hook
//! occupies one thread and delays no other process; when every thread is occupied, further callers wait in the
//! kernel, where nothing runs.

use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::{Listener, Notification};

/// As many callers can be judged at once; each costs a stack.
const MOST_THREADS: usize = 512;
/// Reserved, not used: compiling a condition of a policy needs over half a mebibyte in an unoptimised build, and an
/// overflow ends the whole supervisor.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// Judges and answers one notification.
pub type Handler = dyn Fn(Notification) + Send + Sync;

struct Pool {
    listener: Arc<Listener>,
    handler: Box<Handler>,
    /// Held by the thread that waits for the next notification.
    lead: Mutex<()>,
    /// Threads that wait or will lead next.
    idle: AtomicUsize,
    threads: AtomicUsize,
    ended: Mutex<Option<std::io::Result<()>>>,
    end: Condvar,
    /// Readable once `ended` is set.
    signal: EventFd,
}

/// A running pool.
#[derive(Clone)]
pub struct Served(Arc<Pool>);

/// Starts answering.
pub fn serve(listener: Arc<Listener>, handler: Box<Handler>) -> std::io::Result<Served> {
    let pool = Arc::new(Pool {
        listener,
        handler,
        lead: Mutex::new(()),
        idle: AtomicUsize::new(0),
        threads: AtomicUsize::new(0),
        ended: Mutex::new(None),
        end: Condvar::new(),
        signal: EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?,
    });
    // Two from the start, so that the first exec does not pay for a thread.
    spawn(&pool)?;
    spawn(&pool)?;
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
        let mut ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let busy = self.0.threads.load(Ordering::SeqCst) > self.0.idle.load(Ordering::SeqCst);
            if ended.is_some() && !busy {
                return;
            }
            ended = self.0.end.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn spawn(pool: &Arc<Pool>) -> std::io::Result<()> {
    pool.threads.fetch_add(1, Ordering::SeqCst);
    pool.idle.fetch_add(1, Ordering::SeqCst);
    let theirs = Arc::clone(pool);
    let spawned =
        thread::Builder::new().name("judge".into()).stack_size(STACK_BYTES).spawn(move || work(&theirs));
    if spawned.is_err() {
        pool.threads.fetch_sub(1, Ordering::SeqCst);
        pool.idle.fetch_sub(1, Ordering::SeqCst);
    }
    spawned.map(drop)
}

fn work(pool: &Arc<Pool>) {
    loop {
        let received = {
            let _lead = pool.lead.lock().unwrap_or_else(PoisonError::into_inner);
            pool.listener.next()
        };
        let notification = match received {
            Ok(Some(notification)) => notification,
            Ok(None) => return finish(pool, Ok(())),
            Err(error) => return finish(pool, Err(error)),
        };
        if pool.idle.fetch_sub(1, Ordering::SeqCst) == 1 && pool.threads.load(Ordering::SeqCst) < MOST_THREADS
        {
            // Without a new thread the others will return to the lead later; the callers wait meanwhile.
            let _ = spawn(pool);
        }
        // A panic drops the notification on its way out, which refuses the exec; the thread lives on.
        let _ = catch_unwind(AssertUnwindSafe(|| (pool.handler)(notification)));
        pool.idle.fetch_add(1, Ordering::SeqCst);
        if pool.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            pool.end.notify_all();
        }
    }
}

fn finish(pool: &Pool, how: std::io::Result<()>) {
    let mut ended = pool.ended.lock().unwrap_or_else(PoisonError::into_inner);
    if ended.is_none() {
        *ended = Some(how);
    }
    let _ = pool.signal.write(1);
    // This thread stays counted as idle and as existing: it is not busy.
    pool.end.notify_all();
}
