//! A likelihood from outside the crate with two latent functions and one target, through everything that a likelihood
//! meets.

mod common;

use common::case::Case;
use common::varying_noise::VaryingNoise;
use common::{Draw, column, engines};
use deepgp::Data;
use deepgp::infer::InferenceSettings;
use deepgp::init::{Architecture, network};
use deepgp::likelihood::{Likelihood, Observation};
use deepgp::network::DeepGp;
use deepgp::predict::Predictor;
use deepgp::train::{Progress, Snapshot, TrainSettings, Trainer};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::normal_log_density;
use deepgp_oracle::{MonteCarlo, Tolerance};
use std::ops::ControlFlow;

/// The page shows the law of these tests, word for word.
#[test]
fn the_page_shows_this_law() {
    let page = include_str!("../../../docs/LIKELIHOODS.md");
    let law = include_str!("common/varying_noise.rs");
    assert!(page.contains(&format!("```rust\n{law}```\n")), "docs/LIKELIHOODS.md must quote common/varying_noise.rs");
}

fn law() -> Likelihood {
    Likelihood::custom(VaryingNoise { scale: 0.3 })
}

/// log of the deviation of the noise at x.
fn log_deviation(x: f64) -> f64 {
    x - 1.5
}

/// Noise that grows thirtyfold from left to right.
fn data(n: usize, seed: u64) -> (Mat, Mat) {
    let mut draw = Draw::new(seed);
    let x = column(&draw.uniforms(n, -2.0, 2.0));
    let y = Mat::from_fn(n, 1, |i, _| (2.0 * x[(i, 0)]).sin() + log_deviation(x[(i, 0)]).exp() * draw.normal());
    (x, y)
}

fn start(x: &Mat, hidden: Vec<usize>) -> DeepGp {
    let shape = Architecture { hidden, n_inducing: 8, ..Architecture::default() };
    network(x, law(), &shape, &mut Draw::new(1).0).expect("a network").0
}

#[test]
fn its_gradient_is_that_of_its_energy_under_every_engine() {
    for alpha in [0.5, 1.0] {
        for widths in [&[1, 2][..], &[2, 1, 2]] {
            let mut draw = Draw::new(7);
            let layers = draw.network(widths, 3, false).layers().to_vec();
            let model = DeepGp::new(layers, law()).expect("a network");
            let factors = draw.factors(&model);
            let (x, y) = (draw.normals(4, widths[0]), draw.normals(4, 1));
            let name = format!("two latent functions, widths {widths:?}, α = {alpha}");
            let case = Case { name, model, factors, x, y, alpha, tolerance: Tolerance::Gradient };
            engines().into_iter().for_each(|engine| case.check_step(engine));
        }
    }
}

#[test]
fn every_engine_trains_it() {
    let (x, y) = data(40, 2);
    for engine in engines() {
        for alpha in [0.5, 1.0] {
            let inference = InferenceSettings { alpha, ..InferenceSettings::of(engine) };
            let settings = TrainSettings {
                inference,
                iterations: 40,
                batch_size: 10,
                learning_rate: 0.02,
                ..TrainSettings::default()
            };
            let mut trainer = Trainer::new(start(&x, vec![1]), Data::new(&x, &y), settings).expect("a trainer");
            let mut energies = Vec::new();
            let outcome = trainer.run(&mut |progress: &Progress<'_>| {
                energies.push(progress.energy);
                ControlFlow::Continue(())
            });
            let what = format!("{engine:?}, α = {alpha}: {energies:?}");
            assert!(energies.len() == 40 && energies.iter().all(|e| e.is_finite()), "{what}");
            let mean = |energies: &[f64]| energies.iter().sum::<f64>() / energies.len() as f64;
            assert!(mean(&energies[30..]) < mean(&energies[..10]), "{what}");
            assert!(outcome.energy.is_finite(), "{what}");
            let fitted = trainer.fitted();
            assert_eq!(fitted, fitted.clone());
            assert_eq!(fitted.network.likelihood().n_targets(), 1);
        }
    }
}

/// A predictor that has seen 200 rows.
fn trained(hidden: Vec<usize>) -> Predictor {
    let (x, y) = data(200, 3);
    let settings =
        TrainSettings { iterations: 300, batch_size: 20, learning_rate: 0.02, threads: 1, ..TrainSettings::default() };
    let mut trainer = Trainer::new(start(&x, hidden), Data::new(&x, &y), settings).expect("a trainer");
    trainer.run(&mut ());
    trainer.predictor().expect("a predictor")
}

#[test]
fn it_predicts_samples_and_scores() {
    let predictor = trained(vec![]);
    let (x, y) = data(500, 4);
    let prediction = predictor.predict(&x).expect("a prediction");
    assert_eq!((prediction.f.mean.cols(), prediction.y.mean.cols()), (2, 1));

    // The density of the target beats that of a normal which knows the mean and has the best constant noise.
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let residuals: Vec<f64> = (0..500).map(|i| y[(i, 0)] - (2.0 * x[(i, 0)]).sin()).collect();
    let var = mean_of(&residuals.iter().map(|e| e * e).collect::<Vec<_>>());
    let constant = mean_of(&residuals.iter().map(|e| normal_log_density(*e, 0.0, var)).collect::<Vec<_>>());
    let truth = (0..500).map(|i| normal_log_density(residuals[i], 0.0, (2.0 * log_deviation(x[(i, 0)])).exp()));
    let truth = mean_of(&truth.collect::<Vec<_>>());
    let found = predictor.log_density(&x, &y).expect("densities");
    let found_mean = mean_of(&found);
    let is_close = (found_mean - truth).abs() < 0.1;
    assert!(found_mean > constant + 0.5 && is_close, "{found_mean}, constant noise {constant}, truth {truth}");

    // Without a hidden layer the mixture has one component.
    let mut draw = Draw::new(5);
    let few: Vec<usize> = (0..30).collect();
    let (x, y) = (x.select_rows(&few), y.select_rows(&few));
    let mixture = predictor.mixture_log_density(&x, &y, 3, &mut draw.0).expect("densities");
    for (mixture, found) in mixture.iter().zip(&found) {
        assert!((mixture - found).abs() < 1e-9, "{mixture} and {found}");
    }

    // Deviations of predictions follow those of the noise.
    let at = column(&[-1.5, 1.5]);
    let deviations: Vec<f64> =
        predictor.predict(&at).expect("a prediction").y.var.as_slice().iter().map(|v| v.sqrt()).collect();
    for (deviation, x) in deviations.iter().zip([-1.5, 1.5]) {
        let ratio = deviation / log_deviation(x).exp();
        assert!((0.8..1.25).contains(&ratio), "{ratio} at {x}");
    }

    // Draws have the moments, and their share below a value is the distribution function.
    let prediction = predictor.predict(&at).expect("a prediction");
    let value = |i: usize| prediction.y.mean[(i, 0)] + 0.5 * prediction.y.var[(i, 0)].sqrt();
    let mut tallies = [(); 2].map(|()| [(); 3].map(|()| MonteCarlo::default()));
    for draw in predictor.sample(&at, 5_000, &mut draw.0).expect("draws") {
        for (i, [mean, central, below]) in tallies.iter_mut().enumerate() {
            let y = draw[(i, 0)];
            mean.push(y);
            central.push((y - prediction.y.mean[(i, 0)]).powi(2));
            below.push(f64::from(u8::from(y <= value(i))));
        }
    }
    for (i, [mean, central, below]) in tallies.iter().enumerate() {
        let law = predictor.fitted().network.likelihood();
        let cdf = law.cdf(0, prediction.f.mean.row(i), prediction.f.var.row(i), value(i));
        let z =
            [mean.z_score(prediction.y.mean[(i, 0)]), central.z_score(prediction.y.var[(i, 0)]), below.z_score(cdf)];
        assert!(z.iter().all(|z| z.abs() < 5.0), "row {i}: z-scores {z:?}");
    }
}

#[test]
fn the_mixture_over_hidden_layers_is_a_density() {
    let (x, y) = data(40, 2);
    let settings = TrainSettings { iterations: 60, batch_size: 20, learning_rate: 0.02, ..TrainSettings::default() };
    let mut trainer = Trainer::new(start(&x, vec![1]), Data::new(&x, &y), settings).expect("a trainer");
    trainer.run(&mut ());
    let predictor = trainer.predictor().expect("a predictor");
    // ∫ p(y) dy over a grid at one x, with the same draws of the hidden layer for all y.
    let step = 0.05;
    let total: f64 = (-160..=160)
        .map(|j| f64::from(j) * step)
        .map(|y| {
            let rng = &mut Draw::new(8).0;
            let log_p = predictor.mixture_log_density(&column(&[0.3]), &column(&[y]), 3, rng).expect("a density");
            step * log_p[0].exp()
        })
        .sum();
    assert!((total - 1.0).abs() < 1e-4, "{total}");
}

#[test]
fn it_is_a_value_but_not_a_file() {
    let (x, y) = data(20, 2);
    let trainer = Trainer::new(start(&x, vec![1]), Data::new(&x, &y), TrainSettings::default()).expect("a trainer");
    let snapshot: Snapshot = trainer.snapshot();
    assert_eq!(snapshot, snapshot.clone());
    assert_ne!(law(), Likelihood::custom(VaryingNoise { scale: 0.4 }));
    assert!(format!("{:?}", law()).contains("VaryingNoise"));
    let error = serde_json::to_string(&snapshot).expect_err("no file");
    assert!(error.to_string().contains("a likelihood from outside the crate cannot be written to a file"), "{error}");
    // In memory a run goes on as it would have.
    let mut resumed = Trainer::resume(snapshot, Data::new(&x, &y)).expect("a trainer");
    let mut first = trainer;
    for trainer in [&mut first, &mut resumed] {
        trainer.run(&mut |progress: &Progress<'_>| {
            if progress.step >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    assert_eq!(first.fitted(), resumed.fitted());
}
