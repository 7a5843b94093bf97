//! Joint minimisation of the SEP energy in the factors and the hyperparameters (Bui et al., ICML 2016).
//!
//! ```text
//! Λ = Rᵀ R with R upper triangular; its packed entries, the diagonal as logarithms, and η descend E
//! R̄ = 2 R Λ̄ (upper triangle)
//! ```

use super::{
    Batch, Event, Inference, InferenceSettings, State, Step, StepWorkspace, all_moments, energy, floor_events,
};
use crate::error::Result;
use crate::gauss::{Factor, FullGaussianBar};
use crate::layer::Wanted;
use crate::network::DeepGp;
use deepgp_numerics::linalg::{Cholesky, Mat, Op, mul, tri};
use serde::{Deserialize, Serialize};

/// The upper triangular R of Λ = RᵀR as M(M+1)/2 free numbers: row by row, the diagonal as its logarithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Root {
    m: usize,
    packed: Vec<f64>,
}

impl Root {
    /// From the free numbers of an M × M root.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] if there are not M(M+1)/2 of them.
    pub fn from_packed(m: usize, packed: Vec<f64>) -> Result<Self> {
        crate::error::expect_size("entries of a packed root", tri::packed_len(m), packed.len())?;
        Ok(Self { m, packed })
    }

    /// Checks a root that came from a file: its size, and that its numbers are finite.
    pub(super) fn check(&self, m: usize) -> Result<()> {
        crate::error::expect_size("rows of a root", m, self.m)?;
        crate::error::expect_size("entries of a packed root", tri::packed_len(m), self.packed.len())?;
        match self.packed.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(row) => Err(crate::Error::NotFinite { what: "packed root", row, column: 0, value: self.packed[row] }),
        }
    }

    /// The root of a positive definite matrix.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`].
    pub fn of(precision: &Mat) -> Result<Self> {
        let m = precision.rows();
        let r = Cholesky::new(precision, "Λ")?.l().transpose();
        let mut packed = vec![0.0; tri::packed_len(m)];
        tri::pack(&r, &mut packed);
        for i in 0..m {
            packed[tri::row_start(m, i)] = r[(i, i)].ln();
        }
        Ok(Self { m, packed })
    }

    /// The free numbers.
    pub fn packed(&self) -> &[f64] {
        &self.packed
    }

    /// Sets the free numbers.
    pub(super) fn set(&mut self, packed: &[f64]) {
        self.packed.copy_from_slice(packed);
    }

    /// R.
    pub fn matrix(&self) -> Mat {
        Mat::from_fn(self.m, self.m, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => self.packed[tri::row_start(self.m, i) + j - i],
            std::cmp::Ordering::Equal => self.packed[tri::row_start(self.m, i)].exp(),
            std::cmp::Ordering::Greater => 0.0,
        })
    }

    /// RᵀR.
    pub fn square(r: &Mat) -> Mat {
        let mut out = Mat::default();
        mul(&mut out, r, Op::T, r, Op::Id);
        out
    }

    /// Adjoint: from the symmetric ∂F/∂Λ to the free numbers, appended to `free_bar`.
    pub fn adjoint(&self, precision_bar: &Mat, free_bar: &mut Vec<f64>) {
        let r = self.matrix();
        let mut r_bar = Mat::default();
        mul(&mut r_bar, &r, Op::Id, precision_bar, Op::Id);
        for i in 0..self.m {
            for j in i..self.m {
                let slope = 2.0 * r_bar[(i, j)];
                free_bar.push(if i == j { slope * r[(i, i)] } else { slope });
            }
        }
    }
}

/// The SEP energy of a batch with its derivatives.
#[derive(Debug, Clone)]
pub struct EnergyGradient {
    /// The energy; its negative approximates the log evidence.
    pub energy: f64,
    /// ∂energy/∂(the model's free parameters), (Λ, η) held fixed.
    pub model: Vec<f64>,
    /// ∂energy/∂(Λ, η), symmetric in Λ, per layer and output.
    pub factors: Vec<Vec<Factor>>,
    /// What happened.
    pub events: Vec<Event>,
}

pub(super) fn step(
    inference: &Inference,
    model: &DeepGp,
    state: &mut State,
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
) -> Result<Step> {
    let EnergyGradient { energy, model: mut gradient, factors, events } =
        sep_energy(inference, model, state.factors(), batch, ws)?;
    for (roots, bars) in state.roots.iter().zip(&factors) {
        for (root, bar) in roots.iter().zip(bars) {
            root.adjoint(&bar.precision, &mut gradient);
            gradient.extend_from_slice(&bar.linear);
        }
    }
    Ok(Step { energy, gradient, events })
}

/// The SEP energy and its gradient in the model's free parameters and in each (Λ, η).
///
/// ```text
/// E = (N/α − 1) φ(q) − (N/α) φ(cavity) − N/(αB) Σ log Z_n
/// ```
pub(super) fn sep_energy(
    inference: &Inference,
    model: &DeepGp,
    factors: &[Vec<Factor>],
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
) -> Result<EnergyGradient> {
    let InferenceSettings { alpha, jitter, .. } = inference.settings;
    let n_data = batch.n_data as f64;
    let (weight, share) = (batch.weight(alpha), 1.0 - alpha / n_data);
    let posterior = all_moments(factors, 1.0)?;
    ws.prepare((model, jitter), (factors, share), (batch.rows.len(), false))?;
    ws.visit_batch(model, alpha, Wanted::Gradient, batch);

    let StepWorkspace { cavity, backs, sums, .. } = &mut *ws;
    let mut factor_bars = Vec::with_capacity(factors.len());
    for (l, back) in backs.iter_mut().enumerate() {
        let mut outputs = Vec::with_capacity(back.bars.len());
        for (d, bar) in back.bars.iter_mut().enumerate() {
            bar.mean.iter_mut().for_each(|g| *g *= -weight);
            bar.cov.as_mut_slice().iter_mut().for_each(|g| *g *= -weight);
            bar.log_partition = -n_data / alpha;
            let mut total = cavity[l][d].adjoint(share, bar);
            let m = bar.mean.len();
            let of_posterior =
                FullGaussianBar { mean: vec![0.0; m], cov: Mat::zeros(m, m), log_partition: n_data / alpha - 1.0 };
            total.add_scaled(1.0, &posterior[l][d].adjoint(1.0, &of_posterior));
            outputs.push(total);
        }
        factor_bars.push(outputs);
    }
    let mut events = Vec::new();
    floor_events(sums, &mut events);
    let (phi, phi_cavity) = (energy::log_partition(&posterior), energy::log_partition(cavity));
    let energy = energy::tied_energy(phi, phi_cavity, sums, weight);
    let model = ws.free_gradient(model, -weight);
    Ok(EnergyGradient { energy, model, factors: factor_bars, events })
}
