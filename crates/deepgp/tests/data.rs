//! Rows that say more than x and y: offsets, weights, and the network's constant, under every engine and in predictions.

mod common;

use common::case::SMOOTH_JITTER;
use common::{Draw, engines, flat, free, gaussian, inference, rows};
use deepgp::gauss::DiagGaussian;
use deepgp::infer::{Batch, Engine, InferenceSettings, Site, State, StepWorkspace};
use deepgp::likelihood::{Likelihood, Observation, Poisson, Probit, StudentT};
use deepgp::network::DeepGp;
use deepgp::param::Parameters;
use deepgp::predict::{Points, Predictor};
use deepgp::train::{self, Progress, TrainSettings, Trainer};
use deepgp::{Data, Error, Fitted};
use deepgp_numerics::linalg::Mat;
use deepgp_oracle::{MonteCarlo, Tolerance, assert_all_close, assert_close, gradient};
use std::ops::ControlFlow;

/// A network of two inputs with the given likelihood of one latent function.
fn with_law(draw: &mut Draw, hidden: &[usize], law: Likelihood) -> DeepGp {
    let widths = [&[2], hidden, &[1]].concat();
    DeepGp::new(draw.network(&widths, 4, !hidden.is_empty()).layers().to_vec(), law).expect("a network")
}

fn laws() -> [Likelihood; 4] {
    [
        gaussian(1, 0.2),
        Likelihood::StudentT(StudentT { scale: vec![0.4], dof: 4.0 }),
        Likelihood::Poisson(Poisson { dim_out: 1 }),
        Likelihood::Probit(Probit { dim_out: 1 }),
    ]
}

/// Inputs, targets that the law can explain, and offsets of `n` rows.
fn data(draw: &mut Draw, law: &Likelihood, n: usize) -> (Mat, Mat, DiagGaussian) {
    let (x, y) = (draw.normals(n, 2), common::laws::explained(law, &draw.normals(n, 1)));
    let mean = draw.normals(n, 1);
    (x, y, DiagGaussian { mean, var: Mat::from_fn(n, 1, |_, _| draw.uniform(0.0, 0.6)) })
}

fn select(offset: &DiagGaussian, rows: &[usize]) -> DiagGaussian {
    DiagGaussian { mean: offset.mean.select_rows(rows), var: offset.var.select_rows(rows) }
}

/// Energy, gradient and factors after some steps with all rows.
fn steps(engine: Engine, model: &DeepGp, factors: &[Vec<deepgp::gauss::Factor>], data: Data<'_>) -> Vec<f64> {
    let inference = inference(engine, 0.6, 0.3, 1e-6);
    let mut state = State::new(factors.to_vec(), data.x().rows(), &inference).expect("a state");
    let (mut ws, all, mut out) = (StepWorkspace::new(model), rows(data.x()), Vec::new());
    for _ in 0..3 {
        let step = inference.step(model, &mut state, Batch::of(data, &all), &mut ws).expect("a step");
        assert!(step.is_finite(), "{engine:?}");
        out.push(step.energy);
        out.extend(step.gradient);
        out.extend(flat(state.factors()));
    }
    out
}

#[test]
fn a_whole_weight_is_that_many_equal_rows() {
    for law in laws() {
        for hidden in [&[][..], &[2]] {
            let draw = &mut Draw::new(4);
            let model = with_law(draw, hidden, law.clone()).with_constant(vec![0.3]).expect("a constant");
            let factors = draw.factors(&model);
            let (x, y, offset) = data(draw, &law, 70);
            let weights: Vec<f64> = (0..70).map(|n| [1.0, 3.0, 2.0][n % 3]).collect();
            let repeated: Vec<usize> = (0..70).flat_map(|n| std::iter::repeat_n(n, weights[n] as usize)).collect();
            let (many_x, many_y, many) =
                (x.select_rows(&repeated), y.select_rows(&repeated), select(&offset, &repeated));
            for engine in [Engine::Sep(Site::FirstOrder), Engine::Sep(Site::Exact), Engine::JointEnergy] {
                let few =
                    steps(engine, &model, &factors, Data::new(&x, &y).with_offset(&offset).with_weights(&weights));
                let all = steps(engine, &model, &factors, Data::new(&many_x, &many_y).with_offset(&many));
                assert_all_close(&format!("{engine:?}, {law:?}, {hidden:?}"), &few, &all, Tolerance::Value);
            }
        }
    }
}

#[test]
fn weights_of_one_and_offsets_of_nothing_change_nothing() {
    let draw = &mut Draw::new(4);
    for hidden in [&[][..], &[2]] {
        let model = with_law(draw, hidden, gaussian(1, 0.2));
        let factors = draw.factors(&model);
        let (x, y, _) = data(draw, &gaussian(1, 0.2), 30);
        let (ones, nothing) = (vec![1.0; 30], DiagGaussian::zeros(30, 1));
        let plain = Data::new(&x, &y);
        for engine in engines() {
            let expected = steps(engine, &model, &factors, plain);
            let found = steps(engine, &model, &factors, plain.with_offset(&nothing));
            assert_all_close("no offset", &found, &expected, Tolerance::Rounding);
            if !matches!(engine, Engine::Ep | Engine::Adf) {
                let found = steps(engine, &model, &factors, plain.with_weights(&ones));
                assert_all_close("weights of one", &found, &expected, Tolerance::Value);
            }
        }
    }
}

/// Means move the target, and at α = 1 variances that are equal for all rows are noise.
#[test]
fn offsets_of_normal_targets_are_shifts_and_noise() {
    let draw = &mut Draw::new(6);
    let model = with_law(draw, &[1], gaussian(1, 0.2));
    let factors = draw.factors(&model);
    let (x, y, mut offset) = data(draw, &gaussian(1, 0.2), 25);
    offset.var.as_mut_slice().fill(0.5);
    let shifted = Mat::from_fn(25, 1, |n, _| y[(n, 0)] - offset.mean[(n, 0)] - 0.4);
    let noisier = DeepGp::new(model.layers().to_vec(), gaussian(1, 0.7)).expect("a network");
    let constant = model.clone().with_constant(vec![0.4]).expect("a constant");
    for engine in engines() {
        let inference = inference(engine, 1.0, 0.3, 1e-6);
        let of = |model: &DeepGp, data: Data<'_>| {
            let mut state = State::new(factors.clone(), 25, &inference).expect("a state");
            let mut ws = StepWorkspace::new(model);
            let energies = [[0, 4, 9], [1, 9, 20]]
                .map(|rows| inference.step(model, &mut state, Batch::of(data, &rows), &mut ws).expect("a step").energy);
            [energies.to_vec(), flat(state.factors())].concat()
        };
        let found = of(&constant, Data::new(&x, &y).with_offset(&offset));
        assert_all_close(&format!("{engine:?}"), &found, &of(&noisier, Data::new(&x, &shifted)), Tolerance::Value);
    }
}

/// Of batches, with offsets, weights where they are taken, and a constant among the parameters.
#[test]
fn gradients_are_those_of_the_energies() {
    for law in laws() {
        for hidden in [&[][..], &[1]] {
            let draw = &mut Draw::new(8);
            let model = with_law(draw, hidden, law.clone()).with_constant(vec![-0.2]).expect("a constant");
            let factors = draw.factors(&model);
            let (x, y, offset) = data(draw, &law, 6);
            let weights = draw.uniforms(6, 0.3, 3.0);
            for engine in engines() {
                let (data, batch_rows): (_, &[usize]) = match engine {
                    // Within a batch EP and ADF move from point to point.
                    Engine::Ep | Engine::Adf => (Data::new(&x, &y).with_offset(&offset), &[2]),
                    _ => (Data::new(&x, &y).with_offset(&offset).with_weights(&weights), &[0, 2, 5]),
                };
                let inference = inference(engine, 0.7, 0.3, SMOOTH_JITTER);
                let state = State::new(factors.clone(), 6, &inference).expect("a state");
                let batch = Batch::of(data, batch_rows);
                let mut theta = free(&model);
                state.read_free(&mut theta);
                let energy = |theta: &[f64]| {
                    let (mut model, mut state) = (model.clone(), state.clone());
                    let used = model.write_free(theta);
                    state.write_free(&theta[used..]);
                    let mut ws = StepWorkspace::new(&model);
                    match engine {
                        Engine::Ep | Engine::Adf => {
                            inference.step(&model, &mut state, batch, &mut ws).expect("a step").energy
                        }
                        _ => inference.sep_energy(&model, state.factors(), batch, &mut ws).expect("an energy").energy,
                    }
                };
                let mut ws = StepWorkspace::new(&model);
                let step = inference.step(&model, &mut state.clone(), batch, &mut ws).expect("a step");
                let what = format!("{engine:?}, {law:?}, {hidden:?}");
                assert_close(&what, step.energy, energy(&theta), Tolerance::Rounding);
                assert_all_close(&what, &step.gradient, &gradient(energy, &theta), Tolerance::Gradient);
            }
        }
    }
}

/// Weights count in the derivatives by the factors too.
#[test]
fn the_energy_of_weighted_rows_knows_its_derivative_in_the_factors() {
    let draw = &mut Draw::new(3);
    let model = with_law(draw, &[1], gaussian(1, 0.2));
    let factors = draw.factors(&model);
    let (x, y, offset) = data(draw, &gaussian(1, 0.2), 6);
    let weights = draw.uniforms(6, 0.3, 3.0);
    let inference = inference(Engine::JointEnergy, 0.7, 0.3, SMOOTH_JITTER);
    let batch = Batch::of(Data::new(&x, &y).with_offset(&offset).with_weights(&weights), &[0, 2, 5]);
    let mut ws = StepWorkspace::new(&model);
    let found = inference.sep_energy(&model, &factors, batch, &mut ws).expect("an energy");
    for (l, d) in [(0, 0), (1, 0)] {
        let energy = |linear: &[f64]| {
            let mut factors = factors.clone();
            factors[l][d].linear.copy_from_slice(linear);
            inference.sep_energy(&model, &factors, batch, &mut ws).expect("an energy").energy
        };
        let expected = gradient(energy, &factors[l][d].linear);
        assert_all_close("∂η", &found.factors[l][d].linear, &expected, Tolerance::Gradient);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let draw = &mut Draw::new(2);
    let model = with_law(draw, &[], gaussian(1, 0.2));
    let (x, y, offset) = data(draw, &gaussian(1, 0.2), 8);
    let plain = Data::new(&x, &y);
    let weights = vec![1.5; 8];
    assert_eq!(plain.with_offset(&offset).with_weights(&weights).check(&model), Ok(()));
    assert!(matches!(plain.with_weights(&weights[1..]).check(&model), Err(Error::Shape { what: "weights", .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut weights = weights.clone();
        weights[3] = bad;
        let refused = plain.with_weights(&weights).check(&model);
        assert!(matches!(refused, Err(Error::Parameter { name: "weights", entry: Some(3), .. })), "{refused:?}");
    }
    let refused = plain.with_weights(&[0.1; 8]).check(&model);
    assert!(matches!(refused, Err(Error::Parameter { name: "sum of the weights", .. })), "{refused:?}");
    let few = select(&offset, &[0, 1]);
    assert!(matches!(plain.with_offset(&few).check(&model), Err(Error::Shape { expected: 8, found: 2, .. })));
    let wide = DiagGaussian::zeros(8, 2);
    assert!(matches!(plain.with_offset(&wide).check(&model), Err(Error::Shape { expected: 1, found: 2, .. })));
    let (mut no_mean, mut no_var) = (offset.clone(), offset.clone());
    no_mean.mean[(2, 0)] = f64::NAN;
    assert!(matches!(plain.with_offset(&no_mean).check(&model), Err(Error::NotFinite { what: "offset", row: 2, .. })));
    no_var.var[(5, 0)] = -1.0;
    let refused = plain.with_offset(&no_var).check(&model);
    assert!(matches!(refused, Err(Error::Parameter { name: "variances of the offset", entry: Some(5), .. })));

    // Everything that takes data looks.
    let fitted =
        Fitted { factors: draw.factors(&model), network: model.clone(), inference: InferenceSettings::default() };
    assert!(train::energy(&fitted, plain.with_offset(&few)).is_err());
    let predictor = Predictor::new(fitted).expect("a predictor");
    assert!(predictor.predict(Points::new(&x).with_offset(&few)).is_err());
    assert!(predictor.log_density(Points::new(&x).with_offset(&few), &y).is_err());
    assert!(predictor.layers(Points::new(&x).with_offset(&no_var)).is_err());
    assert!(predictor.sample(Points::new(&x).with_offset(&wide), 1, &mut draw.0).is_err());
    for engine in engines() {
        let settings = TrainSettings { inference: InferenceSettings::of(engine), ..TrainSettings::default() };
        assert!(Trainer::new(model.clone(), plain.with_offset(&few), settings.clone()).is_err());
        let trainer = Trainer::new(model.clone(), plain.with_weights(&weights), settings);
        match engine {
            Engine::Sep(_) | Engine::JointEnergy => assert!(trainer.is_ok(), "{engine:?}"),
            Engine::Ep | Engine::Adf => {
                let message = trainer.map(|_| ()).expect_err("no weights").to_string();
                assert!(message.contains("take no weights"), "{message}");
                let inference = inference(engine, 1.0, 0.5, 1e-6);
                let mut state = State::new(draw.factors(&model), 8, &inference).expect("a state");
                let mut ws = StepWorkspace::new(&model);
                let batch = Batch::of(plain.with_weights(&weights), &[1, 2]);
                assert!(inference.step(&model, &mut state, batch, &mut ws).is_err());
            }
        }
    }
    assert!(matches!(model.clone().with_constant(vec![1.0; 2]), Err(Error::Shape { expected: 1, found: 2, .. })));
    let refused = model.with_constant(vec![f64::NAN]);
    assert!(matches!(refused, Err(Error::Parameter { name: "constant", entry: Some(0), .. })));
}

#[test]
fn predictions_know_constant_and_offset() {
    let draw = &mut Draw::new(5);
    for (hidden, law) in [(&[][..], gaussian(1, 0.2)), (&[2], Likelihood::StudentT(StudentT::isotropic(1, 0.4, 5.0)))] {
        let plain = with_law(draw, hidden, law.clone());
        let network = plain.clone().with_constant(vec![0.7]).expect("a constant");
        let factors = draw.factors(&plain);
        let predictor = |network: &DeepGp| {
            let inference = InferenceSettings::default();
            Predictor::new(Fitted { network: network.clone(), factors: factors.clone(), inference })
                .expect("a predictor")
        };
        let (without, with) = (predictor(&plain), predictor(&network));
        let (x, y, offset) = data(draw, &law, 9);
        let points = Points::new(&x).with_offset(&offset);
        let (bare, found) = (without.predict(&x).expect("bare"), with.predict(points).expect("a prediction"));
        let constant = with.predict(&x).expect("a prediction");
        assert!(bare.seen_var.is_none() && constant.seen_var.is_none());
        let layers = with.layers(points).expect("layers");
        let log_density = with.log_density(points, &y).expect("densities");
        for n in 0..9 {
            let (m, v) = (bare.f.mean[(n, 0)], bare.f.var[(n, 0)]);
            assert_eq!(constant.f.point(n), (&[m + 0.7][..], &[v][..]));
            let (mean, seen) = (m + 0.7 + offset.mean[(n, 0)], v + offset.var[(n, 0)]);
            assert_eq!(found.f.point(n), (&[mean][..], &[v][..]));
            assert_eq!(found.seen(n), (&[mean][..], &[seen][..]));
            assert_eq!(constant.seen(n), constant.f.point(n));
            let (mut y_mean, mut y_var) = ([0.0], [0.0]);
            law.observe(&[mean], &[seen], &mut y_mean, &mut y_var);
            assert_eq!(found.y.point(n), (&y_mean[..], &y_var[..]));
            assert_eq!(log_density[n], law.log_density(&[mean], &[seen], y.row(n)));
            assert_eq!(layers[layers.len() - 1].point(n), found.f.point(n));
        }
        // Data are points too.
        assert_eq!(with.predict(Data::new(&x, &y).with_offset(&offset)).expect("a prediction"), found);
        if hidden.is_empty() {
            let mixture = with.sample_mixture(points, 2, &mut draw.0).expect("a mixture");
            assert_all_close("f", mixture[1].mean.as_slice(), found.f.mean.as_slice(), Tolerance::Value);
            assert_all_close("v", mixture[1].var.as_slice(), found.f.var.as_slice(), Tolerance::Value);
            let mixture = with.mixture_log_density(points, &y, 2, &mut draw.0).expect("densities");
            assert_all_close("log density", &mixture, &log_density, Tolerance::Value);
            let (mut mean, mut square) = (MonteCarlo::default(), MonteCarlo::default());
            for draw in with.sample(points, 20_000, &mut draw.0).expect("draws") {
                mean.push(draw[(3, 0)]);
                square.push((draw[(3, 0)] - found.y.mean[(3, 0)]).powi(2));
            }
            let z = (mean.z_score(found.y.mean[(3, 0)]), square.z_score(found.y.var[(3, 0)]));
            assert!(z.0.abs() < 5.0 && z.1.abs() < 5.0, "{z:?}");
        }
    }
}

/// Rates of 1 and 1000 at the same x, told apart by their exposure alone.
#[test]
fn training_learns_the_constant_and_heeds_exposures_and_weights() {
    let draw = &mut Draw::new(7);
    let law = Likelihood::Poisson(Poisson { dim_out: 1 });
    let model = with_law(draw, &[], law).with_constant(vec![0.0]).expect("a constant");
    let x = draw.normals(60, 2);
    let exposure = |n: usize| if n < 30 { 1.0_f64 } else { 100.0 };
    let offset = DiagGaussian { mean: Mat::from_fn(60, 1, |n, _| exposure(n).ln()), var: Mat::zeros(60, 1) };
    let y = Mat::from_fn(60, 1, |n, _| (20.0 * exposure(n)).round());
    let weights: Vec<f64> = (0..60).map(|n| if n % 2 == 0 { 2.0 } else { 0.5 }).collect();
    let settings = TrainSettings { iterations: 800, batch_size: 20, learning_rate: 0.05, ..TrainSettings::default() };
    let data = Data::new(&x, &y).with_offset(&offset).with_weights(&weights);
    let mut trainer = Trainer::new(model.clone(), data, settings.clone()).expect("a trainer");
    let outcome = trainer.run(&mut ());
    assert!(outcome.energy.is_finite(), "{outcome:?}");
    let predictor = trainer.predictor().expect("a predictor");
    let at = Points::new(&x).with_offset(&offset);
    let predicted = predictor.predict(at).expect("predictions");
    for n in [0, 20, 40, 59] {
        let ratio = predicted.y.mean[(n, 0)] / y[(n, 0)];
        assert!((0.8..1.25).contains(&ratio), "row {n}: {ratio}");
    }
    let constant = trainer.model().constant()[0];
    assert!(constant > 0.3, "{constant}");

    // A run that is interrupted needs the same offset and weights.
    let mut snapshot = None;
    let mut trainer = Trainer::new(model, data, settings).expect("a trainer");
    trainer.run(&mut |progress: &Progress<'_>| {
        snapshot = Some(progress.trainer.snapshot());
        if progress.step >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let snapshot = snapshot.expect("a snapshot");
    let text = serde_json::to_string(&snapshot).expect("JSON");
    let snapshot: train::Snapshot = serde_json::from_str(&text).expect("a snapshot");
    assert!(Trainer::resume(snapshot.clone(), data).is_ok());
    for other in [Data::new(&x, &y), Data::new(&x, &y).with_offset(&offset), Data::new(&x, &y).with_weights(&weights)] {
        let refused = Trainer::resume(snapshot.clone(), other).map(|_| ());
        assert!(matches!(refused, Err(Error::OtherData { .. })), "{refused:?}");
    }
}

#[test]
fn files_say_nothing_of_a_constant_that_is_not_there() {
    let draw = &mut Draw::new(1);
    let model = with_law(draw, &[1], gaussian(1, 0.2));
    let text = serde_json::to_string(&model).expect("JSON");
    assert!(!text.contains("constant"), "{text}");
    assert_eq!(serde_json::from_str::<DeepGp>(&text).expect("a network"), model);
    let with = model.with_constant(vec![0.25]).expect("a constant");
    let text = serde_json::to_string(&with).expect("JSON");
    assert!(text.ends_with(r#""constant":[0.25]}"#), "{text}");
    let back = serde_json::from_str::<DeepGp>(&text).expect("a network");
    assert_eq!((back.check(), &back), (Ok(()), &with));
    let bad = serde_json::from_str::<DeepGp>(&text.replace("[0.25]", "[0.25,1.0]")).expect("a network");
    assert!(bad.check().is_err());
    let mut names = Vec::new();
    with.visit(&mut |block| names.push(block.name));
    assert_eq!(names.last(), Some(&"constant"));
}
