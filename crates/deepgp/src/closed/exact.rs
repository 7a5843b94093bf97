//! The exact GP: every row an inducing input, its factor and evidence in closed form.
//!
//! With Z = X, L Lᵀ = K + jitter and f = L v, the likelihood N(y; L v, σ²I) is itself the factor:
//!
//! ```text
//! Λ = LᵀL/σ²,   η = Lᵀy/σ²
//! log p(y) = −½ yᵀa − ½ log|C| − ½N log 2π,     C = K + σ²I,  a = C⁻¹y
//! ∂ log p/∂K = ½ (a aᵀ − C⁻¹),   ∂ log p/∂σ² = ½ tr(a aᵀ − C⁻¹)          summed over outputs, each with its own σ²
//! ```
//! A row with the offset N(o_n, s_n²) has the target y_n − o_n and the noise σ_n² = σ² + s_n²; one that counts w_n times
//! is that many equal rows, each with noise of its own. The network's constant c is subtracted from all targets. Then
//!
//! ```text
//! C = K + diag(σ_n²/w_n),   Λ = Lᵀ diag(w_n/σ_n²) L,   η = Lᵀ (w_n y_n/σ_n²)
//! log p gains Σ_n −½ w_n log 2πσ_n² + ½ log(2πσ_n²/w_n)                  what the copies differ from their mean by is 0
//! ∂ log p/∂σ² = Σ_n ½ (a_n² − C⁻¹_nn)/w_n + ½ (1 − w_n)/σ_n²,   ∂ log p/∂c = Σ_n a_n
//! ```
//! Cost: O(N³) per evaluation and output, O(N²) memory. Reference: Rasmussen, Williams (2006), chapter 2 and section
//! 5.4.1.

use super::{ClosedFit, all_but, check_data, known_var, maximise, parts, residuals};
use crate::data::Data;
use crate::error::Result;
use crate::fitted::Fitted;
use crate::gauss::Factor;
use crate::infer::InferenceSettings;
use crate::kernel::{KernelScratch, KernelTables, Law};
use crate::layer::{Inducing, Inputs, Layer};
use crate::network::{DeepGp, Gradient};
use deepgp_numerics::linalg::transpose::symmetrise;
use deepgp_numerics::linalg::{Cholesky, Mat, Op, dot, mul};
use deepgp_numerics::special::LN_2PI;

/// Maximises the evidence from the hyperparameters of a network with one layer, whose inducing inputs are not used.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for more than one layer, [`Error::Parameter`](crate::Error::Parameter) for
/// another likelihood than Gaussian or data that do not fit;
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if the evidence cannot be evaluated at the start.
pub fn fit(start: &DeepGp, data: Data<'_>, max_evaluations: usize) -> Result<ClosedFit> {
    let mut gp = at_rows(start, data.x())?;
    check_data(&gp, data)?;
    // Z stays where the rows are.
    let moves = all_but(&gp, &["z"]);
    let mut scratch = Scratch::default();
    let (log_evidence, evaluations) =
        maximise(&mut gp, &moves, max_evaluations, |gp| log_evidence(gp, data, &mut scratch))?;
    // The posterior needs matrices of the same size.
    drop(scratch);
    Ok(ClosedFit { fitted: posterior_at_rows(gp, data)?, log_evidence, evaluations })
}

/// The exact posterior at the hyperparameters of a network with one layer. Cost: O(N³).
///
/// # Errors
/// As [`fit`].
pub fn posterior(gp: &DeepGp, data: Data<'_>) -> Result<Fitted> {
    let gp = at_rows(gp, data.x())?;
    check_data(&gp, data)?;
    posterior_at_rows(gp, data)
}

/// The network with every row an inducing input.
fn at_rows(network: &DeepGp, x: &Mat) -> Result<DeepGp> {
    let (layer, _) = parts(network)?;
    DeepGp::new(vec![Layer { z: x.clone(), ..layer.clone() }], network.likelihood().clone())?
        .with_constant(network.constant().to_vec())
}

/// Working memory of [`log_evidence`], N × N matrices that the next evaluation uses again.
#[derive(Debug, Default)]
pub struct Scratch {
    tables: KernelTables,
    kernel: KernelScratch,
    k: Mat,
    k_bar: Mat,
    /// K + diag(σ_n²/w_n), where rows differ in their noise.
    noisy: Mat,
    c: Cholesky,
    inverse: Mat,
}

/// log p(y) of a network with Z = X, and its gradient with respect to the unconstrained coordinates.
///
/// # Errors
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if C cannot be factored, and as [`fit`] for
/// another network than a GP with Gaussian noise.
pub fn log_evidence(gp: &DeepGp, data: Data<'_>, scratch: &mut Scratch) -> Result<(f64, Vec<f64>)> {
    let (layer, noise) = parts(gp)?;
    let x = data.x();
    let n = x.rows();
    let Scratch { tables, kernel, k, k_bar, noisy, c, inverse } = scratch;
    layer.kernel.prepare_exact(x, tables);
    layer.kernel.gram(tables, k);
    k_bar.reset(n, n);
    let mut gradient = Gradient::zeros(gp);
    let mut total = 0.0;
    for (d, &noise_var) in noise.noise_var.iter().enumerate() {
        const WHAT: &str = "the covariance of an exact GP";
        let rows_noise = noise_of_rows(data, d, noise_var);
        match &rows_noise {
            None => c.refill_shifted(k, 1.0, noise_var, WHAT)?,
            Some(rows) => {
                noisy.clone_from(k);
                noisy.diagonal_mut().zip(rows).for_each(|(entry, row)| *entry += row.var / row.weight);
                c.refill_shifted(noisy, 1.0, 0.0, WHAT)?;
            }
        }
        c.inverse_into(inverse);
        let target = residuals(gp, data, d);
        let a: Vec<f64> = (0..n).map(|i| dot(inverse.row(i), &target)).collect();
        total -= 0.5 * (dot(&target, &a) + c.log_det() + n as f64 * LN_2PI);
        let mut trace = 0.0;
        for i in 0..n {
            for (bar, (inv, aj)) in k_bar.row_mut(i).iter_mut().zip(inverse.row(i).iter().zip(&a)) {
                *bar += 0.5 * (a[i] * aj - inv);
            }
            trace += a[i] * a[i] - inverse[(i, i)];
        }
        gradient.likelihood[d] = 0.5 * trace;
        if let Some(rows) = rows_noise {
            gradient.likelihood[d] = 0.0;
            for (n, RowNoise { var, weight }) in rows.into_iter().enumerate() {
                let log_var = LN_2PI + var.ln();
                total += 0.5 * (log_var - weight.ln() - weight * log_var);
                let by_noise = (a[n] * a[n] - inverse[(n, n)]) / weight + (1.0 - weight) / var;
                gradient.likelihood[d] += 0.5 * by_noise;
            }
        }
        if let Some(constant) = gradient.constant.get_mut(d) {
            *constant = a.iter().sum();
        }
    }
    layer.kernel.gram_adjoint(tables, k, k_bar, &mut gradient.layers[0].kernel, kernel);
    Ok((total, gradient.to_free(gp, 1.0)))
}

/// σ_n² and w_n of a row.
struct RowNoise {
    var: f64,
    weight: f64,
}

/// σ_n² and w_n of every row for output `d`, if not all are σ² and 1.
fn noise_of_rows(data: Data<'_>, d: usize, noise_var: f64) -> Option<Vec<RowNoise>> {
    if data.weights().is_none() && data.offset().is_none() {
        return None;
    }
    let weight = |n: usize| data.weights().map_or(1.0, |weights| weights[n]);
    let row = |n: usize| RowNoise { var: noise_var + known_var(data, n, d), weight: weight(n) };
    Some((0..data.x().rows()).map(row).collect())
}

/// The exact posterior of a network with Z = X.
///
/// # Errors
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if K cannot be factored with the jitter of the
/// default settings.
fn posterior_at_rows(gp: DeepGp, data: Data<'_>) -> Result<Fitted> {
    let (layer, noise) = parts(&gp)?;
    let inference = InferenceSettings::default();
    let n = data.x().rows();
    let l = Inducing::new(layer, Inputs::Exact, inference.jitter)?.chol.l();
    let mut gram = Mat::zeros(n, n);
    mul(&mut gram, &l, Op::T, &l, Op::Id);
    let factor = |d: usize, noise_var: f64| {
        let (mut linear, y) = (Mat::zeros(n, 1), residuals(&gp, data, d));
        if let Some(rows) = noise_of_rows(data, d, noise_var) {
            let scaled_y = Mat::from_fn(n, 1, |i, _| y[i] / (rows[i].var / rows[i].weight));
            mul(&mut linear, &l, Op::T, &scaled_y, Op::Id);
            // Λ = (D^½L)ᵀ D^½L, D = diag(w_n/σ_n²)
            let scaled_l = Mat::from_fn(n, n, |i, j| l[(i, j)] * (rows[i].weight / rows[i].var).sqrt());
            let mut precision = Mat::zeros(n, n);
            mul(&mut precision, &scaled_l, Op::T, &scaled_l, Op::Id);
            symmetrise(&mut precision);
            return Factor { precision, linear: linear.as_slice().to_vec() };
        }
        mul(&mut linear, &l, Op::T, &Mat::from_fn(n, 1, |i, _| y[i] / noise_var), Op::Id);
        let precision = Mat::from_fn(n, n, |i, j| 0.5 * (gram[(i, j)] + gram[(j, i)]) / noise_var);
        Factor { precision, linear: linear.as_slice().to_vec() }
    };
    let factors = noise.noise_var.iter().enumerate().map(|(d, &noise_var)| factor(d, noise_var)).collect();
    Ok(Fitted { factors: vec![factors], inference, network: gp })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::gauss::DiagGaussian;
    use crate::init::{Architecture, network};
    use crate::likelihood::{Gaussian, Likelihood};
    use crate::param::Parameters;
    use crate::predict::Predictor;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn data(n: usize) -> (Mat, Mat) {
        let x = Mat::from_fn(n, 2, |i, j| (0.7 * (i * (j + 1)) as f64).sin() * 1.5);
        let y = Mat::from_fn(n, 2, |i, d| {
            (1.5 * x[(i, 0)]).sin() + 0.3 * x[(i, d)] + 0.1 * (12.9 * i as f64 + d as f64).sin()
        });
        (x, y)
    }

    fn start(x: &Mat) -> DeepGp {
        let shape = Architecture { hidden: Vec::new(), n_inducing: 3, ..Architecture::default() };
        let likelihood = Likelihood::Gaussian(Gaussian { noise_var: vec![0.05, 0.2] });
        network(x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(3)).expect("a network").0
    }

    /// Offsets and whole weights of rows.
    fn extras(n: usize) -> (DiagGaussian, Vec<f64>) {
        let mean = Mat::from_fn(n, 2, |i, d| (3.1 * i as f64 + d as f64).cos());
        let var = Mat::from_fn(n, 2, |i, d| 0.1 * ((i + d) % 4) as f64);
        (DiagGaussian { mean, var }, (0..n).map(|i| [1.0, 3.0, 2.0][i % 3]).collect())
    }

    /// Each row as often as its weight says.
    fn repeated(data: Data<'_>) -> Vec<usize> {
        let times = |i: usize| data.weights().map_or(1.0, |weights| weights[i]) as usize;
        (0..data.x().rows()).flat_map(|i| std::iter::repeat_n(i, times(i))).collect()
    }

    /// A direct sum over the entries of repeated rows, with Gaussian elimination: nothing shared with the code above but
    /// the kernel.
    fn evidence_directly(gp: &DeepGp, data: Data<'_>) -> f64 {
        let Likelihood::Gaussian(noise) = gp.likelihood() else { panic!("Gaussian") };
        let rows = repeated(data);
        let (x, n) = (&data.x().select_rows(&rows), rows.len());
        let mut total = 0.0;
        for (d, noise_var) in noise.noise_var.iter().enumerate() {
            let mut k = Mat::default();
            gp.layers()[0].kernel.cross(x, x, &mut k);
            let mut c: Vec<Vec<f64>> = (0..n)
                .map(|i| {
                    let mut row = k.row(i).to_vec();
                    let offset = data.offset().map_or((0.0, 0.0), |o| (o.mean[(rows[i], d)], o.var[(rows[i], d)]));
                    row[i] += noise_var + offset.1;
                    row.push(data.y()[(rows[i], d)] - offset.0 - gp.constant().get(d).unwrap_or(&0.0));
                    row
                })
                .collect();
            let mut log_det = 0.0;
            for p in 0..n {
                log_det += c[p][p].ln();
                for i in p + 1..n {
                    let factor = c[i][p] / c[p][p];
                    for j in p..=n {
                        let above = c[p][j];
                        c[i][j] -= factor * above;
                    }
                }
            }
            // yᵀC⁻¹y = Σ (eliminated right-hand side)²/pivot
            let quadratic: f64 = (0..n).map(|p| c[p][n].powi(2) / c[p][p]).sum();
            total -= 0.5 * (quadratic + log_det + n as f64 * (2.0 * std::f64::consts::PI).ln());
        }
        total
    }

    #[test]
    fn the_evidence_and_its_gradient_are_right() -> Result<()> {
        let (x, y) = data(23);
        let (offset, weights) = extras(23);
        let plain = Data::new(&x, &y);
        let cases = [
            (plain, vec![]),
            (plain.with_offset(&offset), vec![0.3, -0.2]),
            (plain.with_weights(&weights), vec![]),
            (plain.with_offset(&offset).with_weights(&weights), vec![0.3, -0.2]),
        ];
        for (case, (data, constant)) in cases.into_iter().enumerate() {
            let mut gp = at_rows(&start(&x), &x)?.with_constant(constant)?;
            let (value, gradient) = log_evidence(&gp, data, &mut Scratch::default())?;
            let direct = evidence_directly(&gp, data);
            assert!((value - direct).abs() < 1e-9 * direct.abs(), "case {case}: {value} is not {direct}");
            let mut theta = Vec::new();
            gp.read_free(&mut theta);
            for i in all_but(&gp, &["z"]).iter().enumerate().filter(|(_, free)| **free).map(|(i, _)| i) {
                const STEP: f64 = 1e-5;
                let mut at = |shift: f64| {
                    let mut moved = theta.clone();
                    moved[i] += shift;
                    gp.write_free(&moved);
                    evidence_directly(&gp, data)
                };
                let (slope, found) = ((at(STEP) - at(-STEP)) / (2.0 * STEP), gradient[i]);
                assert!((found - slope).abs() < 1e-6 * (1.0 + slope.abs()), "case {case}, {i}: {found} is not {slope}");
            }
        }
        Ok(())
    }

    /// Predictions from rows with offsets and weights are those of the textbook from repeated rows.
    #[test]
    fn the_posterior_knows_noise_and_weights() -> Result<()> {
        let (x, y) = data(31);
        let (offset, weights) = extras(31);
        let data = Data::new(&x, &y).with_offset(&offset).with_weights(&weights);
        let gp = at_rows(&start(&x), &x)?.with_constant(vec![0.3, -0.2])?;
        let at = Mat::from_fn(5, 2, |i, j| 0.4 * i as f64 - 0.9 + 0.3 * j as f64);
        let predicted = Predictor::new(posterior(&gp, data)?)?.predict(&at)?;
        let (rows, kernel) = (repeated(data), &gp.layers()[0].kernel);
        let many = x.select_rows(&rows);
        let (mut k, mut cross) = (Mat::default(), Mat::default());
        kernel.cross(&many, &many, &mut k);
        kernel.cross(&at, &many, &mut cross);
        for (d, noise_var) in [0.05, 0.2].into_iter().enumerate() {
            let mut c = k.clone();
            rows.iter().enumerate().for_each(|(i, &row)| c[(i, i)] += noise_var + offset.var[(row, d)]);
            let inverse = Cholesky::new(&c, "C")?.inverse();
            let constant = gp.constant()[d];
            let target: Vec<f64> = rows.iter().map(|&row| y[(row, d)] - offset.mean[(row, d)] - constant).collect();
            for i in 0..5 {
                let weights: Vec<f64> = (0..rows.len()).map(|j| dot(inverse.row(j), cross.row(i))).collect();
                let (mean, var) =
                    (constant + dot(&weights, &target), kernel.diag(at.row(i)) - dot(&weights, cross.row(i)));
                let (found_mean, found_var) = (predicted.f.mean[(i, d)], predicted.f.var[(i, d)]);
                assert!((found_mean - mean).abs() < 1e-4, "{found_mean} is not {mean}");
                assert!((found_var - var).abs() < 1e-4, "{found_var} is not {var}");
            }
        }
        Ok(())
    }

    #[test]
    fn predictions_are_those_of_the_textbook() -> Result<()> {
        let (x, y) = data(31);
        let found = fit(&start(&x), Data::new(&x, &y), 60)?;
        let before = log_evidence(&at_rows(&start(&x), &x)?, Data::new(&x, &y), &mut Scratch::default())?.0;
        assert!(found.log_evidence > before + 1.0, "{} after {before}", found.log_evidence);
        let gp = found.fitted.network.clone();
        let Likelihood::Gaussian(noise) = gp.likelihood() else { panic!("Gaussian") };
        let at = Mat::from_fn(5, 2, |i, j| 0.4 * i as f64 - 0.9 + 0.3 * j as f64);
        let predicted = Predictor::new(found.fitted)?.predict(&at)?;
        let kernel = &gp.layers()[0].kernel;
        let (mut k, mut cross) = (Mat::default(), Mat::default());
        kernel.cross(&x, &x, &mut k);
        kernel.cross(&at, &x, &mut cross);
        for d in 0..2 {
            let mut c = k.clone();
            (0..31).for_each(|i| c[(i, i)] += noise.noise_var[d]);
            let inverse = Cholesky::new(&c, "C")?.inverse();
            for i in 0..5 {
                let weights: Vec<f64> = (0..31).map(|j| dot(inverse.row(j), cross.row(i))).collect();
                let mean = dot(&weights, &y.column(d));
                let var = kernel.diag(at.row(i)) - dot(&weights, cross.row(i));
                assert!((predicted.f.mean[(i, d)] - mean).abs() < 1e-4, "{} is not {mean}", predicted.f.mean[(i, d)]);
                assert!((predicted.f.var[(i, d)] - var).abs() < 1e-4, "{} is not {var}", predicted.f.var[(i, d)]);
            }
        }
        Ok(())
    }

    #[test]
    fn repeated_rows_do_no_harm() -> Result<()> {
        let (x, y) = data(20);
        let rows: Vec<usize> = (0..20).chain(0..20).collect();
        let (x, y) = (x.select_rows(&rows), y.select_rows(&rows));
        let predicted = Predictor::new(fit(&start(&x), Data::new(&x, &y), 30)?.fitted)?.predict(&x)?;
        // Targets have a deviation of about 1, and are the same wherever rows are.
        let squares = predicted.y.mean.as_slice().iter().zip(y.as_slice()).map(|(m, y)| (m - y).powi(2));
        let rms = (squares.sum::<f64>() / 80.0).sqrt();
        assert!(rms < 0.2, "{rms}");
        assert!(predicted.y.var.as_slice().iter().all(|v| *v > 0.0 && *v < 0.2), "{:?}", predicted.y.var);
        Ok(())
    }

    #[test]
    fn deep_networks_are_refused() -> Result<()> {
        let (x, y) = data(10);
        let shape = Architecture { n_inducing: 3, ..Architecture::default() };
        let likelihood = Likelihood::Gaussian(Gaussian { noise_var: vec![0.05, 0.2] });
        let (deep, _) = network(&x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(3))?;
        assert!(matches!(fit(&deep, Data::new(&x, &y), 10), Err(Error::Shape { .. })));
        Ok(())
    }
}
