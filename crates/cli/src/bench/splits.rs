//! Measurements on standard splits.

use crate::args::Splits;
use crate::exit_codes::usage_of;
use crate::out::note;
use anyhow::{Context, Result, bail, ensure};
use deepgp::train::Termination;
use deepgp_data::{Table, read_splits, train_test};
use deepgp_fit::search::{Memory, SearchResult};
use deepgp_fit::{Stop, search_settings};
use deepgp_io::Kind;
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Config, Model, Scores, StandardisedData, Tried};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a score that is NaN must not pass a bar")]
/// Trains and scores on each split, one line a split as JSON, then the means.
pub fn splits(args: &Splits) -> Result<()> {
    let plain = args.folder.join("data.csv");
    let path = if plain.exists() { plain } else { args.folder.join("data.csv.gz") };
    let (x, targets) = Table::read(path)?.split_targets(args.targets)?;
    ensure!(args.target < args.targets, "--target {} but there are {} targets", args.target, args.targets);
    let y = Mat::from_vec(targets.rows(), 1, targets.column(args.target))?;
    let all = read_splits(args.folder.join("splits.csv"))?;
    let config = args.model.config().map_err(usage_of)?;

    if let Some(folder) = &args.memory {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut scores: Vec<Scores> = Vec::new();
    for &s in &args.splits.0 {
        let test = all.get(s).with_context(|| format!("there is no split {s}, only {}", all.len()))?;
        let (train, test) = train_test(x.rows(), test)?;
        let started = Instant::now();
        let (model, training) = train_on(args, s, x.select_rows(&train), y.select_rows(&train), &config)?;
        let seconds = started.elapsed().as_secs_f64();
        let score = model.score(&x.select_rows(&test), &y.select_rows(&test))?;
        let (rmse, mean_log_density, coverage_95) = (score.rmse(), score.mean_log_density, score.coverage_95());
        let line = Line { split: s, rmse, mean_log_density, coverage_95, seconds, training };
        writeln!(stdout(), "{}", serde_json::to_string(&line)?)?;
        scores.push(score);
    }
    let mean = |f: fn(&Scores) -> f64| scores.iter().map(f).sum::<f64>() / scores.len() as f64;
    let (rmse, log_density) = (mean(|s| s.rmse().unwrap_or(f64::NAN)), mean(|s| s.mean_log_density));
    writeln!(stdout(), "mean over {} splits: rmse {rmse:.4}, mean log density {log_density:.4}", scores.len())?;
    // Written so that NaN fails.
    if let Some(bar) = args.max_rmse
        && !(rmse <= bar)
    {
        bail!("mean test RMSE {rmse:.4} exceeds {bar}");
    }
    if let Some(bar) = args.min_log_density
        && !(log_density >= bar)
    {
        bail!("mean test log density {log_density:.4} is below {bar}");
    }
    Ok(())
}

/// What is printed of a split.
#[derive(Serialize)]
struct Line {
    split: usize,
    rmse: Option<f64>,
    mean_log_density: f64,
    coverage_95: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    training: Value,
}

/// A model of a split's training rows, and what there is to say of its training.
fn train_on(args: &Splits, split: usize, x: Mat, y: Mat, config: &Config) -> Result<(Model, Value)> {
    if args.auto {
        let data = StandardisedData::new(x, y)?;
        let found = search(args, split, &data)?;
        let members: Vec<(f64, &str)> =
            found.tried.iter().filter(|t| t.weight > 0.0).map(|t| (t.weight, t.name.as_str())).collect();
        let summary = json!({ "members": members, "judged": found.expected(), "tried": found.tried.len() });
        return Ok((found.model(&data)?, summary));
    }
    let (model, outcome) = Model::fit(&x, &y, config, &mut ())?;
    ensure!(outcome.termination != Termination::Diverged, "training diverged");
    let summary = json!({
        "energy": outcome.energy,
        "steps": outcome.steps,
        "termination": outcome.termination,
        "events": outcome.n_events,
    });
    Ok((model, summary))
}

/// The search on a split's training rows, which goes on from what the memory's folder has of it.
fn search(args: &Splits, split: usize, data: &StandardisedData) -> Result<SearchResult> {
    let settings = search_settings(&args.model, None, args.effort).map_err(usage_of)?;
    let file = args.memory.as_ref().map(|folder| folder.join(format!("split-{split}.search")));
    let memory: Memory = match &file {
        Some(file) if file.exists() => deepgp_io::load(file, Kind::Search)?,
        _ => Memory::default(),
    };
    let mut keep = |_: &Tried| {
        if let Some(file) = &file
            && let Err(error) = deepgp_io::save(file, Kind::Search, &memory)
        {
            note(false, &format!("not kept: {:#}", anyhow::Error::new(error)));
        }
    };
    let never = AtomicBool::new(false);
    Ok(deepgp_fit::search::search(data, &settings, &memory, &Stop::by(&never), &mut keep)?)
}
