//! Independent jobs on several threads, until one fails.

use crate::error::{Error, Result};
use deepgp_numerics::pool;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs jobs in order on `threads` threads, until one fails or `stop` is set; a failure sets it.
///
/// # Errors
/// The first failure.
pub fn for_each<J: Sync>(
    jobs: &[J],
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(&J) -> Result<()> + Sync,
) -> Result<()> {
    let unless_stopped = |job: &J| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let failure = work(job).err();
        if failure.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        failure
    };
    let failures: Vec<Option<Error>> = pool::map(threads, jobs, unless_stopped, |_| ());
    failures.into_iter().flatten().next().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

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
