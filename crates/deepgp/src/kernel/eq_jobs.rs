//! The vector code of `eq_sweep.rs`: Gaussians around many centres for many points, and their adjoint.
//!
//! A centre is a midpoint of two inducing inputs (Ψ₂) or an inducing input (ψ₁): the same functions with other widths.
//! Walks go through a [`STRIP`] of centres for all points before the next, so that what belongs to centres stays in the
//! first-level cache, and take [`QUAD`] points in registers together. Tables and rows of numbers per centre have room for
//! [`PAD`] numbers past the last, so that loops need no tails; only what [`ExpSweep`] writes ends with the last centre.

use crate::linalg::tri;
use crate::simd::{Job, Lanes, PAD};
use std::ops::Range;

/// Points in registers together.
pub(super) const QUAD: usize = 4;
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
    pub dim: usize,
}

impl Widths<'_> {
    /// κ and κ m in dimension `q` of point `g` of a quad.
    #[inline(always)]
    unsafe fn of<L: Lanes>(&self, quad: usize, q: usize, g: usize) -> (L::V, L::V) {
        let at = (quad * self.dim + q) * QUAD + g;
        // SAFETY: passed on to the caller: there is a number for every dimension and point.
        unsafe { (L::splat(*self.kappa.get_unchecked(at)), L::splat(*self.shift.get_unchecked(at))) }
    }
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

/// `out = exp(table + base − Σ_q ((c_q − m_q) κ_q)²)` for every centre c and point, and, if there are weights,
/// `dots = Σ_c weights_d out` for each of them.
pub(super) struct ExpSweep<'a> {
    pub points: Points,
    pub centres: Centres,
    pub widths: Widths<'a>,
    pub table: *const f64,
    pub out: Rows,
    /// Zero past the last centre.
    pub weights: &'a [Vec<f64>],
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
                    for d in 0..self.weights.len() {
                        let sums = self.dot::<L, G>(quad, d, strip.clone());
                        let at = (quad * self.weights.len() + d) * QUAD;
                        self.dots[at..at + QUAD].iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
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
                        let (kappa, shift) = widths.of::<L>(quad, q, g);
                        let u = L::mul_sub(centre, kappa, shift);
                        *exponent = L::neg_mul_add(u, u, *exponent);
                    }
                }
                let left = centres.len - p;
                for (g, exponent) in exponent.into_iter().enumerate() {
                    // At most 2 log s², far below a million.
                    let (at, value) = (self.out.of(quad, g, p), L::exp_below(exponent));
                    if left < L::N { L::store_part(at, value, left) } else { L::store(at, value) }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn dot<L: Lanes, const G: usize>(&self, quad: usize, d: usize, strip: Range<usize>) -> [f64; QUAD] {
        // SAFETY: passed on to the caller.
        unsafe {
            // Two sums a point, so that no addition waits for the last.
            let (mut even, mut odd) = ([L::splat(0.0); G], [L::splat(0.0); G]);
            let mut p = strip.start;
            while p < strip.end {
                let weight = L::load(self.weights[d].as_ptr().add(p));
                for (g, acc) in even.iter_mut().enumerate() {
                    *acc = L::mul_add(weight, L::load(self.out.of(quad, g, p)), *acc);
                }
                p += L::N;
                if p < strip.end {
                    let weight = L::load(self.weights[d].as_ptr().add(p));
                    for (g, acc) in odd.iter_mut().enumerate() {
                        *acc = L::mul_add(weight, L::load(self.out.of(quad, g, p)), *acc);
                    }
                    p += L::N;
                }
            }
            lane_sums::<L, G>(std::array::from_fn(|g| L::add(even[g], odd[g])))
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

/// The sum of the lanes of each vector; zeros follow.
#[inline(always)]
unsafe fn lane_sums<L: Lanes, const G: usize>(v: [L::V; G]) -> [f64; QUAD] {
    // SAFETY: passed on to the caller.
    unsafe { L::sum4(std::array::from_fn(|g| if g < G { v[g] } else { L::splat(0.0) })) }
}

/// What the adjoint of an [`ExpSweep`] leaves of each point, per quad one row of [`QUAD`] numbers a quantity: Σ F, then
/// Σ F u_q for every q, then Σ F u_q², where u_q = (c_q − m_q) κ_q.
pub(super) struct PointSums<'a> {
    pub sums: &'a mut [f64],
    pub dim: usize,
}

impl PointSums<'_> {
    pub(super) const fn len(dim: usize, quads: usize) -> usize {
        (2 * dim + 1) * quads * QUAD
    }

    #[inline(always)]
    unsafe fn add<L: Lanes, const G: usize>(&mut self, quad: usize, row: usize, sums: [L::V; G]) {
        let at = (quad * (2 * self.dim + 1) + row) * QUAD;
        // SAFETY: passed on to the caller.
        let sums = unsafe { lane_sums::<L, G>(sums) };
        self.sums[at..at + QUAD].iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
}

/// The adjoint of an [`ExpSweep`] for F = ∂/∂(exponent): the sums over centres are added to `sums`, those over points,
/// Σ_n F u_q κ_q, to `centres_bar` (tables like the centres').
struct Levers<'a, 'b> {
    centres: Centres,
    widths: Widths<'a>,
    sums: &'b mut PointSums<'a>,
    centres_bar: *mut f64,
}

impl Levers<'_, '_> {
    /// For the centres of a strip; `f` is where each point of the quad has F of the first of them.
    #[inline(always)]
    unsafe fn strip<L: Lanes, const G: usize>(&mut self, quad: usize, strip: Range<usize>, f: [*const f64; G]) {
        let Self { centres, widths, .. } = *self;
        for q in 0..centres.dim {
            // SAFETY: passed on to the caller.
            unsafe {
                let (mut first, mut second) = ([L::splat(0.0); G], [L::splat(0.0); G]);
                let widths: [_; G] = std::array::from_fn(|g| widths.of::<L>(quad, q, g));
                for p in strip.clone().step_by(L::N) {
                    let at = q * centres.stride + p;
                    let centre = L::load(centres.at.add(at));
                    let mut bar = L::load(self.centres_bar.add(at));
                    for g in 0..G {
                        let (kappa, shift) = widths[g];
                        let u = L::mul_sub(centre, kappa, shift);
                        let lever = L::mul(L::load(f[g].add(p - strip.start)), u);
                        first[g] = L::add(first[g], lever);
                        second[g] = L::mul_add(lever, u, second[g]);
                        bar = L::mul_add(lever, kappa, bar);
                    }
                    L::store(self.centres_bar.add(at), bar);
                }
                self.sums.add::<L, G>(quad, 1 + q, first);
                self.sums.add::<L, G>(quad, 1 + centres.dim + q, second);
            }
        }
    }
}

/// The adjoint of an [`ExpSweep`] for given F, one row a point, which must be zero past the last centre.
pub(super) struct LeverSweep<'a> {
    pub points: Points,
    pub centres: Centres,
    pub widths: Widths<'a>,
    pub f: Rows,
    pub sums: PointSums<'a>,
    pub centres_bar: *mut f64,
}

impl LeverSweep<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, quads: usize) {
        let Self { centres, widths, f, centres_bar, .. } = *self;
        self.sums.sums.fill(0.0);
        for strip in centres.strips() {
            for quad in 0..quads {
                // SAFETY: passed on to the caller.
                unsafe {
                    let mut total = [L::splat(0.0); G];
                    for p in strip.clone().step_by(L::N) {
                        for (g, total) in total.iter_mut().enumerate() {
                            *total = L::add(*total, L::load(f.of(quad, g, p)));
                        }
                    }
                    self.sums.add::<L, G>(quad, 0, total);
                    let rows = std::array::from_fn(|g| f.of(quad, g, strip.start).cast_const());
                    let mut levers = Levers { centres, widths, sums: &mut self.sums, centres_bar };
                    levers.strip::<L, G>(quad, strip.clone(), rows);
                }
            }
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

/// The adjoint of Σ_nd b_nd ⟨B_d, Ψ₂⟩ through Ψ₂, which F takes the place of:
///
/// ```text
/// C̄_d += Σ_n b_d Ψ₂       Ψ₂ ← F = ½ (Σ_d b_d B_d) ∘ Ψ₂       pairs += Σ_n F       and, if asked, what `Levers` does with F
/// ```
pub(super) struct WeighSweep<'a> {
    pub points: Points,
    pub centres: Centres,
    pub widths: Widths<'a>,
    pub psi2: Rows,
    /// ½ b, per quad and output [`QUAD`] numbers.
    pub half_coef: &'a [f64],
    pub b: &'a [Vec<f64>],
    pub c: &'a mut [Vec<f64>],
    pub pairs: *mut f64,
    /// What [`Levers`] adds to.
    pub levers: Option<(PointSums<'a>, *mut f64)>,
}

impl Job for WeighSweep<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        // SAFETY: passed on to the caller.
        unsafe { for_points!(self.points, self.sweep::<L>) }
    }
}

impl WeighSweep<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, quads: usize) {
        let Self { centres, widths, psi2, .. } = *self;
        if let Some((sums, _)) = &mut self.levers {
            sums.sums.fill(0.0);
        }
        for strip in centres.strips() {
            for quad in 0..quads {
                // SAFETY: passed on to the caller.
                unsafe {
                    let total = self.weigh::<L, G>(quad, strip.clone());
                    if let Some((sums, centres_bar)) = &mut self.levers {
                        sums.add::<L, G>(quad, 0, total);
                        let rows = std::array::from_fn(|g| psi2.of(quad, g, strip.start).cast_const());
                        let mut levers = Levers { centres, widths, sums, centres_bar: *centres_bar };
                        levers.strip::<L, G>(quad, strip.clone(), rows);
                    }
                }
            }
        }
    }

    /// F of a strip of pairs in the place of Ψ₂; adds to C̄ and the pair sums. Returns Σ F.
    #[inline(always)]
    unsafe fn weigh<L: Lanes, const G: usize>(&mut self, quad: usize, strip: Range<usize>) -> [L::V; G] {
        let d_out = self.b.len();
        let coefs = self.half_coef[quad * d_out * QUAD..][..d_out * QUAD].as_chunks::<QUAD>().0;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut total = [L::splat(0.0); G];
            for p in strip.step_by(L::N) {
                let psi: [L::V; G] = std::array::from_fn(|g| L::load(self.psi2.of(quad, g, p)));
                let mut weight = [L::splat(0.0); G];
                for ((b, c), coef) in self.b.iter().zip(self.c.iter_mut()).zip(coefs) {
                    let (b, c) = (L::load(b.as_ptr().add(p)), c.as_mut_ptr().add(p));
                    let mut sum = L::splat(0.0);
                    for g in 0..G {
                        let coef = L::splat(coef[g]);
                        weight[g] = L::mul_add(coef, b, weight[g]);
                        sum = L::mul_add(coef, psi[g], sum);
                    }
                    L::store(c, L::mul_add(L::splat(2.0), sum, L::load(c)));
                }
                let mut pairs = L::load(self.pairs.add(p));
                for g in 0..G {
                    let f = L::mul(weight[g], psi[g]);
                    pairs = L::add(pairs, f);
                    total[g] = L::add(total[g], f);
                    L::store(self.psi2.of(quad, g, p), f);
                }
                L::store(self.pairs.add(p), pairs);
            }
            total
        }
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

/// What becomes of the diagonal of a packed matrix in a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Diagonal {
    /// It counts once: the matrix is symmetric.
    Once,
    /// It counts twice: the matrix is half of a packed gradient.
    Twice,
}

/// Y = X V for a packed symmetric X and a few vectors V, in two parts to be added: what entries give to their columns, and to
/// their rows.
pub(super) struct PackedProduct {
    pub m: usize,
    pub matrix: *const f64,
    pub diagonal: Diagonal,
    /// How many vectors.
    pub count: usize,
    /// Rows of [`row_len`](super::row_len) numbers, zero beyond M.
    pub vectors: *const f64,
    /// As many rows each; the first must be zero at the start.
    pub columns: *mut f64,
    pub rows: *mut f64,
}

/// Rows of X that are taken together, so that the columns are loaded and stored once for all of them.
const TOGETHER: usize = 4;

impl PackedProduct {
    /// The products with V vectors from number `first` on.
    #[inline(always)]
    unsafe fn with<L: Lanes, const V: usize>(&self, first: usize) {
        let mut start = 0;
        for i in (0..self.m).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                start = self.rows::<L, V, 0>(first, i, start);
                if L::N > TOGETHER && i + TOGETHER < self.m {
                    start = self.rows::<L, V, TOGETHER>(first, i + TOGETHER, start);
                }
            }
        }
        debug_assert!(start <= tri::packed_len(self.m));
    }

    /// Rows `i` to `i + TOGETHER`, the first of which begins at `start` of the triangle; i is O more than a multiple of
    /// the vector length. Returns where the next rows begin.
    #[inline(always)]
    unsafe fn rows<L: Lanes, const V: usize, const O: usize>(&self, first: usize, i: usize, start: usize) -> usize {
        let (m, length) = (self.m, super::row_len(self.m));
        let diagonal = if self.diagonal == Diagonal::Twice { 0 } else { 1 };
        // SAFETY: passed on to the caller. Past the end of a row stands the next one: there the vectors are zero, and
        // columns beyond M are never read. Rows beyond the last are the last again, with zero weight.
        unsafe {
            // Entry (i + r, j) stands at row[r] + j.
            let (mut row, mut at) = ([self.matrix; TOGETHER], start);
            for (r, row) in row.iter_mut().enumerate() {
                *row = self.matrix.add(at).wrapping_sub(i + r);
                if i + r + 1 < m {
                    at += m - i - r;
                }
            }
            let vector: [*const f64; V] = std::array::from_fn(|v| self.vectors.add((first + v) * length));
            let column: [*mut f64; V] = std::array::from_fn(|v| self.columns.add((first + v) * length));
            let own: [[L::V; TOGETHER]; V] =
                std::array::from_fn(|v| std::array::from_fn(|r| L::splat(*vector[v].add(i + r))));
            let mut dots = [[L::splat(0.0); TOGETHER]; V];
            // The chunk that holds the diagonal: entries left of it belong to other rows.
            let j = i - O;
            let x: [_; TOGETHER] = std::array::from_fn(|r| {
                let x = row[r].wrapping_add(j);
                (L::load_from(x, O + r), L::load_from(x, O + r + diagonal))
            });
            for v in 0..V {
                let (a, mut y) = (L::load(vector[v].add(j)), L::load(column[v].add(j)));
                for r in 0..TOGETHER {
                    dots[v][r] = L::mul(x[r].0, a);
                    y = L::mul_add(x[r].1, own[v][r], y);
                }
                L::store(column[v].add(j), y);
            }
            for j in (j + L::N..m).step_by(L::N) {
                let x: [_; TOGETHER] = std::array::from_fn(|r| L::load(row[r].wrapping_add(j)));
                for v in 0..V {
                    let (a, mut y) = (L::load(vector[v].add(j)), L::load(column[v].add(j)));
                    for r in 0..TOGETHER {
                        dots[v][r] = L::mul_add(x[r], a, dots[v][r]);
                        y = L::mul_add(x[r], own[v][r], y);
                    }
                    L::store(column[v].add(j), y);
                }
            }
            for v in 0..V {
                let sums = L::sum4(dots[v]);
                std::ptr::copy_nonoverlapping(sums.as_ptr(), self.rows.add((first + v) * length + i), TOGETHER);
            }
            at
        }
    }
}

impl Job for PackedProduct {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        const { assert!((L::N == TOGETHER || L::N == 2 * TOGETHER) && L::N <= PAD) };
        let mut first = 0;
        while first < self.count {
            // SAFETY: passed on to the caller.
            first += unsafe {
                match self.count - first {
                    1 => {
                        self.with::<L, 1>(first);
                        1
                    }
                    2 => {
                        self.with::<L, 2>(first);
                        2
                    }
                    _ => {
                        self.with::<L, 3>(first);
                        3
                    }
                }
            };
        }
    }
}
