//! The expectations of the exponentiated quadratic law for a few points at a time, fused with what a layer does to them.
//!
//! The plain form stands in `kernel/eq.rs`; this one gives the same numbers (a test compares them) many times faster. Points stand side by
//! side in vectors, tables are loaded once for all of them, and no Ψ₂ leaves the cache. With c = ℓ² + v, e = ℓ² + 2v, d = z − m and
//! w = κ d, κ = √(log₂e/(2e)),
//!
//! ```text
//! ψ₁ᵢ  = s² Π_q √(ℓ_q²/c_q) 2^(−Σ_q d_iq² log₂e/(2c_q))                    ξ_qi = ψ₁ᵢ d_iq v_q/c_q
//! Ψ₂ᵢⱼ = Π_q √(ℓ_q²/e_q) 2^(T_ij + γ_i + γ_j − Σ_q w_iq w_jq)               γ_i = −½ Σ_q w_iq²
//! ```
//! with T_ij = (−¼ Σ_q (z_iq − z_jq)²/ℓ_q² + 2 log s²)/log 2 from the tables of a step, or as `powers.rs` says. What a
//! layer does with them are products with its weights: ψ₁A_d, ⟨B_d, Ψ₂⟩ and ξ_q A_d. Their adjoints a_d, b_d and x_qd are what comes back.
//!
//! The way back through Ψ₂ needs no more of F = (Σ_d b_d B_d) ∘ Ψ₂ than r = F 1 and F d_q. With u = r d + F d and t = r d − F d of a
//! dimension, where t comes from T,
//!
//! ```text
//! m̄ = Σ u/e      v̄ = Σ d u/e² − Σ r/e      z̄ = −u/e − t/ℓ²      ℓ̄ = ℓ Σ d u/e² + 2 v Σ r/(ℓ e) + Σ d t/ℓ³      s̄² = 2 Σ r/s²
//! ```
//! Through ψ₁ and ξ, with ω = ψ₁ Σ_d A_d (a_d + Σ_q x_qd d_q v_q/c_q) = ∂/∂log ψ₁ and δ = ψ₁ Σ_d x_qd A_d,
//!
//! ```text
//! m̄ = Σ ω d/c − Σ δ v/c      v̄ = ½ (Σ ω d²/c² − Σ ω/c) + Σ δ d ℓ²/c²      z̄ = −ω d/c + δ v/c
//! ℓ̄ = ℓ Σ ω d²/c² + v Σ ω/(ℓ c) − 2 v ℓ Σ δ d/c²      s̄² = Σ ω/s²
//! ```
//! and ∂/∂A_d = ψ₁ (a_d + Σ_q x_qd d_q v_q/c_q) + 2 b_d Ψ₂A_d,   ∂/∂B_d = C̄_d = b_d Ψ₂.

use super::backward::{Finish, First, Gather, Scatter, Slopes, Turn, TurnRows};
use super::forward::{Exponentials, Fill, FirstDots};
use super::levers::Levers;
use super::pack::{Exponents, Pack, Resolve, Shape, Width, points_in_a_vector};
use super::walk::{Classes, HalfSum, Length, Numbers, ROWS, Spread, Square, Walk};
use crate::kernel::group::Products;
use crate::kernel::{Eq, PsiSums, PsiTables, row_len};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Aligned, PAD, run};
use std::ops::Range;

/// Vectors of Ψ₂ that stay in the first-level cache beside tables.
const STRIP: usize = 320;

/// Expectations of a group of points, and working memory.
#[derive(Debug, Clone)]
pub struct EqSweep {
    m: usize,
    dim: usize,
    d_out: usize,
    want_xi: bool,
    want_adjoint: bool,
    /// Whether F of a point is Ψ₂ times weights that do not depend on the point: then its products are taken while Ψ₂ is at hand, if
    /// they will be wanted.
    at_once: bool,
    lanes: usize,
    packs: Vec<Pack>,
    /// How many of them there are now.
    used: usize,
    /// Per pack `psi2_stride` numbers.
    psi2: Aligned,
    psi2_stride: usize,
    /// Per pack by columns the tables of w, then that of γ; then the same by rows.
    tables: Aligned,
    /// Per pack a table by rows.
    psi1: Aligned,
    omega: Aligned,
    /// A_d as vectors, by columns and by rows; a table per output.
    a: Aligned,
    row_a: Aligned,
    /// The walk whose rows these are.
    row_a_walk: Option<Walk>,
    /// Products of a pack with weights, N vectors each; adjoints of them, a vector each; and per pack b_d times the factor of Ψ₂, and
    /// twice that.
    dots: Aligned,
    bars: Aligned,
    b_bars: Aligned,
    /// F of a block of rows, or what its exponentials need.
    room: Aligned,
    /// Products with F and Ψ₂ by columns, and by rows; those of every pack if they are taken at once.
    sums: Aligned,
    row_sums: Aligned,
    totals: Vec<[f64; PAD]>,
    slopes: Vec<[f64; PAD]>,
    /// C̄_d of the block's points so far, by walks.
    gathered: Vec<Gathered>,
}

/// C̄_d of the points of a block that share a walk.
#[derive(Debug, Clone)]
struct Gathered {
    walk: Walk,
    /// In the order of the walk, for every output.
    numbers: Aligned,
    /// Whether there have been such points in this block: if not, the numbers have no meaning.
    has_points: bool,
}

impl EqSweep {
    /// Room for `capacity` points, M inducing inputs, D input and D_out output dimensions; with ξ, and ready for the adjoint, only if
    /// these are wanted.
    pub fn new(capacity: usize, m: usize, dim: usize, d_out: usize, (want_xi, want_adjoint): (bool, bool)) -> Self {
        assert!(capacity > 0 && m > 0 && dim > 0 && d_out > 0, "sizes are positive");
        // SAFETY: the job has no pointers.
        let lanes = unsafe { run(Length) };
        let most = points_in_a_vector(m, lanes);
        let packs = capacity.div_ceil(most);
        let walk = Walk { m, s: lanes / most };
        let psi2_stride = (walk.vectors() + PAD) * lanes;
        let vectors = |n: usize| Aligned::zeros(n * lanes);
        let (widths, products) = (vec![Width::default(); dim], d_out * if want_xi { 1 + dim } else { 1 });
        let at_once = want_adjoint && d_out == 1;
        let kept = if at_once { packs } else { 1 };
        let pack = Pack {
            first: 0,
            points: 0,
            walk,
            vectors: 0,
            widths,
            peak1: [0.0; PAD],
            peak2: [0.0; PAD],
            exponents: Exponents::Guarded,
        };
        Self {
            m,
            dim,
            d_out,
            want_xi,
            want_adjoint,
            at_once,
            lanes,
            packs: vec![pack; packs],
            used: 0,
            psi2: Aligned::zeros(packs * psi2_stride),
            psi2_stride,
            tables: vectors(packs * 2 * (dim + 1) * m),
            psi1: vectors(packs * m),
            omega: vectors(m),
            a: vectors(d_out * m),
            row_a: vectors(d_out * m),
            row_a_walk: None,
            dots: vectors(products * lanes),
            bars: vectors(products),
            b_bars: vectors(packs * 2 * d_out),
            room: vectors(ROWS * m.max(dim)),
            sums: vectors(kept * ((1 + dim + d_out) * m + PAD)),
            row_sums: vectors(kept * ((1 + dim + d_out) * m + PAD)),
            totals: vec![[0.0; PAD]; 2 + 5 * dim],
            slopes: vec![[0.0; PAD]; 2 * dim],
            gathered: Vec::new(),
        }
    }

    /// Divides `n` points among vectors.
    fn pack(&mut self, n: usize) {
        let (most, mut first) = (points_in_a_vector(self.m, self.lanes), 0);
        self.used = n.div_ceil(most);
        for pack in &mut self.packs[..self.used] {
            let points = (n - first).min(most);
            let walk = Walk { m: self.m, s: self.lanes / points.next_power_of_two() };
            if pack.walk != walk || pack.vectors == 0 {
                (pack.walk, pack.vectors) = (walk, walk.vectors());
            }
            (pack.first, pack.points) = (first, points);
            first += points;
        }
    }

    /// The tables of w and of γ of a pack.
    fn tables_of(&mut self, pack: usize) -> (Numbers, Numbers) {
        let (half, gamma) = ((self.dim + 1) * self.m, self.dim * self.m);
        let at = self.tables[2 * pack * half * self.lanes..][..2 * half * self.lanes].as_mut_ptr();
        let rows = if self.packs[pack].walk.s == 1 { 0 } else { half };
        // SAFETY: a pack has 2 (D + 1) M vectors, and rows are no more than M.
        let vector = |n: usize| unsafe { at.add(n * self.lanes) };
        (
            Numbers { columns: vector(0), rows: vector(rows) },
            Numbers { columns: vector(gamma), rows: vector(rows + gamma) },
        )
    }

    /// A_d as vectors by columns.
    fn spread(&mut self, a: &Mat) {
        assert!(self.a.len() >= a.as_slice().len() * self.lanes, "room for a vector an entry");
        // SAFETY: as just checked.
        unsafe { run(Spread { from: a.as_slice(), to: self.a.as_mut_ptr() }) }
        self.row_a_walk = None;
    }

    /// The same by rows for the given walk.
    fn spread_rows(&mut self, a: &Mat, walk: Walk) -> Numbers {
        let columns = self.a.as_mut_ptr();
        if walk.s == 1 {
            return Numbers { columns, rows: columns };
        }
        let rows = self.row_a.as_mut_ptr();
        if self.row_a_walk == Some(walk) {
            return Numbers { columns, rows };
        }
        for (table, a) in self.row_a.chunks_exact_mut(walk.rows() * self.lanes).zip(a.iter_rows()) {
            for (vector, first) in table.chunks_exact_mut(self.lanes).zip((0..).step_by(walk.s)) {
                for (lane, number) in vector.iter_mut().enumerate() {
                    *number = a.get(first + (lane & (walk.s - 1))).copied().unwrap_or(0.0);
                }
            }
        }
        self.row_a_walk = Some(walk);
        Numbers { columns, rows }
    }

    /// Expectations of the first `n` rows of the input, and their products with the weights A, B.
    pub fn forward(
        &mut self,
        law: &Eq,
        tables: &PsiTables,
        (a, b): (&Mat, &[Mat]),
        (mean, var, n): (&Mat, &Mat, usize),
        out: &mut Products,
    ) {
        let (m, dim, d_out, lanes) = (self.m, self.dim, self.d_out, self.lanes);
        assert!(
            (1..=self.packs.len() * points_in_a_vector(m, lanes)).contains(&n) && mean.rows().min(var.rows()) >= n,
            "room for the points"
        );
        self.check(law, a, b);
        assert!(
            tables.points.len().min(tables.offsets.len()) >= dim * row_len(m)
                && tables.pairs.len() >= m * row_len(m)
                && tables.ends.len() == dim,
            "tables of this layer"
        );
        self.pack(n);
        self.spread(a);
        let log_signal = law.signal_var.log2();
        for k in 0..self.used {
            let allow_powers = self.want_adjoint && self.packs[k].walk.s == 1;
            let (ends, pack) = (&tables.ends, &mut self.packs[k]);
            let shape = Shape { law, log_signal, ends, pack, moments: (mean, var), allow_powers };
            // SAFETY: the job checks what it reads.
            unsafe { run(shape) };
            let (walk, (w, gamma)) = (self.packs[k].walk, self.tables_of(k));
            let a = self.spread_rows(a, walk);
            let psi1 = self.psi1[k * m * lanes..][..m * lanes].as_mut_ptr();
            let pack = &self.packs[k];
            let Pack { widths, peak1, exponents, .. } = pack;
            let log_signal = matches!(exponents, Exponents::Powers(_)).then_some(log_signal);
            let (points, offsets) = (tables.points.as_ptr(), tables.offsets.as_ptr());
            let mut largest = [0.0; PAD];
            let at_largest = largest.as_mut_ptr();
            let fill =
                Fill { walk, points, offsets, widths, w, gamma, log_signal, peak: peak1, psi1, largest: at_largest };
            // SAFETY: tables of a pack have room for M columns and as many rows as there are; rows of points are padded.
            unsafe { run(fill) };
            if walk.s > 1 {
                self.dots.fill(0.0);
            }
            let job = FirstDots { walk, psi1, w: w.rows, a: a.rows, d_out, sums: &mut self.dots };
            // SAFETY: as above.
            unsafe { run(job) };
            let Pack { first, points, ref widths, .. } = *pack;
            for d in 0..d_out {
                let mean = self.totals_of(d, walk, true);
                (0..points).for_each(|g| out.mean[(first + g, d)] = mean[g]);
                for (q, width) in widths.iter().enumerate().filter(|_| self.want_xi) {
                    let slope = self.totals_of((1 + q) * d_out + d, walk, true);
                    for (g, at) in (0..points).map(|g| (g, g * walk.s)) {
                        out.slope[(first + g, q * d_out + d)] = width.ratio[at] * width.stretch[at] * slope[g];
                    }
                }
            }
            let exponents = &mut self.packs[k].exponents;
            *exponents = exponents.within(largest.into_iter().fold(0.0, f64::max));
            self.sweep_pairs(k, tables, b, w, gamma, a);
            let Pack { first, points, peak2, .. } = self.packs[k];
            for d in 0..d_out {
                let half = self.totals_of(d, walk, self.at_once);
                (0..points).for_each(|g| out.quadratic[(first + g, d)] = 2.0 * peak2[g * walk.s] * half[g]);
            }
        }
    }

    /// Sum number `t` of the points of a pack; `added` if where S = 1 its classes have been added up.
    fn totals_of(&self, t: usize, walk: Walk, added: bool) -> [f64; PAD] {
        let sums = &self.dots[t * self.lanes * self.lanes..][..self.lanes * self.lanes];
        if added && walk.s == 1 {
            let mut totals = [0.0; PAD];
            totals[..self.lanes].copy_from_slice(&sums[..self.lanes]);
            return totals;
        }
        // SAFETY: the job has no pointers.
        unsafe { run(Classes { sums, s: walk.s }) }
    }

    /// Ψ₂ of a pack but for its factor, and half of ⟨B_d, Ψ₂⟩ into `dots`; and the products with F and Ψ₂, if they are taken at once.
    fn sweep_pairs(&mut self, k: usize, tables: &PsiTables, b: &[Mat], w: Numbers, gamma: Numbers, a: Numbers) {
        let (m, d_out, lanes, walk) = (self.m, self.d_out, self.lanes, self.packs[k].walk);
        let summed = if self.at_once && walk.s == 1 { lanes } else { d_out * lanes * lanes };
        self.dots[..summed].fill(0.0);
        if !self.at_once {
            self.exponentials(k, 0..m, 0, tables, b, w, gamma);
            return;
        }
        let mut done = 0;
        for rows in walk.strips(STRIP) {
            let vectors = self.exponentials(k, rows.clone(), done, tables, &[], w, gamma);
            self.levers(k, rows, done, b, w, a);
            done += vectors;
        }
        // ⟨B, Ψ₂⟩ = Σ r, and every pair counts twice in that.
        let sums = self.sums_of(k);
        for (table, len) in
            [(sums.columns, m), (sums.rows, walk.rows())].into_iter().take(if walk.s == 1 { 1 } else { 2 })
        {
            // SAFETY: the first table has so many vectors.
            unsafe { run(HalfSum { table, len, out: &mut self.dots }) };
        }
    }

    /// Ψ₂ of some rows of pairs of a pack, from vector `done` on; returns the number of vectors.
    #[expect(clippy::too_many_arguments, reason = "the tables that a pack's pairs depend on")]
    fn exponentials(
        &mut self,
        k: usize,
        rows: Range<usize>,
        done: usize,
        tables: &PsiTables,
        b: &[Mat],
        w: Numbers,
        gamma: Numbers,
    ) -> usize {
        let Pack { walk, exponents, ref widths, .. } = self.packs[k];
        let job = Exponentials {
            walk,
            exponents,
            widths,
            rows,
            dim: self.dim,
            table: Square::new(&tables.pairs, self.m),
            w,
            gamma,
            offsets: tables.offsets.as_ptr(),
            room: self.room.as_mut_ptr(),
            out: self.psi2[k * self.psi2_stride..][..self.psi2_stride][done * self.lanes..].as_mut_ptr(),
            b,
            dots: &mut self.dots[..b.len() * self.lanes * self.lanes],
        };
        // SAFETY: tables of a pack have room for M columns and as many rows as there are, Ψ₂ of a pack for all of the walk, and tables of
        // pairs have rows of `row_len`.
        unsafe { run(job) }
    }

    /// Products with F and Ψ₂ of some rows of pairs of a pack, from vector `done` on.
    fn levers(&mut self, k: usize, rows: Range<usize>, done: usize, b: &[Mat], w: Numbers, a: Numbers) {
        let (sums, of_pack) = (self.sums_of(k), self.d_out * self.lanes);
        let job = Levers {
            walk: self.packs[k].walk,
            rows,
            dim: self.dim,
            psi2: self.psi2[k * self.psi2_stride..][..self.psi2_stride][done * self.lanes..].as_ptr(),
            b,
            // That of a single output is left for later.
            coef: (self.d_out > 1).then_some(&self.b_bars[2 * k * of_pack..][..of_pack]),
            w,
            a,
            room: self.room.as_mut_ptr(),
            sums,
        };
        // SAFETY: tables have room for M columns and as many rows as there are, and F for a block of four rows.
        unsafe { run(job) }
    }

    /// The tables of products of a pack.
    fn sums_of(&mut self, k: usize) -> Numbers {
        let stride = ((1 + self.dim + self.d_out) * self.m + PAD) * self.lanes;
        let at = if self.at_once { k * stride } else { 0 };
        let columns = self.sums[at..][..stride].as_mut_ptr();
        let rows = if self.packs[k].walk.s == 1 { columns } else { self.row_sums[at..][..stride].as_mut_ptr() };
        Numbers { columns, rows }
    }

    fn check(&self, law: &Eq, a: &Mat, b: &[Mat]) {
        let (m, d_out) = (self.m, self.d_out);
        assert_eq!(law.lengthscale.len(), self.dim, "one lengthscale per input");
        assert_eq!((a.rows(), a.cols(), b.len()), (d_out, m, d_out), "weights of every output");
        assert!(b.iter().all(|b| (b.rows(), b.cols()) == (m, row_len(m))), "tables of pairs are padded");
    }

    /// The adjoint for `bar` of the products and `psi0_bar` of ψ₀: adds ∂/∂(input moments) to `input_bar` and what belongs to the
    /// kernel to `sums`, and sets ∂/∂A_d of the points, a row each, in a matrix an output from the given row on; ∂/∂B comes with
    /// [`EqSweep::end_block`].
    pub fn backward(
        &mut self,
        law: &Eq,
        (a, b): (&Mat, &[Mat]),
        (psi0_bar, bar): (&[f64], &Products),
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
        (a_bar, row): (&mut [Mat], usize),
    ) {
        let (m, dim, d_out, lanes) = (self.m, self.dim, self.d_out, self.lanes);
        self.check(law, a, b);
        assert!(a_bar.len() == d_out && a_bar.iter().all(|a_bar| a_bar.cols() == m), "rows of every output");
        assert!(sums.points.len() >= dim * row_len(m), "sums are padded");
        for k in 0..self.used {
            self.take_bars(k, bar);
            let (walk, w) = (self.packs[k].walk, self.tables_of(k).0);
            let a = self.spread_rows(a, walk);
            if !self.at_once {
                self.levers(k, 0..m, 0, b, w, a);
            }
            let rows = self.sums_of(k).rows;
            let twice_b = &self.b_bars[(2 * k + 1) * d_out * lanes..][..d_out * lanes];
            let psi1 = self.psi1[k * m * lanes..].as_ptr();
            let job = First {
                len: walk.rows(),
                psi1,
                w: w.rows,
                a: a.rows,
                // SAFETY: these tables follow those of F.
                psi2_a: unsafe { rows.add((1 + dim) * walk.rows() * lanes) },
                pulls: &self.bars,
                twice_b,
                omega: self.omega.as_mut_ptr(),
            };
            // SAFETY: as above.
            unsafe { run(job) };
            self.keep_a_bar(k, a_bar, row);
            let scale = self.finish(law, k, w, sums);
            if self.want_xi {
                self.finish_slopes(law, k, w.rows, bar, (&mut *input_bar.0, &mut *input_bar.1), sums);
            }
            let resolve = Resolve {
                law,
                pack: &self.packs[k],
                totals: &self.totals,
                scale,
                input_bar: (&mut *input_bar.0, &mut *input_bar.1),
                params: &mut sums.grad.params,
            };
            // SAFETY: the job has no pointers.
            unsafe { run(resolve) };
        }
        sums.grad.params[dim] += psi0_bar.iter().sum::<f64>();
        self.gather();
    }

    /// The adjoints of the products of a pack, lane by lane; lanes without a point have none.
    fn take_bars(&mut self, k: usize, bar: &Products) {
        let (d_out, lanes, Pack { first, points, walk, widths, peak2, .. }) = (self.d_out, self.lanes, &self.packs[k]);
        let b_bars = &mut self.b_bars[2 * k * d_out * lanes..][..2 * d_out * lanes];
        let of_lanes = |table: &Mat, column: usize| {
            let (mut out, cols) = ([0.0; PAD], table.cols());
            let rows = table.as_slice()[first * cols..].chunks_exact(cols).take(*points);
            match walk.s {
                1 => out.iter_mut().zip(rows).for_each(|(out, row)| *out = row[column]),
                s => out.chunks_exact_mut(s).zip(rows).for_each(|(out, row)| out.fill(row[column])),
            }
            out
        };
        for d in 0..d_out {
            let (b, mean) = (of_lanes(&bar.quadratic, d), of_lanes(&bar.mean, d));
            let (once, twice) = b_bars.split_at_mut(d_out * lanes);
            let out = once[d * lanes..][..lanes].iter_mut().zip(&mut twice[d * lanes..][..lanes]);
            for ((once, twice), (b, peak2)) in out.zip(b.iter().zip(peak2)) {
                (*once, *twice) = (b * peak2, 2.0 * (b * peak2));
            }
            self.bars[d * lanes..][..lanes].copy_from_slice(&mean[..lanes]);
            for (q, width) in widths.iter().enumerate().filter(|_| self.want_xi) {
                let slope = of_lanes(&bar.slope, q * d_out + d);
                let out = self.bars[((1 + q) * d_out + d) * lanes..][..lanes].iter_mut();
                for ((out, slope), (ratio, stretch)) in out.zip(slope).zip(width.ratio.iter().zip(&width.stretch)) {
                    *out = slope * ratio * stretch;
                }
            }
        }
    }

    /// The sums over inducing inputs of a pack, and what pulls these; returns what sums of F still lack, lane by lane.
    fn finish(&mut self, law: &Eq, k: usize, w: Numbers, sums: &mut PsiSums) -> [f64; PAD] {
        let (m, walk) = (self.m, self.packs[k].walk);
        // F of a single output lacks its b so far.
        let mut scale = [1.0; PAD];
        if self.d_out == 1 {
            scale[..self.lanes].copy_from_slice(&self.b_bars[2 * k * self.lanes..][..self.lanes]);
        }
        self.totals.fill([0.0; PAD]);
        let (s, len, tables) = (walk.s, walk.rows(), self.sums_of(k));
        let parts =
            [((s, len, w.rows, tables.rows), Some(self.omega.as_ptr())), ((1, m, w.columns, tables.columns), None)];
        for ((kept, len, w, table), omega) in parts.into_iter().take(if s == 1 { 1 } else { 2 }) {
            let job = Finish {
                kept,
                len,
                w,
                sums: table,
                omega,
                scale: &scale,
                widths: &self.packs[k].widths,
                lengthscale: &law.lengthscale,
                totals: &mut self.totals,
                points_bar: sums.points.as_mut_ptr(),
                stride: row_len(m),
            };
            // SAFETY: tables have as many vectors as `len` says; rows of points are padded.
            unsafe { run(job) };
        }
        scale
    }

    /// What ξ adds for a pack beside its share in ω.
    fn finish_slopes(
        &mut self,
        law: &Eq,
        k: usize,
        w: *const f64,
        bar: &Products,
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
    ) {
        let (m, d_out, lanes, Pack { first, points, walk, widths, .. }) =
            (self.m, self.d_out, self.lanes, &self.packs[k]);
        self.dots.fill(0.0);
        for (g, at) in (0..*points).map(|g| (first + g, g * walk.s)) {
            for t in 0..self.dim * d_out {
                self.dots[t * lanes + at..][..walk.s].fill(bar.slope[(g, t)]);
            }
        }
        let a = if walk.s == 1 { self.a.as_ptr() } else { self.row_a.as_ptr() };
        let job = Slopes {
            kept: walk.s,
            len: walk.rows(),
            psi1: self.psi1[k * m * lanes..].as_ptr(),
            w,
            a,
            bar: &self.dots[..self.dim * d_out * lanes],
            d_out,
            widths,
            sums: &mut self.slopes,
            points_bar: sums.points.as_mut_ptr(),
            stride: row_len(m),
        };
        // SAFETY: tables have as many vectors as there are rows; rows of points are padded.
        unsafe { run(job) };
        for (g, at) in (0..*points).map(|g| (first + g, g * walk.s)) {
            for (q, (width, l)) in widths.iter().zip(&law.lengthscale).enumerate() {
                let sum = |t: usize| self.slopes[2 * q + t][at..at + walk.s].iter().sum::<f64>();
                let (delta, lever, inverse) = (sum(0), sum(1) * width.stretch[at], width.inverse_c[at]);
                input_bar.0[(g, q)] -= delta * width.ratio[at];
                input_bar.1[(g, q)] += lever * l * l * inverse * inverse;
                sums.grad.params[q] -= 2.0 * lever * width.ratio[at] * l * inverse;
            }
        }
    }

    /// ∂/∂A_d of a pack as rows of numbers, a matrix an output, where the first point of the group has the given row.
    fn keep_a_bar(&self, k: usize, a_bar: &mut [Mat], row: usize) {
        let (m, d_out, lanes) = (self.m, self.d_out, self.lanes);
        let Pack { first, points, walk, .. } = self.packs[k];
        let at = if self.at_once { k * ((1 + self.dim + d_out) * m + PAD) * lanes } else { 0 };
        for (d, a_bar) in a_bar.iter_mut().enumerate() {
            let columns = &self.sums[at + (1 + self.dim + d) * m * lanes..];
            let out = &mut a_bar.as_mut_slice()[(row + first) * m..][..points * m];
            let (from, to) = (columns.as_ptr(), out.as_mut_ptr());
            // SAFETY: the sums have room for a vector past the last, and there is a row for every point.
            unsafe {
                if walk.s == 1 {
                    run(Turn { from, m, points, to });
                } else {
                    let rows = self.row_sums[at + (1 + self.dim + d) * walk.rows() * lanes..].as_ptr();
                    let twice_b = self.b_bars[(2 * k + 1) * d_out * lanes + d * lanes..].as_ptr();
                    run(TurnRows { walk, points, rows, columns: from, twice_b, to });
                }
            }
        }
    }

    /// Adds C̄ of the packs to what was gathered.
    fn gather(&mut self) {
        let (d_out, lanes) = (self.d_out, self.lanes);
        let mut k = 0;
        while k < self.used {
            let Pack { walk, vectors, .. } = self.packs[k];
            let alike = self.packs[k..self.used].iter().take_while(|pack| pack.walk == walk).count();
            let stride = (vectors + PAD) * walk.s;
            let place = self.gathered.iter().position(|gathered| gathered.walk == walk).unwrap_or_else(|| {
                self.gathered.push(Gathered { walk, numbers: Aligned::zeros(d_out * stride), has_points: false });
                self.gathered.len() - 1
            });
            let Gathered { numbers, has_points, .. } = &mut self.gathered[place];
            for d in 0..d_out {
                let job = Gather {
                    walk,
                    vectors,
                    psi2: self.psi2[k * self.psi2_stride..].as_ptr(),
                    stride: self.psi2_stride,
                    coef: &self.b_bars[(2 * k * d_out + d) * lanes..(2 * (k + alike - 1) * d_out + d + 1) * lanes],
                    coef_stride: 2 * d_out * lanes,
                    add: *has_points,
                    out: numbers[d * stride..].as_mut_ptr(),
                };
                // SAFETY: Ψ₂ and the sums have room past the last vector.
                unsafe { run(job) };
            }
            *has_points = true;
            k += alike;
        }
    }

    /// Puts the C̄_d of a block of groups into the lower triangles of `c`, or adds them to these, and forgets them.
    pub fn end_block(&mut self, c: &mut [Mat], add: bool) {
        assert!(self.gathered.iter().any(|gathered| gathered.has_points), "a block has points");
        for (k, gathered) in self.gathered.iter_mut().filter(|gathered| gathered.has_points).enumerate() {
            let Gathered { walk, numbers, has_points } = gathered;
            let stride = numbers.len() / self.d_out;
            for (c, numbers) in c.iter_mut().zip(numbers.chunks_exact(stride)) {
                assert_eq!((c.rows(), c.cols()), (self.m, self.m), "sums of this layer");
                let (from, to) = (numbers.as_ptr(), c.as_mut_slice().as_mut_ptr());
                let job = Scatter { walk: *walk, add: add || k > 0, from, to };
                // SAFETY: there are numbers for all of the walk, and M × M sums.
                unsafe { run(job) };
            }
            *has_points = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{InputBar, KernelGrad, Law, Psi};
    use deepgp_numerics::linalg::product::Part;
    use deepgp_numerics::linalg::transpose::mirror;
    use deepgp_numerics::linalg::{axpy, dot, tri};
    use deepgp_numerics::simd::SMALL_POWERS;
    use deepgp_oracle::{Tolerance, assert_all_close};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Mat {
        Mat::from_fn(rows, cols, |_, _| 2.0 * rng.random::<f64>() - 1.0)
    }

    /// A symmetric table of pairs.
    fn table(m: usize, rng: &mut ChaCha8Rng) -> Mat {
        let mut b = Mat::zeros(m, row_len(m));
        (0..m).for_each(|i| b.row_mut(i)[i..m].fill_with(|| rng.random::<f64>() - 0.5));
        mirror(&mut b, Part::Upper);
        b
    }

    /// Sweeps give what the plain law gives, for sizes on both sides of every vector, strip and group length.
    #[test]
    fn a_sweep_equals_the_plain_law() {
        deepgp_numerics::simd::forced::on_each(|_| compare_with_the_plain_law());
    }

    fn compare_with_the_plain_law() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let sizes = [
            (1, 1, 1, 1, true),
            (5, 2, 1, 4, false),
            (8, 1, 2, 3, true),
            (9, 3, 1, 2, false),
            (9, 1, 3, 3, true),
            (9, 4, 1, 1, true),
            (10, 2, 2, 11, true),
            (12, 2, 3, 4, false),
            (32, 2, 2, 4, true),
            (50, 2, 1, 4, false),
            (20, 5, 2, 6, true),
            (33, 8, 1, 9, false),
            (185, 2, 1, 5, false),
            // Ψ₂ of eight points is too large.
            (230, 1, 1, 7, true),
        ];
        // Near zero, and far from it in lengthscales; inducing inputs so far from each other that Ψ₂ vanishes; variances so small that powers
        // will do.
        let mut seen = Vec::new();
        let plain = sizes.map(|s| (s, 0.0, 1.0, 1.0)).into_iter();
        let others = [
            ((50, 2, 1, 7, true), 1e3, 1.0, 1.0),
            ((50, 2, 1, 9, false), 0.0, 0.02, 1.0),
            ((13, 3, 2, 8, true), 0.0, 0.02, 1.0),
            ((50, 2, 1, 16, false), 0.0, 0.5, 0.1),
            ((21, 2, 2, 8, true), 1e3, 1.0, 0.1),
            ((50, 2, 1, 8, false), 0.0, 0.02, 0.1),
            ((3, 5, 1, 8, true), 1e3, 1.0, 0.001),
        ];
        let surer = (1..50).map(|k| 0.8_f64.powi(k));
        let surer =
            surer.flat_map(|sure| [((50, 2, 1, 16, false), 0.0, 0.5, sure), ((13, 3, 2, 8, true), 0.0, 1.0, sure)]);
        for ((m, dim, d_out, n, xi), offset, narrow, sure) in plain.chain(others).chain(surer) {
            let lengthscale = (0..dim).map(|_| narrow * (0.5 + rng.random::<f64>())).collect();
            let law = Eq { lengthscale, signal_var: 1.3 };
            let (mut z, mut mean) = (random(m, dim, &mut rng), random(n, dim, &mut rng));
            z.as_mut_slice().iter_mut().chain(mean.as_mut_slice()).for_each(|v| *v += offset);
            let var = Mat::from_fn(n, dim, |_, _| sure * narrow * narrow * (0.1 + rng.random::<f64>()));
            let a = random(d_out, m, &mut rng);
            let packed = tri::packed_len(m);
            let b: Vec<Mat> = (0..d_out).map(|_| table(m, &mut rng)).collect();
            let mut bar = Products::zeros(n, dim, d_out, xi);
            let numbers = [&mut bar.mean, &mut bar.quadratic, &mut bar.slope];
            numbers.into_iter().for_each(|m| m.as_mut_slice().fill_with(|| rng.random::<f64>() - 0.5));
            let psi0_bar: Vec<f64> = (0..n).map(|_| rng.random()).collect();
            let mut tables = PsiTables::default();
            law.prepare(&z, &mut tables);

            let mut sweep = EqSweep::new(n, m, dim, d_out, (xi, true));
            let mut products = Products::zeros(n, dim, d_out, xi);
            sweep.forward(&law, &tables, (&a, &b), (&mean, &var, n), &mut products);
            let exponents = sweep.packs[0].exponents;
            assert_eq!(exponents == Exponents::Guarded, narrow < 0.1, "M = {m}");
            seen.push((exponents, dim == 2));
            let mut c = vec![Mat::from_fn(m, m, |i, j| if j <= i { f64::NAN } else { 0.0 }); d_out];
            let (mut mean_bar, mut var_bar) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
            let mut sums = PsiSums::zeros(m, dim, dim + 1);
            let mut found_a_bar = vec![Mat::zeros(n + 1, m); d_out];
            let bars = (&psi0_bar[..], &bar);
            let a_bars = (&mut found_a_bar[..], 1);
            sweep.backward(&law, (&a, &b), bars, (&mut mean_bar, &mut var_bar), &mut sums, a_bars);
            assert!(found_a_bar.iter().all(|a_bar| a_bar.row(0) == vec![0.0; m]), "rows before the first stay");
            sweep.end_block(&mut c, false);

            let mut plain_c = vec![vec![0.0; packed]; d_out];
            let (mut plain_mean, mut plain_var) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
            let mut plain_sums = PsiSums::zeros(m, dim, dim + 1);
            for g in 0..n {
                let (mut psi, mut psi_bar) = (Psi::zeros(m, dim, xi), Psi::zeros(m, dim, xi));
                law.psi(&tables, mean.row(g), var.row(g), &mut psi);
                psi_bar.psi0 = psi0_bar[g];
                for d in 0..d_out {
                    let mut weights = vec![0.0; packed];
                    tri::pack_weights(&b[d], &mut weights);
                    let (a, a_mean, b_bar) = (a.row(d), bar.mean[(g, d)], bar.quadratic[(g, d)]);
                    let found = [products.mean[(g, d)], products.quadratic[(g, d)]];
                    assert_all_close(
                        "ψ₁A, ⟨B, Ψ₂⟩",
                        &found,
                        &[dot(&psi.psi1, a), dot(&psi.psi2, &weights)],
                        Tolerance::Rounding,
                    );
                    let mut a_bar = vec![0.0; m];
                    tri::packed_mul(&psi.psi2, a, &mut a_bar);
                    a_bar.iter_mut().zip(&psi.psi1).for_each(|(y, psi1)| *y = 2.0 * b_bar * *y + a_mean * psi1);
                    axpy(a_mean, a, &mut psi_bar.psi1);
                    axpy(b_bar, &psi.psi2, &mut plain_c[d]);
                    axpy(b_bar, &weights, &mut psi_bar.psi2);
                    for q in (0..dim).filter(|_| xi) {
                        let (slope, slope_bar) = (products.slope[(g, q * d_out + d)], bar.slope[(g, q * d_out + d)]);
                        assert_all_close("ξ A", &[slope], &[dot(psi.xi.row(q), a)], Tolerance::Rounding);
                        axpy(slope_bar, a, psi_bar.xi.row_mut(q));
                        axpy(slope_bar, psi.xi.row(q), &mut a_bar);
                    }
                    assert_all_close("Ā", found_a_bar[d].row(1 + g), &a_bar, Tolerance::Rounding);
                }
                let input = InputBar { mean: plain_mean.row_mut(g), var: plain_var.row_mut(g) };
                law.psi_adjoint(&tables, mean.row(g), var.row(g), &mut psi, &psi_bar, input, &mut plain_sums);
            }
            for (c, plain) in c.iter_mut().zip(&plain_c) {
                let mut found = vec![0.0; packed];
                mirror(c, Part::Lower);
                tri::pack(c, &mut found);
                assert_all_close("C̄", &found, plain, Tolerance::Rounding);
            }
            assert_all_close("m̄", mean_bar.as_slice(), plain_mean.as_slice(), Tolerance::Rounding);
            assert_all_close("v̄", var_bar.as_slice(), plain_var.as_slice(), Tolerance::Rounding);
            let (mut grad, mut plain) = (KernelGrad::zeros(m, dim, dim + 1), KernelGrad::zeros(m, dim, dim + 1));
            law.finish(&tables, &sums, &mut grad);
            law.finish(&tables, &plain_sums, &mut plain);
            assert_all_close("z̄", grad.z.as_slice(), plain.z.as_slice(), Tolerance::Rounding);
            assert_all_close("parameters", &grad.params, &plain.params, Tolerance::Rounding);
        }
        // Every form arises on every instruction set, in two dimensions and in more.
        let powers = (0..SMALL_POWERS.len()).map(Exponents::Powers);
        for form in [Exponents::Guarded, Exponents::Inside].into_iter().chain(powers) {
            assert!([true, false].iter().all(|two| seen.contains(&(form, *two))), "{form:?}: {seen:?}");
        }
    }

    /// Groups of one block leave what blocks of one group leave.
    #[test]
    fn groups_of_a_block_add_up() {
        let (m, dim, n, mut rng) = (20, 2, 6, ChaCha8Rng::seed_from_u64(5));
        let law = Eq::isotropic(dim, 0.8, 1.3);
        let mut tables = PsiTables::default();
        law.prepare(&random(m, dim, &mut rng), &mut tables);
        let groups: [(Mat, Mat, Products); 3] = std::array::from_fn(|_| {
            let var = Mat::from_fn(n, dim, |_, _| 0.1 + rng.random::<f64>());
            let mut bar = Products::zeros(n, dim, 1, false);
            bar.quadratic = random(n, 1, &mut rng);
            (random(n, dim, &mut rng), var, bar)
        });
        let (a, b) = (random(1, m, &mut rng), [table(m, &mut rng)]);
        let run = |groups_per_block: usize| {
            let (mut sweep, mut out) = (EqSweep::new(n, m, dim, 1, (false, true)), Products::zeros(n, dim, 1, false));
            let (mut c, mut sums) = (vec![Mat::zeros(m, m)], PsiSums::zeros(m, dim, dim + 1));
            for block in groups.chunks(groups_per_block) {
                for (mean, var, bar) in block {
                    sweep.forward(&law, &tables, (&a, &b), (mean, var, n), &mut out);
                    let input_bar = (&mut Mat::zeros(n, dim), &mut Mat::zeros(n, dim));
                    let a_bar = (&mut [Mat::zeros(n, m)][..], 0);
                    sweep.backward(&law, (&a, &b), (&[0.0; 6], bar), input_bar, &mut sums, a_bar);
                }
                sweep.end_block(&mut c, true);
            }
            let mut grad = KernelGrad::zeros(m, dim, dim + 1);
            law.finish(&tables, &sums, &mut grad);
            (c, grad)
        };
        let ((c, grad), (c_of_three, grad_of_three)) = (run(1), run(3));
        assert_all_close("C̄", c_of_three[0].as_slice(), c[0].as_slice(), Tolerance::Rounding);
        assert_all_close("z̄", grad_of_three.z.as_slice(), grad.z.as_slice(), Tolerance::Rounding);
        assert_all_close("parameters", &grad_of_three.params, &grad.params, Tolerance::Rounding);
    }
}
