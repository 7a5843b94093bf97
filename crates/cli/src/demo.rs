//! `deepgp demo`: a sparse GP and a deep GP on built-in data, side by side, with tables, models and reports to look at.

use crate::args::Demo;
use crate::args::FunctionName;
use crate::exit_codes::{in_words, usage_of};
use crate::fit::EventPrinter;
use crate::make::{generator, write_table};
use crate::out::{note, path_text, print, print_json};
use crate::report::{Sample, report, write_page};
use crate::rows::Loaded;
use crate::score::Tallies;
use crate::wording::{duration, kind, number, percent};
use anyhow::{Context, Result};
use deepgp_data::{Batch, Source};
use deepgp_fit::names::TaskName;
use deepgp_fit::values::{Seconds, Valid, Widths};
use deepgp_fit::{Event, Fit, FitSettings, ModelSettings, Plan};
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Record, Scores};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A table to learn from and one to be tested on.
struct Set {
    name: &'static str,
    about: &'static str,
    columns: Vec<&'static str>,
    train: (Mat, Mat),
    test: (Mat, Mat),
}

/// Rows to be tested on, where they can be made.
const TEST_ROWS: usize = 1000;

fn sets(seed: u64) -> Vec<Set> {
    let generated = |name, about, function, rows| {
        let (make, columns, noise) = generator(function);
        let (train, test) = (make(rows, noise, seed), make(TEST_ROWS, noise, seed.wrapping_add(1)));
        Set { name, about, columns: columns.to_vec(), train, test }
    };
    let mut all = vec![
        generated("step", "a step with noise", FunctionName::Step, 200),
        generated("borehole", "flow through a borehole, 8 inputs", FunctionName::Borehole, 400),
    ];
    all.extend(wine());
    all
}

/// Red wine: eleven measurements and a taster's mark. Every fifth row is for testing.
#[cfg(feature = "demo-data")]
fn wine() -> Option<Set> {
    let wine = linfa_datasets::winequality();
    let (records, targets) = (wine.records(), wine.targets());
    let (n, d) = records.dim();
    let x = Mat::from_fn(n, d, |i, j| records[(i, j)]);
    let y = Mat::from_fn(n, 1, |i, _| targets[i] as f64);
    let pick = |is_test: bool| {
        let rows: Vec<usize> = (0..n).filter(|i| (i % 5 == 4) == is_test).collect();
        (x.select_rows(&rows), y.select_rows(&rows))
    };
    let columns = vec![
        "fixed_acidity",
        "volatile_acidity",
        "citric_acid",
        "residual_sugar",
        "chlorides",
        "free_sulfur_dioxide",
        "total_sulfur_dioxide",
        "density",
        "ph",
        "sulphates",
        "alcohol",
        "quality",
    ];
    let fits = columns.len() == d + 1;
    let (train, test) = (pick(false), pick(true));
    fits.then_some(Set { name: "wine", about: "marks of red wine, 11 inputs", columns, train, test })
}

/// Left out of this build.
#[cfg(not(feature = "demo-data"))]
fn wine() -> Option<Set> {
    None
}

/// Trains both models on each set, prints their scores on rows that they have not seen, and writes everything.
pub fn run(args: &Demo) -> Result<()> {
    let started = Instant::now();
    let mut results = Vec::new();
    if !args.json {
        print(&format!(
            "{:<38} {:<10} {:>9} {:>17} {:>12} {:>8}\n",
            "data", "model", "RMSE", "mean log density", "in 95 %", "time"
        ))?;
    }
    for set in sets(args.seed) {
        let folder = args.out.join(set.name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        write_table(Some(&folder.join("train.csv")), &set.columns, &set.train)?;
        write_table(Some(&folder.join("test.csv")), &set.columns, &set.test)?;
        for hidden in [vec![], vec![2]] {
            let (loaded, scores) = compare(args, &set, hidden, &folder)?;
            let (name, record) = (kind(&loaded.saved), &loaded.saved.record);
            if args.json {
                results.push(result(set.name, name, record, &scores));
                continue;
            }
            print(&format!(
                "{:<38} {name:<10} {:>9} {:>17} {:>12} {:>8}\n",
                set.about,
                number(scores.rmse().unwrap_or(f64::NAN)),
                number(scores.mean_log_density),
                percent(scores.coverage_95().unwrap_or(f64::NAN)),
                duration(record.seconds)
            ))?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        return print_json(&json!({ "results": results, "out": path_text(&args.out), "seconds": seconds }));
    }
    let out = args.out.display();
    print(&format!("\nmean log density is in nats a row, higher is better; {} in all\n", duration(seconds)))?;
    print(&format!("reports: {out}/step/report.html and the like\n"))?;
    note(args.quiet, &format!("next: deepgp fit {out}/borehole/train.csv --target flow"));
    Ok(())
}

fn result(data: &str, model: &str, record: &Record, scores: &Scores) -> Value {
    json!({ "data": data, "model": model, "seconds": record.seconds, "steps": record.steps, "scores": scores })
}

/// Trains on a set, saves the model and, of the deep one, a report.
fn compare(args: &Demo, set: &Set, hidden: Vec<usize>, folder: &Path) -> Result<(Loaded, Scores)> {
    let is_deep = !hidden.is_empty();
    let settings = FitSettings {
        data: Some(folder.join("train.csv")),
        out: Some(folder.join(if is_deep { "deep.deepgp" } else { "sparse.deepgp" })),
        model: ModelSettings {
            hidden: Some(Widths(hidden)),
            iters: Some(args.iters),
            seed: Some(args.seed),
            ..ModelSettings::default()
        },
        // So few rows are worth more in training.
        valid: Some(Valid::Share(0.0)),
        task: Some(TaskName::Regression),
        checkpoint: Some(Seconds(0.0)),
        ..FitSettings::default()
    };
    let plan = Plan::new(&settings).map_err(usage_of)?;
    let source = Source::new(plan.data());
    let mut printer = EventPrinter::new(args.quiet, deepgp_task::Task::Regression);
    // What the table is like is known.
    let fit = Fit::new(plan, &source, &mut |event| {
        if let Event::RowsRead { .. } = event {
            printer.print(&event);
        }
    });
    let never = AtomicBool::new(false);
    let trained = fit.map_err(in_words)?.run(&never, &mut |event| {
        if let Event::Step(_) | Event::Trained = event {
            printer.print(&event);
        }
    });
    let saved = trained.map_err(in_words)?.saved;
    let loaded = Loaded { model: saved.model()?, saved };
    let (x, y) = &set.test;
    let batch = Batch { inputs: x.clone(), targets: y.clone(), ..Batch::default() };
    let mut sample = Sample::new(loaded.saved.preprocessing.task);
    sample.add(&batch);
    let (scores, baselines) = Tallies::of(&loaded, &batch)?.scores()?;
    if is_deep {
        write_page(
            &report(&format!("Demo: {}", set.about), &loaded, &sample, baselines)?,
            &folder.join("report.html"),
        )?;
    }
    Ok((loaded, scores))
}
