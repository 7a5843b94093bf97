//! Variants: what is compared on every task, a network and how it is trained.

use crate::error::{Error, Result};
use deepgp::infer::{Engine, Site};
use deepgp::init::MeanChoice;
use deepgp_task::Config;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Width of a hidden layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// So many units.
    Units(usize),
    /// As many units as the data set has inputs.
    Inputs,
}

/// Hidden layers, not yet fitted to a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Their widths, first to last; none for a sparse GP.
    pub hidden: Vec<Width>,
    /// Their mean.
    pub mean: MeanChoice,
}

impl Network {
    /// The networks of the paper's table: GP, one hidden unit, two.
    pub fn paper() -> Vec<Self> {
        let zero = |hidden| Self { hidden, mean: MeanChoice::Zero };
        vec![zero(Vec::new()), zero(vec![Width::Units(1)]), zero(vec![Width::Units(2)])]
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let error = || Error::NotANetwork { text: text.into() };
        let (widths, mean) = match text.split_once(':') {
            None => (text, MeanChoice::Zero),
            Some((widths, "linear")) => (widths, MeanChoice::Linear),
            Some(_) => return Err(error()),
        };
        if matches!(widths.to_ascii_lowercase().as_str(), "gp" | "0") {
            // Without hidden layers there is nothing that could have a mean.
            return if mean == MeanChoice::Zero { Ok(Self { hidden: Vec::new(), mean }) } else { Err(error()) };
        }
        let width = |word: &str| match word.trim() {
            "D" | "d" => Ok(Width::Inputs),
            number => number.parse().ok().filter(|&units| units > 0).map(Width::Units).ok_or_else(error),
        };
        Ok(Self { hidden: widths.split(',').map(width).collect::<Result<_>>()?, mean })
    }
}

impl Display for Network {
    /// In the paper's manner: "GP", "DGP, 2", "DGP, D, D linear".
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.hidden.is_empty() {
            return f.write_str("GP");
        }
        f.write_str("DGP")?;
        for width in &self.hidden {
            match width {
                Width::Units(units) => write!(f, ", {units}")?,
                Width::Inputs => f.write_str(", D")?,
            }
        }
        if self.mean == MeanChoice::Linear { f.write_str(" linear") } else { Ok(()) }
    }
}

/// A network and how it is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The network.
    pub network: Network,
    /// All else; its widths and mean are those of the network.
    pub base: Config,
}

impl Variant {
    /// The paper's protocol: EQ kernel with a lengthscale per input, 50 inducing inputs a layer, SEP (α = 1), Adam with
    /// a constant learning rate, minibatches of 50, 4000 iterations.
    pub fn paper(network: Network) -> Self {
        let mut base = Config::default();
        base.architecture.n_inducing = 50;
        base.train.inference.alpha = 1.0;
        base.train.schedule = deepgp_numerics::optim::Schedule::Constant;
        (base.train.batch_size, base.train.iterations) = (50, 4000);
        Self { network, base }
    }

    /// Its name, in the paper's manner with what the paper does not vary: "[DGP, 2, 50]", "[GP, 100, α 0.5, EP]".
    pub fn label(&self) -> String {
        let inference = self.base.train.inference;
        let mut label = format!("[{}, {}", self.network, self.base.architecture.n_inducing);
        if inference.alpha != 1.0 {
            label += &format!(", α {}", inference.alpha);
        }
        label += match inference.engine {
            Engine::Sep(Site::FirstOrder) => "",
            Engine::Sep(Site::Exact) => ", exact SEP",
            Engine::Ep => ", EP",
            Engine::Adf => ", ADF",
            Engine::JointEnergy => ", joint energy",
        };
        label + "]"
    }

    /// The whole configuration for a data set with so many inputs.
    pub fn config(&self, inputs: usize) -> Config {
        let mut config = self.base.clone();
        let units = |width: &Width| match width {
            Width::Units(units) => *units,
            Width::Inputs => inputs,
        };
        config.architecture.hidden = self.network.hidden.iter().map(units).collect();
        config.architecture.mean = self.network.mean;
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_named() -> Result<()> {
        for (text, name) in [
            ("gp", "GP"),
            ("0", "GP"),
            ("2", "DGP, 2"),
            ("D", "DGP, D"),
            ("8,8:linear", "DGP, 8, 8 linear"),
            ("D, 3", "DGP, D, 3"),
        ] {
            assert_eq!(text.parse::<Network>()?.to_string(), name);
        }
        for wrong in ["", "x", "2,", "2:quadratic", "gp:linear", "-1", "2,0"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn labels_say_what_differs_from_the_paper() -> Result<()> {
        let mut variant = Variant::paper("D".parse()?);
        assert_eq!(variant.label(), "[DGP, D, 50]");
        assert_eq!(variant.config(7).architecture.hidden, [7]);
        variant.base.train.inference.alpha = 0.5;
        variant.base.train.inference.engine = Engine::Ep;
        variant.base.architecture.n_inducing = 20;
        assert_eq!(variant.label(), "[DGP, D, 20, α 0.5, EP]");
        Ok(())
    }
}
