//! docs/paper-map.md is true: what it names exists, and no law or engine is missing from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MAP: &str = "docs/paper-map.md";

/// Folders whose every file must be named in the map.
const COVERED: [&str; 6] = [
    "crates/deepgp/src/kernel",
    "crates/deepgp/src/kernel/eq",
    "crates/deepgp/src/kernel/eq/fused",
    "crates/deepgp/src/layer",
    "crates/deepgp/src/likelihood",
    "crates/deepgp/src/infer",
];

/// Files of these folders that hold no equation: they declare a module, or only add up what others computed.
const EXEMPT: [&str; 10] = [
    "crates/deepgp/src/kernel/padded.rs",
    "crates/deepgp/src/kernel/radial.rs",
    "crates/deepgp/src/kernel/eq/scratch.rs",
    "crates/deepgp/src/kernel/eq/sums.rs",
    "crates/deepgp/src/kernel/eq/fused/tests.rs",
    "crates/deepgp/src/layer/sums.rs",
    "crates/deepgp/src/infer/event.rs",
    "crates/deepgp/src/infer/workspace.rs",
    "crates/deepgp/src/likelihood/custom.rs",
    "crates/deepgp/src/likelihood/support.rs",
];

/// Traits each of whose implementors must have a row of its own.
const LAWS: [&str; 3] = ["Law", "Observation", "Independent"];

/// Words that introduce a name.
const KEYWORDS: [&str; 6] = ["fn", "struct", "enum", "trait", "const", "type"];

/// One row of the table: where it stands, the file it names, and the items it says are in there.
struct Row {
    line: usize,
    equation: String,
    file: String,
    items: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows `| equation | source | file | items |` of every table of the map; faults go to `faults`.
fn rows(text: &str, faults: &mut Vec<String>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| text.starts_with('|')) {
        let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
        if cells[0] == "equation" || cells[0].starts_with("--") {
            continue;
        }
        let [equation, _source, file, items] = cells[..] else {
            faults.push(format!("{MAP}:{line}: {} cells where a row has 4", cells.len()));
            continue;
        };
        let (files, items) = (quoted(file), quoted(items));
        if files.len() != 1 || items.is_empty() {
            faults.push(format!("{MAP}:{line}: \"{equation}\" needs one file and at least one item, in backticks"));
            continue;
        }
        rows.push(Row { line, equation: equation.to_owned(), file: files[0].clone(), items });
    }
    rows
}

/// The words of a line: runs of letters, digits and underscores.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty())
}

/// Whether the line declares `name`.
fn declares(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let mut previous = "";
    !line.starts_with("//")
        && words(line).any(|word| {
            let found = word == name && KEYWORDS.contains(&previous);
            previous = word;
            found
        })
}

/// Whether `source` holds `name`, or for `Type::name` an `impl` or `trait` block of that type with it.
fn defines(source: &str, item: &str) -> bool {
    let Some((owner, name)) = item.split_once("::") else {
        return source.lines().any(|line| declares(line, item));
    };
    let mut inside = false;
    for line in source.lines() {
        if line.starts_with("impl") || line.starts_with("pub trait") || line.starts_with("trait") {
            inside = words(line).any(|word| word == owner);
        } else if line == "}" {
            inside = false;
        } else if inside && declares(line, name) {
            return true;
        }
    }
    false
}

/// All `.rs` files of a folder but `mod.rs`, as paths from the root.
fn sources(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let mut files: Vec<String> = entries
        .map(|entry| entry.expect("a readable folder").file_name().into_string().expect("a UTF-8 name"))
        .filter(|name| name.ends_with(".rs") && name != "mod.rs")
        .map(|name| format!("{folder}/{name}"))
        .collect();
    files.sort();
    files
}

/// The types that implement one of [`LAWS`] in `source`.
fn laws(source: &str) -> Vec<String> {
    let of = |line: &str| {
        let (law, owner) = line.strip_prefix("impl ")?.strip_suffix(" {")?.split_once(" for ")?;
        LAWS.contains(&law).then(|| owner.to_owned())
    };
    source.lines().filter_map(of).collect()
}

#[test]
fn everything_the_map_names_exists() {
    let text = read(MAP).expect(MAP);
    let mut faults = Vec::new();
    let rows = rows(&text, &mut faults);
    assert!(rows.len() > 20 || !faults.is_empty(), "{MAP}: only {} rows found; has its form changed?", rows.len());
    for Row { line, equation, file, items } in &rows {
        let Some(source) = read(file) else {
            faults.push(format!("{MAP}:{line}: \"{equation}\" names {file}, which does not exist"));
            continue;
        };
        for item in items.iter().filter(|item| !defines(&source, item)) {
            faults.push(format!("{MAP}:{line}: \"{equation}\" names {item}, which {file} does not define"));
        }
    }
    assert!(faults.is_empty(), "the paper map is out of date:\n{}", faults.join("\n"));
}

#[test]
fn nothing_is_missing_from_the_map() {
    let text = read(MAP).expect(MAP);
    let rows = rows(&text, &mut Vec::new());
    let named: BTreeSet<&str> = rows.iter().map(|row| row.file.as_str()).collect();
    let mut faults = Vec::new();
    for file in COVERED.into_iter().flat_map(sources) {
        match (named.contains(file.as_str()), EXEMPT.contains(&file.as_str())) {
            (false, false) => faults.push(format!("{file} has no row in {MAP}")),
            (true, true) => faults.push(format!("{file} has a row in {MAP} and need not be exempt")),
            _ => {}
        }
        for law in laws(&read(&file).expect(&file)) {
            let owned = format!("{law}::");
            let has_row = rows.iter().any(|row| row.file == file && row.items.iter().any(|i| i.starts_with(&owned)));
            if !has_row {
                faults.push(format!("{law} of {file} has no row in {MAP} with an item {owned}…"));
            }
        }
    }
    for file in EXEMPT.iter().filter(|file| read(file).is_none()) {
        faults.push(format!("{file} is exempt but does not exist"));
    }
    assert!(faults.is_empty(), "the paper map is not complete:\n{}", faults.join("\n"));
}

#[test]
fn the_checks_can_fail() {
    let source = "pub struct A;\nimpl A {\n    /// fn ghost\n    pub fn run<T>(x: T) {}\n}\nimpl B for C {\n    fn go(&self) {}\n}\n";
    for item in ["A", "A::run", "C::go", "B::go", "run"] {
        assert!(defines(source, item), "{item}");
    }
    for item in ["D", "C::run", "A::go", "ghost", "A::ghost", "ru"] {
        assert!(!defines(source, item), "{item}");
    }
    assert_eq!(laws("impl Law for Eq {\nimpl Parameters for Eq {\nimpl Independent for Probit {\n"), ["Eq", "Probit"]);
    let mut faults = Vec::new();
    let found = rows(
        "| equation | s | f | i |\n|---|---|---|---|\n| a | b | `c` | `d`, `e` |\n| a | b | c | d |\n",
        &mut faults,
    );
    assert_eq!((found.len(), found[0].items.len(), faults.len()), (1, 2, 1));
}
