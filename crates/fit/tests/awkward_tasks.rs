//! Small tables of every awkward kind with targets of every task: none may end in a panic, a number that is not one,
//! probabilities that are none, or a model that is much worse than the law of an average row.
//!
//! A few dozen tables in every run of the tests, of at most 80 rows; `AWKWARD_TABLES=1000` for the full count, of up to
//! 300 rows.

use deepgp::Error;
use deepgp_fit::Stop;
use deepgp_fit::search::{Memory, SearchSettings, search};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::pool;
use deepgp_task::{Linear, Predictive, PredictiveLaw, RowInfo, ScoreTally, StandardisedData, Task};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};
use std::sync::atomic::AtomicBool;

/// RMSE on fresh rows relative to that of the training mean that may not be exceeded where a number is predicted from
/// few rows: with as many columns as rows a linear model leaves next to no noise, and densities are far off.
const FEW_ERRORS: f64 = 1.3;
/// Nats per fresh row that a model may be behind the law of an average row, for tables of few rows and of more. With a
/// dozen rows the choice of a model is luck, and so is whether it is a little worse than no model.
const FRESH_MARGINS: [f64; 2] = [0.3, 0.1];
const FEW_ROWS: usize = 20;
/// The same on the rows that it was trained on.
const TRAINING_MARGIN: f64 = 0.05;
/// Rows, and rows for each column, from which on a function can be learnt, and the nats per fresh row that the median of
/// such tables must gain.
const ENOUGH_ROWS: [usize; 2] = [40, 4];
const LEARNT: f64 = 0.1;
/// Fresh rows.
const FRESH: usize = 200;
/// Rows whose laws are looked at one by one, and scored: ranked scores of wide laws of counts are dear.
const LOOKED_AT: usize = 25;

/// What is wrong with a table.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Quirk {
    None,
    ConstantInputs,
    /// All targets but one, or all of them, are the same.
    RareTarget,
    /// All rows with the last label, the largest counts or the largest numbers have the same inputs.
    OneFold,
    Duplicated,
    Outlier,
    Tiny,
    Huge,
    ManyColumns,
    Noise,
    /// Weights, exposures or known noise from tiny to huge.
    WildRows,
}

const QUIRKS: [Quirk; 11] = [
    Quirk::None,
    Quirk::ConstantInputs,
    Quirk::RareTarget,
    Quirk::OneFold,
    Quirk::Duplicated,
    Quirk::Outlier,
    Quirk::Tiny,
    Quirk::Huge,
    Quirk::ManyColumns,
    Quirk::Noise,
    Quirk::WildRows,
];

impl Quirk {
    /// Whether targets follow the inputs by a law that enough rows show.
    fn can_be_learnt(self) -> bool {
        matches!(self, Self::None | Self::Duplicated | Self::Tiny | Self::Huge)
    }
}

/// What targets are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    TwoClasses,
    SomeClasses,
    ManyClasses,
    Levels,
    Counts,
    Exposed,
    Censored,
    Between,
    Weighted,
    KnownNoise,
}

const KINDS: [Kind; 10] = [
    Kind::TwoClasses,
    Kind::SomeClasses,
    Kind::ManyClasses,
    Kind::Levels,
    Kind::Counts,
    Kind::Exposed,
    Kind::Censored,
    Kind::Between,
    Kind::Weighted,
    Kind::KnownNoise,
];

/// Rows of a task.
struct Table {
    task: Task,
    x: Mat,
    y: Mat,
    info: RowInfo,
}

impl Table {
    fn part(&self, rows: &[usize]) -> (Mat, Mat, RowInfo) {
        (self.x.select_rows(rows), self.y.select_rows(rows), self.info.of_rows(rows))
    }
}

/// Rows of a table and fresh rows of the same law.
fn table(quirk: Quirk, kind: Kind, rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> Table {
    let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
    let all = rows + FRESH;
    let mut x = Mat::from_fn(all, columns, |_, _| normal(rng));
    let weights: Vec<f64> = (0..columns).map(|_| normal(rng)).collect();
    let length = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    if quirk == Quirk::Duplicated {
        for i in 1..all {
            if rng.random::<f64>() < 0.7 {
                let earlier = rng.random_range(0..i);
                (0..columns).for_each(|j| x[(i, j)] = x[(earlier, j)]);
            }
        }
    }
    let signal: Vec<f64> = (0..all)
        .map(|i| {
            let along: f64 = x.row(i).iter().zip(&weights).map(|(x, w)| x * w).sum();
            if quirk == Quirk::Noise { normal(rng) } else { 2.0 * (1.2 * along / length).sin() + 0.4 * normal(rng) }
        })
        .collect();
    // Signals lie between −3 and 3, and most between −2 and 2.
    let level =
        |signal: f64, count: usize| ((signal + 2.0) / 4.0 * count as f64).clamp(0.0, count as f64 - 1.0).floor();
    let spread = if quirk == Quirk::WildRows { 4.0 } else { 0.5 };
    let positive = |rng: &mut ChaCha8Rng| (spread * normal(rng)).exp();
    let mut info = RowInfo::default();
    let (task, mut y) = match kind {
        Kind::TwoClasses | Kind::SomeClasses | Kind::ManyClasses => {
            let count = match kind {
                Kind::TwoClasses => 2,
                Kind::SomeClasses => rng.random_range(3..=5),
                _ => rng.random_range(6..=12),
            };
            if quirk == Quirk::WildRows {
                info.weight = (0..all).map(|_| positive(rng)).collect();
            }
            (Task::Classes { count }, signal.iter().map(|s| level(*s, count)).collect::<Vec<f64>>())
        }
        Kind::Levels => {
            let count = rng.random_range(2..=8);
            if quirk == Quirk::WildRows {
                info.group = (0..all as u64).map(|i| i % 3).collect();
            }
            (Task::Ordinal { count }, signal.iter().map(|s| level(*s, count)).collect())
        }
        Kind::Counts | Kind::Exposed => {
            if kind == Kind::Exposed {
                info.exposure = (0..all).map(|_| positive(rng)).collect();
            }
            let size = match quirk {
                Quirk::Tiny => -4.0,
                Quirk::Huge => 12.0,
                _ => rng.random_range(-1.0..5.0),
            };
            let count = |i: usize| {
                let mean = (0.7 * signal[i] + size).exp() * info.exposure.get(i).unwrap_or(&1.0);
                Poisson::new(mean.max(1e-12)).expect("a mean").sample(rng)
            };
            (Task::Counts, (0..all).map(count).collect())
        }
        Kind::Censored | Kind::Between => (Task::Censored, signal.clone()),
        Kind::Weighted => {
            info.weight = (0..all).map(|_| positive(rng)).collect();
            if quirk == Quirk::WildRows {
                info.time = (0..all).map(|_| normal(rng).round()).collect();
            }
            (Task::Regression, signal.clone())
        }
        Kind::KnownNoise => {
            info.noise_std = (0..all).map(|_| 0.2 * positive(rng)).collect();
            let noisy = |i: usize| signal[i] + info.noise_std[i] * normal(rng);
            (Task::Regression, (0..all).map(noisy).collect())
        }
    };
    let last = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match quirk {
        Quirk::ConstantInputs => (0..all).for_each(|i| x.row_mut(i).fill(3.25)),
        Quirk::RareTarget => {
            let (common, rare) = (y[0], rng.random_range(0..=rows));
            (0..all).filter(|i| *i != rare).for_each(|i| y[i] = common);
            // What does not vary has no noise, and none is claimed.
            info.noise_std.fill(0.0);
        }
        Quirk::OneFold => (0..all).filter(|i| y[*i] == last).for_each(|i| x.row_mut(i).fill(1.5)),
        Quirk::Outlier => {
            x[(rng.random_range(0..rows), 0)] = -1e12;
            if task.n_labels() == 0 {
                y[rng.random_range(0..rows)] = 1e5;
            }
        }
        Quirk::Tiny => x.as_mut_slice().iter_mut().for_each(|x| *x *= 1e-150),
        Quirk::Huge => x.as_mut_slice().iter_mut().for_each(|x| *x *= 1e150),
        _ => {}
    }
    let scale = match quirk {
        Quirk::Tiny => 1e-120,
        Quirk::Huge => 1e120,
        _ => 1.0,
    };
    if !task.is_discrete() {
        y.iter_mut().for_each(|y| *y *= scale);
        info.noise_std.iter_mut().for_each(|std| *std *= scale);
    }
    let y = match kind {
        Kind::Censored => {
            // All of them in one table of a few.
            let limit = scale * rng.random_range(-2.5..1.5);
            Mat::from_fn(all, 2, |i, side| match side {
                0 if y[i] < limit => f64::NAN,
                _ => y[i].max(limit),
            })
        }
        Kind::Between => {
            let width: Vec<[f64; 2]> = (0..all).map(|_| [0, 1].map(|_| scale * normal(rng).abs())).collect();
            let open: Vec<usize> = (0..all).map(|_| rng.random_range(0..5)).collect();
            Mat::from_fn(all, 2, |i, side| match open[i] {
                open if open == side => f64::NAN,
                2 => y[i],
                _ if side == 0 => y[i] - width[i][0],
                _ => y[i] + width[i][1],
            })
        }
        _ => Mat::from_fn(all, 1, |i, _| y[i]),
    };
    Table { task, x, y, info }
}

#[test]
fn awkward_tables_of_every_task_do_no_harm() {
    let asked: Option<u64> = std::env::var("AWKWARD_TABLES").ok().and_then(|n| n.parse().ok());
    // Large tables take their time: they come where many tables are asked for.
    let (count, most_rows) = asked.map_or((24, 80), |count| (count, 300));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = (0..count).collect();
    let one = |&seed: &u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Every pair comes in turn: the numbers of quirks and kinds have no common divisor.
        let (quirk, kind) = (QUIRKS[seed as usize % QUIRKS.len()], KINDS[seed as usize % KINDS.len()]);
        // Half of the tables have a few rows only.
        let rows = if rng.random::<bool>() { rng.random_range(5..=20) } else { rng.random_range(5..=most_rows) };
        let columns =
            if quirk == Quirk::ManyColumns { rows + rng.random_range(1..=20) } else { rng.random_range(1..=12) };
        // What costs most has fewer rows.
        let rows = if kind == Kind::ManyClasses { rows.min(60) } else { rows };
        let columns = columns.min(60);
        let table = table(quirk, kind, rows, columns, &mut rng);
        let what = format!("seed {seed}: {quirk:?}, {kind:?}, {rows} rows, {columns} columns");
        let (gain, faults) = check(&table, rows, quirk, &what, &mut rng);
        println!("{what}: {gain:.3}");
        let enough = rows >= ENOUGH_ROWS[0] && rows >= ENOUGH_ROWS[1] * columns;
        ((quirk.can_be_learnt() && enough).then_some(gain), faults)
    };
    let (gains, faults): (Vec<Option<f64>>, Vec<Vec<String>>) =
        pool::map(threads, &seeds, one, |_| ()).into_iter().unzip();
    assert!(faults.iter().all(Vec::is_empty), "{:#?}", faults.concat());
    let mut gains: Vec<f64> = gains.into_iter().flatten().collect();
    gains.sort_by(f64::total_cmp);
    assert!(gains.is_empty() || gains[gains.len() / 2] >= LEARNT, "{gains:?}");
}

/// Mean gain over the law of an average row on fresh rows, and what is beyond the margins.
fn check(table: &Table, rows: usize, quirk: Quirk, what: &str, rng: &mut ChaCha8Rng) -> (f64, Vec<String>) {
    let (own, fresh): (Vec<usize>, Vec<usize>) = (0..table.x.rows()).partition(|&row| row < rows);
    let (x, y, info) = table.part(&own);
    let data = StandardisedData::for_rows(table.task, x, y, info);
    let data = data.unwrap_or_else(|e| panic!("{what}: {e}"));
    let settings = SearchSettings { effort: 0.02, ..SearchSettings::default() };
    let never = AtomicBool::new(false);
    let found = search(&data, &settings, &Memory::default(), &Stop::by(&never), &mut |_| ())
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    let model = found.model(&data).unwrap_or_else(|e| panic!("{what}: {e}"));
    // A singular table has no linear model.
    let linear = Linear::fit(&data);
    assert!(matches!(linear, Ok(_) | Err(Error::NotPositiveDefinite { .. })), "{what}: {linear:?}");
    let chosen = || found.tried.iter().filter(|tried| tried.weight > 0.0).collect::<Vec<_>>();
    let (mut gain, mut faults) = (0.0, Vec::new());
    for (part, margin) in [(&own, TRAINING_MARGIN), (&fresh, FRESH_MARGINS[usize::from(rows > FEW_ROWS)])] {
        let (x, y, info) = table.part(part);
        let predicted = model.predictive((&x, &info)).unwrap_or_else(|e| panic!("{what}: {e}"));
        are_laws(&predicted, what, rng);
        let constant = table.task.constant(data.targets(), data.average_row(), x.rows(), Some(&info));
        let of = |laws: &Predictive| laws.log_density(&y).unwrap_or_else(|e| panic!("{what}: {e}"));
        let (by_model, by_constant) = (of(&predicted), of(&constant));
        assert!(by_model.iter().all(|p| !p.is_nan()), "{what}: a probability that is no number");
        if table.task.is_discrete() {
            assert!(by_model.iter().all(|p| *p <= 1e-12 && p.is_finite()), "{what}: {by_model:?}");
        }
        let mut tally = ScoreTally::new();
        let few: Vec<usize> = (0..x.rows().min(LOOKED_AT)).collect();
        tally.add(&predicted.of_rows(&few), &y.select_rows(&few)).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(tally.scores().is_ok_and(|scores| scores.is_finite() || quirk == Quirk::Outlier), "{what}: scores");
        let gains: Vec<f64> = by_model.iter().zip(&by_constant).map(|(model, constant)| model - constant).collect();
        // One outlier would decide between sharp laws.
        gain = if quirk == Quirk::Outlier { median(gains) } else { gains.iter().sum::<f64>() / gains.len() as f64 };
        let law = if part == &own { "own" } else { "fresh" };
        let is_rough = table.task == Task::Regression && rows <= FEW_ROWS;
        let has_errors = || {
            let mean = |laws: &Predictive| laws.moments().unwrap_or_else(|e| panic!("{what}: {e}")).mean;
            let rms = |mean: &Mat| {
                let errors = mean.as_slice().iter().zip(y.as_slice()).map(|(mean, y)| (mean - y).abs());
                let largest = errors.clone().fold(f64::MIN_POSITIVE, f64::max);
                largest * (errors.map(|e| (e / largest).powi(2)).sum::<f64>() / y.rows() as f64).sqrt()
            };
            rms(&mean(&predicted)) > FEW_ERRORS * rms(&mean(&constant))
        };
        if gain < -margin && (!is_rough || has_errors()) {
            faults.push(format!(
                "{what}: {gain} nats a row beside the law of an average row ({law} rows), {:?}",
                chosen()
            ));
        }
    }
    (gain, faults)
}

/// What must hold of laws, whatever was observed.
fn are_laws(laws: &Predictive, what: &str, rng: &mut ChaCha8Rng) {
    let task = laws.task();
    let probabilities = laws.probabilities();
    for p in probabilities.iter_rows() {
        let sum: f64 = p.iter().sum();
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{what}: {p:?}");
        assert!(p.is_empty() || (sum - 1.0).abs() < 1e-9, "{what}: {sum}");
    }
    if !task.is_ordered() {
        return;
    }
    let moments = laws.moments().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(moments.mean.as_slice().iter().all(|m| m.is_finite()), "{what}: a mean that is not finite");
    assert!(moments.var.as_slice().iter().all(|v| v.is_finite() && *v >= 0.0), "{what}: a variance that is none");
    let last = if task.n_labels() > 0 { task.n_labels() as f64 - 1.0 } else { f64::INFINITY };
    let is_outcome = |y: f64| y.is_finite() && (!task.is_discrete() || (y.fract() == 0.0 && (0.0..=last).contains(&y)));
    let few: Vec<usize> = (0..laws.rows().min(LOOKED_AT)).collect();
    let laws = laws.of_rows(&few);
    let quantiles = [0.025, 0.25, 0.5, 0.75, 0.975].map(|p| (p, laws.quantiles(p)));
    for n in few {
        let mut before = f64::NEG_INFINITY;
        for (p, all) in &quantiles {
            let (q, law) = (all[(n, 0)], laws.law(n, 0));
            assert!(is_outcome(q) && q >= before, "{what}: quantile {p} is {q} after {before}");
            let reached = law.cdf(q);
            assert!(reached >= p - 1e-6, "{what}: quantile {p} is {q}, where F is {reached}");
            if task.is_discrete() {
                assert!(law.cdf(q - 1.0) < p + 1e-6, "{what}: quantile {p} is not the least, {q}");
            }
            before = q;
        }
        let drawn = laws.draw(n, rng)[0];
        assert!(is_outcome(drawn), "{what}: drew {drawn}");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
