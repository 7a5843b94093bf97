//! `deepgp bench speed`: time per step and prediction rate over a grid, beside the machine's own ceilings.

use super::cost::Shape;
use crate::args::{Speed, widths};
use anyhow::Result;
use deepgp::init::{Architecture, MeanChoice, network};
use deepgp::likelihood::{Gaussian, Likelihood};
use deepgp::linalg::{Mat, Op, mul};
use deepgp::simd::exp_into;
use deepgp::train::{Settings, Trainer};
use deepgp_data::builtin;
use deepgp_experiments::Circumstances;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use std::io::{Write, stdout};
use std::ops::ControlFlow;
use std::time::Instant;

/// What the processor can do, measured beside the steps.
#[derive(Debug, Clone, Copy, Serialize)]
struct Ceilings {
    /// Nanoseconds per exponential of a vector loop in cache.
    exp_ns: f64,
    /// Gigaflops of a 192 × 192 × 192 matrix product.
    gemm_gflops: f64,
}

/// One line of the result.
#[derive(Debug, Serialize)]
struct Record {
    #[serde(flatten)]
    shape: Shape,
    n_data: usize,
    threads: usize,
    microseconds_per_step: f64,
    exponentials: f64,
    flops: f64,
    ceiling_microseconds: f64,
    share_of_ceiling: f64,
    rows_predicted_per_second: f64,
    peak_megabytes: f64,
    #[serde(flatten)]
    ceilings: Ceilings,
    #[serde(flatten)]
    circumstances: Circumstances,
}

/// Prints a table to standard error and one JSON line per grid point to standard output.
pub fn speed(args: &Speed) -> Result<()> {
    if !args.peer.is_empty() {
        return super::peers::compare(args);
    }
    let networks = args.hidden.iter().map(|text| widths(text)).collect::<Result<Vec<_>>>()?;
    if let Some(steps) = args.steps {
        return count_steps(args, &networks, steps);
    }
    eprintln!(
        "{:<16} {:>4} {:>6} {:>8} {:>8} {:>11} {:>11} {:>7} {:>12} {:>8}",
        "widths", "M", "batch", "N", "threads", "µs/step", "ceiling µs", "share", "rows/s", "peak MB"
    );
    for hidden in &networks {
        for &inducing in &args.inducing {
            for &batch in &args.batch {
                let record = measure(args, hidden, inducing, batch)?;
                let widths: Vec<String> = record.shape.widths.iter().map(ToString::to_string).collect();
                eprintln!(
                    "{:<16} {:>4} {:>6} {:>8} {:>8} {:>11.1} {:>11.1} {:>7.3} {:>12.0} {:>8.1}",
                    widths.join("-"),
                    inducing,
                    batch,
                    record.n_data,
                    record.threads,
                    record.microseconds_per_step,
                    record.ceiling_microseconds,
                    record.share_of_ceiling,
                    record.rows_predicted_per_second,
                    record.peak_megabytes
                );
                writeln!(stdout(), "{}", serde_json::to_string(&record)?)?;
            }
        }
    }
    Ok(())
}

/// What is timed: rows and columns of the data, the network, and how it is trained.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes<'a> {
    pub rows: usize,
    pub inputs: usize,
    pub hidden: &'a [usize],
    pub inducing: usize,
    pub batch: usize,
    pub threads: usize,
}

/// Medians over some seconds.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// Seconds per step.
    step: f64,
    /// Rows predicted per second, on one thread.
    rows_per_second: f64,
    ceilings: Ceilings,
}

/// Trains for so many steps at each size and does nothing else, so that instructions can be counted.
fn count_steps(args: &Speed, networks: &[Vec<usize>], steps: usize) -> Result<()> {
    for hidden in networks {
        for &inducing in &args.inducing {
            for &batch in &args.batch {
                let sizes =
                    Sizes { rows: args.rows, inputs: args.inputs, hidden, inducing, batch, threads: args.threads };
                with_trainer(sizes, |trainer, _| {
                    run_for(trainer, steps);
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

/// Calls `body` with a run of the given sizes on generated data, and its inputs.
fn with_trainer<R>(sizes: Sizes<'_>, body: impl FnOnce(&mut Trainer<'_>, &Mat) -> Result<R>) -> Result<R> {
    let (x, y) = builtin::ripple(sizes.rows, sizes.inputs, 0.1, 1);
    let architecture = Architecture {
        hidden: sizes.hidden.to_vec(),
        n_inducing: sizes.inducing,
        mean: MeanChoice::Zero,
        ..Architecture::default()
    };
    let likelihood = Likelihood::Gaussian(Gaussian { noise_var: vec![0.1] });
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (net, _) = network(&x, likelihood, &architecture, &mut rng)?;
    let settings =
        Settings { iterations: usize::MAX, batch_size: sizes.batch, threads: sizes.threads, ..Settings::default() };
    body(&mut Trainer::new(net, &x, &y, settings)?, &x)
}

/// Least seconds that steps are timed for between two measurements of the ceilings, for which a second thread has nothing to do: so long
/// that it does not matter that it has to be woken, nor that a run ends by making sure that what it leaves can predict.
const CHUNK: f64 = 0.1;

/// Times steps and predictions for so many seconds, and the ceilings by turns with the steps.
fn time(trainer: &mut Trainer<'_>, x: &Mat, seconds: f64) -> Result<Timing> {
    // Chunks of steps between measurements of the ceilings, so that both see the same machine; medians of each.
    let (mut steps, mut ceilings) = (Vec::new(), Vec::new());
    run_for(trainer, 20);
    let mut chunk = 1;
    while chunk < 1000 && time_steps(trainer, chunk) < CHUNK {
        chunk *= 2;
    }
    let started = Instant::now();
    while started.elapsed().as_secs_f64() < seconds || steps.len() < 3 {
        ceilings.push(measure_ceilings());
        steps.push(time_steps(trainer, chunk) / chunk as f64);
    }

    Ok(Timing {
        step: median(steps.into_iter()),
        rows_per_second: prediction_rate(trainer, x)?,
        ceilings: Ceilings {
            exp_ns: median(ceilings.iter().map(|c| c.exp_ns)),
            gemm_gflops: median(ceilings.iter().map(|c| c.gemm_gflops)),
        },
    })
}

/// Seconds of processor time a step over one run of so many seconds, which is how scripts of peers time theirs, and rows predicted per
/// second; both on one thread.
pub(super) fn time_as_peers(sizes: Sizes<'_>, seconds: f64) -> Result<(f64, f64)> {
    with_trainer(sizes, |trainer, x| {
        run_for(trainer, 20);
        let (mut steps, mut begun, mut cpu) = (0, None, 0.0);
        trainer.run(&mut |_: &deepgp::train::Progress<'_>| {
            let (started, before) = *begun.get_or_insert_with(|| (Instant::now(), cpu_seconds()));
            let elapsed = started.elapsed().as_secs_f64();
            if elapsed < seconds || steps == 0 {
                steps += 1;
                return ControlFlow::Continue(());
            }
            cpu = cpu_seconds().zip(before).map_or(elapsed, |(now, before)| now - before);
            ControlFlow::Break(())
        });
        Ok((cpu / f64::from(steps), prediction_rate(trainer, x)?))
    })
}

/// Rows predicted per second, the median of a few thousand rows five times.
fn prediction_rate(trainer: &Trainer<'_>, x: &Mat) -> Result<f64> {
    let predictor = trainer.predictor()?;
    let few: Vec<usize> = (0..4000).map(|i| i % x.rows()).collect();
    let few = x.select_rows(&few);
    let mut rates = Vec::new();
    for _ in 0..5 {
        let mut done = Ok(());
        let seconds = timed(|| done = predictor.predict(&few).map(|_| ()));
        done?;
        rates.push(few.rows() as f64 / seconds);
    }
    Ok(median(rates.into_iter()))
}

fn measure(args: &Speed, hidden: &[usize], inducing: usize, batch: usize) -> Result<Record> {
    let sizes = Sizes { rows: args.rows, inputs: args.inputs, hidden, inducing, batch, threads: args.threads };
    let Timing { step, rows_per_second, ceilings } = with_trainer(sizes, |trainer, x| time(trainer, x, args.seconds))?;
    let widths: Vec<usize> = [args.inputs].into_iter().chain(hidden.iter().copied()).chain([1]).collect();
    let shape = Shape { widths, inducing: inducing.min(args.rows), batch: batch.min(args.rows) };
    let (exponentials, flops) = (shape.exponentials(), shape.flops());
    // The ceilings are those of one thread; several share the work.
    let one_thread = exponentials * ceilings.exp_ns * 1e-3 + flops / ceilings.gemm_gflops * 1e-3;
    let ceiling = one_thread / args.threads.max(1) as f64;
    Ok(Record {
        shape,
        n_data: args.rows,
        threads: args.threads,
        microseconds_per_step: 1e6 * step,
        exponentials,
        flops,
        ceiling_microseconds: ceiling,
        share_of_ceiling: ceiling / (1e6 * step),
        rows_predicted_per_second: rows_per_second,
        peak_megabytes: peak_megabytes(),
        ceilings,
        circumstances: Circumstances::here(),
    })
}

/// Trains for `steps` more steps.
fn run_for(trainer: &mut Trainer<'_>, steps: usize) {
    let mut left = steps;
    trainer.run(&mut |_: &deepgp::train::Progress<'_>| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
}

/// Seconds that `steps` more steps take, after one that is not counted; nor is what a run does at its end.
fn time_steps(trainer: &mut Trainer<'_>, steps: usize) -> f64 {
    let (mut done, mut started, mut seconds) = (0, Instant::now(), 0.0);
    trainer.run(&mut |_: &deepgp::train::Progress<'_>| {
        if done == 0 {
            started = Instant::now();
        }
        done += 1;
        if done <= steps {
            return ControlFlow::Continue(());
        }
        seconds = started.elapsed().as_secs_f64();
        ControlFlow::Break(())
    });
    seconds
}

/// Both ceilings, each over a loop of a few milliseconds: medians of these are compared with medians of steps.
fn measure_ceilings() -> Ceilings {
    const REPEATS: usize = 4000;
    let arguments: Vec<f64> = (0..1280).map(|i| -0.01 * f64::from(i)).collect();
    let mut values = arguments.clone();
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

fn timed(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seconds of processor time that this thread has had, to a few milliseconds; none where the system does not tell.
fn cpu_seconds() -> Option<f64> {
    let numbers = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(1e-9 * numbers.split_whitespace().next()?.parse::<f64>().ok()?)
}

/// The most memory this process has held, in megabytes; NaN where the system does not tell.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |k| k / 1024.0)
}
