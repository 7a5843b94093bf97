//! The laws that one network gives to the targets of some rows, before their transforms are undone.

use super::observed::{Observed, ObservedRow, Widening};
use super::{Level, Normal, PredictiveLaw};
use deepgp::Result;
use deepgp::gauss::DiagGaussian;
use deepgp::likelihood::{Likelihood, Observation};
use deepgp::predict::Prediction;
use deepgp_numerics::linalg::Mat;
use rand::Rng;

/// Whether what a likelihood observes can be any number, or takes separate values.
pub(crate) fn is_continuous(likelihood: &Likelihood) -> bool {
    (0..likelihood.n_targets()).all(|target| !likelihood.support(target).is_discrete())
}

/// Laws of rows × targets.
#[derive(Debug, Clone)]
pub(crate) enum NetworkLaws {
    /// Normal and independent laws with these moments.
    Normal(DiagGaussian),
    /// Laws of observations of latent values.
    Observed(Observations),
}

/// What a likelihood observes of latent values, with deviations from the mean multiplied by a factor.
#[derive(Debug, Clone)]
pub(crate) struct Observations {
    likelihood: Likelihood,
    /// Moments of f.
    latent: DiagGaussian,
    /// Moments of y before it is widened.
    moments: DiagGaussian,
    factor: f64,
}

impl Observations {
    fn row(&self, row: usize) -> ObservedRow<'_> {
        ObservedRow { likelihood: &self.likelihood, latent: (self.latent.mean.row(row), self.latent.var.row(row)) }
    }

    fn widening(&self, row: usize, target: usize) -> Widening {
        Widening { centre: self.moments.mean[(row, target)], factor: self.factor }
    }

    fn at(&self, row: usize, target: usize) -> Observed<'_> {
        let (var, widening) = (self.moments.var[(row, target)], self.widening(row, target));
        Observed { row: self.row(row), target, var, widening }
    }

    /// Log density of the targets of a row together, as far as they are not missing.
    fn log_prob(&self, row: usize, y: &[f64]) -> f64 {
        let y: Vec<f64> = y.iter().enumerate().map(|(p, y)| self.widening(row, p).inverse(*y)).collect();
        let (mean, var) = self.row(row).latent;
        let observed = y.iter().filter(|y| !y.is_nan()).count() as f64;
        self.likelihood.log_density(mean, var, &y) - observed * self.factor.ln()
    }

    /// Probabilities of all values of the only target, in order.
    pub fn probabilities(&self, row: usize, out: &mut [f64]) {
        let (mean, var) = self.row(row).latent;
        self.likelihood.probabilities(0, mean, var, out);
    }

    fn draw(&self, row: usize, rng: &mut dyn Rng) -> Vec<f64> {
        let y = self.row(row).draw(rng);
        y.iter().enumerate().map(|(p, y)| self.widening(row, p).forward(*y)).collect()
    }
}

impl NetworkLaws {
    /// Laws of latent values, and of the observations of them that a network predicts: normal where that is their
    /// closed form.
    pub fn new(likelihood: &Likelihood, Prediction { f, y, seen_var }: Prediction) -> [Self; 2] {
        let observed = match likelihood {
            Likelihood::Gaussian(_) => Self::Normal(y),
            _ => {
                let latent = DiagGaussian { mean: f.mean.clone(), var: seen_var.unwrap_or_else(|| f.var.clone()) };
                let likelihood = likelihood.clone();
                Self::Observed(Observations { likelihood, latent, moments: y, factor: 1.0 })
            }
        };
        [Self::Normal(f), observed]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Normal(moments) => moments.n_points(),
            Self::Observed(all) => all.moments.n_points(),
        }
    }

    /// The law of one target of one row.
    pub fn at(&self, row: usize, target: usize) -> NetworkLaw<'_> {
        match self {
            Self::Normal(DiagGaussian { mean, var }) => NetworkLaw::Normal(normal(mean.row(row), var.row(row), target)),
            Self::Observed(all) => NetworkLaw::Observed(all.at(row, target)),
        }
    }

    /// The laws of some rows.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        let pick = |m: &DiagGaussian| DiagGaussian { mean: m.mean.select_rows(rows), var: m.var.select_rows(rows) };
        match self {
            Self::Normal(moments) => Self::Normal(pick(moments)),
            Self::Observed(Observations { likelihood, latent, moments, factor }) => {
                let (latent, moments) = (pick(latent), pick(moments));
                Self::Observed(Observations { likelihood: likelihood.clone(), latent, moments, factor: *factor })
            }
        }
    }

    /// Multiplies all deviations from the mean by a factor.
    pub fn widen(&mut self, by: f64) {
        match self {
            Self::Normal(moments) => moments.var.as_mut_slice().iter_mut().for_each(|v| *v *= by * by),
            Self::Observed(all) => all.factor *= by,
        }
    }

    /// Log density, or probability, of each row of transformed targets.
    ///
    /// # Errors
    /// As [`Observation::check_targets`].
    pub fn log_probs(&self, t: &Mat) -> Result<Vec<f64>> {
        match self {
            Self::Normal(DiagGaussian { mean, var }) => {
                let rows = t.iter_rows().zip(mean.iter_rows().zip(var.iter_rows()));
                let one = |(t, (mean, var)): (&[f64], (&[f64], &[f64]))| {
                    t.iter().enumerate().map(|(p, t)| normal(mean, var, p).log_prob(*t)).sum()
                };
                Ok(rows.map(one).collect())
            }
            Self::Observed(all) => {
                all.likelihood.check_targets(t)?;
                Ok(t.iter_rows().enumerate().map(|(n, t)| all.log_prob(n, t)).collect())
            }
        }
    }

    /// Draws all targets of a row.
    pub fn draw(&self, row: usize, rng: &mut dyn Rng) -> Vec<f64> {
        match self {
            Self::Normal(DiagGaussian { mean, var }) => {
                let (mean, var) = (mean.row(row), var.row(row));
                (0..mean.len()).map(|p| normal(mean, var, p).draw(rng)).collect()
            }
            Self::Observed(all) => all.draw(row, rng),
        }
    }
}

fn normal(mean: &[f64], var: &[f64], target: usize) -> Normal {
    Normal { mean: mean[target], var: var[target] }
}

/// One of these laws.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NetworkLaw<'a> {
    /// In closed form.
    Normal(Normal),
    /// By a likelihood.
    Observed(Observed<'a>),
}

/// Asks whichever law it is.
macro_rules! on_law {
    ($self:expr, $law:ident => $call:expr) => {
        match $self {
            NetworkLaw::Normal($law) => $call,
            NetworkLaw::Observed($law) => $call,
        }
    };
}

impl PredictiveLaw for NetworkLaw<'_> {
    fn moments(&self) -> (f64, f64) {
        on_law!(self, law => law.moments())
    }

    fn cdf(&self, y: f64) -> f64 {
        on_law!(self, law => law.cdf(y))
    }

    fn log_prob(&self, y: f64) -> f64 {
        on_law!(self, law => law.log_prob(y))
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        on_law!(self, law => law.draw(rng))
    }

    fn landmarks(&self) -> Vec<f64> {
        on_law!(self, law => law.landmarks())
    }

    fn as_normal(&self) -> Option<Normal> {
        on_law!(self, law => law.as_normal())
    }

    fn is_whole(&self) -> bool {
        on_law!(self, law => law.is_whole())
    }

    fn quantile(&self, level: Level) -> f64 {
        on_law!(self, law => law.quantile(level))
    }
}
