//! Studies: what is recorded, what is not done twice, and that it comes out the same again.

mod common;

use common::Folder;
use serde_json::Value;
use std::collections::BTreeMap;

/// A study of seconds on a table of our own.
const SMALL: &str =
    "--tasks ./wave.csv --splits 0-2 --networks gp 2 --inducing 5 --iters 40 --batch 20 --trials 5 --threads 2 --quiet";

fn folder(name: &str) -> Folder {
    let f = Folder::new(name);
    let row = |i: usize| {
        let (a, b) = ((0.37 * i as f64).sin(), (0.11 * i as f64).cos());
        format!("{a},{b},{}\n", (3.0 * a).sin() + 0.5 * b * b)
    };
    f.write("wave.csv", format!("a,b,y\n{}", (0..120).map(row).collect::<String>()));
    f
}

/// The lines of a record file by what they are of, without what depends on the clock or the machine.
fn records(f: &Folder, name: &str) -> BTreeMap<String, Value> {
    let line = |text: &str| {
        let mut value: Value = serde_json::from_str(text).expect("a line of JSON");
        let entries = value.as_object_mut().expect("an object");
        entries.remove("seconds");
        entries.remove("circumstances");
        let part = |name: &str| value[name].to_string();
        ([part("kind"), part("study"), part("task"), part("variant"), part("split")].join(" "), value)
    };
    f.read(name).lines().map(line).collect()
}

#[test]
fn a_table_is_recorded_resumed_and_repeated() {
    let f = folder("bench-table");
    let done = f.run(&format!("bench table --out r.jsonl {SMALL}")).ok();
    assert!(done.out.contains("`deepgp bench report r.jsonl`"), "{done:#?}");
    let whole = records(&f, "r.jsonl");
    let of_kind = |kind: &str| whole.keys().filter(|key| key.starts_with(&format!("\"{kind}\""))).count();
    assert_eq!((of_kind("search"), of_kind("run")), (2, 6));
    for (key, value) in whole.iter().filter(|(key, _)| key.starts_with("\"run\"")) {
        assert!(value["result"]["scores"]["rmse"].is_number(), "{key}: {value}");
        assert_eq!(value["config"]["train"]["seed"], value["split"], "{key}");
        let rates: Vec<_> =
            whole.values().filter(|v| v["kind"] == "search" && v["variant"] == value["variant"]).collect();
        assert_eq!(value["config"]["train"]["learning_rate"], rates[0]["learning_rate"], "{key}");
    }

    // All is there: nothing is run, nothing is written.
    let before = f.read("r.jsonl");
    f.run(&format!("bench table --out r.jsonl {SMALL}")).ok();
    assert_eq!(f.read("r.jsonl"), before);

    // As a killed process leaves it: some lines, and a part of one.
    let lines: Vec<&str> = before.lines().collect();
    f.write("torn.jsonl", format!("{}\n{}\n{}", lines[0], lines[4], &lines[5][..40]));
    f.run(&format!("bench table --out torn.jsonl {SMALL}")).ok();
    assert_eq!(records(&f, "torn.jsonl"), whole);

    // In parts, on one thread each.
    let alone = SMALL.replace("--threads 2", "--threads 1");
    for part in ["1/2", "2/2"] {
        f.run(&format!("bench table --out parts.jsonl --shard {part} {alone}")).ok();
    }
    assert_eq!(records(&f, "parts.jsonl"), whole);

    let check = f.run("bench check r.jsonl --runs 2").ok();
    assert_eq!(check.out.matches("the same to the last bit").count(), 2, "{check:#?}");
    let changed = before.replacen("\"rmse\":0.", "\"rmse\":1.", 100);
    f.write("changed.jsonl", changed);
    let fault = f.run("bench check changed.jsonl --runs 2");
    assert!(fault.code == 1 && fault.err.contains("2 of 2 runs came out different"), "{fault:#?}");
    assert_eq!(fault.out.matches("DIFFERENT: RMSE 1.").count(), 2, "{fault:#?}");
}

#[test]
fn the_automatic_mode_is_recorded_resumed_and_repeated() {
    let f = folder("bench-auto");
    let small = "--tasks ./wave.csv --splits 0-1 --effort 0.01 --quiet";
    f.run(&format!("bench auto --out r.jsonl {small} --threads 2")).ok();
    let whole = records(&f, "r.jsonl");
    assert_eq!(whole.len(), 6, "{:?}", whole.keys());
    for (key, value) in &whole {
        let weights: f64 = value["automatic"]["tried"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|tried| tried["weight"].as_f64().expect("a number"))
            .sum();
        let expected = if key.contains("[auto]") { 1.0 } else { 0.0 };
        assert!((weights - expected).abs() < 1e-9, "{key}: {value:#}");
        assert!(value["result"]["scores"]["rmse"].is_number(), "{key}: {value}");
    }
    let lines: Vec<String> = f.read("r.jsonl").lines().map(str::to_owned).collect();
    f.write("torn.jsonl", format!("{}\n{}", lines[0], &lines[1][..40]));
    f.run(&format!("bench auto --out torn.jsonl {small} --threads 1")).ok();
    assert_eq!(records(&f, "torn.jsonl"), whole);
    let check = f.run("bench check r.jsonl --runs 6").ok();
    assert_eq!(check.out.matches("the same to the last bit").count(), 6, "{check:#?}");
    let other = f.run("bench auto --out r.jsonl --tasks ./wave.csv --splits 0 --effort 0.02 --quiet");
    assert!(other.code == 1 && other.complaint().contains("other settings"), "{other:#?}");
    let report = f.run("bench report r.jsonl").ok();
    assert!(report.out.contains("[auto]") && report.out.contains("[exact GP]"), "{report:#?}");
}

#[test]
fn likelihoods_are_compared_recorded_resumed_and_repeated() {
    let f = folder("bench-laws");
    let small = "--tasks ./wave.csv --splits 0-1 --iters 10 --quiet";
    let done = f.run(&format!("bench laws --out r.jsonl {small} --threads 2")).ok();
    let whole = records(&f, "r.jsonl");
    // Two splits, two networks; two, three and two models of generated data, seven of the table.
    assert_eq!(whole.len(), 2 * 2 * 14, "{:?}", whole.keys());
    for task in ["friedman, outliers", "friedman, limit", "impact, noise", "./wave.csv, limit"] {
        assert!(done.out.contains(&format!("| {task} | GP | ")), "{done:#?}");
    }
    assert!(done.out.contains("| Student-t noise − Gaussian noise | 2 | "), "{done:#?}");
    let lines: Vec<String> = f.read("r.jsonl").lines().map(str::to_owned).collect();
    f.write("torn.jsonl", format!("{}\n{}", lines[0], &lines[1][..40]));
    f.run(&format!("bench laws --out torn.jsonl {small} --threads 1")).ok();
    assert_eq!(records(&f, "torn.jsonl"), whole);
    let check = f.run("bench check r.jsonl --runs 8").ok();
    assert_eq!(check.out.matches("the same to the last bit").count(), 8, "{check:#?}");
    let other = f.run(&format!("bench laws --out r.jsonl {}", small.replace("--iters 10", "--iters 11")));
    assert!(other.code == 1 && other.complaint().contains("other settings"), "{other:#?}");
}

#[test]
fn the_best_on_held_out_rows_is_chosen() {
    let f = folder("bench-choose");
    f.run(&format!("bench table --out r.jsonl --study best --choose {SMALL}")).ok();
    let all = records(&f, "r.jsonl");
    let choice = all.values().find(|v| v["kind"] == "choice").expect("a choice");
    let candidates = choice["candidates"].as_array().expect("a list");
    let loss = |v: &Value| v[1].as_f64().expect("a loss");
    let least = candidates.iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).expect("two of them");
    assert_eq!((candidates.len(), &least[0]), (2, &choice["variant"]));
    let runs: Vec<_> = all.values().filter(|v| v["kind"] == "run").collect();
    assert!(runs.len() == 3 && runs.iter().all(|run| run["variant"] == "[chosen]"), "{all:#?}");
    // It goes on from what there is.
    let before = f.read("r.jsonl");
    f.run(&format!("bench table --out r.jsonl --study best --choose {SMALL}")).ok();
    assert_eq!(f.read("r.jsonl"), before);
}

#[test]
fn a_frontier_has_three_studies() {
    let f = folder("bench-frontier");
    let options = "--tasks ./wave.csv --splits 0 --inducing 4,6 --engine-inducing 4 --iters 12 --batch 20 --quiet";
    f.run(&format!("bench frontier --out r.jsonl {options}")).ok();
    let all = records(&f, "r.jsonl");
    let of = |study: &str| all.values().filter(|v| v["study"] == study).collect::<Vec<_>>();
    assert_eq!((of("frontier-inducing").len(), of("frontier-depth").len()), (8, 8));
    let bytes = |engine: &str| {
        let of_engine = |v: &&&Value| v["variant"].as_str().is_some_and(|name| name == format!("[DGP, 2, 4{engine}]"));
        of("frontier-engines").iter().find(of_engine).expect("a run")["result"]["factor_bytes"]
            .as_u64()
            .expect("a number")
    };
    // 108 training rows with a factor each, and their product.
    assert_eq!(bytes(", EP"), 109 * bytes(""));
    assert_eq!((bytes(", ADF"), bytes(", joint energy")), (bytes(""), bytes("")));
}

#[test]
fn what_cannot_be_is_said_at_once() {
    let f = folder("bench-faults");
    f.run(&format!("bench table --out r.jsonl {SMALL}")).ok();
    for (command, code, words) in [
        (
            format!("bench table --out r.jsonl --alpha 1 {}", SMALL.replace("--iters 40", "--iters 41")),
            1,
            "made with other settings",
        ),
        ("bench table --out n.jsonl --tasks nowhere --lr 0.01".to_owned(), 1, "nowhere"),
        ("bench table --out n.jsonl --tasks ./none.csv --lr 0.01".to_owned(), 1, "none.csv"),
        ("bench table --out n.jsonl --tasks ./wave.csv,./wave.csv".to_owned(), 2, "given twice"),
        ("bench table --out n.jsonl --tasks ./wave.csv --networks 2 2".to_owned(), 2, "given twice"),
        ("bench table --out n.jsonl --networks x".to_owned(), 2, "'x' is not a network"),
        ("bench table --out n.jsonl --shard 3/2".to_owned(), 2, "'3/2' is not a part"),
        ("bench table --out n.jsonl --alpha 2".to_owned(), 2, "--alpha must lie in (0, 1]"),
        ("bench table --out n.jsonl --splits 3-1".to_owned(), 2, "'3-1' is not a list of splits"),
        ("bench table --out n.jsonl --lr 0".to_owned(), 2, "--lr must be positive"),
        ("bench table --out wave.csv --tasks ./wave.csv".to_owned(), 1, "wave.csv, line 1: not a record"),
        ("bench check wave.csv".to_owned(), 1, "wave.csv, line 1: not a record"),
        ("bench check r.jsonl --task boston".to_owned(), 2, "no run to repeat"),
    ] {
        let said = f.run(&command);
        assert!(said.code == code && said.err.contains(words), "{command}: {said:#?}");
    }
    f.run("bench check r.jsonl --runs 1").ok();
}

/// Sizes that differ in rows or threads are timed by turns, the first among them is what others stand beside.
#[test]
fn speed_of_every_size_asked_for() {
    let f = Folder::new("bench-speed");
    let sizes = "--rows 60,90 --inputs 2,3 --hidden 2 --inducing 5 --batch 20 --threads 1,2 --warm-up 3 --seconds 0.01";
    let done = f.run(&format!("bench speed {sizes}")).ok();
    let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let of =
        |line: &Value| [&line["widths"][0], &line["n_data"], &line["threads"]].map(|n| n.as_u64().expect("a count"));
    let all = [2, 3].into_iter().flat_map(|d| [[d, 60, 1], [d, 60, 2], [d, 90, 1], [d, 90, 2]]);
    assert_eq!(lines.iter().map(of).collect::<Vec<_>>(), all.collect::<Vec<_>>());
    for line in &lines {
        let number = |name: &str| line[name].as_f64().expect("a number");
        if number("n_data") == 60.0 && number("threads") == 1.0 {
            assert_eq!((number("rate_beside_first"), number("ceiling_beside_first")), (1.0, 1.0), "{line}");
        }
        for name in ["rate_beside_first", "ceiling_beside_first", "microseconds_per_step", "rows_predicted_per_second"]
        {
            assert!(number(name) > 0.0, "{name}: {line}");
        }
    }
}
