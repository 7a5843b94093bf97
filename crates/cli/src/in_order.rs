//! Work on one thing after another by several threads, with results that are handed on in the order of the things.

use anyhow::Result;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, Scope, scope};

/// Things that a thread has at most: it works on one, and the next one waits.
const ON_THE_WAY: usize = 2;

/// Asks `next` for things until there are no more, has threads `work` on them, and hands results on in order, each as soon as it is
/// there. What `next` and `hand_on` do is done by the caller's thread, and nothing is kept but two things a thread: neither need be
/// able to change threads, and no number of things needs more memory than another. There are no more threads than things; with one
/// thread, or if the system refuses any, the caller's does all.
///
/// # Errors
/// The first in the order of the things, after all before it were handed on; those of `next` come where its thing would have.
///
/// # Panics
/// If `work` does.
pub fn in_order<T: Send, R: Send>(
    threads: usize,
    mut next: impl FnMut() -> Result<Option<T>>,
    work: impl Fn(T) -> Result<R> + Sync,
    mut hand_on: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    scope(|scope| {
        let mut most = if threads > 1 { threads } else { 0 };
        // Thing k belongs to worker k modulo their number, which does not change once a worker has a second thing.
        let mut workers: Vec<Worker<T, R>> = Vec::new();
        let (mut given, mut handed_on, mut end) = (0, 0, None);
        loop {
            if given > handed_on {
                let results = &workers[handed_on % workers.len()].results;
                let asks = end.is_none() && given < handed_on + ON_THE_WAY * workers.len();
                let result = match asks {
                    true => results.try_recv(),
                    false => results.recv().map_err(TryRecvError::from),
                };
                match result {
                    Ok(result) => {
                        hand_on(result?)?;
                        handed_on += 1;
                        continue;
                    }
                    // The end of the scope passes a worker's panic on.
                    Err(TryRecvError::Disconnected) => return Ok(()),
                    Err(TryRecvError::Empty) => {}
                }
            } else if let Some(end) = end {
                return end;
            }
            match next() {
                Ok(None) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
                Ok(Some(thing)) => {
                    if given == workers.len() && given < most {
                        match Worker::start(scope, &work) {
                            Some(worker) => workers.push(worker),
                            None => most = given,
                        }
                    }
                    if workers.is_empty() {
                        hand_on(work(thing)?)?;
                    } else {
                        // Who cannot take it has panicked, which is found out where its result is missing.
                        _ = workers[given % workers.len()].things.send(thing);
                        given += 1;
                    }
                }
            }
        }
    })
}

/// The caller's ends of a thread's lines; when they go, it stops.
struct Worker<T, R> {
    things: Sender<T>,
    results: Receiver<Result<R>>,
}

impl<T: Send, R: Send> Worker<T, R> {
    /// A thread that works on things in the order in which it gets them, if the system grants one.
    fn start<'s, 'e>(scope: &'s Scope<'s, 'e>, work: &'s (impl Fn(T) -> Result<R> + Sync)) -> Option<Self>
    where
        T: 's,
        R: 's,
    {
        let ((things, incoming), (outgoing, results)) = (channel::<T>(), channel());
        // A result that nobody waits for is the last one.
        let serve = move || _ = incoming.into_iter().try_for_each(|thing| outgoing.send(work(thing)));
        Builder::new().spawn_scoped(scope, serve).ok()?;
        Some(Self { things, results })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use std::time::Duration;

    /// What is handed on of the numbers below `end`, which are squared, and how it ends; `next` fails at `torn`, `work` at `bad` and
    /// at the number after it, which is found first.
    fn squares(threads: usize, end: u64, torn: Option<u64>, bad: Option<u64>) -> (Vec<u64>, Result<(), String>) {
        let (mut numbers, mut out) = (0..end, Vec::new());
        let next = || match numbers.next() {
            Some(n) if Some(n) == torn => Err(anyhow!("torn at {n}")),
            n => Ok(n),
        };
        let work = |n: u64| {
            // Those that come first take longest.
            std::thread::sleep(Duration::from_micros(40 * (7 - n % 7)));
            match bad {
                Some(bad) if n == bad || n == bad + 1 => Err(anyhow!("bad {n}")),
                _ => Ok(n * n),
            }
        };
        let done = in_order(threads, next, work, |square| {
            out.push(square);
            Ok(())
        });
        (out, done.map_err(|error| error.to_string()))
    }

    #[test]
    fn results_come_in_order_until_something_fails() {
        let below = |end: u64| (0..end).map(|n| n * n).collect::<Vec<_>>();
        for threads in [0, 1, 2, 5] {
            for end in [0, 1, 3, 100] {
                assert_eq!(squares(threads, end, None, None), (below(end), Ok(())), "{threads} threads");
            }
            assert_eq!(
                squares(threads, 40, Some(17), None),
                (below(17), Err("torn at 17".to_owned())),
                "{threads} threads"
            );
            assert_eq!(
                squares(threads, 40, Some(34), Some(13)),
                (below(13), Err("bad 13".to_owned())),
                "{threads} threads"
            );
            assert_eq!(
                squares(threads, 40, Some(14), Some(14)),
                (below(14), Err("torn at 14".to_owned())),
                "{threads} threads"
            );
        }
    }

    #[test]
    fn nothing_is_asked_for_long_before_its_turn() {
        let (asked, handed_on) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let next = || {
            asked.set(asked.get() + 1);
            assert!(asked.get() <= handed_on.get() + 3 * ON_THE_WAY, "{asked:?} {handed_on:?}");
            Ok((asked.get() <= 50).then_some(()))
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
        let done = in_order(
            2,
            || Ok(Some(())),
            Ok,
            |()| {
                n_seen += 1;
                if n_seen == 5 { Err(anyhow!("enough")) } else { Ok(()) }
            },
        );
        assert_eq!((n_seen, done.map_err(|e| e.to_string())), (5, Err("enough".to_owned())));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_reaches_the_caller() {
        let mut numbers = 0..100;
        let _ = in_order(2, || Ok(numbers.next()), |n| if n == 7 { panic!("seven") } else { Ok(n) }, |_| Ok(()));
    }
}
