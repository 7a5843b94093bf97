//! Every command and option, as a user would type them.

mod common;

use common::{Folder, QUICK, homes, with_model};
use serde_json::Value;

#[test]
fn a_session_from_fit_to_report() {
    let f = Folder::new("session");
    f.write("homes.csv", homes(600));
    let fit = f.run(&format!("fit homes.csv --target price {QUICK}")).ok();
    for piece in [
        "deep GP 5 → 2 → 1 for price: 540 training rows, 30 steps",
        "60 rows held out, best at step",
        "linear",
        "constant",
        "saved as model.deepgp",
    ] {
        assert!(fit.out.contains(piece), "{piece}: {fit:#?}");
    }
    assert!(fit.err.contains("next: deepgp show model.deepgp"), "{fit:#?}");
    assert_eq!(f.names(), ["homes.csv", "model.deepgp"]);

    let predict = f.run("predict model.deepgp homes.csv").ok();
    let lines: Vec<&str> = predict.out.lines().collect();
    assert_eq!((lines.len(), lines[0]), (601, "row,price_mean,price_std,price_lower,price_upper"));
    let row: Vec<f64> = lines[7].split(',').map(|cell| cell.parse().expect("a number")).collect();
    assert_eq!((row.len(), row[0]), (5, 7.0));
    assert!((row[1] - 1.959964 * row[2] - row[3]).abs() < 1e-4 && (row[1] + 1.959964 * row[2] - row[4]).abs() < 1e-4);
    assert_eq!(predict.err, "");

    let score = f.run("score model.deepgp homes.csv").ok();
    for piece in [
        "600 rows of homes.csv",
        "RMSE",
        "mean log density (nats/row, higher is better)",
        "CRPS",
        "inside the 95 % interval",
    ] {
        assert!(score.out.contains(piece), "{piece}: {score:#?}");
    }
    let show = f.run("show model.deepgp").ok();
    for piece in [
        "predicts price",
        "3 columns (2 number, 1 category), as 5 features",
        "noise    Gaussian",
        "layer 1: 5 → 2",
        "relevance",
        "area",
        "town",
        "540 rows, 30 steps",
        "engine sep, alpha 0.7",
        "held out: RMSE",
    ] {
        assert!(show.out.contains(piece), "{piece}: {show:#?}");
    }
    let report = f.run("report model.deepgp homes.csv --figures figures --title 'What homes cost'").ok();
    assert!(report.out.starts_with("report.html\nfigures/"), "{report:#?}");
    let page = f.read("report.html");
    for piece in ["<h1>What homes cost</h1>", "linear model", "always the training mean", "area", "</html>"] {
        assert!(page.contains(piece), "{piece}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv") && !page.contains("src=\"http"));
    for figure in ["calibration-1.svg", "calibration-1.png", "training.svg", "relevance.png"] {
        assert!(f.path("figures").join(figure).metadata().is_ok_and(|m| m.len() > 500), "{figure}");
    }
    assert!(f.run("report model.deepgp homes.csv").ok().out == "report.html\n");
    assert!(f.read("report.html").contains("<h1>price from homes.csv</h1>"));
}

#[test]
fn machines_get_one_object() {
    let f = Folder::new("json");
    f.write("homes.csv", homes(600));
    let fit = f.run(&format!("fit homes.csv --target price --json --seed 3 {QUICK}")).ok().json();
    for name in ["steps", "seconds", "seconds_per_step", "energy", "n_events", "rows", "held_out_rows", "best_step"] {
        assert!(fit[name].is_number(), "{name}: {fit}");
    }
    assert_eq!((&fit["termination"], &fit["steps"], &fit["rows"]), (&"iterations".into(), &30.into(), &540.into()));
    assert!(fit["events"].is_array() && fit["notices"].is_array() && fit["checkpoint"].is_null());
    assert_eq!((&fit["settings"]["seed"], &fit["settings"]["engine"]), (&3.into(), &"sep".into()));
    assert_eq!((&fit["settings"]["hidden"], &fit["model"]), (&vec![2].into(), &"model.deepgp".into()));
    let scores = |value: &Value| {
        for name in [
            "rows",
            "rmse",
            "mae",
            "mean_log_density",
            "crps",
            "coverage_50",
            "coverage_80",
            "coverage_90",
            "coverage_95",
            "coverage_99",
        ] {
            assert!(value[name].is_number(), "{name}: {value}");
        }
    };
    scores(&fit["held_out"]);
    scores(&fit["baselines"]["linear"]);
    scores(&fit["baselines"]["constant"]);

    let score = f.run("score model.deepgp homes.csv --json").ok().json();
    scores(&score);
    scores(&score["baselines"]["linear"]);
    assert_eq!(score["rows"], 600);
    let show = f.run("show model.deepgp --json").ok().json();
    assert_eq!((&show["targets"][0], &show["layers"][0]["outputs"]), (&"price".into(), &2.into()));
    let shares: f64 =
        show["relevance"].as_array().expect("columns").iter().map(|c| c["share"].as_f64().expect("a share")).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let predict = f.run("predict model.deepgp homes.csv --json").ok().json();
    assert_eq!((&predict["rows"], &predict["predictions"][599]["row"]), (&600.into(), &600.into()));
    assert!(predict["predictions"][0]["price_mean"].is_number());
    let predict = f.run("predict model.deepgp homes.csv --json -o out.csv").ok().json();
    assert_eq!((&predict["rows"], &predict["out"]), (&600.into(), &"out.csv".into()));
    let report = f.run("report model.deepgp homes.csv --json").ok().json();
    scores(&report["scores"]);
    assert_eq!(report["out"], "report.html");
    let plan = f.run("fit homes.csv --dry-run --json").ok().json();
    assert_eq!(
        (&plan["steps"], &plan["held_out_rows"], &plan["targets"][0]),
        (&Value::Null, &0.into(), &"price".into())
    );
    assert_eq!((&plan["search"], &plan["task"]), (&true.into(), &"regression".into()));
    assert!(plan["taken_for"].as_str().is_some_and(|text| text.contains("predicted as a number")), "{plan:#}");
    let plan = f.run("fit homes.csv --dry-run").ok().out;
    assert!(plan.contains("# a search chooses networks and their steps\n") && !plan.contains(" steps of "), "{plan}");
}

#[test]
fn every_option_of_fit() {
    let f = Folder::new("options");
    f.write("homes.csv", homes(80));
    let settings = |options: &str| f.run(&format!("fit homes.csv --target price --json {QUICK} {options}")).ok().json();
    for (options, name, expected) in [
        ("--hidden 2,3", "hidden", Value::from(vec![2, 3])),
        ("--hidden 0", "hidden", Value::from(Vec::<u8>::new())),
        ("--engine sep-exact", "engine", "sep-exact".into()),
        ("--engine ep", "engine", "ep".into()),
        ("--engine adf", "engine", "adf".into()),
        ("--engine joint", "engine", "joint".into()),
        ("--kernel linear", "kernel", "linear".into()),
        ("--kernel eq-linear", "kernel", "eq-linear".into()),
        ("--kernel matern32 --hidden 1", "kernel", "matern32".into()),
        ("--kernel matern52 --hidden 0", "kernel", "matern52".into()),
        ("--kernel spectral-mixture", "kernel", "spectral-mixture".into()),
        ("--mean linear", "mean", "linear".into()),
        ("--likelihood student-t", "likelihood", "student-t".into()),
        // Its old name.
        ("--noise student-t", "likelihood", "student-t".into()),
        ("--alpha 0.5", "alpha", 0.5.into()),
        ("--damping 0.1", "damping", 0.1.into()),
        ("--lr 0.02", "lr", 0.02.into()),
        ("--schedule constant", "schedule", "constant".into()),
        ("--seed 9223372036854775807", "seed", i64::MAX.into()),
        ("--threads 2", "threads", 2.into()),
        ("--valid 0", "valid", 0.0.into()),
        ("--checkpoint 0", "checkpoint", 0.0.into()),
        ("--features area,rooms", "features", vec!["area", "rooms"].into()),
        ("--exclude town", "exclude", vec!["town"].into()),
        ("--categorical rooms", "categorical", vec!["rooms"].into()),
        ("--header yes", "header", "yes".into()),
        ("--delimiter comma", "delimiter", ",".into()),
        ("--decimal point", "decimal", "point".into()),
        ("--out other.deepgp", "out", "other.deepgp".into()),
        ("--transform log", "transform", "log".into()),
        ("--transform yeo-johnson", "transform", "yeo-johnson".into()),
        ("--transform ranks", "transform", "ranks".into()),
        ("--valid 0.3 --recalibrate", "recalibrate", true.into()),
    ] {
        assert_eq!(settings(options)["settings"][name], expected, "{options}");
    }
    let show = |name| f.run(&format!("show {name}.deepgp")).ok().out;
    f.run(&format!(
        "fit homes.csv --target price,area --out two.deepgp --noise student-t --kernel eq-linear --mean linear {QUICK}"
    ))
    .ok();
    let two = show("two");
    for piece in ["predicts price, area", "Student-t", "exponentiated quadratic", "+ linear with slopes", "linear mean"]
    {
        assert!(two.contains(piece), "{piece}: {two}");
    }
    let lines = f.run("predict two.deepgp homes.csv --log-density").ok().out;
    assert!(lines.starts_with(
        "row,price_mean,price_std,price_lower,price_upper,area_mean,area_std,area_lower,area_upper,log_density\n"
    ));
    let score = f.run("score two.deepgp homes.csv").ok().out;
    assert!(score.contains("RMSE of price") && score.contains("RMSE of area"), "{score}");
    let score = f.run("score two.deepgp homes.csv --json").ok().json();
    let of = |name: &str| score["per_target"][name]["rmse"].as_f64().expect("a number");
    let both = (0.5 * (of("price").powi(2) + of("area").powi(2))).sqrt();
    assert!((both / score["rmse"].as_f64().expect("a number") - 1.0).abs() < 1e-9, "{score}");
    f.run("report two.deepgp homes.csv").ok();
}

#[test]
fn transformed_and_recalibrated_models_speak_the_target_s_unit() {
    let f = Folder::new("transform");
    let row = |i: usize| {
        let (a, b) = ((1.7 * i as f64).sin(), (2.9 * i as f64).cos());
        format!("{a},{b},{}\n", (2.0 * a + b + 0.2 * (7.3 * i as f64).sin()).exp())
    };
    f.write("skewed.csv", format!("a,b,y\n{}", (0..240).map(row).collect::<String>()));
    let fit = |options: &str| {
        f.run(&format!("fit skewed.csv --json --inducing 20 --iters 400 --valid 0.3 {options}")).ok().json()
    };
    let density = |fit: &Value| fit["held_out"]["mean_log_density"].as_f64().expect("a number");
    let (plain, log) = (fit("--hidden 0 --out plain.deepgp"), fit("--hidden 0 --transform log --recalibrate"));
    assert!(density(&log) > density(&plain) + 0.5, "{plain:#} {log:#}");
    // Not at either end of what is searched.
    assert!(log["std_factor"].as_f64().is_some_and(|factor| 0.26 < factor && factor < 3.9), "{log:#}");
    assert!(plain["std_factor"].is_null() && plain["moment_check"].is_null());
    assert!(f.run("show model.deepgp").ok().out.contains("after its transform (log)"));
    // Intervals are quantiles: never below zero here, and wider above than below.
    let predictions = f.run("predict model.deepgp skewed.csv --log-density").ok().out;
    let (mut covered, mut widths) = (0, Vec::new());
    for (i, line) in predictions.lines().skip(1).enumerate() {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        let (mean, lower, upper) = (cells[1], cells[3], cells[4]);
        assert!(lower > 0.0 && upper - mean > mean - lower, "{line}");
        let y: f64 = row(i).trim_end().rsplit(',').next().and_then(|y| y.parse().ok()).expect("a number");
        covered += usize::from(lower <= y && y <= upper);
        widths.push((upper / lower).ln());
    }
    // The noise of log y is 0.2 sin, with a deviation of 0.14 and no tails: 95 % intervals cover it, and have a width of
    // 4 · 0.14 and a little for what is not known of the function.
    widths.sort_by(f64::total_cmp);
    assert!(covered >= 234 && (0.45..0.75).contains(&widths[120]), "{covered} rows, widths {widths:?}");
    f.run("score model.deepgp skewed.csv").ok();
    f.run("report model.deepgp skewed.csv").ok();
    assert!(fit("--hidden 2 --transform ranks")["moment_check"]["samples"].is_number());
    f.write("signed.csv", format!("a,y\n{}", (0..80).map(|i| format!("{i},{}\n", i - 40)).collect::<String>()));
    let refused = f.run("fit signed.csv --iters 5 --transform log");
    assert!(refused.code == 1 && refused.err.contains("some are not positive"), "{refused:#?}");
    assert_eq!(f.run("fit skewed.csv --iters 5 --valid 0 --recalibrate").code, 2);
}

#[test]
fn the_length_of_a_run() {
    let f = Folder::new("length");
    f.write("homes.csv", homes(100));
    let fit = |options: &str| f.run(&format!("fit homes.csv --target price --json --inducing 5 {options}")).ok().json();
    assert_eq!(fit("--epochs 2 --batch 30")["steps"], 6);
    assert_eq!(fit("--iters 7")["steps"], 7);
    let timed = fit("--time 300ms");
    assert_eq!((&timed["termination"], &timed["settings"]["time"]), (&"time".into(), &0.3.into()));
    let seconds = timed["seconds"].as_f64().expect("seconds");
    assert!((0.3..3.0).contains(&seconds) && timed["steps"].as_u64().is_some_and(|n| n > 3), "{timed}");
}

#[test]
fn config_files_and_plans() {
    let f = Folder::new("config");
    f.write("homes.csv", homes(100));
    f.write("fit.toml", "data = \"homes.csv\"\ntarget = [\"price\"]\nhidden = 1\niters = 9\ninducing = 4\nout = \"a.deepgp\"\ntime-unused = 1\n");
    let done = f.run("fit --config fit.toml");
    assert!(done.code == 2 && done.err.contains("line 7: unknown setting 'time-unused'"), "{done:#?}");
    f.write("fit.toml", f.read("fit.toml").replace("time-unused = 1\n", "checkpoint = \"5m\"\n"));
    let done = f.run("fit --config fit.toml --json --iters 5").ok().json();
    assert_eq!(
        (&done["steps"], &done["settings"]["inducing"], &done["model"]),
        (&5.into(), &4.into(), &"a.deepgp".into())
    );
    assert_eq!(done["settings"]["checkpoint"], 300.0);

    // A plan is a config file that gives the same model.
    let plan = f.run("fit homes.csv --iters 20 --inducing 4 --seed 5 --out b.deepgp --dry-run").ok();
    assert!(
        plan.out
            .starts_with("# 100 rows, 10 of them held out; 5 features from 3 columns\n# the target \"price\" holds ")
            && plan.out.contains(": predicted as a number\n# 20 steps of 100 rows\n"),
        "{plan:#?}"
    );
    assert!(!f.path("b.deepgp").exists());
    f.write("plan.toml", &plan.out);
    let first = f.run("fit --config plan.toml --json").ok().json();
    let second = f.run("fit homes.csv --iters 20 --inducing 4 --seed 5 --out b.deepgp --json").ok().json();
    assert_eq!((&first["energy"], &first["settings"]), (&second["energy"], &second["settings"]));
    assert_eq!(f.run("fit --config plan.toml --dry-run").ok().out, plan.out);
}

#[test]
fn tables_of_other_kinds() {
    let f = Folder::new("tables");
    let homes = homes(100);
    f.write("homes.csv", &homes);
    f.run(&format!("fit homes.csv --target price --quiet {QUICK}")).ok();
    let expected = f.run("predict model.deepgp homes.csv").ok().out;
    f.write("homes.tsv", homes.replace(',', "\t"));
    f.write("homes.txt", homes.replace(',', ";").replace('.', ","));
    assert_eq!(f.run("predict model.deepgp homes.tsv").ok().out, expected);
    assert_eq!(f.run("predict model.deepgp homes.txt --decimal comma --delimiter ;").ok().out, expected);
    assert_eq!(f.run_with("predict model.deepgp -", &homes).ok().out, expected);
    f.run("predict model.deepgp homes.csv -o out.tsv").ok();
    assert_eq!(f.read("out.tsv"), expected.replace(',', "\t"));
    // Standard input is read twice by fit, and gives the same model.
    f.run_with(&format!("fit - --target price --quiet --out piped.deepgp {QUICK}"), &homes).ok();
    assert_eq!(f.run("predict piped.deepgp homes.csv").ok().out, expected);
    // Without a header, columns go by position.
    let bare: String = homes.lines().skip(1).map(|line| format!("{line}\n")).collect();
    f.write("bare.csv", &bare);
    let fit = f.run(&format!("fit bare.csv --out bare.deepgp {QUICK}")).ok();
    assert!(fit.err.contains("no --target given: predicting the last column, \"c4\""), "{fit:#?}");
    f.run("score bare.deepgp bare.csv").ok();
    f.run(&format!("fit bare.csv --header no --target c4 --out bare.deepgp --quiet {QUICK}")).ok();
}

#[test]
fn rows_with_gaps() {
    let f = with_model("gaps");
    f.write("new.csv", "price,town,area,rooms,extra\n300,Ulm,100,2,x\n,Basel,,3,y\n250,Bern,80,3,z\n");
    let done = f.run("predict model.deepgp new.csv --log-density --interval 0.5").ok();
    let lines: Vec<Vec<&str>> = done.out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines.len(), lines[0][5], lines[2][5]), (4, "log_density", ""));
    assert!(lines[1][5].parse::<f64>().is_ok() && lines[3][5].parse::<f64>().is_ok());
    let half = |row: usize| -> f64 {
        (lines[row][4].parse::<f64>().expect("a number") - lines[row][3].parse::<f64>().expect("a number")) / 2.0
    };
    assert!((half(1) / lines[1][2].parse::<f64>().expect("a number") - 0.674_489_75).abs() < 1e-6);
    assert!(done.err.contains("\"Basel\"") && done.err.contains("column \"area\" is missing in 1 row"), "{done:#?}");
    assert_eq!(f.run("predict model.deepgp new.csv --quiet").ok().err, "");
    let score = f.run("score model.deepgp new.csv --json").ok();
    assert_eq!(score.json()["rows"], 2);
    assert!(score.err.contains("1 row left out: the target is missing"), "{score:#?}");
}

#[test]
fn the_same_seed_gives_the_same_model_on_any_number_of_threads() {
    let f = Folder::new("same");
    f.write("homes.csv", homes(700));
    let predictions = |options: &str| {
        f.run(&format!("fit homes.csv --target price --quiet --inducing 8 --iters 20 --batch 300 {options}")).ok();
        f.run("predict model.deepgp homes.csv").ok().out
    };
    let first = predictions("--seed 2 --threads 1");
    assert_eq!(predictions("--seed 2 --threads 2"), first);
    assert_ne!(predictions("--seed 3 --threads 1"), first);
}

/// Rows are shared out in parts; what is printed is the same, also when a row far below cannot be read.
#[test]
fn predictions_and_scores_are_the_same_on_any_number_of_threads() {
    let f = with_model("shared-out");
    // One row of many that are read after others went to threads cannot be read.
    let bad_line = 9500;
    let tear = |(i, line): (usize, &str)| if i + 1 == bad_line { format!("?77{line}\n") } else { format!("{line}\n") };
    f.write("homes.csv", homes(9000))
        .write("torn.csv", homes(10_000).lines().enumerate().map(tear).collect::<String>());
    for line in [
        "predict model.deepgp homes.csv",
        "predict model.deepgp homes.csv --json --log-density",
        "score model.deepgp homes.csv --json",
        "report model.deepgp homes.csv --json",
    ] {
        let alone = f.run(&format!("{line} --threads 1")).ok();
        for options in ["", "--threads 2", "--threads 7"] {
            assert_eq!(f.run(&format!("{line} {options}")).ok().out, alone.out, "{line} {options}");
        }
    }
    for threads in [1, 3] {
        let torn = f.run(&format!("predict model.deepgp torn.csv --threads {threads} -o out.csv"));
        assert_eq!(torn.code, 1, "{torn:#?}");
        assert!(torn.complaint().contains(&format!("torn.csv, line {bad_line}, column \"area\": \"?77")), "{torn:#?}");
        assert!(!f.path("out.csv").exists());
    }
}

#[test]
fn quiet_is_quiet_and_readers_may_leave() {
    let f = Folder::new("quiet");
    f.write("homes.csv", homes(100));
    let done = f.run(&format!("fit homes.csv --quiet {QUICK}")).ok();
    assert_eq!((done.out.as_str(), done.err.as_str()), ("", ""));
    // A reader that goes away is not an error.
    f.write("many.csv", homes(20_000));
    let mut child = f
        .command("predict model.deepgp many.csv")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a child");
    drop(child.stdout.take());
    let done = child.wait_with_output().expect("its end");
    assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_model_is_replaced_whole_and_a_stale_checkpoint_with_a_word() {
    let f = with_model("replace");
    f.write("model.deepgp.checkpoint", "old");
    let done = f.run(&format!("fit homes.csv --target price {QUICK} --seed 9")).ok();
    assert!(done.err.contains("the checkpoint model.deepgp.checkpoint of an interrupted run is replaced"), "{done:#?}");
    assert_eq!(f.names(), ["homes.csv", "model.deepgp"]);
}

#[test]
fn help_completions_and_manual() {
    let f = Folder::new("help");
    let help = f.run("--help").ok().out;
    for command in
        ["fit", "predict", "score", "show", "report", "demo", "data", "completions", "man", "Examples:", "Exit codes:"]
    {
        assert!(help.contains(command), "{command}: {help}");
    }
    let fit = f.run("fit --help").ok().out;
    for option in [
        "--target",
        "--features",
        "--hidden",
        "--inducing",
        "--engine",
        "--alpha",
        "--lr",
        "--iters",
        "--epochs",
        "--time",
        "--batch",
        "--mean",
        "--kernel",
        "--seed",
        "--threads",
        "--valid",
        "--out",
        "--json",
        "--config",
        "--dry-run",
        "--resume",
        "--checkpoint",
        "--quiet",
        "--header",
        "Examples:",
    ] {
        assert!(fit.contains(option), "{option}: {fit}");
    }
    assert!(f.run("--version").ok().out.starts_with("deepgp "));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = f.run(&format!("completions {shell}")).ok().out;
        assert!(script.contains("predict") && script.contains("inducing"), "{shell}");
    }
    assert!(f.run("man").ok().out.contains(".TH deepgp 1"));
    assert!(f.run("man fit").ok().out.contains("inducing"));
    let done = f.run("man paint");
    assert!(done.code == 2 && done.complaint().contains("there is no command \"paint\""));
    assert_eq!(f.run("").code, 2);
}

#[test]
fn networks_are_called_what_they_are() {
    let f = Folder::new("kinds");
    f.write("homes.csv", homes(80));
    for (options, name) in [
        ("--hidden 0 --kernel linear", "linear GP"),
        ("--hidden 0", "sparse GP"),
        ("--hidden 2 --kernel linear", "deep GP"),
    ] {
        let fit = f.run(&format!("fit homes.csv --target price {QUICK} {options}")).ok();
        assert!(fit.out.contains(name), "{options}: {fit:#?}");
    }
}

#[test]
fn the_demo_leaves_tables_models_and_reports() {
    let f = Folder::new("demo");
    let demo = f.run("demo --iters 15").ok();
    for piece in [
        "a step with noise",
        "flow through a borehole",
        "sparse GP",
        "deep GP",
        "reports: deepgp-demo/step/report.html",
    ] {
        assert!(demo.out.contains(piece), "{piece}: {demo:#?}");
    }
    for file in ["step/report.html", "step/train.csv", "borehole/deep.deepgp", "borehole/sparse.deepgp"] {
        assert!(f.path("deepgp-demo").join(file).exists(), "{file}");
    }
    f.run("score deepgp-demo/borehole/deep.deepgp deepgp-demo/borehole/test.csv").ok();
    let json = f.run("demo --iters 5 --seed 2 --json --quiet --out other").ok().json();
    let n_sets = if cfg!(feature = "demo-data") { 3 } else { 2 };
    assert_eq!(json["results"].as_array().map(Vec::len), Some(2 * n_sets));
}

#[test]
fn measurements_share_the_options() {
    let f = Folder::new("bench");
    let numbers: String = homes(60)
        .lines()
        .map(|line| {
            line.split(',').filter(|c| !["town", "Ulm", "Bern", "Graz"].contains(c)).collect::<Vec<_>>().join(",")
                + "\n"
        })
        .collect();
    std::fs::create_dir(f.path("set")).expect("a folder");
    f.write("set/data.csv", numbers).write("set/splits.csv", "0,1,2,3,4\n5,6,7,8,9\n");
    // The bound is compared with the mean that is printed.
    let done = f.run(&format!("bench splits set --splits 0-1 --max-rmse 1000 {QUICK}")).ok();
    let mean = done.out.split("mean over 2 splits: rmse ").nth(1).and_then(|rest| rest.split([' ', ',']).next());
    let mean: f64 = mean.and_then(|mean| mean.parse().ok()).unwrap_or_else(|| panic!("{done:#?}"));
    let (above, below) = (1.01 * mean, 0.99 * mean);
    f.run(&format!("bench splits set --splits 0-1 --max-rmse {above} {QUICK}")).ok();
    let done = f.run(&format!("bench splits set --splits 0-1 --max-rmse {below} {QUICK}"));
    assert!(done.code == 1 && done.complaint().contains(&format!("exceeds {below}")), "{done:#?}");
}

#[test]
fn a_search_chooses_the_model() {
    let f = Folder::new("auto");
    f.write("homes.csv", homes(160));
    // Nothing is said of the network.
    let fit = f.run("fit homes.csv --target price --effort 0.02 --seed 4").ok();
    for piece in [
        "for price: 160 training rows",
        "chosen among",
        " %  ",
        "160 rows, each predicted without it (4 folds)",
        "standard error of the mean log density",
        "saved as model.deepgp",
    ] {
        assert!(fit.out.contains(piece), "{piece}: {fit:#?}");
    }
    assert!(fit.err.matches("tried ").count() >= 8 && fit.err.contains("tried exact GP: log density"), "{fit:#?}");
    let show = f.run("show model.deepgp --json").ok().json();
    let tried = show["tried"].as_array().expect("a list");
    let weights: f64 = tried.iter().map(|t| t["weight"].as_f64().expect("a number")).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{show:#}");
    assert!(f.run("show model.deepgp").ok().out.contains("chosen among"));
    let score = f.run("score model.deepgp homes.csv --json").ok().json();
    // Prices have a deviation of 62, and by their area alone they are known to 22.
    assert!(score["rmse"].as_f64().is_some_and(|rmse| rmse < 6.0), "{score:#}");
    let surprise = "they may differ from the training rows";
    assert!(score["expected"]["rows"] == 160 && !f.run("score model.deepgp homes.csv").ok().err.contains(surprise));
    // Prices of another town.
    let table = homes(160);
    let dearer = table.lines().enumerate().map(|(i, line)| match line.rsplit_once(',') {
        Some((rest, price)) if i > 0 => format!("{rest},{}\n", 3.0 * price.parse::<f64>().expect("a number")),
        _ => format!("{line}\n"),
    });
    f.write("dearer.csv", dearer.collect::<String>());
    assert!(f.run("score model.deepgp dearer.csv").ok().err.contains(surprise));
    f.run("predict model.deepgp homes.csv -o p.csv").ok();
    f.run("report model.deepgp homes.csv").ok();

    // The same again, on another number of threads.
    f.run("fit homes.csv --target price --auto --effort 0.02 --seed 4 --threads 1 --quiet --out again.deepgp").ok();
    f.run("predict again.deepgp homes.csv -o again.csv").ok();
    assert_eq!(f.read("p.csv"), f.read("again.csv"));

    let alone = f.run("fit homes.csv --target price --auto --effort 0.02 --ensemble 1 --json").ok().json();
    assert!(!alone["network"].as_str().expect("text").contains("mixture"), "{alone:#}");
    for (options, code) in
        [("--auto --hidden 2", 2), ("--auto --effort 0", 2), ("--iters 5 --ensemble 2", 2), ("--auto --ensemble 0", 2)]
    {
        assert_eq!(f.run(&format!("fit homes.csv {options}")).code, code, "{options}");
    }
    f.write("auto.toml", "data = \"homes.csv\"\ntarget = \"price\"\nauto = true\neffort = 0.02\n");
    f.run("fit --config auto.toml --quiet").ok();
    f.write("both.toml", "data = \"homes.csv\"\nauto = true\nalpha = 0.5\n");
    assert!(f.run("fit --config both.toml").complaint().contains("'auto' decides on the network"));
}
