//! The exact GP: every row an inducing input, its factor and evidence in closed form.
//!
//! With Z = X, L Lᵀ = K + jitter and f = L v, the likelihood N(y; L v, σ²I) is itself the factor:
//!
//! ```text
//! Λ = LᵀL/σ²,   η = Lᵀy/σ²
//! log p(y) = −½ yᵀa − ½ log|C| − ½N log 2π,     C = K + σ²I,  a = C⁻¹y
//! ∂ log p/∂K = ½ (a aᵀ − C⁻¹),   ∂ log p/∂σ² = ½ tr(a aᵀ − C⁻¹)          summed over outputs, each with its own σ²
//! ```
//! Cost: O(N³) per evaluation and output, O(N²) memory. Reference: Rasmussen, Williams (2006), chapter 2 and section
//! 5.4.1.

use super::{ClosedFit, all_but, maximise, parts};
use crate::error::Result;
use crate::fitted::Fitted;
use crate::gauss::Factor;
use crate::infer::InferenceSettings;
use crate::kernel::{KernelScratch, KernelTables, Law};
use crate::layer::{Inducing, Inputs, Layer};
use crate::network::{DeepGp, Gradient};
use deepgp_numerics::linalg::{Cholesky, Mat, Op, dot, mul};
use deepgp_numerics::special::LN_2PI;

/// Maximises the evidence from the hyperparameters of a network with one layer, whose inducing inputs are not used.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for more than one layer, [`Error::Parameter`](crate::Error::Parameter) for
/// another likelihood than Gaussian or data that do not fit;
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if the evidence cannot be evaluated at the start.
pub fn fit(start: &DeepGp, x: &Mat, y: &Mat, max_evaluations: usize) -> Result<ClosedFit> {
    let mut gp = at_rows(start, x)?;
    gp.check_data(x, y)?;
    y.check_data("targets")?;
    // Z stays where the rows are.
    let moves = all_but(&gp, &["z"]);
    let mut scratch = Scratch::default();
    let (log_evidence, evaluations) =
        maximise(&mut gp, &moves, max_evaluations, |gp| log_evidence(gp, x, y, &mut scratch))?;
    // The posterior needs matrices of the same size.
    drop(scratch);
    Ok(ClosedFit { fitted: posterior(gp, y)?, log_evidence, evaluations })
}

/// The network with every row an inducing input.
fn at_rows(network: &DeepGp, x: &Mat) -> Result<DeepGp> {
    let (layer, _) = parts(network)?;
    DeepGp::new(vec![Layer { z: x.clone(), ..layer.clone() }], network.likelihood().clone())
}

/// Working memory of [`log_evidence`], N × N matrices that the next evaluation uses again.
#[derive(Debug, Default)]
pub struct Scratch {
    tables: KernelTables,
    kernel: KernelScratch,
    k: Mat,
    k_bar: Mat,
    c: Cholesky,
    inverse: Mat,
}

/// log p(y) of a network with Z = X, and its gradient with respect to the unconstrained coordinates.
///
/// # Errors
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if C cannot be factored, and as [`fit`] for
/// another network than a GP with Gaussian noise.
pub fn log_evidence(gp: &DeepGp, x: &Mat, y: &Mat, scratch: &mut Scratch) -> Result<(f64, Vec<f64>)> {
    let (layer, noise) = parts(gp)?;
    let n = x.rows();
    let Scratch { tables, kernel, k, k_bar, c, inverse } = scratch;
    layer.kernel.prepare_exact(x, tables);
    layer.kernel.gram(tables, k);
    k_bar.reset(n, n);
    let mut gradient = Gradient::zeros(gp);
    let mut total = 0.0;
    for (d, &noise_var) in noise.noise_var.iter().enumerate() {
        c.refill_shifted(k, 1.0, noise_var, "the covariance of an exact GP")?;
        c.inverse_into(inverse);
        let target = y.column(d);
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
    }
    layer.kernel.gram_adjoint(tables, k, k_bar, &mut gradient.layers[0].kernel, kernel);
    Ok((total, gradient.to_free(gp, 1.0)))
}

/// The exact posterior at given hyperparameters, Z = X.
///
/// # Errors
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) if K cannot be factored with the jitter of the
/// default settings.
fn posterior(gp: DeepGp, y: &Mat) -> Result<Fitted> {
    let (layer, noise) = parts(&gp)?;
    let inference = InferenceSettings::default();
    let n = y.rows();
    let l = Inducing::new(layer, Inputs::Exact, inference.jitter)?.chol.l();
    let mut gram = Mat::zeros(n, n);
    mul(&mut gram, &l, Op::T, &l, Op::Id);
    let factor = |d: usize, noise_var: f64| {
        let mut linear = Mat::zeros(n, 1);
        mul(&mut linear, &l, Op::T, &Mat::from_fn(n, 1, |i, _| y[(i, d)] / noise_var), Op::Id);
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

    /// A direct sum over the entries, with Gaussian elimination: nothing shared with the code above but the kernel.
    fn evidence_directly(gp: &DeepGp, x: &Mat, y: &Mat) -> f64 {
        let Likelihood::Gaussian(noise) = gp.likelihood() else { panic!("Gaussian") };
        let n = x.rows();
        let mut total = 0.0;
        for (d, noise_var) in noise.noise_var.iter().enumerate() {
            let mut k = Mat::default();
            gp.layers()[0].kernel.cross(x, x, &mut k);
            let mut rows: Vec<Vec<f64>> = (0..n)
                .map(|i| {
                    let mut row = k.row(i).to_vec();
                    row[i] += noise_var;
                    row.push(y[(i, d)]);
                    row
                })
                .collect();
            let mut log_det = 0.0;
            for p in 0..n {
                log_det += rows[p][p].ln();
                for i in p + 1..n {
                    let factor = rows[i][p] / rows[p][p];
                    for j in p..=n {
                        let above = rows[p][j];
                        rows[i][j] -= factor * above;
                    }
                }
            }
            // yᵀC⁻¹y = Σ (eliminated right-hand side)²/pivot
            let quadratic: f64 = (0..n).map(|p| rows[p][n].powi(2) / rows[p][p]).sum();
            total -= 0.5 * (quadratic + log_det + n as f64 * (2.0 * std::f64::consts::PI).ln());
        }
        total
    }

    #[test]
    fn the_evidence_and_its_gradient_are_right() -> Result<()> {
        let (x, y) = data(23);
        let mut gp = at_rows(&start(&x), &x)?;
        let (value, gradient) = log_evidence(&gp, &x, &y, &mut Scratch::default())?;
        let direct = evidence_directly(&gp, &x, &y);
        assert!((value - direct).abs() < 1e-9 * direct.abs(), "{value} is not {direct}");
        let mut theta = Vec::new();
        gp.read_free(&mut theta);
        for i in all_but(&gp, &["z"]).iter().enumerate().filter(|(_, free)| **free).map(|(i, _)| i) {
            const STEP: f64 = 1e-5;
            let mut at = |shift: f64| {
                let mut moved = theta.clone();
                moved[i] += shift;
                gp.write_free(&moved);
                evidence_directly(&gp, &x, &y)
            };
            let slope = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            assert!((gradient[i] - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{i}: {} is not {slope}", gradient[i]);
        }
        Ok(())
    }

    #[test]
    fn predictions_are_those_of_the_textbook() -> Result<()> {
        let (x, y) = data(31);
        let found = fit(&start(&x), &x, &y, 60)?;
        let before = log_evidence(&at_rows(&start(&x), &x)?, &x, &y, &mut Scratch::default())?.0;
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
        let predicted = Predictor::new(fit(&start(&x), &x, &y, 30)?.fitted)?.predict(&x)?;
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
        assert!(matches!(fit(&deep, &x, &y, 10), Err(Error::Shape { .. })));
        Ok(())
    }
}
