//! Columns of mean 0 and variance 1, and the way back for everything that is predicted.
//!
//! ```text
//! t = (x − μ)/s          per column: μ the mean and s the population standard deviation of the training rows, weighted
//! x = μ + s t,   std x = s std t,   var x = s² var t,   log p(x) = log p(t) − Σ_j log s_j
//! ```

use deepgp::gauss::DiagGaussian;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// Mean and scale of each column, learnt from training rows.
///
/// A constant column keeps scale 1, so that it becomes 0 in the training rows and nothing is divided by zero;
/// [`Standardiser::constant_columns`] names such columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Standardiser {
    mean: Vec<f64>,
    scale: Vec<f64>,
    constant: Vec<usize>,
}

/// The stored form, checked on the way in.
#[derive(Serialize, Deserialize)]
struct Parts {
    mean: Vec<f64>,
    scale: Vec<f64>,
    constant: Vec<usize>,
}

impl Standardiser {
    /// Learns mean and scale from the rows of `x`; `what` names the table in errors ("inputs", "targets").
    ///
    /// # Errors
    /// [`Error::Empty`] without rows or columns, [`Error::NotFinite`] with row, column and value.
    pub fn fit(x: &Mat, what: &'static str) -> Result<Self> {
        Self::fit_weighted(x, &[], what)
    }

    /// Learns them from rows that count as so many rows each; once without weights.
    ///
    /// # Errors
    /// As [`Standardiser::fit`], and [`Error::Shape`] for another number of weights.
    pub fn fit_weighted(x: &Mat, weights: &[f64], what: &'static str) -> Result<Self> {
        x.check_data(what)?;
        if !weights.is_empty() && weights.len() != x.rows() {
            return Err(Error::Shape { what: "weights", expected: x.rows(), found: weights.len() });
        }
        let mut fitted = Self { mean: Vec::new(), scale: Vec::new(), constant: Vec::new() };
        for j in 0..x.cols() {
            let (mean, std) = mean_and_std(&x.column(j), weights);
            // A subnormal deviation has too few digits left to divide by.
            let is_constant = std < f64::MIN_POSITIVE;
            if is_constant {
                fitted.constant.push(j);
            }
            fitted.mean.push(mean);
            fitted.scale.push(if is_constant { 1.0 } else { std });
        }
        Ok(fitted)
    }

    /// Learns them from targets of which some lie between bounds (N × 2: lower and upper, NaN where there is none): from
    /// those that were seen, or all that is known of them; weights as in [`Standardiser::fit_weighted`].
    ///
    /// # Errors
    /// As [`Standardiser::fit`]; [`Error::Empty`] if no row says anything.
    pub(crate) fn fit_bounds(bounds: &Mat, weights: &[f64], what: &'static str) -> Result<Self> {
        let known = |row: &[f64]| match (row[0].is_nan(), row[1].is_nan()) {
            (false, false) => Some(0.5 * row[0] + 0.5 * row[1]),
            (false, true) => Some(row[0]),
            (true, false) => Some(row[1]),
            (true, true) => None,
        };
        let rows: Vec<usize> = (0..bounds.rows()).filter(|n| known(bounds.row(*n)).is_some()).collect();
        let all: Vec<f64> = bounds.iter_rows().filter_map(known).collect();
        let of_known: Vec<f64> = rows.iter().filter_map(|n| weights.get(*n)).copied().collect();
        Self::fit_weighted(&Mat::from_vec(all.len(), 1, all)?, &of_known, what)
    }

    /// Standardises bounds in place; missing ones stay so.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with row and column for a bound that does not stay finite.
    pub(crate) fn apply_to_bounds(&self, bounds: &mut Mat, what: &'static str) -> Result<()> {
        for row in 0..bounds.rows() {
            for (column, entry) in bounds.row_mut(row).iter_mut().enumerate() {
                let before = *entry;
                *entry = (before - self.mean[0]) / self.scale[0];
                if !before.is_nan() && !entry.is_finite() {
                    return Err(Error::NotFinite { what, row, column, value: before });
                }
            }
        }
        Ok(())
    }

    /// The standardiser that changes nothing, for labels and for data in natural units.
    pub fn identity(columns: usize) -> Self {
        Self { mean: vec![0.0; columns], scale: vec![1.0; columns], constant: Vec::new() }
    }

    /// μ, one number per column.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// s, one positive number per column; 1 for a constant column.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.mean.len()
    }

    /// Columns that had a single value in the training rows, ascending.
    pub fn constant_columns(&self) -> &[usize] {
        &self.constant
    }

    /// This standardiser and then another, of as many columns, as one.
    ///
    /// ```text
    /// ((x − μ)/s − m)/r = (x − (μ + s m))/(s r)
    /// ```
    pub fn then(&self, next: &Self) -> Self {
        let place = |j: usize| self.mean[j] + self.scale[j] * next.mean[j];
        let columns = self.columns().min(next.columns());
        Self {
            mean: (0..columns).map(place).collect(),
            scale: (0..columns).map(|j| self.scale[j] * next.scale[j]).collect(),
            constant: next.constant.clone(),
        }
    }

    /// t = (x − μ)/s.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of columns differs; [`Error::NotFinite`] with row, column and value, for a
    /// value that is not finite or does not stay so.
    pub fn apply(&self, x: &Mat, what: &'static str) -> Result<Mat> {
        let mut t = x.clone();
        self.apply_in_place(&mut t, what)?;
        Ok(t)
    }

    /// As [`Standardiser::apply`], on the matrix itself; after an error its contents are of no use.
    ///
    /// # Errors
    /// As [`Standardiser::apply`].
    pub fn apply_in_place(&self, x: &mut Mat, what: &'static str) -> Result<()> {
        self.map_in_place(x, what, |value, mean, scale| {
            let difference = value - mean;
            if difference.is_finite() {
                difference / scale
            } else {
                // Two large numbers of opposite sign.
                2.0 * ((0.5 * value - 0.5 * mean) / scale)
            }
        })
    }

    /// Predictive means in the unit of the data: μ + s m.
    ///
    /// # Errors
    /// As [`Standardiser::apply`].
    pub fn invert_mean(&self, mean: &Mat) -> Result<Mat> {
        self.map(mean, "means", |m, mean, scale| m * scale + mean)
    }

    /// Predictive standard deviations in the unit of the data: s σ.
    ///
    /// # Errors
    /// As [`Standardiser::apply`].
    pub fn invert_std(&self, std: &Mat) -> Result<Mat> {
        self.map(std, "standard deviations", |v, _, scale| v * scale)
    }

    /// Predictive variances in the squared unit of the data: s² v.
    ///
    /// # Errors
    /// As [`Standardiser::apply`].
    pub fn invert_var(&self, var: &Mat) -> Result<Mat> {
        self.map(var, "variances", |v, _, scale| v * scale * scale)
    }

    /// Predicted moments in the unit of the data.
    ///
    /// # Errors
    /// As [`Standardiser::apply`].
    pub fn invert_moments(&self, moments: &DiagGaussian) -> Result<DiagGaussian> {
        Ok(DiagGaussian { mean: self.invert_mean(&moments.mean)?, var: self.invert_var(&moments.var)? })
    }

    /// Log of the joint density of a row, with respect to the unit of the data: log p(t) − Σ_j log s_j.
    pub fn invert_log_density(&self, log_density: f64) -> f64 {
        log_density - self.scale.iter().map(|s| s.ln()).sum::<f64>()
    }

    /// Log of the density of column `column` alone: log p(t) − log s.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn invert_column_log_density(&self, column: usize, log_density: f64) -> f64 {
        log_density - self.scale[column].ln()
    }

    fn map(&self, x: &Mat, what: &'static str, f: impl Fn(f64, f64, f64) -> f64) -> Result<Mat> {
        let mut out = x.clone();
        self.map_in_place(&mut out, what, f)?;
        Ok(out)
    }

    /// Replaces every entry by f(entry, μ, s), which must be finite.
    fn map_in_place(&self, x: &mut Mat, what: &'static str, f: impl Fn(f64, f64, f64) -> f64) -> Result<()> {
        if x.cols() != self.columns() {
            return Err(Error::Shape { what, expected: self.columns(), found: x.cols() });
        }
        for row in 0..x.rows() {
            let entries = x.row_mut(row).iter_mut().zip(self.mean.iter().zip(&self.scale));
            for (column, (entry, (&mean, &scale))) in entries.enumerate() {
                let before = *entry;
                *entry = f(before, mean, scale);
                if !entry.is_finite() {
                    // The value itself if that is at fault, otherwise what became of it.
                    let value = if before.is_finite() { *entry } else { before };
                    return Err(Error::NotFinite { what, row, column, value });
                }
            }
        }
        Ok(())
    }
}

impl From<Standardiser> for Parts {
    fn from(s: Standardiser) -> Self {
        Self { mean: s.mean, scale: s.scale, constant: s.constant }
    }
}

impl TryFrom<Parts> for Standardiser {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self> {
        let Parts { mean, scale, constant } = parts;
        if scale.len() != mean.len() {
            return Err(Error::Shape { what: "scales of a standardiser", expected: mean.len(), found: scale.len() });
        }
        let error = |name, entry, value, requirement| Error::Parameter { name, layer: None, entry, value, requirement };
        for (j, (&m, &s)) in mean.iter().zip(&scale).enumerate() {
            if !m.is_finite() {
                return Err(error("mean", Some(j), m, "it must be finite"));
            }
            if !(s > 0.0 && s.is_finite()) {
                return Err(error("scale", Some(j), s, "it must be positive and finite"));
            }
        }
        if let Some(&j) = constant.iter().find(|&&j| j >= mean.len()) {
            return Err(error("constant", None, j as f64, "it must be a column"));
        }
        Ok(Self { mean, scale, constant })
    }
}

/// Mean and population standard deviation of finite numbers, safe from overflow and cancellation.
///
/// ```text
/// t = (x − c)/h ∈ [−1, 1]          c the middle and h half the length of the range
/// μ = c + h t̄,   s = h √(mean (t − t̄)²)
/// ```
/// Means are over rows, each of which counts for its weight if there are weights.
fn mean_and_std(column: &[f64], weights: &[f64]) -> (f64, f64) {
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Halves first: neither sum nor difference of two finite numbers need be finite.
    let (centre, half_range) = (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low);
    if low == high || half_range == 0.0 {
        return (low, 0.0);
    }
    // x/2 − c/2 is at most h/2, so the doubled quotient is t.
    let t = || column.iter().map(|x| 2.0 * ((0.5 * x - 0.5 * centre) / half_range));
    let (t_mean, t_var) = match weights.is_empty() {
        true => {
            let n = column.len() as f64;
            let t_mean = t().sum::<f64>() / n;
            (t_mean, t().map(|t| (t - t_mean).powi(2)).sum::<f64>() / n)
        }
        false => {
            let total: f64 = weights.iter().sum();
            let t_mean = t().zip(weights).map(|(t, w)| w / total * t).sum::<f64>();
            (t_mean, t().zip(weights).map(|(t, w)| w / total * (t - t_mean).powi(2)).sum::<f64>())
        }
    };
    ((centre + half_range * t_mean).clamp(low, high), half_range * t_var.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_all_close, assert_close, normal_expectation};
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn column(values: &[f64]) -> Mat {
        Mat::from_fn(values.len(), 1, |i, _| values[i])
    }

    #[test]
    fn by_hand() -> Result<()> {
        let x = Mat::from_rows(&[[1.0, 5.0], [3.0, 5.0], [5.0, 5.0], [7.0, 5.0]])?;
        let s = Standardiser::fit(&x, "inputs")?;
        assert_all_close("mean", s.mean(), &[4.0, 5.0], Tolerance::Rounding);
        assert_all_close("scale", s.scale(), &[5.0_f64.sqrt(), 1.0], Tolerance::Rounding);
        assert_eq!((s.columns(), s.constant_columns()), (2, &[1][..]));
        let r = 1.0 / 5.0_f64.sqrt();
        let t = s.apply(&x, "inputs")?;
        assert_all_close("t", &t.column(0), &[-3.0 * r, -r, r, 3.0 * r], Tolerance::Rounding);
        assert_eq!(t.column(1), [0.0; 4]);
        Ok(())
    }

    #[test]
    fn a_weight_is_as_many_rows() -> Result<()> {
        let (values, weights) = ([3.0, 1e3, -7.0, 0.5], [2.0, 1.0, 3.0, 1.0]);
        let repeated: Vec<f64> =
            values.iter().zip(weights).flat_map(|(v, w)| std::iter::repeat_n(*v, w as usize)).collect();
        let (one, other) = (
            Standardiser::fit_weighted(&column(&values), &weights, "inputs")?,
            Standardiser::fit(&column(&repeated), "inputs")?,
        );
        assert_close("mean", one.mean()[0], other.mean()[0], Tolerance::Rounding);
        assert_close("scale", one.scale()[0], other.scale()[0], Tolerance::Rounding);
        assert!(Standardiser::fit_weighted(&column(&values), &[1.0], "inputs").is_err());
        Ok(())
    }

    #[test]
    fn a_constant_column_keeps_its_unit() -> Result<()> {
        // 0.1 is not a binary fraction: a mean by summation would miss it.
        let s = Standardiser::fit(&column(&[0.1; 7]), "inputs")?;
        assert_eq!((s.mean(), s.scale(), s.constant_columns()), (&[0.1][..], &[1.0][..], &[0][..]));
        assert_eq!(s.apply(&column(&[0.1, 2.1]), "inputs")?.as_slice(), [0.0, 2.0]);
        let one_row = Standardiser::fit(&column(&[-3.0]), "inputs")?;
        assert_eq!((one_row.mean(), one_row.scale()), (&[-3.0][..], &[1.0][..]));
        let subnormal = Standardiser::fit(&column(&[0.0, 5e-324, 1e-320]), "inputs")?;
        assert_eq!((subnormal.scale(), subnormal.constant_columns()), (&[1.0][..], &[0][..]));
        Ok(())
    }

    #[test]
    fn a_large_offset_does_not_drown_the_deviation() -> Result<()> {
        // Steps of 2⁻¹⁰ are exact at 1e12, where the spacing of numbers is 2⁻¹³.
        let step = 2.0_f64.powi(-10);
        let x = column(&[1e12 - 3.0 * step, 1e12 - step, 1e12 + step, 1e12 + 3.0 * step]);
        let s = Standardiser::fit(&x, "inputs")?;
        assert_close("mean", s.mean()[0] - 1e12, 0.0, Tolerance::Rounding);
        assert_close("scale", s.scale()[0] / (5.0_f64.sqrt() * step), 1.0, Tolerance::Rounding);
        let r = 1.0 / 5.0_f64.sqrt();
        assert_all_close("t", s.apply(&x, "inputs")?.as_slice(), &[-3.0 * r, -r, r, 3.0 * r], Tolerance::Rounding);
        Ok(())
    }

    #[test]
    fn extreme_magnitudes_neither_overflow_nor_vanish() -> Result<()> {
        for unit in [1e-300, 1e300, f64::MAX] {
            let x = column(&[-unit, -unit, unit, unit]);
            let s = Standardiser::fit(&x, "inputs")?;
            assert_close("scale", s.scale()[0] / unit, 1.0, Tolerance::Rounding);
            let t = s.apply(&x, "inputs")?;
            assert_all_close("t", t.as_slice(), &[-1.0, -1.0, 1.0, 1.0], Tolerance::Rounding);
        }
        let offset = Standardiser::fit(&column(&[1.5e308, 1.6e308, 1.7e308]), "inputs")?;
        assert_close("mean", offset.mean()[0] / 1.6e308, 1.0, Tolerance::Rounding);
        // x − μ overflows, (x − μ)/s does not.
        let far = offset.apply(&column(&[-1.7e308]), "inputs")?;
        assert_close("far", far[(0, 0)], -33.0 / (2.0_f64 / 3.0).sqrt(), Tolerance::Rounding);
        Ok(())
    }

    #[test]
    fn moments_return_to_their_units() -> Result<()> {
        let s = Standardiser::fit(&Mat::from_rows(&[[1.0, 10.0], [5.0, 30.0]])?, "targets")?;
        let (one, two) = (Mat::from_rows(&[[1.0, 1.0]])?, Mat::from_rows(&[[0.5, -2.0]])?);
        assert_eq!(s.invert_mean(&two)?.as_slice(), [4.0, 0.0]);
        assert_eq!(s.invert_std(&one)?.as_slice(), [2.0, 10.0]);
        assert_eq!(s.invert_var(&one)?.as_slice(), [4.0, 100.0]);
        assert_eq!(s.invert_column_log_density(0, 1.5), 1.5 - 2.0_f64.ln());
        // s² overflows, s² v does not.
        let large = Standardiser { mean: vec![0.0], scale: vec![1e200], constant: vec![] };
        assert_close("var", large.invert_var(&column(&[1e-300]))?[(0, 0)] / 1e100, 1.0, Tolerance::Rounding);
        Ok(())
    }

    #[test]
    fn densities_still_integrate_to_one() -> Result<()> {
        let s = Standardiser::fit(&Mat::from_rows(&[[1.0, 10.0], [1.4, 60.0], [1.1, 20.0]])?, "targets")?;
        let log_p = |t: f64| -0.5 * t * t - 0.5 * (2.0 * PI).ln();
        // ∫ p(y) dy as E[p(y)/q(y)] under a wider normal q in the unit of the data.
        let var: Vec<f64> = s.scale().iter().map(|s| 1.5 * s * s).collect();
        let ratio = |y: &[f64]| {
            let t: Vec<f64> = (0..2).map(|j| (y[j] - s.mean()[j]) / s.scale()[j]).collect();
            let log_q: f64 =
                (0..2).map(|j| -0.5 * (y[j] - s.mean()[j]).powi(2) / var[j] - 0.5 * (2.0 * PI * var[j]).ln()).sum();
            (s.invert_log_density(log_p(t[0]) + log_p(t[1])) - log_q).exp()
        };
        let mass = normal_expectation(ratio, s.mean(), &var, 80);
        assert_close("mass", mass, 1.0, Tolerance::Quadrature);
        Ok(())
    }

    #[test]
    fn faults_are_named() -> Result<()> {
        let mut x = Mat::zeros(3, 2);
        assert!(matches!(Standardiser::fit(&Mat::zeros(0, 2), "inputs"), Err(Error::Empty { what: "inputs", .. })));
        assert!(matches!(Standardiser::fit(&Mat::zeros(2, 0), "inputs"), Err(Error::Empty { .. })));
        let s = Standardiser::fit(&x, "inputs")?;
        let shape = s.apply(&Mat::zeros(3, 1), "inputs");
        assert_eq!(shape, Err(Error::Shape { what: "inputs", expected: 2, found: 1 }));
        assert_eq!(s.apply(&Mat::zeros(0, 2), "inputs")?.rows(), 0);
        x[(2, 1)] = f64::INFINITY;
        let error = Error::NotFinite { what: "inputs", row: 2, column: 1, value: f64::INFINITY };
        assert_eq!(Standardiser::fit(&x, "inputs"), Err(error.clone()));
        assert_eq!(s.apply(&x, "inputs"), Err(error));
        x[(2, 1)] = f64::NAN;
        assert!(matches!(s.invert_var(&x), Err(Error::NotFinite { row: 2, column: 1, .. })));
        Ok(())
    }

    #[test]
    fn stored_forms_are_checked() {
        let parse = |text: &str| serde_json::from_str::<Standardiser>(text).map_err(|e| e.to_string());
        assert_eq!(parse(r#"{"mean":[0.0],"scale":[1.0],"constant":[]}"#), Ok(Standardiser::identity(1)));
        for bad in [
            r#"{"mean":[0.0],"scale":[],"constant":[]}"#,
            r#"{"mean":[0.0],"scale":[0.0],"constant":[]}"#,
            r#"{"mean":[0.0],"scale":[-1.0],"constant":[]}"#,
            r#"{"mean":[0.0],"scale":[1.0],"constant":[1]}"#,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn the_inverse_undoes_it_and_files_keep_it(
            data in prop::collection::vec(-1.0..1.0_f64, 3..60),
            offset in -1e6..1e6_f64,
            log_unit in -20.0..20.0_f64,
        ) {
            let rows = data.len() / 3;
            let unit = log_unit.exp();
            let x = Mat::from_fn(rows, 3, |i, j| [1.0, unit, offset][j] * data[3 * i + j] + [0.0, 0.0, offset][j]);
            let s = Standardiser::fit(&x, "inputs")?;
            let t = s.apply(&x, "inputs")?;
            let back = s.invert_mean(&t)?;
            for j in 0..3 {
                let (found, original) = (back.column(j), x.column(j));
                let size = original.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
                prop_assert!(found.iter().zip(&original).all(|(f, o)| (f - o).abs() <= 1e-14 * size));
                if s.constant_columns().is_empty() {
                    let column = t.column(j);
                    let n = column.len() as f64;
                                    prop_assert!((column.iter().sum::<f64>() / n).abs() < 1e-8);
                    prop_assert!((column.iter().map(|t| t * t).sum::<f64>() / n - 1.0).abs() < 1e-8);
                }
            }
            let text = serde_json::to_string(&s).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let stored: Standardiser = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            for (a, b) in stored.scale().iter().zip(s.scale()) {
                prop_assert!((a - b).abs() <= 1e-15 * b);
            }
        }
    }
}
