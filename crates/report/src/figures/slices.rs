//! Predictions along single columns and over planes.

use super::{Part, Section, spoken};
use crate::plot::{Axis, Figure, Ink, Mark, Panel, Shape, number};
use crate::report::{Slice, Surface};

/// The section, if there are slices.
pub fn section(slices: &[Slice], surface: Option<&Surface>) -> Option<Section> {
    let mut parts: Vec<Part> = Vec::new();
    let mut targets: Vec<&str> = Vec::new();
    for slice in slices {
        if !targets.contains(&slice.target.as_str()) {
            targets.push(&slice.target);
        }
    }
    for (i, target) in targets.iter().enumerate() {
        parts.push(part(i, target, slices.iter().filter(|s| s.target == *target).collect()));
    }
    parts.extend(surface.map(plane));
    let title = "What the model predicts".into();
    Some(Section { id: "slices", title, parts, headline: String::new(), omitted: String::new() })
}

fn part(index: usize, target: &str, slices: Vec<&Slice>) -> Part {
    let alone = slices.len() == 1;
    let title = if alone { "The function".to_owned() } else { format!("{target} along each column") };
    let columns = if alone { 1 } else { slices.len().min(3) };
    let mut figure = Figure::new(format!("slices-{}", index + 1), title).columns(columns).shared_legend();
    figure.row_height = if columns == 3 { 220.0 } else { 320.0 };
    // One range for all, so that slopes can be compared across panels.
    let ends = |s: &&Slice| {
        let shown = s.observation.iter().flatten().chain(&s.mean).copied();
        shown.chain(s.observed.1.iter().copied()).filter(|v| v.is_finite()).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = slices.iter().flat_map(ends).collect();
    let (low, high) =
        (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let room = 0.04 * (high - low);
    for (i, slice) in slices.iter().enumerate() {
        let mut panel = panel(slice, i % columns == 0);
        panel.y.range = (low < high).then_some((low - room, high + room));
        figure.panels.push(panel);
    }
    let look = if alone {
        "The line is the expected value; the inner band is where the function itself lies with 95 % probability, the outer \
         band where an observation does."
    } else {
        "One column at a time runs from low to high while all others stay at their medians; the inner band is where the \
         function lies with 95 % probability, the outer band where an observation does. All panels share one vertical scale: \
         flat means that the column does little there."
    };
    let swing = |s: &Slice| {
        s.mean.iter().copied().fold(f64::NEG_INFINITY, f64::max) - s.mean.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let widest = slices.iter().max_by(|a, b| swing(a).total_cmp(&swing(b)));
    let finding = widest.map_or_else(String::new, |s| {
        let of = if alone {
            format!("Along {}", spoken(&s.column))
        } else {
            format!("The largest change is along {}, where", spoken(&s.column))
        };
        format!("{of} the prediction moves by {} in all.", number(swing(s)))
    });
    Part { figure, look: look.into(), finding }
}

fn panel(s: &Slice, first: bool) -> Panel {
    let [[low, high], [inner_low, inner_high]] =
        [&s.observation, &s.function].map(|band| band.each_ref().map(Clone::clone));
    let (has_interval, has_function) = (!low.is_empty(), !inner_low.is_empty());
    let mut panel = Panel::new("", Axis::linear(&s.column), Axis::linear(if first { s.target.as_str() } else { "" }));
    if s.discrete {
        let whiskers = |low, high| Mark::whiskers(s.x.clone(), low, high).width(5.0);
        if has_interval {
            panel.marks.push(whiskers(low, high).opacity(0.2).label("95 %, observation"));
        }
        if has_function {
            panel.marks.push(whiskers(inner_low, inner_high).opacity(0.4).label("95 %, function"));
        }
        panel.marks.push(Mark::points(s.x.clone(), s.mean.clone()).width(4.0).opacity(1.0).label("expected"));
    } else {
        if has_interval {
            panel.marks.push(Mark::band(s.x.clone(), low, high).opacity(0.14).label("95 %, observation"));
        }
        if has_function {
            panel.marks.push(Mark::band(s.x.clone(), inner_low, inner_high).opacity(0.3).label("95 %, function"));
        }
        if !s.observed.0.is_empty() {
            let (x, y) = s.observed.clone();
            panel.marks.push(Mark::points(x, y).ink(Ink::Text).opacity(0.45).width(1.8).label("observed"));
        }
        panel.marks.push(Mark::line(s.x.clone(), s.mean.clone()).label("expected"));
    }
    panel
}

fn plane(s: &Surface) -> Part {
    let heat = |title: &str, value: &[f64], label: String| {
        let shape = Shape::Heat { x_edges: s.edges[0].clone(), y_edges: s.edges[1].clone(), value: value.to_vec() };
        let ends = |e: &[f64]| (e.first().copied().unwrap_or(0.0), e.last().copied().unwrap_or(1.0));
        let (x, y) = (ends(&s.edges[0]), ends(&s.edges[1]));
        let axes = (Axis::linear(&s.columns[0]).range(x.0, x.1), Axis::linear(&s.columns[1]).range(y.0, y.1));
        Panel::new(title, axes.0, axes.1).with(Mark::new(shape).label(label))
    };
    let figure = Figure::new("surface", format!("{} over two columns", s.target))
        .with(heat("What is expected", &s.mean, s.shows[0].clone()))
        .with(heat("How unsure the model is", &s.std, s.shows[1].clone()));
    let look = "The prediction over the two most relevant columns, all others at their medians. The right panel shows how sure \
                the model is: it should grow where there are few data.";
    let range = |v: &[f64]| {
        (v.iter().copied().fold(f64::INFINITY, f64::min), v.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((a, b), (c, d)) = (range(&s.mean), range(&s.std));
    let finding =
        format!("Left, values run from {} to {}; right, from {} to {}.", number(a), number(b), number(c), number(d));
    Part { figure, look: look.into(), finding }
}
