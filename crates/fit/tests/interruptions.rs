//! Fits that are stopped and resumed, that run out of time, or whose checkpoints cannot be written.

mod common;

use common::{Folder, homes};
use deepgp_data::Source;
use deepgp_fit::values::{Names, Seconds};
use deepgp_fit::{Ending, Error, Event, Fit, FitResult, FitSettings, Interrupted, ModelSettings, Plan, RowSettings};
use deepgp_task::SavedModel;
use std::sync::atomic::{AtomicBool, Ordering};

/// Training steps of a given network.
const STEPS: usize = 120;

/// A network that is quick to train.
fn network(folder: &Folder) -> FitSettings {
    let model = ModelSettings { inducing: Some(6), batch: Some(30), iters: Some(STEPS), ..ModelSettings::default() };
    FitSettings { model, ..folder.settings() }
}

/// A search that is quick, on one thread so that trials end in the same order.
fn search(folder: &Folder) -> FitSettings {
    let model = ModelSettings { threads: Some(1), ..ModelSettings::default() };
    FitSettings { effort: Some(0.02), model, ..folder.settings() }
}

fn source(rows: usize) -> Source {
    Source::from_bytes("homes.csv", homes(rows).into_bytes())
}

/// Runs a fit, or goes on with one, until `stop_at` says so of an event and its number.
fn session(
    settings: &FitSettings,
    resumes: bool,
    rows: usize,
    stop_at: impl Fn(&Event<'_>, usize) -> bool,
) -> Result<FitResult, Error> {
    session_on(settings, resumes, &source(rows), stop_at)
}

/// The same on any table.
fn session_on(
    settings: &FitSettings,
    resumes: bool,
    table: &Source,
    stop_at: impl Fn(&Event<'_>, usize) -> bool,
) -> Result<FitResult, Error> {
    let fit = match resumes {
        true => Fit::resume(Interrupted::load(&settings.checkpoint_path())?, table, &mut |_| ())?,
        false => Fit::new(Plan::new(settings)?, table, &mut |_| ())?,
    };
    let (stop, mut count) = (AtomicBool::new(false), 0);
    fit.run(&stop, &mut |event| {
        if let Event::Step(_) | Event::Tried(_) = event {
            count += 1;
            if stop_at(&event, count) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    })
}

/// The model but for what a clock says.
fn timeless(mut saved: SavedModel) -> SavedModel {
    (saved.record.seconds, saved.record.date) = (0.0, None);
    saved
}

/// Stops each session after so many steps or trials, until there is nothing left to stop; what the model and its file
/// are then.
fn in_pieces(settings: &FitSettings, rows: usize, piece: usize) -> SavedModel {
    let mut sessions = 0;
    loop {
        let result = session(settings, sessions > 0, rows, |_, count| count == piece).expect("a model");
        sessions += 1;
        assert_eq!(result.checkpoint.is_some(), result.ending == Ending::Interrupted);
        let (out, checkpoint) = (settings.out.clone().expect("a name"), settings.checkpoint_path());
        assert_eq!(SavedModel::load(&out).expect("a model"), result.saved, "what there is so far is a model");
        assert_eq!(checkpoint.exists(), result.ending == Ending::Interrupted);
        if result.ending == Ending::Completed {
            assert!(sessions > 1, "nothing was interrupted");
            return timeless(result.saved);
        }
    }
}

#[test]
fn training_in_pieces_gives_the_same_bits() {
    let folder = Folder::new("training");
    let settings = network(&folder);
    // Enough rows for held-out ones to choose the best network: that must survive, too.
    let whole = session(&settings, false, 600, |_, _| false).expect("a model");
    assert_eq!((whole.ending, whole.saved.record.steps, whole.n_held_out), (Ending::Completed, STEPS, 60));
    assert!(whole.saved.record.best_step.is_some());
    let whole = timeless(whole.saved);
    for piece in [1, 7, 50, STEPS - 1] {
        assert!(in_pieces(&settings, 600, piece) == whole, "stopped every {piece} steps");
    }
}

#[test]
fn a_search_in_pieces_gives_the_same_bits() {
    let folder = Folder::new("search");
    let settings = search(&folder);
    let whole = timeless(session(&settings, false, 90, |_, _| false).expect("a model").saved);
    assert!(whole.record.tried.len() >= 8, "{:#?}", whole.record.tried);
    let trials = whole.record.tried.len();
    // What is known already is told again: later sessions have to be longer. The last trial is followed by training on
    // all rows.
    for first in [1, 5, trials - 1] {
        for (resumes, count) in [(false, first), (true, first + 1)] {
            let stopped = session(&settings, resumes, 90, |_, trial| trial == count).expect("a model");
            assert_eq!((stopped.ending, stopped.saved.record.tried.len()), (Ending::Interrupted, count));
        }
        let last = session(&settings, true, 90, |_, _| false).expect("a model");
        assert!(timeless(last.saved) == whole, "stopped after {first} and {} trials", first + 1);
    }
    assert!(!settings.checkpoint_path().exists());
}

/// The target of a row, as it is written.
type Target = fn(usize) -> String;

/// Settings of a task and a table for it: columns of all roles, and the target as text, numbers, counts or bounds.
fn tasks() -> Vec<(&'static str, RowSettings, Target)> {
    fn price(i: usize) -> f64 {
        (2.0 * (0.7 * i as f64).sin() + (0.3 * (i * i) as f64).cos()) / 3.0
    }
    let rows = |weight: bool, exposure: bool, censored: bool| RowSettings {
        weight: weight.then(|| "w".to_owned()),
        exposure: exposure.then(|| "e".to_owned()),
        censored: censored.then(|| "c".to_owned()),
        group: weight.then(|| "g".to_owned()),
        ..RowSettings::default()
    };
    vec![
        ("two classes", rows(true, false, false), |i| if price(i) > 0.2 { "dear" } else { "cheap" }.to_owned()),
        ("three classes", rows(false, false, false), |i| {
            ["red", "green", "blue"][(1.5 + 1.4 * price(i)) as usize].to_owned()
        }),
        ("levels", rows(false, false, false), |i| (2.0 * price(i) + 5.0).round().to_string()),
        ("counts", rows(false, true, false), |i| (2.0 + 2.0 * price(i)).exp().round().to_string()),
        ("censored", rows(false, false, true), |i| price(i).to_string()),
    ]
}

fn table_of(target: Target) -> Source {
    let row = |i: usize| {
        let (a, b) = ((0.7 * i as f64).sin(), (0.3 * (i * i) as f64).cos());
        let (weight, exposure, mark) = (1 + i % 3, 1 + i % 4, if i.is_multiple_of(5) { ">" } else { "" });
        format!("{a:.6},{b:.6},{weight},{exposure},{mark},g{},{}\n", i / 3, target(i))
    };
    Source::from_bytes("t.csv", format!("a,b,w,e,c,g,y\n{}", (0..60).map(row).collect::<String>()).into_bytes())
}

#[test]
fn every_task_can_be_interrupted() {
    for (task, rows, target) in tasks() {
        let (folder, table) = (Folder::new("task"), table_of(target));
        let target: Option<Names> = Some("y".parse().expect("a name"));
        let features: Option<Names> = Some("a,b".parse().expect("names"));
        let searched =
            FitSettings { target: target.clone(), rows: rows.clone(), features: features.clone(), ..search(&folder) };
        let trained = FitSettings { target, rows, features, ..network(&folder) };
        // Events of a session that is interrupted, and of a next one, which tells again what a search knows.
        // Searches of three of them are enough: they share all but the likelihood.
        let is_searched = matches!(task, "two classes" | "counts" | "censored");
        for (settings, pieces) in is_searched.then_some((searched, [2, 5])).into_iter().chain([(trained, [30, 40])]) {
            let never = |_: &Event<'_>, _| false;
            let whole =
                timeless(session_on(&settings, false, &table, never).unwrap_or_else(|e| panic!("{task}: {e}")).saved);
            for (resumes, piece) in [(false, pieces[0]), (true, pieces[1])] {
                let stopped = session_on(&settings, resumes, &table, |_, count| count == piece);
                let stopped = stopped.unwrap_or_else(|e| panic!("{task}: {e}"));
                assert_eq!(stopped.ending, Ending::Interrupted, "{task}");
                let file = settings.out.clone().expect("a name");
                assert!(SavedModel::load(&file).expect("a model") == stopped.saved, "{task}: what there is is a model");
            }
            let last = session_on(&settings, true, &table, never).unwrap_or_else(|e| panic!("{task}: {e}"));
            assert!(timeless(last.saved) == whole, "{task}: interrupted after {pieces:?}");
        }
    }
}

#[test]
fn only_the_table_that_a_fit_began_with_can_go_on() {
    for (settings, began) in
        [(network as fn(&Folder) -> FitSettings, "run"), (search as fn(&Folder) -> FitSettings, "search")]
    {
        let folder = Folder::new("other-table");
        let settings = settings(&folder);
        session(&settings, false, 90, |_, count| count == 2).expect("a model");
        let before = std::fs::read(settings.checkpoint_path()).expect("a checkpoint");
        match session(&settings, true, 89, |_, _| false) {
            Err(error @ Error::OtherTable { .. }) => {
                assert_eq!(error.to_string(), format!("homes.csv is not the table that the {began} began with"));
            }
            other => panic!("{other:?}"),
        }
        assert!(std::fs::read(settings.checkpoint_path()).expect("a checkpoint") == before);
    }
}

#[test]
fn limits_of_time_are_kept_across_sessions() {
    let folder = Folder::new("time");
    let mut settings = network(&folder);
    (settings.model.iters, settings.time) = (None, Some(Seconds(0.4)));
    let result = session(&settings, false, 90, |_, _| false).expect("a model");
    let seconds = result.saved.record.seconds;
    assert!(result.ending == Ending::OutOfTime && (0.4..3.0).contains(&seconds), "{:?}, {seconds} s", result.ending);
    assert!(!settings.checkpoint_path().exists());

    // An interrupted run has what is left.
    let half = |event: &Event<'_>, _| matches!(event, Event::Step(progress) if progress.share > 0.5);
    let first = session(&settings, false, 90, half).expect("a model").saved.record;
    let began = std::time::Instant::now();
    let second = session(&settings, true, 90, |_, _| false).expect("a model");
    assert!(first.seconds >= 0.2 && second.ending == Ending::OutOfTime);
    assert!(second.saved.record.steps > first.steps && began.elapsed().as_secs_f64() < 3.0);
    assert!((0.4..3.0).contains(&second.saved.record.seconds), "{} s", second.saved.record.seconds);
}

#[test]
fn a_search_that_runs_out_of_time_answers_with_what_it_has() {
    let folder = Folder::new("search-time");
    let settings = FitSettings { effort: Some(50.0), time: Some(Seconds(0.5)), ..search(&folder) };
    let result = session(&settings, false, 200, |_, _| false).expect("a model");
    assert_eq!(result.ending, Ending::OutOfTime);
    assert!(result.told_scores().is_some() && !settings.checkpoint_path().exists());
}

#[test]
fn a_checkpoint_that_fails_is_an_event() {
    for settings in [network as fn(&Folder) -> FitSettings, search] {
        let folder = Folder::new("full");
        let settings = FitSettings { checkpoint: Some(Seconds(1e-9)), ..settings(&folder) };
        let fit = Fit::new(Plan::new(&settings).expect("a plan"), &source(90), &mut |_| ()).expect("a fit");
        let (mut failed, mut stored, path) = (0, 0, settings.checkpoint_path());
        let result = fit.run(&AtomicBool::new(false), &mut |event| match event {
            Event::Checkpointed { .. } => {
                stored += 1;
                // Whoever runs the tests, no file can take the place of a folder with something in it.
                std::fs::remove_file(&path).expect("the checkpoint");
                std::fs::create_dir(&path).expect("a folder");
                std::fs::write(path.join("something"), "").expect("written");
            }
            Event::CheckpointFailed { error } => {
                assert!(error.to_string().contains("homes.deepgp.checkpoint"), "{error}");
                failed += 1;
            }
            _ => {}
        });
        assert_eq!(result.expect("a model").ending, Ending::Completed);
        assert!(stored == 1 && failed > 5, "{stored} stored, {failed} failed");
    }
}

/// Checkpoints of version 0.1 are resumed; the table is `homes(160)`.
#[test]
fn checkpoints_of_version_0_1_go_on() {
    for (name, steps) in [("v0.1-training.checkpoint", Some(1500)), ("v0.1-search.checkpoint", None)] {
        let folder = Folder::new("version");
        let stored = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models").join(name);
        let mut interrupted = Interrupted::load(&stored).expect(name);
        interrupted.change(&FitSettings { out: folder.settings().out, ..FitSettings::default() });
        let fit = Fit::resume(interrupted, &source(160), &mut |_| ()).expect(name);
        let result = fit.run(&AtomicBool::new(false), &mut |_| ()).expect(name);
        let record = &result.saved.record;
        assert_eq!((result.ending, record.rows), (Ending::Completed, 144), "{name}");
        match steps {
            Some(steps) => assert_eq!(record.steps, steps),
            None => assert!(record.tried.len() >= 8, "{:#?}", record.tried),
        }
        // Prices have a deviation of 63; by their area alone they are known to 22, and all columns leave noise of 0.7.
        assert!(
            record.held_out.as_ref().is_some_and(|scores| scores.rmse().is_some_and(|rmse| rmse < 5.0)),
            "{name}: {:?}",
            record.held_out
        );
    }
}
