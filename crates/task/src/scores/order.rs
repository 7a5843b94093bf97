//! Whether numbers that are known within bounds are predicted in the right order.
//!
//! ```text
//! a pair is comparable if one's upper bound is below the other's lower bound
//! concordance = (pairs predicted in that order + ½ pairs predicted alike)/comparable pairs
//! ```
//! Reference: Harrell et al. (1982), for times of which some have not ended.

/// Most rows whose pairs are looked at.
const MOST_ROWS: usize = 4000;

/// Rows so far: predicted mean, lower and upper bound, and what the row counts for.
#[derive(Debug, Clone, Default)]
pub(super) struct OrderTally {
    rows: Vec<[f64; 4]>,
}

impl OrderTally {
    /// Adds a row that something is known of; it counts for `weight` rows.
    pub fn add(&mut self, mean: f64, bounds: &[f64], weight: f64) {
        let open = |bound: f64, end: f64| if bound.is_nan() { end } else { bound };
        if self.rows.len() < MOST_ROWS && !(bounds[0].is_nan() && bounds[1].is_nan()) {
            self.rows.push([mean, open(bounds[0], f64::NEG_INFINITY), open(bounds[1], f64::INFINITY), weight]);
        }
    }

    /// Adds the rows of another tally.
    pub fn merge(&mut self, other: &Self) {
        let room = MOST_ROWS - self.rows.len();
        self.rows.extend(other.rows.iter().take(room));
    }

    /// The concordance; nothing if no pair can be compared.
    pub fn concordance(&self) -> Option<f64> {
        let (mut right, mut comparable) = (0.0, 0.0);
        for (i, a) in self.rows.iter().enumerate() {
            for b in &self.rows[..i] {
                let (low, high) = match (a[2] < b[1], b[2] < a[1]) {
                    (true, _) => (a, b),
                    (_, true) => (b, a),
                    _ => continue,
                };
                let weight = a[3] * b[3];
                comparable += weight;
                right += weight
                    * if low[0] < high[0] {
                        1.0
                    } else if low[0] == high[0] {
                        0.5
                    } else {
                        0.0
                    };
            }
        }
        (comparable > 0.0).then_some(right / comparable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_whose_order_is_known_count() {
        let mut tally = OrderTally::default();
        // Seen at 1 and 3, above 2, below 2; the last two can be compared with some.
        for (mean, bounds) in [(0.5, [1.0, 1.0]), (0.7, [3.0, 3.0]), (0.2, [2.0, f64::NAN]), (0.9, [f64::NAN, 2.0])] {
            tally.add(mean, &bounds, 1.0);
        }
        // 1 < 3 right, 1 < above 2 wrong, below 2 < 3 wrong; the others cannot be told.
        assert_eq!(tally.concordance(), Some(1.0 / 3.0));
        assert_eq!(OrderTally::default().concordance(), None);
    }
}
