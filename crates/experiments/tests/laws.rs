//! Likelihoods do what they are there for, with a margin; `deepgp bench laws` measures it in full.

use deepgp_datasets::builtin;
use deepgp_experiments::laws::{Question, Way};
use deepgp_experiments::{Parts, Result, run};
use deepgp_numerics::Mat;
use deepgp_task::{Config, Scores, Task};
use std::sync::atomic::AtomicBool;

/// Scores of a sparse GP for each model of a question, on clean rows beyond the first.
fn scores(question: Question, (x, y): (&Mat, &Mat), rows: usize, steps: usize) -> Result<Vec<Scores>> {
    let (train, test): (Vec<usize>, Vec<usize>) = (0..x.rows()).partition(|&row| row < rows);
    let of_way = |way: &Way| {
        let mut config = Config { likelihood: way.likelihood(), ..Config::default() };
        (config.architecture.hidden, config.architecture.n_inducing) = (Vec::new(), 30);
        (config.train.iterations, config.train.batch_size, config.train.learning_rate) = (steps, 50, 0.02);
        let parts = question.parts(*way, Parts::of(Task::Regression, (x, y), &train, &test), 0);
        let (result, _) = run(&parts, &config, &AtomicBool::new(false))?.expect("nobody stopped it");
        Ok(result.scores.expect("finite scores"))
    };
    question.ways().iter().map(of_way).collect()
}

fn rmse(scores: &Scores) -> f64 {
    scores.rmse().expect("numbers")
}

#[test]
fn student_t_noise_beats_gaussian_noise_if_some_targets_are_gross_errors() -> Result<()> {
    let (x, y) = builtin::friedman(500, 1.0, 0);
    let all = scores(Question::Outliers, (&x, &y), 300, 400)?;
    let [robust, plain] = &all[..] else { panic!("two models") };
    assert!(robust.mean_log_density > plain.mean_log_density + 0.4, "{robust:?} {plain:?}");
    assert!(rmse(robust) < 0.8 * rmse(plain), "{robust:?} {plain:?}");
    Ok(())
}

#[test]
fn varying_noise_beats_constant_noise_where_noise_varies() -> Result<()> {
    let (x, y) = builtin::impact(500, 25.0, 0);
    let all = scores(Question::Noise, (&x, &y), 200, 400)?;
    let [varying, constant] = &all[..] else { panic!("two models") };
    assert!(varying.mean_log_density > constant.mean_log_density + 0.15, "{varying:?} {constant:?}");
    Ok(())
}

#[test]
fn a_limit_is_better_known_than_left_out_or_taken_for_the_value() -> Result<()> {
    let (x, y) = builtin::friedman(500, 1.0, 0);
    let all = scores(Question::Limit, (&x, &y), 300, 1500)?;
    let [censored, others @ ..] = &all[..] else { panic!("three models") };
    for other in others {
        assert!(censored.mean_log_density > other.mean_log_density + 0.1, "{censored:?} {other:?}");
        assert!(rmse(censored) < 0.9 * rmse(other), "{censored:?} {other:?}");
    }
    Ok(())
}
