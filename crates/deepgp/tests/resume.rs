//! Interrupted runs: a snapshot that went through text goes on to the last bit, and a wrong one is refused.

mod common;

use common::{Draw, engines, gaussian};
use deepgp::Data;
use deepgp::infer::{Engine, InferenceSettings, Site};
use deepgp::init::{Architecture, network};
use deepgp::network::DeepGp;
use deepgp::train::{Observer, Progress, Snapshot, Termination, TrainSettings, Trainer};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::optim::Schedule;
use std::ops::ControlFlow;

fn data(n: usize) -> (Mat, Mat) {
    let mut draw = Draw::new(5);
    let x = Mat::from_fn(n, 1, |_, _| draw.uniform(-2.0, 2.0));
    let y = Mat::from_fn(n, 1, |i, _| (3.0 * x[(i, 0)]).sin() + 0.2 * draw.normal());
    (x, y)
}

fn start(x: &Mat) -> DeepGp {
    let shape = Architecture { hidden: vec![2], n_inducing: 6, ..Architecture::default() };
    network(x, gaussian(1, 0.05), &shape, &mut Draw::new(1).0).expect("a network").0
}

fn settings(engine: Engine, iterations: usize) -> TrainSettings {
    let inference = InferenceSettings::of(engine);
    TrainSettings { inference, iterations, batch_size: 20, learning_rate: 0.02, seed: 9, ..TrainSettings::default() }
}

/// Through text and back: what a file does, with numbers in another form.
fn stored(snapshot: &Snapshot) -> Snapshot {
    let text = serde_json::to_string(snapshot).expect("JSON");
    let back = serde_json::from_str(&text).expect("a snapshot");
    assert_eq!(&back, snapshot, "the format must keep every bit");
    back
}

/// Stops after `last` steps, with a snapshot of that moment.
struct StopAt {
    last: usize,
    snapshot: Option<Snapshot>,
}

impl Observer for StopAt {
    fn on_step(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if progress.step < self.last {
            return ControlFlow::Continue(());
        }
        self.snapshot = Some(progress.trainer.snapshot());
        ControlFlow::Break(())
    }
}

/// A snapshot after `step` steps.
fn snapshot_at(step: usize, model: &DeepGp, x: &Mat, y: &Mat, settings: &TrainSettings) -> Snapshot {
    let mut observer = StopAt { last: step, snapshot: None };
    Trainer::new(model.clone(), Data::new(x, y), settings.clone()).expect("a trainer").run(&mut observer);
    observer.snapshot.expect("a snapshot")
}

/// The end of a run: why and when, and all that it leaves as text, in which 0 and −0 differ.
#[derive(Debug, PartialEq)]
struct End(Termination, usize, String);

fn finish(mut trainer: Trainer<'_>) -> End {
    let outcome = trainer.run(&mut ());
    End(outcome.termination, outcome.steps, serde_json::to_string(&trainer.snapshot()).expect("JSON"))
}

#[test]
fn a_resumed_run_gives_the_bits_of_an_uninterrupted_one() {
    let (x, y) = data(50);
    for engine in engines() {
        let settings = settings(engine, 40);
        let model = start(&x);
        let whole = finish(Trainer::new(model.clone(), Data::new(&x, &y), settings.clone()).expect("a trainer"));
        for interrupted in [1, 17, 40] {
            let snapshot = stored(&snapshot_at(interrupted, &model, &x, &y, &settings));
            assert_eq!(snapshot.step(), interrupted);
            let resumed = finish(Trainer::resume(snapshot, Data::new(&x, &y)).expect("a run to resume"));
            assert!(resumed == whole, "{engine:?} interrupted after {interrupted}");
        }
        // Interrupted twice, and on other threads.
        let first = stored(&snapshot_at(5, &model, &x, &y, &settings)).with_threads(2);
        let mut observer = StopAt { last: 23, snapshot: None };
        Trainer::resume(first, Data::new(&x, &y)).expect("a run").run(&mut observer);
        let second = stored(&observer.snapshot.expect("a snapshot")).with_threads(1);
        let end = finish(Trainer::resume(second, Data::new(&x, &y)).expect("a run"));
        assert!(end == whole, "{engine:?} interrupted twice");
    }
}

/// Long enough for the run to know its lowest place, with a learning rate that leads it away from there.
#[test]
fn a_run_that_went_up_again_is_resumed_with_its_lowest_place() {
    let (x, y) = data(50);
    let settings = TrainSettings {
        learning_rate: 0.3,
        schedule: Schedule::Constant,
        ..settings(Engine::Sep(Site::FirstOrder), 300)
    };
    let model = start(&x);
    let whole = finish(Trainer::new(model.clone(), Data::new(&x, &y), settings.clone()).expect("a trainer"));
    for interrupted in [240, 299] {
        let snapshot = stored(&snapshot_at(interrupted, &model, &x, &y, &settings));
        let resumed = finish(Trainer::resume(snapshot, Data::new(&x, &y)).expect("a run to resume"));
        assert!(resumed == whole, "interrupted after {interrupted}");
    }
}

#[test]
fn a_run_with_undone_steps_resumes_between_them() {
    // Squares of the first overflow, so that no step has a finite energy; of the second, the squares of the gradient
    // do.
    for scale in [1e200, 1e100] {
        let (x, mut y) = data(30);
        y.as_mut_slice().iter_mut().for_each(|y| *y *= scale);
        let (model, settings) = (start(&x), settings(Engine::Sep(Site::FirstOrder), 500));
        let whole = finish(Trainer::new(model.clone(), Data::new(&x, &y), settings.clone()).expect("a trainer"));
        assert_eq!(whole.0, Termination::Diverged);
        for interrupted in [1, 12, whole.1] {
            let snapshot = stored(&snapshot_at(interrupted, &model, &x, &y, &settings));
            let resumed = finish(Trainer::resume(snapshot, Data::new(&x, &y)).expect("a run"));
            assert!(resumed == whole, "interrupted after {interrupted}");
        }
    }
}

#[test]
fn a_run_can_be_made_longer() {
    let (x, y) = data(50);
    let settings = TrainSettings { schedule: Schedule::Constant, ..settings(Engine::Sep(Site::FirstOrder), 20) };
    let long = TrainSettings { iterations: 35, ..settings.clone() };
    let whole = finish(Trainer::new(start(&x), Data::new(&x, &y), long).expect("a trainer"));
    let mut trainer = Trainer::new(start(&x), Data::new(&x, &y), settings).expect("a trainer");
    assert_eq!(trainer.run(&mut ()).steps, 20);
    let snapshot = trainer.snapshot();
    let longer = finish(Trainer::resume(snapshot.with_iterations(35), Data::new(&x, &y)).expect("a run"));
    assert!(longer == whole, "with a constant learning rate the number of iterations decides on nothing but the end");
}

#[test]
fn other_data_are_refused() {
    let (x, y) = data(50);
    let snapshot = snapshot_at(3, &start(&x), &x, &y, &settings(Engine::Ep, 10));
    let refused =
        |x: &Mat, y: &Mat| Trainer::resume(snapshot.clone(), Data::new(x, y)).map(|_| ()).expect_err("other data");
    let mut moved = x.clone();
    moved[(49, 0)] = moved[(49, 0)].next_up();
    assert!(matches!(refused(&moved, &y), Error::OtherData { .. }));
    assert!(matches!(refused(&x, &moved), Error::OtherData { .. }));
    let rows: Vec<usize> = (0..49).collect();
    let fewer = (x.select_rows(&rows), y.select_rows(&rows));
    assert_eq!(refused(&fewer.0, &fewer.1), Error::Shape { what: "rows of the data", expected: 50, found: 49 });
}

/// The snapshot's text with one change, resumed.
fn resume_changed(snapshot: &Snapshot, change: (&str, &str), x: &Mat, y: &Mat) -> Result<()> {
    let text = serde_json::to_string(snapshot).expect("JSON");
    assert!(text.contains(change.0), "{} is not in the snapshot", change.0);
    let changed = serde_json::from_str(&text.replacen(change.0, change.1, 1)).expect("a snapshot");
    Trainer::resume(changed, Data::new(x, y)).map(|_| ())
}

#[test]
fn snapshots_that_no_run_could_have_left_are_refused() {
    let (x, y) = data(30);
    for engine in engines() {
        let snapshot = snapshot_at(3, &start(&x), &x, &y, &settings(engine, 10));
        let mut changes = vec![
            ("\"learning_scale\":1.0", "\"learning_scale\":-1.0"),
            ("\"learning_rate\":0.02", "\"learning_rate\":-0.02"),
            ("\"adam\":{\"m\":[", "\"adam\":{\"m\":[0.0,"),
            ("\"last_good\":[", "\"last_good\":[0.0,"),
            ("\"scale\":1.0", "\"scale\":-1.0"),
            ("\"base\":", "\"base\":1"),
            ("\"dim_out\":2", "\"dim_out\":3"),
            ("\"fixed\":[]", "\"fixed\":[\"lengthscales\"]"),
        ];
        match engine {
            Engine::Ep => changes.push((
                "\"points\":[[[{\"precision\":{\"rows\":6,\"cols\":6",
                "\"points\":[[[{\"precision\":{\"rows\":4,\"cols\":9",
            )),
            Engine::JointEnergy => changes.push(("\"roots\":[[{\"m\":6", "\"roots\":[[{\"m\":7")),
            Engine::Sep(_) | Engine::Adf => changes.push(("\"roots\":[]", "\"roots\":[[]]")),
        }
        for change in changes {
            let refused = resume_changed(&snapshot, change, &x, &y);
            assert!(refused.is_err(), "{engine:?}: {change:?} was accepted");
        }
        assert_eq!(resume_changed(&snapshot, ("\"step\":3", "\"step\":3"), &x, &y), Ok(()));
    }
}

/// Says that half of a run is over before it begins.
struct Clock(f64, Vec<f64>);

impl Observer for Clock {
    fn on_step(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.1.push(progress.learning_rate);
        ControlFlow::Continue(())
    }

    fn share(&mut self) -> Option<f64> {
        Some(self.0)
    }
}

#[test]
fn the_learning_rate_follows_the_later_of_clock_and_steps() {
    let (x, y) = data(30);
    let rates = |share| {
        let mut clock = Clock(share, Vec::new());
        let settings = settings(Engine::Sep(Site::FirstOrder), 10);
        Trainer::new(start(&x), Data::new(&x, &y), settings).expect("a trainer").run(&mut clock);
        clock.1
    };
    let plain = |step: usize| 0.02 * Schedule::Cosine.factor(step as f64 / 10.0);
    assert_eq!(rates(0.0), (0..10).map(plain).collect::<Vec<_>>());
    let half: Vec<f64> = (0..10).map(|step| plain(step.max(5))).collect();
    assert_eq!(rates(0.5), half);
    assert!(rates(2.0).iter().all(|&rate| rate == plain(10)));
}
