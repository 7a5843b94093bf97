//! Expectations of terms Gaussian times cosine under a Gaussian input, in closed form.
//!
//! A law may be a sum of terms, each with a weight w, lengthscales ℓ_q and frequencies ω_q:
//!
//! ```text
//! k_a(h, z) = w_a exp(−½ Σ_q A_q (h_q − z_q)²) cos(Σ_q ω_q (h_q − z_q)),    A = 1/ℓ²
//! ```
//! Let h = m + g, g ~ N(0, v), and d = z − m. Everything follows from one complex integral in each dimension,
//!
//! ```text
//! E exp(−½ p g² + (u + iν) g) = t^{−½} exp(½ r (u + iν)²),    t = 1 + v p,   r = v/t
//! ```
//! One term: p = A and u = A d, so that the Gaussian weight moves the mean of g to ḡ = r u and ḡ − d = −d/t.
//!
//! ```text
//! L    = Σ_q (−½ A d²/t − ½ log t − ½ ω² r)                   P = −Σ_q ω d/t
//! ψ₁   = Σ_a w e^L cos P
//! ξ_q  = Σ_a r_q w e^L (A_q d_q cos P − ω_q sin P)
//! ```
//! An ordered pair of terms a at z_i and b at z_j: p = A + B, u = A d_i + B d_j, ḡ = r u. The product of the cosines is
//! ½ cos of the sum and ½ cos of the difference, which gives
//!
//! ```text
//! L    = Σ_q (−½ (d_i − d_j)² AB/p − ½ u²/(p t) − ½ log t)
//! α    = Σ_q ω_a (ḡ − d_i)                                     β = Σ_q ω_b (ḡ − d_j)
//! E₊   = exp(−½ Σ_q (ω_a + ω_b)² r)                            E₋ = exp(−½ Σ_q (ω_a − ω_b)² r)
//! Ψ₂ᵢⱼ = Σ_ab w_a w_b e^L (C cos α cos β + S sin α sin β),     C = ½(E₋ + E₊),  S = ½(E₋ − E₊)
//! ```
//! No term of an exponent is positive: nothing overflows. The adjoints go through L, the phases, and C and S.
//! Cost: O(Q² M² D) for each point and Q terms.

use super::psi::{GaussianInput, InputBar, PsiGrad};
use deepgp_numerics::linalg::Mat;

/// The places of a term's numbers among the parameters of its law; D numbers each for the last two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// Place of w.
    pub weight: usize,
    /// Place of the first ℓ.
    pub lengthscale: usize,
    /// Place of the first ω; `None` for a term that does not oscillate.
    pub frequency: Option<usize>,
}

#[derive(Debug, Clone)]
struct Term {
    weight: f64,
    lengthscale: Vec<f64>,
    /// A = 1/ℓ².
    precision: Vec<f64>,
    /// ω, zeros if the term does not oscillate.
    frequency: Vec<f64>,
    places: Places,
}

/// A list of terms: those of a law, or of the parts of a sum.
#[derive(Debug, Clone, Default)]
pub struct GaussianCosines {
    list: Vec<Term>,
}

/// The numbers of an ordered pair of terms in one dimension, with the sums of their adjoints over z_i and z_j.
#[derive(Debug, Clone, Default)]
pub struct PairDimension {
    a: f64,
    b: f64,
    omega_a: f64,
    omega_b: f64,
    /// p = A + B.
    p: f64,
    /// t = 1 + v p.
    t: f64,
    /// r = v/t.
    r: f64,
    a_bar: f64,
    b_bar: f64,
    omega_a_bar: f64,
    omega_b_bar: f64,
}

/// The numbers of an ordered pair of terms that all z_i and z_j share.
struct PairConstants {
    /// w_a w_b Π t^{−½}.
    scale: f64,
    plus: f64,
    minus: f64,
    /// Whether a or b oscillates.
    waves: bool,
}

/// exp(L), up to the constants scale, and the phases of a pair at d_i and d_j.
struct Wave {
    size: f64,
    cos: (f64, f64),
    sin: (f64, f64),
}

impl PairConstants {
    /// C and S.
    fn mix(&self) -> (f64, f64) {
        (0.5 * (self.minus + self.plus), 0.5 * (self.minus - self.plus))
    }
}

impl Term {
    fn oscillates(&self) -> bool {
        self.places.frequency.is_some()
    }

    /// w exp(Σ_q −½ log t − ½ ω² r): what ψ₁ has for all z.
    fn scale(&self, var: &[f64]) -> f64 {
        let mut exponent = 0.0;
        for (q, v) in var.iter().enumerate() {
            let (a, omega) = (self.precision[q], self.frequency[q]);
            exponent -= 0.5 * ((v * a).ln_1p() + omega * omega * v / (1.0 + v * a));
        }
        self.weight * exponent.exp()
    }

    /// w e^L cos P and w e^L sin P at one z.
    fn wave(&self, scale: f64, z: &[f64], mean: &[f64], var: &[f64]) -> (f64, f64) {
        let (mut exponent, mut phase) = (0.0, 0.0);
        for (q, a) in self.precision.iter().enumerate() {
            let d = z[q] - mean[q];
            let shrunk = d / (1.0 + var[q] * a);
            exponent -= 0.5 * a * d * shrunk;
            phase -= self.frequency[q] * shrunk;
        }
        let size = scale * exponent.exp();
        (size * phase.cos(), size * phase.sin())
    }

    /// Adds ∂ℒ/∂A and ∂ℒ/∂ω in dimension `q` to the law's parameters.
    fn add_gradient(&self, q: usize, precision_bar: f64, frequency_bar: f64, params: &mut [f64]) {
        // ∂A/∂ℓ = −2/ℓ³
        params[self.places.lengthscale + q] -= 2.0 * precision_bar * self.precision[q] / self.lengthscale[q];
        if let Some(start) = self.places.frequency {
            params[start + q] += frequency_bar;
        }
    }
}

impl GaussianCosines {
    /// Removes all terms.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Adds a term; `frequency` is read only where its slot is given.
    pub fn push(&mut self, weight: f64, lengthscale: &[f64], frequency: &[f64], places: Places) {
        self.list.push(Term {
            weight,
            lengthscale: lengthscale.to_vec(),
            precision: lengthscale.iter().map(|l| 1.0 / (l * l)).collect(),
            frequency: if places.frequency.is_some() { frequency.to_vec() } else { vec![0.0; lengthscale.len()] },
            places,
        });
    }

    /// ψ₀ = Σ_a w_a.
    pub fn psi0(&self) -> f64 {
        self.list.iter().map(|term| term.weight).sum()
    }

    /// Adjoint of [`GaussianCosines::psi0`].
    pub fn psi0_adjoint(&self, psi0_bar: f64, params: &mut [f64]) {
        for term in &self.list {
            params[term.places.weight] += psi0_bar;
        }
    }

    /// Sets ψ₁ (M) and, where it is given, ξ (D rows of M).
    pub fn psi1(&self, z: &Mat, input: GaussianInput<'_>, psi1: &mut [f64], mut xi: Option<&mut [f64]>) {
        let (GaussianInput { mean, var }, m) = (input, z.rows());
        psi1.fill(0.0);
        if let Some(xi) = xi.as_deref_mut() {
            xi.fill(0.0);
        }
        for term in &self.list {
            let scale = term.scale(var);
            for i in 0..m {
                let (cos, sin) = term.wave(scale, z.row(i), mean, var);
                psi1[i] += cos;
                let Some(xi) = xi.as_deref_mut() else { continue };
                for (q, a) in term.precision.iter().enumerate() {
                    let (d, r) = (z[(i, q)] - mean[q], var[q] / (1.0 + var[q] * a));
                    xi[q * m + i] += r * (a * d * cos - term.frequency[q] * sin);
                }
            }
        }
    }

    /// Adjoint of [`GaussianCosines::psi1`]; `xi_bar` is `None` if ξ was not used.
    pub fn psi1_adjoint(
        &self,
        z: &Mat,
        input: GaussianInput<'_>,
        psi1_bar: &[f64],
        xi_bar: Option<&[f64]>,
        grad: &mut PsiGrad<'_>,
    ) {
        let (m, dim, GaussianInput { mean, var }) = (z.rows(), z.cols(), input);
        let PsiGrad { input: input_bar, kernel: grad } = grad;
        for term in &self.list {
            let scale = term.scale(var);
            for i in 0..m {
                let (cos, sin) = term.wave(scale, z.row(i), mean, var);
                let xi_bar = |q: usize| xi_bar.map_or(0.0, |x| x[q * m + i]);

                // ∂ℒ/∂(w e^L cos P) and ∂ℒ/∂(w e^L sin P), and with them ∂ℒ/∂L and ∂ℒ/∂P
                let (mut cos_bar, mut sin_bar) = (psi1_bar[i], 0.0);
                for (q, a) in term.precision.iter().enumerate() {
                    let weight = xi_bar(q) * var[q] / (1.0 + var[q] * a);
                    cos_bar += weight * a * (z[(i, q)] - mean[q]);
                    sin_bar -= weight * term.frequency[q];
                }
                let size_bar = cos_bar * cos + sin_bar * sin;
                let phase_bar = sin_bar * cos - cos_bar * sin;
                grad.params[term.places.weight] += size_bar / term.weight;

                for q in 0..dim {
                    let (a, omega, v, d) = (term.precision[q], term.frequency[q], var[q], z[(i, q)] - mean[q]);
                    let t = 1.0 + v * a;
                    let (r, shrunk, omega_t) = (v / t, d / t, omega / t);
                    let (mut d_bar, mut v_bar, mut a_bar, mut omega_bar);
                    // L = −½ A d²/t − ½ log t − ½ ω² r,   P = −ω d/t
                    d_bar = -size_bar * a * shrunk - phase_bar * omega_t;
                    v_bar = 0.5 * size_bar * ((a * shrunk).powi(2) - a / t - omega_t * omega_t)
                        + phase_bar * omega_t * a * shrunk;
                    a_bar =
                        0.5 * size_bar * ((omega * r).powi(2) - shrunk * shrunk - r) + phase_bar * omega * r * shrunk;
                    omega_bar = -size_bar * omega * r - phase_bar * shrunk;
                    // The factors A d r and −ω r of ξ
                    let (even, odd) = (xi_bar(q) * cos, -xi_bar(q) * sin);
                    d_bar += even * a * r;
                    v_bar += (even * a * d + odd * omega) / (t * t);
                    a_bar += r * (even * shrunk - odd * omega * r);
                    omega_bar += odd * r;

                    grad.z[(i, q)] += d_bar;
                    input_bar.mean[q] -= d_bar;
                    input_bar.var[q] += v_bar;
                    term.add_gradient(q, a_bar, omega_bar, &mut grad.params);
                }
            }
        }
    }

    /// Sets Ψ₂, packed.
    pub fn psi2(&self, z: &Mat, input: GaussianInput<'_>, psi2: &mut [f64], pair: &mut Vec<PairDimension>) {
        let (GaussianInput { mean, var }, m) = (input, z.rows());
        psi2.fill(0.0);
        for first in &self.list {
            for second in &self.list {
                let constants = pair_up(first, second, var, pair);
                let (even, odd) = constants.mix();
                let mut p = 0;
                for i in 0..m {
                    for j in i..m {
                        let Wave { size, cos, sin } = wave_of_pair(pair, &constants, mean, z.row(i), z.row(j));
                        psi2[p] += constants.scale * size * (even * cos.0 * cos.1 + odd * sin.0 * sin.1);
                        p += 1;
                    }
                }
            }
        }
    }

    /// Adjoint of [`GaussianCosines::psi2`]; `psi2_bar` is a packed gradient.
    pub fn psi2_adjoint(
        &self,
        z: &Mat,
        input: GaussianInput<'_>,
        psi2_bar: &[f64],
        grad: &mut PsiGrad<'_>,
        pair: &mut Vec<PairDimension>,
    ) {
        let GaussianInput { mean, var } = input;
        let PsiGrad { input: input_bar, kernel: grad } = grad;
        for first in &self.list {
            for second in &self.list {
                let constants = pair_up(first, second, var, pair);
                let sums = pair_adjoint(z, mean, psi2_bar, pair, &constants, input_bar, &mut grad.z);

                // E₊ and E₋ by their logarithms; L̄ summed over all z_i and z_j
                let plus_bar = 0.5 * (sums.even_bar - sums.odd_bar) * constants.plus;
                let minus_bar = 0.5 * (sums.even_bar + sums.odd_bar) * constants.minus;
                for (q, one) in pair.iter().enumerate() {
                    let PairDimension { omega_a, omega_b, t, r, .. } = *one;
                    let (nu_plus, nu_minus) = (omega_a + omega_b, omega_a - omega_b);
                    // −½ ν₊² r − ½ ν₋² r and −½ log t;  ∂r/∂v = 1/t²,  ∂r/∂p = −r²
                    let r_bar = -0.5 * (nu_plus * nu_plus * plus_bar + nu_minus * nu_minus * minus_bar);
                    let p_bar = -r_bar * r * r - 0.5 * sums.size_bar * r;
                    input_bar.var[q] += r_bar / (t * t) - 0.5 * sums.size_bar * one.p / t;
                    let (plus, minus) = (nu_plus * r * plus_bar, nu_minus * r * minus_bar);
                    first.add_gradient(q, one.a_bar + p_bar, one.omega_a_bar - plus - minus, &mut grad.params);
                    second.add_gradient(q, one.b_bar + p_bar, one.omega_b_bar - plus + minus, &mut grad.params);
                }
                grad.params[first.places.weight] += sums.size_bar / first.weight;
                grad.params[second.places.weight] += sums.size_bar / second.weight;
            }
        }
    }
}

/// The numbers of the ordered pair (a, b) under the input variances.
fn pair_up(first: &Term, second: &Term, var: &[f64], pair: &mut Vec<PairDimension>) -> PairConstants {
    let (mut log_scale, mut log_plus, mut log_minus) = (0.0, 0.0, 0.0);
    pair.clear();
    for (q, v) in var.iter().enumerate() {
        let (a, b) = (first.precision[q], second.precision[q]);
        let (omega_a, omega_b) = (first.frequency[q], second.frequency[q]);
        let (p, t) = (a + b, 1.0 + v * (a + b));
        let r = v / t;
        log_scale -= 0.5 * (v * p).ln_1p();
        log_plus -= 0.5 * (omega_a + omega_b).powi(2) * r;
        log_minus -= 0.5 * (omega_a - omega_b).powi(2) * r;
        pair.push(PairDimension { a, b, omega_a, omega_b, p, t, r, ..PairDimension::default() });
    }
    PairConstants {
        scale: first.weight * second.weight * log_scale.exp(),
        plus: log_plus.exp(),
        minus: log_minus.exp(),
        waves: first.oscillates() || second.oscillates(),
    }
}

/// exp(L) without the constants scale, and the cosines and sines of α and β.
fn wave_of_pair(pair: &[PairDimension], constants: &PairConstants, mean: &[f64], z_i: &[f64], z_j: &[f64]) -> Wave {
    let (mut exponent, mut alpha, mut beta) = (0.0, 0.0, 0.0);
    for (q, one) in pair.iter().enumerate() {
        let (d_i, d_j) = (z_i[q] - mean[q], z_j[q] - mean[q]);
        let u = one.a * d_i + one.b * d_j;
        exponent -= 0.5 * (one.a * one.b * (d_i - d_j).powi(2) + u * u / one.t) / one.p;
        alpha += one.omega_a * (one.r * u - d_i);
        beta += one.omega_b * (one.r * u - d_j);
    }
    let (mut cos, mut sin) = ((1.0, 1.0), (0.0, 0.0));
    if constants.waves {
        (sin.0, cos.0) = alpha.sin_cos();
        (sin.1, cos.1) = beta.sin_cos();
    }
    Wave { size: exponent.exp(), cos, sin }
}

/// Sums over z_i and z_j for one ordered pair of terms.
#[derive(Default)]
struct PairSums {
    /// ∂ℒ/∂L, which is also w_a ∂ℒ/∂w_a.
    size_bar: f64,
    /// ∂ℒ/∂C.
    even_bar: f64,
    /// ∂ℒ/∂S.
    odd_bar: f64,
}

/// The adjoint of one ordered pair of terms through L, α and β; what A, B, ω_a and ω_b receive is left in `pair`.
fn pair_adjoint(
    z: &Mat,
    mean: &[f64],
    psi2_bar: &[f64],
    pair: &mut [PairDimension],
    constants: &PairConstants,
    input: &mut InputBar<'_>,
    z_bar: &mut Mat,
) -> PairSums {
    let (m, (even, odd)) = (z.rows(), constants.mix());
    let (mut sums, mut p) = (PairSums::default(), 0);
    for i in 0..m {
        for j in i..m {
            let Wave { size, cos, sin } = wave_of_pair(pair, constants, mean, z.row(i), z.row(j));
            let weight = psi2_bar[p] * constants.scale * size;
            p += 1;
            let size_bar = weight * (even * cos.0 * cos.1 + odd * sin.0 * sin.1);
            let alpha_bar = weight * (odd * cos.0 * sin.1 - even * sin.0 * cos.1);
            let beta_bar = weight * (odd * sin.0 * cos.1 - even * cos.0 * sin.1);
            sums.size_bar += size_bar;
            sums.even_bar += weight * cos.0 * cos.1;
            sums.odd_bar += weight * sin.0 * sin.1;

            for (q, one) in pair.iter_mut().enumerate() {
                let PairDimension { a, b, omega_a, omega_b, t, r, .. } = *one;
                let (d_i, d_j) = (z[(i, q)] - mean[q], z[(j, q)] - mean[q]);
                let u = a * d_i + b * d_j;
                // ∂L/∂d_i = A (ḡ − d_i),  ∂L/∂A = −½ (ḡ − d_i)²,  ∂ḡ/∂d_i = r A,  ∂ḡ/∂A = −r (ḡ − d_i),  ∂ḡ/∂v = u/t²
                let (gap_i, gap_j) = (r * u - d_i, r * u - d_j);
                let centre_bar = alpha_bar * omega_a + beta_bar * omega_b;
                let d_i_bar = a * (size_bar * gap_i + centre_bar * r) - alpha_bar * omega_a;
                let d_j_bar = b * (size_bar * gap_j + centre_bar * r) - beta_bar * omega_b;
                z_bar[(i, q)] += d_i_bar;
                z_bar[(j, q)] += d_j_bar;
                input.mean[q] -= d_i_bar + d_j_bar;
                input.var[q] += (0.5 * size_bar * u + centre_bar) * u / (t * t);
                one.a_bar -= (0.5 * size_bar * gap_i + centre_bar * r) * gap_i;
                one.b_bar -= (0.5 * size_bar * gap_j + centre_bar * r) * gap_j;
                one.omega_a_bar += alpha_bar * gap_i;
                one.omega_b_bar += beta_bar * gap_j;
            }
        }
    }
    sums
}
