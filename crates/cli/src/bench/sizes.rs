//! What is timed: a network of given sizes on generated data, its training steps and its predictions.

use super::cost::Shape;
use super::machine::{Ceilings, median, timed};
use anyhow::Result;
use deepgp::Data;
use deepgp::init::{Architecture, MeanChoice, network};
use deepgp::likelihood::{Gaussian, Likelihood};
use deepgp::train::{TrainSettings, Trainer};
use deepgp_datasets::builtin;
use deepgp_numerics::linalg::Mat;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// What is timed: rows and columns of the data, the network, and how it is trained.
#[derive(Debug, Clone, Copy)]
pub struct Sizes<'a> {
    pub rows: usize,
    pub inputs: usize,
    pub hidden: &'a [usize],
    pub inducing: usize,
    pub batch: usize,
    pub threads: usize,
}

impl Sizes<'_> {
    /// Generated inputs and targets.
    pub fn data(&self) -> (Mat, Mat) {
        builtin::ripple(self.rows, self.inputs, 0.1, 1)
    }

    /// What the arithmetic of a step is counted by.
    pub fn shape(&self) -> Shape {
        let widths = [self.inputs].into_iter().chain(self.hidden.iter().copied()).chain([1]).collect();
        Shape { widths, inducing: self.inducing.min(self.rows), batch: self.batch.min(self.rows) }
    }

    /// Seconds of a step at these ceilings of each of its threads.
    pub fn ceiling(&self, ceilings: Ceilings) -> f64 {
        let shape = self.shape();
        let one_thread = shape.exponentials() * ceilings.exp_ns + shape.flops() / ceilings.gemm_gflops;
        1e-9 * one_thread / self.threads.max(1) as f64
    }

    /// A run on these, from the start.
    pub fn trainer<'a>(&self, x: &'a Mat, y: &'a Mat) -> Result<Trainer<'a>> {
        let architecture = Architecture {
            hidden: self.hidden.to_vec(),
            n_inducing: self.inducing,
            mean: MeanChoice::Zero,
            ..Architecture::default()
        };
        let likelihood = Likelihood::Gaussian(Gaussian { noise_var: vec![0.1] });
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (net, _) = network(x, likelihood, &architecture, &mut rng)?;
        let settings = TrainSettings {
            iterations: usize::MAX,
            batch_size: self.batch,
            threads: self.threads,
            ..TrainSettings::default()
        };
        Ok(Trainer::new(net, Data::new(x, y), settings)?)
    }
}

/// Trains for `steps` more steps.
pub fn run_for(trainer: &mut Trainer<'_>, steps: usize) {
    let mut left = steps;
    trainer.run(&mut |_: &deepgp::train::Progress<'_>| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
}

/// Rows predicted per second, the median of a few thousand rows five times.
pub fn prediction_rate(trainer: &Trainer<'_>, x: &Mat) -> Result<f64> {
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
