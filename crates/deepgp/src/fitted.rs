//! A trained network: what training leaves and prediction takes.

use crate::error::Result;
use crate::gauss::Factor;
use crate::infer::{Inference, InferenceSettings};
use crate::network::DeepGp;
use serde::{Deserialize, Serialize};

/// A trained network: hyperparameters and factors, all that prediction needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The network; `model` in files.
    #[serde(rename = "model")]
    pub network: DeepGp,
    /// (Λ, η) per layer and output.
    pub factors: Vec<Vec<Factor>>,
    /// Settings of the engine, among them the jitter that the factors were found with.
    pub inference: InferenceSettings,
}

impl Fitted {
    /// Checks that everything fits together, which nothing else guarantees of a trained network that came from a file.
    ///
    /// # Errors
    /// As [`DeepGp::new`] for the network, [`DeepGp::check_factors`] for the factors, [`Inference::new`] for the
    /// settings.
    pub fn check(&self) -> Result<Inference> {
        self.network.check()?;
        self.network.check_factors(&self.factors)?;
        Inference::new(self.inference)
    }
}
