//! What it costs to hand out a job on two threads.

use crate::record::Record;
use crate::turns::{Outcome, Task, task, turns_apart};
use deepgp_numerics::pool::{ThreadPool, map};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Works for some microseconds, whatever happens to the clock rate of the core.
fn work(microseconds: f64) {
    let (began, length) = (Instant::now(), Duration::from_secs_f64(1e-6 * microseconds));
    while began.elapsed() < length {
        black_box(());
    }
}

pub fn measure(record: &mut Record) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    let mut ours = ThreadPool::new(2);
    for (pieces, each, pause) in [
        (2, 0.0, 0.0),
        (2, 5.0, 0.0),
        (2, 50.0, 0.0),
        (16, 2.0, 0.0),
        (64, 2.0, 0.0),
        (2, 5.0, 200.0),
        (16, 2.0, 200.0),
    ] {
        let size =
            format!("{pieces} × {each} µs{}", if pause > 0.0 { format!(", {pause} µs pause") } else { String::new() });
        let (ours, pool) = (&mut ours, &pool);
        let entry = |name: &str, outcome: Outcome, record: &mut Record, peer: &'static str| {
            let ideal = 1e3 * (each * f64::from(pieces) / 2.0 + pause);
            let [a, b] = outcome.nanoseconds;
            let more =
                format!(r#""overhead_nanoseconds":{:.1},"peer_overhead_nanoseconds":{:.1}"#, a - ideal, b - ideal);
            record.add(name, &size, peer, outcome, more);
        };
        let mut run = task(|| {
            ours.run(pieces as usize, &|_, _| work(each));
            work(pause);
        });
        // Theirs is called from one of its own threads, so that no job has to come in from outside.
        let mut by_iter: Task<'_> = Box::new(|times| {
            pool.install(|| {
                for _ in 0..times {
                    (0..pieces).into_par_iter().with_max_len(1).for_each(|_| work(each));
                    work(pause);
                }
            });
        });
        entry("job", turns_apart(&mut run, &mut by_iter), record, "rayon, par_iter");
        if pieces == 2 {
            let mut by_join: Task<'_> = Box::new(|times| {
                pool.install(|| {
                    for _ in 0..times {
                        rayon::join(|| work(each), || work(each));
                        work(pause);
                    }
                });
            });
            entry("job", turns_apart(&mut run, &mut by_join), record, "rayon, join");
        }
        let mut by_scope: Task<'_> = Box::new(|times| {
            pool.install(|| {
                for _ in 0..times {
                    rayon::scope(|scope| (0..pieces).for_each(|_| scope.spawn(|_| work(each))));
                    work(pause);
                }
            });
        });
        entry("job", turns_apart(&mut run, &mut by_scope), record, "rayon, scope");
    }
    let items: Vec<u64> = (0..16).collect();
    for each in [10.0, 1000.0] {
        let of_item = |x: &u64| {
            work(each);
            *x
        };
        let mut run = task(|| map(2, &items, of_item, |_| ()));
        let mut theirs = task(|| pool.install(|| items.par_iter().with_max_len(1).map(of_item).collect::<Vec<_>>()));
        let outcome = turns_apart(&mut run, &mut theirs);
        record.add("map", &format!("16 × {each} µs"), "rayon, par_iter", outcome, String::new());
    }
}
