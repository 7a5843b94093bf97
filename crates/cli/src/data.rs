//! `deepgp data`: benchmark data sets, listed, downloaded, imported.

use crate::args::{Data, DataFetch, DataFolder, DataImport, DataList, DataPath};
use crate::exit_codes::{print_error, usage};
use crate::make::make;
use crate::out::{note, path_text, print, print_json};
use crate::wording::{count, plural};
use anyhow::{Result, bail};
use deepgp_datasets::{Dataset, Error, Found, Set, SplitRule, Store, Task};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Runs one of the commands.
pub fn run(args: &Data) -> Result<()> {
    match args {
        Data::List(args) => list(args),
        Data::Fetch(args) => fetch(args),
        Data::Import(args) => import(args),
        Data::Path(args) => path(args),
        Data::Make(args) => make(args),
    }
}

fn store(folder: &DataFolder) -> Result<Store> {
    Ok(Store::locate(folder.data_dir.as_deref())?)
}

/// The set of a name that was typed.
fn find(name: &str) -> Result<&'static Set> {
    Set::find(name).map_err(|error| usage!("{error}"))
}

fn path(args: &DataPath) -> Result<()> {
    let (set, store) = (find(&args.name)?, store(&args.folder)?);
    let folder = store.folder().to_owned();
    let table = store.table_of(set).ok_or(Error::Missing { set, folder })?;
    print(&format!("{}\n", table.display()))
}

fn list(args: &DataList) -> Result<()> {
    let store = store(&args.folder)?;
    if args.json {
        let sets: Vec<Value> = Set::all().iter().map(|set| described(set, &store)).collect();
        return print_json(&json!({ "folder": path_text(store.folder()), "sets": sets }));
    }
    let mut text = format!(
        "{:<13} {:>9} {:>6} {:>7}  {:<11}  {:<9}  {}\n",
        "name", "rows", "inputs", "targets", "splits", "status", "source"
    );
    for set in Set::all() {
        let status = match (store.has(set), set.can_fetch()) {
            (true, _) => "here",
            (false, true) => "can fetch",
            (false, false) => "import",
        };
        text += &format!(
            "{:<13} {:>9} {:>6} {:>7}  {:<11}  {status:<9}  {}\n",
            set.name,
            count(set.rows),
            set.n_features(),
            set.n_targets(),
            format!("{} {}", set.n_splits, rule(set)),
            set.source,
        );
    }
    print(&format!("{text}\nfolder: {}\n", store.folder().display()))
}

/// A set for machines.
fn described(set: &Set, store: &Store) -> Value {
    let (task, classes) = match set.task {
        Task::Regression => ("regression", None),
        Task::Classes(n) => ("classification", Some(n)),
    };
    json!({
        "name": set.name, "about": set.about, "task": task, "classes": classes, "rows": set.rows,
        "inputs": set.n_features(), "features": set.feature_names(), "targets": set.target_names(),
        "splits": set.n_splits, "split_rule": rule(set), "here": store.has(set),
        "path": store.table_of(set).map(|path| path_text(&path)), "can_fetch": set.can_fetch(), "source": set.source,
        "licence": set.licence, "values_sha256": set.values_sha256, "splits_sha256": set.splits_sha256,
    })
}

fn rule(set: &Set) -> &'static str {
    match set.split_rule {
        SplitRule::Standard => "standard",
        SplitRule::Folds => "folds",
        SplitRule::Given => "given",
    }
}

/// What was done with one set.
fn done(set: &Set, data: &Dataset, store: &Store) -> String {
    format!(
        "{}: {}, {}, {}, {} in {}\n",
        set.name,
        plural(data.x.rows(), "row"),
        plural(data.x.cols(), "input"),
        plural(data.targets.cols(), "target"),
        plural(data.splits.len(), "split"),
        store.folder_of(set).display()
    )
}

/// What was done, as JSON.
fn done_json(set: &Set, store: &Store, is_new: bool) -> Value {
    let path = store.table_of(set).map(|path| path_text(&path));
    json!({ "name": set.name, "rows": set.rows, "path": path, "new": is_new })
}

/// Works on each set, even if others fail. Errors but the last are printed here.
fn each<T>(sets: Vec<T>, mut work: impl FnMut(T) -> Result<()>) -> Result<()> {
    let mut failure: Option<anyhow::Error> = None;
    for set in sets {
        if let Err(error) = work(set)
            && let Some(before) = failure.replace(error)
        {
            print_error(&format!("{before:#}"));
        }
    }
    failure.map_or(Ok(()), Err)
}

fn import(args: &DataImport) -> Result<()> {
    let store = store(&args.folder)?;
    let names = args.names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?;
    let found = match Found::look_into(&args.from) {
        // Who names a set wants to know what is wrong with it.
        Err(Error::Unrecognised { folder }) if names.len() == 1 => {
            Found { sets: vec![(names[0], folder)], ..Found::default() }
        }
        found => found?,
    };
    let from = args.from.display();
    let wanted: Vec<(&'static Set, PathBuf)> = if names.is_empty() {
        found.unknown.iter().for_each(|name| note(args.quiet, &format!("{name} is skipped: no such set is known")));
        found.sets
    } else {
        for set in &names {
            if !found.sets.iter().any(|(one, _)| one == set) {
                bail!("{from} has no data of {}", set.name);
            }
        }
        found.sets.into_iter().filter(|(set, _)| names.contains(set)).collect()
    };
    if wanted.is_empty() {
        bail!("{from} holds no data set that is known: neither data.csv nor a folder called as a set is");
    }
    let mut imported = Vec::new();
    each(wanted, |(set, folder)| {
        let data = store.import(set, &folder)?;
        imported.push(done_json(set, &store, true));
        if args.json { Ok(()) } else { print(&done(set, &data, &store)) }
    })?;
    if args.json {
        let folder = path_text(store.folder());
        print_json(&json!({ "folder": folder, "sets": imported, "skipped": found.unknown }))?;
    }
    Ok(())
}

#[cfg(not(feature = "fetch"))]
fn fetch(args: &DataFetch) -> Result<()> {
    args.names.iter().try_for_each(|name| find(name).map(drop))?;
    bail!("this deepgp was built without downloads; `deepgp data import FOLDER` takes a copy that you have")
}

#[cfg(feature = "fetch")]
fn fetch(args: &DataFetch) -> Result<()> {
    let store = store(&args.folder)?;
    let sets = args.names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?;
    let options = deepgp_datasets::FetchOptions::from_env().map_err(|error| usage!("{error}"))?;
    let (mut line, mut fetched) = (progress::Line::new(args.quiet || args.json), Vec::new());
    each(sets, |set| {
        // A copy that is damaged is as good as none.
        if !args.force && store.load(set.name).is_ok() {
            fetched.push(done_json(set, &store, false));
            let already = format!("{}: already in {}\n", set.name, store.folder_of(set).display());
            return if args.json { Ok(()) } else { print(&already) };
        }
        let data = store.fetch(set, &options, &mut |progress| line.show(progress));
        line.clear();
        let data = data?;
        fetched.push(done_json(set, &store, true));
        if args.json { Ok(()) } else { print(&done(set, &data, &store)) }
    })?;
    if args.json {
        print_json(&json!({ "folder": path_text(store.folder()), "sets": fetched }))?;
    }
    Ok(())
}

/// How far a download is, on a terminal.
#[cfg(feature = "fetch")]
mod progress {
    use deepgp_datasets::Progress;
    use std::io::{IsTerminal, Write, stderr};
    use std::time::{Duration, Instant};

    /// Between two drawings of the line.
    const REDRAW: Duration = Duration::from_millis(100);

    /// A line that is drawn again and again.
    pub struct Line {
        is_shown: bool,
        drawn: Option<Instant>,
    }

    impl Line {
        /// On a terminal, unless nothing is to be said.
        pub fn new(quiet: bool) -> Self {
            Self { is_shown: !quiet && stderr().is_terminal(), drawn: None }
        }

        /// Draws it, unless it was drawn a moment ago.
        pub fn show(&mut self, progress: &Progress) {
            if !self.is_shown || self.drawn.is_some_and(|at| at.elapsed() < REDRAW) {
                return;
            }
            self.drawn = Some(Instant::now());
            let mut out = stderr().lock();
            // There is nobody to tell if that fails.
            let _ = write!(out, "\r\x1b[K\x1b[?7l{}\x1b[?7h", line(progress)).and_then(|()| out.flush());
        }

        /// Takes it away.
        pub fn clear(&mut self) {
            if self.drawn.take().is_some() {
                let _ = write!(stderr(), "\r\x1b[K");
            }
        }
    }

    fn line(progress: &Progress) -> String {
        let kilobytes = |bytes: u64| bytes.div_ceil(1000);
        let Progress { name, file, received, total } = *progress;
        match total {
            Some(total) => format!("{name}: {file}, {} of {} kB", kilobytes(received), kilobytes(total)),
            None => format!("{name}: {file}, {} kB", kilobytes(received)),
        }
    }

    #[test]
    fn a_line_tells_what_comes_and_how_much_of_it() {
        let half = Progress { name: "boston", file: "data.txt", received: 20_000, total: Some(40_001) };
        assert_eq!(line(&half), "boston: data.txt, 20 of 41 kB");
        assert_eq!(line(&Progress { total: None, ..half }), "boston: data.txt, 20 kB");
    }
}
