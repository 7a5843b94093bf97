//! Made-up records: scores that depend on task, variant and split in a known way.
#![allow(dead_code, reason = "every test file uses a part of it")]

use deepgp::infer::Engine;
use deepgp::train::Termination;
use deepgp_experiments::record::{Course, Criterion, Key, Line, Run, RunResult, Search, SearchSettings, Trial};
use deepgp_experiments::{Environment, Network, Variant};
use deepgp_task::{NumberScores, Scores};

pub fn environment() -> Environment {
    Environment { version: "0.1.0".into(), commit: None, machine: "made up".into(), instruction_set: "none".into() }
}

pub fn scores(rmse: f64, mean_log_density: f64) -> Scores {
    let numbers = NumberScores {
        rmse,
        mae: 0.8 * rmse,
        crps: 0.6 * rmse,
        coverage_50: 0.5,
        coverage_80: 0.8,
        coverage_90: 0.9,
        coverage_95: 0.94,
        coverage_99: 0.99,
    };
    Scores { rows: 10, mean_log_density, numbers: Some(numbers), labels: None, counts: None, concordance: None }
}

pub fn key(study: &str, task: &str, variant: &str, split: usize) -> Key {
    Key { study: study.into(), task: task.into(), variant: variant.into(), split }
}

/// A variant by its network and number of inducing inputs.
pub fn variant(network: &str, inducing: usize, engine: Option<Engine>) -> Variant {
    let mut variant = Variant::paper(network.parse::<Network>().expect("a network"));
    variant.base.architecture.n_inducing = inducing;
    if let Some(engine) = engine {
        variant.base.train.inference.engine = engine;
    }
    variant
}

/// A run with these scores on 90 training and 10 test rows, where a linear model has an RMSE of 5.
pub fn run(study: &str, task: &str, variant: &Variant, split: usize, result: Option<(f64, f64)>) -> Run {
    let engine = variant.base.train.inference.engine;
    let inducing = variant.base.architecture.n_inducing;
    let units = 1 + variant.network.hidden.len();
    let rows = if engine == Engine::Ep { 90 } else { 1 };
    Run {
        key: key(study, task, &variant.label(), split),
        config: variant.config(3),
        inputs: 3,
        rows: 90,
        result: RunResult {
            scores: result.map(|(rmse, density)| scores(rmse, density)),
            baselines: vec![("constant".into(), scores(9.0, -4.0)), ("linear".into(), scores(5.0, -3.0))],
            termination: if result.is_some() { Termination::Iterations } else { Termination::Diverged },
            steps: 4000,
            energy: Course::default(),
            events: [("jitter_raised".to_owned(), 2)].into(),
            n_events: 2,
            factor_bytes: 8 * rows * units * inducing * (inducing + 1),
        },
        seconds: 1e-3 * (inducing * inducing * units) as f64 * (1.0 + 0.01 * split as f64),
        automatic: None,
        environment: environment(),
    }
}

/// A number between −1 and 1 that looks like chance.
pub fn noise(a: usize, b: usize) -> f64 {
    let x = (12.9898 * a as f64 + 78.233 * b as f64 + 1.0).sin() * 43_758.545;
    2.0 * (x - x.floor()) - 1.0
}

/// The paper's three variants on two tasks and `splits` splits: "[DGP, 2, 50]" is better than "[GP, 50]" on boston and
/// like it on concrete; "[DGP, 1, 50]" is worse than both.
pub fn paper(study: &str, splits: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (t, task) in ["boston", "concrete"].into_iter().enumerate() {
        for (v, network) in ["gp", "1", "2"].into_iter().enumerate() {
            let variant = variant(network, 50, None);
            lines.push(Line::Search(search(study, task, &variant)));
            for split in 0..splits {
                let common = 0.3 * noise(t, split);
                let gain = [0.0, -0.2, if t == 0 { 0.3 } else { 0.0 }][v];
                let own = 0.02 * noise(10 + t + 7 * v, split);
                let result = (3.0 + common - gain + own, -2.3 + 0.2 * common + 0.5 * gain + own);
                lines.push(Line::Run(run(study, task, &variant, split, Some(result))));
            }
        }
    }
    lines
}

pub fn search(study: &str, task: &str, variant: &Variant) -> Search {
    let best = 5e-3 * (1.0 + 0.3 * variant.network.hidden.len() as f64) * (1.0 + task.len() as f64 / 8.0);
    let trial = |(i, learning_rate): (usize, f64)| Trial {
        learning_rate,
        loss: (-1.2 + 0.15 * (learning_rate / best).ln().powi(2)).min(0.0),
        rmse: Some(1.0),
        mean_log_density: Some(-1.0),
        expected_improvement: (i > 3).then_some(0.1),
    };
    let rates = [5e-3, 1.1e-3, 2.6e-2, 9e-2, 0.8 * best, 1.3 * best, best];
    Search {
        key: key(study, task, &variant.label(), 0),
        config: variant.config(3),
        settings: SearchSettings { criterion: Criterion::Rmse, ..SearchSettings::default() },
        rows: 72,
        held_out: 18,
        trials: rates.into_iter().enumerate().map(trial).collect(),
        learning_rate: best,
        loss: -1.2,
        seconds: 12.5,
        environment: environment(),
    }
}

/// Records as a file has them.
pub fn lines(records: &[Line]) -> String {
    records.iter().map(|line| serde_json::to_string(line).expect("a record") + "\n").collect()
}
