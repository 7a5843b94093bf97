//! A trained regression model that speaks the data's own units.

use crate::config::Config;
use crate::scores::Scores;
use deepgp::init::network;
use deepgp::linalg::Mat;
use deepgp::predict::{Moments, Prediction, Predictor};
use deepgp::train::{Fitted, Observer, Outcome, Trainer};
use deepgp::{Error, Result};
use deepgp_data::Standardiser;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

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
        if x.rows() != y.rows() {
            return Err(Error::Shape { what: "rows of the targets", expected: x.rows(), found: y.rows() });
        }
        let (inputs, targets) = (Standardiser::fit(x, "inputs")?, Standardiser::fit(y, "targets")?);
        let (x, y) = (inputs.apply(x, "inputs")?, targets.apply(y, "targets")?);
        // The start has a stream of its own: the trainer draws minibatches and factors from the same seed.
        let mut rng = ChaCha8Rng::seed_from_u64(config.train.seed);
        rng.set_stream(u64::MAX);
        let likelihood = config.noise.likelihood(y.cols());
        let (net, events) = network(&x, likelihood, &config.architecture, &mut rng)?;
        let mut trainer = Trainer::new(net, &x, &y, config.train.clone())?;
        for event in events {
            trainer.note(event);
        }
        let outcome = trainer.run(observer);
        let predictor = trainer.predictor()?;
        Ok((Self { inputs, targets, predictor }, outcome))
    }

    /// A model from its parts.
    ///
    /// # Errors
    /// As [`Predictor::new`].
    pub fn from_parts(inputs: Standardiser, targets: Standardiser, fitted: Fitted) -> Result<Self> {
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
        let invert = |m: Moments| -> Result<Moments> {
            Ok(Moments { mean: self.targets.invert_mean(&m.mean)?, var: self.targets.invert_var(&m.var)? })
        };
        Ok(Prediction { f: invert(f)?, y: invert(y)? })
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
        Scores::new(&self.predict(x)?.y, y, &self.log_density(x, y)?)
    }
}
