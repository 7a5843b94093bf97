//! Threads that share short jobs and stay awake between them.
//!
//! A training step takes a millisecond or less, and to wake a sleeping thread can take half of that. A worker therefore looks out for
//! the next job for a while before it lies down, and the caller works along.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a worker looks out for the next job: longer than what a step does between its passes.
const AWAKE: Duration = Duration::from_millis(1);
/// Looks between two glances at the clock, and before the caller lets others run while it waits.
const LOOKS: usize = 64;

/// Work on one of several pieces: number of the thread, number of the piece.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// A number of threads, the caller's among them.
#[derive(Debug)]
pub struct Crew {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Jobs given out so far: a change is the signal to begin.
    jobs: AtomicUsize,
    /// The next piece that nobody has taken.
    next: AtomicUsize,
    /// Workers that are not done with the job yet.
    busy: AtomicUsize,
    stop: AtomicBool,
    job: Mutex<Job>,
    wake: Condvar,
}

/// What is being worked on.
#[derive(Default)]
struct Job {
    /// Erased lifetime: it is there only while [`Crew::run`] waits for all workers.
    work: Option<&'static Work<'static>>,
    pieces: usize,
    /// What a worker panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("pieces", &self.pieces).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes pieces until none is left.
    fn take_pieces(&self, thread: usize, work: &Work<'_>, pieces: usize) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return;
            }
            work(thread, piece);
        }
    }

    /// Waits for a job that is not the one seen last; nothing when the crew is dismissed.
    fn await_job(&self, seen: usize) -> Option<usize> {
        let began = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.stop.load(Ordering::Acquire) {
                    return None;
                }
                let jobs = self.jobs.load(Ordering::Acquire);
                if jobs != seen {
                    return Some(jobs);
                }
                spin_loop();
            }
            if began.elapsed() > AWAKE {
                break;
            }
        }
        let mut job = self.lock();
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            // Jobs are given out under the lock, so none can be missed here.
            let jobs = self.jobs.load(Ordering::Acquire);
            if jobs != seen {
                return Some(jobs);
            }
            job = self.wake.wait(job).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn serve(&self, thread: usize) {
        let mut seen = 0;
        while let Some(jobs) = self.await_job(seen) {
            seen = jobs;
            let (work, pieces) = {
                let job = self.lock();
                (job.work, job.pieces)
            };
            if let Some(work) = work
                && let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_pieces(thread, work, pieces)))
            {
                // Nobody need go on with a job that is lost.
                self.next.store(pieces, Ordering::Relaxed);
                self.lock().panic = Some(panic);
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Crew {
    /// As many threads as asked for, or as the system grants, the caller's included.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let worker = |thread: usize| {
            let shared = Arc::clone(&shared);
            let name = format!("deepgp-{thread}");
            std::thread::Builder::new().name(name).spawn(move || shared.serve(thread)).ok()
        };
        let workers = (1..threads.max(1)).map_while(worker).collect();
        Self { shared, workers }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// Does all pieces, each once, on whichever thread takes it; returns when all are done. `work` gets the number of the thread,
    /// below [`Crew::threads`] and never in use twice at a time, and that of the piece.
    ///
    /// # Panics
    /// If `work` does, on any thread.
    pub fn run(&mut self, pieces: usize, work: &Work<'_>) {
        let shared = &*self.shared;
        // SAFETY: workers use the reference only between here and the end of `_all`, which waits for them even if `work`
        // panics on this thread; so it never outlives what it refers to. `&mut self` keeps a second job out.
        let erased: &'static Work<'static> = unsafe { std::mem::transmute::<&Work<'_>, &'static Work<'static>>(work) };
        {
            let mut job = shared.lock();
            (job.work, job.pieces, job.panic) = (Some(erased), pieces, None);
            shared.next.store(0, Ordering::Relaxed);
            shared.busy.store(self.workers.len(), Ordering::Relaxed);
            shared.jobs.fetch_add(1, Ordering::Release);
        }
        shared.wake.notify_all();
        let all = AllDone(shared);
        shared.take_pieces(0, work, pieces);
        drop(all);
        let panic = shared.lock().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// Waits for all workers when it goes, also in a panic, and takes the job away.
struct AllDone<'a>(&'a Shared);

impl Drop for AllDone<'_> {
    fn drop(&mut self) {
        // If this thread panics, nobody need go on.
        if std::thread::panicking() {
            self.0.next.store(usize::MAX / 2, Ordering::Relaxed);
        }
        let mut looks = 0_usize;
        while self.0.busy.load(Ordering::Acquire) > 0 {
            looks += 1;
            // Others may need this core to finish.
            if looks.is_multiple_of(LOOKS) { std::thread::yield_now() } else { spin_loop() }
        }
        self.0.lock().work = None;
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        {
            let _job = self.shared.lock();
            self.shared.stop.store(true, Ordering::Release);
        }
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker catches every panic of its work.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_no_thread_works_twice_at_a_time() {
        for threads in [1, 2, 5] {
            let mut crew = Crew::new(threads);
            assert!(crew.threads() >= 1 && crew.threads() <= threads);
            let at_work: Vec<AtomicBool> = (0..crew.threads()).map(|_| AtomicBool::new(false)).collect();
            for pieces in [0, 1, 3, 200] {
                let done: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                crew.run(pieces, &|thread, piece| {
                    assert!(!at_work[thread].swap(true, Ordering::SeqCst));
                    done[piece].fetch_add(1, Ordering::SeqCst);
                    assert!(at_work[thread].swap(false, Ordering::SeqCst));
                });
                assert!(done.iter().all(|n| n.load(Ordering::SeqCst) == 1));
            }
        }
    }

    #[test]
    fn workers_that_lie_down_are_woken() {
        let mut crew = Crew::new(3);
        for _ in 0..20 {
            let sum = AtomicUsize::new(0);
            crew.run(50, &|_, piece| {
                sum.fetch_add(piece, Ordering::Relaxed);
            });
            assert_eq!(sum.load(Ordering::Relaxed), 1225);
            std::thread::sleep(2 * AWAKE);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_crew_goes_on() {
        let mut crew = Crew::new(4);
        for round in 0..50 {
            let lost = catch_unwind(AssertUnwindSafe(|| {
                crew.run(40, &|_, piece| assert!(piece != 7 + round % 20, "piece"));
            }));
            assert!(lost.is_err());
            let count = AtomicUsize::new(0);
            crew.run(10, &|_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.load(Ordering::Relaxed), 10);
        }
    }
}
