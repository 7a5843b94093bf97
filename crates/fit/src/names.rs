//! The names that settings have for engines, kernels and other choices.

use deepgp::infer::{Engine, Site};
use deepgp::init::{KernelChoice, MeanChoice};
use deepgp_data::{Decimal, Header};
use deepgp_numerics::optim::Schedule;
use deepgp_task::{LikelihoodChoice, Task, WarpKind};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Engines by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum EngineName {
    /// Stochastic EP, first-order sites (the default)
    Sep,
    /// Stochastic EP, exact sites
    SepExact,
    /// Full EP: memory grows with the rows
    Ep,
    /// Assumed density filtering: one pass is its honest use
    Adf,
    /// Joint descent on the energy
    Joint,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Sep => Engine::Sep(Site::FirstOrder),
            EngineName::SepExact => Engine::Sep(Site::Exact),
            EngineName::Ep => Engine::Ep,
            EngineName::Adf => Engine::Adf,
            EngineName::Joint => Engine::JointEnergy,
        }
    }
}

impl From<Engine> for EngineName {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Sep(Site::FirstOrder) => EngineName::Sep,
            Engine::Sep(Site::Exact) => EngineName::SepExact,
            Engine::Ep => EngineName::Ep,
            Engine::Adf => EngineName::Adf,
            Engine::JointEnergy => EngineName::Joint,
        }
    }
}

/// Kernels by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum KernelName {
    /// Exponentiated quadratic (the default)
    Eq,
    /// Linear
    Linear,
    /// Exponentiated quadratic plus linear
    EqLinear,
    /// Matérn 3/2
    Matern32,
    /// Matérn 5/2
    Matern52,
    /// Spectral mixture of three components
    SpectralMixture,
}

/// Transforms of targets by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum TransformName {
    /// The logarithm, for positive targets
    Log,
    /// A power on either side of the mean, found by maximum likelihood
    YeoJohnson,
    /// Ranks as normal scores, smoothed
    Ranks,
}

impl From<TransformName> for WarpKind {
    fn from(name: TransformName) -> Self {
        match name {
            TransformName::Log => WarpKind::Log,
            TransformName::YeoJohnson => WarpKind::YeoJohnson,
            TransformName::Ranks => WarpKind::Ranks,
        }
    }
}

/// Components of a spectral mixture.
const COMPONENTS: usize = 3;

impl From<KernelName> for KernelChoice {
    fn from(name: KernelName) -> Self {
        match name {
            KernelName::Eq => KernelChoice::Eq,
            KernelName::Linear => KernelChoice::Linear,
            KernelName::EqLinear => KernelChoice::EqLinear,
            KernelName::Matern32 => KernelChoice::Matern32,
            KernelName::Matern52 => KernelChoice::Matern52,
            KernelName::SpectralMixture => KernelChoice::SpectralMixture(COMPONENTS),
        }
    }
}

impl From<KernelChoice> for KernelName {
    fn from(choice: KernelChoice) -> Self {
        match choice {
            KernelChoice::Eq => KernelName::Eq,
            KernelChoice::Linear => KernelName::Linear,
            KernelChoice::EqLinear => KernelName::EqLinear,
            KernelChoice::Matern32 => KernelName::Matern32,
            KernelChoice::Matern52 => KernelName::Matern52,
            KernelChoice::SpectralMixture(_) => KernelName::SpectralMixture,
        }
    }
}

/// Means of hidden layers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum MeanName {
    /// Zero mean (the default)
    Zero,
    /// Linear mean: hidden layers correct a projection of their inputs
    Linear,
}

impl From<MeanName> for MeanChoice {
    fn from(name: MeanName) -> Self {
        match name {
            MeanName::Zero => MeanChoice::Zero,
            MeanName::Linear => MeanChoice::Linear,
        }
    }
}

impl From<MeanChoice> for MeanName {
    fn from(choice: MeanChoice) -> Self {
        match choice {
            MeanChoice::Zero => MeanName::Zero,
            MeanChoice::Linear => MeanName::Linear,
        }
    }
}

/// Observation models by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum LikelihoodName {
    /// Gaussian noise (the default for numbers)
    Gaussian,
    /// Student-t noise, for targets with outliers
    StudentT,
    /// Gaussian noise whose size depends on the inputs
    VaryingGaussian,
    /// Student-t noise whose size depends on the inputs
    VaryingStudentT,
    /// Gaussian noise on targets of which some are known within bounds (the default for these)
    Censored,
    /// Positive targets
    Gamma,
    /// Targets between 0 and 1
    Beta,
    /// Two classes, by the normal distribution function (the default for two)
    Probit,
    /// Two classes, by the logistic function
    Logit,
    /// Several classes (the default for them)
    Softmax,
    /// Several classes, some of the labels wrong
    RobustMax,
    /// Ordered levels (the default for them)
    Ordinal,
    /// Counts with the variance of their mean
    Poisson,
    /// Counts that vary more (the default for them)
    NegativeBinomial,
}

/// As it is typed.
impl Display for LikelihoodName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<LikelihoodName> for LikelihoodChoice {
    fn from(name: LikelihoodName) -> Self {
        match name {
            LikelihoodName::Gaussian => LikelihoodChoice::Gaussian,
            LikelihoodName::StudentT => LikelihoodChoice::StudentT,
            LikelihoodName::VaryingGaussian => LikelihoodChoice::VaryingGaussian,
            LikelihoodName::VaryingStudentT => LikelihoodChoice::VaryingStudentT,
            LikelihoodName::Censored => LikelihoodChoice::Censored,
            LikelihoodName::Gamma => LikelihoodChoice::Gamma,
            LikelihoodName::Beta => LikelihoodChoice::Beta,
            LikelihoodName::Probit => LikelihoodChoice::Probit,
            LikelihoodName::Logit => LikelihoodChoice::Logit,
            LikelihoodName::Softmax => LikelihoodChoice::Softmax,
            LikelihoodName::RobustMax => LikelihoodChoice::RobustMax,
            LikelihoodName::Ordinal => LikelihoodChoice::Ordinal,
            LikelihoodName::Poisson => LikelihoodChoice::Poisson,
            LikelihoodName::NegativeBinomial => LikelihoodChoice::NegativeBinomial,
        }
    }
}

impl From<LikelihoodChoice> for LikelihoodName {
    fn from(choice: LikelihoodChoice) -> Self {
        match choice {
            LikelihoodChoice::Gaussian => LikelihoodName::Gaussian,
            LikelihoodChoice::StudentT => LikelihoodName::StudentT,
            LikelihoodChoice::VaryingGaussian => LikelihoodName::VaryingGaussian,
            LikelihoodChoice::VaryingStudentT => LikelihoodName::VaryingStudentT,
            LikelihoodChoice::Censored => LikelihoodName::Censored,
            LikelihoodChoice::Gamma => LikelihoodName::Gamma,
            LikelihoodChoice::Beta => LikelihoodName::Beta,
            LikelihoodChoice::Probit => LikelihoodName::Probit,
            LikelihoodChoice::Logit => LikelihoodName::Logit,
            LikelihoodChoice::Softmax => LikelihoodName::Softmax,
            LikelihoodChoice::RobustMax => LikelihoodName::RobustMax,
            LikelihoodChoice::Ordinal => LikelihoodName::Ordinal,
            LikelihoodChoice::Poisson => LikelihoodName::Poisson,
            LikelihoodChoice::NegativeBinomial => LikelihoodName::NegativeBinomial,
        }
    }
}

/// What the target is, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum TaskName {
    /// A number
    Regression,
    /// One of two or more classes
    #[cfg_attr(feature = "clap", value(alias = "classification"))]
    Classes,
    /// One of some ordered levels
    Ordinal,
    /// A number of things or events
    #[cfg_attr(feature = "clap", value(alias = "count"))]
    Counts,
    /// A number of which some are known only within bounds
    Censored,
}

impl From<Task> for TaskName {
    fn from(task: Task) -> Self {
        match task {
            Task::Regression => TaskName::Regression,
            Task::Classes { .. } => TaskName::Classes,
            Task::Ordinal { .. } => TaskName::Ordinal,
            Task::Counts => TaskName::Counts,
            Task::Censored => TaskName::Censored,
        }
    }
}

/// Courses of the learning rate by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleName {
    /// Falls to 1 % along a cosine (the default)
    Cosine,
    /// Stays
    Constant,
}

impl From<ScheduleName> for Schedule {
    fn from(name: ScheduleName) -> Self {
        match name {
            ScheduleName::Cosine => Schedule::Cosine,
            ScheduleName::Constant => Schedule::Constant,
        }
    }
}

impl From<Schedule> for ScheduleName {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Constant => ScheduleName::Constant,
            // The only other one that can be asked for here.
            _ => ScheduleName::Cosine,
        }
    }
}

/// Whether the first row holds names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum HeaderName {
    /// The first row holds names unless one of its cells is a number (the default)
    Auto,
    /// The first row holds names
    Yes,
    /// The first row is data; columns are called c1, c2, …
    No,
}

impl From<HeaderName> for Header {
    fn from(name: HeaderName) -> Self {
        match name {
            HeaderName::Auto => Header::Auto,
            HeaderName::Yes => Header::Yes,
            HeaderName::No => Header::No,
        }
    }
}

impl From<Header> for HeaderName {
    fn from(header: Header) -> Self {
        match header {
            Header::Auto => HeaderName::Auto,
            Header::Yes => HeaderName::Yes,
            Header::No => HeaderName::No,
        }
    }
}

/// Decimal marks by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum DecimalName {
    /// 1.5 (the default)
    Point,
    /// 1,5
    Comma,
}

impl From<DecimalName> for Decimal {
    fn from(name: DecimalName) -> Self {
        match name {
            DecimalName::Point => Decimal::Point,
            DecimalName::Comma => Decimal::Comma,
        }
    }
}

impl From<Decimal> for DecimalName {
    fn from(decimal: Decimal) -> Self {
        match decimal {
            Decimal::Point => DecimalName::Point,
            Decimal::Comma => DecimalName::Comma,
        }
    }
}
