//! Small tables of every awkward kind: none may end in a panic, a number that is not one, a variance below the noise,
//! or a model that is much worse than the mean. Targets of regression here; those of other tasks in
//! `awkward_tasks.rs`.
//!
//! A few dozen tables in every run of the tests; `AWKWARD_TABLES=1000` for the full count.

use deepgp::likelihood::Likelihood;
use deepgp_fit::Stop;
use deepgp_fit::search::{Memory, SearchSettings, search};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::pool;
use deepgp_numerics::special::normal_log_density;
use deepgp_task::StandardisedData;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Cauchy, Distribution, StandardNormal};
use std::sync::atomic::AtomicBool;

/// RMSE on fresh rows relative to that of the training mean that may not be exceeded, for tables of few rows and of
/// more, and the same on the training rows; where tails are heavy, nats that the median log density may be below that of
/// a normal with the training mean and variance, corrected for few rows. With a dozen rows the choice of a model is luck,
/// and so is whether it is a little worse than the mean.
const FRESH_MARGINS: [f64; 2] = [1.3, 1.1];
const FEW_ROWS: usize = 20;
const TRAINING_MARGIN: f64 = 1.01;
const DENSITY_MARGIN: f64 = 0.3;
/// Rows, and rows for each column, from which on a function can be learnt, and the median of the same ratio over such
/// tables that may not be exceeded.
const ENOUGH_ROWS: [usize; 2] = [30, 2];
const LEARNT: f64 = 0.6;
/// Fresh rows.
const FRESH: usize = 200;

/// What is wrong with a table.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Quirk {
    None,
    ConstantInputs,
    ConstantTarget,
    Collinear,
    Duplicated,
    Outlier,
    Tiny,
    Huge,
    Mixed,
    Integer,
    HeavyTailed,
    Noise,
}

impl Quirk {
    /// Whether targets follow the inputs by a law that enough rows show.
    fn can_be_learnt(self) -> bool {
        matches!(
            self,
            Self::None | Self::Collinear | Self::Duplicated | Self::Tiny | Self::Huge | Self::Mixed | Self::Integer
        )
    }
}

const QUIRKS: [Quirk; 12] = [
    Quirk::None,
    Quirk::ConstantInputs,
    Quirk::ConstantTarget,
    Quirk::Collinear,
    Quirk::Duplicated,
    Quirk::Outlier,
    Quirk::Tiny,
    Quirk::Huge,
    Quirk::Mixed,
    Quirk::Integer,
    Quirk::HeavyTailed,
    Quirk::Noise,
];

/// Rows of a table and fresh rows of the same law.
fn table(quirk: Quirk, rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> (Mat, Mat) {
    let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
    let all = rows + FRESH;
    let mut x = Mat::from_fn(all, columns, |_, _| normal(rng));
    let weights: Vec<f64> = (0..columns).map(|_| normal(rng)).collect();
    if quirk == Quirk::Collinear {
        for i in 0..all {
            for j in 1..columns {
                x[(i, j)] = 2.0 * x[(i, 0)] - j as f64;
            }
        }
    }
    if quirk == Quirk::Duplicated {
        for i in 1..all {
            if rng.random::<f64>() < 0.7 {
                let earlier = rng.random_range(0..i);
                (0..columns).for_each(|j| x[(i, j)] = x[(earlier, j)]);
            }
        }
    }
    let mut y = Mat::from_fn(all, 1, |i, _| {
        let along: f64 = x.row(i).iter().zip(&weights).map(|(x, w)| x * w).sum();
        (along / (columns as f64).sqrt()).sin() * 2.0 + 0.3 * normal(rng)
    });
    match quirk {
        Quirk::ConstantInputs => (0..all).for_each(|i| x.row_mut(i).fill(3.25)),
        Quirk::ConstantTarget => (0..all).for_each(|i| y[(i, 0)] = -7.5),
        Quirk::Outlier => {
            y[(rng.random_range(0..rows), 0)] = 1e12;
            x[(rng.random_range(0..rows), 0)] = -1e12;
        }
        Quirk::Tiny => scale(&mut x, &mut y, 1e-150, 1e-120),
        Quirk::Huge => scale(&mut x, &mut y, 1e150, 1e120),
        Quirk::Mixed => scale(&mut x, &mut y, 1e9, 1e-9),
        Quirk::Integer => {
            x.as_mut_slice().iter_mut().for_each(|x| *x = (2.0 * *x).round());
            y.as_mut_slice().iter_mut().for_each(|y| *y = y.round());
        }
        Quirk::HeavyTailed => {
            let cauchy = Cauchy::new(0.0, 1.0).expect("a scale");
            y.as_mut_slice().iter_mut().for_each(|y| *y += cauchy.sample(rng));
        }
        Quirk::Noise => y.as_mut_slice().iter_mut().for_each(|y| *y = normal(rng)),
        Quirk::None | Quirk::Collinear | Quirk::Duplicated => {}
    }
    (x, y)
}

fn scale(x: &mut Mat, y: &mut Mat, by_x: f64, by_y: f64) {
    x.as_mut_slice().iter_mut().for_each(|x| *x *= by_x);
    y.as_mut_slice().iter_mut().for_each(|y| *y *= by_y);
}

/// Root mean squares that do not overflow.
fn rms(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(0.0, |a: f64, v| a.max(v.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + (v / largest).powi(2), count + 1.0));
    largest * (sum / count).sqrt()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn awkward_tables_do_no_harm() {
    let count: u64 = std::env::var("AWKWARD_TABLES").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = (0..count).collect();
    let one = |&seed: &u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let quirk = QUIRKS[seed as usize % QUIRKS.len()];
        // Half of the tables have a few rows only.
        let rows = if rng.random::<bool>() { rng.random_range(1..=20) } else { rng.random_range(1..=200) };
        let columns = rng.random_range(1..=50);
        let (x, y) = table(quirk, rows, columns, &mut rng);
        let what = format!("seed {seed}: {quirk:?}, {rows} rows, {columns} columns");
        let ratio = check(quirk, rows, &x, &y, &what)?;
        println!("{what}: {ratio:.3}");
        let enough = rows >= ENOUGH_ROWS[0] && rows >= ENOUGH_ROWS[1] * columns;
        (quirk.can_be_learnt() && enough).then_some(ratio)
    };
    let mut ratios: Vec<f64> = pool::map(threads, &seeds, one, |_| ()).into_iter().flatten().collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios.len() * 10 >= seeds.len() && ratios[ratios.len() / 2] <= LEARNT, "{ratios:?}");
}

/// RMSE on fresh rows relative to that of the training mean, where errors can be compared.
fn check(quirk: Quirk, rows: usize, x: &Mat, y: &Mat, what: &str) -> Option<f64> {
    let mut ratio = None;
    let (own, fresh): (Vec<usize>, Vec<usize>) = (0..x.rows()).partition(|&row| row < rows);
    let data =
        StandardisedData::new(x.select_rows(&own), y.select_rows(&own)).unwrap_or_else(|e| panic!("{what}: {e}"));
    let settings = SearchSettings { effort: 0.02, ..SearchSettings::default() };
    let never = AtomicBool::new(false);
    let found = search(&data, &settings, &Memory::default(), &Stop::by(&never), &mut |_| ())
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    let model = found.model(&data).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mean = own.iter().map(|&i| y[(i, 0)] / rows as f64).sum::<f64>();
    for (part, margin) in [(&own, TRAINING_MARGIN), (&fresh, FRESH_MARGINS[usize::from(rows > FEW_ROWS)])] {
        let predicted = model.predict(&x.select_rows(part)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let (m, v) = (predicted.y.mean.column(0), predicted.y.var.column(0));
        assert!(m.iter().chain(&v).all(|v| v.is_finite()), "{what}: a prediction that is not finite");
        // Noise of every member is below the variance of what is observed; that of a transformed target has another
        // unit.
        assert!(v.iter().all(|v| *v > 0.0), "{what}: no variance");
        for member in found.members.iter().filter(|member| member.warps.is_empty()) {
            // The variance of other noise is not one number.
            let Likelihood::Gaussian(noise) = member.fitted.network.likelihood() else { continue };
            let floor = member.weight * data.targets().scale()[0].powi(2) * noise.noise_var[0];
            assert!(v.iter().all(|v| *v >= floor * (1.0 - 1e-9)), "{what}: a variance below the noise");
        }
        if matches!(quirk, Quirk::HeavyTailed | Quirk::Outlier) {
            // Means, and errors of them, are no measure here; the density of most rows is.
            let (x, y) = (x.select_rows(part), y.select_rows(part));
            let by_model = median(model.log_density(&x, &y).unwrap_or_else(|e| panic!("{what}: {e}")));
            // What a few rows say of their variance is too little.
            let few = if rows > 1 { (rows as f64 + 1.0) / (rows as f64 - 1.0) } else { 1.0 };
            let var = few * data.targets().scale()[0].powi(2);
            let by_mean = median(y.as_slice().iter().map(|&y| normal_log_density(y, mean, var)).collect());
            assert!(
                by_model >= by_mean - DENSITY_MARGIN,
                "{what}: log density {by_model} beside {by_mean} of the mean"
            );
            continue;
        }
        let error = rms(part.iter().zip(&m).map(|(&i, m)| y[(i, 0)] - m));
        let by_mean = rms(part.iter().map(|&i| y[(i, 0)] - mean));
        let smallest = 1e-9 * mean.abs();
        assert!(error <= margin * by_mean + smallest, "{what}: RMSE {error:e} beside {by_mean:e} of the mean");
        ratio = Some(error / by_mean);
    }
    ratio
}
