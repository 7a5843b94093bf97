//! The arguments of the command line.

use crate::bench::options::{Auto, Check, Frontier, Laws, SplitList, Table};
use crate::bench::report_options::ReportOptions;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use deepgp_fit::{FitSettings, ModelSettings, TableSettings};
use std::path::PathBuf;

const OVERVIEW: &str = "\
Examples:
  deepgp demo                                     try it on built-in data
  deepgp fit homes.csv --target price             learn; writes model.deepgp
  deepgp predict model.deepgp new.csv -o out.csv  what is predicted of each row
  deepgp score model.deepgp test.csv              how good it is, beside simpler models
  deepgp show model.deepgp                        what it has learnt, in words
  deepgp report model.deepgp test.csv             the same in figures, as one HTML page
  deepgp data list                                benchmark data sets by name

Exit codes: 0 done, 1 error, 2 not understood, 130 interrupted after all was saved.
Results go to standard output, everything else to standard error.";

/// Deep Gaussian processes: predictions with uncertainty, learnt from tables.
#[derive(Debug, Parser)]
#[command(name = "deepgp", version, about, after_help = OVERVIEW, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn a model from a table
    Fit(Box<Fit>),
    /// Predict the rows of a table: numbers with intervals, or labels with probabilities
    Predict(Predict),
    /// Score a model on a table that has the targets
    Score(Score),
    /// Say what a model is and what it has learnt
    Show(Show),
    /// Write a report with figures as one HTML page
    Report(Report),
    /// Train a sparse GP and a deep GP on built-in data and compare them
    Demo(Demo),
    /// Get benchmark data sets by name
    #[command(subcommand)]
    Data(Data),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
    /// Benchmarks
    #[command(subcommand)]
    Bench(Bench),
}

const FIT_EXAMPLES: &str = "\
Examples:
  deepgp fit homes.csv --target price
  deepgp fit homes.csv --target price --hidden 8,8 --time 5m --out homes.deepgp
  deepgp fit homes.csv --target price --dry-run > homes.toml
  deepgp fit --config homes.toml --seed 2
  deepgp fit --resume homes.deepgp.checkpoint
  zcat big.csv.gz | deepgp fit - --target y --epochs 5 --batch 1000

Ctrl-C stops training, saves the best model so far and keeps the checkpoint.
The same command, data and seed give the same model to the last bit on the
same machine, resumed or not, unless --time ends it.";

/// Options of `fit`.
#[derive(Debug, ClapArgs)]
#[command(after_help = FIT_EXAMPLES)]
pub struct Fit {
    /// What has a default.
    #[command(flatten)]
    pub settings: FitSettings,
    /// Take settings from this TOML file, with the names of the options here; options given here come first
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Go on with an interrupted run, from its checkpoint [default file: that of --out]
    #[arg(long, value_name = "CHECKPOINT", num_args = 0..=1, conflicts_with = "config")]
    pub resume: Option<Option<PathBuf>>,
    /// Say what would be done, as a config file (or with --json as JSON), and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of `predict`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Columns: row (from 1), then for each target NAME_mean, NAME_std, NAME_lower
and NAME_upper: mean, deviation and quantiles of the predicted distribution,
noise included. Classes have NAME_label and NAME_p_LABEL for each label, levels
both.

Examples:
  deepgp predict model.deepgp new.csv -o predictions.csv
  zcat new.csv.gz | deepgp predict model.deepgp - --interval 0.8 | head")]
pub struct Predict {
    /// The model file
    pub model: PathBuf,
    /// The table; the model finds its columns by name. "-" for standard input
    pub data: PathBuf,
    /// Where to write: CSV, or TSV if the name ends in .tsv [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Probability of the interval
    #[arg(long, value_name = "P", default_value_t = 0.95, allow_negative_numbers = true)]
    pub interval: f64,
    /// Add the log density of each row's targets, in nats; rows without them stay empty
    #[arg(long)]
    pub log_density: bool,
    /// Print one JSON object: the predictions, or with --out a summary
    #[arg(long)]
    pub json: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub threads: Option<usize>,
    /// Print no notices
    #[arg(long, short)]
    pub quiet: bool,
    /// How the table is written.
    #[command(flatten)]
    pub table: TableSettings,
}

/// Options of `score`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Compared with: constant, the normal distribution of the training targets, and
linear, a linear model of the training rows. With several targets, errors and
coverages are averages over them, and the log density is joint.

Example:
  deepgp score model.deepgp test.csv --json")]
pub struct Score {
    /// The model file
    pub model: PathBuf,
    /// The table, with the targets. "-" for standard input
    pub data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub threads: Option<usize>,
    /// Print no notices
    #[arg(long, short)]
    pub quiet: bool,
    /// How the table is written.
    #[command(flatten)]
    pub table: TableSettings,
}

/// Options of `show`.
#[derive(Debug, ClapArgs)]
pub struct Show {
    /// The model file
    pub model: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `report`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  deepgp report model.deepgp test.csv -o report.html --figures figures

Of large tables a random choice of 50,000 rows is shown; the page says so.")]
pub struct Report {
    /// The model file
    pub model: PathBuf,
    /// The table, with the targets; best one that the model has not seen. "-" for standard input
    pub data: PathBuf,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// Write the figures as SVG and PNG files into this folder, too
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// The title of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub threads: Option<usize>,
    /// Print no notices
    #[arg(long, short)]
    pub quiet: bool,
    /// How the table is written.
    #[command(flatten)]
    pub table: TableSettings,
}

/// Options of `demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// The folder for tables, models and reports
    #[arg(long, short, value_name = "DIR", default_value = "deepgp-demo")]
    pub out: PathBuf,
    /// Training steps for each model
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub iters: usize,
    /// Seed of data, start and minibatches
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What to do with benchmark data sets.
#[derive(Debug, Subcommand)]
pub enum Data {
    /// List the available sets
    List(DataList),
    /// Download sets from their public homes
    Fetch(DataFetch),
    /// Take sets from a folder that you have
    Import(DataImport),
    /// Print where the table of a set is
    Path(DataPath),
    /// Write a table of a known function with noise, to try things on
    Make(DataMake),
}

/// Functions that tables can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FunctionName {
    /// A step; one input
    Step,
    /// A sine whose frequency jumps fivefold; one input
    SineJump,
    /// A ridge with a sharp crest along a curve; two inputs
    Ridge,
    /// The flow through a borehole; eight inputs
    Borehole,
}

/// Options of `data make`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  deepgp data make step -o step.csv && deepgp fit step.csv")]
pub struct DataMake {
    /// The function
    #[arg(value_enum, value_name = "FUNCTION")]
    pub function: FunctionName,
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub rows: usize,
    /// Standard deviation of the noise [default: a tenth of the target's own, about]
    #[arg(long, value_name = "STD", allow_negative_numbers = true)]
    pub noise: Option<f64>,
    /// Seed of inputs and noise
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// The table [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Where benchmark data sets are kept.
#[derive(Debug, ClapArgs)]
pub struct DataFolder {
    /// Where sets are kept [default: $DEEPGP_DATA, or deepgp/data in the user's data folder]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// Options of `data list`.
#[derive(Debug, ClapArgs)]
pub struct DataList {
    /// Where sets are kept.
    #[command(flatten)]
    pub folder: DataFolder,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `data fetch`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Every set is recognised by a checksum of its values. A download that was cut
off is gone on with by the same command. Where the public homes are out of
reach, DEEPGP_MIRROR can name a server that has the same files under the same
paths, such as http://mirror.example/sets.

Example:
  deepgp data fetch boston concrete")]
pub struct DataFetch {
    /// The sets
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Download sets that are here already, too
    #[arg(long)]
    pub force: bool,
    /// Where sets are kept.
    #[command(flatten)]
    pub folder: DataFolder,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of `data import`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The folder holds a folder for each set, called as the set is, or the files of
one set: data.csv (features, then targets) and, unless they are made by rule,
splits.csv (the test rows of a split on each line), both perhaps with .gz.

Example:
  deepgp data import downloads/uci")]
pub struct DataImport {
    /// The folder
    #[arg(value_name = "DIR")]
    pub from: PathBuf,
    /// Only these sets [default: all that are found]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Where sets are kept.
    #[command(flatten)]
    pub folder: DataFolder,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no notices
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of `data path`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  deepgp fit $(deepgp data path boston) --target MEDV")]
pub struct DataPath {
    /// The set
    pub name: String,
    /// Where sets are kept.
    #[command(flatten)]
    pub folder: DataFolder,
}

/// Options of `completions`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  deepgp completions bash > ~/.local/share/bash-completion/completions/deepgp")]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// Options of `man`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  deepgp man > deepgp.1
  deepgp man fit > deepgp-fit.1")]
pub struct Man {
    /// A command, for its own page
    pub command: Option<String>,
}

/// Measurements.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Train and score on given splits of a data set
    Splits(Box<Splits>),
    /// Time training steps and predictions over a grid of sizes
    Speed(Speed),
    /// Run the paper's table, or another: tasks × networks × splits, with a search for the learning rate
    Table(Box<Table>),
    /// Run accuracy against time: numbers of inducing inputs, depths, engines
    Frontier(Box<Frontier>),
    /// Run the automatic mode on splits of data sets, beside exact GPs
    Auto(Auto),
    /// Run likelihoods beside plain ones: outliers, noise that varies, a detection limit
    Laws(Laws),
    /// Repeat some recorded runs and compare every bit
    Check(Check),
    /// Turn records of experiments into tables and figures
    Report(Box<ReportOptions>),
}

/// Options of `bench speed`.
#[derive(Debug, ClapArgs)]
pub struct Speed {
    /// Rows of the generated data; several, such as 10000,3000000, are timed alternately, and held in memory together.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000])]
    pub rows: Vec<usize>,
    /// Input columns.
    #[arg(long, value_delimiter = ',', default_values_t = [13])]
    pub inputs: Vec<usize>,
    /// Hidden widths; give it several times for several networks, such as --hidden 2 --hidden 8,8.
    #[arg(long, default_values = ["2"])]
    pub hidden: Vec<String>,
    /// Inducing inputs.
    #[arg(long, value_delimiter = ',', default_values_t = [50])]
    pub inducing: Vec<usize>,
    /// Rows per step.
    #[arg(long, value_delimiter = ',', default_values_t = [50])]
    pub batch: Vec<usize>,
    /// Threads; several, such as 1,2, are timed alternately.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    pub threads: Vec<usize>,
    /// Seconds to measure each size for.
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
    /// Steps before those that are timed. The first ones on a large table take longer: their sites often have to be
    /// halved.
    #[arg(long, default_value_t = 20)]
    pub warm_up: usize,
    /// Time another library in the same run: its script and a Python that has it, such as
    /// peer_gpytorch.py=venv/bin/python; may be given several times. Takes the place of the grid.
    #[arg(long, value_name = "SCRIPT=PYTHON")]
    pub peer: Vec<String>,
    /// Only train for exactly this many steps at each size, without a clock: for tools that count instructions.
    #[arg(long)]
    pub steps: Option<usize>,
    /// Steps that a peer is timed for.
    #[arg(long, default_value_t = 300)]
    pub peer_steps: usize,
}

/// Options of `bench splits`.
#[derive(Debug, ClapArgs)]
pub struct Splits {
    /// Folder with `data.csv[.gz]` (targets last) and `splits.csv` (test rows of one split a line)
    pub folder: PathBuf,
    /// Number of target columns at the end of the table
    #[arg(long, default_value_t = 1)]
    pub targets: usize,
    /// Which of these targets to predict, counted from 0
    #[arg(long, default_value_t = 0)]
    pub target: usize,
    /// Splits to run, counted from 0, such as 0-4 or 0,3
    #[arg(long, default_value = "0-4")]
    pub splits: SplitList,
    /// Fail unless the mean test RMSE is at most this
    #[arg(long)]
    pub max_rmse: Option<f64>,
    /// Fail unless the mean test log density is at least this
    #[arg(long, allow_hyphen_values = true)]
    pub min_log_density: Option<f64>,
    /// Let a search choose the model on each split's training rows, as `fit --auto` does; of the options below only
    /// seed and threads can be set
    #[arg(long)]
    pub auto: bool,
    /// With --auto: multiplies all numbers of steps [default: 1]
    #[arg(long, value_name = "FACTOR", requires = "auto")]
    pub effort: Option<f64>,
    /// With --auto: keeps what each search finds out in this folder; what is there already is not found out again
    #[arg(long, value_name = "FOLDER", requires = "auto")]
    pub memory: Option<PathBuf>,
    /// The model and its training.
    #[command(flatten)]
    pub model: ModelSettings,
}
