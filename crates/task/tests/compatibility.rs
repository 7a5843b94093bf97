//! Files of earlier versions: they load, and predict what they predicted then.

mod common;

use common::{config, rows, saved};
use deepgp::predict::Prediction;
use deepgp_numerics::linalg::Mat;
use deepgp_task::SavedModel;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a stored model says of a few rows.
#[derive(Serialize, Deserialize)]
struct Expected {
    x: Mat,
    f_mean: Vec<f64>,
    f_var: Vec<f64>,
    y_mean: Vec<f64>,
    y_var: Vec<f64>,
    log_density: Vec<f64>,
}

/// Instruction sets and orders of summation differ in the last bits, and K_zz, which is singular but for a jitter of
/// 1e-6, may give them back a million times as large: 1e6 · 2.2e-16, and some room.
const ROUNDING: f64 = 1e-9;

fn stored(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models").join(name)
}

fn expected(saved: &SavedModel, x: Mat) -> Expected {
    let model = saved.model().expect("a model");
    let Prediction { f, y, .. } = model.predict(&x).expect("predictions");
    let log_density = model.log_density(&x, &y.mean).expect("log densities");
    let list = |m: &Mat| m.as_slice().to_vec();
    Expected { f_mean: list(&f.mean), f_var: list(&f.var), y_mean: list(&y.mean), y_var: list(&y.var), log_density, x }
}

#[test]
fn a_model_of_version_1_predicts_what_it_did() {
    let saved = SavedModel::load(&stored("v1.deepgp")).expect("a model");
    assert_eq!(saved.preprocessing.schema.feature_names(), ["voltage", "température"]);
    assert_eq!(saved.preprocessing.schema.targets(), ["yield"]);
    assert_eq!((saved.record.steps, saved.record.rows, &saved.record.config), (300, 60, &config(300)));
    let text = std::fs::read_to_string(stored("v1.json")).expect("predictions");
    let then: Expected = serde_json::from_str(&text).expect("predictions");
    let now = expected(&saved, then.x.clone());
    for (what, now, then) in [
        ("mean of f", now.f_mean, then.f_mean),
        ("variance of f", now.f_var, then.f_var),
        ("mean of y", now.y_mean, then.y_mean),
        ("variance of y", now.y_var, then.y_var),
        ("log density", now.log_density, then.log_density),
    ] {
        assert_eq!(now.len(), then.len());
        for (now, then) in now.iter().zip(&then) {
            assert!((now - then).abs() <= ROUNDING * then.abs(), "{what}: {now} is not {then}");
        }
    }
    // What is written today is read as the same today.
    let bytes = saved.to_bytes().expect("a file");
    assert_eq!(SavedModel::from_bytes(&bytes), Ok(saved));
}

/// Writes the files that the test above reads; see testdata/models/README.md.
#[test]
#[ignore = "it replaces the stored model"]
fn regenerate() {
    let saved = saved(config(300));
    saved.save(&stored("v1.deepgp")).expect("written");
    let text = serde_json::to_string_pretty(&expected(&saved, rows())).expect("JSON");
    deepgp_io::write_atomic(&stored("v1.json"), |out| writeln!(out, "{text}")).expect("written");
}
