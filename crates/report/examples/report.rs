//! Trains on built-in data and writes a report of each set, with its figures, into a folder.
//!
//! ```text
//! cargo run --release -p deepgp-report --example report -- FOLDER
//! ```

use deepgp::train::Progress;
use deepgp_datasets::builtin;
use deepgp_numerics::linalg::Mat;
use deepgp_report::{CurvePoint, Source, Training, from_model};
use deepgp_task::{Config, Model};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

/// A data set, its columns and the network for it.
struct Case {
    name: &'static str,
    train: (Mat, Mat),
    test: (Mat, Mat),
    features: &'static [&'static str],
    target: &'static str,
    hidden: &'static [usize],
}

fn cases() -> Vec<Case> {
    let wells = &["r_w (m)", "r (m)", "T_u (m²/year)", "H_u (m)", "T_l (m²/year)", "H_l (m)", "L (m)", "K_w (m/year)"];
    let case = |name, train, test, features, target, hidden| Case { name, train, test, features, target, hidden };
    let plane = &["east (km)", "north (km)"];
    vec![
        case("step", builtin::step(200, 0.1, 1), builtin::step(1000, 0.1, 2), &["position"], "height", &[1]),
        case(
            "sine",
            builtin::sine_jump(300, 0.1, 1),
            builtin::sine_jump(600, 0.1, 2),
            &["time (s)"],
            "signal (V)",
            &[2],
        ),
        case("plane", builtin::ripple(500, 2, 0.1, 1), builtin::ripple(1000, 2, 0.1, 2), plane, "depth", &[2]),
        case(
            "borehole",
            builtin::borehole(400, 1.0, 1),
            builtin::borehole(20_000, 1.0, 2),
            wells,
            "flow (m³/year)",
            &[3],
        ),
        case("two-layers", builtin::step(200, 0.1, 1), builtin::step(20, 0.1, 2), &["position"], "height", &[2, 2]),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "reports".into());
    for case in cases() {
        let mut config = Config::default();
        config.architecture.hidden = case.hidden.to_vec();
        config.train.iterations = 3000;
        let mut curve = Vec::new();
        let mut observer = |p: &Progress<'_>| {
            if p.step.is_multiple_of(10) {
                curve.push(CurvePoint { step: p.step, energy: p.mean_energy, ..CurvePoint::default() });
            }
            ControlFlow::Continue(())
        };
        let (model, outcome) = Model::fit(&case.train.0, &case.train.1, &config, &mut observer)?;
        let settings = format!("{config:#?}").lines().map(|l| (String::new(), l.to_owned())).collect();
        let facts = vec![
            ("training rows".to_owned(), case.train.0.rows().to_string()),
            ("steps".to_owned(), outcome.steps.to_string()),
        ];
        let training = Training { curve, settings, facts, ..Training::default() };
        let features: Vec<String> = case.features.iter().map(ToString::to_string).collect();
        let targets = [case.target.to_string()];
        let source = Source {
            x: &case.test.0,
            y: &case.test.1,
            features: &features,
            targets: &targets,
            labels: &[],
            info: None,
        };
        let report = from_model(&format!("Deep GP of {}", case.name), &model, source, training)?;
        let folder = Path::new(&folder).join(case.name);
        let files = report.write_figures(&folder)?.len();
        let page = report.html();
        std::fs::write(folder.join("report.html"), &page)?;
        println!("{}: {} kB of HTML, {files} figure files in {}", case.name, page.len() / 1000, folder.display());
    }
    Ok(())
}
