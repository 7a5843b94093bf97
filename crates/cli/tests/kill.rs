//! `fit` killed at random moments: the checkpoint always loads, and the resumed run ends with the same network.

mod common;

use common::{Folder, homes};
use deepgp_task::SavedModel;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// How often the run is killed.
const KILLS: &str = "DEEPGP_KILLS";

/// The model but for what a clock says.
fn load(path: &Path) -> SavedModel {
    let mut saved = SavedModel::load(path).expect("a model");
    (saved.record.seconds, saved.record.date) = (0.0, None);
    saved
}

#[test]
fn killed_runs_end_with_the_same_network() {
    let kills: usize = std::env::var(KILLS).map_or(5, |kills| kills.parse().expect("a number"));
    let f = Folder::new("kill");
    // Enough rows for held-out ones to choose the best network: that must survive, too.
    f.write("homes.csv", homes(600));
    let start = "fit homes.csv --target price --inducing 10 --iters 3000 --batch 30 --checkpoint 15ms --quiet";
    let began = Instant::now();
    f.run(&format!("{start} --out whole.deepgp")).ok();
    let mut whole_run = began.elapsed();
    let whole = load(&f.path("whole.deepgp"));
    assert_eq!((whole.record.steps, f.path("whole.deepgp.checkpoint").exists()), (3000, false));

    let (model, checkpoint) = (f.path("model.deepgp"), f.path("model.deepgp.checkpoint"));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut killed, mut finished, mut resumed, mut furthest) = (0, 0, 0, 0);
    while killed < kills || finished == 0 {
        let line = if checkpoint.exists() { "fit --resume --quiet" } else { start };
        resumed += usize::from(checkpoint.exists());
        let mut child = f.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a child");
        if killed < kills {
            std::thread::sleep(whole_run.mul_f64(rng.random_range(0.01..0.5)));
            // SIGKILL on Unix.
            child.kill().expect("killed");
        }
        let done = child.wait_with_output().expect("its end");
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(err, "", "after {killed} kills");
        if done.status.success() {
            finished += 1;
            assert!(load(&model) == whole, "another network after {killed} kills");
            assert_eq!(f.names(), ["homes.csv", "model.deepgp", "whole.deepgp"]);
            std::fs::remove_file(&model).expect("removed");
            furthest = 0;
            // The machine may be faster now than it was: kill sooner.
            whole_run = whole_run.mul_f64(0.8);
            continue;
        }
        killed += 1;
        assert!(!model.exists(), "a model before its end");
        if checkpoint.exists() {
            let show = f.run("fit --resume --dry-run --json").ok().json();
            assert_eq!(show["targets"][0], "price");
            let step =
                deepgp_task::Checkpoint::<serde_json::Value>::load(&checkpoint).expect("a whole one").snapshot.step();
            assert!(step >= furthest, "back from step {furthest} to {step}");
            furthest = step;
        }
    }
    println!("{whole_run:?}: {killed} kills, {resumed} resumed, {finished} finished");
    assert!(resumed > 0, "nothing was interrupted");
}

#[cfg(unix)]
#[test]
fn an_interrupt_saves_everything_and_says_how_to_go_on() {
    let f = Folder::new("interrupt");
    f.write("homes.csv", homes(600));
    let start = "fit homes.csv --target price --inducing 10 --iters 3000 --batch 30 --seed 4";
    f.run(&format!("{start} --out whole.deepgp --quiet")).ok();
    interrupt_after(60, &f, start);
    // What there is so far is a model.
    let steps = f.run("show model.deepgp --json").ok().json()["steps"].as_u64().expect("steps");
    assert!(steps < 3000, "{steps}");
    // Only with the table that it began with.
    f.write("other.csv", homes(599)).write("changed.csv", homes(600).replacen("60", "61", 1));
    for (table, piece) in [("other.csv", "rows of the data: expected 540, found 539"), ("changed.csv", "fingerprint")] {
        let done = f.run(&format!("fit {table} --resume model.deepgp.checkpoint --quiet"));
        let start = format!("{table} is not the table that the run began with: ");
        assert!(done.code == 1 && done.complaint().starts_with(&start) && done.err.contains(piece), "{done:#?}");
    }
    let resumed = f.run("fit --resume model.deepgp.checkpoint").ok();
    assert!(resumed.err.contains("going on after step"), "{resumed:#?}");
    assert!(load(&f.path("model.deepgp")) == load(&f.path("whole.deepgp")));
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_goes_on() {
    let f = Folder::new("search");
    f.write("homes.csv", homes(160));
    let start = "fit homes.csv --target price --effort 0.05 --seed 4 --threads 1";
    f.run(&format!("{start} --out whole.deepgp --quiet")).ok();
    assert!(!f.path("whole.deepgp.checkpoint").exists());
    interrupt_after(400, &f, start);
    f.run("show model.deepgp").ok();
    f.write("other.csv", homes(160).replace("60", "61"));
    let other = f.run("fit other.csv --resume model.deepgp.checkpoint --quiet");
    assert!(other.complaint().starts_with("other.csv is not the table that the search began with"), "{other:#?}");
    f.run("fit --resume model.deepgp.checkpoint --dry-run").ok();
    let resumed = f.run("fit --resume model.deepgp.checkpoint").ok();
    assert!(resumed.err.contains("going on after"), "{resumed:#?}");
    assert!(load(&f.path("model.deepgp")) == load(&f.path("whole.deepgp")));
    assert!(!f.path("model.deepgp.checkpoint").exists());
}

/// Starts a fit, interrupts it so many milliseconds after its first checkpoint, and expects it to say how to go on.
#[cfg(unix)]
fn interrupt_after(milliseconds: u64, f: &Folder, start: &str) {
    let mut child = f.command(start).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a child");
    // Training has begun once there is a first checkpoint.
    let began = Instant::now();
    while !f.path("model.deepgp.checkpoint").exists() && began.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    assert!(child.try_wait().expect("a child").is_none(), "it ended before the interrupt");
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let done = child.wait_with_output().expect("its end");
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(130), "{err}");
    assert!(err.contains("go on with: deepgp fit --resume model.deepgp.checkpoint"), "{err}");
}
