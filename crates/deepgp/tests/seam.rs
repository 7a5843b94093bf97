//! The seam of the engine: passes may be made elsewhere and in parts, and inputs may have variances.

mod common;

use common::{Draw, inference};
use deepgp::Data;
use deepgp::Fitted;
use deepgp::gauss::DiagGaussian;
use deepgp::infer::{Batch, Engine, InferenceSettings, Site, StepWorkspace};
use deepgp::layer::Inputs;
use deepgp::network::DeepGp;
use deepgp::param::Parameters;
use deepgp::pass::{Cores, Evaluate, Pass, Sums};
use deepgp::predict::Predictor;
use deepgp::train::{TrainSettings, Trainer};
use deepgp::{Error, Result};
use deepgp_numerics::Mat;
use deepgp_oracle::{Tolerance, assert_all_close, assert_close, gradient, normal_expectation};

/// Several workers, each with a part of the rows, who tell each other no more than flat sums.
#[derive(Debug)]
struct Parts(Vec<Cores>);

impl Evaluate for Parts {
    fn evaluate(&mut self, pass: &Pass<'_>, batch: Batch<'_>, sums: &mut Sums) -> Result<()> {
        let (network, inputs) = (pass.stack.network, pass.stack.inputs);
        let share = batch.rows.len().div_ceil(self.0.len());
        let (mut total, mut flat) = (vec![0.0; Sums::flat_len(network, inputs)], Vec::new());
        for (k, cores) in self.0.iter_mut().enumerate() {
            // The last ones may have nothing to do.
            let of = |k: usize| (k * share).min(batch.rows.len());
            let part = Batch { rows: &batch.rows[of(k)..of(k + 1)], ..batch };
            cores.evaluate(pass, part, sums)?;
            sums.flatten(pass, &mut flat);
            assert_eq!(flat.len(), total.len());
            total.iter_mut().zip(&flat).for_each(|(sum, number)| *sum += number);
        }
        sums.unflatten(pass, batch.n_batch, &total)
    }
}

fn data(draw: &mut Draw, n: usize, dim: usize, d_out: usize) -> (Mat, Mat) {
    let x = Mat::from_fn(n, dim, |_, _| draw.uniform(-1.5, 1.5));
    let y = Mat::from_fn(n, d_out, |i, d| (2.0 * x[(i, 0)] + d as f64).sin() + 0.1 * draw.normal());
    (x, y)
}

/// Training in parts takes the same course as in one piece, with fewer and with more points than inducing inputs.
#[test]
fn parts_of_batches_add_up() -> Result<()> {
    for (engine, batch_size) in
        [(Engine::Sep(Site::FirstOrder), 90), (Engine::Sep(Site::FirstOrder), 6), (Engine::JointEnergy, 40)]
    {
        let mut draw = Draw::new(5);
        let network = draw.network(&[2, 2, 1], 12, true).with_constant(vec![0.2])?;
        let (x, y) = data(&mut draw, 120, 2, 1);
        let weights = draw.uniforms(120, 0.5, 2.0);
        let inference = InferenceSettings::of(engine);
        let settings = TrainSettings { inference, batch_size, iterations: 100, ..TrainSettings::default() };
        let course = |parts: usize| -> Result<(Vec<f64>, f64)> {
            let mut trainer =
                Trainer::new(network.clone(), Data::new(&x, &y).with_weights(&weights), settings.clone())?;
            if parts > 1 {
                let cores = || Cores::new(&network, Inputs::Exact, 1);
                trainer = trainer.with_evaluator(Box::new(Parts((0..parts).map(|_| cores()).collect())));
            }
            let outcome = trainer.run(&mut ());
            let mut theta = Vec::new();
            trainer.model().read_free(&mut theta);
            theta.extend(common::flat(trainer.state().factors()));
            Ok((theta, outcome.energy))
        };
        let (whole, energy) = course(1)?;
        for parts in [2, 7] {
            let (found, found_energy) = course(parts)?;
            let what = format!("{engine:?}, batches of {batch_size} in {parts} parts");
            assert_all_close(&what, &found, &whole, Tolerance::Value);
            assert_close(&what, found_energy, energy, Tolerance::Value);
        }
    }
    Ok(())
}

#[test]
fn flat_sums_of_another_size_are_refused() -> Result<()> {
    #[derive(Debug)]
    struct Short;
    impl Evaluate for Short {
        fn evaluate(&mut self, pass: &Pass<'_>, batch: Batch<'_>, sums: &mut Sums) -> Result<()> {
            sums.unflatten(pass, batch.n_batch, &[1.0, 2.0])
        }
    }
    let mut draw = Draw::new(1);
    let network = draw.network(&[2, 1], 5, false);
    let (x, y) = data(&mut draw, 20, 2, 1);
    for engine in common::engines() {
        let inference = inference(engine, 1.0, 0.5, 1e-6);
        let factors = draw.factors(&network);
        let mut state = deepgp::infer::State::new(factors, 20, &inference)?;
        let before = state.clone();
        let mut ws = StepWorkspace::with_evaluator(&network, Box::new(Short));
        let step = inference.step(&network, &mut state, Batch::of(Data::new(&x, &y), &[3, 4]), &mut ws);
        assert!(
            matches!(step, Err(Error::Shape { what: "numbers of flat sums", found: 2, .. })),
            "{engine:?}: {step:?}"
        );
        assert_eq!(state, before, "{engine:?}: nothing has moved");
    }
    Ok(())
}

/// A network, factors and data with variances.
fn uncertain(widths: &[usize], linear: bool) -> (DeepGp, Vec<Vec<deepgp::gauss::Factor>>, DiagGaussian, Mat) {
    let mut draw = Draw::new(8);
    let network = draw.network(widths, 6, linear);
    let factors = draw.factors(&network);
    let (mean, y) = data(&mut draw, 15, widths[0], widths[widths.len() - 1]);
    let var = Mat::from_fn(15, widths[0], |_, _| draw.uniform(0.02, 0.4));
    (network, factors, DiagGaussian { mean, var }, y)
}

#[test]
fn the_energy_of_uncertain_inputs_knows_its_derivatives() -> Result<()> {
    for widths in [&[2, 1][..], &[2, 2, 1]] {
        let (network, factors, x, y) = uncertain(widths, true);
        let inference = inference(Engine::JointEnergy, 0.7, 0.5, 1e-4);
        let mut ws = StepWorkspace::new(&network);
        let batch = Batch { x_var: Some(&x.var), ..Batch::of(Data::new(&x.mean, &y), &[0, 3, 4, 11]) };
        let found = inference.sep_energy(&network, &factors, batch, &mut ws)?;
        let mut theta = Vec::new();
        network.read_free(&mut theta);
        let energy = |theta: &[f64]| {
            let mut moved = network.clone();
            moved.write_free(theta);
            inference.sep_energy(&moved, &factors, batch, &mut ws).map_or(f64::NAN, |found| found.energy)
        };
        assert_all_close("gradient", &found.model, &gradient(energy, &theta), Tolerance::Gradient);
    }
    Ok(())
}

/// With variances of 0 the layer above is the first layer, and a workspace that has seen one kind of inputs takes the
/// other.
#[test]
fn variances_of_zero_are_exact_inputs() -> Result<()> {
    let (network, factors, x, y) = uncertain(&[2, 2, 1], true);
    let inference = inference(Engine::Sep(Site::FirstOrder), 0.7, 0.5, 1e-4);
    let (zeros, rows) = (Mat::zeros(15, 2), [1, 2, 7]);
    let mut ws = StepWorkspace::with_threads(&network, 2);
    let exact = Batch::of(Data::new(&x.mean, &y), &rows);
    let mut energy = |batch| inference.sep_energy(&network, &factors, batch, &mut ws);
    let first = energy(exact)?;
    let zero = energy(Batch { x_var: Some(&zeros), ..exact })?;
    let again = energy(exact)?;
    assert_close("energy", zero.energy, first.energy, Tolerance::Limit(1e-7));
    assert_all_close("gradient", &zero.model, &first.model, Tolerance::Limit(1e-5));
    assert_eq!((first.energy.to_bits(), first.model), (again.energy.to_bits(), again.model));
    Ok(())
}

/// E f and Var f of a sparse GP at an uncertain input, by the laws of total expectation and variance over exact
/// predictions.
#[test]
fn predictions_of_uncertain_inputs_are_averages_of_exact_ones() -> Result<()> {
    let (network, factors, x, _) = uncertain(&[2, 1], true);
    let inference = InferenceSettings::default();
    let fitted = Fitted { network, factors, inference };
    let exact = Predictor::new(fitted.clone())?;
    assert!(matches!(exact.predict_gaussian(&x), Err(Error::Parameter { .. })), "made for exact inputs");
    let uncertain = Predictor::for_gaussian_inputs(fitted)?;
    let found = uncertain.predict_gaussian(&x)?;
    for n in [0, 5, 14] {
        let (mean, var) = x.point(n);
        let at = |x: &[f64]| -> (f64, f64) {
            let prediction = Mat::from_vec(1, 2, x.to_vec()).map_err(Error::from).and_then(|x| exact.predict(&x));
            prediction.map_or((f64::NAN, f64::NAN), |p| (p.f.mean[(0, 0)], p.f.var[(0, 0)]))
        };
        let expected = normal_expectation(|x| at(x).0, mean, var, 40);
        let square = normal_expectation(|x| at(x).1 + at(x).0.powi(2), mean, var, 40);
        assert_close("mean", found.f.mean[(n, 0)], expected, Tolerance::Quadrature);
        assert_close("variance", found.f.var[(n, 0)], square - expected * expected, Tolerance::Limit(1e-6));
    }
    for (i, bad) in [(0, -0.1), (3, f64::NAN), (4, f64::INFINITY)] {
        let mut x = x.clone();
        x.var.as_mut_slice()[i] = bad;
        assert!(matches!(uncertain.predict_gaussian(&x), Err(Error::Parameter { entry: Some(e), .. }) if e == i));
    }
    Ok(())
}
