//! Whether predicted probabilities of labels come true, and how well labels are told apart.

use super::{Part, Section, spoken};
use crate::plot::{Axis, Figure, Ink, Mark, Panel, number};
use crate::report::LabelResults;
use crate::stats::{binomial_range, percent};

/// Most labels that get a curve each.
const MAX_CURVES: usize = 6;
/// Most points of a curve.
const MAX_POINTS: usize = 400;
/// Bins of probabilities, by the number of rows.
const FEW_BINS: usize = 5;
const BINS: usize = 10;
const ROWS_FOR_MORE_BINS: usize = 400;

/// The section, if there are labels and rows.
pub fn section(results: Option<&LabelResults>) -> Option<Section> {
    let results = results.filter(|results| !results.observed.is_empty())?;
    let calibration = calibration(results);
    let headline = format!("{}.", calibration.finding.split(". ").next().unwrap_or_default().trim_end_matches('.'));
    let parts = vec![calibration, discrimination(results)];
    Some(Section { id: "labels", title: "Probabilities".into(), parts, headline, omitted: omitted(results) })
}

fn omitted(results: &LabelResults) -> String {
    let n = curves(results).len();
    let all = if results.labels.len() == 2 { 1 } else { results.labels.len() };
    if n < all { format!("The {n} most frequent of {all} labels are shown.") } else { String::new() }
}

/// Labels that get curves: of two the second, of more the most frequent.
fn curves(results: &LabelResults) -> Vec<usize> {
    if results.labels.len() == 2 {
        return vec![1];
    }
    let mut counts = vec![0; results.labels.len()];
    results.observed.iter().for_each(|label| counts[*label] += 1);
    let mut order: Vec<usize> = (0..results.labels.len()).collect();
    order.sort_by_key(|k| std::cmp::Reverse(counts[*k]));
    order.truncate(MAX_CURVES);
    order
}

/// A probability that was predicted and whether it came true: of the second of two labels, else of the likeliest one.
fn statements(results: &LabelResults) -> Vec<(f64, bool)> {
    let of_row = |(p, label): (&Vec<f64>, &usize)| {
        let k = if p.len() == 2 { 1 } else { (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best }) };
        (p[k], k == *label)
    };
    results.probabilities.iter().zip(&results.observed).map(of_row).collect()
}

/// A bin: rows, mean probability, share that came true.
fn bins(statements: &[(f64, bool)]) -> Vec<(usize, f64, f64)> {
    let count = if statements.len() < ROWS_FOR_MORE_BINS { FEW_BINS } else { BINS };
    let mut sums = vec![(0usize, 0.0, 0usize); count];
    for (p, is_true) in statements {
        let bin = &mut sums[((p * count as f64) as usize).min(count - 1)];
        *bin = (bin.0 + 1, bin.1 + p, bin.2 + usize::from(*is_true));
    }
    let filled = sums.into_iter().filter(|bin| bin.0 > 0);
    filled.map(|(n, p, hits)| (n, p / n as f64, hits as f64 / n as f64)).collect()
}

fn calibration(results: &LabelResults) -> Part {
    let statements = statements(results);
    let bins = bins(&statements);
    let what = match results.labels.as_slice() {
        [_, second] => format!("probability of {}", spoken(second)),
        _ => "probability of the predicted label".to_owned(),
    };
    let axis = |label: String| Axis::linear(label).range(0.0, 1.0);
    let (x, y): (Vec<f64>, Vec<f64>) = bins.iter().map(|(_, p, share)| (*p, *share)).unzip();
    let (low, high): (Vec<f64>, Vec<f64>) = bins.iter().map(|(n, p, _)| binomial_range(*n, p.clamp(0.0, 1.0))).unzip();
    let reliability =
        Panel::new("Do probabilities come true?", axis(what.clone()), axis("share of rows where it was so".into()))
            .with(
                Mark::whiskers(x.clone(), low.clone(), high.clone())
                    .ink(Ink::Muted)
                    .width(9.0)
                    .opacity(0.3)
                    .label("chance, 95 %"),
            )
            .with(Mark::line(vec![0.0, 1.0], vec![0.0, 1.0]).ink(Ink::Muted).dashed().width(1.2).label("calibrated"))
            .with(Mark::line(x.clone(), y.clone()))
            .with(Mark::points(x, y.clone()).width(3.0).opacity(1.0).label("found"));
    let edges: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
    let mut height = vec![0.0; 20];
    statements.iter().for_each(|(p, _)| height[((p * 20.0) as usize).min(19)] += 1.0);
    let sureness = Panel::new("How sure the model is", axis(what), Axis::linear("rows"))
        .with(Mark::new(crate::plot::Shape::Columns { edges, height }).opacity(0.75));
    let figure = Figure::new("reliability", "Do predicted probabilities come true?").with(reliability).with(sureness);
    let inside =
        bins.iter().zip(low.iter().zip(&high)).filter(|((_, _, share), (low, high))| (**low..=**high).contains(share));
    let (inside, all) = (inside.count(), bins.len());
    let worst = bins.iter().max_by(|a, b| (a.2 - a.1).abs().total_cmp(&(b.2 - b.1).abs()));
    let mut finding = format!("{inside} of {all} points lie where chance alone would leave calibrated probabilities");
    if let Some((n, p, share)) = worst.filter(|_| inside < all) {
        finding += &format!(
            ". The largest gap: of {n} rows with probabilities of about {}, it was so in {}",
            percent(*p),
            percent(*share)
        );
    }
    let look = "Left: rows with about the same predicted probability, and the share of them of which it came true; the points \
                should lie on the diagonal. Grey bars are where chance alone leaves 95 % of calibrated results. Right: how \
                many rows have which probability; a sure model has most of them at the ends.";
    Part { figure, look: look.into(), finding: finding + "." }
}

fn discrimination(results: &LabelResults) -> Part {
    let axis = |label: &str| Axis::linear(label).range(0.0, 1.0);
    let mut roc = Panel::new(
        "Found against false alarms",
        axis("share of other rows that are called so"),
        axis("share of rows that are found"),
    )
    .with(Mark::line(vec![0.0, 1.0], vec![0.0, 1.0]).ink(Ink::Muted).dashed().width(1.2).label("by chance"));
    let mut precision = Panel::new(
        "Right among those called so",
        axis("share of rows that are found"),
        axis("share of them that are right"),
    );
    let mut areas = Vec::new();
    for (place, k) in curves(results).into_iter().enumerate() {
        let name = spoken(&results.labels[k]);
        let Curve { false_alarms, found, right, area } = curve(results, k);
        let ink = Ink::Series(place);
        roc.marks.push(Mark::line(false_alarms, found.clone()).ink(ink).label(name.clone()));
        precision.marks.push(Mark::line(found, right).ink(ink));
        if let Some(area) = area {
            areas.push(format!("{} for {name}", number(area)));
        }
    }
    let figure = Figure::new("discrimination", "How well are labels told apart?").with(roc).with(precision);
    let look = "Each point of a curve calls all rows above some probability by the label. Left: what share of the rows with the \
                label is found, and of the others called so by mistake; the further up and left the better. Right: how many \
                of those called so are right.";
    let finding = match areas.is_empty() {
        true => "All rows have the same label: there is nothing to tell apart.".to_owned(),
        false => format!("The area under the left curve is {} (1 is perfect, 0.5 is chance).", areas.join(", ")),
    };
    Part { figure, look: look.into(), finding }
}

/// Rows called by a label above falling probabilities.
struct Curve {
    false_alarms: Vec<f64>,
    found: Vec<f64>,
    right: Vec<f64>,
    area: Option<f64>,
}

fn curve(results: &LabelResults, k: usize) -> Curve {
    let mut rows: Vec<(f64, bool)> =
        results.probabilities.iter().zip(&results.observed).map(|(p, label)| (p[k], *label == k)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let own = rows.iter().filter(|(_, is_own)| *is_own).count() as f64;
    let others = rows.len() as f64 - own;
    let (mut hits, mut alarms, mut area) = (0.0, 0.0, 0.0);
    let mut points = vec![(0.0, 0.0, 1.0)];
    for tied in rows.chunk_by(|a, b| a.0 == b.0) {
        let own_here = tied.iter().filter(|(_, is_own)| *is_own).count() as f64;
        let others_here = tied.len() as f64 - own_here;
        area += others_here * (hits + 0.5 * own_here);
        (hits, alarms) = (hits + own_here, alarms + others_here);
        points.push((alarms / others.max(1.0), hits / own.max(1.0), hits / (hits + alarms)));
    }
    // Without a point before the first row called there is no share that is right.
    if let Some(first) = points.get(1).copied() {
        points[0].2 = first.2;
    }
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.len() - 1;
    let kept = points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, point)| *point);
    let mut curve = Curve { false_alarms: Vec::new(), found: Vec::new(), right: Vec::new(), area: None };
    for (alarm, found, right) in kept {
        curve.false_alarms.push(alarm);
        curve.found.push(found);
        curve.right.push(right);
    }
    curve.area = (own > 0.0 && others > 0.0).then(|| area / (own * others));
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows whose probabilities are right, or too sure.
    fn results(rows: usize, sureness: f64) -> LabelResults {
        let of_row = |i: usize| {
            let p = (0.618 * i as f64).fract();
            let is_second = (0.755 * i as f64).fract() < p;
            let odds = (sureness * (p / (1.0 - p)).ln()).exp();
            (vec![1.0 / (1.0 + odds), odds / (1.0 + odds)], usize::from(is_second))
        };
        let (probabilities, observed) = (1..=rows).map(of_row).unzip();
        LabelResults { name: "sick".into(), labels: vec!["no".into(), "yes".into()], probabilities, observed }
    }

    #[test]
    fn the_sentence_tells_calibrated_from_too_sure() {
        let right = section(Some(&results(2000, 1.0))).expect("a section");
        let sure = section(Some(&results(2000, 4.0))).expect("a section");
        let inside =
            |section: &Section| section.parts[0].finding.split(' ').next().and_then(|n| n.parse::<usize>().ok());
        assert!(inside(&right) >= Some(9), "{}", right.parts[0].finding);
        assert!(inside(&sure) <= Some(4) && sure.parts[0].finding.contains("largest gap"), "{}", sure.parts[0].finding);
        assert!(section(None).is_none());
    }

    #[test]
    fn the_area_counts_pairs() {
        let results = LabelResults {
            name: "sick".into(),
            labels: vec!["no".into(), "yes".into()],
            probabilities: [0.9, 0.2, 0.6, 0.6].iter().map(|p| vec![1.0 - p, *p]).collect(),
            observed: vec![1, 0, 0, 1],
        };
        assert!((curve(&results, 1).area.expect("both labels") - 3.5 / 4.0).abs() < 1e-12);
    }
}
