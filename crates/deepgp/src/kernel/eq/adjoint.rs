//! The vector code of `sweep.rs` on the way back: from products with Ψ₂ and F to derivatives.

use super::pack::Width;
use super::walk::{ROWS, Walk, for_rows};
use deepgp_numerics::simd::{Job, Lanes, PAD};

/// With h_d = pull_d + Σ_q lever_qd w_q:   ω = ψ₁ Σ_d A_d h_d, and in the place of Ψ₂A_d   ψ₁ h_d + twice_b_d Ψ₂A_d; all by rows.
pub(super) struct First<'a> {
    /// Vectors of a table.
    pub len: usize,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    /// A table an output.
    pub a: *const f64,
    pub psi2_a: *mut f64,
    /// A vector an output, then a vector each for every dimension that counts.
    pub pulls: &'a [f64],
    /// A vector an output.
    pub twice_b: &'a [f64],
    pub omega: *mut f64,
}

impl Job for First<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let outputs = self.twice_b.len() / L::N;
        let levers = self.pulls.len() / self.twice_b.len() - 1;
        // SAFETY: passed on to the caller.
        unsafe {
            // Most last layers have one output and a zero mean: their loops have known lengths.
            match (outputs, levers) {
                (1, 0) => self.all::<L>(1, 0),
                _ => self.all::<L>(outputs, levers),
            }
        }
    }
}

impl First<'_> {
    #[inline(always)]
    unsafe fn all<L: Lanes>(&self, outputs: usize, levers: usize) {
        let (len, pulls) = (self.len, self.pulls.as_ptr());
        // SAFETY: passed on to the caller.
        unsafe {
            for v in 0..len {
                let (psi1, mut omega) = (L::load(self.psi1.add(v * L::N)), L::splat(0.0));
                for d in 0..outputs {
                    let mut h = L::load(pulls.add(d * L::N));
                    for q in 0..levers {
                        let lever = L::load(pulls.add(((1 + q) * outputs + d) * L::N));
                        h = L::mul_add(lever, L::load(self.w.add((q * len + v) * L::N)), h);
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

/// From r = F 1, f_q = F w_q and, if it is given, ω to what the points' moments and the inducing inputs are pulled by; per lane,
///
/// ```text
/// totals += Σ r, Σ ω, then for every dimension Σ f, Σ r w², Σ w f, Σ ω w, Σ ω w²
/// points_bar_q += ½ Σ_n (scale (u/e + t/ℓ²) + ω w/c)/κ          u = r w + f      t = r w − f
/// ```
/// which are halves of −z̄.
pub(super) struct Finish<'a> {
    /// Lanes that stand for inducing inputs of their own: 1 for columns, S for rows.
    pub kept: usize,
    /// Vectors of a table.
    pub len: usize,
    /// D tables.
    pub w: *const f64,
    /// 1 + D tables.
    pub sums: *const f64,
    pub omega: Option<*const f64>,
    /// What sums of F lack, a vector.
    pub scale: &'a [f64; PAD],
    pub widths: &'a [Width],
    pub lengthscale: &'a [f64],
    /// 2 + 5D vectors.
    pub totals: &'a mut [[f64; PAD]],
    /// D rows of `stride` numbers.
    pub points_bar: *mut f64,
    pub stride: usize,
}

impl Job for Finish<'_> {
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

impl Finish<'_> {
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
                // What r w, f and ω w count for: u and t are made of the first two.
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
                            let lever = L::mul(L::load(omega.add(v * L::N)), w);
                            sums[3] = L::add(sums[3], lever);
                            sums[4] = L::mul_add(lever, w, sums[4]);
                            *bar = L::mul_add(of_omega, lever, *bar);
                        }
                    }
                    let at = self.points_bar.add(q * self.stride + first * kept);
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
/// sums = Σ δ, Σ δ w for every dimension          points_bar_q −= Σ_n ½ δ v/c
/// ```
pub(super) struct Slopes<'a> {
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
    pub points_bar: *mut f64,
    pub stride: usize,
}

impl Job for Slopes<'_> {
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
                    let at = self.points_bar.add(q * self.stride + first * self.kept);
                    L::store(at, L::add(L::load(at), L::fold(&bar[..points], self.kept)));
                }
                for (sum, out) in sums.into_iter().zip(out) {
                    L::store(out.as_mut_ptr(), sum);
                }
            }
        }
    }
}

/// `out` = Σ_n coef Ψ₂ or `out` += this, S numbers a vector in the order of the walk.
pub(super) struct Gather<'a> {
    pub walk: Walk,
    /// Vectors of the walk.
    pub vectors: usize,
    /// Ψ₂ of some packs of points, `stride` numbers apart.
    pub psi2: *const f64,
    pub stride: usize,
    /// A vector a pack, `coef_stride` numbers apart.
    pub coef: &'a [f64],
    pub coef_stride: usize,
    pub add: bool,
    pub out: *mut f64,
}

impl Gather<'_> {
    #[inline(always)]
    unsafe fn gather<L: Lanes, const S: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let packs = self.coef.len().div_ceil(self.coef_stride);
            let coef = |pack: usize| L::load(self.coef.as_ptr().add(pack * self.coef_stride));
            for v in (0..self.vectors).step_by(L::N / S) {
                let mut sums = [L::splat(0.0); PAD];
                for pack in 0..packs {
                    let (coef, psi2) = (coef(pack), self.psi2.add(pack * self.stride + v * L::N));
                    for (k, sum) in sums[..L::N / S].iter_mut().enumerate() {
                        *sum = L::mul_add(coef, L::load(psi2.add(k * L::N)), *sum);
                    }
                }
                let (out, sum) = (self.out.add(v * S), L::fold(&sums[..L::N / S], S));
                L::store(out, if self.add { L::add(L::load(out), sum) } else { sum });
            }
        }
    }
}

impl Job for Gather<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.gather::<L>) }
    }
}

/// Numbers of points side by side, M vectors, turned into a row of M numbers a point.
pub(super) struct Turn {
    pub from: *const f64,
    pub m: usize,
    pub points: usize,
    pub to: *mut f64,
}

impl Job for Turn {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        const { assert!(L::N <= PAD) };
        let (m, mut image) = (self.m, [0.0; PAD * PAD]);
        for i in (0..m).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                let (from, to) = (self.from.add(i * L::N), self.to.add(i));
                if self.points == L::N && i + L::N <= m {
                    L::transpose(from, L::N, to, m);
                    continue;
                }
                L::transpose(from, L::N, image.as_mut_ptr(), L::N);
                for point in 0..self.points {
                    L::store_some(to.add(point * m), L::load(image.as_ptr().add(point * L::N)), m - i);
                }
            }
        }
    }
}

/// The same where points have several rows in a vector: from sums by rows, and from sums by columns, which are added up over a point's lanes
/// and multiplied by its `twice_b`.
pub(super) struct TurnRows {
    pub walk: Walk,
    pub points: usize,
    pub rows: *const f64,
    pub columns: *const f64,
    /// A vector.
    pub twice_b: *const f64,
    pub to: *mut f64,
}

impl TurnRows {
    #[inline(always)]
    unsafe fn turn<L: Lanes, const S: usize>(&self) {
        const { assert!(L::N <= PAD) };
        let (m, mut image) = (self.walk.m, [0.0; PAD * PAD]);
        // SAFETY: passed on to the caller.
        unsafe {
            // All that is stored number by number first: a vector that is loaded at once would wait for them.
            for (r, i) in (0..m).step_by(S).enumerate() {
                for point in 0..self.points {
                    let (from, to) = (self.rows.add(r * L::N + point * S), self.to.add(point * m + i));
                    (0..S.min(m - i)).for_each(|s| *to.add(s) = *from.add(s));
                }
            }
            for i in (0..m).step_by(L::N) {
                L::transpose(self.columns.add(i * L::N), L::N, image.as_mut_ptr(), L::N);
                for point in 0..self.points {
                    let mut sum = L::splat(0.0);
                    for s in 0..S {
                        sum = L::add(sum, L::load(image.as_ptr().add((point * S + s) * L::N)));
                    }
                    let (to, twice_b) = (self.to.add(point * m + i), L::splat(*self.twice_b.add(point * S)));
                    L::store_some(to, L::mul_add(twice_b, sum, L::load_some(to, m - i)), m - i);
                }
            }
        }
    }
}

impl Job for TurnRows {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.turn::<L>) }
    }
}

/// Puts numbers in the order of a walk, S a vector, into the lower triangle of a matrix, or adds them to it; those on the diagonal twice.
pub(super) struct Scatter {
    pub walk: Walk,
    pub add: bool,
    pub from: *const f64,
    /// M × M.
    pub to: *mut f64,
}

impl Scatter {
    #[inline(always)]
    unsafe fn scatter<L: Lanes, const S: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe { if self.add { self.all::<L, S, true>() } else { self.all::<L, S, false>() } }
    }

    #[inline(always)]
    unsafe fn all<L: Lanes, const S: usize, const ADD: bool>(&self) {
        let (m, height, mut from) = (self.walk.m, ROWS * S, self.from);
        for first in (0..m).step_by(height) {
            // Columns that meet the diagonal have fewer rows.
            let (corner, mut diagonal) = ((first + height).min(m), from);
            let of_column = |j: usize| ((j - first) / S + 1) * S;
            // SAFETY: passed on to the caller.
            unsafe {
                for j in first..corner {
                    self.some::<L, ADD>(j, first, from, j - first + 1);
                    from = from.add(of_column(j));
                }
                for j in corner..m {
                    self.some::<L, ADD>(j, first, from, height);
                    from = from.add(height);
                }
                // By now what was stored is in the cache: to read it at once would be to wait for it.
                for j in first..corner {
                    *self.to.add(j * m + j) += *diagonal.add(j - first);
                    diagonal = diagonal.add(of_column(j));
                }
            }
        }
    }

    /// `n` numbers of row j of the matrix from entry `first` on.
    #[inline(always)]
    unsafe fn some<L: Lanes, const ADD: bool>(&self, j: usize, first: usize, from: *const f64, n: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let to = self.to.add(j * self.walk.m + first);
            for k in (0..n).step_by(L::N) {
                let numbers = L::load_some(from.add(k), n - k);
                let sum = if ADD { L::add(L::load_some(to.add(k), n - k), numbers) } else { numbers };
                L::store_some(to.add(k), sum, n - k);
            }
        }
    }
}

impl Job for Scatter {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.scatter::<L>) }
    }
}
