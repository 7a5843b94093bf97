//! Everything that the training of one network needs to know, with one set of defaults.

use crate::likelihood_choice::LikelihoodChoice;
use deepgp::init::Architecture;
use deepgp::train::TrainSettings;
use serde::{Deserialize, Serialize};

/// Shape, likelihood and training of a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Layers, inducing inputs, kernel and mean.
    pub architecture: Architecture,
    /// The observation model; `noise` in files.
    #[serde(rename = "noise")]
    pub likelihood: LikelihoodChoice,
    /// Engine, iterations, batches, learning rate and seed.
    pub train: TrainSettings,
}
