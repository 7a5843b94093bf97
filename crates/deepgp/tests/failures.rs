//! What is refused, and that the refusal names the place and the value; that every error can arise is shown in
//! error.rs.

mod common;

use common::laws::likelihoods;
use common::{Draw, column, gaussian, no_factors};
use deepgp::Data;
use deepgp::Fitted;
use deepgp::closed;
use deepgp::infer::{Engine, Event, Inference, InferenceSettings, Site, State};
use deepgp::init::{Architecture, network};
use deepgp::kernel::{Eq, Kernel, Linear};
use deepgp::layer::{Layer, Mean};
use deepgp::likelihood::{Likelihood, Probit, StudentT};
use deepgp::network::DeepGp;
use deepgp::param::{Domain, Parameters};
use deepgp::predict::Predictor;
use deepgp::train::{self, Trainer, energy};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::{Jitter, Mat};
use deepgp_numerics::optim::Schedule;

/// Asserts that a result is an error whose message has every one of `parts`.
#[track_caller]
fn assert_refused<T, E: std::error::Error>(result: std::result::Result<T, E>, parts: &[&str]) -> E {
    let Err(error) = result else { panic!("accepted; it should be refused for {parts:?}") };
    let message = error.to_string();
    assert!(parts.iter().all(|part| message.contains(part)), "{message:?} lacks one of {parts:?}");
    error
}

/// A network of two layers on two inputs, and data for it.
fn sound() -> (DeepGp, Mat, Mat) {
    let mut draw = Draw::new(1);
    (draw.network(&[2, 3, 2], 4, true), draw.normals(5, 2), draw.normals(5, 2))
}

fn trainer<'a>(model: &DeepGp, x: &'a Mat, y: &'a Mat) -> Result<Trainer<'a>> {
    Trainer::new(model.clone(), Data::new(x, y), train::TrainSettings::default())
}

fn fitted(model: &DeepGp) -> Fitted {
    Fitted { network: model.clone(), factors: no_factors(model), inference: InferenceSettings::default() }
}

/// The network with one change to its second layer.
fn with_layer(change: impl FnOnce(&mut Layer)) -> Result<DeepGp> {
    let (model, ..) = sound();
    let mut layers = model.layers().to_vec();
    change(&mut layers[1]);
    DeepGp::new(layers, model.likelihood().clone())
}

const NOT_FINITE: [(f64, &str); 3] = [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")];

#[test]
fn data_that_are_not_finite() {
    let (model, x, y) = sound();
    let predictor = Predictor::new(fitted(&model)).expect("a predictor");
    for (value, name) in NOT_FINITE {
        let (mut bad_x, mut bad_y) = (x.clone(), y.clone());
        bad_x[(3, 1)] = value;
        bad_y[(4, 0)] = value;
        let inputs = ["inputs", "row 3", "column 1", name];
        let targets = ["targets", "row 4", "column 0", name];
        assert_refused(trainer(&model, &bad_x, &y), &inputs);
        assert_refused(energy(&fitted(&model), Data::new(&bad_x, &y)), &inputs);
        assert_refused(predictor.predict(&bad_x), &inputs);
        assert_refused(predictor.layers(&bad_x), &inputs);
        assert_refused(predictor.sample(&bad_x, 2, &mut Draw::new(0).0), &inputs);
        assert_refused(network(&bad_x, gaussian(1, 0.1), &Architecture::default(), &mut Draw::new(0).0), &inputs);
        let draw = &mut Draw::new(0).0;
        if value.is_nan() {
            // A target that is missing.
            assert!(trainer(&model, &x, &bad_y).is_ok() && predictor.log_density(&x, &bad_y).is_ok());
            assert!(predictor.mixture_log_density(&x, &bad_y, 2, draw).is_ok());
        } else {
            assert_refused(trainer(&model, &x, &bad_y), &targets);
            assert_refused(predictor.log_density(&x, &bad_y), &targets);
            assert_refused(predictor.mixture_log_density(&x, &bad_y, 2, draw), &targets);
        }
    }
}

#[test]
fn missing_targets_where_a_closed_form_needs_all() {
    let mut draw = Draw::new(4);
    let model = draw.network(&[2, 2], 4, false);
    let (x, mut y) = (draw.normals(6, 2), draw.normals(6, 2));
    assert!(closed::sparse::posterior(model.clone(), Data::new(&x, &y), 1.0, 1).is_ok());
    y[(4, 1)] = f64::NAN;
    let parts = ["targets", "row 4", "column 1", "NaN"];
    assert_refused(closed::sparse::posterior(model.clone(), Data::new(&x, &y), 1.0, 1), &parts);
    assert_refused(closed::exact::fit(&model, Data::new(&x, &y), 5), &parts);
}

#[test]
fn tables_without_rows_or_of_the_wrong_shape() {
    let (model, x, y) = sound();
    let predictor = Predictor::new(fitted(&model)).expect("a predictor");
    assert_refused(trainer(&model, &Mat::zeros(0, 2), &Mat::zeros(0, 2)), &["inputs", "0 rows", "2 columns"]);
    assert_refused(trainer(&model, &x, &Mat::zeros(5, 0)), &["targets", "5 rows", "0 columns"]);
    assert_refused(predictor.predict(&Mat::zeros(0, 2)), &["inputs", "0 rows"]);
    assert_refused(trainer(&model, &Mat::zeros(5, 3), &y), &["columns of the inputs", "expected 2", "found 3"]);
    assert_refused(trainer(&model, &x, &Mat::zeros(4, 2)), &["rows of the targets", "expected 5", "found 4"]);
    assert_refused(trainer(&model, &x, &Mat::zeros(5, 1)), &["columns of the targets", "expected 2", "found 1"]);
    assert_refused(predictor.predict(&Mat::zeros(1, 1)), &["columns of the inputs", "expected 2", "found 1"]);
    assert_refused(predictor.mixture_log_density(&x, &y, 0, &mut Draw::new(0).0), &["n_samples", "0"]);
    assert_refused(Mat::from_vec(2, 2, vec![1.0]), &["matrix entries", "expected 4", "found 1"]);
    assert_refused(Mat::from_rows(&[vec![1.0], vec![]]), &["columns of a row", "expected 1", "found 0"]);
}

#[test]
fn settings_outside_their_range() {
    for (value, name) in [(0.0, "0"), (1.1, "1.1"), (-0.5, "-0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        assert_refused(
            Inference::new(InferenceSettings { alpha: value, ..InferenceSettings::default() }),
            &["alpha", name],
        );
        assert_refused(
            Inference::new(InferenceSettings { damping: value, ..InferenceSettings::default() }),
            &["damping", name],
        );
    }
    for (value, name) in [(-1e-9, "-0.000000001"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        for jitter in [Jitter::Absolute(value), Jitter::Relative(value)] {
            assert_refused(
                Inference::new(InferenceSettings { jitter, ..InferenceSettings::default() }),
                &["jitter", name],
            );
        }
    }
    let (model, x, y) = sound();
    let default = train::TrainSettings::default;
    let refused =
        |settings, parts: &[&str]| assert_refused(Trainer::new(model.clone(), Data::new(&x, &y), settings), parts);
    refused(train::TrainSettings { learning_rate: 0.0, ..default() }, &["learning_rate", "0"]);
    refused(train::TrainSettings { learning_rate: f64::NAN, ..default() }, &["learning_rate", "NaN"]);
    refused(train::TrainSettings { batch_size: 0, ..default() }, &["batch_size", "0"]);
    refused(train::TrainSettings { schedule: Schedule::Exponential(1.5), ..default() }, &["schedule", "1.5"]);
    refused(train::TrainSettings { schedule: Schedule::HoldThenLinear(-0.5), ..default() }, &["schedule", "-0.5"]);
    let inference = InferenceSettings { alpha: 0.0, ..InferenceSettings::default() };
    refused(train::TrainSettings { inference, ..default() }, &["alpha", "0"]);
    assert_refused(Predictor::new(Fitted { inference, ..fitted(&model) }), &["alpha", "0"]);
}

/// Every kernel on three inputs.
fn kernels() -> Vec<Kernel> {
    let mut draw = Draw::new(11);
    let kernels = common::kernels::kernels(3, &mut |low, high| draw.uniform(low, high));
    kernels.into_iter().map(|(_, kernel)| kernel).collect()
}

/// Sets parameter number `target` to `value`; returns its name and domain.
fn set(parameters: &mut impl Parameters, target: usize, value: f64) -> (&'static str, Domain) {
    let (mut at, mut found) = (0, None);
    parameters.visit_mut(&mut |b| {
        if (at..at + b.values.len()).contains(&target) {
            b.values[target - at] = value;
            found = Some((b.name, b.domain));
        }
        at += b.values.len();
    });
    found.expect("a parameter of that number")
}

const NOT_POSITIVE: [(f64, &str); 4] = [(0.0, "0"), (-2.5, "-2.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")];

#[test]
fn parameters_outside_their_domain() {
    for kernel in kernels() {
        for target in 0..kernel.n_params() {
            for (value, shown) in NOT_POSITIVE {
                let mut bad = kernel.clone();
                let (name, domain) = set(&mut bad, target, value);
                if domain == Domain::Real && value.is_finite() {
                    continue;
                }
                let refused = with_layer(|layer| layer.kernel = bad);
                assert_refused(refused, &[name, "layer 1", shown]);
            }
        }
    }
    let (model, ..) = sound();
    for likelihood in likelihoods(2, &mut Draw::new(0)) {
        for target in 0..likelihood.n_params() {
            for (value, shown) in NOT_POSITIVE {
                let mut bad = likelihood.clone();
                let (name, domain) = set(&mut bad, target, value);
                if domain == Domain::Real && value.is_finite() {
                    continue;
                }
                // Entries are counted among those of the same name.
                let (mut at, mut before) = (0, 0);
                likelihood.visit(&mut |b| {
                    before += if b.name != name && at <= target { b.values.len() } else { 0 };
                    at += b.values.len();
                });
                let entry = format!("entry {}", target - before);
                assert_refused(DeepGp::new(model.layers().to_vec(), bad), &[name, &entry, shown]);
            }
        }
    }
    for (dof, shown) in [(2.0, "2"), (1e5, "100000"), (f64::NAN, "NaN")] {
        let bad = Likelihood::StudentT(StudentT::isotropic(2, 0.1, dof));
        assert_refused(DeepGp::new(model.layers().to_vec(), bad), &["dof", shown]);
    }
    for (value, shown) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        assert_refused(with_layer(|layer| layer.noise_var = value), &["noise_var", "layer 1", shown]);
    }
}

#[test]
fn networks_that_do_not_fit_together() {
    let (model, ..) = sound();
    let law = model.likelihood();
    assert_refused(DeepGp::new(Vec::new(), law.clone()), &["layers", "0 rows"]);
    assert_refused(with_layer(|layer| layer.dim_out = 0), &["width", "layer 1", "0"]);
    assert_refused(with_layer(|layer| layer.z = Mat::zeros(0, 3)), &["layer 1", "inducing inputs", "0 rows"]);
    assert_refused(
        with_layer(|layer| layer.z[(2, 1)] = f64::NAN),
        &["layer 1", "inducing inputs", "row 2", "column 1", "NaN"],
    );
    assert_refused(
        with_layer(|layer| layer.kernel = Kernel::Eq(Eq::isotropic(2, 1.0, 1.0))),
        &["layer 1", "kernel inputs", "expected 3", "found 2"],
    );
    let narrow = |layer: &mut Layer| {
        (layer.z, layer.kernel) = (Mat::zeros(4, 2), Kernel::Eq(Eq::isotropic(2, 1.0, 1.0)));
        layer.mean = Mean::Zero;
    };
    assert_refused(with_layer(narrow), &["layer 1", "inputs of a layer", "expected 3", "found 2"]);
    let linear = |rows, cols| with_layer(|layer| layer.mean = Mean::Linear(Mat::zeros(rows, cols)));
    assert_refused(linear(2, 2), &["layer 1", "rows of the linear mean", "expected 3", "found 2"]);
    assert_refused(linear(3, 1), &["layer 1", "columns of the linear mean", "expected 2", "found 1"]);
    let not_finite = Mat::from_fn(3, 2, |i, j| if (i, j) == (1, 0) { f64::INFINITY } else { 0.0 });
    let refused = with_layer(|layer| layer.mean = Mean::Linear(not_finite));
    assert_refused(refused, &["layer 1", "linear mean", "row 1", "column 0", "inf"]);
    let refused = DeepGp::new(model.layers().to_vec(), gaussian(1, 0.1));
    assert_refused(refused, &["outputs of the last layer", "expected 1", "found 2"]);
}

#[test]
fn factors_that_do_not_fit_the_network() {
    let (model, x, y) = sound();
    let refused = |change: &dyn Fn(&mut Fitted), parts: &[&str]| {
        let mut bad = fitted(&model);
        change(&mut bad);
        assert_refused(Predictor::new(bad.clone()), parts);
        assert_refused(energy(&bad, Data::new(&x, &y)), parts);
        let trainer = trainer(&model, &x, &y).expect("a trainer");
        assert_refused(trainer.with_factors(bad.factors), parts);
    };
    refused(&|f| f.factors.truncate(1), &["layers of the factors", "expected 2", "found 1"]);
    refused(&|f| f.factors[0].truncate(2), &["layer 0", "outputs of the factors", "expected 3", "found 2"]);
    refused(&|f| f.factors[1][0].linear.truncate(3), &["layer 1", "entries of a factor", "expected 4", "found 3"]);
    refused(
        &|f| f.factors[1][0].precision = Mat::zeros(3, 4),
        &["layer 1", "rows of a factor", "expected 4", "found 3"],
    );
    refused(
        &|f| f.factors[1][0].precision = Mat::zeros(4, 5),
        &["layer 1", "columns of a factor", "expected 4", "found 5"],
    );
    for (value, shown) in NOT_FINITE {
        refused(&|f| f.factors[1][1].precision[(2, 1)] = value, &["layer 1", "precision", "row 2", "column 1", shown]);
        refused(&|f| f.factors[1][1].linear[3] = value, &["layer 1", "linear term", "row 3", shown]);
    }
}

#[test]
fn a_file_with_a_network_that_could_not_be_built() {
    let json = serde_json::to_string(&fitted(&sound().0)).expect("JSON");
    assert!(Predictor::new(serde_json::from_str(&json).expect("a network")).is_ok());
    for (sound, bad, parts) in [
        ("\"dim_out\":3", "\"dim_out\":0", &["width", "layer 0"][..]),
        ("\"noise_var\":0.05", "\"noise_var\":-0.05", &["noise_var", "layer 0", "-0.05"]),
        ("\"alpha\":0.7", "\"alpha\":7", &["alpha", "7"]),
    ] {
        assert!(json.contains(sound), "{sound} is not in {json}");
        let changed = serde_json::from_str(&json.replace(sound, bad)).expect("a network");
        assert_refused(Predictor::new(changed), parts);
    }
}

#[test]
fn factors_without_a_posterior() {
    let (model, ..) = sound();
    let mut bad = fitted(&model);
    bad.factors[1][1].precision[(2, 2)] = -1.5;
    assert_refused(Predictor::new(bad.clone()), &["I + Λ", "layer 1", "output 1", "pivot 2"]);
    let joint = Inference::new(InferenceSettings::of(Engine::JointEnergy)).expect("settings");
    assert_refused(State::new(bad.factors, 5, &joint), &["Λ", "not positive definite"]);
}

#[test]
fn more_inducing_inputs_than_distinct_rows() {
    let x = column(&[1.0, 2.0, 1.0, 3.0, 2.0]);
    let mut shape = Architecture { n_inducing: 4, ..Architecture::default() };
    let start = |shape: &Architecture| network(&x, gaussian(1, 0.1), shape, &mut Draw::new(1).0);
    let (model, events) = start(&shape).expect("a network");
    assert_eq!(events, [Event::InducingReduced { requested: 4, used: 3 }]);
    assert!(model.layers().iter().all(|layer| layer.n_inducing() == 3));
    shape.exact_inducing = true;
    assert_refused(start(&shape), &["4 inducing inputs", "3 distinct rows"]);
    shape.n_inducing = 3;
    assert_eq!(start(&shape).expect("a network").1, []);
    shape.n_inducing = 0;
    assert_refused(start(&shape), &["n_inducing", "0"]);
}

#[test]
fn a_hidden_layer_without_width() {
    let shape = Architecture { hidden: vec![2, 0], ..Architecture::default() };
    let refused = network(&column(&[1.0, 2.0]), gaussian(1, 0.1), &shape, &mut Draw::new(1).0);
    assert_refused(refused, &["width", "layer 1", "0"]);
}

#[test]
fn targets_that_the_likelihood_cannot_explain() {
    let model = DeepGp::new(sound().0.layers().to_vec(), Likelihood::Probit(Probit { dim_out: 2 })).expect("a network");
    let x = Mat::zeros(3, 2);
    for (value, shown) in [(0.0, "0"), (0.5, "0.5"), (2.0, "2"), (-1.5, "-1.5")] {
        let y = Mat::from_fn(3, 2, |i, j| if (i, j) == (2, 1) { value } else { 1.0 });
        let parts = ["targets", "row 2", "column 1", shown, "−1 or +1"];
        let error = assert_refused(trainer(&model, &x, &y), &parts);
        assert!(matches!(error, Error::Target { row: 2, column: 1, .. }));
    }
    assert!(trainer(&model, &x, &Mat::from_fn(3, 2, |i, _| if i == 0 { -1.0 } else { 1.0 })).is_ok());
}

#[test]
fn a_gram_matrix_beyond_repair() {
    // k_zz overflows: no jitter helps.
    let mut layers = sound().0.layers().to_vec();
    layers[1].kernel = Kernel::Linear(Linear::isotropic(3, 1.0));
    layers[1].z[(0, 0)] = 1e200;
    let model = DeepGp::new(layers, gaussian(2, 0.1)).expect("a network");
    assert_refused(Predictor::new(fitted(&model)), &["K_zz", "layer 1", "not positive definite"]);
    let inference = Inference::new(InferenceSettings::of(Engine::Sep(Site::FirstOrder))).expect("settings");
    let (x, y) = (Mat::zeros(2, 2), Mat::zeros(2, 2));
    let mut state = State::new(no_factors(&model), 2, &inference).expect("a state");
    let before = state.clone();
    let batch = deepgp::infer::Batch::of(Data::new(&x, &y), &[0, 1]);
    let mut ws = deepgp::infer::StepWorkspace::new(&model);
    assert_refused(inference.step(&model, &mut state, batch, &mut ws), &["K_zz", "layer 1"]);
    assert_eq!(state, before, "a step that fails leaves the state alone");
}
