//! `deepgp fit`: learns a model from a table.

mod auto;
pub mod data;
mod progress;
mod result;
mod watch;

pub use auto::summary;
use auto::{Before, StoredSearch};
pub use result::{Trained, kinds};

use crate::args::Fit;
use crate::fault::{INTERRUPTED, SUCCESS, usage};
use crate::options::Options;
use crate::out::{note, notices, print, print_json};
use crate::plan::{Length, Plan, checkpoint_of};
use crate::signals::listen;
use crate::words::{count, plural};
use anyhow::{Context, Result, bail};
use data::{TrainingData, learn};
use deepgp::train::Termination;
use deepgp_data::{Schema, Source};
use deepgp_io::{FileError, FormatError, Kind, remove_leftovers};
use deepgp_task::{Checkpoint, Record};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use watch::{Ending, Watch};

/// What was interrupted, as it is stored.
enum Stored {
    /// The training of a network.
    Run(Box<Checkpoint<Options>>),
    /// A search for one.
    Search(Box<StoredSearch>),
}

impl Stored {
    fn load(path: &Path) -> Result<Self, FileError> {
        match Checkpoint::load(path) {
            Err(FileError::Format { source: FormatError::WrongKind { found: Kind::Search, .. }, .. }) => {
                StoredSearch::load(path).map(|search| Self::Search(Box::new(search)))
            }
            run => run.map(|run| Self::Run(Box::new(run))),
        }
    }

    fn plan(&mut self) -> &mut Options {
        match self {
            Self::Run(run) => &mut run.plan,
            Self::Search(search) => &mut search.plan,
        }
    }

    /// Columns, and training rows.
    fn table(&self) -> (&Schema, usize) {
        match self {
            Self::Run(run) => (&run.preprocessing.schema, run.record.rows),
            Self::Search(search) => (&search.preprocessing.schema, search.rows),
        }
    }
}

/// Learns a model, or says how it would; returns the exit code.
pub fn run(args: Fit) -> Result<u8> {
    let (mut plan, stored) = match &args.resume {
        Some(file) => {
            let (plan, stored) = resumed(&args.options, file.as_deref())?;
            (plan, Some(stored))
        }
        None => (fresh(&args)?, None),
    };
    let source = Source::new(&plan.data).spool()?;
    if args.dry_run {
        return dry_run(&mut plan, &source, stored.as_ref(), args.json);
    }
    check_out(&plan)?;
    let stop = Arc::new(AtomicBool::new(false));
    let trained = match stored {
        Some(Stored::Run(run)) => go_on(&mut plan, &source, *run, &stop, args.quiet)?,
        Some(Stored::Search(search)) => search_on(&mut plan, &source, *search, &stop, args.quiet)?,
        None => begin(&mut plan, &source, &stop, args.quiet)?,
    };
    trained.saved.save(&plan.out)?;
    let is_interrupted = trained.ending == Some(Ending::Signal);
    let checkpoint = plan.checkpoint_path();
    if !is_interrupted && let Some(path) = &checkpoint {
        // Gone already if there was none.
        let _ = std::fs::remove_file(path);
    }
    if args.json {
        print_json(&trained.json(&plan, checkpoint.filter(|_| is_interrupted).as_deref()))?;
    } else if !args.quiet {
        print(&trained.text(&plan.out))?;
    }
    for remark in trained.remarks() {
        note(args.quiet, &remark);
    }
    if is_interrupted {
        let hint = match plan.checkpoint_path() {
            Some(path) if plan.data.as_os_str() == "-" => {
                format!("pipe the same table again to go on: deepgp fit - --resume {}", path.display())
            }
            Some(path) => format!("go on with: deepgp fit --resume {}", path.display()),
            None => "without checkpoints it cannot be resumed".to_owned(),
        };
        let after = match trained.saved.record.tried.len() {
            0 => plural(trained.saved.record.steps, "step"),
            trials => plural(trials, "trial"),
        };
        note(args.quiet, &format!("interrupted after {after}; {hint}"));
        return Ok(INTERRUPTED);
    }
    if !args.json {
        note(args.quiet, &format!("next: deepgp show {}", plan.out.display()));
    }
    Ok(SUCCESS)
}

/// The plan of flags and config file.
fn fresh(args: &Fit) -> Result<Plan> {
    let options = match &args.config {
        Some(path) => args.options.clone().over_file(path)?,
        None => args.options.clone(),
    };
    Plan::resolve(&options)
}

/// The plan of a checkpoint, with what may be given anew.
fn resumed(options: &Options, file: Option<&Path>) -> Result<(Plan, Stored)> {
    const ANEW: [&str; 4] = ["data", "out", "threads", "checkpoint"];
    let given = toml::Table::try_from(options).map_err(|_| usage!("file names must be UTF-8"))?;
    if let Some(name) = given.keys().find(|name| !ANEW.contains(&name.as_str())) {
        return Err(usage!(
            "--resume takes --{name} from the checkpoint; only the table, --{} can be given anew",
            ANEW[1..].join(", --")
        ));
    }
    let out = options.out.clone().unwrap_or_else(|| "model.deepgp".into());
    let path = file.map_or_else(|| checkpoint_of(&out), Path::to_path_buf);
    if file.is_none() && !path.exists() {
        bail!("there is no checkpoint {}; name it: deepgp fit --resume FILE", path.display());
    }
    let mut stored = Stored::load(&path)?;
    let given = stored.plan();
    given.data = options.data.clone().or(given.data.take());
    given.out = options.out.clone().or(given.out.take());
    given.checkpoint = options.checkpoint.or(given.checkpoint);
    given.model.threads = options.model.threads.or(given.model.threads);
    let plan = Plan::resolve(given).with_context(|| format!("{} makes no sense", path.display()))?;
    Ok((plan, stored))
}

/// Says what would be done.
fn dry_run(plan: &mut Plan, source: &Source, stored: Option<&Stored>, json: bool) -> Result<u8> {
    let (schema, n_rows) = match stored {
        Some(stored) => {
            let (schema, rows) = stored.table();
            (schema.clone(), rows)
        }
        None => {
            let (schema, n_rows, found) = learn(plan, source)?;
            notices(false, &found);
            (schema, n_rows)
        }
    };
    let held_out = if stored.is_some() { 0 } else { plan.n_held_out(n_rows) };
    plan.settle(n_rows - held_out);
    let steps = (!matches!(plan.length, Length::Time(_))).then_some(plan.config.train.iterations);
    let options = plan.options();
    if json {
        print_json(&json!({
            "rows": n_rows - held_out, "held_out_rows": held_out, "features": schema.feature_names(),
            "targets": schema.targets(), "steps": steps, "settings": options,
        }))?;
        return Ok(SUCCESS);
    }
    let mut text = format!(
        "# {}, {} of them held out; {} from {}\n",
        plural(n_rows, "row"),
        count(held_out),
        plural(schema.n_features(), "feature"),
        plural(schema.inputs().len(), "column")
    );
    text += &match steps {
        Some(steps) => format!("# {} of {}\n", plural(steps, "step"), plural(plan.config.train.batch_size, "row")),
        None => "# steps until the time is over\n".to_owned(),
    };
    text += &toml::to_string(&options)?;
    print(&text)?;
    Ok(SUCCESS)
}

/// Refuses what would end in tears after hours of training.
fn check_out(plan: &Plan) -> Result<()> {
    let out = &plan.out;
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", out.display(), folder.display());
    }
    if out.is_dir() {
        bail!("cannot write {}: it is a folder; name a file with --out", out.display());
    }
    if out.file_name().is_none() {
        bail!("cannot write {}: it names no file", out.display());
    }
    if out.is_file() {
        use std::io::Read;
        let mut head = Vec::new();
        let file = std::fs::File::open(out).with_context(|| format!("cannot read {}", out.display()))?;
        file.take(8).read_to_end(&mut head).with_context(|| format!("cannot read {}", out.display()))?;
        if !head.is_empty() && !head.starts_with(b"\x89DGP") {
            bail!("{} exists and is no model; choose another --out, or remove it", out.display());
        }
        if std::fs::metadata(out).is_ok_and(|m| m.permissions().readonly()) {
            bail!("cannot write {}: it is read-only; choose another --out", out.display());
        }
    }
    remove_leftovers(out)?;
    if let Some(path) = plan.checkpoint_path() {
        remove_leftovers(&path)?;
    }
    Ok(())
}

/// A run from the start.
fn begin(plan: &mut Plan, source: &Source, stop: &Arc<AtomicBool>, quiet: bool) -> Result<Trained> {
    let names_target = !plan.targets.is_empty();
    let (schema, _, found) = learn(plan, source)?;
    if !names_target {
        note(quiet, &format!("no --target given: predicting the last column, {:?}", plan.targets[0]));
    }
    notices(quiet, &found);
    if let Some(path) = plan.checkpoint_path().filter(|path| path.exists()) {
        note(quiet, &format!("the checkpoint {} of an interrupted run is replaced", path.display()));
    }
    train_on(plan, source, schema, found, Some(stop), quiet)
}

/// Reads the table by a schema and trains.
pub fn train_on(
    plan: &mut Plan,
    source: &Source,
    schema: Schema,
    found: Vec<deepgp_data::Notice>,
    signals: Option<&Arc<AtomicBool>>,
    quiet: bool,
) -> Result<Trained> {
    let told = found.len();
    let data = TrainingData::read(plan, source, schema, found).map_err(|e| placed(e, source))?;
    notices(quiet, &data.notices[told..]);
    plan.settle(data.n_train());
    let stop = signals.cloned().unwrap_or_default();
    if let Some(settings) = &plan.auto {
        let rows = plural(data.n_train(), "row");
        note(quiet, &format!("searching on {rows}, {} held out", plural(data.held_out.len(), "row")));
        if signals.is_some() {
            listen(&stop)?;
        }
        return auto::search(plan, &data, settings, &Before::default(), &stop, quiet);
    }
    let mut trainer = data.prepared.trainer(&plan.config)?;
    let record = Record::new(plan.config.clone(), data.n_train());
    let mut watch = Watch::new(plan, &data, &stop, quiet, record, None);
    // To find out now, and not in an hour, that the folder cannot be written to.
    watch.checkpoint(&trainer, 0)?;
    if signals.is_some() {
        let (rows, features) = (plural(data.n_train(), "row"), plural(data.prepared.x().cols(), "feature"));
        note(quiet, &format!("training on {rows} of {features}, {} held out", plural(data.held_out.len(), "row")));
        listen(&stop)?;
    }
    let outcome = trainer.run(&mut watch);
    Trained::new(plan, &data, watch, &outcome, trainer.fitted())
}

/// A search that was interrupted.
fn search_on(
    plan: &mut Plan,
    source: &Source,
    stored: StoredSearch,
    stop: &Arc<AtomicBool>,
    quiet: bool,
) -> Result<Trained> {
    let StoredSearch { preprocessing, seconds, memory, .. } = stored;
    note(quiet, &format!("going on after {}", plural(memory.len(), "training")));
    let data = TrainingData::read_again(plan, source, preprocessing).map_err(|e| placed(e, source))?;
    plan.settle(data.n_train());
    let Some(settings) = &plan.auto else { bail!("the checkpoint of a search is not that of a given network") };
    listen(stop)?;
    auto::search(plan, &data, settings, &Before { seconds, memory }, stop, quiet)
        .with_context(|| format!("{} is not the table that the search began with", source.label().display()))
}

/// A run that was interrupted.
fn go_on(
    plan: &mut Plan,
    source: &Source,
    stored: Checkpoint<Options>,
    stop: &Arc<AtomicBool>,
    quiet: bool,
) -> Result<Trained> {
    let Checkpoint { preprocessing, snapshot, best, record, .. } = stored;
    note(quiet, &format!("going on after step {}", count(snapshot.step())));
    let data = TrainingData::read_again(plan, source, preprocessing).map_err(|e| placed(e, source))?;
    plan.settle(data.n_train());
    let snapshot = snapshot.with_threads(plan.config.train.threads);
    let iterations = snapshot.settings().iterations;
    plan.config.train.iterations = iterations;
    let mut trainer = data
        .prepared
        .resume(snapshot)
        .with_context(|| format!("{} is not the table that the run began with", source.label().display()))?;
    let mut watch = Watch::new(plan, &data, stop, quiet, record, best);
    listen(stop)?;
    let outcome = trainer.run(&mut watch);
    Trained::new(plan, &data, watch, &outcome, trainer.fitted())
}

/// The error with the table it is about, where it does not say so itself.
fn placed(error: anyhow::Error, source: &Source) -> anyhow::Error {
    match error.downcast_ref::<deepgp::Error>() {
        Some(_) => error.context(source.label().display().to_string()),
        None => error,
    }
}

/// The reason for the end, as JSON has it.
fn termination(outcome: Termination, ending: Option<Ending>) -> &'static str {
    match (outcome, ending) {
        (Termination::Iterations, _) => "iterations",
        (Termination::Diverged, _) => "diverged",
        (Termination::Stopped, Some(Ending::Time)) => "time",
        (Termination::Stopped, _) => "interrupted",
    }
}
