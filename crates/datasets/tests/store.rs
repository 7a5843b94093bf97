//! Imports and loads, of what is right and of what is not.

mod common;

use common::{Folder, wine, wine_csv, wine_lines, wine_values};
use deepgp_data::train_test;
use deepgp_datasets::{Error, Found, Set, SplitRule, Store, splits_sha256, standard_splits};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).expect("memory");
    packed.finish().expect("memory")
}

#[test]
fn a_set_is_the_same_in_any_wrapping() -> deepgp_datasets::Result<()> {
    let f = Folder::new("wrappings");
    let header = format!("{},{}\n", wine().features, wine().targets);
    f.write("plain/wine_red/data.csv", wine_csv());
    f.write("packed/wine_red/data.csv.gz", gzip(&wine_csv()));
    f.write("semicolons/wine_red/data.csv", format!("{}{}", header.replace(',', ";"), wine_lines(";")));
    f.write("bare/wine_red/data.csv", wine_lines(" "));
    let (x, targets) = wine_values();
    for wrapping in ["plain", "packed", "semicolons", "bare"] {
        let store = Store::open(f.path(&format!("store of {wrapping}")));
        assert!(!store.has(wine()) && matches!(store.load("wine_red"), Err(Error::Missing { .. })));
        let found = Found::look_into(&f.path(wrapping))?;
        let [(set, folder)] = &found.sets[..] else { panic!("{found:?}") };
        let imported = store.import(set, folder)?;
        let loaded = store.load("wine_red")?;
        assert_eq!(loaded, imported);
        assert_eq!((&loaded.x, &loaded.targets), (&x, &targets));
        assert_eq!((loaded.name, &loaded.splits), ("wine_red", &standard_splits(1599, 20)));
        assert_eq!((loaded.feature_names.len(), &loaded.target_names[..]), (11, &["quality".to_owned()][..]));
        // Whatever it was, it is kept in one way.
        let kept = std::fs::read_to_string(store.table_of(wine()).expect("a table")).expect("text");
        assert_eq!(kept, wine_csv(), "{wrapping}");
    }
    Ok(())
}

#[test]
fn what_is_not_the_set_is_refused_and_the_old_copy_stays() -> deepgp_datasets::Result<()> {
    let f = Folder::new("refused");
    let store = f.store();
    f.write("good/data.csv", wine_csv());
    store.import(wine(), &f.path("good"))?;
    let before = f.files();
    let kept = std::fs::read(f.path("store/wine_red/data.csv")).expect("a file");

    let good = wine_csv();
    let last_line = good.trim_end().rfind('\n').expect("lines");
    let swapped = good.replacen("7.4,0.7,", "0.7,7.4,", 1);
    f.write("value/data.csv", good.replacen("7.4", "7.5", 1)).write("order/data.csv", swapped);
    f.write("short/data.csv", &good[..=last_line]).write("narrow/data.csv", "a,b\n1,2\n");
    f.write("text/data.csv", good.replacen("7.4", "red", 1)).write("cut/data.csv.gz", &gzip(&good)[..5000]);
    f.write("splits/data.csv", &good).write("splits/splits.csv", "0,1,2\n");
    f.write("odd-splits/data.csv", &good).write("odd-splits/splits.csv", "0,x\n");
    let fault = |name: &str| store.import(wine(), &f.path(name)).expect_err(name).to_string();
    assert!(fault("value").starts_with("wine_red: the values in "), "{}", fault("value"));
    assert!(fault("value").ends_with(&format!(", not {}", wine().values_sha256)), "{}", fault("value"));
    assert!(fault("order").contains("are not those of the set"), "{}", fault("order"));
    assert!(fault("short").ends_with("has 1598 rows and 12 columns instead of 1599 and 12"), "{}", fault("short"));
    assert!(fault("narrow").ends_with("has 1 rows and 2 columns instead of 1599 and 12"), "{}", fault("narrow"));
    assert!(fault("text").contains("line 2, column \"fixed_acidity\": \"red\""), "{}", fault("text"));
    assert!(fault("cut").contains("cut/data.csv.gz"), "{}", fault("cut"));
    assert!(fault("splits").starts_with("wine_red: the splits in "), "{}", fault("splits"));
    assert!(fault("odd-splits").contains("splits.csv, line 1, field 2: \"x\""), "{}", fault("odd-splits"));
    assert!(fault("missing").starts_with("wine_red is not in "), "{}", fault("missing"));

    assert_eq!(std::fs::read(f.path("store/wine_red/data.csv")).expect("a file"), kept);
    let now: Vec<String> = f.files().into_iter().filter(|file| file.starts_with("store")).collect();
    assert_eq!(now, before.into_iter().filter(|file| file.starts_with("store")).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn a_store_that_was_damaged_says_so() -> deepgp_datasets::Result<()> {
    let f = Folder::new("damaged");
    let store = f.store();
    f.write("good/data.csv", wine_csv());
    store.import(wine(), &f.path("good"))?;
    f.write("store/wine_red/data.csv", wine_csv().replacen("7.4", "7.5", 1));
    assert!(matches!(store.load("wine_red"), Err(Error::Values { name: "wine_red", .. })));
    f.write("store/wine_red/data.csv", "");
    assert!(matches!(store.load("wine_red"), Err(Error::Data(_))));
    store.import(wine(), &f.path("good"))?;
    f.write("store/wine_red/splits.csv", "1\n");
    assert!(matches!(store.load("wine_red"), Err(Error::Splits { name: "wine_red", .. })));
    Ok(())
}

#[test]
fn an_import_takes_the_place_of_whatever_was_there() -> deepgp_datasets::Result<()> {
    let f = Folder::new("replaced");
    f.write("good/data.csv", wine_csv());
    // An older table under the other name would hide behind, or in front of, the new one; and a killed process left a
    // file.
    f.write("store/wine_red/data.csv.gz", "old").write("store/wine_red/.data.csv.1-0.tmp", "half");
    f.store().import(wine(), &f.path("good"))?;
    assert_eq!(f.files(), ["good/data.csv", "store/wine_red/data.csv"]);
    f.store().load("wine_red").map(drop)
}

#[test]
fn folders_are_known_by_name_or_by_values() -> deepgp_datasets::Result<()> {
    let f = Folder::new("found");
    f.write("many/wine_red/data.csv", wine_csv()).write("many/boston/data.csv", "a,b\n1,2\n");
    f.write("many/boson/data.csv", "a,b\n1,2\n").write("many/energy/notes.txt", "no table");
    f.write("many/README.md", "a file").write("many/.git/data.csv", "hidden");
    f.write("anything/data.csv", wine_lines(",")).write("strange/data.csv", "a,b\n1,2\n");
    std::fs::create_dir(f.path("empty")).expect("a folder");

    let found = Found::look_into(&f.path("many"))?;
    let names: Vec<&str> = found.sets.iter().map(|(set, _)| set.name).collect();
    assert_eq!((names, found.unknown), (vec!["boston", "wine_red"], vec!["boson".to_owned(), "energy".to_owned()]));
    for folder in ["many/wine_red", "anything"] {
        let found = Found::look_into(&f.path(folder))?;
        assert_eq!((found.sets[0].0.name, found.sets.len(), found.unknown.len()), ("wine_red", 1, 0), "{folder}");
    }
    assert!(matches!(Found::look_into(&f.path("strange")), Err(Error::Unrecognised { .. })));
    assert_eq!(Found::look_into(&f.path("empty"))?, Found::default());
    assert!(matches!(Found::look_into(&f.path("missing")), Err(Error::Io { .. })));
    Ok(())
}

#[test]
fn a_store_that_cannot_be_written_to_says_so() {
    let f = Folder::new("unwritable");
    f.write("good/data.csv", wine_csv()).write("store", "a file");
    let fault = f.store().import(wine(), &f.path("good")).expect_err("no folder").to_string();
    assert!(fault.starts_with("cannot make the folder ") && fault.contains("wine_red"), "{fault}");
    assert_eq!(f.files(), ["good/data.csv", "store"]);
}

#[test]
fn splits_without_a_rule_must_come_with_the_data() {
    let f = Folder::new("no-splits");
    let oil = Set::find("oil").expect("known");
    let row = vec!["1"; 13].join(",");
    f.write("oil/data.csv", format!("{},{}\n{}", oil.features, oil.targets, format!("{row}\n").repeat(3000)));
    let fault = f.store().import(oil, &f.path("oil")).expect_err("no splits").to_string();
    assert!(fault.starts_with("oil: ") && fault.ends_with("no rule makes the splits of this set"), "{fault}");
}

/// Test rows of published index files.
#[test]
fn the_rule_gives_rows_that_were_published() {
    // Boston, concrete, kin8nm, naval, protein.
    for (rows, split, first) in [
        (506, 0, [1, 7, 22, 37, 50]),
        (506, 1, [5, 7, 9, 27, 30]),
        (506, 19, [2, 6, 8, 39, 64]),
        (1030, 0, [7, 15, 22, 25, 26]),
        (1030, 19, [10, 13, 18, 39, 41]),
        (8192, 4, [18, 33, 37, 56, 64]),
        (11_934, 19, [6, 15, 20, 23, 30]),
        (45_730, 4, [12, 29, 36, 42, 54]),
    ] {
        assert_eq!(standard_splits(rows, split + 1)[split][..5], first, "split {split} of {rows} rows");
    }
}

/// Compares the rule and the checksums with a folder of sets: `DEEPGP_SETS=FOLDER cargo test -p deepgp-datasets
/// --release --test store -- --ignored --nocapture`.
#[test]
#[ignore = "needs the data; DEEPGP_SETS names their folder"]
fn the_sets_in_a_folder_are_those_of_the_registry() -> deepgp_datasets::Result<()> {
    let folder = std::env::var_os("DEEPGP_SETS").expect("DEEPGP_SETS names a folder");
    let found = Found::look_into(Path::new(&folder))?;
    let f = Folder::new("sets");
    for (set, folder) in &found.sets {
        let started = std::time::Instant::now();
        let imported = f.store().import(set, folder)?;
        let (import, started) = (started.elapsed(), std::time::Instant::now());
        let loaded = f.store().load(set.name)?;
        println!("{:<14} import {import:>10.1?}  load {:>10.1?}", set.name, started.elapsed());
        assert_eq!(imported, loaded);
        let published = ["splits.csv", "splits.csv.gz"].map(|name| folder.join(name)).into_iter().find(|p| p.is_file());
        let published = deepgp_data::read_splits(published.expect("splits"))?;
        assert_eq!(splits_sha256(&published), set.splits_sha256);
        if set.split_rule == SplitRule::Standard {
            assert_eq!(standard_splits(set.rows, set.n_splits), published, "{}", set.name);
        }
        if set.split_rule == SplitRule::Folds {
            let mut all: Vec<usize> = published.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..set.rows), "{}", set.name);
        }
        for split in &loaded.splits {
            let (train, test) = train_test(set.rows, split)?;
            assert_eq!(train.len() + test.len(), set.rows);
        }
    }
    println!("{} of {} sets, skipped: {:?}", found.sets.len(), Set::all().len(), found.unknown);
    assert_eq!(found.sets.len(), Set::all().len());
    Ok(())
}
