//! Targets that are known only to lie in an interval, through what every likelihood goes through.

mod common;

use common::case::Case;
use common::{Draw, column, engines, gaussian, rows};
use deepgp::infer::{Batch, Engine, InferenceSettings, State, StepWorkspace};
use deepgp::likelihood::{Censored, Gaussian, Likelihood, Observation, Slopes, TiltedBar};
use deepgp::network::DeepGp;
use deepgp::predict::Predictor;
use deepgp::train::{TrainSettings, Trainer};
use deepgp::{Data, Error};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::{log_phi, ndtr, normal_log_density};
use deepgp_oracle::{Tolerance, assert_all_close, assert_close, assert_gradient, gradient, normal_expectation};

const OPEN: f64 = f64::NAN;
/// Seen exactly, between bounds near and far, and with one side open.
const ROWS: [[f64; 2]; 7] =
    [[0.4, 0.4], [-0.5, 0.9], [0.3, 0.35], [-30.0, 2.0], [0.7, OPEN], [OPEN, -1.2], [OPEN, 40.0]];
const ALPHAS: [f64; 4] = [0.1, 0.5, 0.9, 1.0];

fn law(noise_var: f64) -> Likelihood {
    Likelihood::Censored(Censored { noise_var })
}

/// log Z with ∂m, ∂v and ∂σ².
fn log_z(law: &Likelihood, m: f64, v: f64, y: [f64; 2], alpha: f64) -> [f64; 4] {
    let (mut mean, mut var, mut noise) = ([f64::NAN], [f64::NAN], [0.0]);
    let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut noise };
    let log_z = law.log_z(&[m], &[v], &y, alpha, bar);
    [log_z, mean[0], var[0], noise[0]]
}

/// p(row | f) by its definition.
fn p(f: f64, noise_var: f64, [l, u]: [f64; 2]) -> f64 {
    let below = |bound: f64| ndtr((bound - f) / noise_var.sqrt());
    match (l.is_nan(), u.is_nan()) {
        (true, true) => 1.0,
        (false, true) => ndtr((f - l) / noise_var.sqrt()),
        (true, false) => below(u),
        _ if l == u => normal_log_density(l, f, noise_var).exp(),
        // By the tails that are small, where nothing cancels.
        _ if f < 0.5 * (l + u) => ndtr((f - l) / noise_var.sqrt()) - ndtr((f - u) / noise_var.sqrt()),
        _ => below(u) - below(l),
    }
}

#[test]
fn log_z_and_its_derivatives_are_the_integrals() {
    for s2 in [0.3, 1.7] {
        for (m, v) in [(0.3, 0.5), (-2.0, 4.0), (0.9, 1e-3), (1.1, 12.0)] {
            for y in ROWS {
                for alpha in ALPHAS {
                    let what = format!("σ² {s2} m {m} v {v} y {y:?} α {alpha}");
                    let average = |g: &dyn Fn(f64) -> f64| {
                        normal_expectation(|f| p(f[0], s2, y).powf(alpha) * g(f[0]), &[m], &[v], 4000)
                    };
                    let z = average(&|_| 1.0);
                    let [value, mean, var, _] = log_z(&law(s2), m, v, y, alpha);
                    assert_close(&what, value, z.ln(), Tolerance::Value);
                    // Stein's identity: no derivative of p is asked for.
                    let first = average(&|f| (f - m) / v) / z;
                    let second = average(&|f| ((f - m) / v).powi(2) - 1.0 / v) / z;
                    assert_close(&format!("∂m, {what}"), mean, first, Tolerance::Quadrature);
                    assert_close(&format!("∂v, {what}"), var, 0.5 * second, Tolerance::Quadrature);
                }
            }
        }
    }
}

#[test]
fn derivatives_are_those_of_the_value() {
    for (s2, m, v) in [(0.3, 0.3, 0.5), (1.7, -2.0, 4.0), (0.5, 1.5, 0.9)] {
        for y in ROWS {
            for alpha in ALPHAS {
                let found = log_z(&law(s2), m, v, y, alpha);
                let value = |p: &[f64]| log_z(&law(p[2]), p[0], p[1], y, alpha)[0];
                assert_gradient(&format!("y {y:?} α {alpha}"), value, &[m, v, s2], &found[1..]);
            }
        }
    }
}

#[test]
fn what_was_seen_exactly_is_gaussian() {
    let (censored, gaussian) = (law(0.3), Likelihood::Gaussian(Gaussian { noise_var: vec![0.3] }));
    for (m, v, y, alpha) in [(0.3, 0.5, 0.4, 1.0), (-4.0, 1e-9, 2.0, 0.3), (0.0, 0.0, 0.1, 1e-6)] {
        let (mut mean, mut var, mut noise) = ([0.0], [0.0], [0.0]);
        let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut noise };
        let expected = gaussian.log_z(&[m], &[v], &[y], alpha, bar);
        assert_eq!(log_z(&censored, m, v, [y, y], alpha), [expected, mean[0], var[0], noise[0]]);
        assert_eq!(censored.log_density(&[m], &[v], &[y, y]), gaussian.log_density(&[m], &[v], &[y]));
        // What is predicted is the target.
        assert_close(
            "density",
            censored.log_density_of(0, &[m], &[v], y),
            gaussian.log_density(&[m], &[v], &[y]),
            Tolerance::Rounding,
        );
        assert_eq!(censored.cdf(0, &[m], &[v], y), gaussian.cdf(0, &[m], &[v], y));
        assert_eq!(censored.cdf_given(0, &[m], y), gaussian.cdf_given(0, &[m], y));
        assert_eq!(censored.moments_given(0, &[m]), gaussian.moments_given(0, &[m]));
        let observe = |law: &Likelihood| {
            let (mut mean, mut var) = ([0.0], [0.0]);
            law.observe(&[m], &[v], &mut mean, &mut var);
            (mean, var)
        };
        assert_eq!(observe(&censored), observe(&gaussian));
        let draws = |law: &Likelihood| {
            let mut rng = Draw::new(3).0;
            (0..5).map(|_| law.draw(0, &[m], &mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(draws(&censored), draws(&gaussian));
        let slopes = |law: &Likelihood| {
            let (mut first, mut second, mut params) = ([0.0], [0.0], [0.0]);
            let slopes = Slopes { first: &mut first, second: &mut second, params: &mut params };
            [law.log_likelihood(0, &[m], y, Some(slopes)), first[0], second[0], params[0]]
        };
        assert_all_close("given f", &slopes(&censored), &slopes(&gaussian), Tolerance::Rounding);
    }
}

#[test]
fn intervals_have_their_limits() {
    for alpha in [0.3, 1.0] {
        for (m, v) in [(0.3, 0.5), (-2.0, 3.0)] {
            // A bound that is far away is none.
            for (one, both) in [([OPEN, 0.7], [-60.0, 0.7]), ([0.7, OPEN], [0.7, 60.0])] {
                let (one, both) = (log_z(&law(0.4), m, v, one, alpha), log_z(&law(0.4), m, v, both, alpha));
                assert_all_close("one bound", &both, &one, Tolerance::Value);
            }
            assert_all_close("no bound", &log_z(&law(0.4), m, v, [-80.0, 80.0], alpha), &[0.0; 4], Tolerance::Value);
            // The probability of a narrow interval is its width times the density.
            let w = 1e-6;
            let exact = log_z(&law(0.4), m, v, [0.2, 0.2], alpha);
            let [value, mean, var, noise] = log_z(&law(0.4), m, v, [0.2 - 0.5 * w, 0.2 + 0.5 * w], alpha);
            assert_close("narrow", value, exact[0] + alpha * w.ln(), Tolerance::Limit(1e-9));
            assert_all_close("narrow", &[mean, var, noise], &exact[1..], Tolerance::Limit(1e-7));
        }
    }
    // Without variance it is the law itself, and small powers give its expectation.
    for y in ROWS {
        let log_p = |f: f64| p(f, 0.6, y).ln();
        for alpha in [0.2, 1.0] {
            let [value, mean, var, _] = log_z(&law(0.6), 0.3, 0.0, y, alpha);
            assert_close("v = 0", value, alpha * log_p(0.3), Tolerance::Value);
            let slope = gradient(|f| alpha * log_p(f[0]), &[0.3])[0];
            assert_close("∂m at v = 0", mean, slope, Tolerance::Gradient);
            let near = log_z(&law(0.6), 0.3, 1e-12, y, alpha);
            assert_all_close("v → 0", &near[..3], &[value, mean, var], Tolerance::Limit(1e-9));
        }
        let alpha = 1e-4;
        let moment = |power: i32| normal_expectation(|f| log_p(f[0]).powi(power), &[0.3], &[0.5], 400);
        let expected = moment(1) + 0.5 * alpha * (moment(2) - moment(1).powi(2));
        assert_close("α → 0", log_z(&law(0.6), 0.3, 0.5, y, alpha)[0] / alpha, expected, Tolerance::Limit(1e-6));
    }
    // Far out, log Φ(b) − Φ(a) is that of the nearer bound.
    let far = log_z(&law(1.0), 0.0, 0.0, [40.0, 41.0], 1.0);
    assert_close("tail", far[0], log_phi(40.0) - (40.0_f64 + 1.0 / 40.0).ln(), Tolerance::Limit(1e-5));
}

#[test]
fn extreme_inputs_stay_finite() {
    for s2 in [1e-8, 0.5, 1e6] {
        for m in [-1e6, -1e3, -5.0, 0.0, 5.0, 1e3, 1e6] {
            for v in [0.0, 1e-300, 1e-12, 1.0, 1e6, 1e12] {
                for y in [[0.0, 0.0], [-1.0, 2.0], [1.0, 1.0 + 1e-12], [-1e4, 1e4], [3.0, OPEN], [OPEN, -1e4]] {
                    for alpha in [1e-3, 0.5, 1.0] {
                        let found = log_z(&law(s2), m, v, y, alpha);
                        let what = format!("σ² {s2} m {m} v {v} y {y:?} α {alpha}: {found:?}");
                        assert!(found.iter().all(|x| x.is_finite()), "{what}");
                        assert!(y[0] == y[1] || found[0] <= 1e-12, "a probability above 1: {what}");
                    }
                }
            }
        }
    }
    for y in ROWS {
        for alpha in [0.5, 1.0] {
            assert!(log_z(&law(0.4), f64::NAN, 1.0, y, alpha)[0].is_nan(), "{y:?}");
            assert!(log_z(&law(0.4), 0.0, f64::NAN, y, alpha)[0].is_nan(), "{y:?}");
        }
    }
}

#[test]
fn sums_pass_over_what_is_missing() {
    let y = Mat::from_fn(8, 2, |n, t| if n < 7 { ROWS[n][t] } else { OPEN });
    let (mean, var) = (Mat::from_fn(8, 1, |n, _| (n as f64).sin()), Mat::from_fn(8, 1, |n, _| 0.3 + 0.1 * n as f64));
    let (mut mean_bar, mut var_bar, mut noise) = (Mat::zeros(8, 1), Mat::zeros(8, 1), [0.0]);
    let bars = (&mut mean_bar, &mut var_bar);
    let found = law(0.4).log_z_sum((&mean, &var), (&y, &rows(&y)), 0.6, bars, &mut noise);
    let each: Vec<[f64; 4]> =
        (0..8).map(|n| log_z(&law(0.4), mean[(n, 0)], var[(n, 0)], [y[(n, 0)], y[(n, 1)]], 0.6)).collect();
    let sum = |i: usize| each.iter().map(|one| one[i]).sum::<f64>();
    assert_all_close("sums", &[found, noise[0]], &[sum(0), sum(3)], Tolerance::Rounding);
    assert_eq!((mean_bar[(3, 0)], var_bar[(3, 0)]), (each[3][1], each[3][2]));
    assert_eq!(each[7], [0.0; 4]);
    assert_eq!(law(0.4).log_density(&[0.1], &[0.2], &[OPEN, OPEN]), 0.0);
    assert_eq!(law(0.4).log_density_of(0, &[0.1], &[0.2], OPEN), 0.0);
    assert!(law(0.4).cdf(0, &[0.1], &[0.2], OPEN).is_nan());
}

#[test]
fn bad_bounds_are_refused() {
    let check = |rows: &[[f64; 2]]| law(0.4).check_targets(&Mat::from_fn(rows.len(), 2, |n, t| rows[n][t]));
    assert_eq!(check(&ROWS), Ok(()));
    assert_eq!(check(&[[OPEN, OPEN], [0.0, 0.0]]), Ok(()));
    let crossed = check(&[[0.0, 1.0], [1.0, 0.5]]);
    assert!(matches!(crossed, Err(Error::Target { row: 1, column: 1, value: 0.5, .. })), "{crossed:?}");
    let infinite = check(&[[0.0, f64::INFINITY]]);
    assert!(matches!(infinite, Err(Error::NotFinite { row: 0, column: 1, .. })), "{infinite:?}");
    let one = law(0.4).check_targets(&Mat::zeros(3, 1));
    assert_eq!(one, Err(Error::Shape { what: "target columns", expected: 2, found: 1 }));
    assert!(matches!(law(0.4).check_targets(&Mat::zeros(0, 2)), Err(Error::Empty { .. })));
    assert!(matches!(law(0.0).check(), Err(Error::Parameter { name: "noise_var", entry: Some(0), .. })));
    let model = DeepGp::new(Draw::new(1).network(&[2, 1], 3, false).layers().to_vec(), law(0.4)).expect("a network");
    assert_eq!((model.n_targets(), model.n_columns()), (1, 2));
    assert!(model.check_data(&Mat::zeros(3, 2), &Mat::zeros(3, 1)).is_err());
}

#[test]
fn files_round_trip() -> serde_json::Result<()> {
    let text = serde_json::to_string(&law(0.25))?;
    assert_eq!(text, r#"{"censored":{"noise_var":0.25}}"#);
    assert_eq!(serde_json::from_str::<Likelihood>(&text)?, law(0.25));
    Ok(())
}

#[test]
fn gradients_are_those_of_the_energies_under_every_engine() {
    for widths in [&[1, 1][..], &[2, 1, 1]] {
        for alpha in [0.6, 1.0] {
            let mut draw = Draw::new(7);
            let model = DeepGp::new(draw.network(widths, 3, false).layers().to_vec(), law(0.3)).expect("a network");
            let factors = draw.factors(&model);
            let x = draw.normals(4, widths[0]);
            let y = Mat::from_fn(4, 2, |n, t| ROWS[[4, 0, 1, 5][n]][t]);
            let name = format!("censored, widths {widths:?}, α {alpha}");
            let case = Case { name, model, factors, x, y, alpha, tolerance: Tolerance::Gradient };
            engines().into_iter().for_each(|engine| case.check_step(engine));
        }
    }
}

/// Every engine takes all kinds of rows, missing ones among them.
#[test]
fn every_engine_steps_over_gaps() {
    for engine in engines() {
        let draw = &mut Draw::new(2);
        let model = DeepGp::new(draw.network(&[2, 1, 1], 3, false).layers().to_vec(), law(0.3)).expect("a network");
        let x = draw.normals(8, 2);
        let y = Mat::from_fn(8, 2, |n, t| if n < 7 { ROWS[n][t] } else { OPEN });
        model.check_data(&x, &y).expect("data");
        let inference = common::inference(engine, 0.7, 0.3, 1e-6);
        let mut state = State::random(&model, 8, &inference, &mut draw.0).expect("a state");
        let mut ws = StepWorkspace::new(&model);
        for rows in [vec![0, 7, 3], vec![7], (0..8).collect()] {
            let batch = Batch::of(Data::new(&x, &y), &rows);
            let step = inference.step(&model, &mut state, batch, &mut ws).expect("a step");
            assert!(step.is_finite(), "{engine:?}");
        }
    }
}

/// A detection limit hides a third of the targets: what they are is predicted better than without these rows, or with
/// the limit in their place.
#[test]
fn what_is_below_a_detection_limit_is_predicted() {
    let draw = &mut Draw::new(11);
    let n = 120;
    let x = Mat::from_fn(n, 1, |_, _| draw.uniform(-2.0, 2.0));
    let truth: Vec<f64> = (0..n).map(|i| x[(i, 0)] + 0.5 * (2.0 * x[(i, 0)]).sin()).collect();
    let seen: Vec<f64> = truth.iter().map(|f| f + 0.2 * draw.normal()).collect();
    let limit = -0.8;
    let error = |law: Likelihood, x_seen: &Mat, y: &Mat| {
        let model = DeepGp::new(Draw::new(1).network(&[1, 1], 8, false).layers().to_vec(), law).expect("a network");
        let settings = TrainSettings {
            inference: InferenceSettings::of(Engine::Sep(deepgp::infer::Site::FirstOrder)),
            iterations: 600,
            batch_size: 40,
            learning_rate: 0.02,
            ..TrainSettings::default()
        };
        let mut trainer = Trainer::new(model, Data::new(x_seen, y), settings).expect("a trainer");
        trainer.run(&mut ());
        let predictor: Predictor = trainer.predictor().expect("a predictor");
        let mean = predictor.predict(&x).expect("predictions").y.mean;
        (0..n).map(|i| (mean[(i, 0)] - truth[i]).powi(2)).sum::<f64>() / n as f64
    };
    let bounds = Mat::from_fn(n, 2, |i, t| match (seen[i] < limit, t) {
        (true, 0) => OPEN,
        (true, _) => limit,
        _ => seen[i],
    });
    let censored = error(law(0.1), &x, &bounds);
    let kept: Vec<usize> = (0..n).filter(|i| seen[*i] >= limit).collect();
    assert!(n - kept.len() > 30, "{}", kept.len());
    let dropped = error(gaussian(1, 0.1), &x.select_rows(&kept), &column(&seen).select_rows(&kept));
    let clipped: Vec<f64> = seen.iter().map(|y| y.max(limit)).collect();
    let replaced = error(gaussian(1, 0.1), &x, &column(&clipped));
    assert!(censored < 0.7 * dropped && censored < 0.7 * replaced, "{censored}, {dropped}, {replaced}");
}
