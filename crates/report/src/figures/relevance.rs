//! How much each input column matters to the first layer.

use super::{Part, Section, spoken};
use crate::plot::{Axis, Figure, Mark, Panel, Shape};
use crate::stats::percent;

/// Columns that are shown.
const MAX_COLUMNS: usize = 30;

/// The section, if there is more than one column.
pub fn section(relevance: &[(String, f64)]) -> Option<Section> {
    let mut sorted: Vec<(&str, f64)> =
        relevance.iter().map(|(n, r)| (n.as_str(), if r.is_finite() { r.max(0.0) } else { 0.0 })).collect();
    // In units of the largest first, so that the sum is finite.
    let largest = sorted.iter().fold(0.0_f64, |m, c| m.max(c.1));
    if sorted.len() < 2 || largest <= 0.0 {
        return None;
    }
    let total: f64 = sorted.iter().map(|c| c.1 / largest).sum();
    sorted.iter_mut().for_each(|c| c.1 = c.1 / largest / total);
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shown = &sorted[..sorted.len().min(MAX_COLUMNS)];
    let names = shown.iter().map(|c| if c.0.is_empty() { "(no name)".to_owned() } else { c.0.to_owned() }).collect();
    let length = shown.iter().map(|c| c.1).collect();
    let panel =
        Panel::new("", Axis::linear("share of relevance"), Axis::names(names)).with(Mark::new(Shape::Bars { length }));
    let figure = Figure::new("relevance", "Which columns matter")
        .with(panel)
        .columns(1)
        .row_height(60.0 + 22.0 * shown.len() as f64);
    let look = "A column is relevant if the first layer varies quickly along it, measured in standard deviations of the \
                column (1/ℓ² of its lengthscale ℓ). It says what the model makes use of, not what causes what; of two columns \
                that say the same, one may get all.";
    let omitted = match sorted.len() - shown.len() {
        0 => String::new(),
        n => format!(
            "The {MAX_COLUMNS} most relevant of {} columns are shown; the other {n} hold {} together.",
            sorted.len(),
            percent(sorted[MAX_COLUMNS..].iter().map(|c| c.1).sum())
        ),
    };
    let finding = finding(&sorted);
    let part = Part { figure, look: look.into(), finding: finding.clone() };
    Some(Section {
        id: "relevance",
        title: "Which columns matter".into(),
        parts: vec![part],
        headline: finding,
        omitted,
    })
}

/// What the shares, in falling order, come to.
fn finding(sorted: &[(&str, f64)]) -> String {
    let mut sum = 0.0;
    let enough = sorted.iter().position(|c| {
        sum += c.1;
        sum >= 0.95
    });
    let enough = enough.map_or(sorted.len(), |i| i + 1);
    let idle = sorted.iter().filter(|c| c.1 < 0.01).count();
    let first = spoken(sorted[0].0);
    let mut text = format!("{first} is the most relevant column with {}; ", percent(sorted[0].1));
    text += &match enough {
        1 => "the others hardly matter".to_owned(),
        n if n == sorted.len() => "no column can be spared".to_owned(),
        n => format!("{n} of {} columns hold 95 %", sorted.len()),
    };
    text += &match idle {
        0 => ".".to_owned(),
        1 => ", and one holds less than 1 %.".to_owned(),
        n => format!(", and {n} hold less than 1 % each."),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_counts_columns() {
        assert_eq!(
            finding(&[("a", 0.99), ("b", 0.01)]),
            "a is the most relevant column with 99 %; the others hardly matter."
        );
        assert_eq!(
            finding(&[("a", 0.6), ("b", 0.4)]),
            "a is the most relevant column with 60 %; no column can be spared."
        );
        assert_eq!(
            finding(&[("a", 0.6), ("b", 0.36), ("c", 0.03), ("d", 0.005), ("e", 0.005)]),
            "a is the most relevant column with 60 %; 2 of 5 columns hold 95 %, and 2 hold less than 1 % each."
        );
    }

    #[test]
    fn columns_are_sorted_and_shares_add_up() {
        let relevance = [("a".to_owned(), 1e300), ("b".to_owned(), 3e300), ("c".to_owned(), f64::NAN)];
        let section = section(&relevance).unwrap();
        let panel = &section.parts[0].figure.panels[0];
        let Shape::Bars { length } = &panel.marks[0].shape else { panic!("bars") };
        assert_eq!((length.as_slice(), panel.y.names[0].as_str()), (&[0.75, 0.25, 0.0][..], "b"));
    }
}
