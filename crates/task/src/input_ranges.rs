//! Where the training inputs lay: a few numbers per feature, not the data.

use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// Range and quantiles of one feature over the training rows, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Least value.
    pub min: f64,
    /// 5 % of the values lie below.
    pub q05: f64,
    /// 25 % of the values lie below.
    pub q25: f64,
    /// Half of the values lie below.
    pub median: f64,
    /// 75 % of the values lie below.
    pub q75: f64,
    /// 95 % of the values lie below.
    pub q95: f64,
    /// Greatest value.
    pub max: f64,
}

impl Range {
    /// The range of each column; quantiles between two values are interpolated. Values must be finite; without rows
    /// there is no range.
    pub fn of_columns(x: &Mat) -> Vec<Self> {
        let one = |j| {
            let mut column = x.column(j);
            column.sort_unstable_by(f64::total_cmp);
            let at = |share| quantile(&column, share);
            Self {
                min: at(0.0),
                q05: at(0.05),
                q25: at(0.25),
                median: at(0.5),
                q75: at(0.75),
                q95: at(0.95),
                max: at(1.0),
            }
        };
        if x.rows() == 0 { Vec::new() } else { (0..x.cols()).map(one).collect() }
    }
}

/// The quantile of sorted values, by linear interpolation between the two it lies between.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    let t = place.fract();
    // Neither the sum nor the difference of two finite numbers need be finite.
    ((1.0 - t) * low + t * high).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let x = Mat::from_fn(21, 2, |i, j| if j == 0 { (20 - i) as f64 } else { -7.5 });
        let [first, second] = Range::of_columns(&x)[..] else { panic!("two columns") };
        let expected = Range { min: 0.0, q05: 1.0, q25: 5.0, median: 10.0, q75: 15.0, q95: 19.0, max: 20.0 };
        assert_eq!(first, expected);
        assert_eq!((second.min, second.median, second.max), (-7.5, -7.5, -7.5));
        let two = Range::of_columns(&Mat::from_fn(2, 1, |i, _| [f64::MAX, -f64::MAX][i]))[0];
        assert_eq!((two.min, two.median, two.max), (-f64::MAX, 0.0, f64::MAX));
        assert_eq!(Range::of_columns(&Mat::zeros(0, 3)), []);
    }
}
