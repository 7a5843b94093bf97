//! From a mark in data units to shapes in pixels.

use super::colour::Ink;
use super::figure::{Mark, Shape};
use super::hexbin;
use super::scale::Scale;
use super::scene::{Item, Paint, Point, Rect, Stroke};

/// More points than this are counted in hexagons.
pub const MAX_POINTS: usize = 3000;
/// Radius of those hexagons in pixels.
const HEX_RADIUS: f64 = 4.5;
/// More corners than this along a line are thinned.
const MANY_CORNERS: usize = 1500;
/// Opacity of a hexagon that holds one point; the fullest has 1.
const FAINTEST: f64 = 0.12;

/// The area between a panel's axes, and how numbers find their places in it.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// In pixels.
    pub rect: Rect,
    /// Across.
    pub x: Scale,
    /// Up.
    pub y: Scale,
    /// Whether the vertical axis reads downwards, as names do.
    pub downwards: bool,
    /// The numbers that colours stand for.
    pub colour: Scale,
}

impl Area {
    fn px(&self, x: f64) -> Option<f64> {
        self.x.place(x).map(|t| self.rect.x + t * self.rect.w)
    }

    fn py(&self, y: f64) -> Option<f64> {
        let place = self.y.place(y)?;
        Some(self.rect.y + if self.downwards { place } else { 1.0 - place } * self.rect.h)
    }

    fn point(&self, x: f64, y: f64) -> Option<Point> {
        Some((self.px(x)?, self.py(y)?))
    }

    /// A rectangle between two corners in data units.
    fn cell(&self, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> Option<Vec<Point>> {
        let ((a, b), (c, d)) = (self.point(x0, y0)?, self.point(x1, y1)?);
        Some(vec![(a, b), (c, b), (c, d), (a, d)])
    }

    /// Corners of a line, broken where it has no place.
    fn runs(&self, points: impl Iterator<Item = (f64, f64)>) -> Vec<Vec<Point>> {
        let mut runs = vec![Vec::new()];
        for (x, y) in points {
            match self.point(x, y) {
                Some(p) => runs.last_mut().expect("there is always a last run").push(p),
                None => runs.push(Vec::new()),
            }
        }
        runs.retain(|r| r.len() > 1);
        runs.into_iter().map(thin).collect()
    }
}

/// The shapes of a mark.
pub fn items(mark: &Mark, area: &Area) -> Vec<Item> {
    let paint = Paint { ink: mark.ink, opacity: mark.opacity };
    let stroke = Stroke { paint, width: mark.width, dashed: mark.dashed };
    let lines = |lines: Vec<Vec<Point>>| vec![Item::Path { lines, closed: false, fill: None, stroke: Some(stroke) }];
    let filled = |lines: Vec<Vec<Point>>, fill| Item::Path { lines, closed: true, fill: Some(fill), stroke: None };
    match &mark.shape {
        Shape::Line { x, y } => lines(area.runs(pairs(x, y))),
        Shape::Band { x, low, high } => {
            let places = x.iter().zip(low.iter().zip(high));
            let (lower, upper): (Vec<Point>, Vec<Point>) =
                places.filter_map(|(&x, (&l, &h))| Some((area.point(x, l)?, area.point(x, h)?))).unzip();
            if lower.len() < 2 {
                return Vec::new();
            }
            let (lower, upper) = (thin(lower), thin(upper));
            vec![filled(vec![lower.into_iter().chain(upper.into_iter().rev()).collect()], paint)]
        }
        Shape::Points { x, y } => {
            let points: Vec<Point> = pairs(x, y).filter_map(|(x, y)| area.point(x, y)).collect();
            if points.len() > MAX_POINTS {
                return hexagons(&points, mark.ink, area.rect);
            }
            vec![discs(mark, points, mark.width, mark.opacity)]
        }
        Shape::Coloured { x, y, value } => {
            let stride = x.len().div_ceil(MAX_POINTS).max(1);
            let all = pairs(x, y).zip(value).step_by(stride);
            let disc = |((x, y), &v): ((f64, f64), &f64)| Some((area.point(x, y)?, Ink::Ramp(area.colour.place(v)?)));
            let centres = all.filter_map(disc).collect();
            // One end of the scale is dark and the other light: without an outline either would sink into some page.
            let outline = Some(Stroke { paint: Paint { ink: Ink::Muted, opacity: 0.7 }, width: 0.5, dashed: false });
            vec![Item::Discs { centres, radius: mark.width, opacity: mark.opacity, outline }]
        }
        Shape::Whiskers { x, low, high } => {
            let bar = |(&x, (&l, &h)): (&f64, (&f64, &f64))| Some(vec![area.point(x, l)?, area.point(x, h)?]);
            lines(x.iter().zip(low.iter().zip(high)).filter_map(bar).collect())
        }
        Shape::Bars { length } => {
            let bar = |(i, &v): (usize, &f64)| area.cell((0.0, i as f64 - 0.32), (v, i as f64 + 0.32));
            vec![filled(length.iter().enumerate().filter_map(bar).collect(), paint)]
        }
        Shape::Columns { edges, height } => {
            let column = |(e, &h): (&[f64], &f64)| area.cell((e[0], 0.0), (e[1], h));
            let outline = Stroke { paint: Paint { ink: Ink::Paper, opacity: 1.0 }, width: 1.0, dashed: false };
            let lines = edges.windows(2).zip(height).filter_map(column).collect();
            vec![Item::Path { lines, closed: true, fill: Some(paint), stroke: Some(outline) }]
        }
        Shape::Across(y) => {
            let ends = |y| vec![vec![(area.rect.x, y), (area.rect.right(), y)]];
            area.py(*y).map_or_else(Vec::new, |y| lines(ends(y)))
        }
        Shape::Upright(x) => {
            let ends = |x| vec![vec![(x, area.rect.y), (x, area.rect.bottom())]];
            area.px(*x).map_or_else(Vec::new, |x| lines(ends(x)))
        }
        Shape::Net { lines: net } => lines(net.iter().flat_map(|l| area.runs(l.iter().copied())).collect()),
        Shape::Ellipses { x, y, x_radius, y_radius } => {
            let ellipse = |((x, y), (rx, ry)): ((f64, f64), (f64, f64))| {
                let centre = area.point(x, y)?;
                let edge = area.point(x + rx, y + ry)?;
                Some((centre, ((edge.0 - centre.0).abs(), (edge.1 - centre.1).abs())))
            };
            let ellipses = pairs(x, y).zip(pairs(x_radius, y_radius)).filter_map(ellipse).collect();
            vec![Item::Ellipses { ellipses, stroke }]
        }
        Shape::Heat { x_edges, y_edges, value } => heat(x_edges, y_edges, value, area),
        Shape::Cells { x_edges, y_edges, strength } => cells(mark.ink, (x_edges, y_edges), strength, area),
    }
}

/// Discs, or rings with the page inside.
pub fn discs(mark: &Mark, points: Vec<Point>, radius: f64, opacity: f64) -> Item {
    let outline = Stroke { paint: Paint { ink: mark.ink, opacity }, width: 1.4, dashed: false };
    let ink = if mark.hollow { Ink::Paper } else { mark.ink };
    let centres = points.into_iter().map(|p| (p, ink)).collect();
    Item::Discs { centres, radius, opacity, outline: mark.hollow.then_some(outline) }
}

/// Cells of a heat map, one path for each of a hundred shades.
fn heat(x_edges: &[f64], y_edges: &[f64], value: &[f64], area: &Area) -> Vec<Item> {
    let columns = x_edges.len().saturating_sub(1);
    if columns == 0 {
        return Vec::new();
    }
    let mut shades: Vec<Vec<Vec<Point>>> = vec![Vec::new(); 101];
    for (y, values) in y_edges.windows(2).zip(value.chunks(columns)) {
        for (x, &v) in x_edges.windows(2).zip(values) {
            if let (Some(place), Some(mut cell)) = (area.colour.place(v), area.cell((x[0], y[0]), (x[1], y[1]))) {
                // Neighbours overlap a little, or the page would shine through between them.
                cell[1].0 += 0.6;
                cell[2].0 += 0.6;
                cell[2].1 -= 0.6;
                cell[3].1 -= 0.6;
                shades[(place.clamp(0.0, 1.0) * 100.0).round() as usize].push(cell);
            }
        }
    }
    let paint = |i: usize| Paint { ink: Ink::Ramp(i as f64 / 100.0), opacity: 1.0 };
    let path = |(i, lines)| Item::Path { lines, closed: true, fill: Some(paint(i)), stroke: None };
    shades.into_iter().enumerate().filter(|(_, cells)| !cells.is_empty()).map(path).collect()
}

/// Cells of one colour, one path for each of twenty strengths.
fn cells(ink: Ink, (x_edges, y_edges): (&[f64], &[f64]), strength: &[f64], area: &Area) -> Vec<Item> {
    const STRENGTHS: usize = 20;
    let mut levels: Vec<Vec<Vec<Point>>> = vec![Vec::new(); STRENGTHS + 1];
    let columns = x_edges.len().saturating_sub(1).max(1);
    for (y, strengths) in y_edges.windows(2).zip(strength.chunks(columns)) {
        for (x, strength) in x_edges.windows(2).zip(strengths).filter(|(_, strength)| !strength.is_nan()) {
            if let Some(cell) = area.cell((x[0], y[0]), (x[1], y[1])) {
                levels[(strength.clamp(0.0, 1.0) * STRENGTHS as f64).round() as usize].push(cell);
            }
        }
    }
    let paint = |i: usize| Paint { ink, opacity: i as f64 / STRENGTHS as f64 };
    let path = |(i, lines)| Item::Path { lines, closed: true, fill: Some(paint(i)), stroke: None };
    levels.into_iter().enumerate().filter(|(_, cells)| !cells.is_empty()).map(path).collect()
}

/// Hexagons of eight opacities that follow the logarithm of their counts.
fn hexagons(points: &[Point], ink: Ink, rect: Rect) -> Vec<Item> {
    let inside = |p: &&Point| p.0 >= rect.x && p.0 <= rect.right() && p.1 >= rect.y && p.1 <= rect.bottom();
    let points: Vec<Point> = points.iter().filter(inside).copied().collect();
    let bins = hexbin::hexbin(&points, HEX_RADIUS);
    let fullest = bins.iter().map(|b| b.1).max().unwrap_or(1) as f64;
    let mut levels: Vec<Vec<Vec<Point>>> = vec![Vec::new(); 8];
    for (centre, count) in bins {
        let share = if fullest > 1.0 { (count as f64).ln() / fullest.ln() } else { 1.0 };
        levels[(share * 7.0).round() as usize].push(hexbin::corners(centre, HEX_RADIUS));
    }
    let paint = |i: usize| Paint { ink, opacity: FAINTEST + (1.0 - FAINTEST) * i as f64 / 7.0 };
    let path = |(i, lines)| Item::Path { lines, closed: true, fill: Some(paint(i)), stroke: None };
    levels.into_iter().enumerate().filter(|(_, cells)| !cells.is_empty()).map(path).collect()
}

/// A long line with fewer corners: of each stretch its ends and its extremes, so that no peak is lost.
fn thin(line: Vec<Point>) -> Vec<Point> {
    if line.len() <= MANY_CORNERS {
        return line;
    }
    let stretch = line.len().div_ceil(MANY_CORNERS / 4);
    let mut out = Vec::with_capacity(MANY_CORNERS + 4);
    for points in line.chunks(stretch) {
        let by_height = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let (low, high) = ((0..points.len()).min_by(by_height), (0..points.len()).max_by(by_height));
        let mut keep = [Some(0), low, high, Some(points.len() - 1)].map(|i| i.unwrap_or(0));
        keep.sort_unstable();
        out.extend(keep.map(|i| points[i]));
    }
    out.dedup();
    out
}

/// Pairs of two lists.
fn pairs<'a>(x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    x.iter().copied().zip(y.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area() -> Area {
        let unit = Scale::exact(0.0, 1.0, false);
        Area { rect: Rect { x: 10.0, y: 20.0, w: 100.0, h: 50.0 }, x: unit, y: unit, downwards: false, colour: unit }
    }

    #[test]
    fn lines_break_where_there_is_nothing() {
        let mark = Mark::line(vec![0.0, 0.5, 0.6, 0.8, 1.0], vec![0.0, 1.0, f64::NAN, 0.5, 0.5]);
        let [Item::Path { lines, .. }] = &items(&mark, &area())[..] else { panic!("one path") };
        assert_eq!(*lines, [vec![(10.0, 70.0), (60.0, 20.0)], vec![(90.0, 45.0), (110.0, 45.0)]]);
    }

    #[test]
    fn rings_have_the_page_inside() {
        let mark = Mark::points(vec![0.5], vec![0.5]).ink(Ink::Series(2)).hollow();
        let [Item::Discs { centres, outline: Some(outline), .. }] = &items(&mark, &area())[..] else { panic!("rings") };
        assert_eq!((centres[0].1, outline.paint.ink), (Ink::Paper, Ink::Series(2)));
    }

    #[test]
    fn cells_are_as_strong_as_their_numbers() {
        let (x_edges, y_edges) = (vec![0.0, 0.5, 1.0], vec![0.0, 0.5, 1.0]);
        let strength = vec![1.0, 0.25, f64::NAN, 0.25];
        let mark = Mark::new(Shape::Cells { x_edges, y_edges, strength }).ink(Ink::Series(2));
        let found: Vec<(usize, f64)> = items(&mark, &area())
            .iter()
            .map(|item| match item {
                Item::Path { lines, fill: Some(paint), .. } if paint.ink == Ink::Series(2) => {
                    (lines.len(), paint.opacity)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, [(2, 0.25), (1, 1.0)]);
    }

    #[test]
    fn many_points_become_hexagons() {
        let n = 100_000;
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.618).fract()).collect();
        let y: Vec<f64> = (0..n).map(|i| (i as f64 * 0.414).fract()).collect();
        let shapes = items(&Mark::points(x.clone(), y.clone()), &area());
        let cells: usize = shapes.iter().map(|i| if let Item::Path { lines, .. } = i { lines.len() } else { 0 }).sum();
        assert!(shapes.len() <= 8 && cells > 50 && cells < 400, "{cells}");
        let coloured = Mark::new(Shape::Coloured { x: x.clone(), y, value: x });
        let [Item::Discs { centres, .. }] = &items(&coloured, &area())[..] else { panic!("discs") };
        assert!(centres.len() <= MAX_POINTS);
    }

    #[test]
    fn thinning_keeps_the_peak() {
        let mut line: Vec<Point> = (0..100_000).map(|i| (i as f64, 0.0)).collect();
        line[54_321].1 = 9.0;
        let thinned = thin(line);
        assert!(thinned.len() < 2000 && thinned.iter().any(|p| p.1 == 9.0));
        assert!(thinned.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
