//! The vector code of `eq_sweep.rs`: walks over all pairs of inducing inputs for one or [`GROUP`] points.

use super::eq_sweep::GROUP;
use crate::linalg::tri;
use crate::simd::{Job, Lanes, PAD};

/// Fills Ψ₂ of one or [`GROUP`] points.
pub(super) struct ExpSweep<'a> {
    pub m: usize,
    pub dim: usize,
    pub pairs: *const f64,
    pub w: *const f64,
    pub gamma: *const f64,
    pub base: &'a [f64],
    pub psi2: *mut f64,
}

impl ExpSweep<'_> {
    /// Rows in order: what a vector writes past the end of its row is overwritten by the next one.
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&self) {
        const { assert!(L::N <= PAD) };
        let (m, dim, row, packed) = (self.m, self.dim, row_len(self.m), tri::packed_len(self.m) + PAD);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut p = 0;
            for i in 0..m {
                let mut base = [L::splat(0.0); G];
                for (g, base) in base.iter_mut().enumerate() {
                    *base = L::splat(self.base[g] + *self.gamma.add(g * row + i));
                }
                let mut j = i;
                while j < m {
                    let table = L::load(self.pairs.add(p + j - i));
                    let mut exponent = [table; G];
                    for g in 0..G {
                        let start = L::add(base[g], L::load(self.gamma.add(g * row + j)));
                        exponent[g] = L::add(exponent[g], start);
                    }
                    for q in 0..dim {
                        for (g, exponent) in exponent.iter_mut().enumerate() {
                            let w = self.w.add((g * (dim + 1) + q + 1) * row);
                            *exponent = L::neg_mul_add(L::splat(*w.add(i)), L::load(w.add(j)), *exponent);
                        }
                    }
                    for (g, exponent) in exponent.into_iter().enumerate() {
                        L::store(self.psi2.add(g * packed + p + j - i), L::exp(exponent));
                    }
                    j += L::N;
                }
                p += m - i;
            }
        }
    }
}

impl Job for ExpSweep<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.base.len() == GROUP {
                self.sweep::<L, GROUP>();
            } else {
                self.sweep::<L, 1>();
            }
        }
    }
}

/// ⟨B, Ψ₂⟩ of one or [`GROUP`] points for one output.
pub(super) struct Dots {
    pub len: usize,
    pub b: *const f64,
    pub psi2: *const f64,
    pub count: usize,
    pub stride: usize,
}

impl Dots {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&self) -> [f64; GROUP] {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut acc = [[L::splat(0.0); G]; 2];
            let mut p = 0;
            while p + 2 * L::N <= self.len {
                for (half, acc) in acc.iter_mut().enumerate() {
                    let at = p + half * L::N;
                    let b = L::load(self.b.add(at));
                    for (g, acc) in acc.iter_mut().enumerate() {
                        *acc = L::mul_add(b, L::load(self.psi2.add(g * self.stride + at)), *acc);
                    }
                }
                p += 2 * L::N;
            }
            while p < self.len {
                let left = self.len - p;
                let b = if left < L::N { L::load_part(self.b.add(p), left) } else { L::load(self.b.add(p)) };
                for (g, acc) in acc[0].iter_mut().enumerate() {
                    // Beyond the triangle Ψ₂ holds finite leftovers, and b is 0 there.
                    *acc = L::mul_add(b, L::load(self.psi2.add(g * self.stride + p)), *acc);
                }
                p += L::N;
            }
            let mut out = [0.0; GROUP];
            for g in 0..G {
                out[g] = L::sum(L::add(acc[0][g], acc[1][g]));
            }
            out
        }
    }
}

impl Job for Dots {
    type Output = [f64; GROUP];

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> [f64; GROUP] {
        // SAFETY: passed on to the caller.
        unsafe { if self.count == GROUP { self.sweep::<L, GROUP>() } else { self.sweep::<L, 1>() } }
    }
}

/// Packed symmetric matrices, one a point, and the vectors they are multiplied with: `count` rows of [`row_len`] a point.
#[derive(Clone, Copy)]
pub(super) struct Products {
    pub matrix: *mut f64,
    pub count: usize,
    pub vectors: *const f64,
    pub out: *mut f64,
}

/// All of the adjoint that visits every pair, for one or [`GROUP`] points:
///
/// ```text
/// F = ½ (Σ_d b_d B_d) ∘ Ψ₂       C̄_d += Σ_n b_d Ψ₂       Σ_n F       F [1, w_1, …]       Ψ₂ [A_1, …]
/// ```
/// In the products every row adds its share to the entries of its columns and to its own entry, so that the diagonal is
/// counted twice. Of F only half the diagonal's weight is in store, since B's diagonal is not doubled: twice is right.
pub(super) struct WeighAndMultiply<'a> {
    pub m: usize,
    pub count: usize,
    pub half_coef: &'a [f64],
    pub b: &'a [Vec<f64>],
    pub c: &'a mut [Vec<f64>],
    pub pairs: *mut f64,
    pub f: Products,
    pub psi2: Products,
}

impl Job for WeighAndMultiply<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.count == GROUP {
                self.sweep::<L, GROUP>();
            } else {
                self.sweep::<L, 1>();
            }
        }
    }
}

impl WeighAndMultiply<'_> {
    /// The first four vectors while F is formed, the others four at a time from what was stored.
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self) {
        const { assert!(L::N <= PAD) };
        let row = row_len(self.m);
        let (f_stride, y_stride) = (self.f.count * row, self.psi2.count * row);
        // SAFETY: passed on to the caller.
        unsafe {
            let (of_f, of_psi2) = match (self.f.count, self.psi2.count) {
                (2, 1) => (2, self.first::<L, G, 2, 1>()),
                (2, _) => (2, self.first::<L, G, 2, 2>()),
                _ => (3, self.first::<L, G, 3, 1>()),
            };
            let packed = tri::packed_len(self.m) + PAD;
            for g in 0..G {
                let (mut f, mut psi2) = (self.f, self.psi2);
                f.matrix = f.matrix.add(g * packed);
                f.vectors = f.vectors.add(g * f_stride);
                f.out = f.out.add(g * f_stride);
                psi2.matrix = psi2.matrix.add(g * packed);
                psi2.out = psi2.out.add(g * y_stride);
                f.advance(of_f, row);
                psi2.advance(of_psi2, row);
                while f.count + psi2.count > 0 {
                    let matrix = if f.count > 0 { &mut f } else { &mut psi2 };
                    let some = matrix.count.min(4);
                    match some {
                        1 => rows::<L, 1>(self.m, *matrix),
                        2 => rows::<L, 2>(self.m, *matrix),
                        3 => rows::<L, 3>(self.m, *matrix),
                        _ => rows::<L, 4>(self.m, *matrix),
                    }
                    matrix.advance(some, row);
                }
            }
        }
    }

    /// Forms and stores F, adds to C̄ and Σ F, and does the first F_ vectors of F and P_ of Ψ₂. Returns P_.
    #[inline(always)]
    unsafe fn first<L: Lanes, const G: usize, const F_: usize, const P_: usize>(&mut self) -> usize {
        let (m, row, packed) = (self.m, row_len(self.m), tri::packed_len(self.m) + PAD);
        let (f, psi2, n_f, n_y) = (self.f, self.psi2, self.f.count, self.psi2.count);
        // F is read again only if there are more vectors.
        let keep = n_f > F_;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut p = 0;
            for i in 0..m {
                let mut dots = [[L::splat(0.0); 4]; G];
                for Chunk { j, from, to } in chunks::<L>(i, m) {
                    // In the first chunk this points into the row before: those lanes are zero in Ψ₂ and so in all sums.
                    let at = p + j - i;
                    let mut psi = [L::splat(0.0); G];
                    let mut weight = [L::splat(0.0); G];
                    for (g, psi) in psi.iter_mut().enumerate() {
                        *psi = L::load_window(psi2.matrix.add(g * packed + at), from, to);
                    }
                    let coefs = self.half_coef.as_chunks::<G>().0;
                    for ((b, c), coef) in self.b.iter().zip(self.c.iter_mut()).zip(coefs) {
                        let (b, c) = (L::load(b.as_ptr().add(at)), c.as_mut_ptr().add(at));
                        let mut sum = L::splat(0.0);
                        for g in 0..G {
                            let coef = L::splat(coef[g]);
                            weight[g] = L::mul_add(coef, b, weight[g]);
                            sum = L::mul_add(coef, psi[g], sum);
                        }
                        L::store(c, L::mul_add(L::splat(2.0), sum, L::load(c)));
                    }
                    let mut total = L::load(self.pairs.add(at));
                    for g in 0..G {
                        let x = L::mul(weight[g], psi[g]);
                        total = L::add(total, x);
                        if keep {
                            // What is written past the end of the row, the next row overwrites.
                            L::store_from(f.matrix.add(g * packed + at), x, from);
                        }
                        for q in 0..F_ {
                            let vector = (g * n_f + q) * row;
                            let own = L::splat(*f.vectors.add(vector + i));
                            let (v, out) = (f.vectors.add(vector + j), f.out.add(vector + j));
                            dots[g][q] = L::mul_add(x, L::load(v), dots[g][q]);
                            L::store(out, L::mul_add(x, own, L::load(out)));
                        }
                        for q in 0..P_ {
                            let own = L::splat(*psi2.vectors.add(q * row + i));
                            let (v, out) = (psi2.vectors.add(q * row + j), psi2.out.add((g * n_y + q) * row + j));
                            dots[g][F_ + q] = L::mul_add(psi[g], L::load(v), dots[g][F_ + q]);
                            L::store(out, L::mul_add(psi[g], own, L::load(out)));
                        }
                    }
                    L::store(self.pairs.add(at), total);
                }
                for (g, dots) in dots.into_iter().enumerate() {
                    let sums = L::sum4(dots);
                    for q in 0..F_ {
                        *f.out.add((g * n_f + q) * row + i) += sums[q];
                    }
                    for q in 0..P_ {
                        *psi2.out.add((g * n_y + q) * row + i) += sums[F_ + q];
                    }
                }
                p += m - i;
            }
        }
        P_
    }
}

/// Length of a row of M numbers: whole vectors, and room for one more.
pub(super) fn row_len(m: usize) -> usize {
    m.next_multiple_of(PAD) + PAD
}

/// Columns `j + from` to `j + to` of a row of the triangle.
struct Chunk {
    j: usize,
    from: usize,
    to: usize,
}

/// Columns `i` to `m` in chunks that begin at multiples of the vector length. What one row stores the next row loads
/// again: from the same places, or the processor cannot pass it on.
#[inline(always)]
fn chunks<L: Lanes>(i: usize, m: usize) -> impl Iterator<Item = Chunk> {
    let start = i / L::N * L::N;
    (start..m).step_by(L::N).map(move |j| Chunk { j, from: i.saturating_sub(j), to: L::N.min(m - j) })
}

impl Products {
    /// Leaves out the first `n` vectors.
    ///
    /// # Safety
    /// There must be as many.
    #[inline(always)]
    unsafe fn advance(&mut self, n: usize, row: usize) {
        self.count -= n;
        // SAFETY: passed on to the caller.
        unsafe {
            self.vectors = self.vectors.add(n * row);
            self.out = self.out.add(n * row);
        }
    }
}

/// The products of one point's matrix with the first Q vectors.
#[inline(always)]
unsafe fn rows<L: Lanes, const Q: usize>(m: usize, product: Products) {
    let row = row_len(m);
    // SAFETY: passed on to the caller.
    unsafe {
        let mut p = 0;
        for i in 0..m {
            let mut dots = [L::splat(0.0); 4];
            for Chunk { j, from, to } in chunks::<L>(i, m) {
                let x = L::load_window(product.matrix.add(p + j - i), from, to);
                for (q, dot) in dots.iter_mut().enumerate().take(Q) {
                    let own = L::splat(*product.vectors.add(q * row + i));
                    let (v, out) = (product.vectors.add(q * row + j), product.out.add(q * row + j));
                    *dot = L::mul_add(x, L::load(v), *dot);
                    L::store(out, L::mul_add(x, own, L::load(out)));
                }
            }
            for (q, sum) in L::sum4(dots).into_iter().enumerate().take(Q) {
                *product.out.add(q * row + i) += sum;
            }
            p += m - i;
        }
    }
}
