//! Likelihoods with several latent functions and one target: several classes.

mod common;

use common::case::Case;
use common::{Draw, engines};
use deepgp::Data;
use deepgp::Result;
use deepgp::infer::{Batch, Engine, InferenceSettings, Site, State, StepWorkspace};
use deepgp::init::{Architecture, network};
use deepgp::likelihood::{Likelihood, Logit, Observation, Probit, RobustMax, Slopes, Softmax, Support, TiltedBar};
use deepgp::network::DeepGp;
use deepgp::param::{Block, BlockMut, Parameters};
use deepgp::train::{Progress, TrainSettings, Trainer};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::ndtr;
use deepgp_oracle::{Tolerance, assert_all_close, assert_close, assert_gradient, normal_expectation};
use rand::Rng;
use std::ops::ControlFlow;
use std::time::Instant;

/// A law without its closed forms: what it must write, with everything else by quadrature.
#[derive(Debug, Clone, PartialEq)]
struct Plain<L>(L);

impl<L: Parameters> Parameters for Plain<L> {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        self.0.visit(visit);
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        self.0.visit_mut(visit);
    }
}

impl<L: Observation> Observation for Plain<L> {
    fn n_latent(&self) -> usize {
        self.0.n_latent()
    }

    fn n_targets(&self) -> usize {
        self.0.n_targets()
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn support(&self, target: usize) -> Support {
        self.0.support(target)
    }

    fn log_likelihood(&self, target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        self.0.log_likelihood(target, f, y, slopes)
    }

    fn moments_given(&self, target: usize, f: &[f64]) -> (f64, f64) {
        self.0.moments_given(target, f)
    }

    fn cdf_given(&self, target: usize, f: &[f64], y: f64) -> f64 {
        self.0.cdf_given(target, f, y)
    }

    fn draw(&self, target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        self.0.draw(target, f, rng)
    }
}

/// log Z, ∂m and ∂v.
fn log_z(law: &dyn Observation, m: &[f64], v: &[f64], y: f64, alpha: f64) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut mean, mut var, mut params) = (vec![0.0; m.len()], vec![0.0; m.len()], vec![0.0; law.n_params()]);
    let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut params };
    (law.log_z(m, v, &[y], alpha, bar), mean, var)
}

const ALPHAS: [f64; 5] = [0.03, 0.3, 0.5, 0.9, 1.0];

#[test]
fn a_class_that_is_never_seen_leaves_two() {
    let (two, three, logit) = (Softmax { n_classes: 2 }, Softmax { n_classes: 3 }, Logit { dim_out: 1 });
    for m in [[0.3, -1.1], [4.0, 5.0], [-40.0, 8.0], [1e3, -1e3], [-1e6, 1e6], [0.0, 0.0]] {
        for v in [[0.5, 2.0], [1e-9, 1e-12], [0.0, 0.7], [60.0, 0.01], [1e3, 4e3], [1e12, 1e6]] {
            for alpha in ALPHAS {
                let what = format!("m {m:?} v {v:?} α {alpha}");
                let expected = log_z(&logit, &[m[0] - m[1]], &[v[0] + v[1]], 1.0, alpha);
                let found = log_z(&two, &m, &v, 0.0, alpha);
                assert_close(&what, found.0, expected.0, Tolerance::Rounding);
                assert_all_close(&what, &found.1, &[expected.1[0], -expected.1[0]], Tolerance::Rounding);
                assert_all_close(&what, &found.2, &[expected.2[0]; 2], Tolerance::Rounding);

                let far = m[0].min(m[1]) - 1e5;
                let (found, mean, var) = log_z(&three, &[m[0], far, m[1]], &[v[0], 0.3, v[1]], 0.0, alpha);
                if v[0].max(v[1]) > 1e4 || m[0].abs() > 1e5 {
                    assert!(found.is_finite() && found <= 1e-12, "{what}: {found}");
                    assert!(mean.iter().chain(&var).all(|bar| bar.is_finite()), "{what}: {mean:?} {var:?}");
                    continue;
                }
                assert_close(&format!("log Z, {what}"), found, expected.0, Tolerance::Limit(1e-10));
                let (slope, curve) = (expected.1[0], expected.2[0]);
                assert_all_close(&format!("∂m, {what}"), &mean, &[slope, 0.0, -slope], Tolerance::Quadrature);
                assert_all_close(&format!("∂v, {what}"), &var, &[curve, 0.0, curve], Tolerance::Quadrature);
            }
        }
    }
}

#[test]
fn three_classes_agree_with_quadrature_over_all_functions() {
    let (law, plain) = (Softmax { n_classes: 3 }, Plain(Softmax { n_classes: 3 }));
    for (m, v) in [
        ([0.3, -1.1, 0.8], [0.5, 2.0, 1.0]),
        ([2.0, -3.0, 1.0], [0.1, 0.01, 0.3]),
        ([-6.0, 3.0, 1.0], [9.0, 4.0, 30.0]),
        ([0.0, 0.0, 0.0], [0.0, 1e-12, 0.0]),
    ] {
        for (y, alpha) in [(0.0, 1.0), (1.0, 0.5), (2.0, 0.1)] {
            let what = format!("m {m:?} v {v:?} y {y} α {alpha}");
            let (found, expected) = (log_z(&law, &m, &v, y, alpha), log_z(&plain, &m, &v, y, alpha));
            assert_close(&what, found.0, expected.0, Tolerance::Value);
            assert_all_close(&format!("∂m, {what}"), &found.1, &expected.1, Tolerance::Quadrature);
            assert_all_close(&format!("∂v, {what}"), &found.2, &expected.2, Tolerance::Quadrature);
        }
    }
}

/// Moments of some classes, of very different sizes.
fn some_moments(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut draw = Draw::new(seed);
    let mean = (0..n).map(|_| 3.0 * draw.normal()).collect();
    (mean, (0..n).map(|_| (2.0 * draw.normal() - 1.0).exp()).collect())
}

#[test]
fn derivatives_are_those_of_the_value() {
    for n in [3, 5, 20] {
        for law in [Likelihood::Softmax(Softmax { n_classes: n }), robust(n)] {
            let (m, v) = some_moments(n, n as u64);
            for alpha in [0.2, 0.5, 1.0] {
                let (_, mean, var) = log_z(&law, &m, &v, 1.0, alpha);
                // Only differences of means matter.
                assert!(mean.iter().sum::<f64>().abs() < 1e-9, "{law:?}: {mean:?}");
                assert_gradient("∂m", |m| log_z(&law, m, &v, 1.0, alpha).0, &m, &mean);
                // Steps of differences must not pass 0.
                let v: Vec<f64> = v.iter().map(|v| v + 0.1).collect();
                let (_, _, var_here) = log_z(&law, &m, &v, 1.0, alpha);
                assert_gradient("∂v", |v| log_z(&law, &m, v, 1.0, alpha).0, &v, &var_here);
                assert_eq!(var.len(), n);
            }
        }
    }
}

fn robust(n_classes: usize) -> Likelihood {
    Likelihood::RobustMax(RobustMax { n_classes, error: 0.02 })
}

#[test]
fn probabilities_of_all_classes_are_one_by_one_those_of_each() {
    for n in [2, 3, 10, 100] {
        for law in [Likelihood::Softmax(Softmax { n_classes: n }), robust(n)] {
            let (m, v) = some_moments(n, 40 + n as u64);
            let mut all = vec![0.0; n];
            law.probabilities(0, &m, &v, &mut all);
            let each: Vec<f64> = (0..n).map(|y| law.log_density_of(0, &m, &v, y as f64).exp()).collect();
            assert_close("sum", each.iter().sum(), 1.0, Tolerance::Value);
            assert_all_close("probabilities", &all, &each, Tolerance::Value);
            let (mut mean, mut var) = ([0.0], [0.0]);
            law.observe(&m, &v, &mut mean, &mut var);
            let expected: f64 = each.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
            assert_close("mean label", mean[0], expected, Tolerance::Value);
            assert_close("cdf", law.cdf(0, &m, &v, 1.5), each[0] + each[1], Tolerance::Value);
            assert!(law.cdf(0, &m, &v, f64::NAN).is_nan() && law.log_density_of(0, &m, &v, f64::NAN) == 0.0);
        }
    }
}

#[test]
fn extreme_moments_of_many_classes_stay_finite() {
    for law in [Likelihood::Softmax(Softmax { n_classes: 4 }), robust(4)] {
        for m in [[1e6, -1e6, 3.0, 0.0], [0.0; 4], [-1e3, -1e3, -1e3, 500.0]] {
            for v in [[0.0; 4], [1e-12; 4], [1e12; 4], [1e12, 1e-12, 1.0, 0.0], [1e6, 5.0, 200.0, 0.1]] {
                for (y, alpha) in [(0.0, 1.0), (1.0, 0.5), (3.0, 1e-3)] {
                    let (value, mean, var) = log_z(&law, &m, &v, y, alpha);
                    let what = format!("{law:?} m {m:?} v {v:?} y {y} α {alpha}: {value} {mean:?} {var:?}");
                    assert!([value].iter().chain(&mean).chain(&var).all(|x| x.is_finite()), "{what}");
                    assert!(value <= 1e-9, "{what}");
                }
                let mut all = vec![0.0; 4];
                law.probabilities(0, &m, &v, &mut all);
                assert!(all.iter().all(|p| (0.0..=1.0).contains(p)), "{law:?} m {m:?} v {v:?}: {all:?}");
                assert_close("sum", all.iter().sum(), 1.0, Tolerance::Value);
            }
        }
    }
    assert!(log_z(&Softmax { n_classes: 3 }, &[f64::NAN, 0.0, 0.0], &[1.0; 3], 0.0, 0.5).0.is_nan());
    assert!(log_z(&robust(3), &[f64::NAN, 0.0, 0.0], &[1.0; 3], 0.0, 0.5).0.is_nan());
}

#[test]
fn the_largest_function_is_the_label_but_for_errors() {
    // With two classes P = Φ((m₁ − m₂)/√(v₁ + v₂)), with three an average over the first.
    let error: f64 = 0.02;
    let power = |p: f64, n: f64, alpha: f64| {
        let (right, wrong) = ((1.0 - error).powf(alpha), (error / (n - 1.0)).powf(alpha));
        (right * p + wrong * (1.0 - p)).ln()
    };
    for (m, v) in [([0.3, -1.1, 0.8], [0.5, 2.0, 1.0]), ([2.0, 5.0, 1.0], [1.0, 1.0, 30.0])] {
        for alpha in ALPHAS {
            let p = ndtr((m[0] - m[1]) / f64::sqrt(v[0] + v[1]));
            assert_close(
                "two",
                log_z(&robust(2), &m[..2], &v[..2], 0.0, alpha).0,
                power(p, 2.0, alpha),
                Tolerance::Value,
            );
            let below = |f: f64, k: usize| ndtr((f - m[k]) / v[k].sqrt());
            let p = normal_expectation(|f| below(f[0], 1) * below(f[0], 2), &m[..1], &v[..1], 400);
            assert_close("three", log_z(&robust(3), &m, &v, 0.0, alpha).0, power(p, 3.0, alpha), Tolerance::Value);
        }
    }
}

#[test]
#[ignore = "measures time, on a quiet machine: cargo test -p deepgp --test one_target -- --ignored"]
fn a_hundred_classes_cost_ten_times_as_much_as_ten() {
    for of in [|n_classes| Likelihood::Softmax(Softmax { n_classes }), robust] {
        let seconds = |n: usize| {
            let law = of(n);
            let (mean, var) = (some_moments(n, 3).0, vec![0.5; n]);
            let once = |_| {
                let start = Instant::now();
                (0..20).for_each(|_| assert!(log_z(&law, &mean, &var, 1.0, 0.5).0 < 0.0));
                start.elapsed().as_secs_f64() / 20.0
            };
            (0..10).map(once).fold(f64::INFINITY, f64::min)
        };
        let (ten, hundred) = (seconds(10), seconds(100));
        println!("{:?}: {:.1} µs for 10 classes, {:.1} µs for 100", of(10), 1e6 * ten, 1e6 * hundred);
        assert!(hundred < 25.0 * ten, "{ten} s and {hundred} s");
    }
}

#[test]
fn gradients_are_those_of_the_energies_under_every_engine() {
    for law in [Likelihood::Softmax(Softmax { n_classes: 3 }), robust(3)] {
        for widths in [&[1, 3][..], &[2, 1, 3]] {
            let mut draw = Draw::new(7);
            let model = DeepGp::new(draw.network(widths, 3, false).layers().to_vec(), law.clone()).expect("a network");
            let factors = draw.factors(&model);
            let x = draw.normals(4, widths[0]);
            let y = Mat::from_fn(4, 1, |i, _| (i % 3) as f64);
            let name = format!("{law:?}, widths {widths:?}");
            let case = Case { name, model, factors, x, y, alpha: 0.6, tolerance: Tolerance::Gradient };
            engines().into_iter().for_each(|engine| case.check_step(engine));
        }
    }
}

#[test]
fn every_engine_trains_them() {
    // Three classes side by side.
    let n = 60;
    let x = Mat::from_fn(n, 1, |i, _| i as f64 / n as f64 * 4.0 - 2.0);
    let y = Mat::from_fn(n, 1, |i, _| (3 * i / n) as f64);
    for law in [Likelihood::Softmax(Softmax { n_classes: 3 }), robust(3)] {
        for engine in engines() {
            let shape = Architecture { hidden: vec![], n_inducing: 8, ..Architecture::default() };
            let model = network(&x, law.clone(), &shape, &mut Draw::new(1).0).expect("a network").0;
            let inference = InferenceSettings { alpha: 0.5, ..InferenceSettings::of(engine) };
            let settings = TrainSettings {
                inference,
                iterations: 200,
                batch_size: 10,
                learning_rate: 0.03,
                ..TrainSettings::default()
            };
            let mut trainer = Trainer::new(model, Data::new(&x, &y), settings).expect("a trainer");
            trainer.run(&mut |progress: &Progress<'_>| {
                assert!(progress.energy.is_finite(), "{law:?}, {engine:?}");
                ControlFlow::Continue(())
            });
            let density = trainer.predictor().expect("a predictor").log_density(&x, &y).expect("densities");
            let mean = density.iter().sum::<f64>() / n as f64;
            assert!(mean > -0.6, "{law:?}, {engine:?}: {mean}");
        }
    }
}

/// Seconds of the quickest of some steps of a 13-2-K network with 50 inducing inputs on 50 rows, for each likelihood by
/// turns.
fn step_seconds(laws: &[(usize, Likelihood)], alpha: f64) -> Vec<f64> {
    let mut draw = Draw::new(11);
    let x = draw.normals(50, 13);
    let inference = common::inference(Engine::Sep(Site::FirstOrder), alpha, 0.1, 1e-6);
    let mut runs: Vec<_> = laws
        .iter()
        .map(|(width, law)| {
            let layers = draw.network(&[13, 2, *width], 50, false).layers().to_vec();
            let model = DeepGp::new(layers, law.clone()).expect("a network");
            let y = common::laws::explained(law, &Mat::from_fn(50, law.n_targets(), |i, t| ((i + t) % 10) as f64));
            let state = State::random(&model, 500, &inference, &mut draw.0).expect("a state");
            (StepWorkspace::new(&model), model, y, state, f64::INFINITY)
        })
        .collect();
    let rows = common::rows(&x);
    for _ in 0..12 {
        for (ws, model, y, state, best) in &mut runs {
            let start = Instant::now();
            let step = inference.step(model, state, Batch::of(Data::new(&x, y), &rows), ws).expect("a step");
            *best = best.min(start.elapsed().as_secs_f64());
            assert!(step.energy.is_finite());
        }
    }
    runs.into_iter().map(|run| run.4).collect()
}

#[test]
#[ignore = "measures time, on a quiet machine: cargo test -p deepgp --test one_target -- --ignored"]
fn a_step_with_ten_classes_costs_no_more_than_ten_with_gaussian_noise() {
    for alpha in [0.5, 1.0] {
        let laws = [
            (1, common::gaussian(1, 0.1)),
            (1, Likelihood::Probit(Probit { dim_out: 1 })),
            (1, Likelihood::Logit(Logit { dim_out: 1 })),
            (10, Likelihood::Softmax(Softmax { n_classes: 10 })),
            (10, robust(10)),
        ];
        let seconds = step_seconds(&laws, alpha);
        for ((_, law), found) in laws.iter().zip(&seconds) {
            println!("α {alpha}, {law:?}: {:.2} ms, {:.2} of Gaussian noise", 1e3 * found, found / seconds[0]);
        }
        assert!(seconds[3] < 10.0 * seconds[0], "{seconds:?}");
    }
}
