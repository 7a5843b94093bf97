//! The linear model of numbers: least squares with a penalty that rows left out decide on, for tables of any shape.
//!
//! ```text
//! minimise Σ_n w_n ‖y_n − Wᵀx_n‖² + λ ‖W‖²,   A = Σ_n w_n x_n x_nᵀ + λI = V (S² + λ) Vᵀ
//! W = A⁻¹ Σ_n w_n x_n y_nᵀ
//! h_n = min(w_n, 1) (1/Σw + x_nᵀ A⁻¹ x_n)                what a row has to say in its own prediction
//! λ: least Σ_n w_n ‖e_n/(1 − h_n)‖²,   e_n = y_n − Wᵀx_n      the error of each row by all others
//! σ² = Σ_n w_n e_n²/(1 − h_n) / Σw,   var y = σ² (1 + 1/Σw + xᵀ A⁻¹ x)
//! ```
//! in standardised units, where the intercept is 0 and its uncertainty 1/Σw. W has a prior of variance σ²/λ, and σ² is
//! where rows left out are likeliest. Where there are more inputs than rows, S² and V come from the N × N matrix of
//! products of rows.
//!
//! Reference: Golub, Heath and Wahba (1979), for the errors of rows left out.

use crate::standardised_data::StandardisedData;
use deepgp::gauss::DiagGaussian;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::{Cholesky, Jitter, Mat, Op, axpy, dot, mul, symmetric_eigen};
use serde::{Deserialize, Serialize};

/// Most features: the normal equations have their square.
const MAX_FEATURES: usize = 1000;
/// Rows whose products are taken at a time.
const BLOCK_ROWS: usize = 256;
/// Least share of a target's variance that is called noise: an exact fit must still have a density.
const LEAST_VAR: f64 = 1e-12;
/// Penalties, as shares of Σw: 10^(k/4) for k in this range.
const PENALTIES: std::ops::RangeInclusive<i32> = -24..=12;
/// Numbers that are looked at for each penalty: of many rows some are left out, evenly spaced.
const MOST_NUMBERS: usize = 2_000_000;
/// Least share of a direction's S² beside the largest.
const LEAST_SQUARE: f64 = 1e-13;
/// Least 1 − h.
const LEAST_OTHERS: f64 = 1e-9;

/// A linear model of standardised data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearModel {
    /// W, D × P.
    weights: Mat,
    /// σ² of each target.
    noise_var: Vec<f64>,
    /// How uncertain W is; models of earlier files do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uncertainty: Option<Uncertainty>,
}

/// xᵀA⁻¹x and the share of the intercept.
///
/// ```text
/// 1/Σw + ‖x‖²/λ − ‖Bᵀx‖²,   B = V diag(s_j²/(λ (s_j² + λ)))^½
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Uncertainty {
    /// Σw.
    rows: f64,
    /// λ.
    penalty: f64,
    /// B, D × the lesser of D and N.
    directions: Mat,
}

/// Weighted inputs in the directions of their products.
struct Rotated {
    /// V, D × K.
    directions: Mat,
    /// s_j².
    squares: Vec<f64>,
    /// Vᵀ Σ_n w_n x_n y_nᵀ, K × P.
    targets: Mat,
}

/// Sums of squares of rows left out, of each target.
#[derive(Debug, Clone)]
struct LeftOut {
    /// Σ w e²/(1 − h)² over all targets.
    errors: f64,
    /// Σ w e²/(1 − h).
    noise: Vec<f64>,
}

impl LinearModel {
    /// Fits it to standardised data; nothing if there are more than a thousand features. Cost: O(N D (D + P)), and that
    /// of the eigenvectors of a matrix of the lesser of N and D rows.
    ///
    /// # Errors
    /// [`Error::NotConverged`] if there are none.
    pub fn fit(data: &StandardisedData) -> Result<Option<Self>> {
        let (x, y, weights) = (data.x(), data.y(), &data.info().weight);
        if x.cols() > MAX_FEATURES {
            return Ok(None);
        }
        let weight = |n: usize| weights.get(n).copied().unwrap_or(1.0);
        let total: f64 = (0..x.rows()).map(weight).sum();
        let rotated = if x.rows() < x.cols() { of_rows(x, y, &weight)? } else { of_columns(x, y, &weight)? };
        let penalties: Vec<f64> = PENALTIES.map(|k| total * 10f64.powf(0.25 * f64::from(k))).collect();
        let stride = (x.rows() * rotated.squares.len()).div_ceil(MOST_NUMBERS).max(1);
        let looked_at: Vec<usize> = (0..x.rows()).step_by(stride).collect();
        let all = rotated.left_out(x, y, &looked_at, &weight, total, &penalties);
        let better = |best: usize, k: usize| if all[k].errors < all[best].errors { k } else { best };
        let best = (1..all.len()).fold(0, better);
        let of_rows: f64 = looked_at.iter().map(|n| weight(*n)).sum();
        Ok(Some(Self {
            weights: rotated.weights(penalties[best]),
            noise_var: all[best].noise.iter().map(|sum| (sum / of_rows).max(LEAST_VAR)).collect(),
            uncertainty: Some(rotated.uncertainty(penalties[best], total)),
        }))
    }

    /// Least squares as earlier versions had them, which records of studies keep: next to no penalty, and the mean
    /// squared residual for noise.
    ///
    /// ```text
    /// W = (XᵀX + λI)⁻¹ XᵀY,   λ = 1e-6 of the mean of the diagonal,   σ² = mean of (y − Wᵀx)²
    /// ```
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if rounding leaves the normal equations without a solution.
    pub fn least_squares(data: &StandardisedData) -> Result<Option<Self>> {
        let (x, y) = (data.x(), data.y());
        let (d, p) = (x.cols(), y.cols());
        if d > MAX_FEATURES {
            return Ok(None);
        }
        let (mut xx, mut xy) = products(x, y, &|_| 1.0);
        let scale = 1.0 / x.rows() as f64;
        xx.as_mut_slice().iter_mut().chain(xy.as_mut_slice()).for_each(|v| *v *= scale);
        let inverse =
            Cholesky::with_jitter(&xx, Jitter::Relative(1e-6), "normal equations of the linear model")?.inverse();
        let mut weights = Mat::zeros(d, p);
        mul(&mut weights, &inverse, Op::Id, &xy, Op::Id);
        let mut fitted = Self { weights, noise_var: vec![0.0; p], uncertainty: None };
        let (mut squares, mut x_block) = (vec![0.0; p], Mat::default());
        for_blocks(x.rows(), |rows| {
            x_block.gather_rows(x, rows);
            let mean = fitted.mean(&x_block);
            for (i, &n) in rows.iter().enumerate() {
                let residuals = mean.row(i).iter().zip(y.row(n)).map(|(m, y)| y - m);
                squares.iter_mut().zip(residuals).for_each(|(sum, r)| *sum += r * r);
            }
        });
        fitted.noise_var = squares.into_iter().map(|sum| (sum * scale).max(LEAST_VAR)).collect();
        Ok(Some(fitted))
    }

    /// Checks that it fits so many inputs and outputs and is finite, which nothing else guarantees of what came from a
    /// file.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] or [`Error::Parameter`].
    pub fn check(&self, dim_in: usize, dim_out: usize) -> Result<()> {
        let directions = self.uncertainty.as_ref().map_or(dim_in, |uncertainty| uncertainty.directions.rows());
        for (what, expected, found) in [
            ("rows of the linear model", dim_in, self.weights.rows()),
            ("columns of the linear model", dim_out, self.weights.cols()),
            ("noise variances of the linear model", dim_out, self.noise_var.len()),
            ("directions of the linear model", dim_in, directions),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.weights.check_data("weights of the linear model")?;
        let positive = |name, entry, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => {
                let requirement = "it must be positive and finite";
                Err(Error::Parameter { name, layer: None, entry, value, requirement })
            }
        };
        if let Some(Uncertainty { rows, penalty, directions }) = &self.uncertainty {
            positive("rows of the linear model", None, *rows)?;
            positive("penalty of the linear model", None, *penalty)?;
            directions.check_data("directions of the linear model")?;
        }
        let mut noise = self.noise_var.iter().enumerate();
        noise.try_for_each(|(entry, v)| positive("noise_var of the linear model", Some(entry), *v))
    }

    /// Moments of y for standardised inputs.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub fn predict(&self, x: &Mat) -> Result<DiagGaussian> {
        x.check_data("inputs")?;
        if x.cols() != self.weights.rows() {
            return Err(Error::Shape { what: "columns of the inputs", expected: self.weights.rows(), found: x.cols() });
        }
        let spread = self.uncertainty.as_ref().map(|uncertainty| uncertainty.of(x));
        let growth = |n: usize| spread.as_ref().map_or(1.0, |spread| 1.0 + spread[n]);
        let var = Mat::from_fn(x.rows(), self.noise_var.len(), |n, p| self.noise_var[p] * growth(n));
        Ok(DiagGaussian { mean: self.mean(x), var })
    }

    fn mean(&self, x: &Mat) -> Mat {
        let mut mean = Mat::zeros(x.rows(), self.weights.cols());
        mul(&mut mean, x, Op::Id, &self.weights, Op::Id);
        mean
    }
}

impl Uncertainty {
    /// 1/Σw + xᵀA⁻¹x of each row.
    fn of(&self, x: &Mat) -> Vec<f64> {
        let mut along = Mat::default();
        mul(&mut along, x, Op::Id, &self.directions, Op::Id);
        let of_row = |(x, along): (&[f64], &[f64])| {
            1.0 / self.rows + (dot(x, x) / self.penalty - dot(along, along)).clamp(0.0, f64::MAX)
        };
        x.iter_rows().zip(along.iter_rows()).map(of_row).collect()
    }
}

impl Rotated {
    /// W = V (S² + λ)⁻¹ Vᵀ Σ w x yᵀ.
    fn weights(&self, penalty: f64) -> Mat {
        let (k, p) = (self.targets.rows(), self.targets.cols());
        let shrunk = Mat::from_fn(k, p, |j, c| self.targets[(j, c)] / (self.squares[j] + penalty));
        let mut weights = Mat::default();
        mul(&mut weights, &self.directions, Op::Id, &shrunk, Op::Id);
        weights
    }

    fn uncertainty(&self, penalty: f64, rows: f64) -> Uncertainty {
        let known = |j: usize| (self.squares[j] / (penalty * (self.squares[j] + penalty))).sqrt();
        let (d, k) = (self.directions.rows(), self.directions.cols());
        Uncertainty { rows, penalty, directions: Mat::from_fn(d, k, |i, j| self.directions[(i, j)] * known(j)) }
    }

    /// Errors of rows left out, one entry for each penalty.
    fn left_out(
        &self,
        x: &Mat,
        y: &Mat,
        looked_at: &[usize],
        weight: &dyn Fn(usize) -> f64,
        total: f64,
        penalties: &[f64],
    ) -> Vec<LeftOut> {
        let p = y.cols();
        let mut all = vec![LeftOut { errors: 0.0, noise: vec![0.0; p] }; penalties.len()];
        let shares: Vec<Vec<f64>> =
            penalties.iter().map(|penalty| self.squares.iter().map(|s| 1.0 / (s + penalty)).collect()).collect();
        let (mut x_block, mut along, mut mean) = (Mat::default(), Mat::default(), vec![0.0; p]);
        for rows in looked_at.chunks(BLOCK_ROWS) {
            x_block.gather_rows(x, rows);
            mul(&mut along, &x_block, Op::Id, &self.directions, Op::Id);
            for (&n, along) in rows.iter().zip(along.iter_rows()) {
                let w = weight(n);
                for (shares, sums) in shares.iter().zip(&mut all) {
                    let mut within = 1.0 / total;
                    mean.fill(0.0);
                    for (j, (along, share)) in along.iter().zip(shares).enumerate() {
                        within += along * along * share;
                        axpy(along * share, self.targets.row(j), &mut mean);
                    }
                    let others = (1.0 - w.min(1.0) * within).max(LEAST_OTHERS);
                    for ((y, mean), noise) in y.row(n).iter().zip(&mean).zip(&mut sums.noise) {
                        let square = w * (y - mean).powi(2) / others;
                        *noise += square;
                        sums.errors += square / others;
                    }
                }
            }
        }
        all
    }
}

/// From the products of columns, D × D.
fn of_columns(x: &Mat, y: &Mat, weight: &dyn Fn(usize) -> f64) -> Result<Rotated> {
    let (xx, xy) = products(x, y, weight);
    let (squares, directions) = eigen(&xx)?;
    let mut targets = Mat::default();
    mul(&mut targets, &directions, Op::T, &xy, Op::Id);
    Ok(Rotated { directions, squares: squares.into_iter().map(|s| s.max(0.0)).collect(), targets })
}

/// From the products of rows, N × N.
///
/// ```text
/// X̃X̃ᵀ = U S² Uᵀ,   V = X̃ᵀ U S⁻¹,   Vᵀ X̃ᵀỸ = S Uᵀ Ỹ          X̃ and Ỹ: rows times √w
/// ```
fn of_rows(x: &Mat, y: &Mat, weight: &dyn Fn(usize) -> f64) -> Result<Rotated> {
    let root = |m: &Mat| Mat::from_fn(m.rows(), m.cols(), |n, j| weight(n).sqrt() * m[(n, j)]);
    let (root_x, root_y, mut gram) = (root(x), root(y), Mat::default());
    mul(&mut gram, &root_x, Op::Id, &root_x, Op::T);
    let (squares, vectors) = eigen(&gram)?;
    let largest = squares.last().copied().unwrap_or(0.0);
    if largest <= 0.0 {
        // Inputs that do not vary.
        return of_columns(x, y, weight);
    }
    let kept: Vec<usize> = (0..squares.len()).filter(|j| squares[*j] > LEAST_SQUARE * largest).collect();
    let squares: Vec<f64> = kept.iter().map(|j| squares[*j]).collect();
    let of_unit_length = Mat::from_fn(x.rows(), kept.len(), |n, j| vectors[(n, kept[j])] / squares[j].sqrt());
    let (mut directions, mut targets) = (Mat::default(), Mat::default());
    mul(&mut directions, &root_x, Op::T, &of_unit_length, Op::Id);
    mul(&mut targets, &of_unit_length, Op::T, &root_y, Op::Id);
    let targets = Mat::from_fn(targets.rows(), targets.cols(), |j, p| squares[j] * targets[(j, p)]);
    Ok(Rotated { directions, squares, targets })
}

fn eigen(a: &Mat) -> Result<(Vec<f64>, Mat)> {
    symmetric_eigen(a).ok_or(Error::NotConverged { what: "directions of the linear model" })
}

/// Σ_n w_n x_n x_nᵀ and Σ_n w_n x_n y_nᵀ.
fn products(x: &Mat, y: &Mat, weight: &dyn Fn(usize) -> f64) -> (Mat, Mat) {
    let (d, p) = (x.cols(), y.cols());
    let (mut xx, mut xy) = (Mat::zeros(d, d), Mat::zeros(d, p));
    let (mut left, mut x_block, mut y_block, mut product) =
        (Mat::default(), Mat::default(), Mat::default(), Mat::default());
    for_blocks(x.rows(), |rows| {
        x_block.gather_rows(x, rows);
        y_block.gather_rows(y, rows);
        left.gather_rows(x, rows);
        for (i, &n) in rows.iter().enumerate() {
            let w = weight(n);
            left.row_mut(i).iter_mut().for_each(|x| *x *= w);
        }
        for (right, sum) in [(&x_block, &mut xx), (&y_block, &mut xy)] {
            product.reset(d, right.cols());
            mul(&mut product, &left, Op::T, right, Op::Id);
            sum.add_scaled(1.0, &product);
        }
    });
    (xx, xy)
}

/// Calls `work` with the numbers of the rows, a block at a time.
fn for_blocks(n_rows: usize, mut work: impl FnMut(&[usize])) {
    let mut rows = Vec::with_capacity(BLOCK_ROWS);
    for start in (0..n_rows).step_by(BLOCK_ROWS) {
        rows.clear();
        rows.extend(start..n_rows.min(start + BLOCK_ROWS));
        work(&rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_info::RowInfo;
    use crate::task::Task;
    use deepgp_oracle::{Tolerance, assert_close};

    /// Inputs and targets by a formula that other programs know as well.
    fn table(n: usize, d: usize) -> (Mat, Mat) {
        let x = |i: usize, j: usize| {
            let (i, j) = (i as f64, j as f64);
            (0.7 * (i + 1.0) * (j + 1.0) + 0.3 * j).sin() + 0.5 * (1.3 * i - 0.9 * j).cos()
        };
        let y = |i: usize, _| x(i, 0) - 0.5 * x(i, 1) + 0.8 * (2.9 * i as f64).sin();
        (Mat::from_fn(n, d, x), Mat::from_fn(n, 1, y))
    }

    /// scikit-learn 1.9.1: `RidgeCV(alphas=n*10**(np.arange(-24, 13)/4), scoring=None)` of inputs and targets divided
    /// by their deviations, which leaves out one row at a time: `coef_[:3]`, `alpha_`. NumPy for σ² and for what a row
    /// has to say in its own prediction, from `alpha_` by the formulas above.
    #[test]
    fn penalty_and_coefficients_are_those_of_other_programs() -> Result<()> {
        for (n, d, penalty, coefficients, noise_var, within) in [
            (40, 6, 0.1, [0.69334063, -0.28583822, -0.02472841], 0.3608352517814164, 0.22177651541217633),
            (
                15,
                30,
                0.5623413251903491,
                [0.21122784, -0.04539534, 0.01590962],
                0.30834103731788015,
                0.5133619333159865,
            ),
        ] {
            let (x, y) = table(n, d);
            let data = StandardisedData::new(x, y)?;
            let linear = LinearModel::fit(&data)?.expect("few features");
            linear.check(d, 1)?;
            let uncertainty = linear.uncertainty.as_ref().expect("of a fit");
            assert_close("penalty", uncertainty.penalty / n as f64, penalty, Tolerance::Rounding);
            for (found, expected) in linear.weights.as_slice().iter().zip(coefficients) {
                assert!((found - expected).abs() < 1e-8, "{found} is not {expected}");
            }
            assert!((linear.noise_var[0] - noise_var).abs() < 1e-12, "{}", linear.noise_var[0]);
            let first = linear.predict(&data.x().select_rows(&[0]))?;
            assert!((first.var[(0, 0)] - noise_var * (1.0 + within)).abs() < 1e-12, "{}", first.var[(0, 0)]);
        }
        Ok(())
    }

    #[test]
    fn a_weight_is_as_many_rows() -> Result<()> {
        for (n, d) in [(30, 4), (9, 12)] {
            let (x, y) = table(n, d);
            let weight: Vec<f64> = (0..n).map(|i| [1.0, 3.0, 2.0][i % 3]).collect();
            let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weight[i] as usize)).collect();
            let info = RowInfo { weight, ..RowInfo::default() };
            let one = StandardisedData::for_rows(Task::Regression, x.clone(), y.clone(), info)?;
            let other = StandardisedData::new(x.select_rows(&rows), y.select_rows(&rows))?;
            let linear = |data: &StandardisedData| Ok::<_, Error>(LinearModel::fit(data)?.expect("few features"));
            let (a, b) = (linear(&one)?.predict(one.x())?, linear(&other)?.predict(one.x())?);
            for i in 0..n {
                assert!((a.mean[(i, 0)] - b.mean[(i, 0)]).abs() < 1e-9 && (a.var[(i, 0)] - b.var[(i, 0)]).abs() < 1e-9);
            }
        }
        Ok(())
    }

    #[test]
    fn a_plane_is_found_and_its_noise_measured() -> Result<()> {
        // Noise that is orthogonal to both inputs by symmetry.
        let sign = |i: usize, bit: usize| if i >> bit & 1 == 0 { 1.0 } else { -1.0 };
        let x = Mat::from_fn(800, 3, |i, j| 5.0 + 2.0 * sign(i, j) * if j == 2 { 0.0 } else { 1.0 });
        let y = Mat::from_fn(800, 1, |i, _| 7.0 + 3.0 * x[(i, 0)] - x[(i, 1)] + 0.5 * sign(i, 3));
        let data = StandardisedData::new(x, y)?;
        let linear = LinearModel::fit(&data)?.expect("few features");
        linear.check(3, 1)?;
        let noise_std = linear.noise_var[0].sqrt() * data.targets().scale()[0];
        assert!((noise_std - 0.5).abs() < 2e-3, "{noise_std}");
        let first = linear.predict(&data.x().select_rows(&[0]))?;
        let mean = data.targets().invert_mean(&first.mean)?[(0, 0)];
        assert!((mean - (7.0 + 3.0 * 7.0 - 7.0)).abs() < 1e-3, "{mean}");
        Ok(())
    }

    #[test]
    fn with_more_inputs_than_rows_it_claims_no_more_than_it_knows() -> Result<()> {
        // Inputs that say nothing of the targets.
        let wave = |i: usize, j: usize| (1.7 * (i * i) as f64 + 2.3 * (j * j * (i + 1)) as f64).sin();
        let (x, y) = (Mat::from_fn(80, 60, wave), Mat::from_fn(80, 1, |i, _| wave(i, 77)));
        let own: Vec<usize> = (0..40).collect();
        let data = StandardisedData::new(x.select_rows(&own), y.select_rows(&own))?;
        let linear = LinearModel::fit(&data)?.expect("few features");
        let fresh: Vec<usize> = (40..80).collect();
        let x = data.inputs().apply(&x.select_rows(&fresh), "inputs")?;
        let y = data.targets().apply(&y.select_rows(&fresh), "targets")?;
        let predicted = linear.predict(&x)?;
        let square = |n: usize| (y[(n, 0)] - predicted.mean[(n, 0)]).powi(2) / predicted.var[(n, 0)];
        let mean_square = (0..40).map(square).sum::<f64>() / 40.0;
        assert!((0.5..1.6).contains(&mean_square), "{mean_square}");
        Ok(())
    }

    #[test]
    fn what_is_not_a_model_is_refused() {
        let sound = LinearModel { weights: Mat::zeros(2, 1), noise_var: vec![1.0], uncertainty: None };
        assert_eq!(sound.check(2, 1), Ok(()));
        assert!(sound.check(3, 1).is_err() && sound.check(2, 2).is_err());
        assert!(LinearModel { noise_var: vec![0.0], ..sound.clone() }.check(2, 1).is_err());
        assert!(LinearModel { weights: Mat::from_fn(2, 1, |_, _| f64::NAN), ..sound.clone() }.check(2, 1).is_err());
        assert!(sound.predict(&Mat::zeros(1, 3)).is_err());
        let with = |rows, penalty, directions| {
            let uncertainty = Some(Uncertainty { rows, penalty, directions });
            LinearModel { uncertainty, ..sound.clone() }.check(2, 1)
        };
        assert_eq!(with(5.0, 1.0, Mat::zeros(2, 1)), Ok(()));
        assert!(with(5.0, 0.0, Mat::zeros(2, 1)).is_err() && with(5.0, 1.0, Mat::zeros(3, 1)).is_err());
        assert!(with(f64::NAN, 1.0, Mat::zeros(2, 1)).is_err());
    }

    #[test]
    fn models_of_earlier_files_are_read() {
        let text = r#"{"weights":{"rows":1,"cols":1,"data":[2.0]},"noise_var":[0.5]}"#;
        let old: LinearModel = serde_json::from_str(text).expect("a model");
        let predicted = old.predict(&Mat::from_fn(1, 1, |_, _| 3.0)).expect("moments");
        assert_eq!((predicted.mean[(0, 0)], predicted.var[(0, 0)]), (6.0, 0.5));
    }
}
