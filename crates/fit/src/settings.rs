//! The settings of a fit: one value for every front door, for config files and for checkpoints.

use crate::error::SettingsError;
use crate::names::{
    DecimalName, EngineName, HeaderName, KernelName, LikelihoodName, MeanName, ScheduleName, TaskName, TransformName,
};
#[cfg(feature = "clap")]
use crate::values::delimiter;
use crate::values::{Names, Seconds, Valid, Widths};
use deepgp::infer::InferenceSettings;
use deepgp_data::ReadOptions;
use deepgp_task::Config;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What `--auto` decides on itself.
#[cfg(feature = "clap")]
const NOT_WITH_AUTO: [&str; 14] = [
    "hidden",
    "inducing",
    "kernel",
    "mean",
    "likelihood",
    "engine",
    "alpha",
    "damping",
    "lr",
    "schedule",
    "iters",
    "batch",
    "epochs",
    "transform",
];

/// All that can be said of a fit, by the names that command line, config files and keyword arguments share. What is not
/// said has a default: [`Plan::new`](crate::Plan::new) fills it in and checks the rest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(rename_all = "kebab-case", default)]
pub struct FitSettings {
    /// The table to learn from: CSV and its kin, Parquet or Arrow, plain or gzip; "-" for standard input
    pub data: Option<PathBuf>,
    /// Columns to predict, between commas [default: the last one]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLS"))]
    pub target: Option<Names>,
    /// Columns to predict from, between commas [default: all others]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLS"))]
    pub features: Option<Names>,
    /// Columns to leave alone
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLS"))]
    pub exclude: Option<Names>,
    /// Columns whose numbers are names, such as postal codes
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLS"))]
    pub categorical: Option<Names>,
    /// What the target is [default: found out, and said]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "TASK"))]
    pub task: Option<TaskName>,
    /// The second of two classes, the one whose probability stands last [default: yes, true or 1, else the last by name]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LABEL"))]
    pub positive: Option<String>,
    /// Labels of the target in their order, between commas, from the lowest on
    #[cfg_attr(feature = "clap", arg(long, value_name = "LABELS"))]
    pub levels: Option<Names>,
    /// Choose the model itself, as is done when nothing is said of the network and its training: sparse, exact and deep
    /// GPs are compared by cross-validation on the training rows, and the best are mixed; --time ends the search early
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = NOT_WITH_AUTO, help_heading = "Automatic"))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// In a search: most models in the mixture besides constant and linear ones, 1 for the best alone [default: 5]
    #[cfg_attr(feature = "clap", arg(long, value_name = "K", help_heading = "Automatic"))]
    pub ensemble: Option<usize>,
    /// In a search: multiplies all numbers of steps [default: 1]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FACTOR", allow_negative_numbers = true, help_heading = "Automatic")
    )]
    pub effort: Option<f64>,
    /// The network and its training
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub model: ModelSettings,
    /// Train on a transform of the targets; predictions and densities are still those of the targets. A search decides
    /// on it itself [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "TRANSFORM", help_heading = "Training"))]
    pub transform: Option<TransformName>,
    /// Multiply predicted standard deviations by the factor that suits the held-out rows best; the factor is recorded
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Training"))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recalibrate: bool,
    /// Passes over the data, instead of steps
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "E",
            allow_negative_numbers = true,
            conflicts_with = "iters",
            help_heading = "Training"
        )
    )]
    pub epochs: Option<f64>,
    /// Time to train for, such as 90s, 5m or 1h, instead of steps
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", conflicts_with_all = ["iters", "epochs"], help_heading = "Training")
    )]
    pub time: Option<Seconds>,
    /// What is held out, to choose the best moment of training and to score it: a share of the rows, 0 for none, or
    /// another table [default: 0.1]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SHARE|FILE", allow_negative_numbers = true, help_heading = "Training")
    )]
    pub valid: Option<Valid>,
    /// Columns that say more of rows
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub rows: RowSettings,
    /// The model file [default: model.deepgp]
    #[cfg_attr(feature = "clap", arg(long, short, value_name = "FILE"))]
    pub out: Option<PathBuf>,
    /// How often the run is stored beside the model file, so that it can be resumed; 0 for never [default: 60s]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    pub checkpoint: Option<Seconds>,
    /// How the table is written
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(flatten)]
    pub table: TableSettings,
}

/// The network and its training; what is not said is as in [`Config::default`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(rename_all = "kebab-case", default)]
pub struct ModelSettings {
    /// Widths of hidden layers, such as 2 or 8,8; 0 for a sparse GP [default: 2]
    #[cfg_attr(feature = "clap", arg(long, value_name = "WIDTHS", help_heading = "Network"))]
    pub hidden: Option<Widths>,
    /// Inducing inputs per layer [default: 50]
    #[cfg_attr(feature = "clap", arg(long, value_name = "M", help_heading = "Network"))]
    pub inducing: Option<usize>,
    /// Kernel of every layer [default: eq]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "KERNEL", help_heading = "Network"))]
    pub kernel: Option<KernelName>,
    /// Mean of hidden layers [default: zero]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "MEAN", help_heading = "Network"))]
    pub mean: Option<MeanName>,
    /// Observation model, also called noise [default: what suits the target]
    #[cfg_attr(
        feature = "clap",
        arg(long, visible_alias = "noise", value_enum, value_name = "MODEL", help_heading = "Network")
    )]
    #[serde(alias = "noise")]
    pub likelihood: Option<LikelihoodName>,
    /// Inference engine [default: sep]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "ENGINE", help_heading = "Training"))]
    pub engine: Option<EngineName>,
    /// Power of power EP, in (0, 1] [default: 0.7]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "POWER", allow_negative_numbers = true, help_heading = "Training")
    )]
    pub alpha: Option<f64>,
    /// Damping: step of site updates, in (0, 1] [default: what suits the engine]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RHO", allow_negative_numbers = true, help_heading = "Training")
    )]
    pub damping: Option<f64>,
    /// Learning rate of Adam [default: 0.005]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RATE", allow_negative_numbers = true, help_heading = "Training")
    )]
    pub lr: Option<f64>,
    /// Learning-rate schedule [default: cosine]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "SCHEDULE", help_heading = "Training"))]
    pub schedule: Option<ScheduleName>,
    /// Training steps [default: 4000]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Training"))]
    pub iters: Option<usize>,
    /// Rows per step [default: 100]
    #[cfg_attr(feature = "clap", arg(long, value_name = "B", help_heading = "Training"))]
    pub batch: Option<usize>,
    /// Seed of everything random [default: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SEED", help_heading = "Training"))]
    pub seed: Option<u64>,
    /// Threads [default: all cores if the batch is 256 or more, else 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", help_heading = "Training"))]
    pub threads: Option<usize>,
}

/// Columns that are no inputs and say something else of rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(rename_all = "kebab-case", default)]
pub struct RowSettings {
    /// How many rows a row counts as
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub weight: Option<String>,
    /// Rows with the same value stay together in folds and in what is held out
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub group: Option<String>,
    /// When rows were observed: folds and what is held out are the latest rows. It is an input, too
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub time_column: Option<String>,
    /// What a count is in proportion to, such as a length of time or a number of people
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub exposure: Option<String>,
    /// Known standard deviation of the target, beside the noise that is learnt
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub noise_std: Option<String>,
    /// What is only a bound: empty or 0 for a target that was seen, 1, right or > for one that is larger than its cell
    /// (a time not yet ended), left or < for one that is smaller (a detection limit)
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub censored: Option<String>,
    /// What the target is at least; an empty cell is an open end
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub lower: Option<String>,
    /// What the target is at most
    #[cfg_attr(feature = "clap", arg(long, value_name = "COL", help_heading = "Columns of rows"))]
    pub upper: Option<String>,
    /// Columns that are carried through to the predictions, between commas
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLS", help_heading = "Columns of rows"))]
    pub keep: Option<Names>,
}

/// How a text table is written; Parquet and Arrow need none of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(rename_all = "kebab-case", default)]
pub struct TableSettings {
    /// Whether the first row holds the names of the columns [default: auto]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_enum, hide_possible_values = true, value_name = "auto|yes|no", help_heading = "Text tables")
    )]
    pub header: Option<HeaderName>,
    /// What stands between fields: a character, tab or space [default: found out]
    #[cfg_attr(feature = "clap", arg(long, value_parser = delimiter, value_name = "C", help_heading = "Text tables"))]
    pub delimiter: Option<char>,
    /// The decimal mark [default: point]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_enum, hide_possible_values = true, value_name = "point|comma", help_heading = "Text tables")
    )]
    pub decimal: Option<DecimalName>,
}

impl TableSettings {
    /// For the reader.
    pub fn read_options(&self) -> ReadOptions {
        let plain = ReadOptions::default();
        ReadOptions {
            header: self.header.map_or(plain.header, Into::into),
            delimiter: self.delimiter,
            decimal: self.decimal.map_or(plain.decimal, Into::into),
        }
    }

    /// The settings of a reader.
    pub(crate) fn of(read: &ReadOptions) -> Self {
        Self { header: Some(read.header.into()), delimiter: read.delimiter, decimal: Some(read.decimal.into()) }
    }
}

impl ModelSettings {
    /// The configuration that these settings stand for.
    ///
    /// # Errors
    /// [`SettingsError::OutOfRange`].
    pub fn config(&self) -> Result<Config, SettingsError> {
        let mut config = Config::default();
        let (shape, train) = (&mut config.architecture, &mut config.train);
        set(&mut shape.hidden, self.hidden.as_ref().map(|widths| widths.0.clone()));
        set(&mut shape.n_inducing, self.inducing);
        set(&mut shape.kernel, self.kernel.map(Into::into));
        set(&mut shape.mean, self.mean.map(Into::into));
        set(&mut config.likelihood, self.likelihood.map(Into::into));
        set(&mut train.inference, self.engine.map(|name| InferenceSettings::of(name.into())));
        set(&mut train.inference.alpha, self.alpha);
        set(&mut train.inference.damping, self.damping);
        set(&mut train.learning_rate, self.lr);
        set(&mut train.schedule, self.schedule.map(Into::into));
        set(&mut train.iterations, self.iters);
        set(&mut train.batch_size, self.batch);
        set(&mut train.seed, self.seed);
        let pays = train.batch_size >= ROWS_FOR_THREADS;
        train.threads = threads(if pays { self.threads } else { Some(self.threads.unwrap_or(1)) })?;

        at_least_one("inducing", shape.n_inducing)?;
        at_least_one("iters", train.iterations)?;
        at_least_one("batch", train.batch_size)?;
        // What config files can say.
        expect("seed", i64::try_from(train.seed).is_ok(), || format!("be at most {}, not {}", i64::MAX, train.seed))?;
        share("alpha", train.inference.alpha)?;
        share("damping", train.inference.damping)?;
        positive("lr", train.learning_rate)?;
        let no_empty = !shape.hidden.contains(&0);
        expect("hidden", no_empty, || "be widths of at least 1, or 0 alone for a sparse GP".to_owned())?;
        Ok(config)
    }

    /// The settings that say all of a configuration.
    pub fn of(config: &Config) -> Self {
        let Config { architecture, likelihood, train } = config;
        Self {
            hidden: Some(Widths(architecture.hidden.clone())),
            inducing: Some(architecture.n_inducing),
            kernel: Some(architecture.kernel.into()),
            mean: Some(architecture.mean.into()),
            likelihood: Some((*likelihood).into()),
            engine: Some(train.inference.engine.into()),
            alpha: Some(train.inference.alpha),
            damping: Some(train.inference.damping),
            lr: Some(train.learning_rate),
            schedule: Some(train.schedule.into()),
            iters: Some(train.iterations),
            batch: Some(train.batch_size),
            seed: Some(train.seed),
            threads: Some(train.threads),
        }
    }

    /// Whether nothing is said of the network and its training but seed and threads.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self { seed: self.seed, threads: self.threads, ..Self::default() }
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// From this many rows a step on, threads pay.
const ROWS_FOR_THREADS: usize = 256;

/// As many threads as were asked for, or as there are cores.
///
/// # Errors
/// [`SettingsError::OutOfRange`] for a number that cannot be meant.
pub fn threads(given: Option<usize>) -> Result<usize, SettingsError> {
    const MOST: usize = 1024;
    match given {
        Some(threads) => {
            at_least_one("threads", threads)?;
            expect("threads", threads <= MOST, || format!("be at most {MOST}, not {threads}"))?;
            Ok(threads)
        }
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from).min(MOST)),
    }
}

/// Checks that a setting is positive.
///
/// # Errors
/// [`SettingsError::OutOfRange`].
pub fn positive(name: &'static str, value: f64) -> Result<(), SettingsError> {
    expect(name, value > 0.0 && value.is_finite(), || format!("be positive, not {value}"))
}

/// Checks that a setting lies in (0, 1].
fn share(name: &'static str, value: f64) -> Result<(), SettingsError> {
    expect(name, value > 0.0 && value <= 1.0, || format!("lie in (0, 1], not {value}"))
}

pub(crate) fn at_least_one(name: &'static str, value: usize) -> Result<(), SettingsError> {
    expect(name, value > 0, || "be at least 1".to_owned())
}

/// The error that a setting must be so, unless it is.
pub(crate) fn expect(name: &'static str, is_so: bool, must: impl FnOnce() -> String) -> Result<(), SettingsError> {
    if is_so { Ok(()) } else { Err(SettingsError::OutOfRange { name, must: must() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_configurations_say_the_same() -> Result<(), SettingsError> {
        let mut config = Config::default();
        config.architecture.hidden = vec![3, 4];
        config.train.inference.alpha = 0.25;
        assert_eq!(ModelSettings::of(&config).config()?, config);
        assert_eq!(ModelSettings::default().config()?, Config::default());
        Ok(())
    }
}
