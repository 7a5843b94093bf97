//! A small trained model for tests, always the same.
#![allow(dead_code, reason = "every test file uses a part of it")]

use deepgp::Fitted;
use deepgp::train::Outcome;
use deepgp_data::Schema;
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Config, CurvePoint, Linear, Preprocessing, Range, Record, SavedModel, StandardisedData};

/// Two inputs of different units and one target.
pub fn data(n: usize) -> (Mat, Mat) {
    let x = Mat::from_fn(n, 2, |i, j| {
        let t = (i as f64 * [0.618_033_988_749_895, 0.754_877_666_246_693][j]).fract();
        [t * 4.0 - 2.0, 100.0 + 50.0 * t][j]
    });
    let noise = |i: usize| 0.05 * ((i * i) as f64).sin();
    let y = Mat::from_fn(n, 1, |i, _| 10.0 + (2.0 * x[(i, 0)]).sin() + 0.02 * (x[(i, 1)] - 120.0) + noise(i));
    (x, y)
}

pub fn config(iterations: usize) -> Config {
    let mut config = Config::default();
    config.architecture.n_inducing = 8;
    config.train.iterations = iterations;
    config.train.batch_size = 20;
    config.train.seed = 7;
    config
}

pub fn preprocessing(data: &StandardisedData, x: &Mat) -> Preprocessing {
    Preprocessing {
        task: data.task(),
        schema: Schema::numeric(&["voltage".into(), "température".into()], &["yield".into()]).expect("a schema"),
        inputs: data.inputs().clone(),
        ranges: Range::of_columns(x),
        targets: data.targets().clone(),
        average_row: data.average_row().cloned(),
    }
}

pub fn saved_from(config: Config, data: &StandardisedData, x: &Mat, fitted: Fitted, outcome: &Outcome) -> SavedModel {
    let mut record = Record::new(config, x.rows());
    let energy = Some(outcome.energy);
    record.curve.push(CurvePoint { step: outcome.steps, energy, rmse: None, mean_log_density: None });
    record.finish(outcome, 0.0);
    let linear = Linear::fit(data).expect("a linear model");
    let members = vec![deepgp_task::Member::new(1.0, fitted)];
    SavedModel::new(preprocessing(data, x), members, linear, record).expect("one network")
}

/// The model after so many steps.
pub fn saved(config: Config) -> SavedModel {
    let (x, y) = data(60);
    let data = StandardisedData::new(x.clone(), y.clone()).expect("data");
    let mut trainer = data.trainer(&config).expect("a trainer");
    let outcome = trainer.run(&mut ());
    saved_from(config, &data, &x, trainer.fitted(), &outcome)
}

/// Rows to predict, some far from the training data.
pub fn rows() -> Mat {
    Mat::from_rows(&[[-2.0, 100.0], [0.1, 120.0], [1.5, 149.0], [0.0, 0.0], [30.0, -1e4]]).expect("rows")
}
