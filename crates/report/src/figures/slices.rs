//! Predictions along single columns and over planes.

use super::{Part, Section, spoken};
use crate::plot::{Axis, Figure, Ink, Mark, N_SERIES, Panel, Shape, number};
use crate::report::{Slice, Surface};
use crate::stats::percent;

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
    let unsure = heat("How unsure the model is", &s.std, s.shows[1].clone());
    let figure = Figure::new("surface", format!("{} over two columns", s.target));
    if !s.labels.is_empty() {
        return map_of_classes(s, figure, unsure);
    }
    let figure = figure.with(heat("What is expected", &s.mean, s.shows[0].clone())).with(unsure);
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
/// The likeliest label in its colour, the stronger the more probable it is.
fn map_of_classes(s: &Surface, figure: Figure, unsure: Panel) -> Part {
    let mut count = vec![0; s.labels.len()];
    for k in &s.mean {
        if let Some(n) = count.get_mut(*k as usize) {
            *n += 1;
        }
    }
    let mut there: Vec<usize> = (0..count.len()).filter(|k| count[*k] > 0).collect();
    there.sort_by_key(|k| std::cmp::Reverse(count[*k]));
    let (coloured, others) = there.split_at(there.len().min(N_SERIES));
    let guess = 1.0 / s.labels.len() as f64;
    // A guess leaves a quarter of the colour.
    let strength = |doubt: f64| 0.25 + 0.75 * ((1.0 - doubt - guess) / (1.0 - guess)).clamp(0.0, 1.0);
    let cells = |of: &[usize], ink: Ink, label: String| {
        let of_cell = |(k, doubt): (&f64, &f64)| if of.contains(&(*k as usize)) { strength(*doubt) } else { f64::NAN };
        let strength = s.mean.iter().zip(&s.std).map(of_cell).collect();
        let (x_edges, y_edges) = (s.edges[0].clone(), s.edges[1].clone());
        Mark::new(Shape::Cells { x_edges, y_edges, strength }).ink(ink).label(label)
    };
    let mut panel = Panel::new("Which label is expected", unsure.x.clone(), unsure.y.clone());
    // By the order of the labels, so that a label has its colour whatever its share is.
    let mut by_label = coloured.to_vec();
    by_label.sort_unstable();
    for (place, &k) in by_label.iter().enumerate() {
        panel.marks.push(cells(&[k], Ink::Series(place), spoken(&s.labels[k])));
    }
    if !others.is_empty() {
        panel.marks.push(cells(others, Ink::Muted, "others".into()));
    }
    let figure = figure.with(panel).with(unsure);
    let look = "Left: the likeliest label over the two most relevant columns, all others at their medians; the stronger the \
                colour, the more probable it is. The right panel shows how probable another label is: it should grow where \
                labels meet and where there are few data.";
    let most = there.first().map_or(String::new(), |k| {
        format!(
            "{} has the largest part, {} of it.",
            spoken(&s.labels[*k]),
            percent(count[*k] as f64 / s.mean.len() as f64)
        )
    });
    Part { figure, look: look.into(), finding: most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_of_a_map_has_a_colour_and_the_rarest_share_one() {
        let n = N_SERIES + 2;
        let edges: Vec<f64> = (0..=n).map(|i| i as f64).collect();
        // Column k belongs to label k, and the last two labels to a cell each.
        let label = |cell: usize| if cell < 2 { (n - 2 + cell) as f64 } else { ((cell % n) % N_SERIES) as f64 };
        let surface = Surface {
            columns: ["a".into(), "b".into()],
            target: "kind".into(),
            shows: ["likeliest label".into(), "probability of another label".into()],
            edges: [edges.clone(), edges],
            labels: (0..n).map(|k| format!("label {k}")).collect(),
            mean: (0..n * n).map(label).collect(),
            std: vec![0.2; n * n],
        };
        let part = plane(&surface);
        let marks = &part.figure.panels[0].marks;
        assert_eq!(marks.len(), N_SERIES + 1);
        let inks: Vec<Ink> = marks.iter().map(|mark| mark.ink).collect();
        assert!((0..N_SERIES).all(|k| inks[k] == Ink::Series(k)) && inks[N_SERIES] == Ink::Muted);
        assert_eq!((marks[0].label.as_str(), marks[N_SERIES].label.as_str()), ("label 0", "others"));
    }
}
