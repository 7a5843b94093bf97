//! The sections of a report: each a few figures, with what to look for and what this model shows.

mod accuracy;
mod calibration;
mod classes;
mod layers;
mod relevance;
mod slices;
mod training;

use crate::plot::Figure;
use crate::report::Report;

/// Targets that get figures of their own; the scores cover all.
const MAX_TARGETS: usize = 4;

/// A figure with its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The figure.
    pub figure: Figure,
    /// What to look for in it.
    pub look: String,
    /// What it shows for this model.
    pub finding: String,
}

/// Figures that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its name for links, in letters and hyphens.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// Its figures.
    pub parts: Vec<Part>,
    /// Its message in one sentence, for the top of the page; may be empty.
    pub headline: String,
    /// What was left out, if anything.
    pub omitted: String,
}

/// The sections that have something to show, in reading order.
pub fn sections(report: &Report) -> Vec<Section> {
    let all = [
        accuracy::section(&report.targets),
        calibration::section(&report.targets),
        classes::section(report.labels.as_ref()),
        slices::section(&report.slices, report.surface.as_ref()),
        relevance::section(&report.relevance),
        layers::section(&report.layers),
        training::section(&report.curve),
    ];
    all.into_iter().flatten().filter(|s| !s.parts.is_empty()).collect()
}

/// Says that only some targets are shown, if so.
fn omitted_targets(n: usize) -> String {
    if n <= MAX_TARGETS { String::new() } else { format!("The first {MAX_TARGETS} of {n} targets are shown.") }
}

/// A title that names the target only where there is more than one.
fn of_target(title: &str, name: &str, n_targets: usize) -> String {
    if n_targets == 1 { title.to_owned() } else { format!("{title}: {name}") }
}

/// A name as a sentence can bear it.
fn spoken(name: &str) -> String {
    match name.trim() {
        "" => "(no name)".to_owned(),
        name if name.chars().count() > 50 => name.chars().take(49).chain(['…']).collect(),
        name => name.to_owned(),
    }
}
