//! Candidates: the models that a search compares.

use deepgp::Result;
use deepgp::init::{KernelChoice, MeanChoice};
use deepgp_task::{Config, LikelihoodChoice, StandardisedData, Task, WarpKind};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Most rows of an exact GP: every evaluation costs their cube.
pub const MOST_EXACT_ROWS: usize = 2000;
/// Most rows that hyperparameters of a sparse GP are found with; its factor is that of all rows.
pub(crate) const MOST_EVIDENCE_ROWS: usize = 10_000;
/// Most units of wide hidden layers.
const MOST_UNITS: usize = 8;
/// Most inducing inputs of a linear model: as many as inputs make it exact.
const MOST_LINEAR: usize = 50;
/// Inducing inputs that plain models and layers of deep ones begin with, and the most.
pub(crate) const FEW_INDUCING: usize = 100;
const FEW_OF_NETWORK: usize = 50;
const MOST_INDUCING: usize = 1600;
/// Share of its evaluations that a sparse GP with more inducing inputs than the first takes: it starts from one with
/// half as many.
const DOUBLING_SHARE: f64 = 0.25;
/// Rows of a minibatch, for few rows and for many.
const BATCH_ROWS: [usize; 2] = [100, 200];
/// Power of sparse GPs and wide networks: steadier than 1, and less cautious than 0.
pub(crate) const PLAIN_ALPHA: f64 = 0.5;
/// Learning rate of networks without and with a linear mean, which keeps larger steps from doing harm.
const LEARNING_RATE: [f64; 2] = [0.01, 0.02];

/// A model that can be chosen: a design with an observation model, for inputs and targets in some form.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The design.
    pub design: Design,
    /// What is made of the data before.
    pub form: Form,
    /// The observation model.
    pub likelihood: LikelihoodChoice,
}

/// What is made of standardised data before a design is trained on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Form {
    /// The transform of the targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp: Option<WarpKind>,
    /// Whether inputs that take few values have indicators.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indicators: bool,
}

/// What is tried first: plain models, each on all folds, and deep ones, which begin on one.
#[derive(Debug)]
pub(crate) struct First {
    /// Without hidden layers.
    pub plain: Vec<Candidate>,
    /// With hidden layers, in the order of [`Design::deep`] for each observation model.
    pub deep: Vec<Candidate>,
}

impl First {
    /// For so many rows and inputs of a task: models with additive noise, where the task has any, and those with the
    /// task's own observation model.
    pub fn of(task: Task, rows: usize, inputs: usize, has_exposure: bool) -> Self {
        let own = task.default_likelihood();
        let with = |likelihood: LikelihoodChoice, designs: Vec<Design>| {
            designs.into_iter().map(move |design| Candidate { design, form: Form::default(), likelihood })
        };
        let (plain, deep) = (Design::plain(rows, inputs), Design::deep(inputs));
        if own.is_additive() {
            return Self { plain: with(own, plain).collect(), deep: with(own, deep).collect() };
        }
        // A number that is in proportion to something has no additive noise.
        let has_cells = task.likelihoods().contains(&LikelihoodChoice::Gaussian) && !has_exposure;
        let additive = if has_cells { plain.clone() } else { Vec::new() };
        // One constant is enough, and no factor of an exact GP is known in closed form.
        let gaussian = additive.into_iter().filter(|design| *design != Design::Constant);
        let plain = plain.into_iter().map(|design| match design {
            Design::Exact { kernel } => Design::Sparse { kernel, inducing: FEW_INDUCING.min(rows) },
            other => other,
        });
        Self {
            plain: with(own, plain.collect()).chain(with(LikelihoodChoice::Gaussian, gaussian.collect())).collect(),
            deep: with(own, deep).collect(),
        }
    }
}

impl Candidate {
    /// The data as it takes them; nothing if they do not suit.
    ///
    /// # Errors
    /// As [`StandardisedData::for_likelihood`], [`StandardisedData::warped`] and [`StandardisedData::indicated`].
    pub(crate) fn data<'a>(&self, data: &'a StandardisedData) -> Result<Option<Cow<'a, StandardisedData>>> {
        let mut data = Cow::Borrowed(data);
        // The constant has the law of outcomes as they are.
        if self.design != Design::Constant && !data.is_for(self.likelihood)? {
            data = Cow::Owned(data.into_owned().for_likelihood(self.likelihood)?);
        }
        if self.form.indicators {
            let Some(indicated) = data.indicated()? else { return Ok(None) };
            data = Cow::Owned(indicated);
        }
        if let Some(kind) = self.form.warp {
            let Some(warped) = data.warped(kind)? else { return Ok(None) };
            data = Cow::Owned(warped);
        }
        Ok(Some(data))
    }

    /// This one with another observation model, for so many rows: targets that are positive or lie in an interval are
    /// not transformed as well, and an exact GP has few inducing inputs where it has no closed form.
    pub(crate) fn with_likelihood(&self, likelihood: LikelihoodChoice, rows: usize) -> Self {
        let design = match &self.design {
            Design::Exact { kernel } if likelihood != LikelihoodChoice::Gaussian => {
                Design::Sparse { kernel: *kernel, inducing: FEW_INDUCING.min(rows) }
            }
            other => other.clone(),
        };
        let warp = self.form.warp.filter(|_| likelihood.is_additive());
        Self { design, form: Form { warp, ..self.form }, likelihood }
    }

    /// Whether its factors are known in closed form, so that it takes no steps.
    pub(crate) fn is_closed(&self) -> bool {
        self.design == Design::Constant || (self.is_plain() && self.likelihood == LikelihoodChoice::Gaussian)
    }

    /// Rough number of flops of one training; see [`Design::work`].
    pub(crate) fn work(&self, rows: usize, inputs: usize, latent: usize, evaluations: usize, steps: usize) -> f64 {
        match (&self.design, self.is_closed()) {
            (Design::Sparse { inducing, .. }, false) => network_work(rows, (inputs, &[], latent), *inducing, steps),
            (design, _) => design.work(rows, inputs, latent, evaluations, steps),
        }
    }

    /// The configuration that describes it, for so many rows.
    pub(crate) fn config(&self, rows: usize, steps: usize, seed: u64) -> Config {
        let mut config = self.design.config(rows, steps, seed);
        config.likelihood = self.likelihood;
        if !self.is_closed() {
            config.train.iterations = steps;
        }
        config
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.indicators {
            f.write_str(", with indicators")?;
        }
        self.warp.map_or(Ok(()), |kind| write!(f, ", {kind} target"))
    }
}

impl Candidate {
    /// Whether it is a GP without hidden layers.
    pub fn is_plain(&self) -> bool {
        self.design.is_plain()
    }

    /// Whether it is a baseline: the linear model, or the constant.
    pub fn is_baseline(&self) -> bool {
        matches!(self.design, Design::Constant | Design::Sparse { kernel: KernelChoice::Linear, .. })
    }

    /// This one with twice the inducing inputs, if that makes sense for so many rows: where each step costs their cube,
    /// for half as many rows.
    pub fn grown(&self, rows: usize) -> Option<Self> {
        let rows = if self.is_closed() { rows } else { rows / 2 };
        Some(Self { design: self.design.grown(rows)?, ..*self })
    }

    /// This one with half the inducing inputs, if it starts from what they found: a sparse GP in closed form.
    pub(crate) fn halved(&self) -> Option<Self> {
        let Design::Sparse { kernel, inducing } = self.design else { return None };
        self.is_closed().then_some(Self { design: Design::Sparse { kernel, inducing: inducing / 2 }, ..*self })
    }

    /// This one with another power, if it is a network.
    pub fn with_alpha(&self, power: f64) -> Option<Self> {
        Some(Self { design: self.design.with_alpha(power)?, ..*self })
    }
}

/// With Gaussian noise.
impl From<Design> for Candidate {
    fn from(design: Design) -> Self {
        Self { design, form: Form::default(), likelihood: LikelihoodChoice::Gaussian }
    }
}

impl Display for Candidate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.design)?;
        if !matches!((self.likelihood, &self.design), (LikelihoodChoice::Gaussian, _) | (_, Design::Constant)) {
            write!(f, ", {}", self.likelihood)?;
        }
        write!(f, "{}", self.form)
    }
}

/// The design of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// A GP with every row an inducing input.
    Exact {
        /// The kernel.
        kernel: KernelChoice,
    },
    /// The normal distribution of the targets, whatever the inputs.
    Constant,
    /// A sparse GP in closed form.
    Sparse {
        /// The kernel.
        kernel: KernelChoice,
        /// Inducing inputs.
        inducing: usize,
    },
    /// A deep GP, trained by SEP.
    Network {
        /// Units of the hidden layers.
        hidden: Vec<usize>,
        /// Whether they have a linear mean; the paper's have none.
        is_linear: bool,
        /// Inducing inputs of each layer.
        inducing: usize,
        /// The power α.
        alpha: f64,
    },
}

impl Design {
    /// Plain models that are tried first for so many rows and inputs: GPs, smooth and rough, linear and constant.
    pub fn plain(rows: usize, inputs: usize) -> Vec<Self> {
        let kernels = [KernelChoice::Eq, KernelChoice::Matern32];
        let is_small = rows <= MOST_EXACT_ROWS;
        let plain = kernels.map(|kernel| match is_small {
            true => Self::Exact { kernel },
            false => Self::Sparse { kernel, inducing: FEW_INDUCING },
        });
        // Floors that cost nothing, and with their wide error bars an answer to outliers in a mixture.
        let linear = Self::Sparse { kernel: KernelChoice::Linear, inducing: inputs.min(MOST_LINEAR) };
        plain.into_iter().chain([linear, Self::Constant]).collect()
    }

    /// Deep GPs that are tried first, narrow and wide.
    pub fn deep(inputs: usize) -> Vec<Self> {
        let units = inputs.clamp(1, MOST_UNITS);
        vec![
            Self::Network { hidden: vec![2], is_linear: false, inducing: FEW_OF_NETWORK, alpha: 0.7 },
            Self::Network { hidden: vec![units], is_linear: true, inducing: FEW_OF_NETWORK, alpha: PLAIN_ALPHA },
            Self::Network { hidden: vec![units, units], is_linear: true, inducing: FEW_OF_NETWORK, alpha: PLAIN_ALPHA },
        ]
    }

    /// Whether it is a GP without hidden layers.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Exact { .. } | Self::Constant | Self::Sparse { .. })
    }

    /// This one with twice the inducing inputs, if that makes sense for so many rows.
    pub fn grown(&self, rows: usize) -> Option<Self> {
        let mut next = self.clone();
        match &mut next {
            Self::Exact { .. } | Self::Constant | Self::Sparse { kernel: KernelChoice::Linear, .. } => None,
            Self::Sparse { inducing, .. } | Self::Network { inducing, .. } => {
                *inducing *= 2;
                (*inducing <= MOST_INDUCING.min(rows / 2)).then_some(next)
            }
        }
    }

    /// This one with another power, if it is a network.
    pub fn with_alpha(&self, power: f64) -> Option<Self> {
        let mut next = self.clone();
        match &mut next {
            Self::Exact { .. } | Self::Constant | Self::Sparse { .. } => return None,
            Self::Network { alpha, .. } => *alpha = power,
        }
        (next != *self).then_some(next)
    }

    /// Rough number of flops of one training, where a GP's evidence is evaluated so often and a network has so many
    /// steps. Those of a network count fourfold, since they run at about a quarter of the speed of whole matrices.
    ///
    /// ```text
    /// sparse  8 N M² a time       network  Σ_layers 4 D_out M³ + B ½M² (10 + 5 D_in) a step
    /// ```
    pub(crate) fn work(&self, rows: usize, inputs: usize, latent: usize, evaluations: usize, steps: usize) -> f64 {
        match self {
            // Nothing of theirs can grow or vary, so nobody asks.
            Self::Exact { .. } | Self::Constant => 0.0,
            Self::Sparse { inducing, .. } => {
                let evaluations = doubling_evaluations(*inducing, evaluations);
                8.0 * (rows.min(MOST_EVIDENCE_ROWS) * inducing * inducing * evaluations) as f64
            }
            Self::Network { hidden, inducing, .. } => network_work(rows, (inputs, hidden, latent), *inducing, steps),
        }
    }

    /// The configuration that describes it, for so many rows.
    pub(crate) fn config(&self, rows: usize, steps: usize, seed: u64) -> Config {
        let mut config = Config::default();
        let (shape, train) = (&mut config.architecture, &mut config.train);
        (train.iterations, train.learning_rate, train.seed) = (steps, LEARNING_RATE[0], seed);
        train.batch_size = batch(rows);
        shape.hidden = Vec::new();
        train.inference.alpha = PLAIN_ALPHA;
        match self {
            Self::Exact { kernel } => (shape.kernel, train.iterations) = (*kernel, 0),
            Self::Constant => (shape.kernel, shape.n_inducing, train.iterations) = (KernelChoice::Linear, 1, 0),
            Self::Sparse { kernel, inducing } => {
                (shape.kernel, shape.n_inducing, train.iterations) = (*kernel, *inducing, 0);
            }
            Self::Network { hidden, is_linear, inducing, alpha } => {
                (shape.hidden, shape.n_inducing, train.inference.alpha) = (hidden.clone(), *inducing, *alpha);
                shape.mean = if *is_linear { MeanChoice::Linear } else { MeanChoice::Zero };
                train.learning_rate = LEARNING_RATE[usize::from(*is_linear)];
            }
        }
        config
    }
}

/// Flops of so many steps of a network with these inputs, hidden layers and latent functions.
fn network_work(rows: usize, shape: (usize, &[usize], usize), inducing: usize, steps: usize) -> f64 {
    let (mut dim_in, hidden, latent) = shape;
    let (m, mut work) = (inducing as f64, 0.0);
    for (l, &dim_out) in hidden.iter().chain([&latent]).enumerate() {
        let is_random = if l > 0 { 1.0 } else { 0.0 };
        work += 4.0 * dim_out as f64 * m.powi(3);
        work += is_random * batch(rows) as f64 * 0.5 * m * m * (10.0 + 5.0 * dim_in as f64);
        dim_in = dim_out;
    }
    4.0 * work * steps as f64
}

/// Evaluations of the evidence of a sparse GP with so many inducing inputs, where one with few takes `evaluations`.
pub(crate) fn doubling_evaluations(inducing: usize, evaluations: usize) -> usize {
    if inducing <= FEW_INDUCING { evaluations } else { (DOUBLING_SHARE * evaluations as f64).ceil() as usize }
}

fn batch(rows: usize) -> usize {
    BATCH_ROWS[usize::from(rows > MOST_EXACT_ROWS)]
}

impl Display for Design {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rough = |kernel: &KernelChoice| match kernel {
            KernelChoice::Matern32 => ", Matérn 3/2",
            KernelChoice::Matern52 => ", Matérn 5/2",
            _ => "",
        };
        match self {
            Self::Sparse { kernel: KernelChoice::Linear, .. } => f.write_str("linear model"),
            Self::Exact { kernel } => write!(f, "exact GP{}", rough(kernel)),
            Self::Constant => f.write_str("constant"),
            Self::Sparse { kernel, inducing } => write!(f, "sparse GP{}, M {inducing}", rough(kernel)),
            Self::Network { hidden, is_linear, inducing, alpha } => {
                let widths: Vec<String> = hidden.iter().map(ToString::to_string).collect();
                let mean = if *is_linear { " linear" } else { "" };
                write!(f, "deep GP [{}]{mean}, M {inducing}, α {alpha}", widths.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_suit_the_data() {
        let first = |rows, inputs| Design::plain(rows, inputs).into_iter().chain(Design::deep(inputs));
        let names = |rows, inputs| first(rows, inputs).map(|design| design.to_string()).collect::<Vec<_>>();
        assert_eq!(names(500, 3)[..2], ["exact GP", "exact GP, Matérn 3/2"]);
        assert!(names(5000, 3).iter().all(|name| !name.starts_with("exact GP")));
        assert!(names(500, 3).contains(&"deep GP [3] linear, M 50, α 0.5".to_owned()));
        assert!(names(5000, 40).contains(&"deep GP [8, 8] linear, M 50, α 0.5".to_owned()));
        assert_eq!(first(500, 3).filter(Design::is_plain).count(), 4);
        assert_eq!(names(500, 3)[2..4], ["linear model", "constant"]);
    }

    #[test]
    fn growth_ends() {
        let mut grown = vec![Design::plain(5000, 3).remove(0)];
        while let Some(next) = grown.last().and_then(|c| c.grown(5000)) {
            grown.push(next);
        }
        assert_eq!(grown.len(), 5);
        let work = |c: &Design| c.work(5000, 3, 1, 10, 10);
        assert!(grown[1..].windows(2).all(|pair| work(&pair[0]) < work(&pair[1])));
        assert_eq!(Design::Exact { kernel: KernelChoice::Eq }.grown(100), None);
        assert_eq!(grown[0].grown(150), None);
        assert_eq!(grown[0].with_alpha(0.3), None);
        let wide = Design::deep(3).remove(1);
        assert_eq!(wide.with_alpha(PLAIN_ALPHA), None);
        assert!(wide.with_alpha(1.0).is_some());
        let form = Form { warp: Some(WarpKind::Log), indicators: true };
        let formed = Candidate { form, ..Candidate::from(wide) };
        assert_eq!(formed.to_string(), "deep GP [3] linear, M 50, α 0.5, with indicators, log target");
        assert_eq!(formed.with_alpha(1.0).map(|c| c.form), Some(form));
    }

    #[test]
    fn every_task_has_a_constant_a_linear_model_and_gps() {
        let names = |task| First::of(task, 500, 3, false).plain.iter().map(ToString::to_string).collect::<Vec<_>>();
        let classes = names(Task::Classes { count: 2 });
        assert_eq!(
            classes,
            ["sparse GP, M 100, probit", "sparse GP, Matérn 3/2, M 100, probit", "linear model, probit", "constant"]
        );
        let counts = names(Task::Counts);
        assert_eq!(counts.iter().filter(|name| *name == "constant").count(), 1);
        assert!(
            counts.contains(&"exact GP".to_owned()) && counts.contains(&"linear model, negative binomial".to_owned())
        );
        assert!(First::of(Task::Counts, 5000, 3, false).deep.iter().all(|candidate| !candidate.is_closed()));
    }
}
