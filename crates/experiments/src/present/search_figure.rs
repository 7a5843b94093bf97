//! What searches for a learning rate tried, as a figure.

use super::{Captioned, file_name};
use crate::record::{Criterion, Search};
use crate::results::StudyResults;
use deepgp_report::plot::{Axis, Figure, Ink, Mark, N_SERIES, Panel};

/// What learning-rate searches of these tasks tried: a panel for each task; nothing without searches. Up to six
/// variants have a colour each; of more, only the one with the least loss on each task stands out.
pub fn search_trace(study: &StudyResults, tasks: &[String]) -> Option<Captioned> {
    let searches: Vec<&Search> = study.searches.iter().filter(|s| tasks.contains(&s.key.task)).collect();
    let mut variants: Vec<&str> = Vec::new();
    for search in &searches {
        if !variants.contains(&search.key.variant.as_str()) {
            variants.push(&search.key.variant);
        }
    }
    let (label, meaning) = match searches.first()?.settings.criterion {
        Criterion::Rmse => ("log RMSE ratio", "the logarithm of the RMSE relative to a constant model's"),
        Criterion::LogDensity => ("loss (nats)", "the negative mean log density relative to a constant model's"),
    };
    let mut figure = Figure::new(file_name("search", &study.name), "The search for learning rates")
        .columns(3)
        .row_height(200.0)
        .shared_legend();
    for task in tasks {
        let mut of_task: Vec<&Search> = searches.iter().copied().filter(|s| s.key.task == *task).collect();
        let Some(best) = of_task.iter().copied().min_by(|a, b| a.loss.total_cmp(&b.loss)) else { continue };
        let mut panel = Panel::new(task.as_str(), Axis::log("learning rate"), Axis::linear(label));
        if variants.len() > N_SERIES {
            // The best one lies in front.
            of_task.sort_by_key(|search| search.key == best.key);
        }
        for search in of_task {
            let (ink, name) = if variants.len() <= N_SERIES {
                let n = variants.iter().position(|variant| *variant == search.key.variant);
                (Ink::Series(n.unwrap_or(0)), search.key.variant.as_str())
            } else if search.key == best.key {
                (Ink::Series(0), "variant with the least loss")
            } else {
                (Ink::Muted, "other variants")
            };
            panel.marks.extend(trace(search, ink, name));
        }
        figure.panels.push(panel);
    }
    // Entries of the legend that no mark of one colour can have.
    if let Some(panel) = figure.panels.first_mut() {
        let none = || Mark::points(Vec::new(), Vec::new()).ink(Ink::Muted).width(3.2).opacity(1.0);
        panel.marks.push(none().hollow().label("first design"));
        panel.marks.push(none().label("most improvement expected"));
        panel.marks.push(Mark::upright(f64::NAN).label("chosen"));
    }
    let caption = format!(
        "Loss on held-out training rows against the learning rate: {meaning}, so 0 is no better than a constant and lower is \
         better. Rings are trials of the first design, discs those that the surrogate asked for; the broken line is the rate \
         that was chosen."
    );
    Some(Captioned { figure, caption })
}

/// The trials of one search.
fn trace(search: &Search, ink: Ink, name: &str) -> Vec<Mark> {
    let mut sorted: Vec<(f64, f64)> = search.trials.iter().map(|t| (t.learning_rate, t.loss)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (x, y): (Vec<f64>, Vec<f64>) = sorted.into_iter().unzip();
    let points = |first: bool| {
        let kind = search.trials.iter().filter(|t| t.expected_improvement.is_none() == first);
        let (x, y) = kind.map(|t| (t.learning_rate, t.loss)).unzip();
        Mark::points(x, y).ink(ink).width(3.2).opacity(1.0)
    };
    vec![
        Mark::upright(search.learning_rate).ink(ink),
        Mark::line(x, y).ink(ink).width(1.0).opacity(0.5),
        points(true).hollow(),
        points(false).label(name),
    ]
}
