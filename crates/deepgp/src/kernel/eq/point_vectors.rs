//! Points side by side in the lanes of a vector.
//!
//! Here are their number, their widths c and e, and their gradients from sums over inducing inputs.

use super::pair_layout::PairLayout;
use super::parameters::Eq;
use deepgp_numerics::linalg::{Mat, tri};
use deepgp_numerics::simd::{Job, Lanes, MIN_POWER, PAD, SMALL_POWERS};
use std::f64::consts::{LN_2, LOG2_E};

/// Bytes of Ψ₂ that the points of a vector may have: three quarters of a second-level cache of today.
const VECTOR_BYTES: usize = 3 << 19;
/// Bytes of Ψ₂ that a group of several vectors may have, and most points in it: less than the cache would hold, since a
/// step's matrices are there too.
const GROUP_BYTES: usize = 1 << 18;
const MOST_POINTS: usize = 16;

/// Points in a vector for M inducing inputs: as many as it has lanes, unless their Ψ₂ is too large.
pub(super) fn points_in_a_vector(m: usize, lanes: usize) -> usize {
    let mut points = lanes;
    while points > 1 && points * 8 * tri::packed_len(m) > VECTOR_BYTES {
        points /= 2;
    }
    points
}

/// How many points are best taken together by a layer with M inducing inputs: whole vectors of them.
pub fn group_size(m: usize) -> usize {
    let points = points_in_a_vector(m, PAD);
    (GROUP_BYTES / (8 * tri::packed_len(m)) / points * points).clamp(points, MOST_POINTS)
}

/// The widths of ψ₁ and Ψ₂ of the points in a vector in one dimension, and numbers made of them: a number a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Width {
    pub mean: [f64; PAD],
    pub var: [f64; PAD],
    /// 1/e, e = ℓ² + 2v.
    pub inverse_e: [f64; PAD],
    /// κ = √(log₂e/(2e)), and 1/κ.
    pub kappa: [f64; PAD],
    pub stretch: [f64; PAD],
    /// 1/c, c = ℓ² + v.
    pub inverse_c: [f64; PAD],
    /// √(log₂e/(2c)).
    pub kappa_c: [f64; PAD],
    /// C of `psi2_by_products.rs`, 2vκ²/ℓ².
    pub of_offset: [f64; PAD],
    /// v/c.
    pub ratio: [f64; PAD],
}

/// Points side by side in the lanes of a vector.
#[derive(Debug, Clone)]
pub(super) struct PointVector {
    /// The first of them.
    pub first: usize,
    /// How many there are; a vector may have lanes for more, which repeat the last point.
    pub points: usize,
    pub layout: PairLayout,
    /// Vectors of Ψ₂.
    pub psi2_vectors: usize,
    /// A number a lane for each dimension.
    pub widths: Vec<Width>,
    /// s² Π_q √(ℓ_q²/c_q) and Π_q √(ℓ_q²/e_q), the factors of ψ₁ and Ψ₂.
    pub peak1: [f64; PAD],
    pub peak2: [f64; PAD],
    /// How Ψ₂ is computed.
    pub form: Psi2Form,
}

/// The longest polynomial of [`SMALL_POWERS`].
const LONGEST: usize = SMALL_POWERS.len() - 1;

/// How Ψ₂ of a vector of points is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Psi2Form {
    /// As exponentials of T_ij + γ_i + γ_j − Σ_q w_iq w_jq, checking for those that vanish.
    Guarded,
    /// As these exponentials without the check, where none vanishes.
    Inside,
    /// As products of three powers of two (`psi2_by_products.rs`), the small one by this polynomial of
    /// [`SMALL_POWERS`].
    ByProducts(usize),
}

impl Psi2Form {
    /// This form where no y of the points is beyond `largest`: products by the shortest polynomial that suffices.
    pub fn within(self, largest: f64) -> Self {
        match self {
            Psi2Form::ByProducts(_) => {
                Psi2Form::ByProducts(SMALL_POWERS.iter().position(|p| largest <= p.largest).unwrap_or(LONGEST))
            }
            Psi2Form::Guarded | Psi2Form::Inside => self,
        }
    }
}

/// Computes widths and factors of the points of a vector, lane by lane.
///
/// With inducing inputs from z⁻ to z⁺ no exponent of Ψ₂ is below
///
/// ```text
/// 2 log₂ s² − Σ_q ((z⁺_q − z⁻_q)²/(4ℓ_q²)) log₂e − 2 Σ_q (κ_q max(z⁺_q − m_q, m_q − z⁻_q))²
/// ```
/// and none of the y of `psi2_by_products.rs` is beyond Σ_q ¼ C_q (z⁺_q − z⁻_q)². The two forms round differently, and
/// all points of a vector together decide between them: if a point must have the same bits beside any other points,
/// products must not be allowed. A job, for the reason given at [`InputGradient`].
pub(super) struct ComputeWidths<'a> {
    pub law: &'a Eq,
    /// log₂ s².
    pub log_signal: f64,
    /// z⁻ and z⁺ in every dimension.
    pub ends: &'a [[f64; 2]],
    pub vector: &'a mut PointVector,
    /// Means and variances of the group's points.
    pub mean: &'a Mat,
    pub var: &'a Mat,
    pub allow_products: bool,
}

impl Job for ComputeWidths<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { law, log_signal, ends, vector, mean, var, allow_products } = self;
        let PointVector { first, points, layout, widths, peak1, peak2, form, .. } = vector;
        let dim = widths.len();
        assert_eq!((mean.cols(), var.cols()), (dim, dim), "moments in every dimension");
        let (mean, var) = (mean.as_slice(), var.as_slice());
        let at: [usize; PAD] = std::array::from_fn(|lane| (*first + (lane / layout.s).min(*points - 1)) * dim);
        assert!(at[PAD - 1] + dim <= mean.len().min(var.len()), "moments of every point");
        let root = (2.0 * LN_2).sqrt();
        let (mut first_peak, mut second_peak) = ([law.signal_var; PAD], [1.0; PAD]);
        let (mut least, mut far, mut largest) = (2.0 * log_signal, [0.0; PAD], [0.0; PAD]);
        for (q, ((width, l), [low, high])) in widths.iter_mut().zip(&law.lengthscale).zip(ends).enumerate() {
            let (l2, of_peak) = (l * l, l * root);
            let inverse_l2 = 1.0 / l2;
            let quarter = 0.25 * (high - low) * (high - low);
            least -= LOG2_E * quarter * inverse_l2;
            // A loop for every few quantities, on numbers of their own: only such become vectors.
            let (mut m, mut v) = ([0.0; PAD], [0.0; PAD]);
            for lane in 0..PAD {
                // SAFETY: lanes are in order, and the last is not beyond the end.
                (m[lane], v[lane]) = unsafe { (*mean.get_unchecked(at[lane] + q), *var.get_unchecked(at[lane] + q)) };
            }
            let (mut inverse_c, mut inverse_e, mut kappa_c, mut kappa) =
                ([0.0; PAD], [0.0; PAD], [0.0; PAD], [0.0; PAD]);
            for lane in 0..PAD {
                inverse_c[lane] = 1.0 / (l2 + v[lane]);
                inverse_e[lane] = 1.0 / (l2 + 2.0 * v[lane]);
            }
            for lane in 0..PAD {
                kappa_c[lane] = (0.5 * LOG2_E * inverse_c[lane]).sqrt();
                kappa[lane] = (0.5 * LOG2_E * inverse_e[lane]).sqrt();
            }
            // Roots are slow: 1/κ = 2κe/log₂e, and √(ℓ²/e) = ℓκ √(2/log₂e).
            let (mut stretch, mut ratio, mut of_offset) = ([0.0; PAD], [0.0; PAD], [0.0; PAD]);
            for lane in 0..PAD {
                stretch[lane] = kappa[lane] * (2.0 * LN_2 * (l2 + 2.0 * v[lane]));
                ratio[lane] = v[lane] * inverse_c[lane];
                of_offset[lane] = v[lane] * inverse_l2 * LOG2_E * inverse_e[lane];
            }
            for lane in 0..PAD {
                first_peak[lane] *= of_peak * kappa_c[lane];
                second_peak[lane] *= of_peak * kappa[lane];
            }
            for lane in 0..PAD {
                let (above, below) = (high - m[lane], m[lane] - low);
                let w = kappa[lane] * if above > below { above } else { below };
                far[lane] += 2.0 * w * w;
                largest[lane] += of_offset[lane] * quarter;
            }
            (width.stretch, width.ratio, width.of_offset) = (stretch, ratio, of_offset);
            (width.mean, width.var, width.kappa_c, width.kappa) = (m, v, kappa_c, kappa);
            (width.inverse_c, width.inverse_e) = (inverse_c, inverse_e);
        }
        (*peak1, *peak2) = (first_peak, second_peak);
        // So that NaN counts as vanishing; of all lanes, since a loop that may end early is none for vectors.
        let is_inside = far.iter().fold(true, |all, far| all & (least - far >= MIN_POWER));
        let are_small = largest.iter().fold(true, |all, y| all & (*y <= SMALL_POWERS[LONGEST].largest));
        *form = match is_inside {
            false => Psi2Form::Guarded,
            true if allow_products && are_small => Psi2Form::ByProducts(LONGEST),
            true => Psi2Form::Inside,
        };
    }
}

/// From the sums of a vector of points to ∂ℒ/∂(input moments) and ∂ℒ/∂(parameters), which are added to, by the formulas
/// at the top of `fused/mod.rs`; `scale` is the factor that sums of F lack, a number a lane. A job, since the compiler
/// would make so large a closure a function of its own, without vectors.
pub(super) struct InputGradient<'a> {
    pub law: &'a Eq,
    pub vector: &'a PointVector,
    pub totals: &'a [[f64; PAD]],
    pub scale: [f64; PAD],
    pub mean_bar: &'a mut Mat,
    pub var_bar: &'a mut Mat,
    pub params: &'a mut [f64],
}

impl Job for InputGradient<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { law, vector, totals, scale, mean_bar: mean_out, var_bar: var_out, params } = self;
        let PointVector { first, points, layout, widths, .. } = vector;
        let (r, omega): ([f64; PAD], _) = (std::array::from_fn(|lane| scale[lane] * totals[0][lane]), totals[1]);
        let all = points * layout.s;
        for (q, ((width, l), sums)) in widths.iter().zip(&law.lengthscale).zip(totals[2..].chunks_exact(5)).enumerate()
        {
            let (mut mean_bar, mut var_bar, mut l_bar) = ([0.0; PAD], [0.0; PAD], [0.0; PAD]);
            let (inverse_l, inverse_l3) = (1.0 / l, 1.0 / (l * l * l));
            for lane in 0..PAD {
                let (inv_e, inv_c, stretch) = (width.inverse_e[lane], width.inverse_c[lane], width.stretch[lane]);
                let (square, v) = (stretch * stretch, width.var[lane]);
                let [f, w_rw, w_f] = std::array::from_fn(|t| scale[lane] * sums[t][lane]);
                let [of_w, of_w2] = [sums[3][lane], sums[4][lane]];
                // d = stretch · w,   u = r w + f,   t = r w − f;   F is symmetric, so that Σ r w = Σ f
                let (w_u, w_t) = (w_rw + w_f, w_rw - w_f);
                let (d_u, d_t, of_d2) = (square * w_u * inv_e, square * w_t, square * of_w2 * inv_c);
                mean_bar[lane] = stretch * (2.0 * f * inv_e + of_w * inv_c);
                var_bar[lane] = (d_u - r[lane]) * inv_e + 0.5 * (of_d2 - omega[lane]) * inv_c;
                l_bar[lane] = (l * d_u + 2.0 * v * r[lane] * inverse_l) * inv_e
                    + (l * of_d2 + v * omega[lane] * inverse_l) * inv_c
                    + d_t * inverse_l3;
            }
            for (bar, of_lanes) in [(&mut *mean_out, &mean_bar), (&mut *var_out, &var_bar)] {
                let dim = bar.cols();
                let bar = bar.as_mut_slice()[first * dim..].chunks_exact_mut(dim);
                // Most vectors have one lane a point, which needs no sums.
                if layout.s == 1 {
                    bar.zip(&of_lanes[..*points]).for_each(|(bar, of_lane)| bar[q] += of_lane);
                } else {
                    let of_lanes = of_lanes.chunks_exact(layout.s).take(*points);
                    bar.zip(of_lanes).for_each(|(bar, of_lanes)| bar[q] += of_lanes.iter().sum::<f64>());
                }
            }
            params[q] += total(&l_bar, all);
        }
        params[law.lengthscale.len()] += (2.0 * total(&r, all) + total(&omega, all)) / law.signal_var;
    }
}

/// The sum of the first `n` lanes.
#[inline(always)]
fn total(lanes: &[f64; PAD], n: usize) -> f64 {
    // Those that have no point may have anything.
    let kept: [f64; PAD] = std::array::from_fn(|lane| if lane < n { lanes[lane] } else { 0.0 });
    let [a, b, c, d, e, f, g, h] = kept;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
