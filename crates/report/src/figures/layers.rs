//! What each hidden layer does to the data: bending, stretching, compressing, and units left idle.

use super::{Part, Section, spoken};
use crate::plot::{Axis, Figure, Ink, Mark, Panel, Shape, number};
use crate::report::{HiddenCloud, HiddenNet, HiddenPath, LayerView, UnitUse};
use crate::stats::{mean_std, percent};

/// Units that get a panel of their own.
const MAX_UNITS: usize = 5;
/// Rows whose uncertainty is drawn.
const MAX_ELLIPSES: usize = 25;
/// A unit is idle if the next layer sees less of it than this many lengthscales, or if noise exceeds signal.
const IDLE_REACH: f64 = 0.1;

/// The section, if there are hidden layers.
pub fn section(layers: &[LayerView]) -> Option<Section> {
    let parts: Vec<Part> = layers.iter().flat_map(parts).collect();
    let headline = parts.first()?.finding.clone();
    let title = "What the hidden layers do".into();
    Some(Section { id: "layers", title, parts, headline, omitted: String::new() })
}

fn parts(view: &LayerView) -> Vec<Part> {
    let by_use = units_by_use(&view.units);
    let path = view.path.as_ref().filter(|p| p.at.len() > 1).map(|p| along_path(view, p, &by_use));
    let plane = (view.net.is_some() || view.cloud.is_some()).then(|| in_plane(view));
    let usage = (view.units.len() > 1).then(|| usage(view, &by_use));
    [path, plane, usage].into_iter().flatten().collect()
}

/// Units, most used first.
fn units_by_use(units: &[UnitUse]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by(|&a, &b| units[b].reach.total_cmp(&units[a].reach));
    order
}

/// Each unit along one column, and where the layer stretches.
fn along_path(view: &LayerView, path: &HiddenPath, by_use: &[usize]) -> Part {
    let title = format!("Hidden layer {} along {}", view.layer, path.column);
    let mut figure = Figure::new(format!("layer-{}-path", view.layer), title).shared_legend();
    let mut shown: Vec<usize> = by_use.iter().copied().filter(|&u| u < path.mean.len()).take(MAX_UNITS).collect();
    shown.sort_unstable();
    // One range for all, so that a unit that hardly moves looks so.
    let values =
        shown.iter().flat_map(|&u| path.mean[u].iter().zip(&path.std[u]).flat_map(|(m, s)| [m - 2.0 * s, m + 2.0 * s]));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let value_axis = Axis::linear("hidden value").range(low, high);
    for &u in &shown {
        let (mean, std) = (&path.mean[u], &path.std[u]);
        let ends = |sign: f64| mean.iter().zip(std).map(|(m, s)| m + sign * 2.0 * s).collect::<Vec<f64>>();
        let panel = Panel::new(format!("Unit {}", u + 1), Axis::linear(&path.column), value_axis.clone())
            .with(Mark::band(path.at.clone(), ends(-1.0), ends(1.0)).label("± 2 standard deviations"))
            .with(Mark::line(path.at.clone(), mean.clone()).label("mean"));
        figure.panels.push(panel);
    }
    // Never so narrow a range that an even stretching would look uneven.
    let most = path.stretch.iter().copied().filter(|s| s.is_finite()).fold(2.0_f64, |m, s| m.max(1.08 * s));
    figure.panels.push(
        Panel::new("Local stretching", Axis::linear(&path.column), Axis::linear("times the average").range(0.0, most))
            .with(Mark::line(path.at.clone(), path.stretch.clone()).ink(Ink::Series(1)))
            .with(Mark::across(1.0)),
    );
    figure.columns = if matches!(figure.panels.len(), 3 | 5 | 6) { 3 } else { 2 };
    figure.row_height = if figure.columns == 3 { 230.0 } else { 290.0 };
    let look = "Each hidden unit against the input, other columns at their medians. Where a line is steep the layer pulls \
                neighbouring inputs apart, so that the next layer can change quickly there; where it is flat, inputs are \
                pressed together. The last panel is the speed of all units together, in lengthscales of the next layer.";
    let finding = stretching(view.layer, path);
    Part { figure, look: look.into(), finding }
}

/// How unevenly a path is stretched, in words.
fn stretching(layer: usize, path: &HiddenPath) -> String {
    let column = spoken(&path.column);
    let places = path.stretch.iter().copied().zip(path.at.iter().copied()).filter(|p| p.0.is_finite());
    let mut falling: Vec<(f64, f64)> = places.collect();
    falling.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total: f64 = falling.iter().map(|p| p.0).sum();
    let (Some(&(most, at)), true) = (falling.first(), total > 0.0) else {
        return format!("Layer {layer} does not move along {}.", column);
    };
    // The share of the path on which half of the way is made: ½ where all is even.
    let mut way = 0.0;
    let half = falling.iter().take_while(|p| {
        way += p.0;
        way < 0.5 * total
    });
    let share = (half.count() + 1) as f64 / falling.len() as f64;
    let where_most = format!("most near {}, {} times the average", number(rounded(at)), number(rounded(most)));
    match share {
        s if s > 0.42 => format!("Layer {layer} stretches {} evenly: it hardly bends its input.", column),
        s => format!(
            "Layer {layer} bends its input{}: half of its stretching falls on {} of the range of {}, {where_most}.",
            if s > 0.3 { " a little" } else { "" },
            percent(s),
            column
        ),
    }
}

/// To two digits.
fn rounded(v: f64) -> f64 {
    if v == 0.0 || !v.is_finite() {
        return v;
    }
    let unit = 10f64.powf(v.abs().log10().floor() - 1.0);
    if unit > 0.0 { (v / unit).round() * unit } else { v }
}

/// The image of a grid and of the data in the plane of two units.
fn in_plane(view: &LayerView) -> Part {
    let title = format!("Hidden layer {} as a map", view.layer);
    let mut figure = Figure::new(format!("layer-{}-map", view.layer), title).row_height(330.0);
    if let Some(net) = &view.net {
        figure.panels.push(net_panel(net));
    }
    if let Some(cloud) = &view.cloud {
        figure.panels.push(cloud_panel(cloud));
    }
    let mut look = String::new();
    if view.net.is_some() {
        look += "The net is what becomes of a regular grid of the inputs: wide meshes are stretched, narrow ones compressed, \
                 and where the net folds or collapses into a line the layer brings different inputs together. ";
    }
    if view.cloud.is_some() {
        look += "Dots are the rows of the data where the layer puts them, coloured by the target; ellipses are one standard \
                 deviation of some. Colours that change in one direction only mean that the layer has found what matters.";
    }
    let finding = view.cloud.as_ref().and_then(|c| flatness(view, c)).map_or_else(String::new, |share| {
        let shape = match share {
            s if s > 0.98 => "the layer has compressed its input to a line",
            s if s > 0.85 => "one direction dominates",
            _ => "both units are put to use",
        };
        format!(
            "{} of what the next layer can see of these two units lies along one direction: {shape}.",
            percent(share)
        )
    });
    Part { figure, look: look.trim_end().into(), finding }
}

fn net_panel(net: &HiddenNet) -> Panel {
    let [a, b] = net.units.map(|u| format!("unit {}", u + 1));
    let mark = |lines: &Vec<Vec<(f64, f64)>>, i: usize| {
        let label = format!("along {}", net.columns[i]);
        Mark::new(Shape::Net { lines: lines.clone() }).ink(Ink::Series(i)).width(1.0).label(label)
    };
    Panel::new("Image of a regular grid", Axis::linear(a), Axis::linear(b))
        .with(mark(&net.along_first, 0))
        .with(mark(&net.along_second, 1))
}

fn cloud_panel(cloud: &HiddenCloud) -> Panel {
    let [a, b] = cloud.units.map(|u| format!("unit {}", u + 1));
    let n = cloud.mean[0].len();
    let pick = |v: &Vec<f64>| v.iter().copied().step_by(n.div_ceil(MAX_ELLIPSES).max(1)).collect::<Vec<f64>>();
    let ellipses = Shape::Ellipses {
        x: pick(&cloud.mean[0]),
        y: pick(&cloud.mean[1]),
        x_radius: pick(&cloud.std[0]),
        y_radius: pick(&cloud.std[1]),
    };
    let [x, y] = cloud.mean.clone();
    Panel::new("Rows of the data", Axis::linear(a), Axis::linear(b))
        .with(Mark::new(Shape::Coloured { x, y, value: cloud.value.clone() }).label(&cloud.target))
        .with(Mark::new(ellipses).ink(Ink::Text).opacity(0.45).label("one standard deviation, some rows"))
}

/// Share of the larger principal variance of the two units, each in lengthscales of the next layer.
fn flatness(view: &LayerView, cloud: &HiddenCloud) -> Option<f64> {
    let reach = |i: usize| view.units.get(cloud.units[i]).map(|u| u.reach);
    let (ra, rb) = (reach(0)?, reach(1)?);
    let ((ma, sa), (mb, sb)) = (mean_std(&cloud.mean[0]), mean_std(&cloud.mean[1]));
    let products = cloud.mean[0].iter().zip(&cloud.mean[1]).map(|(a, b)| (a - ma) / sa * ((b - mb) / sb));
    let correlation = if sa > 0.0 && sb > 0.0 { products.sum::<f64>() / cloud.mean[0].len() as f64 } else { 0.0 };
    let (a, b, c) = (ra * ra, rb * rb, correlation * ra * rb);
    // Eigenvalues of [[a, c], [c, b]]
    let root = (0.25 * (a - b).powi(2) + c * c).sqrt();
    let share = (0.5 * (a + b) + root) / (a + b);
    share.is_finite().then_some(share)
}

/// Signal, noise and reach of each unit.
fn usage(view: &LayerView, by_use: &[usize]) -> Part {
    let shown = &by_use[..by_use.len().min(30)];
    let names: Vec<String> = shown.iter().map(|u| format!("unit {}", u + 1)).collect();
    let bars = |title: &str, label: &str, value: &dyn Fn(&UnitUse) -> f64, ink| {
        let length = shown.iter().map(|&u| value(&view.units[u])).collect();
        Panel::new(title, Axis::linear(label), Axis::names(names.clone()))
            .with(Mark::new(Shape::Bars { length }).ink(ink))
    };
    let figure =
        Figure::new(format!("layer-{}-units", view.layer), format!("Use of the units of hidden layer {}", view.layer))
            .with(bars(
                "How far the data spread",
                "spread, in lengthscales of the next layer",
                &|u| u.reach,
                Ink::Series(0),
            ))
            .with(bars("Signal against noise", "spread / uncertainty", &signal, Ink::Series(2)))
            .row_height(84.0 + 22.0 * shown.len() as f64);
    let idle = view.units.iter().filter(|u| u.reach < IDLE_REACH || signal(u) < 1.0).count();
    let look = "A unit carries information if the data spread over a good part of a lengthscale of the next layer (left) and if \
                that spread is larger than the unit's own uncertainty (right). Units that do neither are switched off: the layer \
                has compressed its input to fewer numbers than it could use.";
    let n = view.units.len();
    let finding = match idle {
        0 if n == 2 => format!("Both units of layer {} are in use.", view.layer),
        0 => format!("All {n} units of layer {} are in use.", view.layer),
        i if i == n => format!("None of the {n} units of layer {} carries much: the layer is almost idle.", view.layer),
        i => format!("{} of {n} units of layer {} are in use; {i} switched off.", n - i, view.layer),
    };
    Part { figure, look: look.into(), finding }
}

fn signal(u: &UnitUse) -> f64 {
    if u.noise > 0.0 { (u.spread / u.noise).min(1e6) } else { 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_stretching_is_told_from_even() {
        let path = |stretch: Vec<f64>| HiddenPath {
            column: "x".into(),
            at: (0..stretch.len()).map(|i| i as f64).collect(),
            stretch,
            ..HiddenPath::default()
        };
        assert!(stretching(1, &path(vec![1.0; 50])).contains("evenly"));
        let mut peak = vec![0.1; 50];
        peak[20] = 40.0;
        assert_eq!(
            stretching(2, &path(peak)),
            "Layer 2 bends its input: half of its stretching falls on 2 % of the range of x, most near 20, 40 times the average."
        );
        assert!(stretching(1, &path(Vec::new())).contains("does not move"));
    }

    #[test]
    fn idle_units_are_named() {
        let used = UnitUse { spread: 1.0, noise: 0.1, reach: 1.0 };
        let idle = UnitUse { spread: 0.01, noise: 0.5, reach: 0.01 };
        let view = |units| LayerView { layer: 1, units, ..LayerView::default() };
        let said = |units: Vec<UnitUse>| parts(&view(units)).pop().unwrap().finding;
        assert!(said(vec![used, used]).starts_with("Both") && said(vec![used; 3]).starts_with("All 3"));
        assert_eq!(said(vec![idle, used, idle]), "1 of 3 units of layer 1 are in use; 2 switched off.");
        assert!(said(vec![idle, idle]).starts_with("None"));
    }

    #[test]
    fn a_line_is_flat_and_a_disc_is_not() {
        let cloud = |b: Vec<f64>| HiddenCloud {
            units: [0, 1],
            mean: [vec![-1.0, 1.0, -1.0, 1.0], b],
            ..HiddenCloud::default()
        };
        let unit = UnitUse { spread: 1.0, noise: 0.1, reach: 1.0 };
        let view = LayerView { layer: 1, units: vec![unit, unit], ..LayerView::default() };
        assert!((flatness(&view, &cloud(vec![-1.0, 1.0, -1.0, 1.0])).unwrap() - 1.0).abs() < 1e-12);
        assert!((flatness(&view, &cloud(vec![-1.0, -1.0, 1.0, 1.0])).unwrap() - 0.5).abs() < 1e-12);
    }
}
