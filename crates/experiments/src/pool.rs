//! Independent jobs on several threads.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does all jobs, in order of their start, on so many threads, until one fails or `stop` is set; a failure sets it.
///
/// # Errors
/// The first failure.
pub fn for_each<J: Sync>(
    jobs: &[J],
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(&J) -> Result<()> + Sync,
) -> Result<()> {
    let (next, failure): (AtomicUsize, Mutex<Option<Error>>) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    if let Err(error) = work(job) {
                        stop.store(true, Ordering::Relaxed);
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_and_a_failure_ends_it() {
        let (sum, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let jobs: Vec<usize> = (1..=100).collect();
        let add = |&n: &usize| {
            sum.fetch_add(n, Ordering::Relaxed);
            Ok(())
        };
        assert!(for_each(&jobs, 3, &stop, add).is_ok());
        assert_eq!(sum.load(Ordering::Relaxed), 5050);
        let fail = |&n: &usize| if n == 7 { Err(Error::NoSplit { split: n, splits: 0 }) } else { Ok(()) };
        assert!(matches!(for_each(&jobs, 2, &stop, fail), Err(Error::NoSplit { split: 7, .. })));
        assert!(stop.load(Ordering::Relaxed));
    }
}
