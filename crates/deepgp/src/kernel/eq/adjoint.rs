//! From products with Ψ₂ and F to derivatives with respect to A, Z and the input moments: vector code.

use super::point_vectors::Width;
use deepgp_numerics::simd::{Job, Lanes, PAD};

/// ω and ∂ℒ/∂A_d of every point, with the adjoints a_d of ψ₁A_d and x_qd of ξ_q A_d:
///
/// ```text
/// h_d = a_d + Σ_q x_qd d_q v_q/c_q        ω = ψ₁ Σ_d A_d h_d        ∂ℒ/∂A_d = ψ₁ h_d + 2 b_d Ψ₂A_d
/// ```
/// All are tables by rows.
pub(super) struct Psi1Adjoint<'a> {
    /// Vectors of a table.
    pub len: usize,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    /// A table an output.
    pub a: *const f64,
    /// Ψ₂A_d, a table an output; ∂ℒ/∂A_d replaces it.
    pub psi2_a: *mut f64,
    /// a_d, a vector an output, then x_qd d_q v_q/(c_q w_q) for every dimension if ξ is wanted.
    pub bars: &'a [f64],
    /// 2 b_d times the factor of Ψ₂, a vector an output.
    pub twice_b: &'a [f64],
    pub omega: *mut f64,
}

impl Job for Psi1Adjoint<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let outputs = self.twice_b.len() / L::N;
        let slopes = self.bars.len() / self.twice_b.len() - 1;
        // SAFETY: passed on to the caller.
        unsafe {
            // Most last layers have one output and a zero mean: their loops have known lengths.
            match (outputs, slopes) {
                (1, 0) => self.all::<L>(1, 0),
                _ => self.all::<L>(outputs, slopes),
            }
        }
    }
}

impl Psi1Adjoint<'_> {
    #[inline(always)]
    unsafe fn all<L: Lanes>(&self, outputs: usize, slopes: usize) {
        let (len, bars) = (self.len, self.bars.as_ptr());
        // SAFETY: passed on to the caller.
        unsafe {
            for v in 0..len {
                let (psi1, mut omega) = (L::load(self.psi1.add(v * L::N)), L::splat(0.0));
                for d in 0..outputs {
                    let mut h = L::load(bars.add(d * L::N));
                    for q in 0..slopes {
                        let slope = L::load(bars.add(((1 + q) * outputs + d) * L::N));
                        h = L::mul_add(slope, L::load(self.w.add((q * len + v) * L::N)), h);
                    }
                    let place = (d * len + v) * L::N;
                    omega = L::mul_add(L::load(self.a.add(place)), h, omega);
                    let (psi2_a, twice_b) = (self.psi2_a.add(place), L::load(self.twice_b.as_ptr().add(d * L::N)));
                    L::store(psi2_a, L::mul_add(psi1, h, L::mul(twice_b, L::load(psi2_a))));
                }
                L::store(self.omega.add(v * L::N), L::mul(psi1, omega));
            }
        }
    }
}

/// From r = F 1, f_q = F w_q and, if it is given, ω to the sums that the gradients of the moments need, and to z̄; per
/// lane,
///
/// ```text
/// totals += Σ r, Σ ω, then for every dimension Σ f, Σ r w², Σ w f, Σ ω w, Σ ω w²
/// half_z_bar_q += ½ Σ_n (scale (u/e + t/ℓ²) + ω w/c)/κ          u = r w + f      t = r w − f
/// ```
/// which is −½ z̄.
pub(super) struct PairAdjoint<'a> {
    /// Lanes of a point that belong to different inducing inputs: 1 for columns, S for rows.
    pub kept: usize,
    /// Vectors of a table.
    pub len: usize,
    /// D tables.
    pub w: *const f64,
    /// 1 + D tables.
    pub sums: *const f64,
    pub omega: Option<*const f64>,
    /// The factor that sums of F lack, a vector.
    pub scale: &'a [f64; PAD],
    pub widths: &'a [Width],
    pub lengthscale: &'a [f64],
    /// 2 + 5D vectors.
    pub totals: &'a mut [[f64; PAD]],
    /// D rows of `stride` numbers.
    pub half_z_bar: *mut f64,
    pub stride: usize,
}

impl Job for PairAdjoint<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match (self.omega, self.kept) {
                (Some(omega), 1) => self.finish::<L, true>(omega, 1),
                (Some(omega), kept) => self.finish::<L, true>(omega, kept),
                (None, kept) => self.finish::<L, false>(std::ptr::null(), kept),
            }
        }
    }
}

impl PairAdjoint<'_> {
    #[inline(always)]
    unsafe fn finish<L: Lanes, const OMEGA: bool>(self, omega: *const f64, kept: usize) {
        let (len, points) = (self.len, L::N / kept);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut totals = [L::splat(0.0); 2];
            for v in 0..len {
                totals[0] = L::add(totals[0], L::load(self.sums.add(v * L::N)));
                if OMEGA {
                    totals[1] = L::add(totals[1], L::load(omega.add(v * L::N)));
                }
            }
            let mut out = self.totals.iter_mut();
            for (total, out) in totals.into_iter().zip(out.by_ref()) {
                L::store(out.as_mut_ptr(), L::add(L::load(out.as_ptr()), total));
            }
            for (q, (width, l)) in self.widths.iter().zip(self.lengthscale).enumerate() {
                // The weights of r w, f and ω w: u and t are made of the first two.
                let half = L::mul(L::splat(0.5), L::load(width.stretch.as_ptr()));
                let scaled = L::mul(half, L::load(self.scale.as_ptr()));
                let of_u = L::mul(scaled, L::load(width.inverse_e.as_ptr()));
                let of_t = L::mul(scaled, L::splat(1.0 / (l * l)));
                let (of_rw, of_f) = (L::add(of_u, of_t), L::sub(of_u, of_t));
                let of_omega = L::mul(half, L::load(width.inverse_c.as_ptr()));
                let mut sums = [L::splat(0.0); 5];
                for first in (0..len).step_by(points) {
                    let (n, mut bar) = (points.min(len - first), [L::splat(0.0); PAD]);
                    for (k, bar) in bar[..points].iter_mut().enumerate() {
                        if k >= n {
                            break;
                        }
                        let v = first + k;
                        let w = L::load(self.w.add((q * len + v) * L::N));
                        let rw = L::mul(L::load(self.sums.add(v * L::N)), w);
                        let f = L::load(self.sums.add(((1 + q) * len + v) * L::N));
                        sums[0] = L::add(sums[0], f);
                        sums[1] = L::mul_add(w, rw, sums[1]);
                        sums[2] = L::mul_add(w, f, sums[2]);
                        *bar = L::mul_add(of_rw, rw, L::mul(of_f, f));
                        if OMEGA {
                            let omega_w = L::mul(L::load(omega.add(v * L::N)), w);
                            sums[3] = L::add(sums[3], omega_w);
                            sums[4] = L::mul_add(omega_w, w, sums[4]);
                            *bar = L::mul_add(of_omega, omega_w, *bar);
                        }
                    }
                    let at = self.half_z_bar.add(q * self.stride + first * kept);
                    L::store(at, L::add(L::load(at), L::fold(&bar[..points], kept)));
                }
                for (sum, out) in sums.into_iter().zip(out.by_ref()) {
                    L::store(out.as_mut_ptr(), L::add(L::load(out.as_ptr()), sum));
                }
            }
        }
    }
}

/// What ξ_q = ψ₁ w_q (v/c)/κ adds beside its share in ω: with δ = ψ₁ Σ_d bar_qd A_d of a dimension, per lane, by rows,
///
/// ```text
/// sums = Σ δ, Σ δ w for every dimension          half_z_bar_q −= Σ_n ½ δ v/c
/// ```
pub(super) struct XiAdjoint<'a> {
    /// S.
    pub kept: usize,
    /// Vectors of a table.
    pub len: usize,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    /// A table an output.
    pub a: *const f64,
    /// For every dimension a vector an output.
    pub bar: &'a [f64],
    pub d_out: usize,
    pub widths: &'a [Width],
    /// 2D vectors.
    pub sums: &'a mut [[f64; PAD]],
    /// D rows of `stride` numbers.
    pub half_z_bar: *mut f64,
    pub stride: usize,
}

impl Job for XiAdjoint<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (len, points) = (self.len, L::N / self.kept);
        // SAFETY: passed on to the caller.
        unsafe {
            for (q, (out, width)) in self.sums.chunks_exact_mut(2).zip(self.widths).enumerate() {
                let mut sums = [L::splat(0.0); 2];
                let scale = L::mul(L::splat(-0.5), L::load(width.ratio.as_ptr()));
                for first in (0..len).step_by(points) {
                    let mut bar = [L::splat(0.0); PAD];
                    for (v, bar) in (first..len).zip(&mut bar[..points]) {
                        let mut delta = L::splat(0.0);
                        for d in 0..self.d_out {
                            let bar = L::load(self.bar.as_ptr().add((q * self.d_out + d) * L::N));
                            delta = L::mul_add(bar, L::load(self.a.add((d * len + v) * L::N)), delta);
                        }
                        delta = L::mul(delta, L::load(self.psi1.add(v * L::N)));
                        sums[0] = L::add(sums[0], delta);
                        sums[1] = L::mul_add(delta, L::load(self.w.add((q * len + v) * L::N)), sums[1]);
                        *bar = L::mul(scale, delta);
                    }
                    let at = self.half_z_bar.add(q * self.stride + first * self.kept);
                    L::store(at, L::add(L::load(at), L::fold(&bar[..points], self.kept)));
                }
                for (sum, out) in sums.into_iter().zip(out) {
                    L::store(out.as_mut_ptr(), sum);
                }
            }
        }
    }
}
