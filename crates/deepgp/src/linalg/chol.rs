//! Cholesky factors with recorded jitter, and what is asked of them: inverse, log determinant, adjoint.

use super::dense::{end_vector_code, view, view_mut};
use super::{Mat, Op, mul};
use crate::error::{Error, Result};
use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_inverse::invert_lower_triangular;

/// What is added to the diagonal of a Gram matrix before it is factored.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
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
            Jitter::Relative(e) => e * (0..k.rows()).map(|i| k[(i, i)]).sum::<f64>() / k.rows() as f64,
        }
    }
}

/// How often the jitter may be raised tenfold before a matrix is given up.
const MAX_RAISES: usize = 6;

/// `L Lᵀ = K + jitter`, with L⁻¹. All matrices M × M; L and L⁻¹ have zeros above the diagonal.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    l: Mat,
    l_inv: Mat,
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
        let mut chol = Self { jitter, ..Self::default() };
        loop {
            let amount = chol.jitter.amount(k);
            let factored =
                chol.factor(k, amount).and_then(|()| if chol.is_certain(k) { Ok(()) } else { Err(k.rows() - 1) });
            match factored {
                Ok(()) => return Ok(chol),
                Err(pivot) if chol.raises == MAX_RAISES || !amount.is_finite() => {
                    return Err(Error::NotPositiveDefinite { what, layer: None, output: None, pivot, jitter: amount });
                }
                Err(_) => {
                    chol.jitter = chol.jitter.raised();
                    chol.raises += 1;
                }
            }
        }
    }

    /// Whether K + jitter is positive definite by more than its own rounding: otherwise it is luck that it was factored.
    ///
    /// ```text
    /// tr (L Lᵀ)⁻¹ · M ε max_i k_ii < 1          the trace is at least 1/λ_min, M ε max k_ii what rounding may add to λ_min
    /// ```
    fn is_certain(&self, k: &Mat) -> bool {
        let m = k.rows();
        let largest = (0..m).map(|i| k[(i, i)]).fold(0.0, f64::max);
        let trace: f64 = self.l_inv.as_slice().iter().map(|v| v * v).sum();
        trace * m as f64 * f64::EPSILON * largest < 1.0
    }

    /// Factors a matrix that is expected to be positive definite as it stands.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] naming `what`.
    pub fn new(k: &Mat, what: &'static str) -> Result<Self> {
        let mut chol = Self { jitter: Jitter::Absolute(0.0), ..Self::default() };
        match chol.factor(k, 0.0) {
            Ok(()) => Ok(chol),
            Err(pivot) => Err(Error::NotPositiveDefinite { what, layer: None, output: None, pivot, jitter: 0.0 }),
        }
    }

    /// One attempt; `Err` holds the first pivot that failed.
    fn factor(&mut self, k: &Mat, jitter: f64) -> std::result::Result<(), usize> {
        let m = k.rows();
        self.l = k.clone();
        for i in 0..m {
            self.l[(i, i)] += jitter;
        }
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(m, Par::Seq, Default::default()));
        let factored = cholesky_in_place(
            view_mut(&mut self.l),
            LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        )
        .map_err(|LltError::NonPositivePivot { index }| index);
        end_vector_code();
        factored?;
        for i in 0..m {
            self.l.row_mut(i)[i + 1..].fill(0.0);
            // A factor of NaNs or of infinities is a failure too.
            if !(self.l[(i, i)] > 0.0 && self.l[(i, i)].is_finite()) {
                return Err(i);
            }
        }
        self.l_inv.reset(m, m);
        invert_lower_triangular(view_mut(&mut self.l_inv), view(&self.l), Par::Seq);
        end_vector_code();
        if self.l_inv.as_slice().iter().all(|v| v.is_finite()) { Ok(()) } else { Err(m) }
    }

    /// L.
    pub fn l(&self) -> &Mat {
        &self.l
    }

    /// L⁻¹.
    pub fn l_inv(&self) -> &Mat {
        &self.l_inv
    }

    /// The jitter that was needed, and how often it was raised to get there.
    pub fn jitter(&self) -> (Jitter, usize) {
        (self.jitter, self.raises)
    }

    /// log |K + jitter|.
    pub fn log_det(&self) -> f64 {
        2.0 * (0..self.l.rows()).map(|i| self.l[(i, i)].ln()).sum::<f64>()
    }

    /// (K + jitter)⁻¹ = L⁻ᵀ L⁻¹.
    pub fn inverse(&self) -> Mat {
        let mut out = Mat::default();
        mul(&mut out, &self.l_inv, Op::T, &self.l_inv, Op::Id);
        out
    }

    /// Adjoint of the factorisation, from ∂F/∂L to the symmetric ∂F/∂K.
    ///
    /// ```text
    /// K̄ = ½ L⁻ᵀ (Φ + Φᵀ) L⁻¹,   Φ = lower triangle of LᵀL̄ with its diagonal halved
    /// ```
    /// A jitter that scales with the diagonal of K passes its share on. Only the lower triangle of `l_bar` is read.
    /// Reference: Murray (2016), Differentiation of the Cholesky decomposition, eq. 10.
    pub fn adjoint(&self, l_bar: &Mat) -> Mat {
        let m = self.l.rows();
        let lower = Mat::from_fn(m, m, |i, j| if j <= i { l_bar[(i, j)] } else { 0.0 });
        let mut phi = Mat::default();
        mul(&mut phi, &self.l, Op::T, &lower, Op::Id);
        // ½ (Φ + Φᵀ): the diagonal of Φ is halved, so the sum has it once.
        let symmetric = Mat::from_fn(m, m, |i, j| 0.5 * if i >= j { phi[(i, j)] } else { phi[(j, i)] });
        let (mut half, mut k_bar) = (Mat::default(), Mat::default());
        mul(&mut half, &self.l_inv, Op::T, &symmetric, Op::Id);
        mul(&mut k_bar, &half, Op::Id, &self.l_inv, Op::Id);
        if let Jitter::Relative(e) = self.jitter {
            let share = e * (0..m).map(|i| k_bar[(i, i)]).sum::<f64>() / m as f64;
            for i in 0..m {
                k_bar[(i, i)] += share;
            }
        }
        k_bar
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
    fn a_matrix_that_is_definite_is_factored_as_it_is() -> Result<()> {
        for m in 1..12 {
            assert_eq!(Cholesky::with_jitter(&gram(m, 0.8), Jitter::Relative(0.0), "K")?.jitter().1, 0, "{m}");
        }
        Ok(())
    }
}
