//! A trained regression model that speaks the data's own units.

use crate::config::Config;
use crate::mixture::mix_log_densities;
use crate::predictive::{Part, Predictive};
use crate::prepared::Prepared;
use crate::scores::{ScoreTally, Scores, normal_log_densities};
use deepgp::likelihood::Likelihood;
use deepgp::linalg::Mat;
use deepgp::predict::{Prediction, Predictor};
use deepgp::train::{Fitted, Observer, Outcome};
use deepgp::{Error, Result};
use deepgp_data::{Standardiser, Warp, warp_targets};
use serde::{Deserialize, Serialize};

/// A network of a mixture, and its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its weight, relative to those of the others.
    pub weight: f64,
    /// The network.
    pub fitted: Fitted,
    /// Transforms of the standardised targets that it was trained on, one for each, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warps: Vec<Warp>,
}

impl Member {
    /// Of targets that are not transformed.
    pub fn new(weight: f64, fitted: Fitted) -> Self {
        Self { weight, fitted, warps: Vec::new() }
    }
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
    /// Transforms of their targets.
    warps: Vec<Vec<Warp>>,
    /// Factor of all predicted standard deviations.
    std_factor: f64,
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
        Self::mixture(inputs, targets, vec![Member::new(1.0, fitted)])
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
        let (mut members, mut weights, mut all_warps) = (Vec::new(), Vec::new(), Vec::new());
        for Member { weight, fitted, warps } in mixed {
            if !(weight > 0.0 && total.is_finite()) {
                let (name, requirement) = ("weight of a network", "it must be positive and finite");
                return Err(Error::Parameter { name, layer: None, entry: None, value: weight, requirement });
            }
            fitted.check()?;
            let n_warps = if warps.is_empty() { targets.columns() } else { warps.len() };
            let sizes = [
                ("columns of the inputs' standardiser", fitted.model.dim_in(), inputs.columns()),
                ("columns of the targets' standardiser", fitted.model.dim_out(), targets.columns()),
                ("transforms of the targets", fitted.model.dim_out(), n_warps),
            ];
            for (what, expected, found) in sizes {
                if expected != found {
                    return Err(Error::Shape { what, expected, found });
                }
            }
            weights.push(weight / total);
            members.push(Predictor::new(fitted)?);
            all_warps.push(warps);
        }
        Ok(Self { inputs, targets, members, weights, warps: all_warps, std_factor: 1.0 })
    }

    /// The same with all predicted standard deviations, before any transform is undone, multiplied by a factor.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a factor that is not positive and finite, or where noise is not normal: then there is more to a
    /// density than its variance.
    pub fn with_std_factor(self, factor: f64) -> Result<Self> {
        if !(factor > 0.0 && factor.is_finite()) {
            let (name, requirement) = ("factor of standard deviations", "it must be positive and finite");
            return Err(Error::Parameter { name, layer: None, entry: None, value: factor, requirement });
        }
        if factor != 1.0 && !self.is_normal() {
            let (name, requirement) = ("factor of standard deviations", "it must be 1 unless noise is normal");
            return Err(Error::Parameter { name, layer: None, entry: None, value: factor, requirement });
        }
        Ok(Self { std_factor: factor, ..self })
    }

    /// Factor of all predicted standard deviations; 1 unless they were calibrated.
    pub fn std_factor(&self) -> f64 {
        self.std_factor
    }

    /// Whether noise is normal.
    pub(crate) fn is_normal(&self) -> bool {
        self.members.iter().all(|member| matches!(member.fitted().model.likelihood(), Likelihood::Gaussian(_)))
    }

    /// The predictor of the network, or of the heaviest of a mixture, in standardised units.
    pub fn predictor(&self) -> &Predictor {
        &self.members[0]
    }

    /// The predictors of all networks with their weights, the heaviest first.
    pub fn members(&self) -> impl Iterator<Item = (f64, &Predictor)> {
        self.weights.iter().copied().zip(&self.members)
    }

    /// Transforms of the targets of each member, in the order of [`Model::members`].
    pub(crate) fn warps(&self) -> &[Vec<Warp>] {
        &self.warps
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
        let (f, y) = self.distributions(x)?;
        Ok(Prediction { f: f.moments()?, y: y.moments()? })
    }

    /// Predictive distributions of y for raw inputs: quantiles, probabilities, moments.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn predictive(&self, x: &Mat) -> Result<Predictive> {
        Ok(self.distributions(x)?.1)
    }

    /// Predictive distributions of f, the target without its noise, and of y.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn distributions(&self, x: &Mat) -> Result<(Predictive, Predictive)> {
        let x = self.inputs.apply(x, "inputs")?;
        let (mut of_f, mut of_y) = (Vec::new(), Vec::new());
        for ((&weight, member), warps) in self.weights.iter().zip(&self.members).zip(&self.warps) {
            let Prediction { f, y } = member.predict(&x)?;
            for (mut moments, parts) in [(f, &mut of_f), (y, &mut of_y)] {
                if self.std_factor != 1.0 {
                    moments.var.as_mut_slice().iter_mut().for_each(|v| *v *= self.std_factor * self.std_factor);
                }
                parts.push(Part { weight, moments, warps: warps.clone() });
            }
        }
        let with = |parts| Predictive { parts, targets: self.targets.clone() };
        Ok((with(of_f), with(of_y)))
    }

    /// Log density of each row's targets, jointly over targets, in nats per row of the targets' own units.
    ///
    /// # Errors
    /// As [`Model::predict`], and for targets that do not fit.
    pub fn log_density(&self, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        let (x, y) = (self.inputs.apply(x, "inputs")?, self.targets.apply(y, "targets")?);
        let mut all = Vec::new();
        for (member, warps) in self.members.iter().zip(&self.warps) {
            let mut t = y.clone();
            warp_targets(warps, &mut t)?;
            let mut of_member = match self.std_factor {
                1.0 => member.log_density(&x, &t)?,
                factor => {
                    let mut moments = member.predict(&x)?.y;
                    moments.var.as_mut_slice().iter_mut().for_each(|v| *v *= factor * factor);
                    normal_log_densities(&moments, &t)
                }
            };
            for (n, log_p) in of_member.iter_mut().enumerate() {
                *log_p += y.row(n).iter().zip(warps).map(|(&u, warp)| warp.log_slope(u)).sum::<f64>();
            }
            all.push(of_member);
        }
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

    /// Adds raw rows to scores in the making; returns the predictive distributions of y.
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn tally(&self, x: &Mat, y: &Mat, tally: &mut ScoreTally) -> Result<Predictive> {
        let predictive = self.predictive(x)?;
        match predictive.is_normal() && self.is_normal() {
            // The density is normal with the moments that are there already.
            true => tally.add_normal(&predictive.moments()?, y)?,
            false => tally.add_predictive(&predictive, y, &self.log_density(x, y)?)?,
        }
        Ok(predictive)
    }
}
