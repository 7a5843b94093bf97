//! Threads that share short jobs and stay awake between them.
//!
//! A training step takes a millisecond or less, and to wake a sleeping thread can take half of that. A worker therefore
//! spins for a while before it goes to sleep, and the caller works along. In jobs of as many pieces, a thread that
//! keeps up gets the same pieces each time, since what it worked on last is in its cache.

mod share;

pub use share::{in_order, map};

use std::any::Any;
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a worker spins before it goes to sleep: longer than the time between two passes of a step.
const SPIN_TIME: Duration = Duration::from_millis(1);
/// Spins between two reads of the clock, and before the waiting caller yields to other threads.
const SPINS: usize = 64;

/// Work on one of several pieces: number of the thread, number of the piece.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// A number of threads, the caller's among them.
#[derive(Debug)]
pub struct ThreadPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Jobs given out so far: a change is the signal to begin.
    jobs: AtomicUsize,
    /// Each thread's own pieces that nobody has taken.
    own: Box<[Pieces]>,
    /// Workers that have joined the job and are not done with it yet; they join under the lock.
    busy: AtomicUsize,
    stop: AtomicBool,
    job: Mutex<Job>,
    wake: Condvar,
}

/// Pieces of one thread, from one number up to another: it takes them from the front, and others from the back.
#[derive(Debug, Default)]
struct Pieces(AtomicU64);

impl Pieces {
    fn set(&self, start: usize, end: usize) {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        self.0.store((start as u64) << 32 | end as u64, Ordering::Relaxed);
    }

    /// Takes one end, if anything is left.
    fn take(&self, from_front: bool) -> Option<usize> {
        let ends = |both: u64| (both >> 32, both & u64::from(u32::MAX));
        let less_one = |both: u64| {
            let (start, end) = ends(both);
            (start < end).then(|| if from_front { both + (1 << 32) } else { both - 1 })
        };
        let (start, end) = ends(self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one).ok()?);
        Some(if from_front { start } else { end - 1 } as usize)
    }
}

/// What is being worked on.
#[derive(Default)]
struct Job {
    /// Erased lifetime: it is there only while [`ThreadPool::run`] lasts, which waits for workers that have it.
    work: Option<&'static Work<'static>>,
    /// Workers that are asleep.
    asleep: usize,
    /// What a worker panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("asleep", &self.asleep).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For as many threads.
    fn new(threads: usize) -> Self {
        Self {
            jobs: AtomicUsize::new(0),
            own: (0..threads).map(|_| Pieces::default()).collect(),
            busy: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            job: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// Takes pieces, its own first, until none is left.
    fn take_pieces(&self, thread: usize, work: &Work<'_>) {
        let (before, from_here) = self.own.split_at(thread);
        for (t, pieces) in from_here.iter().chain(before).enumerate() {
            while let Some(piece) = pieces.take(t == 0) {
                work(thread, piece);
            }
        }
    }

    /// Leaves nothing to take: nobody need go on with a job that is lost.
    fn drop_pieces(&self) {
        self.own.iter().for_each(|pieces| pieces.set(0, 0));
    }

    /// Waits for a job that is not the one seen last; nothing when the pool is dismissed.
    fn await_job(&self, seen: usize) -> Option<usize> {
        let began = Instant::now();
        loop {
            for _ in 0..SPINS {
                if self.stop.load(Ordering::Acquire) {
                    return None;
                }
                let jobs = self.jobs.load(Ordering::Acquire);
                if jobs != seen {
                    return Some(jobs);
                }
                spin_loop();
            }
            if began.elapsed() > SPIN_TIME {
                break;
            }
        }
        let mut job = self.lock();
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            // Jobs are given out under the lock, so a worker that holds it cannot miss one before it sleeps.
            let jobs = self.jobs.load(Ordering::Acquire);
            if jobs != seen {
                return Some(jobs);
            }
            job.asleep += 1;
            job = self.wake.wait(job).unwrap_or_else(PoisonError::into_inner);
            job.asleep -= 1;
        }
    }

    fn run_worker(&self, thread: usize) {
        let mut seen = 0;
        while let Some(jobs) = self.await_job(seen) {
            seen = jobs;
            // A worker that comes too late finds no work: the caller has not waited for it.
            let work = {
                let job = self.lock();
                job.work.inspect(|_| _ = self.busy.fetch_add(1, Ordering::Relaxed))
            };
            let Some(work) = work else { continue };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_pieces(thread, work))) {
                self.drop_pieces();
                self.lock().panic = Some(panic);
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }
}

impl ThreadPool {
    /// As many threads as asked for, or as the system grants, the caller's included.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::new(threads.max(1)));
        let worker = |thread: usize| {
            let shared = Arc::clone(&shared);
            let name = format!("deepgp-{thread}");
            std::thread::Builder::new().name(name).spawn(move || shared.run_worker(thread)).ok()
        };
        let workers = (1..threads.max(1)).map_while(worker).collect();
        Self { shared, workers }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// What every thread makes for itself, by the number of the thread: in memory of its own, as far as the allocator
    /// keeps threads apart.
    ///
    /// # Panics
    /// If `make` does.
    pub fn each_makes<T: Send>(&mut self, make: impl Fn() -> T + Sync) -> Vec<T> {
        let all_here = Barrier::new(self.threads());
        let mut made: Vec<Option<T>> = (0..self.threads()).map(|_| None).collect();
        // Who waits for the others cannot take a second piece, and the first one that a thread takes is its own.
        for_each_index(Some(self), by_index(&mut made), |_, own| {
            all_here.wait();
            *own = Some(make());
        });
        made.into_iter().flatten().collect()
    }

    /// Does all pieces, each once; returns when all are done. A thread does those of its own share one after the other,
    /// and then takes what others have left, from its end. `work` gets the number of the thread, below
    /// [`ThreadPool::threads`] and never in use twice at a time, and that of the piece.
    ///
    /// # Panics
    /// If `work` does, on any thread, or there are 2³² pieces.
    pub fn run(&mut self, pieces: usize, work: &Work<'_>) {
        // Each is counted in 32 bits, on which it depends that none is done twice; said before anybody can see the job.
        assert!(u32::try_from(pieces).is_ok(), "{pieces} pieces are too many");
        let shared = &*self.shared;
        // SAFETY: workers use the reference only between here and the end of `all`, which waits for them even if `work`
        // panics on this thread; so it never outlives what it refers to. `&mut self` keeps a second job out.
        let erased: &'static Work<'static> = unsafe { std::mem::transmute::<&Work<'_>, &'static Work<'static>>(work) };
        let asleep = {
            let mut job = shared.lock();
            (job.work, job.panic) = (Some(erased), None);
            let threads = self.threads();
            for (t, own) in shared.own[..threads].iter().enumerate() {
                own.set(t * pieces / threads, (t + 1) * pieces / threads);
            }
            shared.jobs.fetch_add(1, Ordering::Release);
            job.asleep
        };
        if asleep > 0 {
            shared.wake.notify_all();
        }
        let all = AllDone(shared);
        shared.take_pieces(0, work);
        drop(all);
        let panic = shared.lock().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// Slices of equal length whose i-th entries go to one task together.
pub trait IndexedSlices {
    /// The entries of one index.
    type Entry;
    /// The length of the slices.
    fn entries(&self) -> usize;
    /// The entries of index `i`.
    ///
    /// # Safety
    /// `i` is below [`IndexedSlices::entries`], and was not asked for before.
    unsafe fn entry(&self, i: usize) -> Self::Entry;
}

/// A mutable slice whose entries go to different tasks.
#[derive(Debug)]
pub struct IndexedSlice<'a, T> {
    first: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: threads get entries of it, each of them one thread's alone.
unsafe impl<T: Send> Sync for IndexedSlice<'_, T> {}

/// A slice for [`for_each_index`]; slices of equal length are combined as pairs.
pub fn by_index<T>(slice: &mut [T]) -> IndexedSlice<'_, T> {
    IndexedSlice { first: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
}

impl<'a, T> IndexedSlices for IndexedSlice<'a, T> {
    type Entry = &'a mut T;

    fn entries(&self) -> usize {
        self.len
    }

    unsafe fn entry(&self, i: usize) -> &'a mut T {
        // SAFETY: it lies in the slice, which is borrowed for as long, and the caller asks for it once.
        unsafe { &mut *self.first.add(i) }
    }
}

impl<A: IndexedSlices, B: IndexedSlices> IndexedSlices for (A, B) {
    type Entry = (A::Entry, B::Entry);

    fn entries(&self) -> usize {
        assert_eq!(self.0.entries(), self.1.entries(), "slices of one length");
        self.0.entries()
    }

    unsafe fn entry(&self, i: usize) -> Self::Entry {
        // SAFETY: passed on to the caller; both have as many entries.
        unsafe { (self.0.entry(i), self.1.entry(i)) }
    }
}

/// Calls `work` with every index and the entries of that index, on the threads of a pool if there is one.
///
/// # Panics
/// If `work` does.
pub fn for_each_index<L: IndexedSlices + Sync>(
    pool: Option<&mut ThreadPool>,
    memory: L,
    work: impl Fn(usize, L::Entry) + Sync,
) {
    let entries = memory.entries();
    // SAFETY: below the number of entries, and pieces of a job are done once each.
    let piece = |i: usize| work(i, unsafe { memory.entry(i) });
    match pool {
        Some(pool) if entries > 1 => pool.run(entries, &|_, i| piece(i)),
        _ => (0..entries).for_each(piece),
    }
}

/// [`for_each_index`] for work that can fail: the error of the lowest index, if there is one.
///
/// # Errors
/// The errors of `work`.
pub fn try_for_each_index<L: IndexedSlices + Sync, E: Send>(
    pool: Option<&mut ThreadPool>,
    memory: L,
    work: impl Fn(usize, L::Entry) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed: Mutex<Option<(usize, E)>> = Mutex::new(None);
    for_each_index(pool, memory, |i, entries| {
        if let Err(error) = work(i, entries) {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.as_ref().is_none_or(|(other, _)| i < *other) {
                *failed = Some((i, error));
            }
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

/// Takes the job away when it goes, also in a panic, and waits for the workers that have joined it.
struct AllDone<'a>(&'a Shared);

impl Drop for AllDone<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.drop_pieces();
        }
        self.0.lock().work = None;
        let mut looks = 0_usize;
        while self.0.busy.load(Ordering::Acquire) > 0 {
            looks += 1;
            // Others may need this core to finish.
            if looks.is_multiple_of(SPINS) { std::thread::yield_now() } else { spin_loop() }
        }
    }
}

impl Drop for ThreadPool {
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
    use std::collections::HashSet;
    use std::thread::ThreadId;

    #[test]
    fn every_piece_is_done_once_and_no_thread_works_twice_at_a_time() {
        for threads in [1, 2, 5] {
            let mut pool = ThreadPool::new(threads);
            assert!(pool.threads() >= 1 && pool.threads() <= threads);
            let at_work: Vec<AtomicBool> = (0..pool.threads()).map(|_| AtomicBool::new(false)).collect();
            for pieces in [0, 1, 3, 200] {
                let done: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                pool.run(pieces, &|thread, piece| {
                    assert!(!at_work[thread].swap(true, Ordering::SeqCst));
                    done[piece].fetch_add(1, Ordering::SeqCst);
                    assert!(at_work[thread].swap(false, Ordering::SeqCst));
                });
                assert!(done.iter().all(|n| n.load(Ordering::SeqCst) == 1));
            }
        }
    }

    #[test]
    fn every_thread_makes_its_own() {
        for threads in [1, 2, 5] {
            let mut pool = ThreadPool::new(threads);
            let makers = pool.each_makes(|| std::thread::current().id());
            assert_eq!(makers.len(), pool.threads());
            assert_eq!(makers.iter().collect::<HashSet<_>>().len(), pool.threads(), "all of them");
            let here: Vec<Mutex<Option<ThreadId>>> = makers.iter().map(|_| Mutex::default()).collect();
            pool.run(100, &|thread, _| *here[thread].lock().expect("no panic") = Some(std::thread::current().id()));
            for (here, maker) in here.into_iter().zip(makers) {
                assert!(here.into_inner().expect("no panic").is_none_or(|id| id == maker), "by its number");
            }
        }
    }

    #[test]
    fn entries_of_one_number_are_lent_together() {
        for pool in [None, Some(&mut ThreadPool::new(3))] {
            let (mut names, mut squares) = (vec![String::new(); 100], vec![0; 100]);
            for_each_index(pool, (by_index(&mut names), by_index(&mut squares)), |i, (name, square)| {
                name.push_str(&i.to_string());
                *square += i * i;
            });
            assert!((0..100).all(|i| names[i] == i.to_string() && squares[i] == i * i));
        }
    }

    #[test]
    fn the_first_error_is_told_and_the_rest_is_done() {
        for pool in [None, Some(&mut ThreadPool::new(3))] {
            let mut done = vec![false; 50];
            let failed = try_for_each_index(pool, by_index(&mut done), |i, done| {
                *done = true;
                if i % 7 == 3 { Err(i) } else { Ok(()) }
            });
            assert_eq!(failed, Err(3));
            assert!(done.iter().all(|done| *done));
        }
    }

    #[test]
    #[should_panic(expected = "slices of one length")]
    fn slices_of_different_lengths_are_refused() {
        for_each_index(None, (by_index(&mut [1, 2]), by_index(&mut [1])), |_, _| {});
    }

    #[test]
    fn workers_that_lie_down_are_woken() {
        let mut pool = ThreadPool::new(3);
        for _ in 0..20 {
            let sum = AtomicUsize::new(0);
            pool.run(50, &|_, piece| {
                sum.fetch_add(piece, Ordering::Relaxed);
            });
            assert_eq!(sum.load(Ordering::Relaxed), 1225);
            std::thread::sleep(2 * SPIN_TIME);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let mut pool = ThreadPool::new(4);
        for round in 0..50 {
            let lost = catch_unwind(AssertUnwindSafe(|| {
                pool.run(40, &|_, piece| assert!(piece != 7 + round % 20, "piece"));
            }));
            assert!(lost.is_err());
            let count = AtomicUsize::new(0);
            pool.run(10, &|_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.load(Ordering::Relaxed), 10);
        }
    }
}
