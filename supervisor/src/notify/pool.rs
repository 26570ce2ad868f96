//! Leader and followers: one thread waits for a notification, and whoever received one judges and answers it
//! itself after making sure that another thread waits. A process that waits ten seconds for a slow hook
//! occupies one thread and delays no other process; when every thread is occupied, further callers wait in the
//! kernel, where nothing runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use super::{Listener, Notification};

/// As many callers can be judged at once; each costs a small stack.
const MOST_THREADS: usize = 512;
const STACK_BYTES: usize = 512 * 1024;

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
    });
    // Two from the start, so that the first exec does not pay for a thread.
    spawn(&pool)?;
    spawn(&pool)?;
    Ok(Served(pool))
}

impl Served {
    /// Waits until no process is left under the filter and every answer has been given.
    pub fn wait(&self) -> std::io::Result<()> {
        let mut ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let busy = self.0.threads.load(Ordering::SeqCst) > self.0.idle.load(Ordering::SeqCst);
            if ended.is_some() && !busy {
                return ended.take().unwrap_or(Ok(()));
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
    // This thread stays counted as idle and as existing: it is not busy.
    pool.end.notify_all();
}
