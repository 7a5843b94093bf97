//! GPs without hidden layers, in closed form.
//!
//! With exact inputs and Gaussian noise only the hyperparameters are found by iteration.
//!
//! Both kinds are ways to a [`Fitted`] network of one layer: prediction, storage and everything else are those of any
//! network. [`exact`] has an inducing input on every row, [`sparse`] has few.

pub mod exact;
pub mod sparse;

use crate::data::Data;
use crate::error::{Error, Result};
use crate::fitted::Fitted;
use crate::layer::Layer;
use crate::likelihood::{Gaussian, Likelihood};
use crate::network::DeepGp;
use crate::param::Parameters;
use deepgp_numerics::optim::minimise;

/// The search for hyperparameters ends when a step gains less than this of log evidence.
const TOLERANCE: f64 = 1e-3;

/// A GP with its hyperparameters found.
#[derive(Debug, Clone)]
pub struct ClosedFit {
    /// The network: one layer.
    pub fitted: Fitted,
    /// Log evidence: exact for the exact GP, the power-EP approximation for a sparse one.
    pub log_evidence: f64,
    /// Evaluations of the log evidence that were used.
    pub evaluations: usize,
}

/// The only layer and the noise of a GP that has a closed form.
fn parts(network: &DeepGp) -> Result<(&Layer, &Gaussian)> {
    let [layer] = network.layers() else {
        return Err(Error::Shape { what: "layers of a GP in closed form", expected: 1, found: network.layers().len() });
    };
    match network.likelihood() {
        Likelihood::Gaussian(gaussian) => Ok((layer, gaussian)),
        _ => {
            let (name, requirement) = ("noise of a GP in closed form", "it must be Gaussian");
            Err(Error::Parameter { name, layer: None, entry: None, value: f64::NAN, requirement })
        }
    }
}

/// Checks data for a closed form.
///
/// # Errors
/// As [`Data::check`], and [`Error::NotFinite`] for a target that is missing: there is one posterior for all outputs
/// only if none misses a row.
fn check_data(gp: &DeepGp, data: Data<'_>) -> Result<()> {
    parts(gp)?;
    data.check(gp)?;
    Ok(data.y().check_data("targets")?)
}

/// Targets of output `d` less the rows' offset and the network's constant.
fn residuals(gp: &DeepGp, data: Data<'_>, d: usize) -> Vec<f64> {
    let mut y = data.y().column(d);
    if let Some(offset) = data.offset() {
        y.iter_mut().zip(offset.mean.column(d)).for_each(|(y, offset)| *y -= offset);
    }
    if let Some(constant) = gp.constant().get(d) {
        y.iter_mut().for_each(|y| *y -= constant);
    }
    y
}

/// Known noise variance of row `n` in output `d`.
fn known_var(data: Data<'_>, n: usize, d: usize) -> f64 {
    data.offset().map_or(0.0, |offset| offset.var[(n, d)])
}

/// Moves the free coordinates of a network for which `moves` holds to where `log_evidence` (value and gradient) is
/// greatest. Returns the value there and the evaluations used.
fn maximise(
    gp: &mut DeepGp,
    moves: &[bool],
    max_evaluations: usize,
    mut log_evidence: impl FnMut(&DeepGp) -> Result<(f64, Vec<f64>)>,
) -> Result<(f64, usize)> {
    // An error at the start is returned; a later one shortens the step.
    log_evidence(gp)?;
    let mut all = Vec::new();
    gp.read_free(&mut all);
    let moving = |of: &[f64]| of.iter().zip(moves).filter(|(_, moves)| **moves).map(|(v, _)| *v).collect::<Vec<f64>>();
    let start = moving(&all);
    let minimum = minimise(start, max_evaluations, TOLERANCE, |theta| {
        fill(&mut all, moves, theta);
        gp.write_free(&all);
        let (value, gradient) = log_evidence(gp).ok()?;
        let descent: Vec<f64> = moving(&gradient).iter().map(|g| -g).collect();
        (value.is_finite() && descent.iter().all(|g| g.is_finite())).then_some((-value, descent))
    });
    let Some(minimum) = minimum else {
        let what = "the covariance of the targets";
        return Err(Error::NotPositiveDefinite { what, layer: None, output: None, pivot: 0, jitter: 0.0 });
    };
    fill(&mut all, moves, &minimum.theta);
    gp.write_free(&all);
    Ok((-minimum.value, minimum.evaluations))
}

/// Which coordinates move: all but those of the named blocks.
fn all_but(network: &DeepGp, fixed: &[&str]) -> Vec<bool> {
    let mut moves = Vec::new();
    network.visit(&mut |block| moves.extend(std::iter::repeat_n(!fixed.contains(&block.name), block.values.len())));
    moves
}

fn fill(all: &mut [f64], moves: &[bool], theta: &[f64]) {
    let places = all.iter_mut().zip(moves).filter(|(_, moves)| **moves);
    places.zip(theta).for_each(|((place, _), value)| *place = *value);
}
