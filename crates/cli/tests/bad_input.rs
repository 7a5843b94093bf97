//! Bad input of many kinds: one line that says what is wrong, the right exit code, nothing half-written.

mod common;

use common::{Folder, QUICK, exists, homes, is_root, with_model};

/// What is typed, the exit code, and pieces of the complaint.
type Case = (&'static str, i32, &'static [&'static str]);

/// Runs each case; the folder must look the same afterwards.
#[track_caller]
fn expect(folder: &Folder, cases: &[Case]) {
    let before = folder.names();
    let mut faults = Vec::new();
    for (line, code, pieces) in cases {
        let line = if line.starts_with("fit") && !line.contains("resume") {
            format!("{line} {QUICK}")
        } else {
            (*line).to_owned()
        };
        let quiet = if line.starts_with("show") { "" } else { " --quiet" };
        let done = folder.run(&format!("{line}{quiet}"));
        let complaint = done.complaint();
        if done.code != *code || !pieces.iter().all(|piece| complaint.contains(piece)) || !done.out.is_empty() {
            faults.push(format!("{done:#?}\nshould have ended with {code} and said {pieces:?}"));
        }
        let after = folder.names();
        if after != before {
            faults.push(format!("{line} left {after:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn tables_to_learn_from() {
    let f = Folder::new("bad-tables");
    let good = homes(60);
    f.write("empty.csv", "").write("blank.csv", "\n\n  \n").write("header.csv", "a,y\n");
    f.write("row.csv", "a,y\n1,2\n").write("column.csv", "y\n1\n2\n3\n");
    f.write("ragged.csv", "a,y\n1,2\n3\n").write("long.csv", "a,y\n1,2\n3,4,5\n");
    f.write("text.csv", "a,y\n1,2\n2,4\nthree,6\n4,8\n").write("unit.csv", "a,y\n1,2 €\n2,4 €\n");
    f.write("nan.csv", "a,y\n1,nan\n2,NA\n3,\n").write("inf.csv", "a,y\n1,2\ninf,3\n4,5\n");
    f.write("huge.csv", "a,y\n1,2\n2,1e309\n").write("comma.csv", "a;y\n1,5;2,5\n2,5;3,5\n");
    f.write("twice.csv", "a,a,y\n1,2,3\n4,5,6\n").write("latin.csv", b"a,y\n1,2\n\xe9,3\n");
    f.write("quote.csv", "a,y\n1,2\n\"3,4\n5,6\n")
        .write("zip.xlsx", b"PK\x03\x04more")
        .write("utf16.csv", b"\xff\xfea\0,\0");
    f.write("page.html", "<!DOCTYPE html><html></html>").write("data.json", "{\"a\": 1}");
    f.write("cut.parquet", b"PAR1\x15\x04\x15").write("cut.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01");
    f.write("wide.csv", format!("{}y\n{}1\n", "x,".repeat(100_001), "1,".repeat(100_001)));
    f.write("words.csv", "a,y\n1,red\n2,blue\n").write("constant.csv", "a,y\n3,1\n3,2\n3,3\n");
    f.write("bare.csv", "1,2\n3,4\n5,6\n").write("homes.csv", &good);
    f.write("ids.csv", (0..60).fold("a,y\n".to_owned(), |text, i| text + &format!("n{i},{i}\n")));
    std::fs::create_dir(f.path("folder")).expect("a folder");
    let cases: &[Case] = &[
        ("fit empty.csv", 1, &["empty.csv: no header found"]),
        ("fit blank.csv", 1, &["blank.csv: no header found"]),
        ("fit header.csv", 1, &["header.csv: no rows below the header found"]),
        ("fit row.csv", 1, &["row.csv: no column is left to predict from", "\"a\""]),
        ("fit column.csv", 1, &["column.csv: no column is left to predict from"]),
        ("fit ragged.csv", 1, &["ragged.csv, line 3: 1 fields where the first row has 2"]),
        ("fit long.csv", 1, &["long.csv, line 3: 3 fields", "quotes"]),
        ("fit text.csv", 1, &["text.csv, line 4, column \"a\": \"three\" is not a finite number; correct it"]),
        ("fit unit.csv", 1, &["unit.csv, line 2, column \"y\": \"2 €\"", "write the number without its unit"]),
        ("fit nan.csv", 1, &["nan.csv: no rows with a target found"]),
        ("fit inf.csv", 1, &["inf.csv, line 3, column \"a\": \"inf\" is not a finite number; infinite values"]),
        ("fit huge.csv", 1, &["huge.csv, line 3, column \"y\": \"1e309\" is not a finite number; infinite"]),
        ("fit comma.csv", 1, &["comma.csv, line 2, column", "if the comma is the decimal mark, say so"]),
        ("fit twice.csv", 1, &["twice.csv: two columns are called \"a\""]),
        ("fit latin.csv", 1, &["latin.csv, line 3, field 1: not UTF-8 text"]),
        ("fit quote.csv", 1, &["quote.csv, line 3", "is a quote not closed?"]),
        ("fit zip.xlsx", 1, &["zip.xlsx: this is a zip archive or an Excel workbook; export"]),
        ("fit utf16.csv", 1, &["utf16.csv: this is UTF-16 text"]),
        ("fit page.html", 1, &["page.html: this is a web page"]),
        ("fit data.json", 1, &["data.json: this is JSON"]),
        ("fit cut.parquet", 1, &["cut.parquet: "]),
        ("fit cut.csv.gz", 1, &["cut.csv.gz: "]),
        ("fit wide.csv", 1, &["wide.csv, line 1: the row is longer than 100000 columns"]),
        ("fit words.csv --task regression", 1, &["words.csv, line 2: the target \"y\" holds text, such as \"red\""]),
        ("fit constant.csv", 1, &["constant.csv: no column is left to predict from", "it is always \"3\""]),
        ("fit ids.csv --features a", 1, &["ids.csv: column \"a\" has more than 50 different texts"]),
        ("fit folder", 1, &["folder: ", "irectory"]),
        ("fit missing.csv", 1, &["missing.csv: ", "No such file"]),
        ("fit homes.csv --target prise", 1, &["homes.csv: column \"prise\" not found; did you mean \"price\"?"]),
        ("fit homes.csv --target price --features aera", 1, &["column \"aera\" not found; did you mean \"area\"?"]),
        ("fit homes.csv --target price --exclude colour", 1, &["column \"colour\" not found; there are \"area\""]),
        ("fit homes.csv --target price --features price,area", 1, &["column \"price\" is asked for in two roles"]),
        ("fit homes.csv --target price --exclude price", 1, &["two roles: target and excluded"]),
        ("fit homes.csv --target price,price", 1, &["homes.csv: two columns are called \"price\""]),
        ("fit homes.csv --target price --exclude area,rooms,town", 1, &["no column is left to predict from"]),
        ("fit homes.csv --target town --task regression", 1, &["the target \"town\" holds text"]),
        ("fit bare.csv --target y", 1, &["column \"y\" not found; there are \"c1\", \"c2\", by position"]),
        ("fit homes.csv --target price --delimiter é", 1, &["not delimited by that character"]),
    ];
    expect(&f, cases);
}

/// A table of `a` and other columns, whose cells are a function of the row.
fn rows(header: &str, n: usize, cells: impl Fn(usize) -> String) -> String {
    (0..n).fold(format!("a,{header}\n"), |text, i| text + &format!("{},{}\n", i * 37 % 60, cells(i)))
}

#[test]
fn targets_of_every_task() {
    let f = Folder::new("bad-targets");
    let yes = |i: usize| if i * 37 % 60 > 30 { "yes" } else { "no" };
    let size = |i: usize| ["small", "medium", "large"][i * 37 % 60 / 20];
    f.write("classes.csv", rows("y", 60, |i| yes(i).to_owned())).write("one.csv", rows("y", 60, |_| "yes".to_owned()));
    f.write("ones.csv", rows("y", 60, |_| "1".to_owned())).write("sizes.csv", rows("y", 60, |i| size(i).to_owned()));
    f.write("names.csv", rows("y", 300, |i| format!("name {i}")));
    f.write("halves.csv", rows("y", 60, |i| (0.5 * i as f64).to_string()));
    f.write("below.csv", rows("y", 60, |i| (i as f64 - 3.0).to_string()));
    f.write("counts.csv", rows("t,y", 60, |i| format!("{},{}", size(i), i * 37 % 60 / 3)));
    let cases: &[Case] = &[
        ("fit one.csv", 1, &["the target \"y\" is always \"yes\": there is nothing to tell apart"]),
        ("fit ones.csv --task classes", 1, &["the target \"y\" is always \"1\""]),
        ("fit ones.csv --task ordinal", 1, &["the target \"y\" is always \"1\""]),
        ("fit names.csv", 1, &["\"y\" has 300 different texts, such as \"name 0\"; at most 100 classes"]),
        ("fit names.csv --task ordinal", 1, &["\"y\" has 300 different texts"]),
        ("fit classes.csv --positive maybe", 1, &["the target \"y\" is never \"maybe\"; it is \"no\", \"yes\""]),
        ("fit sizes.csv --positive small", 1, &["'positive' is for two classes, and the target \"y\" has 3"]),
        ("fit counts.csv --positive 3", 1, &["'positive' is for two classes, and the target \"y\" has 20"]),
        ("fit sizes.csv --levels small,medium", 1, &["\"y\" is \"large\" in 20 rows, which is not among the levels"]),
        ("fit sizes.csv --levels small,medium,small,large", 1, &["the level \"small\" of \"y\" is listed twice"]),
        ("fit sizes.csv --task ordinal", 1, &["the levels of \"y\" have no order", "\"large\", \"medium\", \"small\""]),
        ("fit sizes.csv --task regression", 1, &["sizes.csv, line 2: the target \"y\" holds text, such as \"small\""]),
        ("fit sizes.csv --task counts", 1, &["sizes.csv, line 2: the target \"y\" holds text"]),
        ("fit halves.csv --task counts", 1, &["the target \"y\" is 0.5 in", "counts are whole numbers from 0 on"]),
        ("fit below.csv --task counts", 1, &["the target \"y\" is -3 in", "counts are whole numbers from 0 on"]),
        ("fit halves.csv --task classes", 0, &[]),
        ("fit counts.csv --target y,t", 1, &["only if all are numbers, and \"t\" is not; fit one at a time"]),
        ("fit counts.csv --target a,y --task counts", 1, &["fit one at a time"]),
        ("fit halves.csv --likelihood probit", 1, &["the likelihood probit is not for numbers", "\"y\"", "student-t"]),
        ("fit classes.csv --likelihood gamma", 1, &["the likelihood gamma is not for two classes", "probit, logit"]),
        ("fit sizes.csv --likelihood probit", 1, &["the likelihood probit is not for 3 classes", "softmax"]),
        ("fit counts.csv --likelihood beta", 1, &["the likelihood beta is not for counts", "negative-binomial"]),
        ("fit below.csv --likelihood gamma", 1, &["\"y\" holds -3, and the likelihood gamma is for numbers above 0"]),
        ("fit halves.csv --likelihood gamma", 1, &["\"y\" holds 0, and the likelihood gamma is for numbers above 0"]),
        ("fit halves.csv --likelihood beta", 1, &["\"y\" holds 0, and the likelihood beta", "between 0 and 1"]),
        (
            "fit counts.csv --target a,y --likelihood varying-gaussian",
            1,
            &["the likelihood varying-gaussian is for a single target; fit one at a time"],
        ),
        ("fit classes.csv --transform log", 1, &["a transform is for numbers", "\"y\""]),
        ("fit sizes.csv --transform ranks", 1, &["a transform is for numbers", "\"y\""]),
        ("fit counts.csv --transform yeo-johnson", 1, &["a transform is for numbers", "\"y\""]),
        ("fit below.csv --task percent", 2, &[]),
        ("fit below.csv --likelihood magic", 2, &[]),
    ];
    let (refused, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|(_, _, pieces)| !pieces.is_empty());
    expect(&f, &refused.into_iter().copied().collect::<Vec<Case>>());
    for (line, code, _) in others {
        let done = f.run(&format!("{line} --quiet {QUICK}"));
        assert!(done.code == *code && !done.err.contains("panicked"), "{done:#?}");
        let _ = std::fs::remove_file(f.path("model.deepgp"));
    }
}

#[test]
fn columns_that_say_more_of_rows() {
    let f = Folder::new("bad-roles");
    for (name, cell) in [("zero", "0"), ("minus", "-2"), ("gone", ""), ("word", "x"), ("endless", "inf")] {
        let role = |i: usize| if i == 4 { cell.to_owned() } else { (1 + i % 5).to_string() };
        f.write(&format!("{name}.csv"), rows("e,y", 60, |i| format!("{},{}", role(i), i * 37 % 60 / 3)));
    }
    f.write("none.csv", rows("w,y", 60, |i| format!("0,{i}")));
    let high = |i: usize| if i == 7 { 3.0 } else { 1.5 * i as f64 + 1.0 };
    let mark = |i: usize| if i == 5 { "perhaps" } else { "" };
    f.write(
        "bounds.csv",
        rows("mark,low,high,y", 60, |i| format!("{},{},{},{}", mark(i), 1.5 * i as f64, high(i), 1.5 * i as f64)),
    );
    f.write("open.csv", rows("low,high,y", 60, |_| ",,".to_owned()));
    f.write(
        "days.csv",
        rows("day,who,y", 60, |i| {
            format!("{},p{},{i}", if i == 9 { "soon".into() } else { format!("2024-01-{:02}", 1 + i % 28) }, i % 4)
        }),
    );
    f.write("classes.csv", rows("e,y", 60, |i| format!("1,{}", if i % 2 == 0 { "yes" } else { "no" })));
    f.write("folds.csv", "a,e,y\n1,1,maybe\n2,1,perhaps\n").write("bare.csv", "a,e\n1,1\n");
    const EXPOSURE: &str = "is not an exposure; an exposure is a positive number";
    let cases: &[Case] = &[
        ("fit zero.csv --exposure e", 1, &["zero.csv, line 6, column \"e\": \"0\"", EXPOSURE]),
        ("fit minus.csv --exposure e", 1, &["minus.csv, line 6, column \"e\": \"-2\"", EXPOSURE]),
        ("fit gone.csv --exposure e", 1, &["gone.csv, line 6, column \"e\": \"\"", EXPOSURE]),
        ("fit word.csv --exposure e", 1, &["word.csv, line 6, column \"e\": \"x\"", "is not an exposure"]),
        ("fit endless.csv --exposure e", 1, &["endless.csv, line 6, column \"e\": \"inf\"", "is not an exposure"]),
        ("fit zero.csv --exposure days", 1, &["zero.csv: column \"days\" not found"]),
        (
            "fit minus.csv --task regression --noise-std e",
            1,
            &["minus.csv, line 6, column \"e\": \"-2\" is not a standard"],
        ),
        (
            "fit gone.csv --task regression --noise-std e",
            1,
            &["gone.csv, line 6, column \"e\": \"\" is not a standard"],
        ),
        ("fit minus.csv --weight e", 1, &["minus.csv, line 6, column \"e\": \"-2\" is not a weight"]),
        ("fit word.csv --weight e", 1, &["word.csv, line 6, column \"e\": \"x\" is not a weight"]),
        ("fit gone.csv --weight e", 1, &["gone.csv, line 6, column \"e\": \"\" is not a weight"]),
        ("fit none.csv --weight w", 1, &["none.csv: no rows with a target and a positive weight found"]),
        ("fit zero.csv --weight y --target y", 1, &["column \"y\" is asked for in two roles: target and weight"]),
        ("fit zero.csv --weight e --exposure e", 1, &["column \"e\" is asked for in two roles"]),
        ("fit zero.csv --weight e --features a,e", 1, &["column \"e\" is asked for in two roles"]),
        // What would say nothing is not passed over.
        ("fit zero.csv --task regression --exposure e", 1, &["line 6, column \"e\": \"0\""]),
        ("fit classes.csv --exposure e", 1, &["'exposure' is for counts", "\"y\" is predicted otherwise"]),
        ("fit classes.csv --noise-std e", 1, &["'noise-std' is for a single number", "\"y\" is predicted otherwise"]),
        ("fit classes.csv --target y --censored e", 1, &["classes.csv, line 2", "holds text"]),
        ("fit bounds.csv --lower low --upper high --task counts --exclude mark", 1, &["line 9: the lower bound 10.5"]),
        (
            "fit bounds.csv --lower low --upper high",
            1,
            &["bounds.csv, line 9", "the lower bound 10.5 (column \"low\")", "\"high\""],
        ),
        (
            "fit bounds.csv --lower low --task regression",
            1,
            &["'lower' is for numbers, some of them known within bounds"],
        ),
        (
            "fit bounds.csv --censored mark",
            1,
            &["bounds.csv, line 7, column \"mark\": \"perhaps\" is not a mark of censoring"],
        ),
        ("fit bounds.csv --censored mark --lower low", 1, &["column \"mark\" is asked for in two roles"]),
        ("fit bounds.csv --target y,low --censored mark", 1, &["a mark of censoring needs a single target"]),
        ("fit bounds.csv --task censored", 1, &["for bounds of \"y\", name the column"]),
        ("fit open.csv --lower low --upper high", 1, &["open.csv: no rows with a target found"]),
        ("fit days.csv --time-column day", 1, &["days.csv, line 11, column \"day\": \"soon\""]),
        (
            "fit days.csv --group whose --exclude day",
            1,
            &["column \"whose\" not found; there are \"a\", \"day\", \"who\""],
        ),
        ("fit days.csv --keep whom --exclude day", 1, &["column \"whom\" not found"]),
        ("fit classes.csv --valid nowhere.csv", 1, &["nowhere.csv: No such file"]),
        ("fit classes.csv --valid bare.csv", 1, &["bare.csv: column \"y\" not found"]),
        ("fit classes.csv --valid folds.csv", 1, &["folds.csv: no rows with a target found"]),
    ];
    expect(&f, cases);
}

#[test]
fn tables_that_a_model_of_a_task_cannot_take() {
    let f = Folder::new("bad-task-tables");
    let count = |i: usize| (i * 37 % 60 / 3).to_string();
    f.write("counts.csv", rows("e,y", 60, |i| format!("{},{}", 1 + i % 5, count(i))));
    f.write("classes.csv", rows("y", 60, |i| if i * 37 % 60 > 30 { "yes" } else { "no" }.to_owned()));
    f.write("late.csv", rows("mark,y", 60, |i| format!("{},{}", if i % 4 == 0 { ">" } else { "" }, 1.5 * i as f64)));
    f.run(&format!("fit counts.csv --exposure e --out counts.deepgp --quiet {QUICK}")).ok();
    f.run(&format!("fit classes.csv --out classes.deepgp --quiet {QUICK}")).ok();
    f.run(&format!("fit late.csv --censored mark --out late.deepgp --quiet {QUICK}")).ok();
    f.write("below.csv", "a,e,y\n1,1,2\n2,1,\n3,1,-4\n").write("half.csv", "a,e,y\n1,1,2\n2,1,2.5\n");
    f.write("idle.csv", "a,e,y\n1,1,2\n2,0,3\n").write("blank.csv", "a,e,y\n1,,2\n").write("gone.csv", "a,y\n1,\n2,\n");
    f.write("others.csv", "a,y\n1,maybe\n2,never\n").write("unmarked.csv", "a,y\n1,2\n");
    f.write("odd.csv", "a,mark,y\n1,,2\n2,often,3\n");
    let cases: &[Case] = &[
        ("score counts.deepgp below.csv", 1, &["below.csv, data row 3, column \"y\"", "-4", "at least 0"]),
        ("predict counts.deepgp below.csv --log-density -o p.csv", 1, &["below.csv, data row 3, column \"y\"", "-4"]),
        ("score counts.deepgp half.csv", 1, &["half.csv, data row 2, column \"y\"", "2.5", "a whole number"]),
        ("report counts.deepgp half.csv -o page.html", 1, &["half.csv, data row 2, column \"y\"", "2.5"]),
        ("predict counts.deepgp idle.csv -o p.csv", 1, &["idle.csv, line 3, column \"e\": \"0\" is not an exposure"]),
        ("score counts.deepgp blank.csv", 1, &["blank.csv, line 2, column \"e\": \"\" is not an exposure"]),
        ("score classes.deepgp gone.csv", 1, &["gone.csv: no rows with a target found"]),
        ("score classes.deepgp others.csv", 1, &["others.csv: no rows with a target found"]),
        ("report classes.deepgp others.csv -o page.html", 1, &["others.csv: no rows with a target found"]),
        ("score classes.deepgp late.deepgp", 1, &["late.deepgp: this is a deepgp model"]),
        ("score late.deepgp unmarked.csv", 1, &["unmarked.csv: column \"mark\" not found"]),
        ("score late.deepgp odd.csv", 1, &["odd.csv, line 3, column \"mark\": \"often\" is not a mark of censoring"]),
    ];
    expect(&f, cases);
    f.run("predict late.deepgp unmarked.csv").ok();
}

#[test]
fn standard_input_is_no_better() {
    let f = Folder::new("bad-stdin");
    for (input, piece) in
        [("", "standard input: no header found"), ("a,y\n1,2\n3\n", "standard input, line 3: 1 fields")]
    {
        let done = f.run_with(&format!("fit - --quiet {QUICK}"), input);
        assert!(done.code == 1 && done.complaint().contains(piece), "{done:#?}");
    }
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn settings_that_cannot_be() {
    let f = Folder::new("bad-settings");
    f.write("homes.csv", homes(60));
    f.write("syntax.toml", "hidden = \n").write("key.toml", "target = \"price\"\nhiden = 2\n");
    f.write("type.toml", "target = \"price\"\nlr = \"fast\"\n").write("two.toml", "epochs = 3\ntime = \"5s\"\n");
    f.write("latin.toml", b"target = \"\xe9\"\n").write("alpha.toml", "target = \"price\"\nalpha = 2\n");
    let cases: &[Case] = &[
        ("fit", 2, &["no table is named"]),
        ("fit homes.csv --alpha 0", 2, &["--alpha must lie in (0, 1], not 0"]),
        ("fit homes.csv --alpha nan", 2, &["--alpha must lie in (0, 1]"]),
        ("fit homes.csv --lr -1", 2, &["--lr must be positive"]),
        ("fit homes.csv --valid 1", 2, &["--valid must lie between 0 and 0.9"]),
        ("fit homes.csv --damping 7", 2, &["--damping must lie in (0, 1]"]),
        ("fit homes.csv --seed 18446744073709551615", 2, &["--seed must be at most 9223372036854775807"]),
        ("fit homes.csv --threads 0", 2, &["--threads must be at least 1"]),
        ("fit homes.csv --threads 2000", 2, &["--threads must be at most 1024, not 2000"]),
        ("fit homes.csv --config missing.toml", 1, &["cannot read missing.toml: No such file"]),
        ("fit homes.csv --config latin.toml", 1, &["cannot read latin.toml"]),
        ("fit homes.csv --config syntax.toml", 2, &["syntax.toml, line 1: "]),
        ("fit homes.csv --config key.toml", 2, &["key.toml, line 2: unknown setting 'hiden'; did you mean 'hidden'?"]),
        ("fit homes.csv --config type.toml", 2, &["type.toml, line 2: lr: invalid type: string"]),
        ("fit homes.csv --config two.toml", 2, &["'epochs' and 'time' cannot both"]),
        ("fit homes.csv --config alpha.toml", 2, &["--alpha must lie in (0, 1], not 2"]),
    ];
    expect(&f, cases);
    // What the parser of arguments finds takes a few lines, and the same code.
    for line in [
        "fit homes.csv --hidden two",
        "fit homes.csv --hidden 2,0",
        "fit homes.csv --engine magic",
        "fit homes.csv --kernel cubic",
        "fit homes.csv --iters many",
        "fit homes.csv --iters 5 --epochs 5",
        "fit homes.csv --epochs 5 --time 5s",
        "fit homes.csv --time soon",
        "fit homes.csv --batch -3",
        "fit homes.csv --target a,,b",
        "fit homes.csv --header perhaps",
        "fit homes.csv --delimiter ab",
        "fit homes.csv --resume x --config key.toml",
        "fit homes.csv --no-such-option",
        "predict",
        "predict model.deepgp",
        "score model.deepgp",
        "completions powershel",
        "paint",
    ] {
        let done = f.run(line);
        assert!(done.code == 2 && done.err.starts_with("error: ") && done.out.is_empty(), "{done:#?}");
    }
    assert!(!f.path("model.deepgp").exists());
}

#[test]
fn models_and_tables_that_do_not_fit() {
    let f = with_model("bad-models");
    let model = std::fs::read(f.path("model.deepgp")).expect("a model");
    f.write("cut.deepgp", &model[..model.len() / 2]).write("empty.deepgp", "");
    let mut changed = model.clone();
    changed[model.len() / 2] ^= 1;
    f.write("changed.deepgp", &changed);
    let mut newer = model.clone();
    newer[12] = 99;
    f.write("newer.deepgp", &newer);
    f.write("less.csv", "area,town\n60,Ulm\n").write("misspelt.csv", "aera,rooms,town\n60,2,Ulm\n");
    f.write("text.csv", "area,rooms,town\n60,2,Ulm\nlarge,2,Ulm\n").write("header.csv", "area,rooms,town,price\n");
    f.write("unpriced.csv", "area,rooms,town,price\n60,2,Ulm,\n")
        .write("wordy.csv", "area,rooms,town,price\n60,2,Ulm,dear\n");
    f.write("ragged.csv", "area,rooms,town\n60,2,Ulm\n60,2\n").write("empty.csv", "");
    f.write("late.csv", homes(20_000) + "60,x,Ulm,3\n");
    std::fs::create_dir(f.path("folder")).expect("a folder");
    f.write("file", "");
    let cases: &[Case] = &[
        ("predict missing.deepgp homes.csv", 1, &["cannot read missing.deepgp: No such file"]),
        ("predict homes.csv homes.csv", 1, &["homes.csv: this is not a deepgp file"]),
        ("show homes.csv", 1, &["homes.csv: this is not a deepgp file"]),
        ("score homes.csv homes.csv", 1, &["homes.csv: this is not a deepgp file"]),
        ("report homes.csv homes.csv", 1, &["homes.csv: this is not a deepgp file"]),
        ("show folder", 1, &["folder", "irectory"]),
        ("show cut.deepgp", 1, &["cut.deepgp: the file is truncated"]),
        ("show empty.deepgp", 1, &["empty.deepgp: "]),
        ("show changed.deepgp", 1, &["changed.deepgp: the file is damaged"]),
        ("show newer.deepgp", 1, &["newer.deepgp: the file has format 99"]),
        ("predict model.deepgp model.deepgp", 1, &["model.deepgp: this is a deepgp model"]),
        ("fit model.deepgp", 1, &["model.deepgp: this is a deepgp model"]),
        ("predict model.deepgp less.csv", 1, &["less.csv: column \"rooms\" not found"]),
        ("predict model.deepgp misspelt.csv", 1, &["column \"area\" not found; did you mean \"aera\"?"]),
        ("predict model.deepgp homes.csv --threads 0", 2, &["--threads must be at least 1"]),
        ("predict model.deepgp text.csv -o out.csv", 1, &["text.csv, line 3, column \"area\": \"large\"", "numbers"]),
        ("predict model.deepgp ragged.csv -o out.csv", 1, &["ragged.csv, line 3: 2 fields"]),
        ("predict model.deepgp late.csv -o out.csv", 1, &["late.csv, line 20002, column \"rooms\": \"x\""]),
        ("predict model.deepgp header.csv -o out.csv", 1, &["header.csv: no rows below the header"]),
        ("predict model.deepgp empty.csv -o out.csv", 1, &["empty.csv: no header found"]),
        ("predict model.deepgp missing.csv -o out.csv", 1, &["missing.csv: No such file"]),
        ("predict model.deepgp less.csv -o out.csv --log-density", 1, &["not found"]),
        ("predict model.deepgp homes.csv --interval 1", 2, &["--interval must lie between 0 and 1, not 1"]),
        ("predict model.deepgp homes.csv -o folder", 1, &["cannot write folder", "irectory"]),
        ("predict model.deepgp homes.csv -o nowhere/out.csv", 1, &["cannot write nowhere/out.csv", "No such file"]),
        ("score model.deepgp text.csv", 1, &["text.csv: column \"price\" not found"]),
        ("score model.deepgp unpriced.csv", 1, &["unpriced.csv: no rows with a target"]),
        ("score model.deepgp wordy.csv", 1, &["wordy.csv, line 2, column \"price\": \"dear\""]),
        ("score model.deepgp folder", 1, &["folder: ", "irectory"]),
        ("report model.deepgp text.csv -o page.html", 1, &["column \"price\" not found"]),
        ("report model.deepgp homes.csv -o nowhere/page.html", 1, &["cannot write nowhere/page.html"]),
        ("report model.deepgp homes.csv -o folder", 1, &["cannot write folder"]),
        ("fit homes.csv --out nowhere/m.deepgp", 1, &["cannot write nowhere/m.deepgp: there is no folder nowhere"]),
        ("fit homes.csv --out folder", 1, &["cannot write folder: it is a folder"]),
        ("fit homes.csv --out homes.csv", 1, &["homes.csv exists and is no model"]),
        ("fit --resume", 1, &["there is no checkpoint model.deepgp.checkpoint"]),
        ("fit --resume homes.csv", 1, &["homes.csv: this is not a deepgp file"]),
        ("fit --resume homes.csv --seed 3", 2, &["--resume takes --seed from the checkpoint"]),
    ];
    expect(&f, cases);
    let done = f.run("fit --resume model.deepgp --quiet");
    assert!(done.code == 1 && done.complaint().contains("this is a model file, not a checkpoint"), "{done:#?}");
    let done = f.run("report model.deepgp homes.csv -o page.html --figures file --quiet");
    assert!(done.code == 1 && done.complaint().contains("cannot make the folder file"), "{done:#?}");
}

#[test]
fn full_disks() {
    if !exists("/dev/full") {
        return;
    }
    let f = with_model("full");
    let before = f.names();
    for line in [
        "predict model.deepgp homes.csv -o /dev/full".to_owned(),
        "report model.deepgp homes.csv -o /dev/full".to_owned(),
        format!("fit homes.csv --out /dev/full {QUICK}"),
    ] {
        let done = f.run(&format!("{line} --quiet"));
        let complaint = done.complaint();
        assert!(done.code == 1 && complaint.contains("/dev/full") && complaint.contains("space"), "{done:#?}");
    }
    for line in ["predict model.deepgp homes.csv", "score model.deepgp homes.csv", "show model.deepgp", "man"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let done = f.command(line).stdout(full).output().expect("the command");
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(1) && err.contains("space") && err.lines().count() == 1, "{line}: {err}");
    }
    assert_eq!(f.names(), before);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let f = with_model("names");
    let odd = std::ffi::OsStr::from_bytes(b"h\xff.csv");
    std::fs::write(f.0.join(odd), homes(60)).expect("written");
    let fit = f.command("fit --quiet").arg(odd).output().expect("the command");
    let err = String::from_utf8_lossy(&fit.stderr);
    assert!(fit.status.code() == Some(2) && err.contains("is not UTF-8") && err.lines().count() == 1, "{err}");
    for line in ["predict model.deepgp --json -o out.csv", "score model.deepgp --json", "report model.deepgp --json"] {
        let done = f.command(line).arg(odd).output().expect("the command");
        assert_eq!(done.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_touched() {
    use std::os::unix::fs::PermissionsExt;
    if is_root() {
        return;
    }
    let f = with_model("permissions");
    f.write("secret.csv", homes(60));
    let forbid = |name: &str, mode| {
        std::fs::set_permissions(f.path(name), std::fs::Permissions::from_mode(mode)).expect("permissions");
    };
    forbid("secret.csv", 0o000);
    forbid("model.deepgp", 0o444);
    for (line, piece) in [
        (format!("fit secret.csv {QUICK} --out other.deepgp"), "secret.csv: Permission denied"),
        (format!("fit homes.csv {QUICK}"), "model.deepgp"),
    ] {
        let done = f.run(&format!("{line} --quiet"));
        assert!(done.code == 1 && done.complaint().contains(piece), "{done:#?}");
    }
}

#[test]
fn strange_tables_are_fine() {
    let f = Folder::new("strange");
    let rows = |row: fn(usize) -> String| (0..60).map(row).collect::<String>();
    f.write(
        "extreme.csv",
        "a,b,y\n".to_owned() + &rows(|i| format!("{},{},{}\n", if i % 2 == 0 { "1e308" } else { "-1e308" }, i, i * i)),
    );
    f.write("tiny.csv", "a,y\n".to_owned() + &rows(|i| format!("{i}e-300,{i}e-305\n")));
    f.write("flat.csv", "a,y\n".to_owned() + &rows(|i| format!("{i},5\n")));
    f.write("spaced.csv", "a name,\"the, target\"\n".to_owned() + &rows(|i| format!("{i},{}\n", i % 7)));
    f.write("few.csv", "a,y\n1,2\n3,4\n5,7\n");
    f.write("bom.csv", "\u{feff}a,y\r\n".to_owned() + &rows(|i| format!("{i},{}\r\n", i % 5)));
    let header: String = (0..10_000).map(|j| format!("x{j},")).collect();
    let line =
        |i: usize| (0..10_000).map(|j| format!("{},", (i * (j + 1)) % 11)).collect::<String>() + &format!("{i}\n");
    f.write("wide.csv", header + "y\n" + &(0..20).map(line).collect::<String>());
    for name in ["extreme", "tiny", "flat", "spaced", "few", "bom", "wide"] {
        let steps = if name == "wide" { "--inducing 3 --iters 2 --batch 5" } else { QUICK };
        f.run(&format!("fit {name}.csv --out {name}.deepgp --quiet {steps}")).ok();
        f.run(&format!("score {name}.deepgp {name}.csv")).ok();
        f.run(&format!("predict {name}.deepgp {name}.csv -o {name}.out")).ok();
    }
    assert!(f.read("spaced.out").starts_with("row,\"the, target_label\","));
}

/// A target that no number holds once it is standardised, behind a row without one.
#[test]
fn targets_that_become_too_large_are_told_by_their_row() {
    let f = Folder::new("large-targets");
    let rows: String = (0..60).map(|i| format!("{},{}\n", i, f64::from(i % 7) * 1e-3)).collect();
    f.write("small.csv", format!("x,y\n{rows}")).write("large.csv", "x,y\n1,\n2,1e308\n3,0.001\n");
    f.run(&format!("fit small.csv --quiet {QUICK}")).ok();
    for line in ["score model.deepgp large.csv", "predict model.deepgp large.csv --log-density -o out.csv"] {
        let run = f.run(line);
        assert_eq!(run.code, 1, "{line}: {run:#?}");
        assert!(
            run.complaint().contains("large.csv, data row 2, column \"y\": the computation overflows: "),
            "{run:#?}"
        );
        assert!(!f.path("out.csv").exists());
    }
}
