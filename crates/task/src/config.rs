//! Everything a regression run needs to know, with one set of defaults.

use deepgp::init::Architecture;
use deepgp::likelihood::{Gaussian, Likelihood, StudentT};
use deepgp::train::TrainSettings;
use serde::{Deserialize, Serialize};

/// Observation noise of a regression model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Gaussian, one variance per target.
    #[default]
    Gaussian,
    /// Student-t, for targets with outliers.
    StudentT,
}

/// Noise variance at the start, in units of the target's variance.
const NOISE_VAR: f64 = 0.01;
/// Degrees of freedom of Student-t noise at the start.
const DOF: f64 = 4.0;

impl Noise {
    /// The likelihood at its starting values, for standardised targets.
    pub fn likelihood(self, n_targets: usize) -> Likelihood {
        match self {
            Noise::Gaussian => Likelihood::Gaussian(Gaussian { noise_var: vec![NOISE_VAR; n_targets] }),
            Noise::StudentT => Likelihood::StudentT(StudentT { scale: vec![NOISE_VAR.sqrt(); n_targets], dof: DOF }),
        }
    }
}

/// Shape, noise and training of a regression model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Layers, inducing inputs, kernel and mean.
    pub architecture: Architecture,
    /// Observation noise.
    pub noise: Noise,
    /// Engine, iterations, batches, learning rate and seed.
    pub train: TrainSettings,
}
