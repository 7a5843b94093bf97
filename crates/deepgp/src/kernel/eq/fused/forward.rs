//! Forward: the expectations of a group of points, and their products with a layer's weights.

use super::super::pair_layout::{Broadcast, ClassTotals, HalfSum, PairLayout, PairTable, VectorTables};
use super::super::parameters::Eq;
use super::super::point_vectors::{ComputeWidths, PointVector, Psi2Form, points_in_a_vector};
use super::super::psi1::{FillPsi1, Psi1Dots};
use super::super::psi2::FillPsi2;
use super::super::tables::EqTables;
use super::{FusedEq, PairRows};
use crate::kernel::padded::row_len;
use crate::kernel::products::{GroupInput, Products, Weights};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{PAD, run};

/// Vectors of Ψ₂ that stay in the first-level cache beside tables.
const CACHED_VECTORS: usize = 320;

impl FusedEq {
    /// Divides `n` points among vectors.
    fn assign(&mut self, n: usize) {
        let (most, mut first) = (points_in_a_vector(self.m, self.lanes), 0);
        self.used = n.div_ceil(most);
        for vector in &mut self.points[..self.used] {
            let points = (n - first).min(most);
            let layout = PairLayout { m: self.m, s: self.lanes / points.next_power_of_two() };
            if vector.layout != layout || vector.psi2_vectors == 0 {
                (vector.layout, vector.psi2_vectors) = (layout, layout.vectors());
            }
            (vector.first, vector.points) = (first, points);
            first += points;
        }
    }

    /// A_d as vectors by columns.
    fn broadcast(&mut self, a: &Mat) {
        assert!(self.a.len() >= a.as_slice().len() * self.lanes, "space for a vector an entry");
        // SAFETY: as just checked.
        unsafe { run(Broadcast { from: a.as_slice(), to: self.a.as_mut_ptr() }) }
        self.row_a_layout = None;
    }

    /// Expectations of the points of a group, and their products with the weights.
    pub fn forward(
        &mut self,
        law: &Eq,
        tables: &EqTables,
        weights: Weights<'_>,
        input: GroupInput<'_>,
        out: &mut Products,
    ) {
        let (Weights { a, b }, GroupInput { mean, var, n }) = (weights, input);
        let (m, dim, d_out, lanes) = (self.m, self.dim, self.d_out, self.lanes);
        assert!(
            (1..=self.points.len() * points_in_a_vector(m, lanes)).contains(&n) && mean.rows().min(var.rows()) >= n,
            "space for the points"
        );
        self.check(law, weights);
        assert!(
            tables.points.len().min(tables.offsets.len()) >= dim * row_len(m)
                && tables.pairs.len() >= m * row_len(m)
                && tables.ends.len() == dim,
            "tables of this layer"
        );
        self.assign(n);
        self.broadcast(a);
        let log_signal = law.signal_var.log2();
        for k in 0..self.used {
            let allow_products = self.want_adjoint && self.points[k].layout.s == 1;
            let (ends, vector) = (&tables.ends, &mut self.points[k]);
            let job = ComputeWidths { law, log_signal, ends, vector, mean, var, allow_products };
            // SAFETY: the job checks what it reads.
            unsafe { run(job) };
            let (layout, (w, gamma)) = (self.points[k].layout, self.tables_of(k));
            let a = self.a_for(a, layout);
            let psi1 = self.psi1[k * m * lanes..][..m * lanes].as_mut_ptr();
            let vector = &self.points[k];
            let PointVector { widths, peak1, form, .. } = vector;
            let log_signal = matches!(form, Psi2Form::ByProducts(_)).then_some(log_signal);
            let (points, offsets) = (tables.points.as_ptr(), tables.offsets.as_ptr());
            let mut largest = [0.0; PAD];
            let at_largest = largest.as_mut_ptr();
            let fill = FillPsi1 {
                layout,
                points,
                offsets,
                widths,
                w,
                gamma,
                log_signal,
                peak: peak1,
                psi1,
                largest: at_largest,
            };
            // SAFETY: tables of a vector of points have space for M columns and as many rows as there are; rows of
            // points are padded.
            unsafe { run(fill) };
            if layout.s > 1 {
                self.dots.fill(0.0);
            }
            let job = Psi1Dots { layout, psi1, w: w.rows, a: a.rows, d_out, sums: &mut self.dots };
            // SAFETY: as above.
            unsafe { run(job) };
            let PointVector { first, points, ref widths, .. } = *vector;
            for d in 0..d_out {
                let mean = self.totals_of(d, layout, true);
                (0..points).for_each(|g| out.mean[(first + g, d)] = mean[g]);
                for (q, width) in widths.iter().enumerate().filter(|_| self.want_xi) {
                    let slope = self.totals_of((1 + q) * d_out + d, layout, true);
                    for (g, at) in (0..points).map(|g| (g, g * layout.s)) {
                        out.slope[(first + g, q * d_out + d)] = width.ratio[at] * width.stretch[at] * slope[g];
                    }
                }
            }
            let form = &mut self.points[k].form;
            *form = form.within(largest.into_iter().fold(0.0, f64::max));
            self.psi2_and_products(k, tables, b, PointTables { w, gamma, a });
            let PointVector { first, points, peak2, .. } = self.points[k];
            for d in 0..d_out {
                let half = self.totals_of(d, layout, self.at_once);
                (0..points).for_each(|g| out.quadratic[(first + g, d)] = 2.0 * peak2[g * layout.s] * half[g]);
            }
        }
    }

    /// Sum number `t` of the points of a vector; `added` if where S = 1 its classes have been added up.
    fn totals_of(&self, t: usize, layout: PairLayout, added: bool) -> [f64; PAD] {
        let sums = &self.dots[t * self.lanes * self.lanes..][..self.lanes * self.lanes];
        if added && layout.s == 1 {
            let mut totals = [0.0; PAD];
            totals[..self.lanes].copy_from_slice(&sums[..self.lanes]);
            return totals;
        }
        // SAFETY: the job has no pointers.
        unsafe { run(ClassTotals { sums, s: layout.s }) }
    }

    /// Ψ₂ of a vector of points without its factor, and half of ⟨B_d, Ψ₂⟩ into `dots`; and the products with F and Ψ₂,
    /// if they are taken at once.
    fn psi2_and_products(&mut self, k: usize, tables: &EqTables, b: &[Mat], vectors: PointTables) {
        let (m, d_out, lanes, layout) = (self.m, self.d_out, self.lanes, self.points[k].layout);
        let summed = if self.at_once && layout.s == 1 { lanes } else { d_out * lanes * lanes };
        self.dots[..summed].fill(0.0);
        if !self.at_once {
            self.psi2_of(PairRows { k, rows: 0..m, done: 0 }, tables, b, vectors);
            return;
        }
        let mut done = 0;
        for rows in layout.row_ranges(CACHED_VECTORS) {
            let pairs = PairRows { k, rows, done };
            let count = self.psi2_of(pairs.clone(), tables, &[], vectors);
            self.multiply_pairs(pairs, b, vectors.w, vectors.a);
            done += count;
        }
        // ⟨B, Ψ₂⟩ = Σ r, and every pair counts twice in that.
        let sums = self.sums_of(k);
        for (table, len) in
            [(sums.columns, m), (sums.rows, layout.rows())].into_iter().take(if layout.s == 1 { 1 } else { 2 })
        {
            // SAFETY: the first table has so many vectors.
            unsafe { run(HalfSum { table, len, out: &mut self.dots }) };
        }
    }

    /// Ψ₂ of some rows of pairs of a vector of points; returns the number of vectors.
    fn psi2_of(&mut self, pairs: PairRows, tables: &EqTables, b: &[Mat], vectors: PointTables) -> usize {
        let (PairRows { k, rows, done }, PointTables { w, gamma, .. }) = (pairs, vectors);
        let PointVector { layout, form, ref widths, .. } = self.points[k];
        let job = FillPsi2 {
            layout,
            form,
            widths,
            rows,
            dim: self.dim,
            table: PairTable::new(&tables.pairs, self.m),
            w,
            gamma,
            offsets: tables.offsets.as_ptr(),
            scratch: self.scratch.as_mut_ptr(),
            out: self.psi2[k * self.psi2_stride..][..self.psi2_stride][done * self.lanes..].as_mut_ptr(),
            b,
            dots: &mut self.dots[..b.len() * self.lanes * self.lanes],
        };
        // SAFETY: tables of a vector of points have space for M columns and as many rows as there are, Ψ₂ for all of
        // the layout, and tables of pairs have rows of `row_len`.
        unsafe { run(job) }
    }
}

/// What the pairs of a vector of points are made of and multiplied by.
#[derive(Clone, Copy)]
struct PointTables {
    w: VectorTables,
    gamma: VectorTables,
    a: VectorTables,
}
