//! `deepgp fit`: learns a model from a table.

mod dry_run;
mod events;
mod progress;
mod result;

pub use events::EventPrinter;
pub use result::{cross_validated, json, kinds, remarks, summary};

use crate::args::Fit as Args;
use crate::config_file::over_file;
use crate::exit_codes::{INTERRUPTED, SUCCESS, in_words, usage, usage_of};
use crate::out::{note, print, print_json};
use crate::signals::listen;
use crate::wording::plural;
use anyhow::{Result, bail};
use deepgp_data::Source;
use deepgp_fit::{Ending, Fit, FitResult, FitSettings, Interrupted, Plan};
use deepgp_task::Task;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Learns a model, or says how it would; returns the exit code.
pub fn run(args: &Args) -> Result<u8> {
    let interrupted = match &args.resume {
        Some(file) => Some(interrupted(&args.settings, file.as_deref())?),
        None => None,
    };
    let plan = match (&interrupted, &args.config) {
        (Some(interrupted), _) => interrupted.plan().map_err(in_words)?,
        (None, Some(path)) => Plan::new(&over_file(&args.settings, path)?).map_err(usage_of)?,
        (None, None) => Plan::new(&args.settings).map_err(usage_of)?,
    };
    let source = Source::new(plan.data()).spool()?;
    if args.dry_run {
        return dry_run::run(plan, interrupted.as_ref(), &source, args.json);
    }
    let task = interrupted.as_ref().map_or(Task::Regression, Interrupted::task);
    let mut printer = EventPrinter::new(args.quiet, task);
    let fit = match interrupted {
        Some(interrupted) => Fit::resume(interrupted, &source, &mut |event| printer.print(&event)),
        None => Fit::new(plan.clone(), &source, &mut |event| printer.print(&event)),
    };
    let fit = fit.map_err(in_words)?;
    let stop = Arc::new(AtomicBool::new(false));
    listen(&stop)?;
    let result = fit.run(&stop, &mut |event| printer.print(&event)).map_err(in_words)?;
    if args.json {
        print_json(&result::json(&result, plan.out()))?;
    } else if !args.quiet {
        print(&result::text(&result, plan.out()))?;
    }
    remarks(&result).iter().for_each(|remark| note(args.quiet, remark));
    if result.ending == Ending::Interrupted {
        note(args.quiet, &interruption(&result, &plan));
        return Ok(INTERRUPTED);
    }
    if !args.json {
        note(args.quiet, &format!("next: deepgp show {}", plan.out().display()));
    }
    Ok(SUCCESS)
}

/// The interrupted fit of a checkpoint, with what may be given anew.
fn interrupted(given: &FitSettings, file: Option<&Path>) -> Result<Interrupted> {
    const ANEW: [&str; 4] = ["data", "out", "threads", "checkpoint"];
    let names = toml::Table::try_from(given).map_err(|_| usage!("file names must be UTF-8"))?;
    if let Some(name) = names.keys().find(|name| !ANEW.contains(&name.as_str())) {
        return Err(usage!(
            "--resume takes --{name} from the checkpoint; only the table, --{} can be given anew",
            ANEW[1..].join(", --")
        ));
    }
    let path = file.map_or_else(|| given.checkpoint_path(), Path::to_path_buf);
    if file.is_none() && !path.exists() {
        bail!("there is no checkpoint {}; name it: deepgp fit --resume FILE", path.display());
    }
    let mut interrupted = Interrupted::load(&path)?;
    interrupted.change(given);
    Ok(interrupted)
}

/// How far an interrupted fit came, and how it goes on.
fn interruption(result: &FitResult, plan: &Plan) -> String {
    let hint = match &result.checkpoint {
        Some(path) if plan.data().as_os_str() == "-" => {
            format!("pipe the same table again to go on: deepgp fit - --resume {}", path.display())
        }
        Some(path) => format!("go on with: deepgp fit --resume {}", path.display()),
        None => "without checkpoints it cannot be resumed".to_owned(),
    };
    let after = match result.saved.record.tried.len() {
        0 => plural(result.saved.record.steps, "step"),
        trials => plural(trials, "trial"),
    };
    format!("interrupted after {after}; {hint}")
}
