//! The two walks through the code in docs/ARCHITECTURE.md name files that exist, each once, and as many as they say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text below a heading, up to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let begin = text.find(heading).unwrap_or_else(|| panic!("no heading {heading:?}")) + heading.len();
    let rest = &text[begin..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// The files of a table whose rows are a station, a crate, and files of that crate below `src`.
fn files(section: &str) -> Vec<String> {
    let rows = section.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        (cells.len() == 3 && cells[1].starts_with('`')).then_some((cells[1].trim_matches('`'), cells[2]))
    });
    rows.flat_map(|(owner, files)| {
        files.split('`').skip(1).step_by(2).map(move |file| format!("crates/{owner}/src/{file}"))
    })
    .collect()
}

#[test]
fn walks_name_every_file_once_and_count_them() {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the document");
    for heading in ["## One minibatch", "## One CSV row"] {
        let section = section(&text, heading);
        let files = files(section);
        assert!(files.len() > 10, "{heading}: only {} files found; has the table's form changed?", files.len());
        let missing: Vec<&String> = files.iter().filter(|file| !root().join(file).is_file()).collect();
        assert!(missing.is_empty(), "{heading}: {missing:?} do not exist");
        let distinct: BTreeSet<&String> = files.iter().collect();
        assert_eq!(distinct.len(), files.len(), "{heading}: a file stands twice");
        assert!(section.contains(&format!("{} files", files.len())), "{heading}: there are {} files", files.len());
    }
}
