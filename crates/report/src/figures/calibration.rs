//! Whether predicted probabilities come true: the PIT histogram and the coverage of intervals.

use super::{MAX_TARGETS, Part, Section, of_target, omitted_targets};
use crate::plot::{Axis, Figure, Ink, Mark, Panel, Shape};
use crate::report::TargetResults;
use crate::stats::{binomial_range, mean_std, percent};

/// The section, if there is a target with rows.
pub fn section(targets: &[TargetResults]) -> Option<Section> {
    let parts: Vec<Part> =
        targets.iter().take(MAX_TARGETS).enumerate().filter_map(|(i, t)| part(i, t, targets.len())).collect();
    let headline = parts.first()?.finding.clone();
    let headline = headline.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned() + ".";
    Some(Section {
        id: "calibration",
        title: "Calibration".into(),
        parts,
        headline,
        omitted: omitted_targets(targets.len()),
    })
}

fn part(index: usize, t: &TargetResults, n_targets: usize) -> Option<Part> {
    let pit: Vec<f64> = t.pit.iter().copied().filter(|p| (0.0..=1.0).contains(p)).collect();
    if pit.is_empty() {
        return None;
    }
    let title = of_target("Do predicted probabilities come true?", &t.name, n_targets);
    let figure = Figure::new(format!("calibration-{}", index + 1), title).with(histogram(&pit)).with(coverage(&pit));
    let look = "Left: where in its predicted distribution each observation fell; a calibrated model fills all columns \
                evenly. Piles at both ends mean intervals too narrow, a hill in the middle too wide, a slope a bias. Right: \
                how many observations lie inside central intervals of each size; the line should follow the diagonal. Grey \
                bands are where chance alone leaves 95 % of calibrated results.";
    Some(Part { figure, look: look.into(), finding: finding(&pit) })
}

fn histogram(pit: &[f64]) -> Panel {
    let bins = match pit.len() {
        0..50 => 5,
        50..400 => 10,
        _ => 20,
    };
    let mut count = vec![0usize; bins];
    for p in pit {
        count[((p * bins as f64) as usize).min(bins - 1)] += 1;
    }
    let n = pit.len() as f64;
    // Heights relative to an even share, so that 1 is calibrated whatever the number of columns.
    let height = count.iter().map(|&c| c as f64 * bins as f64 / n).collect();
    let edges = (0..=bins).map(|i| i as f64 / bins as f64).collect();
    let (low, high) = binomial_range(pit.len(), 1.0 / bins as f64);
    let range = |v: f64| vec![v * bins as f64; 2];
    let y = Axis::linear("rows, relative to an even share");
    Panel::new("Where observations fell", Axis::linear("predicted probability of a smaller value").range(0.0, 1.0), y)
        .with(Mark::new(Shape::Columns { edges, height }).opacity(0.75))
        .with(Mark::band(vec![0.0, 1.0], range(low), range(high)).ink(Ink::Muted).opacity(0.25).label("chance, 95 %"))
        .with(Mark::across(1.0).label("even"))
}

fn coverage(pit: &[f64]) -> Panel {
    // A central interval of probability p holds the observation if |2 PIT − 1| ≤ p.
    let mut needed: Vec<f64> = pit.iter().map(|u| (2.0 * u - 1.0).abs()).collect();
    needed.sort_unstable_by(f64::total_cmp);
    let levels: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
    let inside = |p: f64| needed.partition_point(|&d| d <= p) as f64 / pit.len() as f64;
    let found = levels.iter().map(|&p| inside(p)).collect();
    let coarse: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
    let chance = |p: f64| if p <= 0.0 || p >= 1.0 { (p, p) } else { binomial_range(pit.len(), p) };
    let (low, high) = coarse.iter().map(|&p| chance(p)).unzip();
    let axis = |label: &str| Axis::linear(label).range(0.0, 1.0);
    Panel::new("How many lie inside", axis("probability of the interval"), axis("share of rows inside it"))
        .with(Mark::band(coarse, low, high).ink(Ink::Muted).opacity(0.25).label("chance, 95 %"))
        .with(Mark::line(vec![0.0, 1.0], vec![0.0, 1.0]).ink(Ink::Muted).dashed().width(1.2).label("calibrated"))
        .with(Mark::line(levels, found).label("found"))
}

fn finding(pit: &[f64]) -> String {
    let n = pit.len();
    let inside = |p: f64| pit.iter().filter(|u| (2.0 * **u - 1.0).abs() <= p).count() as f64 / n as f64;
    let (found, (low, high)) = (inside(0.95), binomial_range(n, 0.95));
    let mut text = format!(
        "{} of the observed values lie in their 95 % interval (chance would leave a calibrated model between {} and {}): ",
        percent(found),
        percent(low),
        percent(high)
    );
    // With many rows chance explains little; a difference of a hundredth still matters to nobody.
    let hardly = (found - 0.95).abs() < 0.01;
    text += match (found < low, found > high) {
        (true, _) if hardly => "the intervals are a trifle too narrow. ",
        (true, _) => "the intervals are too narrow. ",
        (_, true) if hardly => "the intervals are a trifle too wide. ",
        (_, true) => "the intervals are wider than they need to be. ",
        _ => "these intervals are right. ",
    };
    let (half, (low, high)) = (inside(0.5), binomial_range(n, 0.5));
    text += &format!("The 50 % interval holds {} (chance: {} to {})", percent(half), percent(low), percent(high));
    text += match (half < low - 0.01, half > high + 0.01) {
        (true, _) => ": in the middle the predicted distributions are too narrow. ",
        (_, true) => ": in the middle the predicted distributions are too wide. ",
        _ => ". ",
    };
    // The PIT of a calibrated model is uniform, with variance 1/12.
    let z = (mean_std(pit).0 - 0.5) * (12.0 * n as f64).sqrt();
    if z.abs() > 2.6 {
        text += if z > 0.0 { "Predictions tend to be too low." } else { "Predictions tend to be too high." };
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding_of(pit: impl Fn(f64) -> f64) -> String {
        finding(&(0..1000).map(|i| pit((f64::from(i) + 0.5) / 1000.0)).collect::<Vec<f64>>())
    }

    #[test]
    fn the_sentence_tells_good_from_bad() {
        assert!(
            finding_of(|u| u).contains("95 % of the observed values")
                && finding_of(|u| u).contains("these intervals are right")
        );
        // Right at 95 %, wrong at 50 %: a quarter of the rows moved towards the middle.
        let humped = finding_of(|u| if (0.1..0.9).contains(&u) { 0.5 + 0.7 * (u - 0.5) } else { u });
        assert!(humped.contains("these intervals are right") && humped.contains("too wide"), "{humped}");
        // Errors twice and half as large as the model says.
        assert!(
            finding_of(|u| 0.5 + (u - 0.5).signum() * (2.0 * (u - 0.5).abs()).powf(0.4) / 2.0).contains("too narrow")
        );
        assert!(finding_of(|u| 0.5 + 0.8 * (u - 0.5)).contains("wider than they need"));
        assert!(finding_of(|u| u.sqrt()).contains("too low") && finding_of(|u| u * u).contains("too high"));
    }

    #[test]
    fn columns_average_one() {
        let pit: Vec<f64> = (0..777).map(|i| (f64::from(i) * 0.618).fract()).collect();
        let Shape::Columns { height, edges } = &histogram(&pit).marks[0].shape else { panic!("columns") };
        assert_eq!((height.len(), edges.len()), (20, 21));
        assert!((height.iter().sum::<f64>() / 20.0 - 1.0).abs() < 1e-12);
    }
}
