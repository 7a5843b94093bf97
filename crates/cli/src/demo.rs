//! `deepgp demo`: a sparse GP and a deep GP on built-in data, side by side.

use crate::args::Demo;
use anyhow::Result;
use deepgp::linalg::Mat;
use deepgp_data::builtin;
use deepgp_model::{Config, Model};
use std::io::{Write, stdout};
use std::time::Instant;

/// Makes n rows with the given noise from a seed.
type Generator = fn(usize, f64, u64) -> (Mat, Mat);

/// Trains both models on each set and prints their scores on fresh data.
pub fn run(args: &Demo) -> Result<()> {
    let sets: [(&str, Generator, usize, f64); 3] = [
        ("step", builtin::step, 200, 0.1),
        ("sine with a jump in frequency", builtin::sine_jump, 300, 0.1),
        ("borehole flow, 8 inputs", builtin::borehole, 400, 1.0),
    ];
    writeln!(
        stdout(),
        "{:<32} {:<12} {:>9} {:>17} {:>12} {:>8}",
        "data",
        "model",
        "RMSE",
        "mean log density",
        "coverage 95",
        "seconds"
    )?;
    for (name, make, n, noise) in sets {
        let (x, y) = make(n, noise, args.seed);
        let (x_test, y_test) = make(1000, noise, args.seed.wrapping_add(1));
        for (model_name, hidden) in [("sparse GP", vec![]), ("deep GP [2]", vec![2])] {
            let mut config = Config::default();
            config.architecture.hidden = hidden;
            config.train.iterations = args.iters;
            config.train.seed = args.seed;
            let started = Instant::now();
            let (model, _) = Model::fit(&x, &y, &config, &mut ())?;
            let seconds = started.elapsed().as_secs_f64();
            let s = model.score(&x_test, &y_test)?;
            writeln!(
                stdout(),
                "{name:<32} {model_name:<12} {:>9.4} {:>17.4} {:>12.3} {seconds:>8.1}",
                s.rmse,
                s.mean_log_density,
                s.coverage_95
            )?;
        }
    }
    Ok(())
}
