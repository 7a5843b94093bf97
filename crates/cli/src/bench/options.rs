//! The arguments of `bench table`, `bench frontier`, `bench auto`, `bench laws` and `bench check`.

use crate::exit_codes::{usage, usage_of};
use anyhow::Result;
use clap::{Args, ValueEnum};
use deepgp_experiments::record::{Criterion, SearchSettings};
use deepgp_experiments::{Network, Shard, Task, Variant};
use deepgp_fit::names::{EngineName, ScheduleName};
use deepgp_fit::positive;
use std::path::PathBuf;
use std::str::FromStr;

/// Numbers of splits: "3", "0-4", "0,5,7-9".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitList(pub Vec<usize>);

impl FromStr for SplitList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: usize = 10_000;
        let error = || format!("'{text}' is not a list of splits such as 0-4 or 0,3");
        let number = |word: &str| word.trim().parse::<usize>().ok().filter(|&n| n < MOST).ok_or_else(error);
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                Some((first, last)) => all.extend(number(first)?..=number(last)?),
                None => all.push(number(part)?),
            }
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() { Err(error()) } else { Ok(Self(all)) }
    }
}

/// "2/4": the second of four parts.
fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    match parts {
        Some((i, count)) if (1..=count).contains(&i) => Ok(Shard { index: i - 1, count }),
        _ => Err(format!("'{text}' is not a part such as 1/4")),
    }
}

/// Options that all studies have.
#[derive(Debug, Args)]
pub struct StudyOptions {
    /// The records: runs found there are not run again, new ones are added
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// Tasks: names of data sets, SET:K for the K-th target, or the paper's names (energy2, naval1, …), or paths of
    /// tables of numbers with the target last [default: those of the study]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tasks: Vec<Task>,
    /// Splits to run, from 0, such as 0-4 [default: all that the task has; the first ten of `bench laws`]
    #[arg(long, value_name = "LIST")]
    pub splits: Option<SplitList>,
    /// Run one part of the study only, such as 1/4
    #[arg(long, value_name = "I/N", value_parser = shard, default_value = "1/1")]
    pub shard: Shard,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "T")]
    pub threads: Option<usize>,
    /// Folder of the data sets [default: that of `deepgp data`]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// How networks are trained.
#[derive(Debug, Args)]
pub struct Training {
    /// Training steps
    #[arg(long, value_name = "N", default_value_t = 4000, help_heading = "Training")]
    pub iters: usize,
    /// Rows per step
    #[arg(long, value_name = "B", default_value_t = 50, help_heading = "Training")]
    pub batch: usize,
    /// Learning-rate schedule
    #[arg(long, value_enum, value_name = "SCHEDULE", default_value = "constant", help_heading = "Training")]
    pub schedule: ScheduleName,
    /// Damping: step of site updates, in (0, 1] [default: what suits the engine]
    #[arg(long, value_name = "RHO", allow_negative_numbers = true, help_heading = "Training")]
    pub damping: Option<f64>,
    /// Seed of the first split; the others count up from it
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Training")]
    pub seed: u64,
}

impl Training {
    /// A variant of the paper's with these settings.
    ///
    /// # Errors
    /// [`crate::exit_codes::Usage`] for a number outside of its range.
    pub fn variant(&self, network: &Network, inducing: usize, engine: EngineName, alpha: f64) -> Result<Variant> {
        let mut variant = Variant::paper(network.clone());
        let train = &mut variant.base.train;
        let unit = |name, value: f64| match value > 0.0 && value <= 1.0 {
            true => Ok(value),
            false => Err(usage!("--{name} must lie in (0, 1], not {value}")),
        };
        let whole = |name, value: usize| if value > 0 { Ok(value) } else { Err(usage!("--{name} must be at least 1")) };
        train.inference = deepgp::infer::InferenceSettings::of(engine.into());
        train.inference.alpha = unit("alpha", alpha)?;
        if let Some(damping) = self.damping {
            train.inference.damping = unit("damping", damping)?;
        }
        (train.iterations, train.batch_size) = (whole("iters", self.iters)?, whole("batch", self.batch)?);
        (train.schedule, train.seed) = (self.schedule.into(), self.seed);
        variant.base.architecture.n_inducing = whole("inducing", inducing)?;
        Ok(variant)
    }
}

/// Criterion that a search minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CriterionName {
    /// Root mean squared error
    Rmse,
    /// Negative mean log density
    LogDensity,
}

impl From<CriterionName> for Criterion {
    fn from(name: CriterionName) -> Self {
        match name {
            CriterionName::Rmse => Criterion::Rmse,
            CriterionName::LogDensity => Criterion::LogDensity,
        }
    }
}

/// Options of `bench table`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without options this is the protocol of Bui et al. (2015): [GP, 50],
[DGP, 1, 50] and [DGP, 2, 50] on eleven tasks, 20 splits each, SEP, Adam,
minibatches of 50, 4000 iterations, the learning rate of each task and network
found by Bayesian optimisation on held-out rows of the first split's training
part. Every run is one line of JSON; a study that was interrupted goes on where
it was when the command is given again.

Examples:
  deepgp bench table --out table.jsonl
  deepgp bench table --out table.jsonl --tasks boston,energy2 --networks gp 2
  deepgp bench table --out t.jsonl --study half --alpha 0.5 --shard 1/4
  deepgp bench table --out best.jsonl --study best --choose \\
      --networks gp 2 D:linear --inducing 50,100 --alpha 0.5,0.7,1")]
pub struct Table {
    /// What all studies have.
    #[command(flatten)]
    pub study: StudyOptions,
    /// Name of the study in the records
    #[arg(long = "study", value_name = "NAME", default_value = "paper")]
    pub name: String,
    /// Networks: gp, or widths of hidden layers; separate networks by spaces: --networks gp 1 2 D,D:linear (D: number
    /// of inputs)
    #[arg(long, value_name = "NETWORKS", num_args = 1.., default_values = ["gp", "1", "2"], help_heading = "Variants")]
    pub networks: Vec<Network>,
    /// Inducing inputs per layer
    #[arg(long, value_name = "M", value_delimiter = ',', default_value = "50", help_heading = "Variants")]
    pub inducing: Vec<usize>,
    /// Powers of power EP, in (0, 1]
    #[arg(long, value_name = "POWERS", value_delimiter = ',', default_value = "1", help_heading = "Variants")]
    pub alpha: Vec<f64>,
    /// Inference engines
    #[arg(
        long,
        value_enum,
        value_name = "ENGINES",
        value_delimiter = ',',
        default_value = "sep",
        help_heading = "Variants"
    )]
    pub engine: Vec<EngineName>,
    /// Run, for each task, only the variant that does best on held-out training rows
    #[arg(long, help_heading = "Variants")]
    pub choose: bool,
    /// How they are trained.
    #[command(flatten)]
    pub training: Training,
    /// Keep this learning rate instead of searching for one
    #[arg(long, value_name = "RATE", conflicts_with = "trials", help_heading = "Search")]
    pub lr: Option<f64>,
    /// Trials of a search
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Search")]
    pub trials: usize,
    /// Criterion that a search minimises on held-out training rows
    #[arg(long, value_enum, value_name = "CRITERION", default_value = "log-density", help_heading = "Search")]
    pub criterion: CriterionName,
}

impl Table {
    /// Everything that is compared.
    ///
    /// # Errors
    /// [`crate::exit_codes::Usage`] for a number outside of its range.
    pub fn variants(&self) -> Result<Vec<Variant>> {
        let mut all: Vec<Variant> = Vec::new();
        for network in &self.networks {
            for &inducing in &self.inducing {
                for &engine in &self.engine {
                    for &alpha in &self.alpha {
                        let mut variant = self.training.variant(network, inducing, engine, alpha)?;
                        if let Some(lr) = self.lr {
                            positive("lr", lr).map_err(usage_of)?;
                            variant.base.train.learning_rate = lr;
                        }
                        if all.iter().any(|other| other.label() == variant.label()) {
                            return Err(usage!("{} is given twice", variant.label()));
                        }
                        all.push(variant);
                    }
                }
            }
        }
        Ok(all)
    }

    /// How learning rates are found; nothing if one is given and there is no choice to make.
    ///
    /// # Errors
    /// [`crate::exit_codes::Usage`] for no trial at all.
    pub fn search(&self) -> Result<Option<SearchSettings>> {
        let criterion = self.criterion.into();
        match self.lr {
            Some(_) if !self.choose => Ok(None),
            // A choice needs held-out scores: a search of one trial at the given rate.
            Some(lr) => {
                Ok(Some(SearchSettings { criterion, bounds: (lr, lr), trials: 1, ..SearchSettings::default() }))
            }
            None if self.trials == 0 => Err(usage!("--trials must be at least 1")),
            None => Ok(Some(SearchSettings { criterion, trials: self.trials, ..SearchSettings::default() })),
        }
    }
}

/// Options of `bench frontier`.
#[derive(Debug, Args)]
#[command(after_help = "\
Three studies in one file: frontier-inducing (GP, [1], [2], [D] over the numbers
of inducing inputs), frontier-depth (one to four hidden layers, of two units and
of D units with a linear mean) and frontier-engines (SEP, EP, ADF, joint energy
with [2]). `deepgp bench report` draws them.

Example:
  deepgp bench frontier --out frontier.jsonl --tasks boston,kin8nm --splits 0-4")]
pub struct Frontier {
    /// What all studies have.
    #[command(flatten)]
    pub study: StudyOptions,
    /// Numbers of inducing inputs per layer
    #[arg(long, value_name = "M", value_delimiter = ',', default_value = "5,10,20,50,100,200")]
    pub inducing: Vec<usize>,
    /// Numbers of inducing inputs for the comparison of engines
    #[arg(long, value_name = "M", value_delimiter = ',', default_value = "5,10,20,50")]
    pub engine_inducing: Vec<usize>,
    /// Power of power EP, in (0, 1]
    #[arg(long, value_name = "POWER", default_value_t = 1.0)]
    pub alpha: f64,
    /// Learning rate
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    pub lr: f64,
    /// How they are trained.
    #[command(flatten)]
    pub training: Training,
}

/// Options of `bench auto`.
#[derive(Debug, Args)]
#[command(after_help = "\
What `deepgp fit` does when no network is given, on the training part of each
split and scored on its test part; and where there are at most 2,000 training
rows, exact GPs with two kernels, to compare with. Every run has one thread and
is one line of JSON that says what was tried; a study that was interrupted goes
on where it was when the command is given again. When all splits of a task are
there, one more line names each that ended far below the others.

Example:
  deepgp bench auto --out auto.jsonl --tasks boston,energy1 --splits 0-4")]
pub struct Auto {
    /// What all studies have.
    #[command(flatten)]
    pub study: StudyOptions,
    /// Name of the study in the records
    #[arg(long = "study", value_name = "NAME", default_value = "auto")]
    pub name: String,
    /// Multiplies all numbers of steps
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub effort: f64,
    /// Seed of everything random
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
}

/// Options of `bench laws`.
#[derive(Debug, Args)]
#[command(after_help = "\
Three questions, each with a sparse GP and a deep one of equal budget:
- outliers: is Student-t better than Gaussian noise if 5 % of the training
  targets are gross errors?
- noise: is varying noise better than constant noise where noise varies?
- limit: are targets below a detection limit (30 % of them) better taken as
  censored than left out or given the limit's value?
Scored are clean test rows. Generated data take part in any case, data sets as
far as they are there. A table of paired differences is printed at the end.

Example:
  deepgp bench laws --out laws.jsonl --splits 0-4")]
pub struct Laws {
    /// What all studies have.
    #[command(flatten)]
    pub study: StudyOptions,
    /// Name of the study in the records
    #[arg(long = "study", value_name = "NAME", default_value = "laws")]
    pub name: String,
    /// Training steps
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub iters: usize,
}

/// Options of `bench check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs are chosen evenly over the file. A difference is an error with exit code 1.
Records made with another instruction set differ in the last bits; it is said.

Example:
  deepgp bench check record/table.jsonl.gz --runs 5")]
pub struct Check {
    /// The records
    pub records: PathBuf,
    /// How many runs to repeat
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub runs: usize,
    /// Only runs of this task
    #[arg(long, value_name = "NAME")]
    pub task: Option<Task>,
    /// Folder of the data sets [default: that of `deepgp data`]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_splits_are_read() {
        assert_eq!("0-3".parse(), Ok(SplitList(vec![0, 1, 2, 3])));
        assert_eq!("7, 2,2-3".parse(), Ok(SplitList(vec![2, 3, 7])));
        for wrong in ["", "a", "1-", "3-1", "-1", "0-99999999999"] {
            assert!(wrong.parse::<SplitList>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shards_are_read() {
        assert_eq!(shard("2/4"), Ok(Shard { index: 1, count: 4 }));
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
