//! What can be chosen.

use deepgp::init::MeanChoice;
use deepgp_model::Config;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Most rows of an exact GP: every evaluation costs their cube.
pub const MOST_EXACT_ROWS: usize = 2000;
/// Widest hidden layers that are tried.
const MOST_UNITS: usize = 8;
/// Inducing inputs to begin with.
const FIRST_INDUCING: usize = 50;
/// Most inducing inputs.
pub const MOST_INDUCING: usize = 400;

/// The kind of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A GP with every row an inducing input.
    Exact,
    /// A sparse GP or a deep one, trained by SEP.
    Network {
        /// Widths of the hidden layers.
        hidden: Vec<usize>,
        /// Whether they have a linear mean.
        is_linear: bool,
        /// Inducing inputs of each layer.
        inducing: usize,
        /// The power α.
        alpha: f64,
    },
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// What it is.
    pub shape: Shape,
}

impl Candidate {
    /// What is tried first for so many rows and inputs: the plain GP, and deep GPs from small to wide and deep.
    pub fn first(rows: usize, inputs: usize) -> Vec<Self> {
        let wide = inputs.clamp(1, MOST_UNITS);
        let network = |hidden: &[usize], is_linear, alpha| Self {
            shape: Shape::Network { hidden: hidden.to_vec(), is_linear, inducing: FIRST_INDUCING, alpha },
        };
        let mut all = vec![network(&[], false, 0.5), network(&[2], false, 0.7)];
        if rows <= MOST_EXACT_ROWS {
            all.insert(0, Self { shape: Shape::Exact });
        }
        all.extend([
            network(&[wide], true, 0.5),
            network(&[wide, wide], true, 0.5),
            // A narrow waist finds single directions that matter.
            network(&[1], false, 0.7),
            network(&[2, 2], false, 0.7),
        ]);
        all
    }

    /// Whether it is a GP without hidden layers.
    pub fn is_plain(&self) -> bool {
        match &self.shape {
            Shape::Exact => true,
            Shape::Network { hidden, .. } => hidden.is_empty(),
        }
    }

    /// The same with twice the inducing inputs, if that makes sense for so many rows.
    pub fn grown(&self, rows: usize) -> Option<Self> {
        let mut next = self.clone();
        let Shape::Network { inducing, .. } = &mut next.shape else { return None };
        *inducing *= 2;
        (*inducing <= MOST_INDUCING.min(rows / 2)).then_some(next)
    }

    /// The same with another power.
    pub fn with_alpha(&self, power: f64) -> Option<Self> {
        let mut next = self.clone();
        let Shape::Network { alpha, .. } = &mut next.shape else { return None };
        *alpha = power;
        (next != *self).then_some(next)
    }

    /// Rough number of flops of a training step of a network on so many inputs; nothing for an exact GP.
    ///
    /// ```text
    /// Σ_layers  4 D_out M³  +  B (½M²) (10 + 5 D_in)        the second where inputs are random: a deep layer
    /// ```
    pub(crate) fn step_work(&self, inputs: usize) -> Option<f64> {
        let Shape::Network { hidden, inducing, .. } = &self.shape else { return None };
        let batch = Config::default().train.batch_size as f64;
        let (m, mut dim_in, mut work) = (*inducing as f64, inputs, 0.0);
        for (l, &dim_out) in hidden.iter().chain([&1]).enumerate() {
            work += 4.0 * dim_out as f64 * m.powi(3);
            if l > 0 {
                work += batch * 0.5 * m * m * (10.0 + 5.0 * dim_in as f64);
            }
            dim_in = dim_out;
        }
        Some(work)
    }

    /// The configuration of a network, or of the sparse GP that an exact one starts from.
    pub(crate) fn config(&self, iterations: usize, seed: u64) -> Config {
        let mut config = Config::default();
        (config.train.iterations, config.train.learning_rate, config.train.seed) = (iterations, 0.01, seed);
        match &self.shape {
            Shape::Exact => config.architecture.hidden = Vec::new(),
            Shape::Network { hidden, is_linear, inducing, alpha } => {
                config.architecture.hidden.clone_from(hidden);
                config.architecture.n_inducing = *inducing;
                config.architecture.mean = if *is_linear { MeanChoice::Linear } else { MeanChoice::Zero };
                config.train.inference.alpha = *alpha;
            }
        }
        config
    }
}

impl Display for Candidate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Exact => f.write_str("exact GP"),
            Shape::Network { hidden, is_linear, inducing, alpha } => {
                let widths: Vec<String> = hidden.iter().map(ToString::to_string).collect();
                match (hidden.is_empty(), is_linear) {
                    (true, _) => f.write_str("sparse GP")?,
                    (false, false) => write!(f, "deep GP [{}]", widths.join(", "))?,
                    (false, true) => write!(f, "deep GP [{}] linear", widths.join(", "))?,
                }
                write!(f, ", M {inducing}, α {alpha}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_suit_the_data() {
        let names = |rows, inputs| Candidate::first(rows, inputs).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(500, 3)[0], "exact GP");
        assert!(names(5000, 3).iter().all(|name| name != "exact GP"));
        assert!(names(500, 3).contains(&"deep GP [3] linear, M 50, α 0.5".to_owned()));
        assert!(names(500, 40).contains(&"deep GP [8, 8] linear, M 50, α 0.5".to_owned()));
        assert_eq!(Candidate::first(500, 3).iter().filter(|c| c.is_plain()).count(), 2);
    }

    #[test]
    fn growth_ends() {
        let sparse = Candidate::first(5000, 3).remove(0);
        let mut grown = vec![sparse];
        while let Some(next) = grown.last().and_then(|c| c.grown(5000)) {
            grown.push(next);
        }
        assert_eq!(grown.len(), 4);
        assert!(grown.windows(2).all(|pair| pair[0].step_work(3) < pair[1].step_work(3)));
        assert_eq!(Candidate { shape: Shape::Exact }.grown(100), None);
        assert_eq!(grown[0].grown(150), None);
        assert_eq!(grown[0].with_alpha(0.5), None);
    }
}
