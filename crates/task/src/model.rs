//! A trained regression model that speaks the data's own units.

use crate::config::Config;
use crate::indicators::Indicators;
use crate::mixture::mix_log_densities;
use crate::predictive::{Part, Predictive};
use crate::prepared::Prepared;
use crate::scores::{ScoreTally, Scores};
use crate::standardise::Standardiser;
use crate::warp::{Warp, warp_targets, with_log_slopes};
use deepgp::Fitted;
use deepgp::gauss::DiagGaussian;
use deepgp::likelihood::Likelihood;
use deepgp::predict::{Prediction, Predictor};
use deepgp::train::{Observer, Outcome};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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
    /// Indicators beside the standardised inputs that it was trained on, if there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indicators: Option<Indicators>,
}

impl Member {
    /// Of inputs and targets that are standardised and no more.
    pub fn new(weight: f64, fitted: Fitted) -> Self {
        Self { weight, fitted, warps: Vec::new(), indicators: None }
    }
}

/// Checks that a sound network takes so many inputs with its indicators and gives so many targets.
///
/// # Errors
/// [`Error::Shape`].
pub(crate) fn check_network(
    fitted: &Fitted,
    warps: &[Warp],
    indicators: Option<&Indicators>,
    inputs: usize,
    targets: usize,
) -> Result<()> {
    let mut features = inputs;
    if let Some(indicators) = indicators {
        indicators.check(inputs)?;
        features += indicators.count();
    }
    let sizes = [
        ("inputs of a network", features, fitted.network.dim_in()),
        ("outputs of a network", targets, fitted.network.n_targets()),
        ("transforms of the targets", targets, if warps.is_empty() { targets } else { warps.len() }),
    ];
    match sizes.into_iter().find(|(_, expected, found)| expected != found) {
        None => Ok(()),
        Some((what, expected, found)) => Err(Error::Shape { what, expected, found }),
    }
}

/// A member that is ready to predict.
#[derive(Debug)]
pub(crate) struct Expert {
    /// Its share; those of all add up to 1.
    pub weight: f64,
    pub predictor: Predictor,
    pub warps: Vec<Warp>,
    pub indicators: Option<Indicators>,
}

impl Expert {
    /// Standardised inputs as it takes them.
    pub fn inputs<'a>(&self, x: &'a Mat) -> Result<Cow<'a, Mat>> {
        match &self.indicators {
            None => Ok(Cow::Borrowed(x)),
            Some(indicators) => indicators.append(x).map(Cow::Owned),
        }
    }

    /// Standardised targets as it takes them.
    pub fn targets(&self, y: &Mat) -> Result<Mat> {
        let mut t = y.clone();
        warp_targets(&self.warps, &mut t)?;
        Ok(t)
    }
}

/// A trained network, or a mixture of several, with the standardisers of inputs and targets. It never changes, so threads can
/// share it.
#[derive(Debug)]
pub struct Model {
    inputs: Standardiser,
    targets: Standardiser,
    /// The heaviest first.
    experts: Vec<Expert>,
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
        let mut experts = Vec::new();
        for member in mixed {
            if !(member.weight > 0.0 && total.is_finite()) {
                let (name, requirement) = ("weight of a network", "it must be positive and finite");
                return Err(Error::Parameter { name, layer: None, entry: None, value: member.weight, requirement });
            }
            let Member { weight, fitted, warps, indicators } = member;
            fitted.check()?;
            check_network(&fitted, &warps, indicators.as_ref(), inputs.columns(), targets.columns())?;
            experts.push(Expert { weight: weight / total, predictor: Predictor::new(fitted)?, warps, indicators });
        }
        Ok(Self { inputs, targets, experts, std_factor: 1.0 })
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
        let is_normal = |fitted: &Fitted| matches!(fitted.network.likelihood(), Likelihood::Gaussian(_));
        self.members().all(|(_, member)| is_normal(member.fitted()))
    }

    /// The predictor of the network, or of the heaviest of a mixture, in standardised units; its inputs may have indicators.
    pub fn predictor(&self) -> &Predictor {
        &self.experts[0].predictor
    }

    /// Moments of every layer of the network, or of the heaviest of a mixture, for raw inputs; the layers' own units.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn layers(&self, x: &Mat) -> Result<Vec<DiagGaussian>> {
        let expert = &self.experts[0];
        expert.predictor.layers(&*expert.inputs(&self.inputs.apply(x, "inputs")?)?)
    }

    /// Numbers that belong to the features of the network, or of the heaviest of a mixture, added up by input.
    ///
    /// # Panics
    /// If there are fewer numbers than features.
    pub fn by_input(&self, of_features: &[f64]) -> Vec<f64> {
        match &self.experts[0].indicators {
            None => of_features.to_vec(),
            Some(indicators) => indicators.by_input(of_features),
        }
    }

    /// The predictors of all networks with their weights, the heaviest first.
    pub fn members(&self) -> impl Iterator<Item = (f64, &Predictor)> {
        self.experts.iter().map(|expert| (expert.weight, &expert.predictor))
    }

    /// All networks, the heaviest first.
    pub(crate) fn experts(&self) -> &[Expert] {
        &self.experts
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
        for expert in &self.experts {
            let Prediction { f, y } = expert.predictor.predict(&*expert.inputs(&x)?)?;
            for (moments, parts) in [(f, &mut of_f), (y, &mut of_y)] {
                parts.push(Part { weight: expert.weight, moments, warps: expert.warps.clone() });
            }
        }
        let with = |parts| Predictive { parts, targets: self.targets.clone() }.widened(self.std_factor);
        Ok((with(of_f), with(of_y)))
    }

    /// Log density of each row's targets, jointly over targets, in nats per row of the targets' own units.
    ///
    /// # Errors
    /// As [`Model::predict`], and for targets that do not fit.
    pub fn log_density(&self, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        if self.is_normal() {
            return self.predictive(x)?.log_density(y);
        }
        let (x, y) = (self.inputs.apply(x, "inputs")?, self.targets.apply(y, "targets")?);
        let of_expert = |expert: &Expert| {
            let densities = expert.predictor.log_density(&*expert.inputs(&x)?, &expert.targets(&y)?)?;
            Ok(with_log_slopes(&expert.warps, &y, densities))
        };
        let all = self.experts.iter().map(of_expert).collect::<Result<Vec<Vec<f64>>>>()?;
        let weights: Vec<f64> = self.experts.iter().map(|expert| expert.weight).collect();
        let standard = mix_log_densities(&weights, &all);
        Ok(standard.into_iter().map(|l| self.targets.invert_log_density(l)).collect())
    }

    /// [`Model::log_density`] of rows whose predictive distributions are there already, at a fraction of the cost where noise is normal.
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn log_density_of(&self, predictive: &Predictive, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        if self.is_normal() { predictive.log_density(y) } else { self.log_density(x, y) }
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
        tally.add_predictive(&predictive, y, &self.log_density_of(&predictive, x, y)?)?;
        Ok(predictive)
    }
}
