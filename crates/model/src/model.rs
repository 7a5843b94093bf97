//! A trained regression model that speaks the data's own units.

use crate::config::Config;
use crate::prepared::Prepared;
use crate::scores::{ScoreTally, Scores};
use deepgp::likelihood::Likelihood;
use deepgp::linalg::Mat;
use deepgp::predict::{Moments, Prediction, Predictor};
use deepgp::train::{Fitted, Observer, Outcome};
use deepgp::{Error, Result};
use deepgp_data::Standardiser;

/// A trained network with the standardisers of its inputs and targets. It never changes, so threads can share it.
#[derive(Debug)]
pub struct Model {
    inputs: Standardiser,
    targets: Standardiser,
    predictor: Predictor,
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
        Ok(Self { inputs, targets, predictor: Predictor::new(fitted)? })
    }

    /// The network's own predictor, in standardised units.
    pub fn predictor(&self) -> &Predictor {
        &self.predictor
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
        let Prediction { f, y } = self.predictor.predict(&self.inputs.apply(x, "inputs")?)?;
        Ok(Prediction { f: self.targets.invert_moments(&f)?, y: self.targets.invert_moments(&y)? })
    }

    /// Log density of each row's targets, jointly over targets, in nats per row of the targets' own units.
    ///
    /// # Errors
    /// As [`Model::predict`], and for targets that do not fit.
    pub fn log_density(&self, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        let (x, y) = (self.inputs.apply(x, "inputs")?, self.targets.apply(y, "targets")?);
        let standard = self.predictor.log_density(&x, &y)?;
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
        match self.predictor.fitted().model.likelihood() {
            // The density is normal with the moments that are there already.
            Likelihood::Gaussian(_) => tally.add_normal(&predicted, y)?,
            _ => tally.add(&predicted, y, &self.log_density(x, y)?)?,
        }
        Ok(predicted)
    }
}
