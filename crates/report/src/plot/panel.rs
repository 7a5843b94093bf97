//! From a panel to shapes: axes, ticks, legend, colour scale, and the marks between them.

use super::colour::Ink;
use super::figure::{Axis, Mark, Panel, Shape};
use super::font;
use super::legend;
use super::marks::{self, Area};
use super::scale::Scale;
use super::scene::{Anchor, Item, Paint, Point, Rect, Stroke, Text};
use super::ticks::Ticks;

const TITLE_SIZE: f64 = 13.0;
const LABEL_SIZE: f64 = 12.0;
const TICK_SIZE: f64 = 11.0;
/// Pixels of height for each tick of a vertical axis.
const TICK_HEIGHT: f64 = 30.0;
/// Ticks of a horizontal axis at most.
const MAX_X_TICKS: usize = 9;
/// Width of the colour scale's bar.
const BAR: f64 = 10.0;
/// Names on the vertical axis take at most this share of the width.
const NAME_SHARE: f64 = 0.34;

/// Space between the edges of a panel's cell and its axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// The space that a panel needs around its axes; where `fixed` is given, its upper and lower margins are kept.
pub fn margins(panel: &Panel, width: f64, height: f64, fixed: Option<Margins>) -> Margins {
    // However many ticks there will be: their unit stands where the label does.
    let x_unit = || (1..=MAX_X_TICKS).any(|n| !scales(panel).0.ticks(n).unit.is_empty());
    let x_label = if panel.x.label.is_empty() && !x_unit() { 0.0 } else { LABEL_SIZE + 7.0 };
    let bottom = TICK_SIZE + 9.0 + x_label;
    let bottom = fixed.map_or(bottom, |m| m.bottom);
    let plot_height = |top: f64| (height - top - bottom).max(20.0);
    let left = |top: f64| {
        let widest = widest_y_label(panel, width, plot_height(top));
        let ticks_unit = !y_ticks(panel, plot_height(top)).unit.is_empty();
        widest + 9.0 + if panel.y.label.is_empty() && !ticks_unit { 0.0 } else { LABEL_SIZE + 6.0 }
    };
    let title = if panel.title.is_empty() { 0.0 } else { TITLE_SIZE + 7.0 };
    let right = colour_margin(panel, plot_height(title));
    let top = fixed.map_or_else(|| title + legend::height(&panel.marks, width - left(title)) + 6.0, |m| m.top);
    Margins { left: left(top), right, top, bottom }
}

/// Everything that belongs to a panel, in its cell.
pub fn draw(panel: &Panel, cell: Rect, margins: Margins) -> Vec<Item> {
    let rect = Rect {
        x: cell.x + margins.left,
        y: cell.y + margins.top,
        w: (cell.w - margins.left - margins.right).max(20.0),
        h: (cell.h - margins.top - margins.bottom).max(20.0),
    };
    let (x, y) = scales(panel);
    let colour = colour_scale(panel).map(|c| c.1);
    let spare = Scale::exact(0.0, 1.0, false);
    let area = Area { rect, x, y, downwards: !panel.y.names.is_empty(), colour: colour.unwrap_or(spare) };
    let mut items = Vec::new();
    heading(panel, cell, rect, &mut items);
    let x_ticks = x_ticks(&x, rect.w);
    grid(panel, &area, &x_ticks, &mut items);
    let inside: Vec<Item> = panel.marks.iter().flat_map(|m| marks::items(m, &area)).collect();
    if panel.marks.is_empty() {
        let middle = (rect.x + 0.5 * rect.w, rect.y + 0.5 * rect.h);
        items.push(Item::Text(Text::line(middle, "nothing to show".into(), LABEL_SIZE, Anchor::Middle, Ink::Muted)));
    }
    items.push(Item::Clipped(rect, inside));
    items.push(line(vec![(rect.x, rect.bottom()), (rect.right(), rect.bottom())], Ink::Muted));
    x_labels(panel, &area, &x_ticks, cell, &mut items);
    y_labels(panel, &area, cell, &mut items);
    colour_bar(panel, rect, &mut items);
    items
}

/// Title and legend.
fn heading(panel: &Panel, cell: Rect, rect: Rect, items: &mut Vec<Item>) {
    let mut y = cell.y;
    if !panel.title.is_empty() {
        y += TITLE_SIZE;
        let mut text = fitted(&panel.title, (rect.x, y - 1.0), TITLE_SIZE, true, cell.right() - rect.x);
        text.ink = Ink::Text;
        items.push(Item::Text(text));
        y += 7.0;
    }
    items.extend(legend::draw(&panel.marks, (rect.x, y), cell.right() - rect.x));
}

/// Thin lines behind the data.
fn grid(panel: &Panel, area: &Area, x_ticks: &Ticks, items: &mut Vec<Item>) {
    let rect = area.rect;
    for p in x_ticks.at.iter().filter_map(|&t| area.x.place(t)) {
        let x = rect.x + p * rect.w;
        items.push(line(vec![(x, rect.y), (x, rect.bottom())], Ink::Grid));
    }
    if panel.y.names.is_empty() {
        for p in y_ticks(panel, rect.h).at.iter().filter_map(|&t| area.y.place(t)) {
            let y = rect.y + (1.0 - p) * rect.h;
            items.push(line(vec![(rect.x, y), (rect.right(), y)], Ink::Grid));
        }
    }
}

fn x_labels(panel: &Panel, area: &Area, ticks: &Ticks, cell: Rect, items: &mut Vec<Item>) {
    let (rect, y) = (area.rect, area.rect.bottom() + TICK_SIZE + 5.0);
    for (place, label) in ticks.at.iter().zip(&ticks.labels) {
        let Some(p) = area.x.place(*place) else { continue };
        // A label at the right end is moved in rather than cut off.
        let half = 0.5 * font::width(label, TICK_SIZE, false);
        let x = (rect.x + p * rect.w).min(cell.right() - half);
        items.push(Item::Text(Text::line((x, y), label.clone(), TICK_SIZE, Anchor::Middle, Ink::Muted)));
    }
    let at = (rect.x + 0.5 * rect.w, rect.bottom() + TICK_SIZE + LABEL_SIZE + 11.0);
    if let Some(mut text) = axis_label(&panel.x, ticks, at, rect.w) {
        text.anchor = Anchor::Middle;
        items.push(Item::Text(text));
    }
}

fn y_labels(panel: &Panel, area: &Area, cell: Rect, items: &mut Vec<Item>) {
    let rect = area.rect;
    let ticks = y_ticks(panel, rect.h);
    let room = NAME_SHARE * cell.w;
    for (&place, label) in ticks.at.iter().zip(&ticks.labels) {
        let Some(p) = area.y.place(place) else { continue };
        let y = rect.y + if area.downwards { p } else { 1.0 - p } * rect.h + 0.36 * TICK_SIZE;
        let mut text = fitted(label, (rect.x - 6.0, y), TICK_SIZE, false, room.max(40.0));
        text.anchor = Anchor::End;
        items.push(Item::Text(text));
    }
    let at = (cell.x + LABEL_SIZE - 1.0, rect.y + 0.5 * rect.h);
    if let Some(mut text) = axis_label(&panel.y, &ticks, at, rect.h) {
        (text.anchor, text.upwards) = (Anchor::Middle, true);
        items.push(Item::Text(text));
    }
}

/// An axis' label with what makes its tick labels true.
fn axis_label(axis: &Axis, ticks: &Ticks, at: Point, room: f64) -> Option<Text> {
    let suffix = match ticks.unit.as_str() {
        "" => String::new(),
        unit if unit.starts_with('×') && !axis.label.is_empty() => format!(" ({unit})"),
        unit => format!(" {unit}"),
    };
    if axis.label.is_empty() && suffix.is_empty() {
        return None;
    }
    let mut text = fitted(&axis.label, at, LABEL_SIZE, false, room - font::width(&suffix, LABEL_SIZE, false));
    text.text.push_str(&suffix);
    text.ink = Ink::Text;
    Some(text)
}

/// The bar that tells what colours stand for.
fn colour_bar(panel: &Panel, rect: Rect, items: &mut Vec<Item>) {
    let Some((label, scale)) = colour_scale(panel) else { return };
    let (x, steps) = (rect.right() + 10.0, 64);
    for i in 0..steps {
        let (t, h) = (f64::from(i) / f64::from(steps), rect.h / f64::from(steps));
        let y = rect.bottom() - t * rect.h;
        // Neighbours overlap a little, or the page would shine through between them.
        let upper = if i + 1 == steps { y - h } else { y - h - 0.5 };
        let corners = vec![(x, y), (x + BAR, y), (x + BAR, upper), (x, upper)];
        let fill = Some(Paint { ink: Ink::Ramp(t), opacity: 1.0 });
        items.push(Item::Path { lines: vec![corners], closed: true, fill, stroke: None });
    }
    let ticks = colour_ticks(&scale, rect.h);
    let mut widest = 0.0_f64;
    for (place, text) in ticks.at.iter().zip(&ticks.labels) {
        let Some(p) = scale.place(*place) else { continue };
        let at = (x + BAR + 4.0, rect.bottom() - p * rect.h + 0.36 * TICK_SIZE);
        widest = widest.max(font::width(text, TICK_SIZE, false));
        items.push(Item::Text(Text::line(at, text.clone(), TICK_SIZE, Anchor::Start, Ink::Muted)));
    }
    let at = (x + BAR + 4.0 + widest + LABEL_SIZE + 2.0, rect.y + 0.5 * rect.h);
    if let Some(mut text) = axis_label(&Axis::linear(label), &ticks, at, rect.h) {
        (text.anchor, text.upwards) = (Anchor::Middle, true);
        items.push(Item::Text(text));
    }
}

/// Space for the colour scale, if there is one.
fn colour_margin(panel: &Panel, height: f64) -> f64 {
    colour_scale(panel).map_or(10.0, |(_, scale)| {
        let labels = colour_ticks(&scale, height).labels;
        let widest = labels.iter().map(|l| font::width(l, TICK_SIZE, false)).fold(0.0, f64::max);
        10.0 + BAR + 4.0 + widest + LABEL_SIZE + 8.0
    })
}

fn colour_ticks(scale: &Scale, height: f64) -> Ticks {
    scale.ticks(((height / TICK_HEIGHT) as usize).max(2))
}

/// Label and range of the numbers that stand behind the colours of a panel.
fn colour_scale(panel: &Panel) -> Option<(String, Scale)> {
    let coloured = panel.marks.iter().filter_map(|m| match &m.shape {
        Shape::Coloured { value, .. } | Shape::Heat { value, .. } => Some((m, value)),
        _ => None,
    });
    let all: Vec<_> = coloured.collect();
    let label = all.first()?.0.label.clone();
    let values = || all.iter().flat_map(|(_, v)| v.iter().copied()).filter(|v| v.is_finite());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    Some((label, Scale::exact(low, high, false)))
}

/// The ranges of a panel's axes.
fn scales(panel: &Panel) -> (Scale, Scale) {
    let mut x = panel.x.range.map_or_else(
        || Scale::of(panel.marks.iter().flat_map(|m| extent(m).0), panel.x.log),
        |(low, high)| Scale::exact(low, high, panel.x.log),
    );
    let mut y = panel.y.range.map_or_else(
        || Scale::of(panel.marks.iter().flat_map(|m| extent(m).1), panel.y.log),
        |(low, high)| Scale::exact(low, high, panel.y.log),
    );
    let none_below = |values: &[f64]| values.iter().all(|&v| v >= 0.0);
    for mark in &panel.marks {
        match &mark.shape {
            Shape::Bars { length } if panel.x.range.is_none() && none_below(length) => x = x.standing_on(0.0),
            Shape::Columns { height, .. } if panel.y.range.is_none() && none_below(height) => y = y.standing_on(0.0),
            _ => {}
        }
    }
    if !panel.y.names.is_empty() {
        y = Scale::exact(-0.5, panel.y.names.len() as f64 - 0.5, false);
    }
    (x, y)
}

/// The numbers of a mark across and up.
fn extent(mark: &Mark) -> (Vec<f64>, Vec<f64>) {
    let both = |a: &[f64], b: &[f64]| a.iter().chain(b).copied().collect::<Vec<f64>>();
    match &mark.shape {
        Shape::Line { x, y } | Shape::Points { x, y } | Shape::Coloured { x, y, .. } => (x.clone(), y.clone()),
        Shape::Band { x, low, high } | Shape::Whiskers { x, low, high } => (x.clone(), both(low, high)),
        Shape::Bars { length } => (both(length, &[0.0]), Vec::new()),
        Shape::Columns { edges, height } => (edges.clone(), both(height, &[0.0])),
        Shape::Across(y) => (Vec::new(), vec![*y]),
        Shape::Upright(x) => (vec![*x], Vec::new()),
        Shape::Net { lines } => lines.iter().flatten().copied().unzip(),
        Shape::Ellipses { x, y, x_radius, y_radius } => {
            let ends = |c: &[f64], r: &[f64]| c.iter().zip(r).flat_map(|(c, r)| [c - r, c + r]).collect();
            (ends(x, x_radius), ends(y, y_radius))
        }
        Shape::Heat { x_edges, y_edges, .. } | Shape::Cells { x_edges, y_edges, .. } => {
            (x_edges.clone(), y_edges.clone())
        }
    }
}

/// As many ticks as their labels leave room for.
fn x_ticks(scale: &Scale, width: f64) -> Ticks {
    let most = ((width / 38.0) as usize).clamp(1, MAX_X_TICKS);
    let fits = |t: &Ticks| {
        let widths: Vec<f64> = t.labels.iter().map(|l| font::width(l, TICK_SIZE, false)).collect();
        let places: Vec<f64> = t.at.iter().filter_map(|&v| scale.place(v)).map(|p| p * width).collect();
        let pairs = places.windows(2).zip(widths.windows(2));
        pairs.into_iter().all(|(p, w)| p[1] - p[0] >= 0.5 * (w[0] + w[1]) + 8.0)
    };
    (1..=most).rev().map(|n| scale.ticks(n)).find(fits).unwrap_or_default()
}

/// Names, or as many round numbers as the height has room for.
fn y_ticks(panel: &Panel, height: f64) -> Ticks {
    if !panel.y.names.is_empty() {
        let at = (0..panel.y.names.len()).map(|i| i as f64).collect();
        return Ticks { at, labels: panel.y.names.clone(), unit: String::new() };
    }
    scales(panel).1.ticks(((height / TICK_HEIGHT) as usize).clamp(2, 8))
}

/// Width of the widest label of the vertical axis, with names no wider than their share.
fn widest_y_label(panel: &Panel, cell_width: f64, height: f64) -> f64 {
    let labels = y_ticks(panel, height).labels;
    let widest = labels.iter().map(|l| font::width(l, TICK_SIZE, false)).fold(0.0, f64::max);
    widest.min((NAME_SHARE * cell_width).max(40.0))
}

/// A line of text that is shortened to its room, and then keeps its full wording for those who ask.
fn fitted(text: &str, at: Point, size: f64, bold: bool, room: f64) -> Text {
    let short = font::fit(text, size, bold, room);
    let full = (short != text).then(|| text.to_owned());
    Text { full, bold, ..Text::line(at, short, size, Anchor::Start, Ink::Muted) }
}

/// A thin line.
fn line(corners: Vec<Point>, ink: Ink) -> Item {
    let stroke = Some(Stroke { paint: Paint { ink, opacity: 1.0 }, width: 1.0, dashed: false });
    Item::Path { lines: vec![corners], closed: false, fill: None, stroke }
}
