//! Does what `deepgp fit TABLE` does: searches for a model, scores it by cross-validation and stores it as
//! `model.deepgp`. Ctrl-C ends it; the next run goes on from the checkpoint beside the model file.

use deepgp_data::Source;
use deepgp_fit::{Done, Ending, Event, Fit, FitSettings, Interrupted, Plan};
use signal_hook::{consts::SIGINT, flag};
use std::error::Error;
use std::sync::{Arc, atomic::AtomicBool};

fn main() -> Result<(), Box<dyn Error>> {
    let table = std::env::args_os().nth(1).ok_or("name a table, such as homes.csv")?;
    let settings = FitSettings { data: Some(table.into()), ..FitSettings::default() };
    let plan = Plan::new(&settings)?;
    let source = Source::new(plan.data()).spool()?;

    let checkpoint = settings.checkpoint_path();
    let fit = if checkpoint.exists() {
        let mut interrupted = Interrupted::load(&checkpoint)?;
        interrupted.change(&settings);
        Fit::resume(interrupted, &source, &mut tell)?
    } else {
        Fit::new(plan, &source, &mut tell)?
    };

    let stop = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, Arc::clone(&stop))?;
    let result = fit.run(&stop, &mut tell)?;

    if let Some(scores) = result.told_scores() {
        println!("{} rows, each predicted without it", scores.rows);
        println!("mean log density {:.4} nats a row, higher is better", scores.mean_log_density);
    }
    for remark in result.remarks() {
        println!("{remark:?}");
    }
    if result.ending == Ending::Interrupted {
        println!("interrupted; run it again to go on");
    }
    Ok(())
}

fn tell(event: Event<'_>) {
    match event {
        Event::TargetChosen { column } => println!("predicting {column}"),
        Event::SchemaLearnt { notices } | Event::RowsRead { notices } => {
            notices.iter().for_each(|notice| println!("{notice}"));
        }
        Event::Resumed(Done::Trainings(n)) => println!("going on after {n} trainings"),
        Event::Started { rows, .. } => println!("searching on {rows} rows"),
        Event::Tried(tried) => println!("tried {}: {:?}", tried.name, tried.mean_log_density),
        Event::CheckpointFailed { error } => println!("no checkpoint: {error}"),
        Event::Saved { path } => println!("saved as {}", path.display()),
        _ => {}
    }
}
