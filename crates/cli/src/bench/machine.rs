//! Measurements of the machine: its arithmetic rates, processor time and memory.

use deepgp_numerics::linalg::{Mat, Op, mul};
use deepgp_numerics::simd::exp_into;
use serde::Serialize;
use std::sync::Barrier;
use std::time::Instant;

/// Arithmetic rates of a thread, measured between steps, while as many other threads do the same as share a step.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Ceilings {
    /// Nanoseconds per exponential of a vector loop in cache.
    pub exp_ns: f64,
    /// Gigaflops of a 192 × 192 × 192 matrix product.
    pub gemm_gflops: f64,
}

/// Both ceilings with so many threads at work at once, in the mean over the rates of these.
pub(super) fn measure_ceilings(threads: usize) -> Ceilings {
    let begin = Barrier::new(threads.max(1));
    let of_each: Vec<Ceilings> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| measure_own_ceilings(&begin))).collect();
        let own = measure_own_ceilings(&begin);
        // A thread that panicked leaves the mean to the others.
        others.into_iter().filter_map(|other| other.join().ok()).chain([own]).collect()
    });
    let mean = |rate: fn(&Ceilings) -> f64| of_each.iter().map(rate).sum::<f64>() / of_each.len() as f64;
    Ceilings { exp_ns: 1.0 / mean(|c| 1.0 / c.exp_ns), gemm_gflops: mean(|c| c.gemm_gflops) }
}

/// Both ceilings of one thread, each over a loop of a few milliseconds that begins when all do: medians of these are
/// compared with medians of steps.
fn measure_own_ceilings(begin: &Barrier) -> Ceilings {
    const REPEATS: usize = 4000;
    let arguments: Vec<f64> = (0..1280).map(|i| -0.01 * f64::from(i)).collect();
    let mut values = arguments.clone();
    begin.wait();
    let exp = timed(|| {
        for _ in 0..REPEATS {
            exp_into(&arguments, &mut values);
            std::hint::black_box(&values);
        }
    });
    const SIZE: usize = 192;
    const PRODUCTS: usize = 10;
    let (a, b) = (Mat::from_fn(SIZE, SIZE, |i, j| (i + j) as f64), Mat::from_fn(SIZE, SIZE, |i, j| (i * j) as f64));
    let mut out = Mat::zeros(SIZE, SIZE);
    begin.wait();
    let gemm = timed(|| {
        for _ in 0..PRODUCTS {
            mul(&mut out, &a, Op::Id, &b, Op::Id);
            std::hint::black_box(&out);
        }
    });
    Ceilings {
        exp_ns: exp * 1e9 / (REPEATS * arguments.len()) as f64,
        gemm_gflops: 2e-9 * PRODUCTS as f64 * (SIZE as f64).powi(3) / gemm,
    }
}

/// Seconds that some work takes by the clock.
pub(super) fn timed(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

/// The value in the middle; NaN if there is none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seconds of processor time that this thread has had, to a few milliseconds; none where the system does not tell.
pub(super) fn cpu_seconds() -> Option<f64> {
    let numbers = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(1e-9 * numbers.split_whitespace().next()?.parse::<f64>().ok()?)
}

/// The most memory this process has held, in megabytes; NaN where the system does not tell.
pub(super) fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |k| k / 1024.0)
}
