//! The vector code of `eq_sweep.rs`: Gaussians around many centres for many points, and their adjoint.
//!
//! A centre is a midpoint of two inducing inputs (Ψ₂) or an inducing input (ψ₁): the same functions with other widths.
//! Walks go through a [`STRIP`] of centres for all points before the next, so that what belongs to centres stays in the
//! first-level cache, and take [`QUAD`] points in registers together. Tables and rows of numbers per centre have room for
//! [`PAD`] numbers past the last, so that loops need no tails; only what [`ExpSweep`] writes ends with the last centre.

use crate::linalg::Mat;
use crate::simd::{Job, Lanes, PAD};
use std::ops::Range;

/// Points in registers together.
pub(super) const QUAD: usize = 4;
/// Where point `g` has its number in row `row` of tables that have `rows` rows of [`QUAD`] numbers a quad.
pub(super) const fn place(rows: usize, row: usize, g: usize) -> usize {
    (g / QUAD * rows + row) * QUAD + g % QUAD
}

/// Centres that are done for all points before the next.
const STRIP: usize = 256;

/// One table a dimension, `stride` numbers apart: where the centres are.
#[derive(Clone, Copy)]
pub(super) struct Centres {
    pub at: *const f64,
    pub stride: usize,
    pub len: usize,
    pub dim: usize,
}

impl Centres {
    fn strips(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.len).step_by(STRIP).map(move |from| from..(from + STRIP).min(self.len))
    }
}

/// What the exponents of the points depend on: for each quad a constant per point, and for each dimension 1/width κ
/// and κ m per point.
#[derive(Clone, Copy)]
pub(super) struct Widths<'a> {
    pub base: &'a [f64],
    pub kappa: &'a [f64],
    pub shift: &'a [f64],
}

/// Numbers per point and centre: a row a point.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub at: *mut f64,
    pub stride: usize,
}

impl Rows {
    /// Where point `g` of a quad has its number for centre `p`.
    #[inline(always)]
    unsafe fn of(self, quad: usize, g: usize, p: usize) -> *mut f64 {
        // SAFETY: passed on to the caller.
        unsafe { self.at.add((quad * QUAD + g) * self.stride + p) }
    }
}

/// How many points there are: one, or some quads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Points {
    One,
    Quads(usize),
}

impl Points {
    /// Rows that are written.
    pub(super) fn rows(self) -> usize {
        match self {
            Points::One => 1,
            Points::Quads(n) => n * QUAD,
        }
    }
}

/// Writes a job's body for one point or for quads.
macro_rules! for_points {
    ($points:expr, $self:ident.$body:ident::<$lanes:ident>) => {
        match $points {
            Points::One => $self.$body::<$lanes, 1>(1),
            Points::Quads(n) => $self.$body::<$lanes, QUAD>(n),
        }
    };
}

/// `out = 2^(table + base − Σ_q ((c_q − m_q) κ_q)²)` for every centre c and point, and, if there are weights,
/// `dots = Σ_c weights_d out` for each of them.
pub(super) struct ExpSweep<'a> {
    pub points: Points,
    pub centres: Centres,
    pub widths: Widths<'a>,
    pub table: *const f64,
    pub out: Rows,
    /// Zero past the last centre.
    pub weights: Option<&'a Mat>,
    /// Per quad and weight [`QUAD`] sums.
    pub dots: &'a mut [f64],
}

impl ExpSweep<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, quads: usize) {
        const { assert!(L::N <= PAD) };
        self.dots.fill(0.0);
        for strip in self.centres.strips() {
            for quad in 0..quads {
                // SAFETY: passed on to the caller.
                unsafe {
                    self.exponentials::<L, G>(quad, strip.clone());
                    let Some(weights) = self.weights else { continue };
                    for (d, row) in weights.iter_rows().enumerate() {
                        let sums = dots::<L, G, 1>(self.out, quad, [row.as_ptr()], strip.clone());
                        add_quad(self.dots, quad * weights.rows() + d, sums[0]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn exponentials<L: Lanes, const G: usize>(&self, quad: usize, strip: Range<usize>) {
        let Self { centres, widths, .. } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            let base: [L::V; G] = std::array::from_fn(|g| L::splat(widths.base[quad * QUAD + g]));
            for p in strip.step_by(L::N) {
                let table = L::load(self.table.add(p));
                let mut exponent: [L::V; G] = std::array::from_fn(|g| L::add(table, base[g]));
                for q in 0..centres.dim {
                    let centre = L::load(centres.at.add(q * centres.stride + p));
                    for (g, exponent) in exponent.iter_mut().enumerate() {
                        let at = (quad * centres.dim + q) * QUAD + g;
                        let (kappa, shift) = (*widths.kappa.get_unchecked(at), *widths.shift.get_unchecked(at));
                        let u = L::mul_sub(centre, L::splat(kappa), L::splat(shift));
                        *exponent = L::neg_mul_add(u, u, *exponent);
                    }
                }
                let left = centres.len - p;
                for (g, exponent) in exponent.into_iter().enumerate() {
                    let (at, value) = (self.out.of(quad, g, p), L::exp2(exponent));
                    if left < L::N { L::store_part(at, value, left) } else { L::store(at, value) }
                }
            }
        }
    }
}

impl Job for ExpSweep<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        // SAFETY: passed on to the caller.
        unsafe { for_points!(self.points, self.sweep::<L>) }
    }
}

/// Σ_c weights out over a strip of centres, for the points of a quad and W weights.
#[inline(always)]
unsafe fn dots<L: Lanes, const G: usize, const W: usize>(
    rows: Rows,
    quad: usize,
    weights: [*const f64; W],
    strip: Range<usize>,
) -> [[f64; QUAD]; W] {
    // SAFETY: passed on to the caller.
    unsafe {
        // Few weights have two sums a point, so that no addition waits for the last.
        let unroll = if W <= 2 { 2 } else { 1 };
        let mut sums = [[[L::splat(0.0); G]; W]; 2];
        let mut p = strip.start;
        while p < strip.end {
            for sums in sums.iter_mut().take(unroll) {
                if p < strip.end {
                    for g in 0..G {
                        let value = L::load(rows.of(quad, g, p));
                        for w in 0..W {
                            sums[w][g] = L::mul_add(L::load(weights[w].add(p)), value, sums[w][g]);
                        }
                    }
                    p += L::N;
                }
            }
        }
        let mut out = [[0.0; QUAD]; W];
        for w in 0..W {
            let mut total = [L::splat(0.0); G];
            for g in 0..G {
                total[g] = if unroll == 2 { L::add(sums[0][w][g], sums[1][w][g]) } else { sums[0][w][g] };
            }
            out[w] = lane_sums::<L, G>(total);
        }
        out
    }
}

/// The sum of the lanes of each vector; zeros follow.
#[inline(always)]
unsafe fn lane_sums<L: Lanes, const G: usize>(v: [L::V; G]) -> [f64; QUAD] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut four = [L::splat(0.0); QUAD];
        four[..G].copy_from_slice(&v);
        L::sum4(four)
    }
}

/// Adds to row `row` of sums that have [`QUAD`] numbers a row.
#[inline(always)]
fn add_quad(sums: &mut [f64], row: usize, quad: [f64; QUAD]) {
    sums[row * QUAD..][..QUAD].iter_mut().zip(quad).for_each(|(total, sum)| *total += sum);
}

/// The adjoint of an [`ExpSweep`] for given F = ∂/∂(exponent), one row a point, which must be zero past the last centre: with
/// d_q = c_q − m_q and, per point and dimension, the inverse of the squared width,
///
/// ```text
/// sums = Σ_c F, then Σ_c F d_q for every q, then Σ_c F d_q²          centres_bar_q += Σ_n F d_q · inverse_q
/// ```
pub(super) struct LeverSweep<'a> {
    pub points: Points,
    pub centres: Centres,
    /// Per quad and dimension [`QUAD`] numbers.
    pub mean: &'a [f64],
    pub inverse: &'a [f64],
    pub f: Rows,
    /// Per quad 2D + 1 rows of [`QUAD`] numbers.
    pub sums: &'a mut [f64],
    /// Tables like the centres'.
    pub centres_bar: *mut f64,
}

impl LeverSweep<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, quads: usize) {
        let (centres, f) = (self.centres, self.f);
        self.sums.fill(0.0);
        for strip in centres.strips() {
            for quad in 0..quads {
                let row = quad * (2 * centres.dim + 1);
                // SAFETY: passed on to the caller.
                unsafe {
                    let mut total = [L::splat(0.0); G];
                    for p in strip.clone().step_by(L::N) {
                        for (g, total) in total.iter_mut().enumerate() {
                            *total = L::add(*total, L::load(f.of(quad, g, p)));
                        }
                    }
                    add_quad(self.sums, row, lane_sums::<L, G>(total));
                    for q in 0..centres.dim {
                        let [first, second] = self.levers::<L, G>(quad, q, strip.clone());
                        add_quad(self.sums, row + 1 + q, first);
                        add_quad(self.sums, row + 1 + centres.dim + q, second);
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn levers<L: Lanes, const G: usize>(
        &mut self,
        quad: usize,
        q: usize,
        strip: Range<usize>,
    ) -> [[f64; QUAD]; 2] {
        let at = (quad * self.centres.dim + q) * QUAD;
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut first, mut second) = ([L::splat(0.0); G], [L::splat(0.0); G]);
            let mean: [L::V; G] = std::array::from_fn(|g| L::splat(self.mean[at + g]));
            let inverse: [L::V; G] = std::array::from_fn(|g| L::splat(self.inverse[at + g]));
            for p in strip.step_by(L::N) {
                let (centre, bar) = (q * self.centres.stride + p, self.centres_bar.add(q * self.centres.stride + p));
                let (centre, mut sum) = (L::load(self.centres.at.add(centre)), L::load(bar));
                for g in 0..G {
                    let d = L::sub(centre, mean[g]);
                    let lever = L::mul(L::load(self.f.of(quad, g, p)), d);
                    first[g] = L::add(first[g], lever);
                    second[g] = L::mul_add(lever, d, second[g]);
                    sum = L::mul_add(lever, inverse[g], sum);
                }
                L::store(bar, sum);
            }
            [lane_sums::<L, G>(first), lane_sums::<L, G>(second)]
        }
    }
}

impl Job for LeverSweep<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        // SAFETY: passed on to the caller.
        unsafe { for_points!(self.points, self.sweep::<L>) }
    }
}

/// Tables of numbers per pair, one after another.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    pub at: *mut f64,
    pub stride: usize,
    pub count: usize,
}

impl Tables {
    #[inline(always)]
    unsafe fn of(self, table: usize, p: usize) -> *mut f64 {
        // SAFETY: passed on to the caller.
        unsafe { self.at.add(table * self.stride + p) }
    }
}

/// What becomes of Ψ₂ on the way back, for all points and packed pairs:
///
/// ```text
/// gathered_k = Σ_n coef_nk Ψ₂ (or +=)   dots_nk = Σ_p weights_k Ψ₂          and, if B is given, Ψ₂ ← F = (Σ_d coef_nd B_d) ∘ Ψ₂
/// ```
pub(super) struct GatherSweep<'a> {
    pub points: Points,
    /// Number of pairs.
    pub len: usize,
    pub psi2: Rows,
    /// Per quad and gathered table [`QUAD`] numbers.
    pub coef: &'a [f64],
    pub gathered: Tables,
    /// Whether the gathered tables have no meaning yet.
    pub fresh: bool,
    /// Zero past the last pair.
    pub weights: Tables,
    /// Per quad and weight [`QUAD`] numbers.
    pub dots: &'a mut [f64],
    /// One for each gathered table, zero past the last pair.
    pub b: Option<&'a Mat>,
}

/// Calls a function with the number of tables that are taken together as a constant, until all are done.
macro_rules! few_at_a_time {
    ($count:expr, $first:ident => $self:ident.$body:ident::<$lanes:ident, $points:ident, _>($($argument:expr),*)) => {
        let mut $first = 0;
        while $first < $count {
            match $count - $first {
                1 => $self.$body::<$lanes, $points, 1>($($argument),*),
                2 => $self.$body::<$lanes, $points, 2>($($argument),*),
                3 => $self.$body::<$lanes, $points, 3>($($argument),*),
                4 => $self.$body::<$lanes, $points, 4>($($argument),*),
                _ => $self.$body::<$lanes, $points, 5>($($argument),*),
            }
            $first += 5;
        }
    };
}

impl GatherSweep<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, quads: usize) {
        self.dots.fill(0.0);
        for start in (0..self.len).step_by(STRIP) {
            let strip = start..(start + STRIP).min(self.len);
            for quad in 0..quads {
                // SAFETY: passed on to the caller.
                unsafe {
                    few_at_a_time!(self.weights.count, first => self.dot::<L, G, _>(quad, first, strip.clone()));
                    few_at_a_time!(self.gathered.count, first => self.gather::<L, G, _>(quad, first, strip.clone()));
                    if let Some(b) = self.b {
                        self.weigh::<L, G>(quad, b, strip.clone());
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn dot<L: Lanes, const G: usize, const W: usize>(&mut self, quad: usize, first: usize, strip: Range<usize>) {
        // SAFETY: passed on to the caller.
        let sums = unsafe {
            let weights = std::array::from_fn(|w| self.weights.of(first + w, 0).cast_const());
            dots::<L, G, W>(self.psi2, quad, weights, strip)
        };
        for (w, sums) in sums.into_iter().enumerate() {
            add_quad(self.dots, quad * self.weights.count + first + w, sums);
        }
    }

    #[inline(always)]
    unsafe fn gather<L: Lanes, const G: usize, const T: usize>(
        &mut self,
        quad: usize,
        first: usize,
        strip: Range<usize>,
    ) {
        let coefs = &self.coef[(quad * self.gathered.count + first) * QUAD..][..T * QUAD];
        let is_first = self.fresh && quad == 0;
        // SAFETY: passed on to the caller.
        unsafe {
            let coefs: [[L::V; G]; T] = std::array::from_fn(|t| std::array::from_fn(|g| L::splat(coefs[t * QUAD + g])));
            for p in strip.step_by(L::N) {
                let psi: [L::V; G] = std::array::from_fn(|g| L::load(self.psi2.of(quad, g, p)));
                for (t, coefs) in coefs.iter().enumerate() {
                    let at = self.gathered.of(first + t, p);
                    let mut sum = if is_first { L::splat(0.0) } else { L::load(at) };
                    for (coef, psi) in coefs.iter().zip(psi) {
                        sum = L::mul_add(*coef, psi, sum);
                    }
                    L::store(at, sum);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn weigh<L: Lanes, const G: usize>(&mut self, quad: usize, b: &Mat, strip: Range<usize>) {
        let coefs = self.coef[quad * b.rows() * QUAD..][..b.rows() * QUAD].as_chunks::<QUAD>().0;
        // SAFETY: passed on to the caller.
        unsafe {
            for p in strip.step_by(L::N) {
                let mut weight = [L::splat(0.0); G];
                for (b, coef) in b.iter_rows().zip(coefs) {
                    let b = L::load(b.as_ptr().add(p));
                    for (weight, coef) in weight.iter_mut().zip(coef) {
                        *weight = L::mul_add(L::splat(*coef), b, *weight);
                    }
                }
                for (g, weight) in weight.into_iter().enumerate() {
                    let at = self.psi2.of(quad, g, p);
                    L::store(at, L::mul(weight, L::load(at)));
                }
            }
        }
    }
}

impl Job for GatherSweep<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        // SAFETY: passed on to the caller.
        unsafe { for_points!(self.points, self.sweep::<L>) }
    }
}

/// What a point is pulled by in one dimension, with d its distances from the inducing inputs: for u = r ∘ d + f
///
/// ```text
/// bar += s u          and returns          Σ u, Σ d u
/// ```
/// All rows have [`row_len`](super::row_len) numbers, of which M count.
pub(super) struct Pull {
    pub m: usize,
    pub d: *const f64,
    pub r: *const f64,
    pub f: *const f64,
    pub scale: f64,
    pub bar: *mut f64,
}

impl Job for Pull {
    type Output = [f64; 2];

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> [f64; 2] {
        // SAFETY: passed on to the caller.
        unsafe {
            let (scale, mut first, mut second) = (L::splat(self.scale), L::splat(0.0), L::splat(0.0));
            for i in (0..self.m).step_by(L::N) {
                let left = self.m - i;
                let load = |p: *const f64| if left < L::N { L::load_part(p.add(i), left) } else { L::load(p.add(i)) };
                let (d, bar) = (load(self.d), self.bar.add(i));
                let u = L::mul_add(load(self.r), d, load(self.f));
                first = L::add(first, u);
                second = L::mul_add(d, u, second);
                L::store(bar, L::mul_add(scale, u, L::load(bar)));
            }
            [L::sum(first), L::sum(second)]
        }
    }
}
