//! Backward: from the adjoints of the products to those of the input moments, Z, the parameters and the weights.

use super::super::adjoint::{PairAdjoint, Psi1Adjoint, XiAdjoint};
use super::super::pair_layout::VectorTables;
use super::super::parameters::Eq;
use super::super::point_vectors::{InputGradient, PointVector};
use super::super::sums::EqSums;
use super::super::to_matrices::{SumPsi2, ToLowerTriangle, ToRows, ToRowsFromParts};
use super::{CBarSums, FusedEq, PairRows};
use crate::kernel::padded::row_len;
use crate::kernel::products::{GroupBar, GroupGrad, Products, Weights};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Aligned, PAD, run};

impl FusedEq {
    /// The adjoint of [`FusedEq::forward`]; ∂ℒ/∂B comes with [`FusedEq::end_block`].
    pub fn backward(&mut self, law: &Eq, weights: Weights<'_>, bar: GroupBar<'_>, grad: &mut GroupGrad<'_, EqSums>) {
        let (m, dim, d_out, lanes) = (self.m, self.dim, self.d_out, self.lanes);
        self.check(law, weights);
        assert!(grad.a.len() == d_out && grad.a.iter().all(|a_bar| a_bar.cols() == m), "rows of every output");
        grad.sums.expect_gaussian(m, dim);
        for k in 0..self.used {
            self.load_bars(k, bar.products);
            let (layout, w) = (self.points[k].layout, self.tables_of(k).0);
            let a = self.a_for(weights.a, layout);
            if !self.at_once {
                self.multiply_pairs(PairRows { k, rows: 0..m, done: 0 }, weights.b, w, a);
            }
            let rows = self.sums_of(k).rows;
            let twice_b = &self.b_bars[(2 * k + 1) * d_out * lanes..][..d_out * lanes];
            let psi1 = self.psi1[k * m * lanes..].as_ptr();
            let job = Psi1Adjoint {
                len: layout.rows(),
                psi1,
                w: w.rows,
                a: a.rows,
                // SAFETY: these tables follow those of F.
                psi2_a: unsafe { rows.add((1 + dim) * layout.rows() * lanes) },
                bars: &self.bars,
                twice_b,
                omega: self.omega.as_mut_ptr(),
            };
            // SAFETY: as above.
            unsafe { run(job) };
            self.store_a_bar(k, grad);
            let scale = self.pairs_adjoint(law, k, w, grad.sums);
            if self.want_xi {
                self.xi_adjoint(law, k, w.rows, bar.products, grad);
            }
            let job = InputGradient {
                law,
                vector: &self.points[k],
                totals: &self.totals,
                scale,
                mean_bar: &mut *grad.mean,
                var_bar: &mut *grad.var,
                params: &mut grad.sums.grad.params,
            };
            // SAFETY: the job has no pointers.
            unsafe { run(job) };
        }
        grad.sums.grad.params[dim] += bar.psi0.iter().sum::<f64>();
        self.add_c_bar();
    }

    /// The adjoints of the products of a vector of points, lane by lane; lanes without a point have none.
    fn load_bars(&mut self, k: usize, bar: &Products) {
        let (d_out, lanes, PointVector { first, points, layout, widths, peak2, .. }) =
            (self.d_out, self.lanes, &self.points[k]);
        let b_bars = &mut self.b_bars[2 * k * d_out * lanes..][..2 * d_out * lanes];
        let of_lanes = |table: &Mat, column: usize| {
            let (mut out, cols) = ([0.0; PAD], table.cols());
            let rows = table.as_slice()[first * cols..].chunks_exact(cols).take(*points);
            match layout.s {
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

    /// The sums over inducing inputs of a vector of points, and z̄; returns the factor that sums of F still lack, lane
    /// by lane.
    fn pairs_adjoint(&mut self, law: &Eq, k: usize, w: VectorTables, sums: &mut EqSums) -> [f64; PAD] {
        let (m, layout) = (self.m, self.points[k].layout);
        // F of a single output lacks its b so far.
        let mut scale = [1.0; PAD];
        if self.d_out == 1 {
            scale[..self.lanes].copy_from_slice(&self.b_bars[2 * k * self.lanes..][..self.lanes]);
        }
        self.totals.fill([0.0; PAD]);
        let (s, len, tables) = (layout.s, layout.rows(), self.sums_of(k));
        let parts =
            [((s, len, w.rows, tables.rows), Some(self.omega.as_ptr())), ((1, m, w.columns, tables.columns), None)];
        for ((kept, len, w, table), omega) in parts.into_iter().take(if s == 1 { 1 } else { 2 }) {
            let job = PairAdjoint {
                kept,
                len,
                w,
                sums: table,
                omega,
                scale: &scale,
                widths: &self.points[k].widths,
                lengthscale: &law.lengthscale,
                totals: &mut self.totals,
                half_z_bar: sums.half_z.as_mut_ptr(),
                stride: row_len(m),
            };
            // SAFETY: tables have as many vectors as `len` says; rows of points are padded.
            unsafe { run(job) };
        }
        scale
    }

    /// What ξ of a vector of points adds beside its share in ω.
    fn xi_adjoint(&mut self, law: &Eq, k: usize, w: *const f64, bar: &Products, grad: &mut GroupGrad<'_, EqSums>) {
        let (m, d_out, lanes, PointVector { first, points, layout, widths, .. }) =
            (self.m, self.d_out, self.lanes, &self.points[k]);
        self.dots.fill(0.0);
        for (g, at) in (0..*points).map(|g| (first + g, g * layout.s)) {
            for t in 0..self.dim * d_out {
                self.dots[t * lanes + at..][..layout.s].fill(bar.slope[(g, t)]);
            }
        }
        let a = if layout.s == 1 { self.a.as_ptr() } else { self.row_a.as_ptr() };
        let job = XiAdjoint {
            kept: layout.s,
            len: layout.rows(),
            psi1: self.psi1[k * m * lanes..].as_ptr(),
            w,
            a,
            bar: &self.dots[..self.dim * d_out * lanes],
            d_out,
            widths,
            sums: &mut self.xi_totals,
            half_z_bar: grad.sums.half_z.as_mut_ptr(),
            stride: row_len(m),
        };
        // SAFETY: tables have as many vectors as there are rows; rows of points are padded.
        unsafe { run(job) };
        for (g, at) in (0..*points).map(|g| (first + g, g * layout.s)) {
            for (q, (width, l)) in widths.iter().zip(&law.lengthscale).enumerate() {
                let sum = |t: usize| self.xi_totals[2 * q + t][at..at + layout.s].iter().sum::<f64>();
                // Σ δ and Σ δ d
                let (delta, delta_d, inverse) = (sum(0), sum(1) * width.stretch[at], width.inverse_c[at]);
                grad.mean[(g, q)] -= delta * width.ratio[at];
                grad.var[(g, q)] += delta_d * l * l * inverse * inverse;
                grad.sums.grad.params[q] -= 2.0 * delta_d * width.ratio[at] * l * inverse;
            }
        }
    }

    /// ∂ℒ/∂A_d of a vector of points as rows of numbers.
    fn store_a_bar(&self, k: usize, grad: &mut GroupGrad<'_, EqSums>) {
        let (m, d_out, lanes) = (self.m, self.d_out, self.lanes);
        let PointVector { first, points, layout, .. } = self.points[k];
        let at = if self.at_once { k * ((1 + self.dim + d_out) * m + PAD) * lanes } else { 0 };
        for (d, a_bar) in grad.a.iter_mut().enumerate() {
            let columns = &self.sums[at + (1 + self.dim + d) * m * lanes..];
            let out = &mut a_bar.as_mut_slice()[(grad.first_row + first) * m..][..points * m];
            let (from, to) = (columns.as_ptr(), out.as_mut_ptr());
            // SAFETY: the sums have space for a vector past the last, and there is a row for every point.
            unsafe {
                if layout.s == 1 {
                    run(ToRows { from, m, points, to });
                } else {
                    let rows = self.row_sums[at + (1 + self.dim + d) * layout.rows() * lanes..].as_ptr();
                    let twice_b = self.b_bars[(2 * k + 1) * d_out * lanes + d * lanes..].as_ptr();
                    run(ToRowsFromParts { layout, points, rows, columns: from, twice_b, to });
                }
            }
        }
    }

    /// Adds C̄ of the group to that of the block.
    fn add_c_bar(&mut self) {
        let (d_out, lanes) = (self.d_out, self.lanes);
        let mut k = 0;
        while k < self.used {
            let PointVector { layout, psi2_vectors: vectors, .. } = self.points[k];
            let alike = self.points[k..self.used].iter().take_while(|vector| vector.layout == layout).count();
            let stride = (vectors + PAD) * layout.s;
            let place = self.c_bars.iter().position(|c_bar| c_bar.layout == layout).unwrap_or_else(|| {
                self.c_bars.push(CBarSums { layout, numbers: Aligned::zeros(d_out * stride), has_points: false });
                self.c_bars.len() - 1
            });
            let CBarSums { numbers, has_points, .. } = &mut self.c_bars[place];
            for d in 0..d_out {
                let job = SumPsi2 {
                    layout,
                    vectors,
                    psi2: self.psi2[k * self.psi2_stride..].as_ptr(),
                    stride: self.psi2_stride,
                    coef: &self.b_bars[(2 * k * d_out + d) * lanes..(2 * (k + alike - 1) * d_out + d + 1) * lanes],
                    coef_stride: 2 * d_out * lanes,
                    add: *has_points,
                    out: numbers[d * stride..].as_mut_ptr(),
                };
                // SAFETY: Ψ₂ and the sums have space past the last vector.
                unsafe { run(job) };
            }
            *has_points = true;
            k += alike;
        }
    }

    /// Puts the C̄_d of a block of groups into the lower triangles of `c`, or adds them to these, and starts anew.
    pub fn end_block(&mut self, c: &mut [Mat], add: bool) {
        assert!(self.c_bars.iter().any(|c_bar| c_bar.has_points), "a block has points");
        for (k, c_bar) in self.c_bars.iter_mut().filter(|c_bar| c_bar.has_points).enumerate() {
            let CBarSums { layout, numbers, has_points } = c_bar;
            let stride = numbers.len() / self.d_out;
            for (c, numbers) in c.iter_mut().zip(numbers.chunks_exact(stride)) {
                assert_eq!((c.rows(), c.cols()), (self.m, self.m), "sums of this layer");
                let (from, to) = (numbers.as_ptr(), c.as_mut_slice().as_mut_ptr());
                let job = ToLowerTriangle { layout: *layout, add: add || k > 0, from, to };
                // SAFETY: there are numbers for all of the layout, and M × M sums.
                unsafe { run(job) };
            }
            *has_points = false;
        }
    }
}
