//! The command and the library `deepgp-fit` give the same models, and go on with each other's checkpoints.

mod common;

use common::{Folder, homes};
use deepgp_data::Source;
use deepgp_fit::{Event, Fit, FitSettings, Interrupted, Plan};
use deepgp_task::SavedModel;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said of two fits, to the command and to the library: of a given network, and of a search.
const FITS: [(&str, &str); 2] = [
    ("--inducing 6 --iters 60 --batch 20 --seed 2", "inducing = 6\niters = 60\nbatch = 20\nseed = 2"),
    ("--effort 0.02 --threads 1", "effort = 0.02\nthreads = 1"),
];

/// The settings that a config file stands for, of a table and a model file in a folder.
fn settings(folder: &Folder, text: &str, out: &str) -> FitSettings {
    let settings: FitSettings = toml::from_str(text).expect("settings");
    FitSettings {
        data: Some(folder.path("homes.csv")),
        target: Some("price".parse().expect("a name")),
        out: Some(folder.path(out)),
        ..settings
    }
}

/// The model but for what a clock says.
fn load(path: &Path) -> SavedModel {
    let mut saved = SavedModel::load(path).expect("a model");
    (saved.record.seconds, saved.record.date) = (0.0, None);
    saved
}

#[test]
fn the_command_and_the_library_give_the_same_model() {
    let f = Folder::new("library");
    f.write("homes.csv", homes(160));
    for (line, text) in FITS {
        f.run(&format!("fit homes.csv --target price --quiet --out command.deepgp {line}")).ok();
        let settings = settings(&f, text, "library.deepgp");
        let plan = Plan::new(&settings).expect("a plan");
        let source = Source::new(plan.data());
        let fit = Fit::new(plan, &source, &mut |_| ()).expect("a fit");
        fit.run(&AtomicBool::new(false), &mut |_| ()).expect("a model");
        assert!(load(&f.path("library.deepgp")) == load(&f.path("command.deepgp")), "{line}");
    }
}

#[test]
fn each_goes_on_where_the_other_was_interrupted() {
    let f = Folder::new("handed-over");
    f.write("homes.csv", homes(160));
    for (line, text) in FITS {
        f.run(&format!("fit homes.csv --target price --quiet --out whole.deepgp {line}")).ok();
        let (settings, stop) = (settings(&f, text, "model.deepgp"), AtomicBool::new(false));
        let source = Source::new(f.path("homes.csv"));
        let mut count = 0;
        let mut after_five = |event: Event<'_>| {
            if let Event::Step(_) | Event::Tried(_) = event {
                count += 1;
                stop.store(count % 5 == 0, Ordering::Relaxed);
            }
        };
        let fit = Fit::new(Plan::new(&settings).expect("a plan"), &source, &mut |_| ()).expect("a fit");
        fit.run(&stop, &mut after_five).expect("a model");
        let plan = f.run("fit --resume --dry-run --json").ok().json();
        assert_eq!(plan["targets"][0], "price");

        // By the library, then by the command.
        let checkpoint = settings.checkpoint_path();
        let stored = std::fs::read(&checkpoint).expect("a checkpoint");
        let fit = Fit::resume(Interrupted::load(&checkpoint).expect("a checkpoint"), &source, &mut |_| ());
        fit.expect("a fit").run(&AtomicBool::new(false), &mut |_| ()).expect("a model");
        assert!(load(&f.path("model.deepgp")) == load(&f.path("whole.deepgp")), "{line}");
        std::fs::write(&checkpoint, stored).expect("written");
        f.run("fit --resume --quiet").ok();
        assert!(load(&f.path("model.deepgp")) == load(&f.path("whole.deepgp")), "{line}");
        assert!(!checkpoint.exists());
    }
}
