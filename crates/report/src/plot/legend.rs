//! The legend: each labelled mark in small, with its label, in as many rows as it takes.

use super::colour::Ink;
use super::figure::{Mark, Shape};
use super::font;
use super::marks;
use super::scene::{Anchor, Item, Paint, Point, Stroke, Text};

const SIZE: f64 = 11.0;
const LINE: f64 = 17.0;
const SWATCH: f64 = 20.0;

/// A legend with its upper left corner at a point, as wide as there is room.
pub fn draw(marks: &[Mark], (left, top): Point, room: f64) -> Vec<Item> {
    let (mut items, mut y) = (Vec::new(), top);
    for row in rows(marks, room) {
        let mut x = left;
        for (mark, label) in row {
            items.push(swatch(mark, (x, y + 3.5)));
            let width = font::width(&label, SIZE, false);
            let full = (label != mark.label).then(|| mark.label.clone());
            let text = Text::line((x + SWATCH + 5.0, y + 11.5), label, SIZE, Anchor::Start, Ink::Text);
            items.push(Item::Text(Text { full, ..text }));
            x += SWATCH + 5.0 + width + 14.0;
        }
        y += LINE;
    }
    items
}

/// Height of that legend; 0 if no mark has an entry.
pub fn height(marks: &[Mark], room: f64) -> f64 {
    rows(marks, room).len() as f64 * LINE
}

/// Whether a mark stands in the legend: colour scales have a bar instead.
pub fn has_entry(mark: &Mark) -> bool {
    !mark.label.is_empty() && !matches!(mark.shape, Shape::Coloured { .. } | Shape::Heat { .. })
}

/// Entries of the legend, broken into rows, with labels that fit.
fn rows(marks: &[Mark], room: f64) -> Vec<Vec<(&Mark, String)>> {
    let mut rows: Vec<Vec<(&Mark, String)>> = Vec::new();
    let mut used = f64::INFINITY;
    for mark in marks.iter().filter(|m| has_entry(m)) {
        let label = font::fit(&mark.label, SIZE, false, room - SWATCH - 5.0);
        let width = SWATCH + 5.0 + font::width(&label, SIZE, false);
        if used + 14.0 + width > room {
            rows.push(Vec::new());
            used = -14.0;
        }
        used += 14.0 + width;
        rows.last_mut().expect("a row was begun").push((mark, label));
    }
    rows
}

/// A mark in small, for the legend; `at` is its upper left corner.
fn swatch(mark: &Mark, (x, y): Point) -> Item {
    let paint = Paint { ink: mark.ink, opacity: mark.opacity };
    match mark.shape {
        Shape::Band { .. } | Shape::Bars { .. } | Shape::Columns { .. } | Shape::Cells { .. } => {
            let corners = vec![(x, y), (x + SWATCH, y), (x + SWATCH, y + 9.0), (x, y + 9.0)];
            Item::Path { lines: vec![corners], closed: true, fill: Some(paint), stroke: None }
        }
        Shape::Points { .. } => {
            let centre = vec![(x + 0.5 * SWATCH, y + 4.5)];
            marks::discs(mark, centre, mark.width.max(2.5), mark.opacity.max(0.8))
        }
        Shape::Ellipses { .. } => {
            let stroke = Stroke { paint, width: mark.width, dashed: false };
            Item::Ellipses { ellipses: vec![((x + 0.5 * SWATCH, y + 4.5), (9.0, 4.5))], stroke }
        }
        _ => {
            let stroke = Stroke { paint, width: mark.width.max(1.2), dashed: mark.dashed };
            let lines = vec![vec![(x, y + 4.5), (x + SWATCH, y + 4.5)]];
            Item::Path { lines, closed: false, fill: None, stroke: Some(stroke) }
        }
    }
}
