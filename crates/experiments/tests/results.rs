//! Made-up records, compared and shown.

mod common;

use common::{lines, noise, paper, run, variant};
use deepgp::infer::Engine;
use deepgp_experiments::automatic::AutoStudy;
use deepgp_experiments::present::{
    AnyColumn, Block, Options, ScoreTable, Sources, Spread, Table, aggregate, blocks, depth, engines, fill, fragment,
    frontier, page, problems, score_table, search_trace, text, versus_table,
};
use deepgp_experiments::record::{Automatic, Line};
use deepgp_experiments::stats::Verdict;
use deepgp_experiments::{
    Error, Execute, Log, Metric, Published, Results, Shard, Task, TaskData, average_ranks, ranks, read_records,
};
use deepgp_numerics::linalg::Mat;
use deepgp_task::ExpectedDensity;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const GP: &str = "[GP, 50]";
const ONE: &str = "[DGP, 1, 50]";
const TWO: &str = "[DGP, 2, 50]";

fn made_up() -> Results {
    Results::of(paper("paper", 20)).expect("records")
}

fn table(results: &Results, metric: Metric, published: &[Published]) -> Table {
    let study = results.study("paper").expect("it is there");
    let mut columns: Vec<AnyColumn<'_>> = study.columns().into_iter().map(AnyColumn::Ours).collect();
    for group in published {
        columns.extend(group.entries.first().map(|entry| AnyColumn::Published(group, &entry.variant)));
    }
    let (tasks, against) = (study.tasks.clone(), study.gp());
    score_table(&ScoreTable { metric, tasks, columns, against, spread: Spread::Se })
}

#[test]
fn records_are_put_in_order() {
    let mut records = paper("paper", 3);
    records.reverse();
    let mut other = paper("another", 2);
    other.truncate(4);
    records.extend(other);
    let results = Results::of(records).expect("records");
    assert_eq!(results.studies.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["another", "paper"]);
    let study = results.study("paper").expect("it is there");
    assert_eq!(
        (study.tasks.as_slice(), study.variants.as_slice()),
        (["boston", "concrete"].map(String::from).as_slice(), [GP, ONE, TWO].map(String::from).as_slice())
    );
    let splits: Vec<usize> = study.runs("boston", GP).expect("runs").iter().map(|run| run.key.split).collect();
    assert_eq!(splits, [0, 1, 2]);
    assert_eq!(study.gp().map(|column| column.variant), Some(GP));
    assert!(matches!(results.study("papr"), Err(Error::Unknown { what: "study", .. })));
    assert!(study.column("[GP, 51]").is_err());
}

#[test]
fn a_record_may_be_given_twice_but_not_changed() {
    let mut records = paper("paper", 2);
    let Some(Line::Run(first)) = records.get(1).cloned() else { panic!("a run") };
    let mut again = first.clone();
    (again.seconds, again.environment.machine) = (99.0, "another".into());
    records.push(Line::Run(again));
    let results = Results::of(records.clone()).expect("the same result");
    assert_eq!(results.study("paper").expect("it").runs("boston", GP).expect("runs").count(), 2);
    let mut other = first;
    other.result.steps += 1;
    records.push(Line::Run(other));
    assert!(matches!(Results::of(records), Err(Error::TwoRecords { .. })));
}

#[test]
fn columns_are_compared() {
    let results = made_up();
    let study = results.study("paper").expect("it is there");
    let [gp, one, two] = [GP, ONE, TWO].map(|name| study.column(name).expect("it is there"));
    for metric in [Metric::Rmse, Metric::MeanLogDensity] {
        assert_eq!(two.verdict(&gp, "boston", metric), Some(Verdict::Win));
        assert!(two.compare(&gp, "boston", metric).expect("splits").is_significant());
        assert!(!two.compare(&gp, "concrete", metric).expect("splits").is_significant());
        let tally = one.tally(&gp, &study.tasks, metric);
        assert_eq!((tally.tasks, tally.losses, tally.worse, tally.significant_losses), (2, 2, 2, 2));
        assert_eq!(ranks(&[gp, one, two], "boston", metric), Some(vec![2.0, 3.0, 1.0]));
        let (average, tasks) = average_ranks(&[gp, one, two], &study.tasks, metric);
        assert_eq!((tasks, average[1], average.iter().sum::<f64>()), (2, 3.0, 6.0));
    }
    assert_eq!(ranks(&[gp, one], "boston", Metric::Seconds), None);
}

#[test]
fn a_failed_run_is_seen_everywhere() {
    let mut records = paper("paper", 20);
    for line in &mut records {
        if let Line::Run(run) = line
            && (run.key.task.as_str(), run.key.variant.as_str(), run.key.split) == ("boston", TWO, 3)
        {
            run.result.scores = None;
        }
    }
    let results = Results::of(records).expect("records");
    let study = results.study("paper").expect("it is there");
    let [gp, two] = [GP, TWO].map(|name| study.column(name).expect("it is there"));
    assert_eq!(two.verdict(&gp, "boston", Metric::Rmse), Some(Verdict::Loss));
    assert_eq!(two.compare(&gp, "boston", Metric::Rmse).map(|paired| paired.n), Some(19));
    assert_eq!(ranks(&[gp, two], "boston", Metric::Rmse), Some(vec![1.0, 2.0]));
    let table = table(&results, Metric::Rmse, &[]);
    let cell = &table.rows[0][4];
    assert!(cell.text.ends_with("(1 of 20 failed)") && !cell.best, "{cell:?}");
    assert!(table.notes.iter().any(|note| note.contains("A failed run has no finite score")));
    let all = text(&blocks(&results, &[], &Options::default()).expect("blocks"), &|_| String::new());
    assert!(all.contains("Runs without finite scores: 1 of 120"), "{all}");
    assert!(all.contains("boston, [DGP, 2, 50], split 3"), "{all}");
}

#[test]
fn splits_far_below_the_others_are_named() {
    let gp = variant("gp", 50, None);
    // Around −2 with a median absolute deviation of 0.1; split 5 is 3.5 deviations below, split 6 as far above.
    let densities = [-2.0, -2.1, -1.9, -2.1, -1.9, -2.35, -1.65];
    let records = |splits: usize| {
        let run = |(split, density): (usize, &f64)| Line::Run(run("far", "boston", &gp, split, Some((3.0, *density))));
        densities.iter().enumerate().rev().take(splits).map(run).collect::<Vec<_>>()
    };
    let told = |splits| {
        let results = Results::of(records(splits)).expect("records");
        problems(results.study("far").expect("it is there"))
            .iter()
            .map(|block| format!("{block:?}"))
            .collect::<String>()
    };
    let all = told(7);
    assert!(
        all.contains("below the median: 1 of 7") && all.contains("1 of 7 splits: 5 (−2.35, 3.50 deviations)"),
        "{all}"
    );
    // Four splits are too few to say what is far.
    assert!(told(4).contains("below the median: 0 of 4"), "{}", told(4));
}

#[test]
fn the_automatic_mode_says_which_splits_are_far_below() {
    let folder = std::env::temp_dir().join(format!("deepgp-far-{}", std::process::id()));
    let path = folder.join("r.jsonl");
    let expected = ExpectedDensity { rows: 90, mean_log_density: -2.05, std: 0.6 };
    let finished = |variant: &str, split: usize, density: f64, expected: Option<ExpectedDensity>| {
        let mut run = run("auto", "t", &common::variant("gp", 50, None), split, Some((3.0, density)));
        run.key.variant = variant.into();
        run.automatic = Some(Automatic { effort: 1.0, seed: 0, expected, tried: Vec::new() });
        Line::Run(run)
    };
    let log = Log::open(&path).expect("a folder of our own");
    for (split, density) in [-2.0, -2.1, -1.9, -2.1, -1.9, -2.35, -1.65].into_iter().enumerate() {
        log.append(&finished("[auto]", split, density, Some(expected))).expect("a line");
        // Split 5 is two deviations below for the exact GP; the last split's other exact GP is not there yet.
        log.append(&finished("[exact GP]", split, 2.0 * density + if split == 5 { 0.3 } else { 0.0 }, None))
            .expect("a line");
        if split < 6 {
            log.append(&finished("[exact GP, Matérn 3/2]", split, -2.0 - 0.1 * (split % 3) as f64, None))
                .expect("a line");
        }
    }
    drop(log);
    let n = 14;
    let column = Mat::from_fn(n, 1, |row, _| (row as f64).sin());
    let task = deepgp_task::Task::Regression;
    let data = TaskData { task, x: column.clone(), y: column, splits: (0..7).map(|split| vec![split]).collect() };
    let study = AutoStudy {
        name: "auto".into(),
        tasks: vec![Task { name: "t".into(), dataset: "t".into(), target: 0, kind: None }],
        splits: Some((0..6).collect()),
        effort: 1.0,
        seed: 0,
        shard: Shard::default(),
    };
    // Runs that are there are not done again. What is said of them waits for the last, and is said once.
    let execute = || {
        let log = Log::open(&path).expect("a record");
        let all = study.execute(std::slice::from_ref(&data), &log, 1, &AtomicBool::new(false), &|_| ());
        assert!(all.expect("nothing to run"));
        let mut told = read_records(&path).expect("records");
        told.retain(|line| matches!(line, Line::FarBelow(_)));
        told
    };
    assert_eq!(execute(), []);
    let last = finished("[exact GP, Matérn 3/2]", 6, -2.0, None);
    Log::open(&path).and_then(|log| log.append(&last)).expect("a line");
    assert_eq!(execute().len(), 1);
    let told = execute();
    let [Line::FarBelow(far)] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!(far.key, common::key("auto", "t", "[auto]", 5));
    assert_eq!((far.mean_log_density, far.median), (-2.35, -2.0));
    // 0.35/0.1 deviations; 0.3/(0.6 √(1/10 + 1/90)) = 0.3/0.2 standard errors; the exact GP at −4.4 around −4, with
    // 0.2.
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(far.deviations, 3.5) && far.standard_errors.is_some_and(|errors| close(errors, 1.5)), "{far:#?}");
    let others = |name: &str| far.others.iter().find(|(variant, _)| variant == name).map(|(_, deviations)| *deviations);
    assert!(others("[exact GP]").is_some_and(|deviations| close(deviations, 2.0)), "{far:#?}");
    std::fs::remove_dir_all(folder).expect("a folder of our own");
}

#[test]
fn a_table_of_scores() {
    let results = made_up();
    let found = table(&results, Metric::Rmse, &[]);
    assert_eq!(found.head, ["task", "splits", GP, ONE, TWO]);
    let first: Vec<&str> = found.rows[0].iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!((first[0], first[1]), ("boston", "20"));
    assert!(first[3].contains(" ± ") && first[3].ends_with('▼') && first[4].ends_with('▲'), "{first:?}");
    assert!(found.rows[0][4].best && !found.rows[0][2].best);
    assert_eq!(found.rows[2][0].text, "average rank");
    assert!(found.rows[3][4].text.starts_with("1 / 1 / 0") || found.rows[3][4].text.starts_with("1 / 0 / 1"));
    // Shorter by the other columns' means, not by published ones.
    assert_eq!(table(&results, Metric::Seconds, &[]).rows.len(), 2);
}

#[test]
fn renderers_say_the_same() {
    let results = made_up();
    let found = blocks(&results, &[], &Options { figures: true, ..Options::default() }).expect("blocks");
    let link = |figure: &deepgp_report::plot::Figure| format!("figures/{}.svg", figure.name);
    let markdown = text(&found, &link);
    for piece in ["| task | splits | [GP, 50] |", "|---|---:|", "**average rank", "](figures/search-paper.svg)"] {
        assert!(markdown.contains(piece) || piece == "**average rank", "{piece}: {markdown}");
    }
    let latex = fragment(&found, &link);
    for piece in ["\\toprule", "\\midrule", "\\bottomrule", "$\\pm$", "{[GP, 50]}", "\\textbf{", "\\includegraphics"] {
        assert!(latex.contains(piece), "{piece}: {latex}");
    }
    assert_eq!(latex.matches("\\begin{table}").count(), latex.matches("\\end{table}").count());
    assert!(!latex.contains('±') && !latex.contains('−'));
    let html = page("Results", &found);
    for piece in ["<!DOCTYPE html>", "<h1>Results</h1>", "<tfoot>", "class=\"best\"", "<svg", "</html>"] {
        assert!(html.contains(piece), "{piece}");
    }
    assert!(!html.contains("http:") || html.contains("http://www.w3.org/2000/svg"));
}

#[test]
fn numbers_as_json() {
    let json = aggregate(&made_up(), &Options::default()).expect("numbers");
    let study = &json["studies"][0];
    let row = &study["scores"][0];
    assert_eq!(
        (&row["task"], &row["variant"], &row["runs"], &row["failed"]),
        (&"boston".into(), &GP.into(), &20.into(), &0.into())
    );
    for metric in ["rmse", "mean_log_density", "coverage_95", "seconds"] {
        for stat in ["mean", "sd", "se", "median"] {
            assert!(row[metric][stat].is_number(), "{metric} {stat}");
        }
    }
    let comparison = &study["comparisons"][0];
    assert_eq!((&comparison["variant"], &comparison["against"]), (&ONE.into(), &GP.into()));
    assert!(comparison["tasks"][0]["p_corrected"].is_number() && comparison["tally"]["losses"] == 2);
    assert!(study["searches"][0]["learning_rate"].is_number());
}

#[test]
fn a_column_that_is_compared_with_must_be_there() {
    let options = Options { against: Some("[GP, 5]"), ..Options::default() };
    let error = blocks(&made_up(), &[], &options).expect_err("no such variant").to_string();
    assert_eq!(error, "there is no variant '[GP, 5]'; there are [DGP, 1, 50]; [DGP, 2, 50]; [GP, 50]");
}

#[test]
fn two_columns_task_by_task() {
    let results = made_up();
    let study = results.study("paper").expect("it is there");
    let [gp, two] = [GP, TWO].map(|name| study.column(name).expect("it is there"));
    let found = versus_table(&two, &gp, &study.tasks, Metric::MeanLogDensity, Spread::Se);
    assert_eq!(
        (found.rows.len(), found.rows[0][5].text.as_str(), found.rows[0][7].text.as_str()),
        (2, "< 0.001", "win")
    );
    assert!(found.notes[1].starts_with("Over 2 tasks [DGP, 2, 50] wins "), "{:?}", found.notes);
}

fn filled(template: &str) -> Result<String, String> {
    let (results, published) = (made_up(), published());
    let sources = Sources { results: &results, published: &[published], spread: Spread::Se };
    let link = |figure: &deepgp_report::plot::Figure| format!("{}.svg", figure.name);
    fill(template, Path::new("t.md"), &sources, &link).map(|filled| filled.text).map_err(|error| error.to_string())
}

fn published() -> Published {
    let path =
        std::env::temp_dir().join(format!("deepgp-results-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&path).expect("a folder");
    let file = path.join("others.csv");
    let table = "task,variant,rmse,mean_log_density,source,splits\nboston,\"[GP, 50]\",3.09,-2.26,A paper,20\n\
                 concrete,\"[GP, 50]\",1.24,-2.97,A paper,\n";
    std::fs::write(&file, table).expect("a file of our own");
    let published = Published::read(&file).expect("published figures");
    std::fs::remove_dir_all(path).expect("a folder of our own");
    published
}

#[test]
fn templates_are_filled_in() {
    let text = filled(
        "# Results\n\nRMSE {{value study=paper task=boston variant=\"[GP, 50]\" metric=rmse digits=1}} \
         ({{value study=paper task=boston variant=\"[GP, 50]\" metric=rmse stat=n}} splits), theirs \
         {{value task=boston variant=\"others/[GP, 50]\" metric=mean_log_density}}; wins \
         {{count losses study=paper a=\"[DGP, 1, 50]\" b=\"[GP, 50]\" metric=rmse}}, better \
         {{count better study=paper a=\"[GP, 50]\" b=\"others/[GP, 50]\" metric=rmse}} of \
         {{count tasks study=paper a=\"[GP, 50]\" b=\"others/[GP, 50]\" metric=rmse}}; \
         {{total runs study=paper}} runs, {{total seconds study=paper variant=\"[GP, 50]\" task=boston}} s.\n\n\
         {{table study=paper metric=rmse columns=\"[GP, 50]\" \"[DGP, 2, 50]\" published=others}}\n\n\
         {{table study=paper metric=rmse columns=\"[GP, 50]\" splits=4 7 11}}\n\n\
         {{versus a=\"paper/[DGP, 2, 50]\" b=\"others/[GP, 50]\" metric=rmse}}\n{{rates study=paper}}\n\
         {{troubles study=paper}}\n{{figure search study=paper}}\nEnd.\n",
    )
    .expect("a good template");
    assert!(
        text.starts_with("# Results\n\nRMSE 3.0 (20 splits), theirs −2.26; wins 2, better 1 of 2; 120 runs, "),
        "{text}"
    );
    assert!(text.contains("| task | splits | [GP, 50] | [DGP, 2, 50] | others: [GP, 50] |"), "{text}");
    assert!(text.contains("| 3.09 (20 splits) |") && text.contains("others: A paper."), "{text}");
    let three = text.split("| task | splits | [GP, 50] |\n").nth(1).expect("the table of three splits");
    assert!(three.contains("| boston | 3 |") && three.contains("| concrete | 3 |"), "{three}");
    assert!(text.contains("](search-paper.svg)") && text.ends_with("\nEnd.\n"), "{text}");
    assert!(!text.contains("{{"));
}

#[test]
fn what_a_template_may_not_say() {
    for (template, cause) in [
        ("a\n\n{{tabel study=paper}}\n", "t.md, line 3: there is no directive 'tabel'"),
        ("{{table study=paper}}", "line 1: 'table' needs metric="),
        ("{{table study=papr metric=rmse}}", "there is no study 'papr'; there are paper"),
        ("{{table study=paper metric=speed}}", "there is no metric 'speed'"),
        ("{{table study=paper metric=rmse columns=\"[GP, 5]\"}}", "there is no variant '[GP, 5]'"),
        ("{{table study=paper metric=rmse published=bui}}", "no published table 'bui'"),
        ("{{table study=paper metric=rmse tasks=boston wine}}", "there is no task 'wine'; there are boston, concrete"),
        ("{{table study=paper metric=rmse colour=red}}", "'table' has no 'colour='"),
        ("{{table study=paper metric=rmse splits=one}}", "no run is of a split 'one'"),
        ("{{table study=paper metric=rmse splits=4 99}}", "no run is of a split '99'"),
        ("{{table now study=paper metric=rmse}}", "does not know what to do with 'now'"),
        ("So {{table study=paper metric=rmse}}", "'table' must stand on a line of its own"),
        ("{{value study=paper task=boston variant=\"[GP, 50]\" metric=rmse stat=mode}}", "there is no stat 'mode'"),
        ("{{value task=boston variant=\"[GP, 50]\" metric=rmse}}", "needs study=, or STUDY/ before it"),
        ("{{value study=paper task=wine variant=\"[GP, 50]\" metric=rmse}}", "has no rmse on wine"),
        ("{{value task=boston variant=\"others/GP\" metric=rmse}}", "others has no 'GP'"),
        ("{{count more study=paper a=\"[GP, 50]\" b=\"[GP, 50]\" metric=rmse}}", "'count' does not know 'more'"),
        ("{{count wins a=\"paper/[GP, 50]\" b=\"others/[GP, 50]\" metric=rmse}}", "against published figures only"),
        ("{{count wins study=paper a=\"[GP, 50]\" b=\"[GP, 50]\" metric=seconds}}", "seconds has no better and worse"),
        ("{{total study=paper}}", "'total' needs one of the words runs"),
        ("{{choices study=paper}}", "the study has no choices"),
        ("{{figure pie study=paper}}", "'figure' does not know 'pie'"),
        ("\n\nopen {{value", "line 3: a directive without }}"),
        ("{{value study=paper\ntask=boston}}\n{{oops}}", "line 1: 'value' needs variant="),
    ] {
        let error = filled(template).expect_err(template);
        assert!(error.contains(cause), "{template}: {error}");
    }
}

/// Two networks at four numbers of inducing inputs, and four engines.
fn costly() -> Results {
    let mut records = Vec::new();
    for (t, task) in ["boston", "kin8nm"].into_iter().enumerate() {
        for network in ["gp", "2"] {
            for engine in [None, Some(Engine::Ep), Some(Engine::Adf), Some(Engine::JointEnergy)] {
                for inducing in [10, 20, 50, 100] {
                    let variant = variant(network, inducing, engine);
                    for split in 0..5 {
                        let noise = 0.05 * noise(t + inducing, split);
                        let rmse = 2.0 + 3.0 / (inducing as f64).sqrt() + noise;
                        let lost = engine == Some(Engine::Adf) && inducing == 100;
                        let density = if lost { -300.0 } else { -1.0 - 0.4 * rmse };
                        records.push(Line::Run(run("cost", task, &variant, split, Some((rmse, density)))));
                    }
                }
            }
        }
    }
    Results::of(records).expect("records")
}

#[test]
fn figures_have_what_they_should() {
    let results = costly();
    let study = results.study("cost").expect("it is there");
    let found = frontier(study, &study.tasks, &study.columns()).expect("a figure");
    assert_eq!((found.figure.panels.len(), found.figure.name.as_str()), (4, "frontier-cost"));
    assert!(found.caption.contains("(10, 20, 50, 100)"), "{}", found.caption);
    let svg = found.figure.svg();
    for family in ["GP, SEP", "DGP, 2, SEP", "DGP, 2, EP", "DGP, 2, joint energy"] {
        assert!(svg.contains(&format!(">{family}<")), "{family}");
    }
    // A lost engine does not flatten the others.
    assert!(found.figure.panels[0].y.range.is_some_and(|range| range.0 > -10.0));
    let found = engines(study, &study.tasks, &study.columns()).expect("a figure");
    assert_eq!(found.figure.panels.len(), 6);
    assert!(search_trace(study, &study.tasks).is_none());
    let paper = made_up();
    let study = paper.study("paper").expect("it is there");
    let found = search_trace(study, &study.tasks).expect("a figure");
    assert!(found.figure.panels.len() == 2 && found.figure.svg().contains("first design"));
}

#[test]
fn of_many_searches_the_best_stands_out() {
    let networks = ["gp", "1", "2", "3", "4", "5", "6", "7"];
    let search = |network: &&str| Line::Search(common::search("s", "boston", &variant(network, 50, None)));
    let results = Results::of(networks.iter().map(search)).expect("records");
    let study = results.study("s").expect("it is there");
    let svg = search_trace(study, &study.tasks).expect("a figure").figure.svg();
    assert!(svg.contains("variant with the least loss") && svg.contains("other variants") && !svg.contains("[GP, 50]"));
}

#[test]
fn lines_go_through_inducing_inputs_or_depths() {
    let mut records = Vec::new();
    for network in ["2", "2,2", "2,2,2", "50", "50,50", "8,8:linear", "8:linear", "3,2"] {
        for inducing in [20, 50] {
            let variant = variant(network, inducing, None);
            records.extend((0..2).map(|split| Line::Run(run("s", "boston", &variant, split, Some((1.0, -1.0))))));
        }
    }
    let results = Results::of(records).expect("records");
    let study = results.study("s").expect("it is there");
    let labels = |found: deepgp_experiments::present::Captioned| -> Vec<String> {
        found.figure.panels[0].marks.iter().map(|mark| mark.label.clone()).filter(|label| !label.is_empty()).collect()
    };
    let by_inducing = labels(frontier(study, &study.tasks, &study.columns()).expect("a figure"));
    let expected = ["DGP, 2", "DGP, 8 linear", "DGP, 50", "DGP, 3, 2", "DGP, 8, 8 linear", "DGP, 2, 2"];
    assert!(
        by_inducing.len() == 8 && expected.iter().all(|name| by_inducing.contains(&(*name).to_owned())),
        "{by_inducing:?}"
    );
    let by_depth = labels(depth(study, &study.tasks, &study.columns()).expect("a figure"));
    let expected = ["DGP, 2, 20", "DGP, 2, 50", "DGP, 50, 50", "DGP, 8 linear, 20", "DGP, 3, 2, 50"];
    assert!(by_depth.len() == 8 && expected.iter().all(|name| by_depth.contains(&(*name).to_owned())), "{by_depth:?}");
}

#[test]
fn files_are_read_plain_compressed_and_overlapping() {
    let folder = std::env::temp_dir().join(format!("deepgp-results-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let records = paper("paper", 4);
    std::fs::write(folder.join("a.jsonl"), lines(&records[..20])).expect("a file");
    let file = std::fs::File::create(folder.join("b.jsonl.gz")).expect("a file");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(lines(&records[10..]).as_bytes()).and_then(|()| packed.finish()).expect("a file");
    let results = Results::read(&[folder.join("a.jsonl"), folder.join("b.jsonl.gz")]).expect("records");
    assert_eq!(results.study("paper").expect("it").all_runs().count(), 24);
    std::fs::remove_dir_all(folder).expect("a folder of our own");
}

#[test]
fn tables_with_many_columns_lie_down() {
    let results = costly();
    let study = results.study("cost").expect("it is there");
    let columns = study.columns().into_iter().map(AnyColumn::Ours).collect();
    let spec = ScoreTable {
        metric: Metric::Rmse,
        tasks: study.tasks.clone(),
        columns,
        against: study.gp(),
        spread: Spread::Sd,
    };
    let found = score_table(&spec);
    assert_eq!(found.head, ["task", "boston", "kin8nm", "average rank", "wins / ties / losses"]);
    assert_eq!(found.rows.len(), 1 + 32);
    assert!(matches!(blocks(&results, &[], &Options::default()).expect("blocks")[0], Block::Heading(_)));
}
