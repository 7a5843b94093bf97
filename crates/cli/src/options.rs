//! What `fit` can be told, by flags or by a config file with the same names.

use crate::fault::usage;
use crate::values::{
    DecimalName, EngineName, HeaderName, KernelName, MeanName, Names, NoiseName, ScheduleName, Seconds, TransformName,
    Widths, delimiter,
};
use anyhow::{Context, Result};
use clap::{Args, Command};
use deepgp_data::ReadOptions;
use deepgp_task::Config;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What `--auto` decides on itself.
const NOT_WITH_AUTO: [&str; 14] = [
    "hidden",
    "inducing",
    "kernel",
    "mean",
    "noise",
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

/// Everything about a fit that has a default.
#[derive(Debug, Clone, PartialEq, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// The table to learn from: CSV and its kin, Parquet or Arrow, plain or gzip; "-" for standard input
    pub data: Option<PathBuf>,
    /// Columns to predict, between commas [default: the last one]
    #[arg(long, value_name = "COLS")]
    pub target: Option<Names>,
    /// Columns to predict from, between commas [default: all others]
    #[arg(long, value_name = "COLS")]
    pub features: Option<Names>,
    /// Columns to leave alone
    #[arg(long, value_name = "COLS")]
    pub exclude: Option<Names>,
    /// Columns whose numbers are names, such as postal codes
    #[arg(long, value_name = "COLS")]
    pub categorical: Option<Names>,
    /// Choose the model itself, as is done when nothing is said of the network and its training: sparse, exact and deep GPs are
    /// compared by cross-validation on the training rows, and the best are mixed; --time ends the search early
    #[arg(long, conflicts_with_all = NOT_WITH_AUTO, help_heading = "Automatic")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// Of a search: most models in the mixture besides constant and linear ones, 1 for the best alone [default: 5]
    #[arg(long, value_name = "K", help_heading = "Automatic")]
    pub ensemble: Option<usize>,
    /// Of a search: multiplies all numbers of steps [default: 1]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, help_heading = "Automatic")]
    pub effort: Option<f64>,
    /// The network and its training
    #[command(flatten)]
    #[serde(flatten)]
    pub model: ModelOptions,
    /// Train on a transform of the targets; predictions and densities are still those of the targets. A search decides on it
    /// itself [default: none]
    #[arg(long, value_enum, value_name = "TRANSFORM", help_heading = "Training")]
    pub transform: Option<TransformName>,
    /// Multiply predicted standard deviations by the factor that suits the held-out rows best; the factor is recorded
    #[arg(long, help_heading = "Training")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recalibrate: bool,
    /// Passes over the data, instead of steps
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "iters", help_heading = "Training")]
    pub epochs: Option<f64>,
    /// Time to train for, such as 90s, 5m or 1h, instead of steps
    #[arg(long, value_name = "TIME", conflicts_with_all = ["iters", "epochs"], help_heading = "Training")]
    pub time: Option<Seconds>,
    /// Share of the rows that is held out, to choose the best moment of training and to score it; 0 for none [default: 0.1]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "Training")]
    pub valid: Option<f64>,
    /// The model file [default: model.deepgp]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How often the run is stored beside the model file, so that it can be resumed; 0 for never [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub checkpoint: Option<Seconds>,
    /// How the table is written
    #[command(flatten)]
    #[serde(flatten)]
    pub table: TableOptions,
}

/// How a text table is written; Parquet and Arrow need none of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct TableOptions {
    /// Whether the first row holds the names of the columns [default: auto]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "auto|yes|no", help_heading = "Text tables")]
    pub header: Option<HeaderName>,
    /// What stands between fields: a character, tab or space [default: found out]
    #[arg(long, value_parser = delimiter, value_name = "C", help_heading = "Text tables")]
    pub delimiter: Option<char>,
    /// The decimal mark [default: point]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "point|comma", help_heading = "Text tables")]
    pub decimal: Option<DecimalName>,
}

impl TableOptions {
    /// For the reader.
    pub fn read_options(&self) -> ReadOptions {
        let plain = ReadOptions::default();
        ReadOptions {
            header: self.header.map_or(plain.header, Into::into),
            delimiter: self.delimiter,
            decimal: self.decimal.map_or(plain.decimal, Into::into),
        }
    }
}

/// The network and its training; what is not said is as in [`Config::default`].
#[derive(Debug, Clone, PartialEq, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ModelOptions {
    /// Widths of hidden layers, such as 2 or 8,8; 0 for a sparse GP [default: 2]
    #[arg(long, value_name = "WIDTHS", help_heading = "Network")]
    pub hidden: Option<Widths>,
    /// Inducing inputs per layer [default: 50]
    #[arg(long, value_name = "M", help_heading = "Network")]
    pub inducing: Option<usize>,
    /// Kernel of every layer [default: eq]
    #[arg(long, value_enum, value_name = "KERNEL", help_heading = "Network")]
    pub kernel: Option<KernelName>,
    /// Mean of hidden layers [default: zero]
    #[arg(long, value_enum, value_name = "MEAN", help_heading = "Network")]
    pub mean: Option<MeanName>,
    /// Observation noise [default: gaussian]
    #[arg(long, value_enum, value_name = "NOISE", help_heading = "Network")]
    pub noise: Option<NoiseName>,
    /// Inference engine [default: sep]
    #[arg(long, value_enum, value_name = "ENGINE", help_heading = "Training")]
    pub engine: Option<EngineName>,
    /// Power of power EP, in (0, 1] [default: 0.7]
    #[arg(long, value_name = "POWER", allow_negative_numbers = true, help_heading = "Training")]
    pub alpha: Option<f64>,
    /// Step of site updates, in (0, 1] [default: what suits the engine]
    #[arg(long, value_name = "STEP", allow_negative_numbers = true, help_heading = "Training")]
    pub damping: Option<f64>,
    /// Learning rate of Adam [default: 0.005]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, help_heading = "Training")]
    pub lr: Option<f64>,
    /// Course of the learning rate [default: cosine]
    #[arg(long, value_enum, value_name = "COURSE", help_heading = "Training")]
    pub schedule: Option<ScheduleName>,
    /// Training steps [default: 4000]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub iters: Option<usize>,
    /// Rows per step [default: 100]
    #[arg(long, value_name = "B", help_heading = "Training")]
    pub batch: Option<usize>,
    /// Seed of everything random [default: 0]
    #[arg(long, value_name = "SEED", help_heading = "Training")]
    pub seed: Option<u64>,
    /// Threads [default: all cores if the batch is 256 or more, else 1]
    #[arg(long, value_name = "T", help_heading = "Training")]
    pub threads: Option<usize>,
}

/// As many threads as were asked for, or as there are cores.
///
/// # Errors
/// [`crate::fault::Usage`] for a number that cannot be meant.
pub fn threads(given: Option<usize>) -> Result<usize> {
    const MOST: usize = 1024;
    match given {
        Some(0) => Err(usage!("--threads must be at least 1")),
        Some(threads) if threads > MOST => Err(usage!("--threads must be at most {MOST}, not {threads}")),
        Some(threads) => Ok(threads),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from).min(MOST)),
    }
}

/// From this many rows a step on, threads pay.
const ROWS_FOR_THREADS: usize = 256;

impl ModelOptions {
    /// The configuration these options stand for.
    ///
    /// # Errors
    /// [`crate::fault::Usage`] for a number outside of its range.
    pub fn config(&self) -> Result<Config> {
        let mut config = Config::default();
        let (shape, train) = (&mut config.architecture, &mut config.train);
        set(&mut shape.hidden, self.hidden.as_ref().map(|widths| widths.0.clone()));
        set(&mut shape.n_inducing, self.inducing);
        set(&mut shape.kernel, self.kernel.map(Into::into));
        set(&mut shape.mean, self.mean.map(Into::into));
        set(&mut config.noise, self.noise.map(Into::into));
        set(&mut train.inference, self.engine.map(|name| deepgp::infer::InferenceSettings::of(name.into())));
        set(&mut train.inference.alpha, self.alpha);
        set(&mut train.inference.damping, self.damping);
        set(&mut train.learning_rate, self.lr);
        set(&mut train.schedule, self.schedule.map(Into::into));
        set(&mut train.iterations, self.iters);
        set(&mut train.batch_size, self.batch);
        set(&mut train.seed, self.seed);
        let pays = train.batch_size >= ROWS_FOR_THREADS;
        train.threads = threads(if pays { self.threads } else { Some(self.threads.unwrap_or(1)) })?;

        let whole = |name, value: usize| if value > 0 { Ok(()) } else { Err(usage!("--{name} must be at least 1")) };
        whole("inducing", shape.n_inducing)?;
        whole("iters", train.iterations)?;
        whole("batch", train.batch_size)?;
        if i64::try_from(train.seed).is_err() {
            // What config files can say.
            return Err(usage!("--seed must be at most {}, not {}", i64::MAX, train.seed));
        }
        share("alpha", train.inference.alpha)?;
        share("damping", train.inference.damping)?;
        positive("lr", train.learning_rate)?;
        if shape.hidden.contains(&0) {
            return Err(usage!("--hidden must be widths of at least 1, or 0 alone for a sparse GP"));
        }
        Ok(config)
    }

    /// The options that say all of a configuration.
    pub fn of(config: &Config) -> Self {
        let Config { architecture, noise, train } = config;
        Self {
            hidden: Some(Widths(architecture.hidden.clone())),
            inducing: Some(architecture.n_inducing),
            kernel: Some(architecture.kernel.into()),
            mean: Some(architecture.mean.into()),
            noise: Some((*noise).into()),
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
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Checks that an option lies in (0, 1].
fn share(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value <= 1.0 { Ok(()) } else { Err(usage!("--{name} must lie in (0, 1], not {value}")) }
}

/// Checks that an option is positive.
pub fn positive(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(usage!("--{name} must be positive, not {value}")) }
}

/// Options of which only one can decide on the length of a run.
const LENGTHS: [&str; 3] = ["iters", "epochs", "time"];

impl Options {
    /// These options, and where they say nothing those of a config file.
    ///
    /// # Errors
    /// What is wrong with the file, with the line and a hint.
    pub fn over_file(self, path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.over_text(&text, path)
    }

    fn over_text(self, text: &str, path: &Path) -> Result<Self> {
        let file = path.display();
        let mut table: toml::Table = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(1, |span| line_at(text, span.start));
            usage!("{file}, line {line}: {}", e.message())
        })?;
        for (key, value) in &table {
            let line = line_of(text, key);
            check_key(key).map_err(|hint| usage!("{file}, line {line}: unknown setting '{key}'{hint}"))?;
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            alone.try_into::<Self>().map_err(|e| usage!("{file}, line {line}: {key}: {}", e.message()))?;
        }
        if let [first, second, ..] = LENGTHS.iter().filter(|key| table.contains_key(**key)).collect::<Vec<_>>()[..] {
            return Err(usage!("{file}: '{first}' and '{second}' cannot both decide on the length of training"));
        }
        let flags =
            toml::Table::try_from(&self).map_err(|e| usage!("the options cannot go with a config file: {e}"))?;
        if LENGTHS.iter().any(|key| flags.contains_key(*key)) {
            LENGTHS.iter().for_each(|key| drop(table.remove(*key)));
        }
        table.extend(flags);
        table.try_into().map_err(|e| usage!("{file}: {}", e.message()))
    }
}

/// A hint if there is no such setting.
fn check_key(key: &str) -> std::result::Result<(), String> {
    let command = Options::augment_args(Command::new("fit"));
    let known: Vec<&str> = command.get_arguments().map(|a| a.get_long().unwrap_or("data")).collect();
    if known.contains(&key) {
        return Ok(());
    }
    let nearest = known.iter().map(|name| (strsim::osa_distance(key, name), name)).min();
    Err(match nearest {
        Some((distance, name)) if distance <= 2 => format!("; did you mean '{name}'?"),
        _ => format!("; there are {}", known.join(", ")),
    })
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|b| *b == b'\n').count()
}

/// The line on which a key is set.
fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'', '[']);
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(['=', '.', ']']))
    };
    1 + text.lines().position(sets).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(flags: Options, text: &str) -> Result<Options> {
        flags.over_text(text, Path::new("fit.toml"))
    }

    fn fault(text: &str) -> String {
        over(Options::default(), text).map_or_else(|e| format!("{e:#}"), |o| format!("no fault: {o:?}"))
    }

    #[test]
    fn flags_come_before_the_file() -> Result<()> {
        let mut flags = Options { epochs: Some(3.0), ..Options::default() };
        flags.model.alpha = Some(0.5);
        let text = "target = \"a,b\"\nhidden = [8, 8]\nalpha = 1\niters = 10\ncheckpoint = \"5m\"\nlr = 1\ndelimiter = \";\"\n";
        let options = over(flags, text)?;
        assert_eq!(options.target, Some(Names(vec!["a".into(), "b".into()])));
        assert_eq!((options.model.alpha, options.model.lr), (Some(0.5), Some(1.0)));
        assert_eq!((options.epochs, options.model.iters), (Some(3.0), None));
        assert_eq!((options.checkpoint, options.table.delimiter), (Some(Seconds(300.0)), Some(';')));
        assert_eq!(options.model.hidden, Some(Widths(vec![8, 8])));
        Ok(())
    }

    #[test]
    fn faults_of_a_file_say_where_they_are() {
        assert_eq!(
            fault("alpha = 1\nhiden = 2\n"),
            "fit.toml, line 2: unknown setting 'hiden'; did you mean 'hidden'?"
        );
        assert!(
            fault("alpha = 1\n\nlr = \"fast\"\n").starts_with("fit.toml, line 3: lr: invalid type"),
            "{}",
            fault("lr = \"fast\"")
        );
        assert!(
            fault("time = \"soon\"").contains("line 1: time: 'soon' is not a time"),
            "{}",
            fault("time = \"soon\"")
        );
        assert!(fault("alpha = \n").starts_with("fit.toml, line 1: "));
        assert!(fault("iters = 5\ntime = 3\n").contains("'iters' and 'time' cannot both"));
        assert!(fault("zzzzzzzz = 1").contains("there are data, target"));
    }

    #[test]
    fn help_tells_the_true_defaults() -> Result<()> {
        let command = Options::augment_args(Command::new("fit"));
        // Of a search, and of a network that is given.
        let search = Options { data: Some("t.csv".into()), ..Options::default() };
        let mut given = search.clone();
        given.model.iters = Some(Config::default().train.iterations);
        let resolved = |options: &Options| -> Result<serde_json::Value> {
            Ok(serde_json::to_value(crate::plan::Plan::resolve(options)?.options())?)
        };
        let (search, given) = (resolved(&search)?, resolved(&given)?);
        let mut told = 0;
        for argument in command.get_arguments() {
            let (Some(name), Some(help)) = (argument.get_long(), argument.get_help()) else { continue };
            let Some((_, default)) = help
                .to_string()
                .trim_end_matches(']')
                .rsplit_once("[default: ")
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
            else {
                continue;
            };
            let setting = if given[name].is_null() { &search[name] } else { &given[name] };
            let expected = match setting {
                serde_json::Value::Null => continue,
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Array(list) => list.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
                value => value.to_string(),
            };
            let (free, whole) = (["damping", "threads"].contains(&name), expected.trim_end_matches(".0"));
            assert!(
                free || [expected.as_str(), whole, &format!("{whole}s")].contains(&default.as_str()),
                "--{name}: {default} is {expected}"
            );
            told += 1;
        }
        assert!(told >= 15, "only {told}");
        Ok(())
    }

    #[test]
    fn options_and_configurations_say_the_same() -> Result<()> {
        let mut config = Config::default();
        config.architecture.hidden = vec![3, 4];
        config.train.inference.alpha = 0.25;
        assert_eq!(ModelOptions::of(&config).config()?, config);
        assert_eq!(ModelOptions::default().config()?, Config::default());
        Ok(())
    }
}
