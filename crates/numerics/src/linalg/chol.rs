//! Cholesky factors with recorded jitter, and what is asked of them: inverse, log determinant, adjoint.

use super::Mat;
use super::factor::{Right, cholesky_solving, cholesky_upper, solve_lower};
use super::product::{Left, Part, halve_lower, product};
use super::solve::{Factored, invert_blocks};
use super::transpose::{mirror, symmetrise};
use crate::error::{Error, Result};
use crate::simd::{PAD, all_finite};

/// What is added to the diagonal of a Gram matrix before it is factored.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// A constant.
    Absolute(f64),
    /// A multiple of the mean of the diagonal.
    Relative(f64),
}

impl Default for Jitter {
    fn default() -> Self {
        Jitter::Relative(1e-6)
    }
}

impl Jitter {
    /// Ten times as much.
    fn raised(self) -> Self {
        match self {
            Jitter::Absolute(e) => Jitter::Absolute(10.0 * e.max(1e-12)),
            Jitter::Relative(e) => Jitter::Relative(10.0 * e.max(1e-12)),
        }
    }

    /// The number added to each diagonal entry of `k`.
    fn amount(self, k: &Mat) -> f64 {
        match self {
            Jitter::Absolute(e) => e,
            Jitter::Relative(e) => e * k.trace() / k.rows() as f64,
        }
    }
}

/// Σ log x_i of positive numbers. Logarithms are dear, so one is taken for many of them where none is so far from 1
/// that their product could overflow or lose digits.
pub fn sum_of_logs(x: &[f64]) -> f64 {
    const MANY: usize = 24;
    const NEAR: std::ops::RangeInclusive<f64> = 1e-12..=1e12;
    let of_some = |some: &[f64]| {
        if !some.iter().fold(true, |all, x| all & NEAR.contains(x)) {
            return some.iter().map(|x| x.ln()).sum();
        }
        // Four products at a time, since each factor waits for the last.
        let (mut products, rest) = ([1.0; 4], some.chunks_exact(4).remainder());
        for four in some.chunks_exact(4) {
            products.iter_mut().zip(four).for_each(|(product, x)| *product *= x);
        }
        products.iter().chain(rest).product::<f64>().ln()
    };
    x.chunks(MANY).map(of_some).sum()
}

/// The error for a matrix that failed at a pivot.
pub fn not_definite(what: &'static str, pivot: usize, jitter: f64) -> Error {
    Error::NotPositiveDefinite { what, pivot, jitter }
}

/// How often the jitter may be raised tenfold before a matrix is given up.
const MAX_RAISES: usize = 6;

/// `L Lᵀ = K + jitter`, with L⁻¹. All matrices M × M; kept and refilled from step to step.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    /// U = Lᵀ, above and on the diagonal.
    u: Mat,
    inv_diag: Vec<f64>,
    /// L⁻¹, or of a factor that was not inverted the inverses of the triangles on its diagonal.
    l_inv: Mat,
    blocks: Vec<[f64; PAD]>,
    jitter: Jitter,
    raises: usize,
}

impl Cholesky {
    /// Factors `k + jitter`, raising the jitter tenfold as often as needed (at most six times).
    ///
    /// Cost: O(M³) for each attempt.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] naming `what` if the largest jitter does not help or `k` is not finite.
    pub fn with_jitter(k: &Mat, jitter: Jitter, what: &'static str) -> Result<Self> {
        let mut chol = Self::default();
        chol.refill_with_jitter(k, jitter, what)?;
        Ok(chol)
    }

    /// [`Cholesky::with_jitter`] into existing memory; after an error the contents are not to be used.
    ///
    /// # Errors
    /// As [`Cholesky::with_jitter`].
    pub fn refill_with_jitter(&mut self, k: &Mat, jitter: Jitter, what: &'static str) -> Result<()> {
        (self.jitter, self.raises) = (jitter, 0);
        loop {
            let amount = self.jitter.amount(k);
            let factored = self.factor(k, 1.0, amount);
            let certain = factored.and_then(|()| if self.is_certain(k) { Ok(()) } else { Err(k.rows() - 1) });
            match certain {
                Ok(()) => return Ok(()),
                Err(pivot) if self.raises == MAX_RAISES || !amount.is_finite() => {
                    return Err(not_definite(what, pivot, amount));
                }
                Err(_) => {
                    self.jitter = self.jitter.raised();
                    self.raises += 1;
                }
            }
        }
    }

    /// Whether K + jitter is positive definite by more than its own rounding: otherwise it is luck that it was
    /// factored.
    ///
    /// ```text
    /// tr (L Lᵀ)⁻¹ · M ε max_i k_ii < 1
    /// ```
    /// The trace is at least 1/λ_min, and M ε max k_ii is what rounding may add to λ_min.
    /// An inverse that is not finite has no such trace.
    fn is_certain(&self, k: &Mat) -> bool {
        let m = k.rows();
        let largest = k.fold_diagonal(f64::max);
        let trace = crate::linalg::dot(self.l_inv.as_slice(), self.l_inv.as_slice());
        trace * m as f64 * f64::EPSILON * largest < 1.0
    }

    /// Factors a matrix that is expected to be positive definite as it stands.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] naming `what`.
    pub fn new(k: &Mat, what: &'static str) -> Result<Self> {
        let mut chol = Self::default();
        chol.refill_shifted(k, 1.0, 0.0, what)?;
        Ok(chol)
    }

    /// Factors `scale · k + shift · I` into existing memory; after an error the contents are not to be used.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] naming `what`.
    pub fn refill_shifted(&mut self, k: &Mat, scale: f64, shift: f64, what: &'static str) -> Result<()> {
        (self.jitter, self.raises) = (Jitter::Absolute(0.0), 0);
        self.factor(k, scale, shift).map_err(|pivot| not_definite(what, pivot, 0.0))?;
        if all_finite(self.l_inv.as_slice()) { Ok(()) } else { Err(not_definite(what, k.rows(), 0.0)) }
    }

    /// Factors alone, with x ← L⁻¹ x: [`Cholesky::invert`] or [`Cholesky::invert_blocks`] comes next, and the caller
    /// sees whether that has overflowed.
    ///
    /// # Errors
    /// As [`Cholesky::refill_shifted`].
    pub fn refill_solving(&mut self, k: &Mat, scale: f64, shift: f64, x: &mut [f64], what: &'static str) -> Result<()> {
        (self.jitter, self.raises) = (Jitter::Absolute(0.0), 0);
        cholesky_solving(k, scale, shift, 0.0, &mut self.u, &mut self.inv_diag, Some(x))
            .map_err(|pivot| not_definite(what, pivot, 0.0))
    }

    /// Makes L⁻¹ of the factor.
    pub fn invert(&mut self) {
        solve_lower(&self.u, &self.inv_diag, Right::Identity, &mut self.l_inv);
    }

    /// Makes, in place of L⁻¹, what it takes to solve with the factor.
    pub fn invert_blocks(&mut self) {
        self.l_inv.reset(0, 0);
        invert_blocks(&self.u, &self.inv_diag, &mut self.blocks);
    }

    /// What solves with a factor that was not inverted.
    pub fn factored(&self) -> Factored<'_> {
        Factored { u: &self.u, blocks: &self.blocks }
    }

    /// One attempt; `Err` holds the first pivot that failed. The inverse may have overflowed.
    fn factor(&mut self, k: &Mat, scale: f64, shift: f64) -> std::result::Result<(), usize> {
        cholesky_upper(k, scale, shift, &mut self.u, &mut self.inv_diag)?;
        self.invert();
        Ok(())
    }

    /// L, copied.
    pub fn l(&self) -> Mat {
        let m = self.u.rows();
        Mat::from_fn(m, m, |i, j| if j <= i { self.u[(j, i)] } else { 0.0 })
    }

    /// L⁻¹, with zeros above the diagonal; empty if it was not asked for.
    pub fn l_inv(&self) -> &Mat {
        &self.l_inv
    }

    /// X = L⁻¹ R for a lower triangular R; `x` must be lower triangular, or of another shape.
    pub fn solve_lower(&self, r: &Mat, x: &mut Mat) {
        solve_lower(&self.u, &self.inv_diag, Right::Lower(r), x);
    }

    /// The jitter that was needed, and how often it was raised to get there.
    pub fn jitter(&self) -> (Jitter, usize) {
        (self.jitter, self.raises)
    }

    /// log |K + jitter|.
    pub fn log_det(&self) -> f64 {
        -2.0 * sum_of_logs(&self.inv_diag)
    }

    /// (K + jitter)⁻¹ = L⁻ᵀ L⁻¹, into `out`.
    pub fn inverse_into(&self, out: &mut Mat) {
        self.half_inverse_into(out);
        mirror(out, Part::Lower);
    }

    /// The lower triangle of (K + jitter)⁻¹, into `out`; what stands above it has no meaning.
    pub fn half_inverse_into(&self, out: &mut Mat) {
        let upper = Left::transposed(&self.l_inv, Part::Upper);
        product(out, false, upper, (&self.l_inv, Part::Lower), Part::Lower);
    }

    /// (K + jitter)⁻¹.
    pub fn inverse(&self) -> Mat {
        let mut out = Mat::default();
        self.inverse_into(&mut out);
        out
    }

    /// Adjoint of the factorisation, from ∂ℒ/∂L to the symmetric ∂ℒ/∂K. Only the lower triangle of `l_bar` is read.
    pub fn adjoint(&self, l_bar: &Mat) -> Mat {
        let m = self.u.rows();
        let (l, lower) = (self.l(), Mat::from_fn(m, m, |i, j| if j <= i { l_bar[(i, j)] } else { 0.0 }));
        let (mut phi, mut k_bar) = (Mat::default(), Mat::default());
        product(&mut phi, false, Left::transposed(&l, Part::Upper), (&lower, Part::Lower), Part::Full);
        self.adjoint_whitened(&mut phi, &mut Mat::default(), &mut k_bar);
        symmetrise(&mut k_bar);
        k_bar
    }

    /// Adjoint of the factorisation from Φ = LᵀL̄, whose lower triangle is read, to Y, which is not symmetric:
    ///
    /// ```text
    /// K̄ = ½ (Y + Yᵀ),   Y = L⁻ᵀ Φ L⁻¹,   Φ = lower triangle of LᵀL̄ with its diagonal halved
    /// ```
    /// `phi` is destroyed; `half` must be lower triangular, or of another shape.
    /// A jitter that scales with the diagonal of K passes its share on.
    /// Reference: Murray (2016), Differentiation of the Cholesky decomposition, eq. 10.
    pub fn adjoint_whitened(&self, phi: &mut Mat, half: &mut Mat, k_bar: &mut Mat) {
        let m = self.u.rows();
        halve_lower(phi);
        if (half.rows(), half.cols()) != (m, m) {
            half.reset(m, m);
        }
        product(half, false, Left::plain(phi, Part::Lower), (&self.l_inv, Part::Lower), Part::Lower);
        product(k_bar, false, Left::transposed(&self.l_inv, Part::Upper), (half, Part::Lower), Part::Full);
        if let Jitter::Relative(e) = self.jitter {
            let share = e * k_bar.trace() / m as f64;
            k_bar.diagonal_mut().for_each(|entry| *entry += share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// exp(−½ (i − j)²/ℓ²): near one for a large ℓ, and singular but for rounding.
    fn gram(m: usize, lengthscale: f64) -> Mat {
        Mat::from_fn(m, m, |i, j| (-0.5 * ((i as f64 - j as f64) / lengthscale).powi(2)).exp())
    }

    #[test]
    fn a_matrix_that_is_singular_but_for_rounding_needs_jitter() -> Result<()> {
        // With M points the least eigenvalue is about ℓ^{−2(M−1)}.
        for m in 4..12 {
            for lengthscale in [1e3, 1e4, 1e6, 1e8] {
                let chol = Cholesky::with_jitter(&gram(m, lengthscale), Jitter::Relative(0.0), "K")?;
                assert!(chol.jitter().1 > 0, "{m} points, lengthscale {lengthscale:e}");
            }
        }
        Ok(())
    }

    #[test]
    fn logarithms_of_numbers_of_all_sizes() {
        for n in 0..20 {
            for scale in [0.0, 1.0, 30.0, 100.0, 300.0] {
                let x: Vec<f64> = (0..n).map(|i| 10.0_f64.powf(scale * (i as f64 * 2.3).sin())).collect();
                let plain: f64 = x.iter().map(|x| x.ln()).sum();
                assert!((sum_of_logs(&x) - plain).abs() < 1e-12 * (1.0 + scale), "{n}, {scale}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_definite_is_factored_as_it_is() -> Result<()> {
        for m in 1..12 {
            assert_eq!(Cholesky::with_jitter(&gram(m, 0.8), Jitter::Relative(0.0), "K")?.jitter().1, 0, "{m}");
        }
        Ok(())
    }
}
