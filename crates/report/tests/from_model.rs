//! Reports of trained models: the numbers in them are the model's own.

use deepgp::Error;
use deepgp_datasets::builtin;
use deepgp_numerics::linalg::Mat;
use deepgp_report::{CurvePoint, Report, Source, Training, from_model};
use deepgp_task::{Config, LikelihoodChoice, Model};

fn names(prefix: &str, n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("{prefix}{i}")).collect()
}

fn fit(x: &Mat, y: &Mat, hidden: &[usize], likelihood: LikelihoodChoice) -> Model {
    let mut config = Config { likelihood, ..Config::default() };
    config.architecture.hidden = hidden.to_vec();
    (config.architecture.n_inducing, config.train.iterations) = (12, 60);
    Model::fit(x, y, &config, &mut ()).unwrap().0
}

fn report(model: &Model, x: &Mat, y: &Mat) -> Report {
    let (features, targets) = (names("x", x.cols()), names("y", y.cols()));
    let source = Source { x, y, features: &features, targets: &targets, labels: &[], info: None };
    from_model("test", model, source, Training::default()).unwrap()
}

#[test]
fn numbers_are_those_of_the_model() {
    let (x, y) = builtin::borehole(120, 1.0, 3);
    let model = fit(&x, &y, &[3], LikelihoodChoice::Gaussian);
    let report = report(&model, &x, &y);
    let (scores, prediction) = (model.score(&x, &y).unwrap(), model.predict(&x).unwrap());
    assert_eq!(report.scores.rows[0].1[0], scores.rmse());
    assert_eq!(report.targets[0].mean, prediction.y.mean.column(0));
    // The constant prediction has the spread of the training targets as its error.
    assert!((report.scores.rows[1].1[0].unwrap() / model.targets().scale()[0] - 1.0).abs() < 1e-9);
    // Share of PIT values in the middle 95 % is the coverage of the scores.
    let inside = report.targets[0].pit.iter().filter(|p| (0.025..=0.975).contains(*p)).count();
    assert!((inside as f64 / 120.0 - scores.coverage_95().expect("intervals")).abs() < 1e-9);
    assert_eq!((report.relevance.len(), report.slices.len(), report.layers.len()), (8, 6, 1));
    let view = &report.layers[0];
    assert!(view.units.len() == 3 && view.net.is_some() && view.cloud.is_some() && view.path.is_some());
    assert!(report.surface.is_some() && report.notes.is_empty());
    // The slices follow relevance.
    let most = report.relevance.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!(report.slices[0].column, most.0);
}

#[test]
fn every_shape_of_model_gives_a_page() {
    let (x, y) = builtin::step(50, 0.1, 1);
    for hidden in [&[][..], &[1], &[2, 2]] {
        let model = fit(&x, &y, hidden, LikelihoodChoice::Gaussian);
        let report = report(&model, &x, &y);
        assert_eq!(report.layers.len(), hidden.len());
        assert!(report.surface.is_none() && report.slices[0].observed.0.len() == 50);
        assert!(report.html().contains("</html>"));
    }
}

#[test]
fn few_rows_constant_columns_cases_and_several_targets() {
    let x = Mat::from_fn(60, 3, |n, c| [n as f64, 7.0, (n % 2) as f64][c]);
    let y = Mat::from_fn(60, 2, |n, p| (n as f64 * 0.1 + p as f64).sin() + (n % 2) as f64);
    let model = fit(&x, &y, &[2], LikelihoodChoice::StudentT);
    let page = report(&model, &x, &y);
    assert_eq!(page.targets.len(), 2);
    assert!(page.notes.is_empty());
    let cases = page.slices.iter().find(|s| s.column == "x3").unwrap();
    assert!(cases.discrete && cases.x == [0.0, 1.0]);
    let one = report(&model, &x.select_rows(&[5]), &y.select_rows(&[5]));
    assert!(one.notes.iter().any(|n| n.contains("only 1 rows")) && one.html().len() > 1000);
}

#[test]
fn names_and_rows_must_fit() {
    let (x, y) = builtin::step(30, 0.1, 1);
    let model = fit(&x, &y, &[1], LikelihoodChoice::Gaussian);
    let (one, two) = (names("a", 1), names("b", 2));
    let source = |features, targets| Source { x: &x, y: &y, features, targets, labels: &[], info: None };
    for source in [source(&two, &one), source(&one, &two)] {
        assert!(matches!(from_model("", &model, source, Training::default()), Err(Error::Shape { .. })));
    }
}

#[test]
fn the_course_of_training_is_shown_with_held_out_scores() {
    let (x, y) = builtin::step(30, 0.1, 1);
    let model = fit(&x, &y, &[1], LikelihoodChoice::Gaussian);
    let point = |i: usize| CurvePoint {
        step: i,
        energy: 10.0 - i as f64,
        valid_rmse: Some(1.0),
        valid_log_density: i.is_multiple_of(2).then_some(0.5),
    };
    let training = Training { curve: (0..40).map(point).collect(), ..Training::default() };
    let (features, targets) = (names("x", 1), names("y", 1));
    let source = Source { x: &x, y: &y, features: &features, targets: &targets, labels: &[], info: None };
    let report = from_model("", &model, source, training).unwrap();
    let figure = report.figures().pop().unwrap();
    assert_eq!((figure.name.as_str(), figure.panels.len()), ("training", 3));
}
