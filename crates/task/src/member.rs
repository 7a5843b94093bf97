//! One of the networks that a model consists of: its weight, and the form in which it takes inputs and targets.

use crate::indicators::Indicators;
use crate::warp::{Warp, warp_targets};
use deepgp::Fitted;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};

/// A network of a mixture, or what comes of it: as it was trained, ready to predict, or its laws of some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member<T = Fitted> {
    /// Its weight, relative to those of the others.
    pub weight: f64,
    /// The network as it was trained, or what was made of it.
    pub fitted: T,
    /// Transforms of the standardised targets that it was trained on, one for each, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warps: Vec<Warp>,
    /// Indicators beside the standardised inputs that it was trained on, if there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indicators: Option<Indicators>,
}

impl<T> Member<T> {
    /// A member whose inputs and targets are standardised and no more.
    pub fn new(weight: f64, fitted: T) -> Self {
        Self { weight, fitted, warps: Vec::new(), indicators: None }
    }

    /// This member with something else in the network's place.
    pub(crate) fn with<U>(&self, fitted: U) -> Member<U> {
        Member { weight: self.weight, fitted, warps: self.warps.clone(), indicators: self.indicators.clone() }
    }

    /// Standardised inputs as it takes them.
    pub(crate) fn inputs<'a>(&self, x: &'a Mat) -> Result<Cow<'a, Mat>> {
        match &self.indicators {
            None => Ok(Cow::Borrowed(x)),
            Some(indicators) => indicators.append(x).map(Cow::Owned),
        }
    }

    /// Standardised targets as it takes them.
    pub(crate) fn targets(&self, y: &Mat) -> Result<Mat> {
        let mut t = y.clone();
        warp_targets(&self.warps, &mut t)?;
        Ok(t)
    }
}

impl<T: Borrow<Fitted>> Member<T> {
    /// Checks that a sound network takes so many inputs with its indicators, and gives so many targets.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub(crate) fn check(&self, inputs: usize, targets: usize) -> Result<()> {
        let mut features = inputs;
        if let Some(indicators) = &self.indicators {
            indicators.check(inputs)?;
            features += indicators.count();
        }
        let network = &self.fitted.borrow().network;
        let sizes = [
            ("inputs of a network", features, network.dim_in()),
            ("outputs of a network", targets, network.n_targets()),
            ("transforms of the targets", targets, if self.warps.is_empty() { targets } else { self.warps.len() }),
        ];
        match sizes.into_iter().find(|(_, expected, found)| expected != found) {
            None => Ok(()),
            Some((what, expected, found)) => Err(Error::Shape { what, expected, found }),
        }
    }
}
