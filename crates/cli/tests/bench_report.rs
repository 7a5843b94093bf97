//! `deepgp bench report` on made-up records: texts of every kind, templates, faults.

mod common;
#[path = "../../experiments/tests/common/mod.rs"]
mod made_up;

use common::Folder;
use made_up::{lines, paper};

const PUBLISHED: &str = "task,variant,rmse,mean_log_density,source\nboston,\"[GP, 50]\",3.09,-2.26,A paper\n";

/// A folder with `runs.jsonl` and `old.csv`.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("runs.jsonl", lines(&paper("paper", 10))).write("old.csv", PUBLISHED);
    folder
}

#[test]
fn markdown_on_standard_output() {
    let f = folder("bench-report");
    let done = f.run("bench report runs.jsonl --published old.csv").ok();
    for piece in [
        "## Study paper",
        "| task | splits | [GP, 50] | [DGP, 1, 50] | [DGP, 2, 50] | old: [GP, 50] |",
        "| average rank | 2 tasks |",
        "corrected resampled t-test",
        "old: A paper.",
        "Learning rates found (trials)",
        "Runs without finite scores: 0 of 60.",
        "Events in training",
    ] {
        assert!(done.out.contains(piece), "{piece}: {}", done.out);
    }
    assert_eq!((done.err.as_str(), f.names()), ("", vec!["old.csv".to_owned(), "runs.jsonl".into()]));
    let deviations = f.run("bench report runs.jsonl --spread sd --against '[DGP, 1, 50]'").ok().out;
    assert!(deviations.contains("Mean ± sample standard deviation") && deviations.contains("worse than [DGP, 1, 50]"));
}

#[test]
fn other_formats_and_figures() {
    let f = folder("bench-report-formats");
    let done = f.run("bench report runs.jsonl -o all.html --title Numbers").ok();
    assert_eq!((done.out.as_str(), done.err.as_str()), ("all.html\n", "note: 60 runs in all.html\n"));
    assert!(f.read("all.html").contains("<h1>Numbers</h1>") && f.read("all.html").contains("<svg"));
    f.run("bench report runs.jsonl -o all.tex --quiet --figures pictures").ok();
    assert!(f.read("all.tex").contains("\\includegraphics[width=\\linewidth]{pictures/search-paper.png}"));
    assert!(f.path("pictures/search-paper.png").exists() && f.path("pictures/search-paper.svg").exists());
    assert!(f.run("bench report runs.jsonl --format latex").ok().out.contains("\\toprule"));
    std::fs::create_dir(f.path("docs")).expect("a folder");
    f.run("bench report runs.jsonl -o docs/all.md --figures pictures --quiet").ok();
    assert!(f.read("docs/all.md").contains("](../pictures/search-paper.svg)"));
}

#[test]
fn numbers_as_json() {
    let f = folder("bench-report-json");
    let json = f.run("bench report runs.jsonl --json").ok().json();
    let row = &json["studies"][0]["scores"][0];
    assert_eq!((&row["task"], &row["runs"], &json["out"]), (&"boston".into(), &10.into(), &serde_json::Value::Null));
    assert!(
        row["rmse"]["se"].is_number() && json["studies"][0]["comparisons"][0]["tasks"][0]["p_wilcoxon"].is_number()
    );
    let json = f.run("bench report runs.jsonl --json -o all.md --figures pictures --quiet").ok().json();
    assert_eq!((&json["out"], &json["figures"][0]), (&"all.md".into(), &"pictures/search-paper.svg".into()));
}

#[test]
fn a_template() {
    let f = folder("bench-report-template");
    f.write(
        "t.md",
        "In {{total runs study=paper}} runs the GP had {{value study=paper task=boston variant=\"[GP, 50]\" metric=rmse \
         stat=mean_se}}.\n\n{{table study=paper metric=rmse published=old}}\n\n{{figure search study=paper}}\n",
    );
    let done = f.run("bench report runs.jsonl --published old.csv --template t.md -o out.md").ok();
    assert_eq!(done.out, "out.md\nsearch-paper.svg\n");
    let text = f.read("out.md");
    assert!(text.starts_with("In 60 runs the GP had ") && text.contains("](search-paper.svg)"), "{text}");
    assert_eq!(f.names(), ["old.csv", "out.md", "runs.jsonl", "search-paper.svg", "t.md"]);
    f.write("plain.md", "{{total runs study=paper}} runs.\n");
    assert_eq!(f.run("bench report runs.jsonl --template plain.md").ok().out, "60 runs.\n");
}

#[test]
fn faults_are_one_line_and_leave_nothing() {
    let f = folder("bench-report-faults");
    f.write("broken.jsonl", "{\"kind\":\"run\"}\n").write("empty.jsonl", "").write("bad.csv", "task,colour\na,b\n");
    f.write("figures.md", "{{figure search study=paper}}\n").write("bad.md", "fine\n{{tabel study=paper}}\n");
    f.write("late.md", "{{figure search study=paper}}\n\n{{value study=paper}}\n").write("latin.md", b"\xe9");
    let changed = lines(&paper("paper", 10)).replace("\"steps\":4000", "\"steps\":3999");
    f.write("changed.jsonl", changed);
    let before = f.names();
    for (line, code, piece) in [
        ("missing.jsonl", 1, "missing.jsonl: "),
        ("broken.jsonl", 1, "broken.jsonl, line 1: not a record: missing field"),
        ("empty.jsonl", 1, "no records in empty.jsonl"),
        ("runs.jsonl changed.jsonl", 1, "changed.jsonl: study paper, task boston, [GP, 50], split 0 differs"),
        ("runs.jsonl --published bad.csv", 1, "bad.csv: column 'colour' is none of task, variant"),
        ("runs.jsonl --published missing.csv", 1, "missing.csv: "),
        ("runs.jsonl --against '[GP, 51]'", 2, "there is no variant '[GP, 51]'; there are [DGP, 1, 50]"),
        ("runs.jsonl -o all.doc", 2, "all.doc ends in none of .md, .tex and .html: give --format"),
        ("runs.jsonl --template bad.md -o out.md", 2, "bad.md, line 2: there is no directive 'tabel'"),
        ("runs.jsonl --template late.md -o out.md", 2, "late.md, line 3: 'value' needs variant="),
        ("runs.jsonl --template latin.md", 1, "cannot read latin.md"),
        ("runs.jsonl --template missing.md", 1, "cannot read missing.md"),
        ("runs.jsonl --template figures.md", 2, "the template has figures: give --out or --figures"),
        ("runs.jsonl --template figures.md --format html", 2, "a template gives Markdown, nothing else"),
        ("runs.jsonl -o missing/all.md", 1, "missing/all.md"),
    ] {
        let done = f.run(&format!("bench report {line} --quiet"));
        assert!(done.code == code && done.complaint().contains(piece) && done.out.is_empty(), "{piece}: {done:#?}");
        assert_eq!(f.names(), before, "{line}");
    }
    assert_eq!(f.run("bench report").code, 2);
    assert_eq!(f.run("bench report runs.jsonl --template bad.md --against x").code, 2);
}

#[test]
fn more_columns_than_a_page_has_room_for_become_rows() {
    let f = folder("bench-report-repository");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let published =
        ["bui2015", "others", "authors_code"].map(|name| format!("--published {root}/record/published/{name}.csv"));
    let done = f.run(&format!("bench report runs.jsonl {}", published.join(" ")));
    assert!(done.ok().out.contains("| bui2015: [DGP, 2, 50] | 2.47 | 5.21 |"));
}

/// The repository's own page of results is made from its records, down to the last digit and line of a figure.
#[test]
fn the_results_are_what_the_records_say() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/RESULTS.md")).expect("docs/RESULTS.md");
    // The page says itself how it was made.
    let command =
        page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a command on the page");
    let command = command.replace("\\\n", " ").replace("deepgp bench", "bench");
    let f = Folder::new("results");
    for folder in ["record", "record/published", "docs", "docs/figures"] {
        std::fs::create_dir_all(f.path(folder)).expect("a folder");
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    for file in words.iter().filter(|word| word.starts_with("record/") || word.ends_with(".template.md")) {
        std::fs::copy(root.join(file), f.path(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
    f.run(&words.join(" ")).ok();
    assert_eq!(f.read("docs/RESULTS.md"), page, "run the command at the top of docs/RESULTS.md again");
    for entry in std::fs::read_dir(f.path("docs/figures")).expect("figures") {
        let name = entry.expect("a figure").file_name();
        let (made, kept) = (f.path("docs/figures").join(&name), root.join("docs/figures").join(&name));
        assert_eq!(std::fs::read(made).ok(), std::fs::read(kept).ok(), "{}", name.display());
    }
}
