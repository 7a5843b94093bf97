//! Every task from a table to a report: fit, predict, score, show, report, and what must hold of what they say.

mod common;

use common::{Done, Folder};
use serde_json::Value;

/// Options of one network that is trained in no time and learns what there is.
const GP: &str = "--hidden 0 --inducing 15 --iters 200 --batch 60 --lr 0.03 --valid 0";

/// A number from −1 to 1 that looks random: number `k` of row `i`.
fn uniform(i: usize, k: usize) -> f64 {
    let mut bits =
        (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (k as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// What targets follow: from about −2.5 to 2.5.
fn signal(i: usize) -> f64 {
    1.5 * uniform(i, 0) + (3.0 * uniform(i, 1)).sin() + 0.2 * uniform(i, 2)
}

/// About normal noise of deviation 1.
fn noise(i: usize) -> f64 {
    (3..15).map(|k| uniform(i, k)).sum::<f64>() / 2.0
}

/// A table of two inputs and other columns, which a name and a cell of each row say.
fn table(rows: usize, more: &[(&str, &dyn Fn(usize) -> String)]) -> String {
    let names: String = more.iter().map(|(name, _)| format!(",{name}")).collect();
    let row = |i: usize| {
        let cells: String = more.iter().map(|(_, cell)| format!(",{}", cell(i))).collect();
        format!("{:.6},{:.6}{cells}\n", uniform(i, 0), uniform(i, 1))
    };
    format!("a,b{names}\n{}", (0..rows).map(row).collect::<String>())
}

/// A text table by columns.
struct Columns(Vec<(String, Vec<String>)>);

impl Columns {
    fn of(text: &str) -> Self {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<String>>());
        let names = lines.next().expect("a header");
        let mut columns: Vec<(String, Vec<String>)> = names.into_iter().map(|name| (name, Vec::new())).collect();
        for line in lines {
            assert_eq!(line.len(), columns.len(), "{line:?}");
            columns.iter_mut().zip(line).for_each(|((_, column), cell)| column.push(cell));
        }
        Self(columns)
    }

    #[track_caller]
    fn texts(&self, name: &str) -> &[String] {
        let found = self.0.iter().find(|(other, _)| other == name);
        &found.unwrap_or_else(|| panic!("no {name} among {:?}", self.names())).1
    }

    #[track_caller]
    fn numbers(&self, name: &str) -> Vec<f64> {
        let number = |cell: &String| cell.parse().unwrap_or_else(|_| panic!("{name}: {cell:?}"));
        self.texts(name).iter().map(number).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

#[track_caller]
fn close(found: &Value, expected: f64) {
    let number = found.as_f64().unwrap_or_else(|| panic!("{found}"));
    assert!((number - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{number} is not {expected}");
}

/// A fitted model and what every command says of it and of the table it was fitted to, all of which went well.
struct Session {
    folder: Folder,
    /// What fitting said.
    fit: Done,
    /// The table.
    table: Columns,
    /// Predictions with the log probability of the targets.
    predictions: Columns,
    /// Scores on the table.
    score: Value,
    show: String,
}

/// Fits a table, of which `y` is the target, and goes through all commands.
fn session(name: &str, text: &str, options: &str) -> Session {
    let folder = Folder::new(name);
    folder.write("t.csv", text);
    let fit = folder.run(&format!("fit t.csv --target y {options}")).ok();
    assert_eq!(folder.names(), ["model.deepgp", "t.csv"], "{fit:#?}");
    let predict = folder.run("predict model.deepgp t.csv --log-density").ok();
    let (predictions, table) = (Columns::of(&predict.out), Columns::of(text));
    assert_eq!(predictions.texts("row").len(), table.0[0].1.len());
    // JSON says the same.
    let json = folder.run("predict model.deepgp t.csv --log-density --json").ok().json();
    for (name, column) in &predictions.0 {
        for (row, cell) in column.iter().enumerate() {
            let same = match &json["predictions"][row][name] {
                Value::Number(number) => cell.parse::<f64>().is_ok_and(|cell| Some(cell) == number.as_f64()),
                Value::String(text) => text == cell,
                other => cell.is_empty() && other.is_null(),
            };
            assert!(same, "{name} of row {row}: {cell} and {}", json["predictions"][row][name]);
        }
    }
    // Without the target, and in another order, predictions are the same but for what is said of the target.
    let names: Vec<&str> =
        table.names().into_iter().rev().filter(|n| !["y", "low", "high", "seen"].contains(n)).collect();
    let lines = (0..table.0[0].1.len()).map(|row| {
        let cells: Vec<&str> = names.iter().map(|name| table.texts(name)[row].as_str()).collect();
        cells.join(",") + "\n"
    });
    folder.write("bare.csv", format!("{}\n{}", names.join(","), lines.collect::<String>()));
    let bare = Columns::of(&folder.run("predict model.deepgp bare.csv").ok().out);
    for (name, column) in &bare.0 {
        assert_eq!(column, predictions.texts(name), "{name}");
    }
    assert_eq!(bare.0.len() + 1, predictions.0.len(), "{:?}", predictions.names());
    let score = folder.run("score model.deepgp t.csv --json").ok().json();
    let constant = &score["baselines"]["constant"];
    assert_eq!((&score["rows"], &constant["rows"]), (&table.0[0].1.len().into(), &table.0[0].1.len().into()));
    let words = folder.run("score model.deepgp t.csv").ok().out;
    assert!(words.contains("constant") && words.contains("linear"), "{words}");
    let show = folder.run("show model.deepgp").ok().out;
    let described = folder.run("show model.deepgp --json").ok().json();
    assert_eq!(described["targets"][0], "y");
    let report = folder.run("report model.deepgp t.csv --figures figures --json").ok().json();
    assert_eq!(report["scores"]["mean_log_density"], score["mean_log_density"]);
    assert!(report["figures"].as_array().is_some_and(|all| !all.is_empty()), "{report}");
    let page = folder.read("report.html");
    assert!(page.ends_with("</html>\n") || page.ends_with("</html>"), "{}", &page[page.len().saturating_sub(80)..]);
    assert!(!page.contains("NaN") && !page.contains("<script"), "{report}");
    Session { folder, fit, table, predictions, score, show }
}

impl Session {
    /// The notice about the target.
    #[track_caller]
    fn notice(&self, pieces: &[&str]) {
        let lines: Vec<&str> = self.fit.err.lines().filter(|line| line.contains("the target \"y\" holds")).collect();
        assert!(lines.len() == 1 && pieces.iter().all(|piece| lines[0].contains(piece)), "{pieces:?}: {:#?}", self.fit);
    }

    /// How many nats a row the model gains on the constant, which must be so many.
    #[track_caller]
    fn gains(&self, least: f64) {
        let of = |scores: &Value| scores["mean_log_density"].as_f64().unwrap_or_else(|| panic!("{scores:#}"));
        let (model, constant) = (of(&self.score), of(&self.score["baselines"]["constant"]));
        assert!(model > constant + least, "{model} after {constant}: {:#?}", self.fit);
    }

    /// What is said of labels: probabilities are some, the label is the most probable one, and scores are those of the
    /// predictions. The probability of each row's own label.
    fn check_labels(&self, levels: &[&str]) -> Vec<f64> {
        let columns: Vec<Vec<f64>> =
            levels.iter().map(|level| self.predictions.numbers(&format!("y_p_{level}"))).collect();
        let (label, log_p) = (self.predictions.texts("y_label"), self.predictions.numbers("log_probability"));
        let (mut wrong, mut brier, mut own) = (0, 0.0, Vec::new());
        for (row, y) in self.table.texts("y").iter().enumerate() {
            let p: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{row}: {p:?}");
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{row}: {p:?}");
            let best = (0..p.len()).max_by(|i, j| p[*i].total_cmp(&p[*j]).then(j.cmp(i))).expect("a label");
            assert_eq!(label[row], levels[best], "{p:?}");
            let k = levels.iter().position(|level| level == y).unwrap_or_else(|| panic!("{y} among {levels:?}"));
            assert!(
                (log_p[row] - p[k].ln()).abs() < 1e-6 * (1.0 + log_p[row].abs()),
                "{row}: {} {}",
                log_p[row],
                p[k].ln()
            );
            wrong += usize::from(best != k);
            let distance: f64 = p.iter().enumerate().map(|(j, p)| (p - f64::from(u8::from(j == k))).powi(2)).sum();
            brier += if p.len() == 2 { 0.5 * distance } else { distance };
            own.push(p[k]);
        }
        let n = own.len() as f64;
        close(&self.score["mean_log_density"], mean(log_p));
        close(&self.score["error_rate"], wrong as f64 / n);
        close(&self.score["brier"], brier / n);
        let confusion = self.score["confusion"].as_array().expect("rows");
        let counts =
            confusion.iter().flat_map(|row| row.as_array().expect("a row")).map(|n| n.as_u64().expect("a count"));
        assert_eq!((confusion.len(), counts.sum::<u64>()), (levels.len(), own.len() as u64));
        own
    }

    /// What is said of numbers with an order: intervals are in order and hold what they should, and errors are those of
    /// the means.
    fn check_numbers(&self, is_whole: bool) {
        self.check_weighted_numbers(is_whole, |_| 1.0);
    }

    /// The same where each row counts as so many.
    fn check_weighted_numbers(&self, is_whole: bool, weight: impl Fn(usize) -> f64) {
        let [mean_, std, lower, upper] =
            ["mean", "std", "lower", "upper"].map(|what| self.predictions.numbers(&format!("y_{what}")));
        let y = self.table.numbers("y");
        for row in 0..y.len() {
            assert!(lower[row] <= upper[row] && std[row] > 0.0, "{row}: {} {} {}", lower[row], upper[row], std[row]);
            assert!(
                !is_whole || (lower[row].fract() == 0.0 && upper[row].fract() == 0.0),
                "{} {}",
                lower[row],
                upper[row]
            );
        }
        let inside = |row: usize| f64::from(u8::from(lower[row] <= y[row] && y[row] <= upper[row]));
        let total: f64 = (0..y.len()).map(&weight).sum();
        let mean =
            |of_row: &dyn Fn(usize) -> f64| (0..y.len()).map(|row| weight(row) * of_row(row)).sum::<f64>() / total;
        let error = |row: usize| mean_[row] - y[row];
        close(&self.score["coverage_95"], mean(&inside));
        close(&self.score["rmse"], mean(&|row| error(row).powi(2)).sqrt());
        close(&self.score["mae"], mean(&|row| error(row).abs()));
    }
}

const TWO: fn(usize) -> bool = |i| signal(i) > 0.4;

#[test]
fn two_classes_as_text() {
    let rows = 120;
    let s = session("two-text", &table(rows, &[("y", &|i| if TWO(i) { "sick" } else { "well" }.to_owned())]), GP);
    s.notice(&[
        "\"sick\" (",
        "\"well\" (",
        "predicted as two classes, \"well\" being the positive one",
        "--positive \"sick\"",
    ]);
    s.gains(0.3);
    s.check_labels(&["sick", "well"]);
    assert!(s.score["auc"].as_f64().is_some_and(|auc| auc > 0.9), "{:#}", s.score);
    assert!(s.show.contains("y, one of sick, well"), "{}", s.show);
    // The other one, and what it says of the same rows.
    let f = &s.folder;
    let fit = f.run(&format!("fit t.csv --target y --positive sick --out other.deepgp {GP}")).ok();
    assert!(fit.err.contains("\"sick\" being the positive one") && !fit.err.contains("--positive"), "{fit:#?}");
    let other = f.run("score other.deepgp t.csv --json").ok().json();
    let difference =
        other["mean_log_density"].as_f64().expect("a number") - s.score["mean_log_density"].as_f64().expect("a number");
    assert!(difference.abs() < 0.05, "{difference}");
    assert!(f.run("show other.deepgp").ok().out.contains("y, one of well, sick"));
    // Labels that training did not have are left out of scores, and have no log probability.
    let known = f.read("t.csv");
    let odd = known.lines().enumerate().map(|(i, line)| match i {
        3 | 7 => line.replace("sick", "dead").replace("well", "dead") + "\n",
        _ => format!("{line}\n"),
    });
    f.write("odd.csv", odd.collect::<String>());
    let score = f.run("score model.deepgp odd.csv --json").ok();
    assert_eq!(score.json()["rows"], rows - 2);
    assert!(score.err.contains("2 rows left out: training had no \"y\" such as \"dead\""), "{score:#?}");
    let predict = f.run("predict model.deepgp odd.csv --log-density").ok();
    let all = Columns::of(&predict.out);
    assert!(predict.err.contains("2 rows without a known target"), "{predict:#?}");
    for (row, log_p) in all.texts("log_probability").iter().enumerate() {
        assert_eq!(log_p.is_empty(), row == 2 || row == 6, "{row}: {log_p}");
    }
    assert_eq!(all.texts("y_p_sick"), s.predictions.texts("y_p_sick"));
}

#[test]
fn two_classes_as_numbers_and_as_words_for_yes() {
    for (name, no, yes) in
        [("zero-one", "0", "1"), ("boolean", "false", "true"), ("yes-no", "no", "yes"), ("capital", "False", "True")]
    {
        let text = table(100, &[("y", &|i| if TWO(i) { yes } else { no }.to_owned())]);
        let s = session(name, &text, GP);
        s.notice(&[
            "predicted as two classes",
            &format!("{yes:?} being the positive one"),
            &format!("--positive {no:?}"),
        ]);
        s.gains(0.3);
        s.check_labels(&[no, yes]);
        // What 1 and true are is no question of how they are written.
        let f = &s.folder;
        let (zero, one) = if no == "0" { ("no", "yes") } else { ("0", "1") };
        f.write("written.csv", table(100, &[("y", &|i| if TWO(i) { one } else { zero }.to_owned())]));
        let score = f.run("score model.deepgp written.csv --json").ok().json();
        assert_eq!(score["mean_log_density"], s.score["mean_log_density"], "{name}");
    }
}

#[test]
fn three_classes() {
    // Green is between the others, and blue is the only one where b is large.
    let label = |i: usize| match (uniform(i, 1) > 0.3, uniform(i, 0) + 0.1 * noise(i)) {
        (true, _) => "blue",
        (_, a) if a > 0.0 => "red",
        _ => "green",
    };
    let s = session("three", &table(120, &[("y", &|i| label(i).to_owned())]), GP);
    s.notice(&["predicted as 3 classes", "--task ordinal --levels LOWEST,…,HIGHEST if there is an order"]);
    s.gains(0.4);
    s.check_labels(&["blue", "green", "red"]);
    assert!(s.show.contains("y, one of blue, green, red") && s.show.contains("3 classes by the softmax"), "{}", s.show);
    let words = s.folder.run("score model.deepgp t.csv").ok().out;
    assert!(words.contains("predicted") && words.contains("green"), "{words}");
    // Another observation model.
    s.folder.run(&format!("fit t.csv --target y --likelihood robust-max --out other.deepgp --quiet {GP}")).ok();
    let other = s.folder.run("score other.deepgp t.csv --json").ok().json();
    assert!(other["error_rate"].as_f64().is_some_and(|error| error < 0.2), "{other:#}");
}

#[test]
fn levels_that_are_numbers() {
    let level = |i: usize| (signal(i) + 5.5).round().clamp(3.0, 8.0);
    let s = session("levels", &table(150, &[("y", &|i| level(i).to_string())]), GP);
    s.notice(&[
        "6 whole numbers from 3 to 8",
        "predicted as 6 ordered levels",
        "--task regression",
        "--task classes if there is no order",
    ]);
    s.gains(0.5);
    s.check_labels(&["3", "4", "5", "6", "7", "8"]);
    s.check_numbers(true);
    assert!(s.score["crps"].as_f64().is_some_and(|rps| rps > 0.0), "{:#}", s.score);
    assert!(s.show.contains("y, in this order 3, 4, 5, 6, 7, 8"), "{}", s.show);
    // Taken for what the notice says instead.
    let other =
        |task: &str| s.folder.run(&format!("fit t.csv --target y --task {task} --quiet --out other.deepgp {GP}")).ok();
    other("regression");
    assert!(s.folder.run("predict other.deepgp t.csv").ok().out.starts_with("row,y_mean,y_std,y_lower,y_upper\n"));
    other("classes");
    assert!(s.folder.run("predict other.deepgp t.csv").ok().out.starts_with("row,y_label,y_p_3,"));
}

#[test]
fn levels_that_are_listed() {
    const SIZES: [&str; 4] = ["small", "medium", "large", "huge"];
    let size = |i: usize| SIZES[(signal(i) + 2.0).clamp(0.0, 3.9) as usize].to_owned();
    let s = session("sizes", &table(120, &[("y", &size)]), &format!("--levels small,medium,large,huge {GP}"));
    s.notice(&["predicted as 4 ordered levels"]);
    s.gains(0.4);
    s.check_labels(&SIZES);
    let place = |text: &String| SIZES.iter().position(|size| size == text).unwrap_or_else(|| panic!("{text}"));
    let all = |what: &str| s.predictions.texts(what).iter().map(place).collect::<Vec<usize>>();
    let (lower, label, upper) = (all("y_lower"), all("y_label"), all("y_upper"));
    assert!((0..120).all(|row| lower[row] <= label[row] && label[row] <= upper[row]));
    assert!(s.show.contains("y, in this order small, medium, large, huge"), "{}", s.show);
}

#[test]
fn counts_with_an_exposure() {
    // Means are in proportion to the days.
    let days = |i: usize| 1 + (i * 7) % 30;
    let count = |i: usize| {
        let mean = days(i) as f64 * (0.7 * signal(i) - 0.5).exp();
        (mean + mean.sqrt() * noise(i)).round().max(0.0).to_string()
    };
    let text = table(150, &[("days", &|i| days(i).to_string()), ("y", &count)]);
    let s = session("counts", &text, &format!("--exposure days {GP}"));
    s.notice(&["whole numbers from 0 to", "predicted as a count", "--task regression"]);
    s.gains(0.5);
    s.check_numbers(true);
    assert!(s.show.contains("y, a count") && s.show.contains("dispersion"), "{}", s.show);
    close(&s.score["mean_log_density"], mean(s.predictions.numbers("log_probability")));
    // The deviance of the means, from their definition.
    let deviance = |(mean, y): (f64, f64)| 2.0 * (if y > 0.0 { y * (y / mean).ln() } else { 0.0 } - y + mean);
    close(
        &s.score["deviance"],
        mean(s.predictions.numbers("y_mean").into_iter().zip(s.table.numbers("y")).map(deviance)),
    );
    // Twice the exposure, twice the mean; none, one day.
    let f = &s.folder;
    f.write("twice.csv", table(150, &[("days", &|i| (2 * days(i)).to_string())]));
    f.write("once.csv", table(150, &[]));
    let twice = Columns::of(&f.run("predict model.deepgp twice.csv").ok().out).numbers("y_mean");
    let once = f.run("predict model.deepgp once.csv").ok();
    assert!(once.err.contains("there is no column \"days\": taken as 1 in every row"), "{once:#?}");
    let once = Columns::of(&once.out).numbers("y_mean");
    for (row, mean) in s.predictions.numbers("y_mean").into_iter().enumerate() {
        assert!(
            (twice[row] / mean - 2.0).abs() < 1e-6 && (mean / once[row] / days(row) as f64 - 1.0).abs() < 1e-6,
            "{row}"
        );
    }
}

#[test]
fn censored_by_a_mark_and_by_bounds() {
    const LIMIT: f64 = -0.5;
    let y = |i: usize| signal(i) + 0.2 * noise(i);
    // A third of the rows are below the limit.
    let below = |i: usize| y(i) < LIMIT;
    let marked = table(
        150,
        &[("seen", &|i| if below(i) { "<" } else { "" }.to_owned()), ("y", &|i| y(i).max(LIMIT).to_string())],
    );
    let bounded = table(
        150,
        &[
            ("low", &|i| if below(i) { String::new() } else { y(i).to_string() }),
            ("high", &|i| y(i).max(LIMIT).to_string()),
        ],
    );
    let marks = session("marked", &marked, &format!("--censored seen {GP}"));
    let bounds = session("bounded", &bounded, &format!("--lower low --upper high {GP}"));
    // They say the same.
    assert_eq!(marks.predictions.texts("y_mean"), bounds.predictions.texts("y_mean"));
    assert_eq!(marks.score["mean_log_density"], bounds.score["mean_log_density"]);
    for s in [&marks, &bounds] {
        s.gains(0.5);
        assert!(s.show.contains("y, of which some were known within bounds"), "{}", s.show);
        close(&s.score["mean_log_density"], mean(s.predictions.numbers("log_density")));
        assert!(s.score["concordance"].as_f64().is_some_and(|c| c > 0.85), "{:#}", s.score);
        // Rows that were not seen are predicted better by far than by the limit.
        let means = s.predictions.numbers("y_mean");
        let error =
            |of: &dyn Fn(usize) -> f64| mean((0..150).filter(|i| below(*i)).map(|i| (of(i) - y(i)).powi(2))).sqrt();
        let (model, limit) = (error(&|i| means[i]), error(&|_| LIMIT));
        assert!(model < 0.6 * limit, "{model} beside {limit}");
    }
    marks.notice(&["some of them known within bounds"]);
}

#[test]
fn rows_with_known_noise() {
    let std = |i: usize| 0.05 + 2.0 * uniform(i, 20).max(0.0);
    let y = |i: usize| signal(i) + std(i) * noise(i);
    let text = table(150, &[("std", &|i| std(i).to_string()), ("y", &|i| y(i).to_string())]);
    let s = session("noise", &text, &format!("--noise-std std {GP}"));
    s.gains(0.3);
    s.check_numbers(false);
    // Known noise is in the deviation of a prediction, where it is known.
    let predicted = s.predictions.numbers("y_std");
    assert!((0..150).all(|i| predicted[i] > std(i)));
    let f = &s.folder;
    f.write("once.csv", table(150, &[]));
    let quiet = f.run("predict model.deepgp once.csv").ok();
    assert!(quiet.err.contains("there is no column \"std\": taken as 0 in every row"), "{quiet:#?}");
    let sharp = Columns::of(&quiet.out).numbers("y_std");
    for (i, predicted) in predicted.into_iter().enumerate() {
        assert!((predicted.powi(2) - sharp[i].powi(2) - std(i).powi(2)).abs() < 1e-9, "{i}");
    }
}

#[test]
fn a_row_of_weight_two_is_two_rows() {
    let y = |i: usize| signal(i).to_string();
    let weight = |i: usize| 1 + i % 3;
    let weighted = table(60, &[("w", &|i| weight(i).to_string()), ("y", &y)]);
    let repeated: String = table(60, &[("y", &y)])
        .lines()
        .enumerate()
        .map(|(line, row)| format!("{row}\n").repeat(if line == 0 { 1 } else { weight(line - 1) }))
        .collect();
    // Exact for a search of GPs in closed form; a network of steps draws other minibatches.
    let s = session("weighted", &weighted, "--weight w --effort 0.02 --valid 0 --quiet");
    s.gains(0.5);
    s.check_weighted_numbers(false, |row| weight(row) as f64);
    let f = &s.folder;
    f.write("repeated.csv", repeated);
    f.run("fit repeated.csv --target y --effort 0.02 --valid 0 --out other.deepgp --quiet").ok();
    let other = Columns::of(&f.run("predict other.deepgp t.csv").ok().out);
    let (a, b) = (s.predictions.numbers("y_mean"), other.numbers("y_mean"));
    let difference = mean(a.iter().zip(&b).map(|(a, b)| (a - b).powi(2))).sqrt();
    assert!(difference < 0.1, "{difference}");
    // Rows of weight 0 are no rows at all.
    let with_none: String = weighted.lines().map(|line| format!("{line}\n")).collect::<String>() + "0.5,0.5,0,1000\n";
    f.write("none.csv", with_none);
    let fit = f.run("fit none.csv --target y --weight w --effort 0.02 --valid 0 --out none.deepgp").ok();
    assert!(fit.err.contains("1 row left out: their weight is 0"), "{fit:#?}");
    assert_eq!(f.run("predict none.deepgp t.csv").ok().out, f.run("predict model.deepgp t.csv").ok().out);
}

#[test]
fn groups_times_and_tables_are_held_out() {
    // A group's rows are alike in what no column tells.
    let y = |i: usize| (signal(i) + (i / 10) as f64).to_string();
    let day = |i: usize| format!("2024-{:02}-{:02}", 1 + i / 28 % 12, 1 + i % 28);
    let text =
        table(120, &[("who", &|i| format!("p{}", i / 10)), ("day", &day), ("id", &|i| format!("x-{i}")), ("y", &y)]);
    let f = Folder::new("held-out");
    f.write("t.csv", &text)
        .write("valid.csv", text.lines().take(31).map(|line| format!("{line}\n")).collect::<String>());
    let fit =
        |options: &str| f.run(&format!("fit t.csv --target y --json {options} {}", GP.replace(" --valid 0", ""))).ok();
    let grouped = fit("--group who --exclude day,id");
    let json = grouped.json();
    // Twelve rows are asked for; groups have ten.
    assert_eq!((&json["held_out_rows"], &json["rows"]), (&20.into(), &100.into()), "{json:#}");
    // The latest rows are predicted from earlier ones: worse than rows in between.
    let timed = fit("--time-column day --exclude who,id").json();
    let mixed = fit("--exclude who,id").json();
    let rmse = |json: &Value| json["held_out"]["rmse"].as_f64().unwrap_or_else(|| panic!("{json:#}"));
    assert_eq!(timed["held_out_rows"], 12);
    assert!(rmse(&timed) > rmse(&mixed), "{} {}", rmse(&timed), rmse(&mixed));
    // Rows of another table.
    let other = fit("--valid valid.csv --exclude who,id,day").json();
    assert_eq!((&other["held_out_rows"], &other["rows"]), (&30.into(), &120.into()), "{other:#}");
    // What is kept is carried through, is no input, and comes last.
    f.run(&format!("fit t.csv --target y --keep id,who --quiet {GP}")).ok();
    let predictions = Columns::of(&f.run("predict model.deepgp t.csv --log-density").ok().out);
    assert_eq!(predictions.names()[predictions.names().len() - 3..], ["log_density", "id", "who"]);
    assert_eq!(predictions.texts("id")[119], "x-119");
    let show = f.run("show model.deepgp --json").ok().json();
    let inputs: Vec<&str> =
        show["columns"].as_array().expect("columns").iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(inputs, ["a", "b", "day"]);
    assert_eq!(f.run("predict model.deepgp t.csv --json").ok().json()["predictions"][7]["id"], "x-7");
    let done = f.run("predict model.deepgp valid.csv");
    assert_eq!(done.code, 0, "{done:#?}");
    f.write("bare.csv", table(5, &[("day", &day)]));
    let done = f.run("predict model.deepgp bare.csv");
    assert!(done.code == 1 && done.complaint().contains("\"id\" not found"), "{done:#?}");
}

/// By the bare command: the search mixes models, whatever the target is.
#[test]
fn a_search_for_every_task() {
    let two = |i: usize| if TWO(i) { "yes" } else { "no" }.to_owned();
    let three = |i: usize| ["low", "middle", "high"][(signal(i) + 1.7).clamp(0.0, 2.0) as usize].to_owned();
    let count = |i: usize| (signal(i) + 2.5 + 0.5 * noise(i)).exp().round().to_string();
    let seen = |i: usize| if i.is_multiple_of(4) { "right" } else { "" }.to_owned();
    let late = |i: usize| (signal(i) - if i.is_multiple_of(4) { 1.0 } else { 0.0 }).to_string();
    for (name, text, options, least) in [
        ("search-two", table(90, &[("y", &two)]), "", 0.3),
        ("search-three", table(90, &[("y", &three)]), "--levels low,middle,high", 0.4),
        ("search-counts", table(90, &[("y", &count)]), "", 0.4),
        ("search-censored", table(90, &[("seen", &seen), ("y", &late)]), "--censored seen", 0.4),
    ] {
        // Every row is learnt from, and scored by models that had not seen it.
        let s = session(name, &text, &format!("{options} --effort 0.04"));
        assert!(s.fit.out.contains("90 rows, each predicted without it (4 folds)"), "{:#?}", s.fit);
        s.gains(least);
        let shown = s.folder.run("show model.deepgp --json").ok().json();
        let tried = shown["tried"].as_array().expect("a list");
        let weights: f64 = tried.iter().map(|t| t["weight"].as_f64().expect("a number")).sum();
        assert!(tried.len() >= 6 && (weights - 1.0).abs() < 1e-9, "{shown:#}");
        match name {
            "search-two" => drop(s.check_labels(&["no", "yes"])),
            "search-three" => drop(s.check_labels(&["low", "middle", "high"])),
            "search-counts" => s.check_numbers(true),
            _ => close(&s.score["mean_log_density"], mean(s.predictions.numbers("log_density"))),
        }
        // A plan is a file that gives the same model.
        let f = &s.folder;
        let plan = f.run(&format!("fit t.csv --target y {options} --effort 0.04 --out b.deepgp --dry-run")).ok();
        f.write("plan.toml", &plan.out);
        f.run("fit --config plan.toml --quiet --threads 1").ok();
        assert_eq!(f.run("predict b.deepgp t.csv").ok().out, f.run("predict model.deepgp t.csv").ok().out, "{name}");
    }
}

#[test]
fn a_weight_is_as_many_rows_in_baselines_and_scores() {
    let f = Folder::new("weights");
    let wave = |i: usize, a: f64| (a * i as f64).sin();
    let (low, high) = (|i: usize| 2.0 * wave(i, 0.7) - wave(i, 0.9) + wave(i, 2.3), |i: usize| 1 + i * i % 3);
    let of_kind = |kind: &str, i: usize| match kind {
        "number" => format!("{:.6}", low(i)),
        "label" => if low(i) > 0.4 { "yes" } else { "no" }.to_owned(),
        _ => format!("{}", (low(i) + 4.0).max(0.0).exp().floor()),
    };
    for kind in ["number", "label", "count"] {
        let (mut weighted, mut repeated) = ("a,b,w,y\n".to_owned(), "a,b,y\n".to_owned());
        for i in 0..90 {
            let (a, b, y) = (wave(i, 0.7), wave(i, 0.9), of_kind(kind, i));
            weighted += &format!("{a},{b},{},{y}\n", high(i));
            (0..high(i)).for_each(|_| repeated += &format!("{a},{b},{y}\n"));
        }
        f.write("weighted.csv", &weighted).write("repeated.csv", &repeated);
        let quick = "--target y --hidden 0 --inducing 4 --iters 5 --likelihood";
        let likelihood = match kind {
            "number" => "gaussian",
            "label" => "probit",
            _ => "poisson",
        };
        let fit = |table: &str, options: &str| {
            let command = format!("fit {table} --valid repeated.csv {quick} {likelihood} {options} --json");
            f.run(&command).ok().json()["baselines"].clone()
        };
        let (one, other) = (fit("repeated.csv", "-o other.deepgp"), fit("weighted.csv", "--weight w -o one.deepgp"));
        let near = |a: &Value, b: &Value, tolerance: f64, what: &str| {
            let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
            assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{kind}, {what}: {a} is not {b}");
        };
        let score = |name: &str| ["mean_log_density"].map(|measure| (name.to_owned(), measure));
        for (name, measure) in score("constant").into_iter().chain(score("linear")) {
            // The folds that choose a penalty of labels and counts are others.
            let tolerance = if kind == "number" || name == "constant" { 1e-5 } else { 0.05 };
            near(&one[&name][measure], &other[&name][measure], tolerance, &name);
        }
        let scores = |table: &str| f.run(&format!("score one.deepgp {table} --json")).ok().json();
        let (of_weights, of_rows) = (scores("weighted.csv"), scores("repeated.csv"));
        assert_eq!((&of_weights["rows"], of_rows["rows"].as_u64() > Some(90)), (&90.into(), true));
        let mut compared = 0;
        for (measure, value) in of_rows.as_object().expect("scores") {
            if value.is_f64() {
                near(&of_weights[measure], value, 1e-9, measure);
                compared += 1;
            }
        }
        near(
            &of_weights["baselines"]["linear"]["mean_log_density"],
            &of_rows["baselines"]["linear"]["mean_log_density"],
            1e-9,
            "linear",
        );
        assert!(compared >= 4, "{kind}: {compared}");
    }
}
