//! Predicted against observed values, and what is left over.

use super::{MAX_TARGETS, Part, Section, of_target, omitted_targets, spoken};
use crate::plot::{Axis, Figure, Ink, MAX_POINTS, Mark, Panel, number};
use crate::report::TargetResults;
use crate::stats::{mean_std, percent, quantile, root_mean_square};

/// Up to this many rows the intervals of all are drawn, beyond it those of every so many.
const MAX_INTERVALS: usize = 150;

/// The section, if there is a target with rows.
pub fn section(targets: &[TargetResults]) -> Option<Section> {
    let parts: Vec<Part> =
        targets.iter().take(MAX_TARGETS).enumerate().filter_map(|(i, t)| part(i, t, targets.len())).collect();
    let headline = parts.first()?.finding.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned() + ".";
    let omitted = omitted_targets(targets.len());
    Some(Section { id: "accuracy", title: "Predictions against observations".into(), parts, headline, omitted })
}

fn part(index: usize, t: &TargetResults, n_targets: usize) -> Option<Part> {
    let n = t.observed.len().min(t.mean.len()).min(t.interval[0].len()).min(t.interval[1].len());
    if n == 0 {
        return None;
    }
    let residuals: Vec<f64> = t.observed.iter().zip(&t.mean).map(|(y, m)| y - m).collect();
    let title = of_target("Predicted and observed values", &t.name, n_targets);
    let figure =
        Figure::new(format!("accuracy-{}", index + 1), title).with(agreement(t, n)).with(leftover(t, &residuals));
    let bars = if n > MAX_POINTS { "" } else { "; bars are 95 % intervals" };
    let look = format!(
        "Left: points on the dashed line were predicted exactly{bars}. Right: what the model left unexplained should scatter \
         around zero without a pattern, and about 95 % of it should lie between the orange limits, which are the model's own."
    );
    Some(Part { figure, look, finding: finding(t, &residuals) })
}

/// Observed against predicted.
fn agreement(t: &TargetResults, n: usize) -> Panel {
    let all = || t.observed.iter().chain(&t.mean).copied().filter(|v| v.is_finite());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let room = 0.04 * (high - low);
    let (low, high) = (low - room, high + room);
    let some: Vec<usize> = (0..n).step_by(n.div_ceil(MAX_INTERVALS).max(1)).collect();
    let pick = |v: &dyn Fn(usize) -> f64| some.iter().map(|&i| v(i)).collect::<Vec<f64>>();
    let label = if some.len() < n { "95 % interval (some rows)" } else { "95 % interval" };
    let many = n > MAX_POINTS;
    // Observations lie across, so that an interval of the prediction stands upright on its own point.
    let whiskers = Mark::whiskers(pick(&|i| t.observed[i]), pick(&|i| t.interval[0][i]), pick(&|i| t.interval[1][i]));
    let axes = (format!("observed {}", t.name), format!("predicted {}", t.name));
    let mut panel = Panel::new("", Axis::linear(axes.0).range(low, high), Axis::linear(axes.1).range(low, high));
    // Under hexagons nobody would see them.
    if !many {
        panel.marks.push(whiskers.opacity(0.35).label(label));
    }
    panel
        .with(Mark::points(t.observed.clone(), t.mean.clone()).label(rows_label(n)))
        .with(Mark::line(vec![low, high], vec![low, high]).ink(Ink::Muted).dashed().width(1.2).label("exact"))
}

/// Residuals against predictions, with the model's own spread.
fn leftover(t: &TargetResults, residuals: &[f64]) -> Panel {
    let mut order: Vec<usize> = (0..t.mean.len().min(t.interval[0].len()).min(t.interval[1].len())).collect();
    order.sort_by(|&a, &b| t.mean[a].total_cmp(&t.mean[b]));
    // Rows of like predictions share one width, or the band would be a thicket.
    let group = order.len().div_ceil(40).max(1);
    let (mut x, mut below, mut above) = (Vec::new(), Vec::new(), Vec::new());
    for rows in order.chunks(group) {
        let typical = |end: usize| {
            let from_mean = |&i: &usize| t.interval[end][i] - t.mean[i];
            root_mean_square(&rows.iter().map(from_mean).collect::<Vec<f64>>())
        };
        let ends = [rows[0], rows[rows.len() - 1]].map(|i| t.mean[i]);
        x.push(0.5 * ends[0] + 0.5 * ends[1]);
        below.push(-typical(0));
        above.push(typical(1));
    }
    let limit = |y| Mark::line(x.clone(), y).ink(Ink::Series(1)).width(1.4);
    Panel::new("", Axis::linear(format!("predicted {}", t.name)), Axis::linear("observed − predicted"))
        .with(Mark::points(t.mean.clone(), residuals.to_vec()).label(rows_label(residuals.len())))
        .with(Mark::across(0.0))
        .with(limit(below))
        .with(limit(above).label("95 % limits of the model"))
}

/// What a point, or a hexagon, stands for.
fn rows_label(n: usize) -> &'static str {
    if n > MAX_POINTS { "rows (darker: more)" } else { "a row" }
}

fn finding(t: &TargetResults, residuals: &[f64]) -> String {
    let (rmse, spread) = (root_mean_square(residuals), mean_std(&t.observed).1);
    let name = spoken(&t.name);
    let mut text = if spread > 0.0 {
        let explained = 1.0 - (rmse / spread).powi(2);
        format!(
            "The typical error (RMSE) is {}, against a spread of {} in {name}: the model explains {} of the variance. ",
            number(rmse),
            number(spread),
            percent(explained)
        )
    } else {
        format!("The typical error (RMSE) is {}; {name} does not vary in these rows. ", number(rmse))
    };
    let n = residuals.len();
    let bias = mean_std(residuals).0;
    if n >= 20 && rmse > 0.0 {
        let trust =
            if bias.abs() > 2.0 * rmse / (n as f64).sqrt() { "more than chance explains" } else { "within chance" };
        text += &format!(
            "Observations lie {} {} predictions on average, {trust}. ",
            number(bias.abs()),
            if bias < 0.0 { "below" } else { "above" }
        );
    }
    if n >= 50 {
        let (low, high) = (quantile(&t.std, 0.2), quantile(&t.std, 0.8));
        let error_where = |keep: &dyn Fn(f64) -> bool| {
            let rows = residuals.iter().zip(&t.std).filter(|(_, s)| keep(**s)).map(|(r, _)| *r).collect::<Vec<f64>>();
            root_mean_square(&rows)
        };
        // With one and the same width everywhere there is nothing to compare.
        if high > 1.05 * low {
            let (sure, unsure) = (error_where(&|s| s <= low), error_where(&|s| s >= high));
            text += &format!(
                "Among the fifth of rows it is surest of, the error is {}; among the fifth it is least sure of, {}.",
                number(sure),
                number(unsure)
            );
        }
    }
    text.trim_end().to_owned()
}
