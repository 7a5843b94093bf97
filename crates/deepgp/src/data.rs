//! The rows that a network learns from: inputs and targets, and what else is known of each row.

use crate::error::{Error, Result, expect_positive, expect_size};
use crate::gauss::DiagGaussian;
use crate::network::DeepGp;
use deepgp_numerics::Mat;

/// The rows that a network learns from: N inputs and targets, and what else is known of each row.
///
/// ```text
/// the likelihood of row n sees f(x_n) + c + o_n,   o_n ~ N(offset mean, diag offset variance), c the network's constant
/// log Z_n counts w_n times
/// ```
/// It borrows everything, so that copies cost nothing.
#[derive(Debug, Clone, Copy)]
pub struct Data<'a> {
    x: &'a Mat,
    y: &'a Mat,
    offset: Option<&'a DiagGaussian>,
    weights: Option<&'a [f64]>,
    /// W = Σ w_n; N without weights.
    total_weight: f64,
}

impl<'a> Data<'a> {
    /// Inputs `x` (N × D_in) and targets `y` (N × the likelihood's columns), every row counting once.
    pub fn new(x: &'a Mat, y: &'a Mat) -> Self {
        Self { x, y, offset: None, weights: None, total_weight: x.rows() as f64 }
    }

    /// Gaussians (N × K) that are added to the latent values of each row before the likelihood: log exposures or a mean
    /// function from outside as means, known noise variances as variances.
    #[must_use]
    pub fn with_offset(self, offset: &'a DiagGaussian) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// A weight w_n for each row, which counts as that many rows. Cost: O(N).
    #[must_use]
    pub fn with_weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), total_weight: weights.iter().sum(), ..self }
    }

    /// Inputs, N × D_in.
    pub fn x(&self) -> &'a Mat {
        self.x
    }

    /// Targets, N × the likelihood's columns.
    pub fn y(&self) -> &'a Mat {
        self.y
    }

    /// What is added to the latent values of each row, N × K.
    pub fn offset(&self) -> Option<&'a DiagGaussian> {
        self.offset
    }

    /// What each row counts for, if not once.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.weights
    }

    /// W, the sum of the weights; the number of rows without weights.
    pub fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// Checks that a network can learn from these rows. Cost: O(N).
    ///
    /// # Errors
    /// As [`DeepGp::check_data`]; [`Error::Shape`] if offset or weights have other sizes, [`Error::NotFinite`] or
    /// [`Error::Parameter`] for an offset mean that is not finite, a variance that is negative or not finite, a weight
    /// that is not positive and finite, or weights that sum to less than one row.
    pub fn check(&self, network: &DeepGp) -> Result<()> {
        network.check_data(self.x, self.y)?;
        if let Some(offset) = self.offset {
            check_offset(network, self.x.rows(), offset)?;
        }
        let Some(weights) = self.weights else { return Ok(()) };
        expect_size("weights", self.x.rows(), weights.len())?;
        weights.iter().enumerate().try_for_each(|(n, &weight)| expect_positive("weights", Some(n), weight))?;
        // A cavity leaves out α of one row.
        if self.total_weight >= 1.0 && self.total_weight.is_finite() {
            return Ok(());
        }
        let (name, requirement) = ("sum of the weights", "together they must be at least one row, and finite");
        Err(Error::Parameter { name, layer: None, entry: None, value: self.total_weight, requirement })
    }
}

/// Checks what is to be added to the latent values of so many rows.
pub(crate) fn check_offset(network: &DeepGp, rows: usize, offset: &DiagGaussian) -> Result<()> {
    for (what, moments) in [("rows of the offset's means", &offset.mean), ("rows of its variances", &offset.var)] {
        expect_size(what, rows, moments.rows())?;
    }
    for (what, moments) in [("columns of the offset's means", &offset.mean), ("columns of its variances", &offset.var)]
    {
        expect_size(what, network.n_latent(), moments.cols())?;
    }
    offset.mean.check_data("offset")?;
    let vars = offset.var.as_slice();
    match vars.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
        None => Ok(()),
        Some(i) => {
            let (name, requirement) = ("variances of the offset", "they must be finite and not negative");
            Err(Error::Parameter { name, layer: None, entry: Some(i), value: vars[i], requirement })
        }
    }
}
