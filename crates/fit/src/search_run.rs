//! The search for a model, with checkpoints and a limit of time.

use crate::checkpoint::CheckpointFile;
use crate::clock::{Clock, date};
use crate::error::{Error, Result};
use crate::event::{Event, OnEvent};
use crate::plan::Plan;
use crate::result::{Ending, Trained};
use crate::search::{Memory, SearchSettings, search};
use crate::search_checkpoint::SearchCheckpoint;
use crate::stop::{Reason, Stop};
use crate::training_data::TrainingData;
use deepgp::train::Termination;
use deepgp_io::FileError;
use deepgp_task::Record;
use std::sync::atomic::AtomicBool;

/// Share of the time for the search; the rest is for the last training.
const SEARCH_SHARE: f64 = 0.7;

/// Searches from the start.
///
/// # Errors
/// As [`search`]; a checkpoint that cannot be written at the start.
pub(crate) fn start(
    plan: &Plan,
    settings: &SearchSettings,
    data: &TrainingData,
    flag: &AtomicBool,
    on_event: OnEvent<'_>,
) -> Result<Trained> {
    let (rows, features) = (data.n_train(), data.standardised.x().cols());
    on_event(Event::Started { is_search: true, rows, features, held_out: data.held_out.len() });
    go_on(plan, settings, data, (Memory::default(), 0.0), flag, on_event)
}

/// Goes on with what an interrupted search has found out in so many seconds.
///
/// # Errors
/// As [`start`]; [`Error::OtherTable`] if the rows are not those that the search began with.
pub(crate) fn go_on(
    plan: &Plan,
    settings: &SearchSettings,
    data: &TrainingData,
    (memory, seconds): (Memory, f64),
    flag: &AtomicBool,
    on_event: OnEvent<'_>,
) -> Result<Trained> {
    // Before anything is written: what was found out with other data must not be lost.
    memory.bind(&data.standardised, settings).map_err(|source| Error::OtherTable {
        table: data.table.clone(),
        began: "search",
        source,
    })?;
    let clock = Clock::start(seconds, plan.time_limit().map(|limit| SEARCH_SHARE * limit));
    let stop = Stop::by_flag_or_clock(flag, clock);
    let mut file = CheckpointFile::of(plan);
    let mut store = |on_event: OnEvent<'_>| -> Result<(), FileError> {
        let Some(file) = &mut file else { return Ok(()) };
        let (preprocessing, rows, seconds) = (&data.preprocessing, data.n_train(), clock.seconds());
        let memory = &memory;
        file.write(|path, settings| SearchCheckpoint { settings, preprocessing, rows, seconds, memory }.save(path))?;
        on_event(Event::Checkpointed { path: &file.path });
        Ok(())
    };
    // To find out now, and not in an hour, that the folder cannot be written to.
    store(on_event)?;
    let found = search(&data.standardised, settings, &memory, &stop, &mut |tried| {
        on_event(Event::Tried(tried));
        // A disk that is full for a moment does not end a long search.
        if let Err(error) = store(on_event) {
            on_event(Event::CheckpointFailed { error: &error });
        }
    })?;
    let (ending, termination) = match stop.reason() {
        None => (Ending::Completed, Termination::Iterations),
        Some(Reason::Time) => (Ending::OutOfTime, Termination::Stopped),
        Some(Reason::Flag) => (Ending::Interrupted, Termination::Stopped),
    };
    if ending == Ending::Interrupted {
        store(on_event)?;
    }
    on_event(Event::Trained);
    let expected = found.expected();
    let mut record = Record::new(found.config, data.n_train());
    record.date = date();
    record.steps = record.config.train.iterations;
    record.seconds = clock.seconds();
    record.termination = Some(termination);
    (record.expected, record.tried) = (expected, found.tried);
    let mut baselines = Vec::new();
    if let Some(validated) = found.validated {
        record.cross_validated = Some(validated.mixture);
        record.moment_check = validated.moment_check;
        baselines = validated.baselines;
    }
    Ok(Trained { members: found.members, record, ending, baselines })
}
