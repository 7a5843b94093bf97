//! Runs that are killed at random moments: the checkpoint always loads, and the resumed run ends with the same bits.

mod common;

use common::{config, data, preprocessing, saved_from};
use deepgp::infer::{Engine, InferenceSettings, Site};
use deepgp::train::{Observer, Progress};
use deepgp_task::{Checkpoint, Config, Preprocessing, Record, SavedModel, StandardisedData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where the child works; set by the parent.
const FOLDER: &str = "DEEPGP_KILL_TEST_FOLDER";
/// The engine's place in [`engines`].
const ENGINE: &str = "DEEPGP_KILL_TEST_ENGINE";
/// How often a run is killed, for each engine.
const KILLS: &str = "DEEPGP_KILLS";

const ROWS: usize = 60;

fn engines() -> [Engine; 3] {
    [Engine::Sep(Site::FirstOrder), Engine::Ep, Engine::JointEnergy]
}

fn run_config(engine: Engine) -> Config {
    let mut config = config(if engine == Engine::Ep { 600 } else { 5000 });
    config.train.inference = InferenceSettings::of(engine);
    config
}

/// Writes a checkpoint every few milliseconds.
struct Keeper {
    path: PathBuf,
    preprocessing: Preprocessing,
    record: Record,
    last: Instant,
}

impl Observer for Keeper {
    fn on_step(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if self.last.elapsed() > Duration::from_millis(2) {
            self.record.steps = progress.step;
            let checkpoint = Checkpoint {
                settings: (),
                preprocessing: self.preprocessing.clone(),
                snapshot: progress.trainer.snapshot(),
                best: None,
                record: self.record.clone(),
            };
            checkpoint.save(&self.path).expect("a checkpoint");
            self.last = Instant::now();
        }
        ControlFlow::Continue(())
    }
}

/// Trains, from the checkpoint where there is one, to the end, and saves the model.
fn train(folder: &Path, engine: Engine) {
    let (x, y) = data(ROWS);
    let (path, config) = (folder.join("run.checkpoint"), run_config(engine));
    deepgp_io::remove_leftovers(&path).expect("a folder");
    let data = StandardisedData::new(x.clone(), y.clone()).expect("data");
    let mut trainer = if path.exists() {
        let checkpoint = Checkpoint::<()>::load(&path).expect("a checkpoint");
        data.resume(checkpoint.snapshot).expect("a run")
    } else {
        data.trainer(&config).expect("a run")
    };
    let record = Record::new(config.clone(), ROWS);
    let preprocessing = preprocessing(&data, &x);
    let outcome = trainer.run(&mut Keeper { path, preprocessing, record, last: Instant::now() });
    let saved = saved_from(config, &data, &x, trainer.fitted(), &outcome);
    saved.save(&folder.join("model.deepgp")).expect("a model");
}

/// The process that is killed; does nothing unless the parent asks.
#[test]
#[ignore = "the other half of the test below"]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let engine = std::env::var(ENGINE).expect("an engine").parse::<usize>().expect("a number");
        train(Path::new(&folder), engines()[engine]);
    }
}

#[test]
fn killed_runs_end_with_the_same_bits() {
    let kills = std::env::var(KILLS).map_or(5, |kills| kills.parse().expect("a number"));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (index, engine) in engines().into_iter().enumerate() {
        let folder = std::env::temp_dir().join(format!("deepgp-kill-{index}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        let started = Instant::now();
        train(&folder, engine);
        let whole_run = started.elapsed();
        let (model, path) = (folder.join("model.deepgp"), folder.join("run.checkpoint"));
        let whole = std::fs::read(&model).expect("a model");
        SavedModel::from_bytes(&whole).expect("a model");

        let remove = |path: &Path| std::fs::remove_file(path).expect("removed");
        remove(&path);
        remove(&model);
        let (mut killed, mut finished, mut found, mut resumed, mut reached) = (0, 0, 0, 0, 0);
        while killed < kills || finished == 0 {
            resumed += usize::from(path.exists());
            let mut child = Command::new(std::env::current_exe().expect("this program"))
                .args(["--exact", "child", "--ignored", "--test-threads=1"])
                .env(FOLDER, &folder)
                .env(ENGINE, index.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("a child");
            if killed < kills {
                std::thread::sleep(whole_run.mul_f64(rng.random_range(0.01..0.4)));
                // SIGKILL on Unix.
                child.kill().expect("killed");
            }
            let status = child.wait().expect("its end");
            if status.success() {
                finished += 1;
                assert!(
                    std::fs::read(&model).expect("a model") == whole,
                    "{engine:?}: other bits after {killed} kills"
                );
                // From the start again, should there be kills left.
                remove(&path);
                remove(&model);
                reached = 0;
                continue;
            }
            killed += 1;
            assert!(killed <= kills, "{engine:?}: the child failed by itself");
            if path.exists() {
                found += 1;
                let step = Checkpoint::<()>::load(&path).expect("a whole checkpoint").snapshot.step();
                assert!(step >= reached, "{engine:?}: back from step {reached} to {step}");
                reached = step;
            }
        }
        println!(
            "{engine:?}, {whole_run:?}: {killed} kills, {found} checkpoints found, {resumed} resumed, {finished} finished"
        );
        assert!(found > 0 && resumed > 0, "{engine:?}: nothing was interrupted");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
