//! From data to places on an axis.

use super::ticks::{self, Ticks};

/// Numbers beyond this are drawn as if they were at it, so that differences of two stay finite.
const HUGEST: f64 = 1e305;
/// Numbers beyond this may leave the picture: an axis needs room for margins, and for ticks in them.
const HUGEST_END: f64 = 1e300;
/// Powers of ten beyond this may leave a logarithmic picture, so that there is room for margins.
const MOST_DECADES: f64 = 270.0;
/// A range narrower than this, compared with its numbers, is taken for one number.
const NARROWEST: f64 = 1e-9;
/// Share of the range that is left free on either side.
const MARGIN: f64 = 0.04;

/// An axis' range, and whether distances on it are ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// The range of the numbers with a little room on either side, whatever they are: numbers that are not finite, or
    /// on a logarithmic axis not positive, are left out of it; one number gets a range around itself, none gets one
    /// around 0.
    pub fn of(values: impl IntoIterator<Item = f64>, log: bool) -> Self {
        let usable = values.into_iter().filter_map(|v| coordinate(v, log)).map(|c| c.clamp(-HUGEST_END, HUGEST_END));
        let range = usable.fold(None, |r: Option<(f64, f64)>, v| Some(r.map_or((v, v), |(l, h)| (l.min(v), h.max(v)))));
        let (low, high) = widen(range.unwrap_or((0.0, 0.0)), log);
        let room = MARGIN * (high - low);
        Self { low: low - room, high: high + room, log }
    }

    /// Just this range, if it is one; otherwise as [`Scale::of`].
    pub fn exact(low: f64, high: f64, log: bool) -> Self {
        match (coordinate(low, log), coordinate(high, log)) {
            (Some(a), Some(b)) if b - a > NARROWEST * a.abs().max(b.abs()) && b - a > 1e-290 => {
                Self { low: a, high: b, log }
            }
            _ => Self::of([low, high], log),
        }
    }

    /// This scale without room below the smallest number, for bars that stand on it.
    pub fn standing_on(self, low: f64) -> Self {
        match coordinate(low, self.log) {
            Some(low) if low < self.high => Self { low, ..self },
            _ => self,
        }
    }

    /// Where a number lies between the ends, 0 and 1; not far outside of them, and nowhere if it has no place.
    pub fn place(&self, v: f64) -> Option<f64> {
        let c = coordinate(v, self.log)?;
        Some(((c - self.low) / (self.high - self.low)).clamp(-20.0, 21.0))
    }

    /// The number at a place.
    pub fn at(&self, place: f64) -> f64 {
        let c = self.low + place * (self.high - self.low);
        if self.log { 10f64.powf(c) } else { c }
    }

    /// Round numbers in the range.
    pub fn ticks(&self, most: usize) -> Ticks {
        if self.log { ticks::log(self.at(0.0), self.at(1.0), most) } else { ticks::linear(self.low, self.high, most) }
    }
}

/// A number's coordinate: itself, or its logarithm.
fn coordinate(v: f64, log: bool) -> Option<f64> {
    if !v.is_finite() || (log && v <= 0.0) {
        return None;
    }
    Some(if log { v.log10().clamp(-MOST_DECADES, MOST_DECADES) } else { v.clamp(-HUGEST, HUGEST) })
}

/// A range with a width.
fn widen((low, high): (f64, f64), log: bool) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if high - low > NARROWEST * size && high - low > 1e-290 {
        return (low, high);
    }
    let centre = 0.5 * low + 0.5 * high;
    let half = if log {
        0.3
    } else if size > 1e-280 {
        0.1 * size
    } else {
        1.0
    };
    (centre - half, centre + half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_data_fill_the_axis() {
        let s = Scale::of([0.0, 10.0], false);
        let (a, b) = (s.place(0.0).unwrap(), s.place(10.0).unwrap());
        assert!(a > 0.0 && a < 0.05 && b < 1.0 && b > 0.95);
        assert!((s.place(5.0).unwrap() - 0.5).abs() < 1e-12);
        let log = Scale::exact(1.0, 100.0, true);
        assert_eq!((log.place(10.0), log.place(0.0), log.place(-3.0)), (Some(0.5), None, None));
    }

    #[test]
    fn a_constant_lies_in_the_middle() {
        for c in [0.0, 3.0, -1e300, 1e-300, 5e-324, 1e18] {
            let p = Scale::of([c, c], false).place(c).unwrap();
            assert!((p - 0.5).abs() < 1e-6, "{c}: {p}");
        }
        assert_eq!(Scale::of([1.0], true).place(1.0), Some(0.5));
        assert!(Scale::of([], false).place(0.0).is_some());
        assert!((Scale::exact(2.0, 2.0, false).place(2.0).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn bars_stand_on_the_axis() {
        assert_eq!(Scale::of([0.0, 4.0], false).standing_on(0.0).place(0.0), Some(0.0));
    }

    proptest! {
        #[test]
        fn any_numbers_give_a_finite_axis_with_ticks(values in prop::collection::vec(any::<f64>(), 0..6), log: bool) {
            let s = Scale::of(values.iter().copied(), log);
            for &v in values.iter().filter(|v| v.abs() <= HUGEST_END) {
                prop_assert!(s.place(v).is_none_or(|p| (-0.001..=1.001).contains(&p)), "{} in {:?}", v, s);
            }
            let ticks = s.ticks(6);
            prop_assert!(ticks.at.iter().all(|t| s.place(*t).is_some_and(f64::is_finite)));
            prop_assert!(s.at(0.0) <= s.at(1.0));
        }
    }
}
