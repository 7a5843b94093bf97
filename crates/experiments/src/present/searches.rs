//! What was found and chosen on training rows, as tables.

use super::numbers::{fixed, short};
use super::{Cell, MOST_COLUMNS, Table};
use crate::results::StudyResults;
use deepgp_report::plot::number;

/// The learning rates that searches found; nothing without searches.
pub fn learning_rates(study: &StudyResults) -> Option<Table> {
    let mut variants: Vec<&str> = Vec::new();
    for search in &study.searches {
        if !variants.contains(&search.key.variant.as_str()) {
            variants.push(&search.key.variant);
        }
    }
    let settings = study.searches.first()?.settings;
    let cell = |task: &str, variant: &str| {
        let found = study.searches.iter().find(|s| s.key.task == task && s.key.variant == variant);
        found.map_or_else(|| "–".into(), |s| format!("{} ({})", short(s.learning_rate), s.trials.len()))
    };
    let tasks = study.tasks.iter().filter(|task| study.searches.iter().any(|s| s.key.task == **task));
    let rows = tasks.map(|task| {
        let cells = variants.iter().map(|variant| Cell::from(cell(task, variant)));
        std::iter::once(Cell::from(task.as_str())).chain(cells).collect()
    });
    let table = Table {
        title: "Learning rates found (trials)".into(),
        head: std::iter::once("task").chain(variants.iter().copied()).map(str::to_owned).collect(),
        rows: rows.collect(),
        summary_rows: 0,
        notes: vec![format!(
            "Each was searched for between {} and {} by {} trials, each scored on the {} of the training rows of the first split \
             that were held out.",
            short(settings.bounds.0),
            short(settings.bounds.1),
            settings.trials,
            format_args!("{} %", number(100.0 * settings.held_out))
        )],
    };
    Some(if variants.len() > MOST_COLUMNS { table.transposed() } else { table })
}

/// What was chosen among variants; nothing without choices.
pub fn chosen_variants(study: &StudyResults) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = study
        .choices
        .iter()
        .map(|choice| {
            let mut losses: Vec<&(String, f64)> = choice.candidates.iter().collect();
            losses.sort_by(|a, b| a.1.total_cmp(&b.1));
            let all: Vec<String> = losses.iter().map(|(name, loss)| format!("{name} {}", fixed(*loss, 3))).collect();
            vec![choice.key.task.as_str().into(), choice.key.variant.as_str().into(), all.join(", ").into()]
        })
        .collect();
    let head = ["task", "chosen", "losses on held-out training rows"].map(str::to_owned).to_vec();
    let title = "Variants chosen by held-out training rows".to_owned();
    (!rows.is_empty()).then(|| Table { title, head, rows, summary_rows: 0, notes: Vec::new() })
}
