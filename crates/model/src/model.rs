//! A trained regression model that speaks the data's own units.

use crate::config::Config;
use crate::mixture::{mix_log_densities, mix_moments};
use crate::prepared::Prepared;
use crate::scores::{ScoreTally, Scores};
use deepgp::likelihood::Likelihood;
use deepgp::linalg::Mat;
use deepgp::predict::{Moments, Prediction, Predictor};
use deepgp::train::{Fitted, Observer, Outcome};
use deepgp::{Error, Result};
use deepgp_data::Standardiser;
use serde::{Deserialize, Serialize};

/// A network of a mixture, and its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its weight, relative to those of the others.
    pub weight: f64,
    /// The network.
    pub fitted: Fitted,
}

/// A trained network, or a mixture of several, with the standardisers of inputs and targets. It never changes, so threads can
/// share it.
#[derive(Debug)]
pub struct Model {
    inputs: Standardiser,
    targets: Standardiser,
    /// The heaviest first.
    members: Vec<Predictor>,
    /// Their weights, which add up to 1.
    weights: Vec<f64>,
}

impl Model {
    /// Fits a model to raw inputs `x` (N × D) and targets `y` (N × P).
    ///
    /// # Errors
    /// What the data or the configuration are refused for; see [`deepgp::Error`].
    pub fn fit(x: &Mat, y: &Mat, config: &Config, observer: &mut dyn Observer) -> Result<(Self, Outcome)> {
        let data = Prepared::new(x.clone(), y.clone())?;
        let mut trainer = data.trainer(config)?;
        let outcome = trainer.run(observer);
        let fitted = trainer.fitted();
        Ok((data.model(fitted)?, outcome))
    }

    /// A model from its parts.
    ///
    /// # Errors
    /// As [`Predictor::new`], and [`Error::Shape`] if the standardisers do not fit the network.
    pub fn from_parts(inputs: Standardiser, targets: Standardiser, fitted: Fitted) -> Result<Self> {
        Self::mixture(inputs, targets, vec![Member { weight: 1.0, fitted }])
    }

    /// A mixture of networks for the same inputs and targets. Weights are divided by their sum.
    ///
    /// # Errors
    /// As [`Model::from_parts`] for each network; [`Error::Empty`] if there is none, [`Error::Parameter`] for a weight that is not
    /// positive and finite.
    pub fn mixture(inputs: Standardiser, targets: Standardiser, mut mixed: Vec<Member>) -> Result<Self> {
        if mixed.is_empty() {
            return Err(Error::Empty { what: "networks of a mixture", rows: 0, columns: 1 });
        }
        mixed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let total: f64 = mixed.iter().map(|m| m.weight).sum();
        let (mut members, mut weights) = (Vec::new(), Vec::new());
        for Member { weight, fitted } in mixed {
            if !(weight > 0.0 && total.is_finite()) {
                let (name, requirement) = ("weight of a network", "it must be positive and finite");
                return Err(Error::Parameter { name, layer: None, entry: None, value: weight, requirement });
            }
            fitted.check()?;
            let sizes = [
                ("columns of the inputs' standardiser", fitted.model.dim_in(), inputs.columns()),
                ("columns of the targets' standardiser", fitted.model.dim_out(), targets.columns()),
            ];
            for (what, expected, found) in sizes {
                if expected != found {
                    return Err(Error::Shape { what, expected, found });
                }
            }
            weights.push(weight / total);
            members.push(Predictor::new(fitted)?);
        }
        Ok(Self { inputs, targets, members, weights })
    }

    /// The predictor of the network, or of the heaviest of a mixture, in standardised units.
    pub fn predictor(&self) -> &Predictor {
        &self.members[0]
    }

    /// The predictors of all networks with their weights, the heaviest first.
    pub fn members(&self) -> impl Iterator<Item = (f64, &Predictor)> {
        self.weights.iter().copied().zip(&self.members)
    }

    /// How inputs are standardised.
    pub fn inputs(&self) -> &Standardiser {
        &self.inputs
    }

    /// How targets are standardised.
    pub fn targets(&self) -> &Standardiser {
        &self.targets
    }

    /// Moments of f and y for raw inputs, in the targets' units.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub fn predict(&self, x: &Mat) -> Result<Prediction> {
        let x = self.inputs.apply(x, "inputs")?;
        let all = self.members.iter().map(|member| member.predict(&x)).collect::<Result<Vec<_>>>()?;
        let (f, y): (Vec<Moments>, Vec<Moments>) = all.into_iter().map(|p| (p.f, p.y)).unzip();
        let mixed = |members: &[Moments]| self.targets.invert_moments(&mix_moments(&self.weights, members));
        Ok(Prediction { f: mixed(&f)?, y: mixed(&y)? })
    }

    /// Log density of each row's targets, jointly over targets, in nats per row of the targets' own units.
    ///
    /// # Errors
    /// As [`Model::predict`], and for targets that do not fit.
    pub fn log_density(&self, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        let (x, y) = (self.inputs.apply(x, "inputs")?, self.targets.apply(y, "targets")?);
        let all = self.members.iter().map(|member| member.log_density(&x, &y)).collect::<Result<Vec<_>>>()?;
        let standard = mix_log_densities(&self.weights, &all);
        Ok(standard.into_iter().map(|l| self.targets.invert_log_density(l)).collect())
    }

    /// Scores on raw data.
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn score(&self, x: &Mat, y: &Mat) -> Result<Scores> {
        let mut tally = ScoreTally::new();
        self.tally(x, y, &mut tally)?;
        tally.scores()
    }

    /// Adds raw rows to scores in the making; returns the predicted moments of y.
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn tally(&self, x: &Mat, y: &Mat, tally: &mut ScoreTally) -> Result<Moments> {
        let predicted = self.predict(x)?.y;
        match (&self.members[..], self.predictor().fitted().model.likelihood()) {
            // The density is normal with the moments that are there already.
            ([_], Likelihood::Gaussian(_)) => tally.add_normal(&predicted, y)?,
            _ => tally.add(&predicted, y, &self.log_density(x, y)?)?,
        }
        Ok(predicted)
    }
}
