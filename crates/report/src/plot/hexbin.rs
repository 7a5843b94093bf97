//! Counts of points in hexagons, for clouds that are too many to draw one by one.

use super::scene::Point;
use std::collections::BTreeMap;

/// Centres and counts of the hexagons of a radius that hold points, in a fixed order.
///
/// Two interleaved rectangular lattices make the hexagonal one; a point belongs to the nearer of its two candidates.
pub fn hexbin(points: &[Point], radius: f64) -> Vec<(Point, usize)> {
    let (dx, dy) = (radius * 3f64.sqrt(), radius * 1.5);
    let mut counts: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    for &(x, y) in points {
        let row = (y / dy).floor();
        let candidate = |row: f64| {
            let shift = if row.rem_euclid(2.0) == 1.0 { 0.5 } else { 0.0 };
            let column = (x / dx - shift).round();
            let centre = ((column + shift) * dx, row * dy);
            ((x - centre.0).powi(2) + (y - centre.1).powi(2), (row as i64, column as i64))
        };
        let (a, b) = (candidate(row), candidate(row + 1.0));
        *counts.entry(if a.0 <= b.0 { a.1 } else { b.1 }).or_default() += 1;
    }
    let centre = |(row, column): (i64, i64)| {
        let shift = if row.rem_euclid(2) == 1 { 0.5 } else { 0.0 };
        ((column as f64 + shift) * dx, row as f64 * dy)
    };
    counts.into_iter().map(|(cell, n)| (centre(cell), n)).collect()
}

/// The corners of a hexagon with a corner on top.
pub fn corners(centre: Point, radius: f64) -> Vec<Point> {
    let corner = |k: u8| (f64::from(k) * 60.0 - 90.0).to_radians().sin_cos();
    (0..6).map(corner).map(|(sin, cos)| (centre.0 + radius * cos, centre.1 + radius * sin)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_point_is_counted_once_and_near(points in prop::collection::vec((-50.0..50.0_f64, -50.0..50.0_f64), 1..80)) {
            let bins = hexbin(&points, 4.0);
            prop_assert_eq!(bins.iter().map(|b| b.1).sum::<usize>(), points.len());
            for p in &points {
                let nearest = bins.iter().map(|(c, _)| (c.0 - p.0).hypot(c.1 - p.1)).fold(f64::MAX, f64::min);
                prop_assert!(nearest <= 4.0 + 1e-9);
            }
        }
    }

    #[test]
    fn corners_lie_on_the_circle() {
        let c = corners((1.0, 2.0), 3.0);
        assert!(c.len() == 6 && c.iter().all(|p| ((p.0 - 1.0).hypot(p.1 - 2.0) - 3.0).abs() < 1e-12));
    }
}
