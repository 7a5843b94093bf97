//! Every likelihood against quadrature, differences, limits and sampling, through one registry.

mod common;

use common::laws::{Sample, in_support, samples};
use common::{Draw, gaussian, inference};
use deepgp::Data;
use deepgp::Error;
use deepgp::infer::{Batch, Engine, Site, State, StepWorkspace};
use deepgp::likelihood::{
    Gaussian, Likelihood, NegativeBinomial, Observation, Ordinal, Poisson, Probit, RobustMax, Slopes, Softmax,
    StudentT, Support, TiltedBar, VaryingGaussian, VaryingStudentT,
};
use deepgp::network::DeepGp;
use deepgp::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::log_phi;
use deepgp_oracle::{
    MonteCarlo, Tolerance, assert_all_close, assert_close, assert_gradient, gradient, normal_expectation,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// As many of the numbers as there are targets, as the law can produce them.
fn targets(law: &Likelihood, y: [f64; 2]) -> Vec<f64> {
    (0..law.n_targets()).map(|t| in_support(law.support(t), y[t])).collect()
}

/// Σ_t log p(y_t | f).
fn log_p(law: &Likelihood, f: &[f64], y: &[f64]) -> f64 {
    y.iter().enumerate().map(|(t, y)| law.log_likelihood(t, f, *y, None)).sum()
}

/// log Z with (∂m, ∂v, ∂params).
fn log_z(law: &Likelihood, m: &[f64], v: &[f64], y: &[f64], alpha: f64) -> (f64, Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut mean, mut var, mut params) = (vec![f64::NAN; m.len()], vec![f64::NAN; m.len()], vec![0.0; law.n_params()]);
    let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut params };
    (law.log_z(m, v, y, alpha, bar), mean, var, params)
}

/// This law with other natural parameter values.
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

/// A sum over many points is the sum of theirs, whatever α is, however many there are, and whichever targets are
/// missing.
#[test]
fn log_z_of_many_points_is_the_sum() {
    for Sample { law, .. } in &samples() {
        for (n, alpha, var) in [(1, 1.0, 0.5), (5, 0.7, 0.5), (16, 0.7, 1e-9), (17, 1e-6, 2.0), (40, 0.5, 5.0)] {
            let wave = |i: usize, d: usize, k: f64| (k * (1 + i) as f64 + d as f64).sin();
            let mean = Mat::from_fn(n, 2, |i, d| wave(i, d, 1.3));
            let var = Mat::from_fn(n, 2, |i, d| var * (1.1 + wave(i, d, 0.7)));
            // Targets stand in another order, with rows between them that nobody asks for.
            let mut y = Mat::from_fn(2 * n, law.n_targets(), |i, t| in_support(law.support(t), wave(i, t, 2.1)));
            let rows: Vec<usize> = (0..n).map(|i| 2 * (n - 1 - i)).collect();
            for some_missing in [false, true] {
                if some_missing {
                    (0..2 * n).step_by(6).for_each(|i| y[(i, 0)] = f64::NAN);
                }
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
}

#[test]
fn a_missing_target_takes_no_part() {
    for Sample { law, .. } in &samples() {
        let (m, v, y) = ([0.3, -1.1], [0.5, 2.0], targets(law, [0.4, -0.7]));
        let missing = vec![f64::NAN; y.len()];
        assert_eq!(log_z(law, &m, &v, &missing, 0.5), (0.0, vec![0.0; 2], vec![0.0; 2], vec![0.0; law.n_params()]));
        assert_eq!(law.log_density(&m, &v, &missing), 0.0);
        // One after the other, what is observed is all that counts.
        for t in 0..y.len() {
            let mut alone = missing.clone();
            alone[t] = y[t];
            let density = law.log_density(&m, &v, &alone);
            assert_close("one target", law.log_density_of(t, &m, &v, y[t]), density, Tolerance::Rounding);
            assert!(density != 0.0 && law.log_density_of(t, &m, &v, f64::NAN) == 0.0);
            assert!(law.cdf(t, &m, &v, f64::NAN).is_nan());
            if law.n_targets() == law.n_latent() {
                let (_, mean, var, _) = log_z(law, &m, &v, &alone, 0.5);
                assert!(mean[t] != 0.0 && var[t] != 0.0 && mean[1 - t] == 0.0 && var[1 - t] == 0.0, "{law:?}");
            }
        }
    }
}

/// E g(f) p(y | f)^α for f ~ N(m, diag v) of one target, where f_d alone or the one target depends on all.
fn average(law: &Likelihood, t: usize, (m, v): (&[f64], &[f64]), y: f64, alpha: f64, g: impl Fn(&[f64]) -> f64) -> f64 {
    let power = |f: &[f64]| (alpha * law.log_likelihood(t, f, y, None)).exp() * g(f);
    if law.n_targets() == law.n_latent() {
        let mut f = m.to_vec();
        let along = |x: &[f64]| {
            f[t] = x[0];
            power(&f)
        };
        return normal_expectation(along, &m[t..=t], &v[t..=t], 2000);
    }
    normal_expectation(|x| normal_expectation(|f| power(&[f[0], x[0]]), &m[..1], &v[..1], 2000), &m[1..], &v[1..], 150)
}

/// By Stein's identity, ∂log Z/∂m = ⟨(f − m)/v⟩ and ∂log Z/∂v = ½⟨((f − m)/v)² − 1/v⟩: no derivative of p is asked for.
#[test]
fn log_z_and_its_derivatives_are_the_integrals() {
    for Sample { law, .. } in samples().iter().filter(|sample| sample.is_smooth) {
        let joint = law.n_targets() < law.n_latent();
        for (m, v) in [([0.3, -1.1], [0.5, 2.0]), ([-2.0, 0.9], [4.0, 1e-3]), ([0.0, 3.0], [0.9, 12.0])] {
            // The grid of the instrument does not see a deviation of exp(−9).
            let v = if joint { v.map(|v: f64| v.min(0.5)) } else { v };
            for y in [[0.4, -0.7], [-3.0, 2.5]] {
                let y = targets(law, y);
                for alpha in [0.1, 0.5, 0.9, 1.0] {
                    let what = format!("{law:?} m {m:?} v {v:?} y {y:?} α {alpha}");
                    let each = |g: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
                        y.iter().enumerate().map(|(t, y)| average(law, t, (&m, &v), *y, alpha, g)).collect()
                    };
                    let z = each(&|_| 1.0);
                    let (found, mean, var, _) = log_z(law, &m, &v, &y, alpha);
                    assert_close(&what, found, z.iter().map(|z| z.ln()).sum(), Tolerance::Value);
                    for k in 0..2 {
                        let t = if joint { 0 } else { k };
                        let scaled = |f: &[f64]| (f[k] - m[k]) / v[k];
                        let first = each(&scaled)[t] / z[t];
                        let second = each(&|f| scaled(f).powi(2) - 1.0 / v[k])[t] / z[t];
                        assert_close(&format!("∂m {k}, {what}"), mean[k], first, Tolerance::Quadrature);
                        assert_close(&format!("∂v {k}, {what}"), var[k], 0.5 * second, Tolerance::Quadrature);
                    }
                }
            }
        }
    }
}

#[test]
fn closed_forms_and_quadrature_agree() {
    for (plain, closed) in samples().iter().filter_map(|s| Some((&s.law, s.closed.as_ref()?))) {
        let n_targets = closed.n_targets();
        for m in [[0.3, -1.1], [-4.0, 6.0]] {
            for v in [[0.0, 1e-12], [1e-9, 1e-6], [1e-3, 0.1], [1.0, 3.0]] {
                let y = targets(closed, [0.4, -2.0]);
                let what = format!("{closed:?} m {m:?} v {v:?}");
                for alpha in [1e-6, 0.3, 1.0] {
                    let (found, expected) = (log_z(plain, &m, &v, &y, alpha), log_z(closed, &m, &v, &y, alpha));
                    assert_close(&what, found.0, expected.0, Tolerance::Value);
                    assert_all_close(&format!("∂m, {what}"), &found.1, &expected.1, Tolerance::Quadrature);
                    assert_all_close(&format!("∂v, {what}"), &found.2, &expected.2, Tolerance::Quadrature);
                    assert_all_close(&format!("∂params, {what}"), &found.3, &expected.3, Tolerance::Quadrature);
                }
                let observe = |law: &Likelihood| {
                    let (mut mean, mut var) = (vec![0.0; y.len()], vec![0.0; y.len()]);
                    law.observe(&m, &v, &mut mean, &mut var);
                    [mean, var].concat()
                };
                assert_all_close(&format!("moments, {what}"), &observe(plain), &observe(closed), Tolerance::Value);
                for (t, y) in [(0, -0.4), (1, 1.3), (1, -30.0)].map(|(t, y)| (t % n_targets, y)) {
                    let found = plain.cdf(t, &m, &v, y);
                    assert_close(&format!("cdf, {what}"), found, closed.cdf(t, &m, &v, y), Tolerance::Value);
                }
            }
        }
    }
}

#[test]
fn conditional_derivatives_are_those_of_the_conditional() {
    for Sample { law, .. } in &samples() {
        for f in [[0.3, -1.1], [-2.0, 0.9]] {
            for (t, y) in targets(law, [0.4, -2.0]).into_iter().enumerate() {
                let (mut first, mut second, mut params) = ([0.0; 2], [0.0; 2], vec![0.0; law.n_params()]);
                let slopes = Slopes { first: &mut first, second: &mut second, params: &mut params };
                let value = law.log_likelihood(t, &f, y, Some(slopes));
                assert_eq!(value, law.log_likelihood(t, &f, y, None), "{law:?}");
                let at = |f: &[f64]| law.log_likelihood(t, f, y, None);
                assert_gradient("∂f", at, &f, &first);
                for k in 0..2 {
                    let curvature = gradient(|x| gradient(at, x)[k], &f)[k];
                    assert_close("∂²f", second[k], curvature, Tolerance::Limit(1e-6));
                }
                let of_params = |p: &[f64]| with_params(law, p).log_likelihood(t, &f, y, None);
                assert_gradient("∂params", of_params, &natural(law), &params);
            }
        }
    }
}

#[test]
fn log_density_is_log_z_at_one() {
    for Sample { law, .. } in &samples() {
        let y = targets(law, [0.4, -2.0]);
        let (m, v) = ([0.3, -1.1], [0.5, 2.0]);
        let found = law.log_density(&m, &v, &y);
        assert_close("log density", found, log_z(law, &m, &v, &y, 1.0).0, Tolerance::Rounding);
        if law.n_targets() == law.n_latent() {
            let sum = y.iter().enumerate().map(|(t, y)| law.log_density_of(t, &m, &v, *y)).sum();
            assert_close("sum of log densities", found, sum, Tolerance::Rounding);
        }
    }
}

#[test]
fn density_sums_to_one() {
    for Sample { law, .. } in &samples() {
        let (m, v) = ([0.3, -1.1], [0.5, 2.0]);
        for t in 0..law.n_targets() {
            let density = |y: f64| law.log_density_of(t, &m, &v, y).exp();
            // Equidistant s with y = m + sinh(sinh s) reach far into heavy tails, with exp and logistic inside of it to
            // the ends of what is bounded.
            let h = 0.02;
            let nodes = (-200..=200).map(|j| f64::from(j) * h);
            let wide = nodes.map(|s| (m[t] + s.sinh().sinh(), h * s.sinh().cosh() * s.cosh()));
            let total: f64 = match law.support(t) {
                Support::Signs | Support::Labels(_) => {
                    let values = law.support(t).values();
                    let mut all = vec![0.0; values.len()];
                    law.probabilities(t, &m, &v, &mut all);
                    let each: Vec<f64> = values.into_iter().map(density).collect();
                    assert_all_close("probabilities", &all, &each, Tolerance::Value);
                    each.iter().sum()
                }
                Support::Whole => (0..4000).map(|y| density(f64::from(y))).sum(),
                Support::Positive => {
                    wide.filter(|(x, _)| x.abs() < 300.0).map(|(x, weight)| weight * density(x.exp()) * x.exp()).sum()
                }
                Support::Interval { low, high } => wide
                    .filter(|(x, _)| (-600.0..36.0).contains(x))
                    .map(|(x, weight)| {
                        let share = 1.0 / (1.0 + (-x).exp());
                        weight * density(low + (high - low) * share) * (high - low) * share * (1.0 - share)
                    })
                    .sum(),
                _ => wide.map(|(y, weight)| weight * density(y)).sum(),
            };
            assert_close(&format!("{law:?} target {t}: total"), total, 1.0, Tolerance::Quadrature);
        }
    }
}

#[test]
fn the_distribution_function_rises_with_the_density() {
    for Sample { law, .. } in &samples() {
        for (m, v) in [([0.3, -1.1], [0.5, 2.0]), ([2.0, 0.4], [0.0, 1e-9])] {
            for t in 0..law.n_targets() {
                let what = format!("{law:?} target {t} m {m:?} v {v:?}");
                let cdf = |y: f64| law.cdf(t, &m, &v, y);
                let values: Vec<f64> = (-60..=60).map(|j| cdf(0.5 * f64::from(j))).collect();
                assert!(values.windows(2).all(|pair| pair[0] <= pair[1] + 1e-14), "{what}: {values:?}");
                assert!(values.iter().all(|p| (0.0..=1.0).contains(p)), "{what}: {values:?}");
                assert!(cdf(-1e9) < 1e-9 && cdf(1e9) > 1.0 - 1e-9, "{what}");
                let density = |y: f64| law.log_density_of(t, &m, &v, y).exp();
                let support = law.support(t);
                if support.is_discrete() {
                    for y in [-1.0, 0.0, 1.0, 2.0, 5.0].into_iter().filter(|y| support.contains(*y)) {
                        assert_close(&what, cdf(y) - cdf(y - 0.1), density(y), Tolerance::Value);
                    }
                } else {
                    for y in [-2.0, 0.2, 0.7, 1.7, 6.0].into_iter().filter(|y| support.contains(*y)) {
                        assert_gradient(&what, |y| cdf(y[0]), &[y], &[density(y)]);
                    }
                }
            }
        }
    }
}

#[test]
fn small_powers_give_the_expected_log_likelihood() {
    // log E p^α = α E log p + ½α² var log p + …
    let alpha = 1e-4;
    for Sample { law, .. } in samples().iter().filter(|sample| sample.is_smooth) {
        // exp(−2f₂) has large higher moments.
        let v = if law.n_targets() < law.n_latent() { [0.5, 0.02] } else { [0.5, 0.4] };
        let (m, y) = ([0.3, -1.1], targets(law, [0.4, -0.7]));
        let moment = |power: i32| normal_expectation(|f| log_p(law, f, &y).powi(power), &m, &v, 200);
        let (first, second) = (moment(1), moment(2));
        let expected = first + 0.5 * alpha * (second - first * first);
        let found = log_z(law, &m, &v, &y, alpha).0 / alpha;
        assert_close(&format!("{law:?} α → 0"), found, expected, Tolerance::Limit(1e-6));
    }
}

#[test]
fn zero_variance_is_the_law_itself() {
    for Sample { law, .. } in &samples() {
        let (m, y) = ([0.3, -1.1], targets(law, [0.4, -2.0]));
        for alpha in [0.1, 0.5, 1.0] {
            let (found, mean, var, _) = log_z(law, &m, &[0.0; 2], &y, alpha);
            let power = |f: &[f64]| alpha * log_p(law, f, &y);
            assert_close("log Z at v = 0", found, power(&m), Tolerance::Value);
            let slope = gradient(power, &m);
            assert_all_close("∂m at v = 0", &mean, &slope, Tolerance::Gradient);
            // ∂/∂v = ½(ℓ'' + ℓ'²), ℓ'' by a difference of first differences
            for d in 0..2 {
                let curvature = gradient(|f| gradient(power, f)[d], &m)[d];
                let expected = 0.5 * (curvature + slope[d] * slope[d]);
                assert_close("∂v at v = 0", var[d], expected, Tolerance::Limit(1e-6));
            }
            let near = log_z(law, &m, &[1e-12; 2], &y, alpha);
            assert_close("log Z near v = 0", near.0, found, Tolerance::Limit(1e-9));
            assert_all_close("∂m near v = 0", &near.1, &mean, Tolerance::Limit(1e-9));
            assert_all_close("∂v near v = 0", &near.2, &var, Tolerance::Limit(1e-9));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, rng_seed: RngSeed::Fixed(21), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn derivatives_are_those_of_the_value(
        m in prop::array::uniform2(-4.0..4.0_f64),
        v in prop::array::uniform2(0.3..9.0_f64),
        y in prop::array::uniform2(-4.0..4.0_f64),
        alpha in prop_oneof![Just(1.0), 0.1..1.0_f64],
    ) {
        for Sample { law, .. } in &samples() {
            let y = targets(law, y);
            // Where f₂ is −4, differences with a step of 2e-3 no longer see exp(−2f₂).
            let m = if law.n_targets() < law.n_latent() { m.map(|m| 0.3 * m) } else { m };
            let (_, mean, var, params) = log_z(law, &m, &v, &y, alpha);
            assert_gradient("∂m", |m| log_z(law, m, &v, &y, alpha).0, &m, &mean);
            assert_gradient("∂v", |v| log_z(law, &m, v, &y, alpha).0, &v, &var);
            assert_gradient("∂params", |p| log_z(&with_params(law, p), &m, &v, &y, alpha).0, &natural(law), &params);
        }
    }
}

#[test]
fn parameter_gradients_are_added() {
    for Sample { law, .. } in &samples() {
        let (m, v, y) = ([0.3, -1.1], [0.5, 2.0], targets(law, [0.4, -0.7]));
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
    for Sample { law, reach, .. } in &samples() {
        for m in [-1e6, -1e3, -40.0, -5.0, 0.0, 5.0, 40.0, 1e3, 1e6] {
            for v in [0.0, 1e-300, 1e-12, 1.0, 5.0, 1e6, 1e12] {
                for y in [-1e4, -1.0, 1.0, 1e4] {
                    let y = targets(law, [y, y]);
                    for alpha in [1e-3, 0.1, 0.5, 0.999, 1.0] {
                        if f64::abs(m) > reach.0 || v > reach.1 {
                            continue;
                        }
                        let (value, mean, var, params) = log_z(law, &[m; 2], &[v; 2], &y, alpha);
                        let all = mean.iter().chain(&var).chain(&params).chain([&value]);
                        let what =
                            format!("{law:?} m {m} v {v} y {y:?} α {alpha}: {value} {mean:?} {var:?} {params:?}");
                        assert!(all.into_iter().all(|x| x.is_finite()), "{what}");
                        if law.support(0).is_discrete() {
                            assert!(value <= 1e-12, "a probability above 1: {what}");
                        }
                    }
                    let (mut mean, mut var) = (vec![0.0; y.len()], vec![0.0; y.len()]);
                    if f64::abs(m) <= reach.0 && v <= reach.1 {
                        law.observe(&[m; 2], &[v; 2], &mut mean, &mut var);
                        let cdf = law.cdf(0, &[m; 2], &[v; 2], y[0]);
                        let finite = mean.iter().chain(&var).chain([&cdf]).all(|x| x.is_finite());
                        assert!(finite, "{law:?} m {m} v {v} y {y:?}: {mean:?} {var:?} {cdf}");
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
fn counts_without_dispersion_are_poisson() {
    let poisson = Likelihood::Poisson(Poisson { dim_out: 1 });
    let close = Likelihood::NegativeBinomial(NegativeBinomial { dispersion: vec![1e-10] });
    for (m, v) in [(0.3, 0.5), (-2.0, 9.0), (3.0, 1e-6)] {
        for y in [0.0, 1.0, 30.0] {
            for alpha in [0.3, 1.0] {
                let (found, expected) =
                    (log_z(&close, &[m], &[v], &[y], alpha), log_z(&poisson, &[m], &[v], &[y], alpha));
                let what = format!("m {m} v {v} y {y} α {alpha}");
                assert_close(&what, found.0, expected.0, Tolerance::Limit(1e-7));
                assert_all_close(
                    &what,
                    &[found.1, found.2].concat(),
                    &[expected.1, expected.2].concat(),
                    Tolerance::Limit(1e-7),
                );
            }
            assert_close("cdf", close.cdf(0, &[m], &[v], y), poisson.cdf(0, &[m], &[v], y), Tolerance::Limit(1e-8));
        }
    }
}

#[test]
fn student_t_noise_that_varies_has_its_limits() {
    let varying = |nu: f64| Likelihood::VaryingStudentT(VaryingStudentT { scale: 0.6, dof_above_two: nu - 2.0 });
    let gaussian = Likelihood::VaryingGaussian(VaryingGaussian { scale: 0.6 });
    for (m, v, y) in [([0.3, -0.4], [0.5, 0.8], 0.9), ([-2.0, 0.7], [3.0, 1e-3], 1.5)] {
        for alpha in [0.2, 0.7, 1.0] {
            // Without variance of the scale it is the law of one function.
            let student = Likelihood::StudentT(StudentT { scale: vec![0.6 * f64::exp(m[1])], dof: 5.0 });
            let (found, expected) =
                (log_z(&varying(5.0), &m, &[v[0], 0.0], &[y], alpha), log_z(&student, &m[..1], &v[..1], &[y], alpha));
            assert_close("one function", found.0, expected.0, Tolerance::Value);
            assert_all_close(
                "one function",
                &[found.1[0], found.2[0]],
                &[expected.1[0], expected.2[0]],
                Tolerance::Value,
            );
            // With many degrees of freedom it is normal; beyond 1e4 nothing changes any more.
            let (found, expected) = (log_z(&varying(9e3), &m, &v, &[y], alpha), log_z(&gaussian, &m, &v, &[y], alpha));
            assert_close("normal", found.0, expected.0, Tolerance::Limit(2e-3));
            assert_all_close(
                "normal",
                &[found.1, found.2].concat(),
                &[expected.1, expected.2].concat(),
                Tolerance::Limit(2e-3),
            );
            let (held, far) = (log_z(&varying(2e4), &m, &v, &[y], alpha), log_z(&varying(1e9), &m, &v, &[y], alpha));
            assert!(held.0 == far.0 && held.3[1] == 0.0 && far.3[1] == 0.0);
        }
    }
    assert!(varying(1e9).check().is_ok() && varying(2.0).check().is_err());
}

#[test]
fn cut_points_follow_frequencies_and_may_be_close() {
    let law = Likelihood::Ordinal(Ordinal::from_frequencies(&[2.0, 0.0, 5.0, 3.0], 0.7));
    let mut p = [0.0; 4];
    law.probabilities(0, &[0.0], &[0.7], &mut p);
    assert_all_close("frequencies", &p, &[0.2, 0.0, 0.5, 0.3], Tolerance::Limit(2e-3));
    assert!(p.iter().all(|p| *p > 0.0), "{p:?}");
    // log(Φ(c + w) − Φ(c)) = log φ(c) + log w as w → 0, from both sides of the switch and beyond rounding.
    for (f, gap) in [(0.3, 1e-5), (0.3, 2e-4), (-40.0, 1e-7), (3.0, 1e-20), (1e6, 1e-9)] {
        let law = Likelihood::Ordinal(Ordinal { first_cut: vec![1.0], gaps: vec![vec![gap]] });
        let (value, mean, var, params) = log_z(&law, &[f], &[0.0], &[1.0], 1.0);
        let c = 1.0 + 0.5 * gap - f;
        assert_close("log p", value, log_phi(c) + gap.ln() + gap * gap * (c * c - 1.0) / 24.0, Tolerance::Value);
        assert_close("∂m", mean[0], c - gap * gap * c / 12.0, Tolerance::Value);
        assert!(var[0].is_finite() && params.iter().all(|bar| bar.is_finite()), "{var:?} {params:?}");
        assert_close("∂gap", params[1] * gap, 1.0, Tolerance::Limit(1e-3 * (1.0 + f.abs())));
    }
}

#[test]
fn nan_moments_give_nan() {
    for Sample { law, .. } in &samples() {
        let y = targets(law, [0.4, -0.7]);
        for alpha in [0.5, 1.0] {
            assert!(log_z(law, &[f64::NAN, 0.0], &[1.0; 2], &y, alpha).0.is_nan());
            assert!(log_z(law, &[0.0; 2], &[f64::NAN, 1.0], &y, alpha).0.is_nan());
        }
        let rows = Mat::from_fn(3, 2, |i, _| if i == 1 { f64::NAN } else { 0.5 });
        let targets = Mat::from_fn(3, y.len(), |_, t| y[t]);
        let (mut mean, mut var, mut params) = (Mat::zeros(3, 2), Mat::zeros(3, 2), vec![0.0; law.n_params()]);
        let found = law.log_z_sum((&rows, &rows), (&targets, &[0, 1, 2]), 0.5, (&mut mean, &mut var), &mut params);
        assert!(found.is_nan(), "{law:?}");
    }
}

#[test]
fn draws_have_the_predictive_moments_and_distribution() {
    for Sample { law, .. } in &samples() {
        let (m, v) = ([0.3, -1.1], [0.5, 0.4]);
        let n = law.n_targets();
        let (mut y_mean, mut y_var) = (vec![0.0; n], vec![0.0; n]);
        law.observe(&m, &v, &mut y_mean, &mut y_var);
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        // f is drawn through a Gaussian law of its own, given its mean.
        let latent = Likelihood::Gaussian(Gaussian { noise_var: v.to_vec() });
        let (mut f, mut y) = ([0.0; 2], vec![0.0; n]);
        let (mut mean, mut central) = (vec![MonteCarlo::default(); n], vec![MonteCarlo::default(); n]);
        let at = [-1.5, -0.2, 0.8];
        let mut below = vec![[(); 3].map(|()| MonteCarlo::default()); n];
        for _ in 0..100_000 {
            latent.sample(&m, &mut rng, &mut f);
            law.sample(&f, &mut rng, &mut y);
            for t in 0..n {
                mean[t].push(y[t]);
                central[t].push((y[t] - y_mean[t]).powi(2));
                below[t].iter_mut().zip(at).for_each(|(below, at)| below.push(f64::from(u8::from(y[t] <= at))));
            }
        }
        for t in 0..n {
            let z = (mean[t].z_score(y_mean[t]), central[t].z_score(y_var[t]));
            assert!(z.0.abs() < 5.0 && z.1.abs() < 5.0, "{law:?} target {t}: z-scores {z:?}");
            for (below, at) in below[t].iter().zip(at) {
                let cdf = law.cdf(t, &m, &v, at);
                let z = if cdf < 1e-6 { below.mean() } else { below.z_score(cdf) };
                assert!(z.abs() < 5.0, "{law:?} target {t} below {at}: z-score {z}");
            }
        }
    }
}

#[test]
fn draws_follow_the_conditional() {
    for Sample { law, .. } in &samples() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let f = [0.2, -0.3];
        for t in 0..law.n_targets() {
            let at = [-0.9, 0.1, 0.5];
            let mut below = [(); 3].map(|()| MonteCarlo::default());
            let (mean, var) = law.moments_given(t, &f);
            let mut average = MonteCarlo::default();
            for _ in 0..50_000 {
                let y = law.draw(t, &f, &mut rng);
                average.push(y);
                below.iter_mut().zip(at).for_each(|(below, at)| below.push(f64::from(u8::from(y <= at))));
            }
            assert!(average.z_score(mean).abs() < 5.0, "{law:?} target {t}: mean");
            // Squares of Student-t draws may have no variance; those of rare or skewed ones have a large one.
            let limit = match law {
                Likelihood::StudentT(_) | Likelihood::VaryingStudentT(_) | Likelihood::RobustMax(_) => 0.2,
                _ if matches!(law.support(t), Support::Whole | Support::Positive) => 0.08,
                _ => 0.03,
            };
            assert_close("variance of draws", average.variance() / var, 1.0, Tolerance::Limit(limit));
            for (below, at) in below.iter().zip(at) {
                let cdf = law.cdf_given(t, &f, at);
                let z = if cdf < 1e-6 { below.mean() } else { below.z_score(cdf) };
                assert!(z.abs() < 5.0, "{law:?} target {t} below {at}: z-score {z}");
            }
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
        assert_eq!(sample.law.check(), Ok(()));
    }
    let gaussian = |s2| Likelihood::Gaussian(Gaussian { noise_var: vec![1.0, s2] });
    assert_eq!(parameter(gaussian(0.0)), ("noise_var", Some(1)));
    assert_eq!(parameter(gaussian(f64::NAN)), ("noise_var", Some(1)));
    let ordinal =
        |cut, gap| Likelihood::Ordinal(Ordinal { first_cut: vec![0.0, cut], gaps: vec![vec![1.0], vec![gap]] });
    assert_eq!(parameter(ordinal(f64::NAN, 1.0)), ("first_cut", Some(1)));
    assert_eq!(parameter(ordinal(0.0, 0.0)), ("gaps", Some(1)));
    assert_eq!(parameter(Likelihood::Softmax(Softmax { n_classes: 1 })), ("classes", None));
    assert_eq!(parameter(Likelihood::RobustMax(RobustMax { n_classes: 1, error: 0.1 })), ("classes", None));
    assert_eq!(parameter(Likelihood::RobustMax(RobustMax { n_classes: 3, error: 1.0 })), ("error", None));
    let student = |s, dof| Likelihood::StudentT(StudentT { scale: vec![1.0, s], dof });
    assert_eq!(parameter(student(-1.0, 4.0)), ("scale", Some(1)));
    for dof in [2.0, f64::NAN, f64::INFINITY] {
        assert_eq!(parameter(student(1.0, dof)), ("dof", None));
    }
}

#[test]
fn bad_targets_are_refused() -> deepgp::Result<()> {
    for Sample { law, .. } in &samples() {
        let columns = law.n_targets();
        let good = Mat::from_fn(2, columns, |i, j| in_support(law.support(j), if i == j { 1.0 } else { -1.0 }));
        assert_eq!(law.check_targets(&good), Ok(()));
        let wide = Mat::zeros(2, 3);
        assert_eq!(law.check_targets(&wide), Err(Error::Shape { what: "target columns", expected: columns, found: 3 }));
        let mut bad = good.clone();
        bad[(1, 0)] = f64::NAN;
        assert_eq!(law.check_targets(&bad), Ok(()), "a missing target");
        bad[(1, 0)] = f64::INFINITY;
        assert!(matches!(law.check_targets(&bad), Err(Error::NotFinite { row: 1, column: 0, .. })));
        for value in [0.5, -0.5] {
            bad[(1, 0)] = value;
            let found = law.check_targets(&bad);
            if law.support(0).contains(value) {
                assert_eq!(found, Ok(()));
            } else {
                assert_eq!(found.map_err(|e| matches!(e, Error::Target { row: 1, column: 0, .. })), Err(true));
            }
        }
        assert!(matches!(law.check_targets(&Mat::zeros(0, columns)), Err(Error::Empty { rows: 0, .. })));
    }
    Ok(())
}

#[test]
fn files_round_trip() -> serde_json::Result<()> {
    for Sample { law, .. } in &samples() {
        let text = serde_json::to_string(law);
        match law {
            Likelihood::Custom(_) => {
                let message = text.expect_err("a law whose code is elsewhere").to_string();
                assert!(
                    message.contains("a likelihood from outside the crate cannot be written to a file"),
                    "{message}"
                );
            }
            _ => assert_eq!(&serde_json::from_str::<Likelihood>(&text?)?, law),
        }
    }
    assert!(serde_json::from_str::<Likelihood>(r#"{"custom":{}}"#).is_err());
    let student = Likelihood::StudentT(StudentT { scale: vec![1.0], dof: 4.0 });
    assert_eq!(serde_json::to_string(&student)?, r#"{"student_t":{"scale":[1.0],"dof":4.0}}"#);
    Ok(())
}

// ---------------------------------------------------------------------------------------------------------------------
// The enum asks its law

/// A law that writes down what it is asked; as for the answers, it has none that anybody could use.
#[derive(Debug, Clone)]
struct Recorder(Arc<Mutex<BTreeSet<&'static str>>>);

impl Recorder {
    fn note(&self, method: &'static str) {
        self.0.lock().expect("nobody panics with the lock").insert(method);
    }
}

impl PartialEq for Recorder {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Parameters for Recorder {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {
        self.note("visit");
    }

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {
        self.note("visit_mut");
    }
}

impl Observation for Recorder {
    fn n_latent(&self) -> usize {
        self.note("n_latent");
        1
    }

    fn n_targets(&self) -> usize {
        self.note("n_targets");
        1
    }

    fn n_columns(&self) -> usize {
        self.note("n_columns");
        1
    }

    fn check(&self) -> deepgp::Result<()> {
        self.note("check");
        Ok(())
    }

    fn support(&self, _target: usize) -> Support {
        self.note("support");
        Support::Real
    }

    fn log_likelihood(&self, _target: usize, _f: &[f64], _y: f64, _slopes: Option<Slopes<'_>>) -> f64 {
        self.note("log_likelihood");
        0.0
    }

    fn moments_given(&self, _target: usize, _f: &[f64]) -> (f64, f64) {
        self.note("moments_given");
        (0.0, 0.0)
    }

    fn cdf_given(&self, _target: usize, _f: &[f64], _y: f64) -> f64 {
        self.note("cdf_given");
        0.0
    }

    fn draw(&self, _target: usize, _f: &[f64], _rng: &mut dyn Rng) -> f64 {
        self.note("draw");
        0.0
    }

    fn check_targets(&self, _y: &Mat) -> deepgp::Result<()> {
        self.note("check_targets");
        Ok(())
    }

    fn log_z(&self, _mean: &[f64], _var: &[f64], _y: &[f64], _alpha: f64, _bar: TiltedBar<'_>) -> f64 {
        self.note("log_z");
        0.0
    }

    fn log_z_sum(
        &self,
        _moments: (&Mat, &Mat),
        _targets: (&Mat, &[usize]),
        _alpha: f64,
        _bars: (&mut Mat, &mut Mat),
        _params: &mut [f64],
    ) -> f64 {
        self.note("log_z_sum");
        0.0
    }

    fn log_density(&self, _mean: &[f64], _var: &[f64], _y: &[f64]) -> f64 {
        self.note("log_density");
        0.0
    }

    fn log_density_of(&self, _target: usize, _mean: &[f64], _var: &[f64], _y: f64) -> f64 {
        self.note("log_density_of");
        0.0
    }

    fn cdf(&self, _target: usize, _mean: &[f64], _var: &[f64], _y: f64) -> f64 {
        self.note("cdf");
        0.0
    }

    fn probabilities(&self, _target: usize, _mean: &[f64], _var: &[f64], _out: &mut [f64]) {
        self.note("probabilities");
    }

    fn observe(&self, _mean: &[f64], _var: &[f64], _y_mean: &mut [f64], _y_var: &mut [f64]) {
        self.note("observe");
    }

    fn sample(&self, _f: &[f64], _rng: &mut dyn Rng, _y: &mut [f64]) {
        self.note("sample");
    }
}

/// The methods of a block of source, by the lines that begin them.
fn methods(source: &'static str, block: &str) -> BTreeSet<&'static str> {
    let (_, body) = source.split_once(block).expect(block);
    let (body, _) = body.split_once("\n}\n").expect("the end of the block");
    let name = |line: &'static str| line.strip_prefix("    fn ")?.split(['(', '<']).next();
    body.lines().filter_map(name).collect()
}

#[test]
fn the_enum_forwards_every_method() {
    let declared = methods(include_str!("../src/likelihood/mod.rs"), "pub trait Observation: Parameters {");
    let forwarded = methods(include_str!("../src/likelihood/choice.rs"), "impl Observation for Likelihood {");
    assert!(declared.contains("log_z") && declared.len() > 10, "{declared:?}");
    assert_eq!(forwarded, declared, "a method without a line in the enum would use its default");

    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let mut law = Likelihood::custom(Recorder(asked.clone()));
    let (one, mut a, mut b) = ([0.0], [0.0], [0.0]);
    let (table, mut mean, mut var) = (Mat::zeros(1, 1), Mat::zeros(1, 1), Mat::zeros(1, 1));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    type Ask<'a> = (&'static str, Box<dyn FnMut(&mut Likelihood) + 'a>);
    let asks: Vec<Ask<'_>> = vec![
        ("n_latent", Box::new(|law| _ = law.n_latent())),
        ("n_targets", Box::new(|law| _ = law.n_targets())),
        ("n_columns", Box::new(|law| _ = law.n_columns())),
        ("check", Box::new(|law| _ = law.check())),
        ("support", Box::new(|law| _ = law.support(0))),
        ("log_likelihood", Box::new(|law| _ = law.log_likelihood(0, &one, 0.0, None))),
        ("moments_given", Box::new(|law| _ = law.moments_given(0, &one))),
        ("cdf_given", Box::new(|law| _ = law.cdf_given(0, &one, 0.0))),
        ("draw", Box::new(|law| _ = law.draw(0, &one, &mut ChaCha8Rng::seed_from_u64(1)))),
        ("check_targets", Box::new(|law| _ = law.check_targets(&table))),
        (
            "log_z",
            Box::new(|law| {
                let (mut mean, mut var) = ([0.0], [0.0]);
                let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut [] };
                _ = law.log_z(&one, &one, &one, 1.0, bar);
            }),
        ),
        (
            "log_z_sum",
            Box::new(|law| _ = law.log_z_sum((&table, &table), (&table, &[0]), 1.0, (&mut mean, &mut var), &mut [])),
        ),
        ("log_density", Box::new(|law| _ = law.log_density(&one, &one, &one))),
        ("log_density_of", Box::new(|law| _ = law.log_density_of(0, &one, &one, 0.0))),
        ("cdf", Box::new(|law| _ = law.cdf(0, &one, &one, 0.0))),
        ("probabilities", Box::new(|law| law.probabilities(0, &one, &one, &mut []))),
        ("observe", Box::new(|law| law.observe(&one, &one, &mut a, &mut b))),
        ("sample", Box::new(|law| law.sample(&one, &mut rng, &mut [0.0]))),
    ];
    let names: BTreeSet<&str> = asks.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, declared, "this test asks every method");
    for (name, mut ask) in asks {
        asked.lock().expect("the lock").clear();
        ask(&mut law);
        assert_eq!(*asked.lock().expect("the lock"), BTreeSet::from([name]), "what was asked, and nothing else");
    }
    asked.lock().expect("the lock").clear();
    law.visit(&mut |_| ());
    law.visit_mut(&mut |_| ());
    assert_eq!(*asked.lock().expect("the lock"), BTreeSet::from(["visit", "visit_mut"]));
}

/// Four latent functions, and nothing of its own for log Z.
#[derive(Debug, Clone, PartialEq)]
struct TooMany;

impl Parameters for TooMany {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {}

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {}
}

impl Observation for TooMany {
    fn n_latent(&self) -> usize {
        4
    }

    fn n_targets(&self) -> usize {
        1
    }

    fn check(&self) -> deepgp::Result<()> {
        Ok(())
    }

    fn support(&self, _target: usize) -> Support {
        Support::Labels(4)
    }

    fn log_likelihood(&self, _target: usize, _f: &[f64], _y: f64, _slopes: Option<Slopes<'_>>) -> f64 {
        -4.0_f64.ln()
    }

    fn moments_given(&self, _target: usize, _f: &[f64]) -> (f64, f64) {
        (1.5, 1.25)
    }

    fn cdf_given(&self, _target: usize, _f: &[f64], y: f64) -> f64 {
        ((y.floor() + 1.0) / 4.0).clamp(0.0, 1.0)
    }

    fn draw(&self, _target: usize, _f: &[f64], _rng: &mut dyn Rng) -> f64 {
        0.0
    }
}

#[test]
fn a_law_with_too_many_latent_functions_for_quadrature_is_refused() {
    let layers = Draw::new(1).network(&[2, 4], 3, false).layers().to_vec();
    let error = DeepGp::new(layers, Likelihood::custom(TooMany)).expect_err("four latent functions");
    assert!(matches!(error, Error::Parameter { name: "latent functions", value: 4.0, .. }), "{error}");
    assert!(error.to_string().contains("must override log_z"), "{error}");
}

// ---------------------------------------------------------------------------------------------------------------------
// Missing targets in the engine

/// Two outputs without hidden layers, with a fifth of the cells missing and one row without any.
fn with_gaps(draw: &mut Draw) -> (DeepGp, Mat, Mat) {
    let model = draw.network(&[2, 2], 4, false);
    let (x, mut y) = (draw.normals(20, 2), draw.normals(20, 2));
    for (row, column) in [(0, 0), (3, 1), (7, 0), (7, 1), (11, 1), (12, 1), (16, 0), (19, 0)] {
        y[(row, column)] = f64::NAN;
    }
    (model, x, y)
}

#[test]
fn the_energy_is_that_of_the_cells_there_are() {
    let draw = &mut Draw::new(3);
    let (model, x, y) = with_gaps(draw);
    let (factors, rows) = (draw.factors(&model), common::rows(&x));
    let inference = inference(Engine::JointEnergy, 0.6, 0.5, 1e-6);
    let of = |y: &Mat| {
        let mut ws = StepWorkspace::new(&model);
        let found =
            inference.sep_energy(&model, &factors, Batch::of(Data::new(&x, y), &rows), &mut ws).expect("an energy");
        [&[found.energy][..], &found.model].concat()
    };
    let empty = Mat::from_fn(20, 2, |_, _| f64::NAN);
    let nothing = of(&empty);
    let mut sum = nothing.clone();
    for (row, column) in (0..20).flat_map(|row| [(row, 0), (row, 1)]).filter(|cell| !y[*cell].is_nan()) {
        let mut alone = empty.clone();
        alone[(row, column)] = y[(row, column)];
        sum.iter_mut().zip(of(&alone).iter().zip(&nothing)).for_each(|(sum, (cell, nothing))| *sum += cell - nothing);
    }
    assert_all_close("energy and gradient", &of(&y), &sum, Tolerance::Value);
}

/// Outputs without hidden layers know nothing of each other but for the kernel, so that steps at fixed parameters move
/// the factors of two together as they move those of each alone.
#[test]
fn outputs_with_gaps_train_together_as_they_train_alone() {
    let draw = &mut Draw::new(5);
    let (both, x, y) = with_gaps(draw);
    let factors = draw.factors(&both);
    for site in [Site::FirstOrder, Site::Exact] {
        let inference = inference(Engine::Sep(site), 0.8, 0.3, 1e-6);
        let steps = |model: &DeepGp, factors: Vec<_>, y: &Mat| {
            let mut state = State::new(vec![factors], 20, &inference).expect("a state");
            let mut ws = StepWorkspace::new(model);
            for step in 0..30 {
                let rows: Vec<usize> = (0..5).map(|i| (5 * step + 3 * i) % 20).collect();
                let found =
                    inference.step(model, &mut state, Batch::of(Data::new(&x, y), &rows), &mut ws).expect("a step");
                assert!(found.energy.is_finite());
            }
            state.factors()[0].clone()
        };
        let together = steps(&both, factors[0].clone(), &y);
        for d in 0..2 {
            let mut layers = both.layers().to_vec();
            layers[0].dim_out = 1;
            let alone = DeepGp::new(layers, gaussian(1, 0.1)).expect("a network");
            let column = Mat::from_fn(20, 1, |i, _| y[(i, d)]);
            let alone = steps(&alone, vec![factors[0][d].clone()], &column);
            let flat = |factor| common::flat(&[vec![factor]]);
            assert_ne!(together[d], factors[0][d]);
            assert_all_close("factors", &flat(together[d].clone()), &flat(alone[0].clone()), Tolerance::Value);
        }
    }
}

/// Every engine, with hidden layers and all likelihoods, takes data with gaps.
#[test]
fn every_engine_steps_over_gaps() {
    let draw = &mut Draw::new(9);
    let (_, x, numbers) = with_gaps(draw);
    for engine in common::engines() {
        for Sample { law, .. } in &samples() {
            let model =
                DeepGp::new(draw.network(&[2, 1, 2], 3, false).layers().to_vec(), law.clone()).expect("a network");
            let target = |i: usize, t: usize| {
                let y = numbers[(i, t)];
                if y.is_nan() { y } else { in_support(law.support(t), y) }
            };
            let y = Mat::from_fn(20, law.n_targets(), target);
            model.check_data(&x, &y).expect("data with gaps");
            let inference = inference(engine, 0.7, 0.3, 1e-6);
            let mut state = State::random(&model, 20, &inference, &mut draw.0).expect("a state");
            let mut ws = StepWorkspace::new(&model);
            for rows in [vec![0, 3, 7], vec![7], vec![11, 1, 2]] {
                let step =
                    inference.step(&model, &mut state, Batch::of(Data::new(&x, &y), &rows), &mut ws).expect("a step");
                assert!(step.energy.is_finite() && step.gradient.iter().all(|g| g.is_finite()), "{engine:?}, {law:?}");
                // Laws that say much about f where it is far from the target ask for shorter steps.
                let is_calm =
                    !matches!(law, Likelihood::Beta(_) | Likelihood::RobustMax(_) | Likelihood::VaryingStudentT(_));
                assert!(step.events.is_empty() || !is_calm, "{engine:?}, {law:?}: {:?}", step.events);
            }
        }
    }
}
