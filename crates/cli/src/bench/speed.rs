//! `deepgp bench speed`: time per step and prediction rate over a grid, relative to upper bounds of the machine.

use super::cost::Shape;
use super::machine::{Ceilings, measure_ceilings, median, peak_megabytes};
use super::sizes::{Sizes, prediction_rate, run_for};
use crate::args::Speed;
use anyhow::Result;
use deepgp::train::Trainer;
use deepgp_experiments::Environment;
use deepgp_fit::values::Widths;
use deepgp_numerics::linalg::Mat;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Write, stdout};
use std::ops::ControlFlow;
use std::time::Instant;

/// One line of the result.
#[derive(Debug, Serialize)]
struct Record {
    #[serde(flatten)]
    shape: Shape,
    n_data: usize,
    threads: usize,
    microseconds_per_step: f64,
    /// Steps of this size while one of the first of its turns is done: the median over turns.
    rate_beside_first: f64,
    /// The ratio of the ceilings: what so many threads could do, relative to the threads of the first size.
    ceiling_beside_first: f64,
    exponentials: f64,
    flops: f64,
    ceiling_microseconds: f64,
    share_of_ceiling: f64,
    rows_predicted_per_second: f64,
    peak_megabytes: f64,
    #[serde(flatten)]
    ceilings: Ceilings,
    #[serde(flatten)]
    environment: Environment,
}

/// Prints a table to standard error and one JSON line per grid point to standard output.
pub fn speed(args: &Speed) -> Result<()> {
    if !args.peer.is_empty() {
        return super::peers::compare(args);
    }
    let widths = |text: &String| text.parse::<Widths>().map(|widths| widths.0).map_err(anyhow::Error::msg);
    let networks = args.hidden.iter().map(widths).collect::<Result<Vec<_>>>()?;
    if let Some(steps) = args.steps {
        return count_steps(args, &networks, steps);
    }
    eprintln!(
        "{:<16} {:>4} {:>6} {:>8} {:>8} {:>11} {:>8} {:>11} {:>8} {:>7} {:>12} {:>8}",
        "widths",
        "M",
        "batch",
        "N",
        "threads",
        "µs/step",
        "× first",
        "ceiling µs",
        "× first",
        "share",
        "rows/s",
        "peak MB"
    );
    for turns in grid(args, &networks) {
        for record in measure(&turns, args)? {
            let widths: Vec<String> = record.shape.widths.iter().map(ToString::to_string).collect();
            eprintln!(
                "{:<16} {:>4} {:>6} {:>8} {:>8} {:>11.1} {:>8.3} {:>11.1} {:>8.3} {:>7.3} {:>12.0} {:>8.1}",
                widths.join("-"),
                record.shape.inducing,
                record.shape.batch,
                record.n_data,
                record.threads,
                record.microseconds_per_step,
                record.rate_beside_first,
                record.ceiling_microseconds,
                record.ceiling_beside_first,
                record.share_of_ceiling,
                record.rows_predicted_per_second,
                record.peak_megabytes
            );
            writeln!(stdout(), "{}", serde_json::to_string(&record)?)?;
        }
    }
    Ok(())
}

/// All sizes asked for; those that differ in rows or threads alone are together, to be timed alternately.
fn grid<'a>(args: &'a Speed, networks: &'a [Vec<usize>]) -> Vec<Vec<Sizes<'a>>> {
    let mut grid = Vec::new();
    for hidden in networks {
        for (&inputs, &inducing) in args.inputs.iter().flat_map(|d| args.inducing.iter().map(move |m| (d, m))) {
            for &batch in &args.batch {
                let of_rows = |rows| args.threads.iter().map(move |&threads| (rows, threads));
                let turns = args.rows.iter().flat_map(|&rows| of_rows(rows));
                let sizes = |(rows, threads)| Sizes { rows, inputs, hidden, inducing, batch, threads };
                grid.push(turns.map(sizes).collect());
            }
        }
    }
    grid
}

/// Trains for so many steps at each size and does nothing else, so that instructions can be counted.
fn count_steps(args: &Speed, networks: &[Vec<usize>], steps: usize) -> Result<()> {
    for sizes in grid(args, networks).into_iter().flatten() {
        let (x, y) = sizes.data();
        run_for(&mut sizes.trainer(&x, &y)?, steps);
    }
    Ok(())
}

/// Least seconds that steps are timed for between two measurements of the ceilings, for which a second thread has
/// nothing to do: so long that it does not matter that it has to be woken, nor that a run ends by making sure that what
/// it leaves can predict.
const CHUNK_SECONDS: f64 = 0.1;

/// A run that is timed, and the seconds that a step took at each of its turns and would have taken at the ceilings of
/// that turn.
struct Timed<'a> {
    sizes: Sizes<'a>,
    x: &'a Mat,
    trainer: Trainer<'a>,
    /// Steps of a turn.
    chunk: usize,
    steps: Vec<f64>,
    ceilings: Vec<f64>,
}

impl<'a> Timed<'a> {
    /// A run on some data that has made its first steps.
    fn new(sizes: Sizes<'a>, (x, y): (&'a Mat, &'a Mat), warm_up: usize) -> Result<Self> {
        let (mut trainer, mut chunk) = (sizes.trainer(x, y)?, 1);
        run_for(&mut trainer, warm_up);
        while chunk < 1000 && time_steps(&mut trainer, chunk) < CHUNK_SECONDS {
            chunk *= 2;
        }
        Ok(Self { sizes, x, trainer, chunk, steps: Vec::new(), ceilings: Vec::new() })
    }

    fn take_turn(&mut self, ceilings: Ceilings) {
        self.steps.push(time_steps(&mut self.trainer, self.chunk) / self.chunk as f64);
        self.ceilings.push(self.sizes.ceiling(ceilings));
    }
}

/// Times steps and predictions of some sizes by turns, for so many seconds each, and the ceilings with them, so that
/// all see the same machine; medians of each.
fn measure(turns: &[Sizes<'_>], args: &Speed) -> Result<Vec<Record>> {
    // Sizes with as many rows share their data.
    let rows: BTreeSet<usize> = turns.iter().map(|sizes| sizes.rows).collect();
    let data: BTreeMap<usize, (Mat, Mat)> =
        rows.into_iter().map(|rows| (rows, Sizes { rows, ..turns[0] }.data())).collect();
    let timed = turns.iter().map(|&sizes| {
        let (x, y) = &data[&sizes.rows];
        Timed::new(sizes, (x, y), args.warm_up.max(1))
    });
    let mut timed = timed.collect::<Result<Vec<_>>>()?;
    let threads: BTreeSet<usize> = turns.iter().map(|sizes| sizes.threads).collect();
    let (mut ceilings, started) = (Vec::new(), Instant::now());
    while started.elapsed().as_secs_f64() < args.seconds * timed.len() as f64 || ceilings.len() < 3 {
        let now: BTreeMap<usize, Ceilings> = threads.iter().map(|&n| (n, measure_ceilings(n))).collect();
        timed.iter_mut().for_each(|timed| timed.take_turn(now[&timed.sizes.threads]));
        ceilings.push(now);
    }
    let medians = |threads: usize| Ceilings {
        exp_ns: median(ceilings.iter().map(|c| c[&threads].exp_ns)),
        gemm_gflops: median(ceilings.iter().map(|c| c[&threads].gemm_gflops)),
    };
    timed.iter().map(|of_size| record(of_size, &timed[0], medians(of_size.sizes.threads))).collect()
}

/// The line of a size, beside the turns of the first.
fn record(timed: &Timed<'_>, first: &Timed<'_>, ceilings: Ceilings) -> Result<Record> {
    let shape = timed.sizes.shape();
    let (exponentials, flops) = (shape.exponentials(), shape.flops());
    let (step, ceiling) = (median(timed.steps.iter().copied()), timed.sizes.ceiling(ceilings));
    let beside = |first: &[f64], own: &[f64]| median(first.iter().zip(own).map(|(first, own)| first / own));
    Ok(Record {
        shape,
        n_data: timed.sizes.rows,
        threads: timed.sizes.threads,
        microseconds_per_step: 1e6 * step,
        rate_beside_first: beside(&first.steps, &timed.steps),
        ceiling_beside_first: beside(&first.ceilings, &timed.ceilings),
        exponentials,
        flops,
        ceiling_microseconds: 1e6 * ceiling,
        share_of_ceiling: ceiling / step,
        rows_predicted_per_second: prediction_rate(&timed.trainer, timed.x)?,
        peak_megabytes: peak_megabytes(),
        ceilings,
        environment: Environment::here(),
    })
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
