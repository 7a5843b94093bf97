//! The arguments of `bench report`.

use clap::{Args, ValueEnum};
use deepgp_experiments::present::Spread;
use std::path::PathBuf;

const HELP: &str = "\
Without a template all studies are shown: RMSE, log density, coverage and
seconds as tasks x variants, learning rates found, failed runs, lost fits and
events, and with --figures or as HTML the figures.

A template is Markdown with directives. On lines of their own:
  {{table study=S metric=M [columns=V...] [published=NAME...] [tasks=T...]
          [splits=N...] [against=V] [spread=se|sd]}}
                                            means, tasks x columns
  {{versus a=V b=V metric=M [study=S] [tasks=T...] [splits=N...]
          [spread=se|sd]}}                  paired differences with tests
  {{rates study=S}} {{choices study=S}} {{troubles study=S}}
  {{figure search|frontier|depth|engines study=S [tasks=T...] [columns=V...]}}
and anywhere:
  {{value variant=V task=T metric=M [study=S] [digits=N]
          [stat=mean|se|sd|median|n|failed|mean_se]}}
  {{count WORD a=V b=V metric=M [study=S] [tasks=T...]}}
          tasks, wins, ties, losses, better, worse, significant_wins or
          significant_losses of a against b
  {{total WORD study=S [variant=V] [task=T]}}
          runs, tasks, splits, searches, trials, seconds, minutes, hours
          (training and searches), failed, diverged, lost or events
Metrics M are rmse, mean_log_density, coverage_95 and seconds. Variants V stand
in quotes, as in \"[GP, 50]\"; \"STUDY/[GP, 50]\" is one of another study and
\"NAME/[GP, 50]\" one of the published table NAME.csv. Several values of one key
stand one after another; splits count from 0.

Examples:
  deepgp bench report runs.jsonl
  deepgp bench report runs.jsonl.gz --published bui2015.csv -o results.html
  deepgp bench report record/*.jsonl --template docs/RESULTS.template.md \\
      --published record/published/bui2015.csv -o docs/RESULTS.md";

/// Options of `bench report`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ReportOptions {
    /// Record files: lines of JSON, plain or gzip
    #[arg(required = true, value_name = "RECORDS")]
    pub records: Vec<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How to write it [default: by the ending of --out; markdown on standard output]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Fill in this Markdown template
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub template: Option<PathBuf>,
    /// A table of published figures to show beside ours: columns task, variant, rmse, mean_log_density and, if wanted,
    /// seconds, source and splits; may be given several times
    #[arg(long, value_name = "FILE")]
    pub published: Vec<PathBuf>,
    /// The variant that others are compared with [default: the first GP of each study]
    #[arg(long, value_name = "VARIANT")]
    pub against: Option<String>,
    /// What stands after the ±: the standard error or the standard deviation
    #[arg(long, value_enum, default_value = "se")]
    pub spread: SpreadName,
    /// Write the figures as SVG and PNG files into this folder [default with a template: as SVG beside --out]
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// The title of an HTML page
    #[arg(long, value_name = "TEXT", default_value = "Results of experiments")]
    pub title: String,
    /// Print the aggregated numbers as one JSON object in place of the text
    #[arg(long)]
    pub json: bool,
    /// Print no notices
    #[arg(long, short)]
    pub quiet: bool,
}

/// Kinds of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Markdown
    Markdown,
    /// LaTeX with booktabs
    Latex,
    /// One HTML page
    Html,
}

/// What stands after a ±.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpreadName {
    /// Standard error of the mean
    Se,
    /// Sample standard deviation
    Sd,
}

impl From<SpreadName> for Spread {
    fn from(name: SpreadName) -> Self {
        match name {
            SpreadName::Se => Spread::Se,
            SpreadName::Sd => Spread::Sd,
        }
    }
}
