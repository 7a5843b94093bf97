//! Every likelihood against quadrature, differences, limits and sampling, through one registry.

use deepgp::Error;
use deepgp::likelihood::{Gaussian, Likelihood, Observation, Probit, StudentT, TiltedBar};
use deepgp::param::Parameters;
use deepgp_numerics::linalg::Mat;
use deepgp_oracle::{
    MonteCarlo, Tolerance, assert_all_close, assert_close, assert_gradient, gradient, normal_expectation,
};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// What the suite must know of a law beyond its interface.
struct Sample {
    likelihood: Likelihood,
    /// Whether y is real; otherwise it is ±1.
    continuous: bool,
}

/// Set-ups of every variant. The match makes the compiler refuse a variant that was not thought of here.
fn samples() -> Vec<Sample> {
    let mut all: Vec<Sample> = Vec::new();
    loop {
        // Each variant names the next: a new one does not compile before it has a place in the chain.
        let (likelihood, continuous) = match all.last().map(|sample| &sample.likelihood) {
            None => (Likelihood::Gaussian(Gaussian { noise_var: vec![0.3, 1.7] }), true),
            Some(Likelihood::Gaussian(_)) => (Likelihood::Probit(Probit { dim_out: 2 }), false),
            Some(Likelihood::Probit(_)) => (Likelihood::StudentT(StudentT { scale: vec![0.4, 1.3], dof: 3.5 }), true),
            Some(Likelihood::StudentT(law)) if law.dof < 10.0 => {
                (Likelihood::StudentT(StudentT { scale: vec![0.8, 0.5], dof: 60.0 }), true)
            }
            Some(Likelihood::StudentT(_)) => return all,
        };
        all.push(Sample { likelihood, continuous });
    }
}

/// Targets that the law can produce.
fn targets(sample: &Sample, y: [f64; 2]) -> [f64; 2] {
    if sample.continuous { y } else { y.map(|y| if y > 0.0 { 1.0 } else { -1.0 }) }
}

/// log Z with (∂m, ∂v, ∂params).
fn log_z(law: &Likelihood, m: &[f64], v: &[f64], y: &[f64], alpha: f64) -> (f64, Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut mean, mut var, mut params) = (vec![f64::NAN; m.len()], vec![f64::NAN; m.len()], vec![0.0; law.n_params()]);
    let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut params };
    (law.log_z(m, v, y, alpha, bar), mean, var, params)
}

/// The same law with other natural parameter values.
fn with_params(law: &Likelihood, values: &[f64]) -> Likelihood {
    let (mut law, mut at) = (law.clone(), 0);
    law.visit_mut(&mut |b| {
        let n = b.values.len();
        b.values.copy_from_slice(&values[at..at + n]);
        at += n;
    });
    law
}

fn natural(law: &Likelihood) -> Vec<f64> {
    let mut values = Vec::new();
    law.visit(&mut |b| values.extend_from_slice(b.values));
    values
}

/// A sum over many points is the sum of theirs, whatever α is and however many there are.
#[test]
fn log_z_of_many_points_is_the_sum() {
    for sample in samples() {
        let law = &sample.likelihood;
        for (n, alpha, var) in [(1, 1.0, 0.5), (5, 0.7, 0.5), (16, 0.7, 1e-9), (17, 1e-6, 2.0), (40, 0.5, 1e3)] {
            let wave = |i: usize, d: usize, k: f64| (k * (1 + i) as f64 + d as f64).sin();
            let mean = Mat::from_fn(n, 2, |i, d| wave(i, d, 1.3));
            let var = Mat::from_fn(n, 2, |i, d| var * (1.1 + wave(i, d, 0.7)));
            // Targets stand in another order, with rows between them that nobody asks for.
            let y = Mat::from_rows(
                &(0..2 * n).map(|i| targets(&sample, [wave(i, 0, 2.1), wave(i, 1, 0.9)])).collect::<Vec<_>>(),
            );
            let (y, rows) = (y.expect("rows of two"), (0..n).map(|i| 2 * (n - 1 - i)).collect::<Vec<_>>());
            let (mut mean_bar, mut var_bar) = (Mat::zeros(n, 2), Mat::zeros(n, 2));
            let mut params = vec![0.0; law.n_params()];
            let bars = (&mut mean_bar, &mut var_bar);
            let found = law.log_z_sum((&mean, &var), (&y, &rows), alpha, bars, &mut params);
            let (mut expected, mut size, mut expected_params) = (0.0, 0.0, vec![0.0; law.n_params()]);
            for (i, row) in rows.iter().enumerate() {
                let (log_z, mean, var, params) = log_z(law, mean.row(i), var.row(i), y.row(*row), alpha);
                (expected, size) = (expected + log_z, size + log_z.abs());
                expected_params.iter_mut().zip(params).for_each(|(sum, param)| *sum += param);
                assert_all_close("∂m", mean_bar.row(i), &mean, Tolerance::Rounding);
                assert_all_close("∂v", var_bar.row(i), &var, Tolerance::Rounding);
            }
            assert!((found - expected).abs() <= 1e-13 * size, "{n} points, α = {alpha}: {found} and {expected}");
            assert_all_close("∂params", &params, &expected_params, Tolerance::Rounding);
        }
    }
}

#[test]
fn log_z_is_the_integral() {
    for sample in samples() {
        let law = &sample.likelihood;
        for (m, v) in [([0.3, -1.1], [0.5, 2.0]), ([-2.0, 0.9], [4.0, 1e-3]), ([0.0, 3.0], [0.9, 12.0])] {
            for y in [[0.4, -0.7], [-3.0, 2.5]] {
                let y = targets(&sample, y);
                for alpha in [0.1, 0.5, 0.9, 1.0] {
                    let expected: f64 = (0..2)
                        .map(|d| {
                            let power = |f: &[f64]| (alpha * law.log_likelihood(y[d], f[0], d)).exp();
                            normal_expectation(power, &m[d..=d], &v[d..=d], 2000).ln()
                        })
                        .sum();
                    let found = log_z(law, &m, &v, &y, alpha).0;
                    assert_close(
                        &format!("{law:?} m {m:?} v {v:?} y {y:?} α {alpha}"),
                        found,
                        expected,
                        Tolerance::Value,
                    );
                }
            }
        }
    }
}

#[test]
fn log_density_is_log_z_at_one() {
    for sample in samples() {
        let y = targets(&sample, [0.4, -2.0]);
        let (m, v) = ([0.3, -1.1], [0.5, 2.0]);
        let found = sample.likelihood.log_density(&m, &v, &y);
        assert_close("log density", found, log_z(&sample.likelihood, &m, &v, &y, 1.0).0, Tolerance::Rounding);
    }
}

#[test]
fn density_sums_to_one() {
    for sample in samples() {
        let law = &sample.likelihood;
        let (m, v) = ([0.3, -1.1], [0.5, 2.0]);
        for d in 0..2 {
            let density = |y: f64| law.tilt(d, m[d], v[d], y, 1.0, None).log_z.exp();
            let total: f64 = if sample.continuous {
                // y = m + sinh(sinh t): equidistant t reach far into heavy tails.
                let h = 0.02;
                (-200..=200)
                    .map(|j| f64::from(j) * h)
                    .map(|t| h * density(m[d] + t.sinh().sinh()) * t.sinh().cosh() * t.cosh())
                    .sum()
            } else {
                density(-1.0) + density(1.0)
            };
            assert_close(&format!("{law:?} output {d}: total"), total, 1.0, Tolerance::Quadrature);
        }
    }
}

#[test]
fn small_powers_give_the_expected_log_likelihood() {
    // log E p^α = α E log p + ½α² var log p + …
    let alpha = 1e-4;
    for sample in samples() {
        let law = &sample.likelihood;
        let (m, v, y) = ([0.3, -1.1], [0.5, 2.0], targets(&sample, [0.4, -0.7]));
        let moment = |power: i32| -> Vec<f64> {
            let log_p = |d: usize| move |f: &[f64]| law.log_likelihood(y[d], f[0], d).powi(power);
            (0..2).map(|d| normal_expectation(log_p(d), &m[d..=d], &v[d..=d], 1000)).collect()
        };
        let (first, second) = (moment(1), moment(2));
        let expected: f64 = (0..2).map(|d| first[d] + 0.5 * alpha * (second[d] - first[d] * first[d])).sum();
        let found = log_z(law, &m, &v, &y, alpha).0 / alpha;
        assert_close(&format!("{law:?} α → 0"), found, expected, Tolerance::Limit(1e-6));
    }
}

#[test]
fn zero_variance_is_the_law_itself() {
    for sample in samples() {
        let law = &sample.likelihood;
        let (m, y) = ([0.3, -1.1], targets(&sample, [0.4, -2.0]));
        for alpha in [0.1, 0.5, 1.0] {
            let (found, mean, var, _) = log_z(law, &m, &[0.0; 2], &y, alpha);
            let log_p = |f: &[f64]| alpha * (0..2).map(|d| law.log_likelihood(y[d], f[d], d)).sum::<f64>();
            assert_close("log Z at v = 0", found, log_p(&m), Tolerance::Value);
            let slope = gradient(log_p, &m);
            assert_all_close("∂m at v = 0", &mean, &slope, Tolerance::Gradient);
            // ∂/∂v = ½(ℓ'' + ℓ'²), ℓ'' by a difference of first differences
            for d in 0..2 {
                let first = |f: &[f64]| gradient(|x| alpha * law.log_likelihood(y[d], x[0], d), f)[0];
                let curvature = gradient(first, &m[d..=d])[0];
                let expected = 0.5 * (curvature + slope[d] * slope[d]);
                assert_close("∂v at v = 0", var[d], expected, Tolerance::Limit(1e-6));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn derivatives_are_those_of_the_value(
        m in prop::array::uniform2(-4.0..4.0_f64),
        v in prop::array::uniform2(0.3..9.0_f64),
        y in prop::array::uniform2(-4.0..4.0_f64),
        alpha in prop_oneof![Just(1.0), 0.1..1.0_f64],
    ) {
        for sample in samples() {
            let law = &sample.likelihood;
            let y = targets(&sample, y);
            let (_, mean, var, params) = log_z(law, &m, &v, &y, alpha);
            assert_gradient("∂m", |m| log_z(law, m, &v, &y, alpha).0, &m, &mean);
            assert_gradient("∂v", |v| log_z(law, &m, v, &y, alpha).0, &v, &var);
            assert_gradient("∂params", |p| log_z(&with_params(law, p), &m, &v, &y, alpha).0, &natural(law), &params);
        }
    }
}

#[test]
fn parameter_gradients_are_added() {
    for sample in samples() {
        let law = &sample.likelihood;
        let (m, v, y) = ([0.3, -1.1], [0.5, 2.0], targets(&sample, [0.4, -0.7]));
        let once = log_z(law, &m, &v, &y, 0.5).3;
        let (mut mean, mut var, mut params) = ([0.0; 2], [0.0; 2], vec![0.0; law.n_params()]);
        for _ in 0..2 {
            law.log_z(&m, &v, &y, 0.5, TiltedBar { mean: &mut mean, var: &mut var, params: &mut params });
        }
        let twice: Vec<f64> = once.iter().map(|g| 2.0 * g).collect();
        assert_all_close("two additions", &params, &twice, Tolerance::Rounding);
    }
}

#[test]
fn extreme_inputs_stay_finite() {
    for sample in samples() {
        let law = &sample.likelihood;
        for m in [-1e3, -40.0, 0.0, 40.0, 1e3] {
            for v in [0.0, 1e-300, 1e-12, 1.0, 1e6, 1e12] {
                for y in [-1e4, -1.0, 1.0, 1e4] {
                    let y = targets(&sample, [y, y]);
                    for alpha in [1e-3, 0.1, 0.5, 0.999, 1.0] {
                        let (value, mean, var, params) = log_z(law, &[m; 2], &[v; 2], &y, alpha);
                        let all = mean.iter().chain(&var).chain(&params).chain([&value]);
                        let what =
                            format!("{law:?} m {m} v {v} y {y:?} α {alpha}: {value} {mean:?} {var:?} {params:?}");
                        assert!(all.into_iter().all(|x| x.is_finite()), "{what}");
                        if !sample.continuous {
                            assert!(value <= 1e-12, "a probability above 1: {what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_integral_is_right_far_from_the_data() {
    // mpmath 1.3.0, 30 digits, piecewise quadrature of the definition around the mode: ln ∫ N(f; m, v) p(1 | f)^α df.
    let probit = Likelihood::Probit(Probit { dim_out: 1 });
    let student = Likelihood::StudentT(StudentT { scale: vec![0.1], dof: 4.0 });
    let cases: [(&Likelihood, f64, f64, f64, f64); 10] = [
        (&probit, -50.0, 1.0, 0.5, -419.0823722337862),
        (&probit, -50.0, 9.0, 0.5, -116.05047225387354),
        (&probit, -30.0, 1000.0, 0.5, -1.729893297409472),
        (&probit, 3.0, 10000.0, 0.25, -0.6570521291825867),
        (&probit, -6.0, 0.01, 0.1, -2.072270141780897),
        (&student, 0.5, 100.0, 0.5, -3.3004082049928116),
        (&student, 8.0, 1.0, 0.5, -8.130741916763803),
        (&student, 8.0, 1.0, 0.05, -0.819546962894185),
        (&student, -20.0, 25.0, 1.0, -11.341563180080048),
        (&student, 1.0, 1000000.0, 0.7, -7.952408448576372),
    ];
    for (law, m, v, alpha, expected) in cases {
        let found = log_z(law, &[m], &[v], &[1.0], alpha).0;
        // What the documentation of the laws promises.
        assert_close(&format!("{law:?} m {m} v {v} α {alpha}"), found, expected, Tolerance::Limit(1e-11));
    }
}

#[test]
fn nan_moments_give_nan() {
    for sample in samples() {
        let y = targets(&sample, [0.4, -0.7]);
        for alpha in [0.5, 1.0] {
            assert!(log_z(&sample.likelihood, &[f64::NAN, 0.0], &[1.0; 2], &y, alpha).0.is_nan());
            assert!(log_z(&sample.likelihood, &[0.0; 2], &[f64::NAN, 1.0], &y, alpha).0.is_nan());
        }
    }
}

#[test]
fn draws_have_the_predictive_moments() {
    for sample in samples() {
        let law = &sample.likelihood;
        let (m, v) = ([0.3, -1.1], [0.5, 2.0]);
        let (mut y_mean, mut y_var) = ([0.0; 2], [0.0; 2]);
        law.observe(&m, &v, &mut y_mean, &mut y_var);
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        // f is drawn through a Gaussian law of its own, given its mean.
        let latent = Likelihood::Gaussian(Gaussian { noise_var: v.to_vec() });
        let (mut f, mut y) = ([0.0; 2], [0.0; 2]);
        let (mut mean, mut central) = (vec![MonteCarlo::default(); 2], vec![MonteCarlo::default(); 2]);
        for _ in 0..100_000 {
            latent.sample(&m, &mut rng, &mut f);
            law.sample(&f, &mut rng, &mut y);
            for d in 0..2 {
                mean[d].push(y[d]);
                central[d].push((y[d] - y_mean[d]).powi(2));
            }
        }
        for d in 0..2 {
            let z = (mean[d].z_score(y_mean[d]), central[d].z_score(y_var[d]));
            assert!(z.0.abs() < 5.0 && z.1.abs() < 5.0, "{law:?} output {d}: z-scores {z:?}");
        }
    }
}

#[test]
fn draws_follow_the_density() {
    // E exp(−y²) separates laws with equal moments, and is finite for all.
    for sample in samples().into_iter().filter(|s| s.continuous) {
        let law = &sample.likelihood;
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        for d in 0..2 {
            let mut average = MonteCarlo::default();
            for _ in 0..50_000 {
                average.push((-law.draw(0.2, d, &mut rng).powi(2)).exp());
            }
            let h = 0.01;
            let expected: f64 = (-1000..=1000)
                .map(|j| f64::from(j) * h)
                .map(|y| h * (law.log_likelihood(y, 0.2, d) - y * y).exp())
                .sum();
            let z = average.z_score(expected);
            assert!(z.abs() < 5.0, "{law:?} output {d}: z-score {z}");
        }
    }
}

#[test]
fn bad_parameters_are_refused() {
    let parameter = |law: Likelihood| match law.check() {
        Err(Error::Parameter { name, entry, .. }) => (name, entry),
        other => panic!("{law:?}: {other:?}"),
    };
    for sample in samples() {
        assert_eq!(sample.likelihood.check(), Ok(()));
    }
    let gaussian = |s2| Likelihood::Gaussian(Gaussian { noise_var: vec![1.0, s2] });
    assert_eq!(parameter(gaussian(0.0)), ("noise_var", Some(1)));
    assert_eq!(parameter(gaussian(f64::NAN)), ("noise_var", Some(1)));
    let student = |s, dof| Likelihood::StudentT(StudentT { scale: vec![1.0, s], dof });
    assert_eq!(parameter(student(-1.0, 4.0)), ("scale", Some(1)));
    for dof in [2.0, f64::NAN, f64::INFINITY] {
        assert_eq!(parameter(student(1.0, dof)), ("dof", None));
    }
}

#[test]
fn bad_targets_are_refused() -> deepgp::Result<()> {
    for sample in samples() {
        let law = &sample.likelihood;
        let good = Mat::from_rows(&[[1.0, -1.0], [-1.0, 1.0]])?;
        assert_eq!(law.check_targets(&good), Ok(()));
        let wide = Mat::zeros(2, 3);
        assert_eq!(law.check_targets(&wide), Err(Error::Shape { what: "target columns", expected: 2, found: 3 }));
        let mut bad = good.clone();
        bad[(1, 0)] = f64::INFINITY;
        assert!(matches!(law.check_targets(&bad), Err(Error::NotFinite { row: 1, column: 0, .. })));
        bad[(1, 0)] = 0.5;
        let found = law.check_targets(&bad);
        if sample.continuous {
            assert_eq!(found, Ok(()));
        } else {
            assert!(matches!(found, Err(Error::Target { row: 1, column: 0, value: 0.5, .. })), "{found:?}");
        }
        assert!(matches!(law.check_targets(&Mat::zeros(0, 2)), Err(Error::Empty { rows: 0, .. })));
    }
    Ok(())
}

#[test]
fn files_round_trip() -> serde_json::Result<()> {
    for sample in samples() {
        let text = serde_json::to_string(&sample.likelihood)?;
        assert_eq!(serde_json::from_str::<Likelihood>(&text)?, sample.likelihood, "{text}");
    }
    let student = Likelihood::StudentT(StudentT { scale: vec![1.0], dof: 4.0 });
    assert_eq!(serde_json::to_string(&student)?, r#"{"student_t":{"scale":[1.0],"dof":4.0}}"#);
    Ok(())
}
