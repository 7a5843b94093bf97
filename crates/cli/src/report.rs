//! `deepgp report`: a model on a table, as one HTML page and figures.

use crate::args::Report as Args;
use crate::exit_codes::usage_of;
use crate::out::{note, path_text, print, print_json, write_to};
use crate::rows::{Loaded, Table};
use crate::score::Tallies;
use crate::wording::{count, duration, network, plural};
use anyhow::{Context, Result};
use deepgp_data::{Batch, Source as TableSource, Targets};
use deepgp_fit::{ModelSettings, TableSettings, row_info, targets, threads};
use deepgp_numerics::linalg::Mat;
use deepgp_report::{CurvePoint, Report, Source, Training, from_model};
use deepgp_task::{Record, RowInfo, SavedModel, Scores, Task};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Most rows that figures are made of.
const MOST_ROWS: usize = 50_000;

/// Writes the page, and the figures if asked for.
pub fn run(args: &Args) -> Result<()> {
    let threads = threads(args.threads).map_err(usage_of)?;
    let loaded = Loaded::open(&args.model)?;
    let table = Table {
        data: &TableSource::new(&args.data),
        options: &args.table,
        targets: Targets::Required,
        threads,
        quiet: args.quiet,
    };
    let (tallies, sample) = read(&loaded, &table)?;
    let (scores, baselines) = tallies.scores()?;
    let title = args.title.clone().unwrap_or_else(|| title(&loaded, &args.data));
    let report = report(&title, &loaded, &sample, baselines)?;
    write_page(&report, &args.out)?;
    let figures = match &args.figures {
        Some(folder) => write_figures(&report, folder)?,
        None => Vec::new(),
    };
    if args.json {
        return print_json(&json!({
            "out": path_text(&args.out),
            "figures": figures.iter().map(|p| path_text(p)).collect::<Vec<_>>(),
            "rows": scores.rows,
            "rows_in_figures": sample.x.rows(),
            "scores": scores,
        }));
    }
    note(args.quiet, &format!("{} in {}", plural(sample.x.rows(), "row"), args.out.display()));
    print(&format!("{}\n", args.out.display()))?;
    figures.iter().try_for_each(|path| print(&format!("{}\n", path.display())))
}

/// The scores of a model on a table, and rows of it for figures.
fn read(loaded: &Loaded, table: &Table<'_>) -> Result<(Tallies, Sample)> {
    let (mut tallies, mut sample) = (Tallies::default(), Sample::new(loaded.saved.preprocessing.task));
    loaded.for_rows(
        table,
        |batch| Tallies::of(loaded, batch),
        |batch, others| {
            tallies.merge(others);
            sample.add(batch);
            Ok(())
        },
    )?;
    Ok((tallies, sample))
}

/// The page of `deepgp report` on a table from anywhere, as HTML.
///
/// # Errors
/// What is wrong with the model or the table.
pub fn page(title: &str, saved: SavedModel, data: &TableSource, options: &TableSettings) -> Result<String> {
    let loaded = Loaded::of(saved)?;
    let threads = threads(None).map_err(usage_of)?;
    let table = Table { data, options, targets: Targets::Required, threads, quiet: true };
    let (tallies, sample) = read(&loaded, &table)?;
    Ok(report(title, &loaded, &sample, tallies.scores()?.1)?.html())
}

fn title(loaded: &Loaded, data: &Path) -> String {
    let name = data.file_name().map_or_else(|| "standard input".into(), |name| name.to_string_lossy());
    format!("{} from {name}", loaded.saved.preprocessing.schema.targets().join(", "))
}

/// The page as a file, whole or not at all.
pub fn write_page(report: &Report, path: &Path) -> Result<()> {
    let page = report.html();
    write_to(Some(path), |out| out.write_all(page.as_bytes()).context("cannot write the page"))
}

/// Each figure as SVG and PNG.
fn write_figures(report: &Report, folder: &Path) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for (name, bytes) in report.figure_files() {
        let path = folder.join(name);
        write_to(Some(&path), |out| out.write_all(&bytes).context("cannot write a figure"))?;
        files.push(path);
    }
    Ok(files)
}

/// The report of a model on rows that were read.
pub fn report(title: &str, loaded: &Loaded, sample: &Sample, baselines: Vec<(&'static str, Scores)>) -> Result<Report> {
    let (schema, record) = (&loaded.saved.preprocessing.schema, &loaded.saved.record);
    let features = schema.feature_names();
    let labels = schema.target_levels(0).unwrap_or_default();
    let source = Source {
        x: &sample.x,
        y: &sample.y,
        features: &features,
        targets: schema.targets(),
        labels,
        info: Some(&sample.info),
    };
    let mut notes = Vec::new();
    if sample.seen > sample.x.rows() {
        notes.push(format!(
            "Figures and scores show a random choice of {} of {} rows.",
            count(sample.x.rows()),
            count(sample.seen)
        ));
    }
    if loaded.saved.members.len() > 1 {
        let others = plural(loaded.saved.members.len() - 1, "other");
        notes.push(format!(
            "The model is a mixture of {} and {others}; predictions are those of the mixture, relevance and hidden layers those of \
             its heaviest network.",
            network(&loaded.saved)
        ));
    }
    // The report has the constant model itself.
    let others = baselines.into_iter().filter(|(name, _)| *name == "linear" && sample.seen == sample.x.rows());
    let training = Training {
        curve: record.curve.points.iter().filter_map(curve_point).collect(),
        settings: settings(record),
        facts: vec![
            ("training rows".to_owned(), count(record.rows)),
            ("training steps".to_owned(), count(record.steps)),
            ("training time".to_owned(), duration(record.seconds)),
        ],
        notes,
        baselines: others.map(|(_, scores)| ("linear model".to_owned(), scores)).collect(),
    };
    Ok(from_model(title, &loaded.model, source, training)?)
}

fn curve_point(point: &deepgp_task::CurvePoint) -> Option<CurvePoint> {
    let (valid_rmse, valid_log_density) = (point.rmse, point.mean_log_density);
    Some(CurvePoint { step: point.step, energy: point.energy?, valid_rmse, valid_log_density })
}

/// Names and values of everything that was decided.
fn settings(record: &Record) -> Vec<(String, String)> {
    let options = serde_json::to_value(ModelSettings::of(&record.config)).unwrap_or_default();
    let own = options
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.to_string().replace('"', "")));
    let version = ("deepgp".to_owned(), record.deepgp.clone());
    let date = record.date.iter().map(|date| ("trained".to_owned(), date.clone()));
    std::iter::once(version).chain(date).chain(own).collect()
}

/// Rows of a table of any length, each as likely as any other to be among them.
pub struct Sample {
    /// Inputs.
    pub x: Mat,
    /// Targets.
    pub y: Mat,
    /// What else is known of them.
    pub info: RowInfo,
    /// What the targets are.
    task: Task,
    /// Rows that there were.
    pub seen: usize,
    rng: ChaCha8Rng,
}

impl Sample {
    /// A sample of no rows.
    pub fn new(task: Task) -> Self {
        let (info, rng) = (RowInfo::default(), ChaCha8Rng::seed_from_u64(0));
        Self { x: Mat::default(), y: Mat::default(), info, task, seen: 0, rng }
    }

    /// Adds rows; when there are too many, each takes the place of another by chance. After Vitter's algorithm R.
    pub fn add(&mut self, batch: &Batch) {
        let (info, y) = (row_info(batch.columns.clone()), targets(self.task, batch));
        for n in 0..batch.inputs.rows() {
            let (x, y) = (batch.inputs.row(n), y.row(n));
            if self.seen < MOST_ROWS {
                self.x.push_row(x);
                self.y.push_row(y);
                self.info.take(&info, n, None);
            } else {
                let place = self.rng.random_range(0..=self.seen);
                if place < MOST_ROWS {
                    self.x.row_mut(place).copy_from_slice(x);
                    self.y.row_mut(place).copy_from_slice(y);
                    self.info.take(&info, n, Some(place));
                }
            }
            self.seen += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_many_rows_is_fair() {
        let mut sample = Sample::new(Task::Regression);
        let n = 3 * MOST_ROWS;
        for start in (0..n).step_by(1000) {
            let inputs = Mat::from_fn(1000, 1, |i, _| (start + i) as f64);
            sample.add(&Batch { targets: inputs.clone(), inputs, ..Batch::default() });
        }
        assert_eq!((sample.seen, sample.x.rows()), (n, MOST_ROWS));
        assert_eq!(sample.x, sample.y);
        let mean = sample.x.as_slice().iter().sum::<f64>() / MOST_ROWS as f64 / n as f64;
        // Its deviation is 0.29/√50,000.
        assert!((mean - 0.5).abs() < 0.006, "{mean}");
    }
}
