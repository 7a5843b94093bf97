//! What can be typed.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use deepgp::infer::{Engine, Site};
use deepgp::init::{Architecture, KernelChoice, MeanChoice};
use deepgp::optim::Schedule;
use deepgp_model::Config;
use std::path::PathBuf;

/// Deep Gaussian processes trained by stochastic expectation propagation.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a sparse GP and a deep GP on built-in data and compare them.
    Demo(Demo),
    /// Measure.
    #[command(subcommand)]
    Bench(Bench),
}

/// Options of `demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Training steps for each model.
    #[arg(long, default_value_t = 3000)]
    pub iters: usize,
    /// Seed of data, start and minibatches.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Measurements.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Train and score on given splits of a data set.
    Splits(Splits),
    /// Time training steps and predictions over a grid of sizes.
    Speed(Speed),
}

/// Options of `bench speed`.
#[derive(Debug, ClapArgs)]
pub struct Speed {
    /// Rows of the generated data.
    #[arg(long, default_value_t = 10_000)]
    pub rows: usize,
    /// Input columns.
    #[arg(long, default_value_t = 13)]
    pub inputs: usize,
    /// Hidden widths; give it several times for several networks, such as --hidden 2 --hidden 8,8.
    #[arg(long, default_values = ["2"])]
    pub hidden: Vec<String>,
    /// Inducing inputs.
    #[arg(long, value_delimiter = ',', default_values_t = [50])]
    pub inducing: Vec<usize>,
    /// Rows per step.
    #[arg(long, value_delimiter = ',', default_values_t = [50])]
    pub batch: Vec<usize>,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Seconds to measure each size for.
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
    /// Time another library in the same run: its script and a Python that has it, such as peer_gpytorch.py=venv/bin/python;
    /// may be given several times. Takes the place of the grid.
    #[arg(long, value_name = "SCRIPT=PYTHON")]
    pub peer: Vec<String>,
    /// Only train for exactly this many steps at each size, without a clock: for tools that count instructions.
    #[arg(long)]
    pub steps: Option<usize>,
    /// Steps that a peer is timed for.
    #[arg(long, default_value_t = 300)]
    pub peer_steps: usize,
}

/// Widths such as "8,8"; "0" or nothing stands for no hidden layer.
pub fn widths(text: &str) -> anyhow::Result<Vec<usize>> {
    use anyhow::Context;
    if matches!(text.trim(), "" | "0") {
        return Ok(Vec::new());
    }
    let parse = |t: &str| t.trim().parse().with_context(|| format!("'{text}' is not a list of widths such as 8,8"));
    text.split(',').map(parse).collect()
}

/// Options of `bench splits`.
#[derive(Debug, ClapArgs)]
pub struct Splits {
    /// Folder with `data.csv[.gz]` (targets last) and `splits.csv` (test rows of one split a line).
    pub folder: PathBuf,
    /// Number of target columns at the end of the table.
    #[arg(long, default_value_t = 1)]
    pub targets: usize,
    /// Which of these targets to predict, counted from 0.
    #[arg(long, default_value_t = 0)]
    pub target: usize,
    /// Splits to run, counted from 0, as a range such as 0-4.
    #[arg(long, default_value = "0-4")]
    pub splits: String,
    /// Fail unless the mean test RMSE is at most this.
    #[arg(long)]
    pub max_rmse: Option<f64>,
    /// Fail unless the mean test log density is at least this.
    #[arg(long, allow_hyphen_values = true)]
    pub min_log_density: Option<f64>,
    /// The model and its training.
    #[command(flatten)]
    pub fit: Fit,
}

/// Options of a model and its training.
#[derive(Debug, ClapArgs)]
pub struct Fit {
    /// Widths of hidden layers, such as 2 or 8,8; leave out for a sparse GP.
    #[arg(long, value_delimiter = ',')]
    pub hidden: Vec<usize>,
    /// Inducing inputs per layer.
    #[arg(long, default_value_t = 50)]
    pub inducing: usize,
    /// Engine.
    #[arg(long, value_enum, default_value_t = EngineArg::Sep)]
    pub engine: EngineArg,
    /// Power of power EP, in (0, 1].
    #[arg(long, default_value_t = 0.7)]
    pub alpha: f64,
    /// Step of site updates, in (0, 1].
    #[arg(long)]
    pub damping: Option<f64>,
    /// Mean of hidden layers.
    #[arg(long, value_enum, default_value_t = MeanArg::Zero)]
    pub mean: MeanArg,
    /// Learning rate.
    #[arg(long, default_value_t = 0.005)]
    pub lr: f64,
    /// Keep the learning rate constant instead of letting it fall.
    #[arg(long)]
    pub constant_lr: bool,
    /// Training steps.
    #[arg(long, default_value_t = 4000)]
    pub iters: usize,
    /// Rows per step.
    #[arg(long, default_value_t = 100)]
    pub batch: usize,
    /// Seed.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// Engines by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum EngineArg {
    /// Stochastic EP, first-order sites.
    Sep,
    /// Stochastic EP, exact sites.
    SepExact,
    /// Full EP.
    Ep,
    /// Assumed density filtering.
    Adf,
    /// Joint descent on the energy.
    Joint,
}

/// Means by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MeanArg {
    /// None.
    Zero,
    /// Linear.
    Linear,
}

impl Fit {
    /// The configuration these options stand for.
    pub fn config(&self) -> Config {
        let engine = match self.engine {
            EngineArg::Sep => Engine::Sep(Site::FirstOrder),
            EngineArg::SepExact => Engine::Sep(Site::Exact),
            EngineArg::Ep => Engine::Ep,
            EngineArg::Adf => Engine::Adf,
            EngineArg::Joint => Engine::JointEnergy,
        };
        let mut config = Config {
            architecture: Architecture {
                hidden: self.hidden.clone(),
                n_inducing: self.inducing,
                kernel: KernelChoice::Eq,
                mean: match self.mean {
                    MeanArg::Zero => MeanChoice::Zero,
                    MeanArg::Linear => MeanChoice::Linear,
                },
                ..Architecture::default()
            },
            ..Config::default()
        };
        config.train.inference = deepgp::infer::Settings::of(engine);
        config.train.inference.alpha = self.alpha;
        if let Some(damping) = self.damping {
            config.train.inference.damping = damping;
        }
        config.train.learning_rate = self.lr;
        config.train.schedule = if self.constant_lr { Schedule::Constant } else { Schedule::Cosine };
        config.train.iterations = self.iters;
        config.train.batch_size = self.batch;
        config.train.seed = self.seed;
        config
    }
}
