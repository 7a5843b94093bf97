//! One of the networks that a model consists of: its weight, and the form in which it takes inputs and targets.

use crate::coding::{Coding, Outcome};
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
    /// How it sees outcomes, if not as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) coding: Option<Coding>,
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
        Self { weight, fitted, coding: None, warps: Vec::new(), indicators: None }
    }

    /// This member with something else in the network's place.
    pub(crate) fn with<U>(&self, fitted: U) -> Member<U> {
        let Self { weight, coding, warps, indicators, .. } = self;
        Member { weight: *weight, fitted, coding: *coding, warps: warps.clone(), indicators: indicators.clone() }
    }

    /// Standardised inputs as it takes them.
    pub(crate) fn inputs<'a>(&self, x: &'a Mat) -> Result<Cow<'a, Mat>> {
        match &self.indicators {
            None => Ok(Cow::Borrowed(x)),
            Some(indicators) => indicators.append(x).map(Cow::Owned),
        }
    }

    /// Whether it predicts whole numbers by the probabilities of cells.
    pub(crate) fn has_cells(&self) -> bool {
        matches!(self.coding, Some(Coding { outcome: Outcome::Cells { .. }, .. }))
    }

    /// Standardised targets in its code, and as it takes them: transformed, too.
    pub(crate) fn targets(&self, y: &Mat) -> Result<(Mat, Mat)> {
        let mut coded = y.clone();
        if let Some(coding) = &self.coding {
            coding.apply(&mut coded)?;
        }
        let mut t = coded.clone();
        warp_targets(&self.warps, &mut t)?;
        Ok((coded, t))
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
        self.coding.iter().try_for_each(Coding::check)?;
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
