//! Long pieces of work shared among threads that live for one call, with the results given to the caller's thread.
//!
//! [`super::ThreadPool`] is for jobs of microseconds, whose workers must not fall asleep between them and keep their
//! pieces; here a piece takes milliseconds or hours, whichever thread is free takes the next one, and starting a thread
//! costs next to nothing.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope, scope};

/// Items of a stream for each thread that may be begun or waiting: it works on one, and the next one waits.
const IN_FLIGHT: usize = 2;

/// A result with the place of its item, or what the work panicked with.
type Done<R> = (usize, Result<R, Box<dyn Any + Send>>);

/// Threads that take items from one queue, and the caller's ends of the lines to them. When it is dropped, they stop.
struct Workers<T, R> {
    items: Sender<(usize, T)>,
    queue: Arc<Mutex<Receiver<(usize, T)>>>,
    outgoing: Sender<Done<R>>,
    results: Receiver<Done<R>>,
    count: usize,
    most: usize,
}

impl<T: Send, R: Send> Workers<T, R> {
    /// No threads yet; one thread alone is the caller's.
    fn at_most(threads: usize) -> Self {
        let ((items, queue), (outgoing, results)) = (channel(), channel());
        let (queue, most) = (Arc::new(Mutex::new(queue)), if threads > 1 { threads } else { 0 });
        Self { items, queue, outgoing, results, count: 0, most }
    }

    /// Starts another thread, if there may be one and the system grants it.
    fn start<'s, 'e>(&mut self, scope: &'s Scope<'s, 'e>, work: &'s (impl Fn(T) -> R + Sync))
    where
        T: 's,
        R: 's,
    {
        if self.count == self.most {
            return;
        }
        let (queue, outgoing) = (Arc::clone(&self.queue), self.outgoing.clone());
        let serve = move || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((place, item)) = next else { return };
                let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                if outgoing.send((place, result)).is_err() {
                    return;
                }
            }
        };
        match Builder::new().spawn_scoped(scope, serve) {
            Ok(_) => self.count += 1,
            Err(_) => self.most = self.count,
        }
    }

    /// Puts an item at the end of the queue.
    fn give(&self, place: usize, item: T) {
        // The other end is held here, too.
        _ = self.items.send((place, item));
    }

    /// A result that is there, or if `wait` the next one, with its place. Panics as the work did.
    fn result(&self, wait: bool) -> Option<(usize, R)> {
        let done = if wait { self.results.recv().ok() } else { self.results.try_recv().ok() };
        done.map(|(place, result)| (place, result.unwrap_or_else(|panic| resume_unwind(panic))))
    }
}

/// Has threads `work` on each item; results come in the order of the items, whichever ends first. `on_done` is told of
/// each as it ends, on the caller's thread. There are no more threads than items; with one thread, or if the system
/// refuses any, the caller's does all.
///
/// # Panics
/// If `work` does.
pub fn map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut on_done: impl FnMut(&R),
) -> Vec<R> {
    let mut done: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let work = |place: usize| work(&items[place]);
    scope(|scope| {
        let mut workers = Workers::at_most(threads.min(items.len()));
        (0..items.len()).for_each(|_| workers.start(scope, &work));
        if workers.count > 0 {
            (0..items.len()).for_each(|place| workers.give(place, place));
        }
        for next in 0..items.len() {
            let (place, result) = match workers.count {
                0 => (next, work(next)),
                _ => workers.result(true).expect("the line is held open here"),
            };
            on_done(&result);
            done[place] = Some(result);
        }
    });
    done.into_iter().flatten().collect()
}

/// Asks `next` for items until there are no more, has threads `work` on them, and hands results on in order, each as
/// soon as it is there. `next` and `hand_on` run on the caller's thread, so they need not be `Send`. At most two items
/// per thread are held, however many there are. There are no more threads than items; with one thread, or if the system
/// refuses any, the caller's thread does all.
///
/// # Errors
/// The first in the order of the items, after all before it were handed on; those of `next` come where its item would
/// have.
///
/// # Panics
/// If `work` does.
pub fn in_order<T: Send, R: Send, E: Send>(
    threads: usize,
    mut next: impl FnMut() -> Result<Option<T>, E>,
    work: impl Fn(T) -> Result<R, E> + Sync,
    mut hand_on: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    scope(|scope| {
        let mut workers = Workers::at_most(threads);
        // Results of the items that were given and not handed on yet, as far as they are there; the first is that of
        // item `first`.
        let (mut first, mut results, mut end) = (0, VecDeque::new(), None);
        loop {
            if let Some(Some(_)) = results.front() {
                let result: Option<Result<R, E>> = results.pop_front().flatten();
                first += 1;
                result.map_or(Ok(()), |result| hand_on(result?))?;
                continue;
            }
            let asks = end.is_none() && results.len() < IN_FLIGHT * workers.count.max(1);
            if !results.is_empty()
                && let Some((place, result)) = workers.result(!asks)
            {
                results[place - first] = Some(result);
                continue;
            }
            if let Some(end) = end {
                return end;
            }
            match next() {
                Ok(None) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
                Ok(Some(item)) => {
                    workers.start(scope, &work);
                    if workers.count == 0 {
                        hand_on(work(item)?)?;
                    } else {
                        workers.give(first + results.len(), item);
                        results.push_back(None);
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// What is handed on of the numbers below `end`, which are squared, and how it ends; `next` fails at `torn`, `work`
    /// at `bad` and at the number after it, which is found first.
    fn squares(threads: usize, end: u64, torn: Option<u64>, bad: Option<u64>) -> (Vec<u64>, Result<(), String>) {
        let (mut numbers, mut out) = (0..end, Vec::new());
        let next = || match numbers.next() {
            Some(n) if Some(n) == torn => Err(format!("torn at {n}")),
            n => Ok(n),
        };
        let work = |n: u64| {
            // Those that come first take longest.
            std::thread::sleep(Duration::from_micros(40 * (7 - n % 7)));
            match bad {
                Some(bad) if n == bad || n == bad + 1 => Err(format!("bad {n}")),
                _ => Ok(n * n),
            }
        };
        let done = in_order(threads, next, work, |square| {
            out.push(square);
            Ok(())
        });
        (out, done)
    }

    #[test]
    fn results_come_in_order_until_something_fails() {
        let below = |end: u64| (0..end).map(|n| n * n).collect::<Vec<_>>();
        for threads in [0, 1, 2, 5] {
            for end in [0, 1, 3, 100] {
                assert_eq!(squares(threads, end, None, None), (below(end), Ok(())), "{threads} threads");
            }
            for (torn, bad, end, message) in
                [(17, None, 17, "torn at 17"), (34, Some(13), 13, "bad 13"), (14, Some(14), 14, "torn at 14")]
            {
                let expected = (below(end), Err(message.to_owned()));
                assert_eq!(squares(threads, 40, Some(torn), bad), expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn nothing_is_asked_for_long_before_its_turn() {
        let (asked, handed_on) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let next = || {
            asked.set(asked.get() + 1);
            assert!(asked.get() <= handed_on.get() + 3 * IN_FLIGHT, "{asked:?} {handed_on:?}");
            Ok::<_, String>((asked.get() <= 50).then_some(()))
        };
        let hand_on = |()| {
            handed_on.set(handed_on.get() + 1);
            Ok(())
        };
        in_order(3, next, Ok, hand_on).expect("no failure");
        assert_eq!(handed_on.get(), 50);
    }

    #[test]
    fn who_does_not_want_more_gets_no_more() {
        let mut n_seen = 0;
        let hand_on = |()| {
            n_seen += 1;
            if n_seen == 5 { Err("enough") } else { Ok(()) }
        };
        assert_eq!(in_order(2, || Ok(Some(())), Ok, hand_on), Err("enough"));
        assert_eq!(n_seen, 5);
    }

    #[test]
    fn every_item_of_a_list_is_worked_on_once_and_told_as_it_ends() {
        for threads in [0, 1, 3, 200] {
            let (calls, mut told) = (AtomicUsize::new(0), Vec::new());
            let items: Vec<usize> = (0..60).collect();
            let work = |n: &usize| {
                calls.fetch_add(1, Ordering::Relaxed);
                // The first ends last.
                std::thread::sleep(Duration::from_micros(if *n == 0 { 20_000 } else { 50 }));
                n * n
            };
            let squares = map(threads, &items, work, |square| told.push(*square));
            assert_eq!(squares, items.iter().map(|n| n * n).collect::<Vec<_>>());
            assert_eq!((calls.into_inner(), told.len()), (60, 60));
            assert_eq!(told[0] == 0, threads < 2, "{threads} threads");
        }
        assert_eq!(map(4, &[] as &[u8], |n| *n, |_| ()), Vec::<u8>::new());
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_in_a_stream_reaches_the_caller() {
        let mut numbers = 0..100;
        let next = || Ok::<_, String>(numbers.next());
        let _ = in_order(2, next, |n| if n == 7 { panic!("seven") } else { Ok(n) }, |_| Ok(()));
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_in_a_list_reaches_the_caller() {
        map(3, &(0..100).collect::<Vec<_>>(), |n| assert_ne!(*n, 7, "seven"), |()| ());
    }
}
