//! Times other libraries' deep GPs and ours alternately, on the paper's boston setting.
//!
//! Both are measured in processor time, the mean over many steps, so that other load on the machine does not count.
//!
//! A peer is a script that trains `--model dgp2` (one hidden layer of 2 units, 50 inducing points, batch 50) on the
//! data set `boston` and prints one JSON line with `cpu_ms_per_iter` and, for 10,000 rows, `predict_10k_cpu_s`.

use super::machine::{cpu_seconds, median};
use super::sizes::{Sizes, prediction_rate, run_for};
use crate::args::Speed;
use anyhow::{Context, Result, bail};
use deepgp_experiments::Environment;
use serde::{Deserialize, Serialize};
use std::io::{Write, stdout};
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

/// Our own setting: boston's shape and number of training rows.
const BOSTON: Sizes<'static> = Sizes { rows: 455, inputs: 13, hidden: &[2], inducing: 50, batch: 50, threads: 1 };
/// Times that a peer is measured, each between two measurements of ours: enough that on a shared machine half of them
/// see the same load as ours.
const REPEATS: usize = 5;

/// What a peer's script prints, as far as it is read.
#[derive(Debug, Deserialize)]
struct Printed {
    peer: String,
    cpu_ms_per_iter: f64,
    predict_10k_cpu_s: Option<f64>,
}

/// One line of the result: medians over the turns. `times_faster` is that of each turn's own ratio, since a shared
/// machine may change from turn to turn.
#[derive(Debug, Serialize)]
struct Record {
    peer: String,
    peer_cpu_milliseconds_per_step: f64,
    cpu_milliseconds_per_step: f64,
    times_faster: f64,
    peer_rows_predicted_per_second: Option<f64>,
    rows_predicted_per_second: f64,
    times_faster_at_prediction: Option<f64>,
    #[serde(flatten)]
    environment: Environment,
}

/// Prints a line to standard error and a JSON line to standard output for each peer.
pub(super) fn compare(args: &Speed) -> Result<()> {
    for peer in &args.peer {
        let Some((script, python)) = peer.split_once('=') else {
            bail!("--peer {peer}: expected SCRIPT=PYTHON");
        };
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            ours.push(time_as_peers(BOSTON, args.seconds)?);
            theirs.push(run(script, python, args.peer_steps)?);
        }
        ours.push(time_as_peers(BOSTON, args.seconds)?);
        let peer_step = median(theirs.iter().map(|t| t.cpu_ms_per_iter));
        let step = median(ours.iter().map(|(step, _)| 1e3 * step));
        let around = ours.windows(2).map(|pair| 1e3 * (pair[0].0 + pair[1].0) / 2.0);
        let times_faster = median(theirs.iter().zip(around).map(|(t, step)| t.cpu_ms_per_iter / step));
        let rate = median(ours.iter().map(|(_, rate)| *rate));
        let predicted: Vec<f64> = theirs.iter().filter_map(|t| t.predict_10k_cpu_s).map(|s| 1e4 / s).collect();
        let peer_rate = (!predicted.is_empty()).then(|| median(predicted.into_iter()));
        let record = Record {
            peer: theirs[0].peer.clone(),
            peer_cpu_milliseconds_per_step: peer_step,
            cpu_milliseconds_per_step: step,
            times_faster,
            peer_rows_predicted_per_second: peer_rate,
            rows_predicted_per_second: rate,
            times_faster_at_prediction: peer_rate.map(|p| rate / p),
            environment: Environment::here(),
        };
        eprintln!(
            "{}: {:.2} ms a step against our {:.3} ms: {:.1} times as long",
            record.peer, record.peer_cpu_milliseconds_per_step, record.cpu_milliseconds_per_step, record.times_faster
        );
        if let Some(times) = record.times_faster_at_prediction {
            eprintln!("{}: our predictions come {times:.0} times as fast", record.peer);
        }
        writeln!(stdout(), "{}", serde_json::to_string(&record)?)?;
    }
    Ok(())
}

/// One run of a peer on one thread.
fn run(script: &str, python: &str, steps: usize) -> Result<Printed> {
    let (folder, name) = script.rsplit_once('/').unwrap_or((".", script));
    let python = std::path::absolute(python)?;
    let output = Command::new(&python)
        .current_dir(folder)
        .args([name, "--dataset", "boston", "--split", "0", "--model", "dgp2", "--out", "/dev/null"])
        .args(["--iters", &steps.to_string()])
        .envs([("OMP_NUM_THREADS", "1"), ("TF_NUM_INTRAOP_THREADS", "1"), ("TF_NUM_INTEROP_THREADS", "1")])
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().rev().find(|line| line.starts_with('{'));
    let Some(line) = line.filter(|_| output.status.success()) else {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{script} failed: {}", errors.lines().last().unwrap_or("it printed nothing"));
    };
    serde_json::from_str(line).with_context(|| format!("{script} printed something else than expected"))
}

/// Seconds of processor time a step over one run of so many seconds, which is how scripts of peers time theirs, and
/// rows predicted per second; both on one thread.
fn time_as_peers(sizes: Sizes<'_>, seconds: f64) -> Result<(f64, f64)> {
    let (x, y) = sizes.data();
    let mut trainer = sizes.trainer(&x, &y)?;
    run_for(&mut trainer, 20);
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
    Ok((cpu / f64::from(steps), prediction_rate(&trainer, &x)?))
}
