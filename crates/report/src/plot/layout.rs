//! From a figure to shapes: where its title and its panels stand.

use super::colour::Ink;
use super::figure::{Figure, Mark, Panel, WIDTH};
use super::font;
use super::legend;
use super::panel::{Margins, draw, margins};
use super::scene::{Anchor, Item, Rect, Scene, Text};

/// Free space between neighbouring panels.
const GAP: f64 = 14.0;
/// Free space around everything.
const EDGE: f64 = 8.0;
const TITLE_SIZE: f64 = 15.0;

/// The figure as shapes, with its title above it or without.
pub fn scene(figure: &Figure, titled: bool) -> Scene {
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let rows = figure.panels.len().div_ceil(columns);
    let mut items = Vec::new();
    let mut top = EDGE;
    if titled && !figure.title.is_empty() {
        let room = WIDTH - 2.0 * EDGE;
        let title = font::fit(&figure.title, TITLE_SIZE, true, room);
        let full = (title != figure.title).then(|| figure.title.clone());
        let mut text = Text::line((EDGE, top + TITLE_SIZE), title, TITLE_SIZE, Anchor::Start, Ink::Text);
        (text.bold, text.full) = (true, full);
        items.push(Item::Text(text));
        top += TITLE_SIZE + 14.0;
    }
    let mut panels = figure.panels.clone();
    if figure.shared_legend {
        let (entries, room) = (take_labels(&mut panels), WIDTH - 2.0 * EDGE);
        items.extend(legend::draw(&entries, (EDGE, top), room));
        top += if entries.is_empty() { 0.0 } else { legend::height(&entries, room) + 8.0 };
    }
    let cell_width = (WIDTH - 2.0 * EDGE - GAP * (columns - 1) as f64) / columns as f64;
    let all = aligned_margins(&panels, columns, (cell_width, figure.row_height));
    for (i, (panel, margins)) in panels.iter().zip(&all).enumerate() {
        let (row, column) = (i / columns, i % columns);
        let cell = Rect {
            x: EDGE + column as f64 * (cell_width + GAP),
            y: top + row as f64 * (figure.row_height + GAP),
            w: cell_width,
            h: figure.row_height,
        };
        items.extend(draw(panel, cell, *margins));
    }
    let height = top + rows as f64 * (figure.row_height + GAP) - if rows > 0 { GAP } else { 0.0 } + EDGE;
    Scene { width: WIDTH, height, title: figure.title.clone(), items }
}

/// Takes the labels of the legend away from the panels; marks with equal labels give one entry.
fn take_labels(panels: &mut [Panel]) -> Vec<Mark> {
    let mut entries: Vec<Mark> = Vec::new();
    for mark in panels.iter_mut().flat_map(|p| &mut p.marks).filter(|m| legend::has_entry(m)) {
        if entries.iter().all(|e| e.label != mark.label) {
            entries.push(mark.clone());
        }
        mark.label.clear();
    }
    entries
}

/// Margins such that axes line up: the same above and below in a row, the same at the sides in a column.
fn aligned_margins(panels: &[Panel], columns: usize, (width, height): (f64, f64)) -> Vec<Margins> {
    let mut all: Vec<Margins> = panels.iter().map(|p| margins(p, width, height, None)).collect();
    for row in all.chunks_mut(columns) {
        let (top, bottom) = row.iter().fold((0.0_f64, 0.0_f64), |(t, b), m| (t.max(m.top), b.max(m.bottom)));
        row.iter_mut().for_each(|m| (m.top, m.bottom) = (top, bottom));
    }
    // The height that is left decides the ticks, and with them the width of their labels.
    for (m, panel) in all.iter_mut().zip(panels) {
        *m = margins(panel, width, height, Some(*m));
    }
    for column in 0..columns {
        let sides = all.iter().skip(column).step_by(columns);
        let (left, right) = sides.fold((0.0_f64, 0.0_f64), |(l, r), m| (l.max(m.left), r.max(m.right)));
        all.iter_mut().skip(column).step_by(columns).for_each(|m| (m.left, m.right) = (left, right));
    }
    all
}
