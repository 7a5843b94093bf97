//! The expectations of the exponentiated quadratic law for a few points at a time, fused with what a layer does to them.
//!
//! The plain form stands in `eq.rs`; this one gives the same numbers (a test compares them) several times faster: tables
//! and weights are loaded once for many points, exponentials are taken in registers, and no Ψ₂ leaves the cache.
//! ψ₁ is a Gaussian around the inducing inputs and Ψ₂ one around the midpoints of their pairs, so both are one function:
//!
//! ```text
//! ψ₁ᵢ  = s² Π_q √(ℓ_q²/c_q) exp(−Σ_q (z_iq − m_q)²/(2c_q))                          c = ℓ² + v
//! Ψ₂ᵢⱼ = Π_q √(ℓ_q²/e_q) exp(T_ij − Σ_q (½(z_iq + z_jq) − m_q)²/e_q)                 e = ℓ² + 2v
//! ```
//! with T_ij = −¼ Σ_q (z_iq − z_jq)²/ℓ_q² + 2 log s² from the tables of a step. Exponents are kept as powers of two.
//!
//! The way back works on F = ½ Σ_d b_d B_d ∘ Ψ₂, half of ∂/∂log Ψ₂ of a point, where b_d = ∂/∂⟨B_d, Ψ₂⟩. Its sums over points are
//! gathered over a block, since B does not change in it:
//!
//! ```text
//! C̄_d = Σ_n b_d Ψ₂      Σ_n F = ½ Σ_d B_d ∘ C̄_d      Σ_n F (c − m)/e = ½ Σ_d B_d ∘ (c Σ_n (b_d/e) Ψ₂ − Σ_n (b_d m/e) Ψ₂)
//! ```
//! and its sums over pairs are dot products of Ψ₂ with tables,   Σ_p F cᵏ = ½ Σ_d b_d ⟨B_d cᵏ, Ψ₂⟩.

use super::eq_jobs::{Centres, ExpSweep, GatherSweep, LeverSweep, Points, Pull, QUAD, Rows, Tables, place};
use super::eq_shape::Shape;
use super::group::GroupBar;
use super::packed::{Diagonal, multiply};
use super::{Eq, InputBar, Law, PsiSums, PsiTables, row_len, triangle_len};
use crate::linalg::{Mat, tri};
use crate::simd::{Aligned, PAD, lane_sum, run, sum, wide};

/// Expectations of a group of points, and working memory.
#[derive(Debug, Clone)]
pub struct EqSweep {
    m: usize,
    dim: usize,
    d_out: usize,
    /// How many points the sweeps work on, of which the last may be there for company only.
    points: Points,
    of_psi1: Shape,
    of_psi2: Shape,
    /// ψ₁, per point a row of [`row_len`].
    psi1: Aligned,
    /// Ψ₂, per point a packed triangle of [`triangle_len`].
    psi2: Aligned,
    /// ⟨B_d, Ψ₂⟩ per quad, output and point.
    dots: Vec<f64>,
    /// ξ, per point D rows of [`row_len`]; empty if it is not wanted.
    xi: Aligned,
    /// ∂F/∂log ψ₁, per point a row.
    omega: Aligned,
    /// The two parts of a product with Ψ₂ or F, a row a vector.
    columns: Aligned,
    rows: Aligned,
    /// Ψ₂ A_d, a row per point and output.
    psi2_a: Aligned,
    /// Of a wide layer: ones and the distances d_q of a point from the inducing inputs, D + 1 rows with zeros beyond M, and
    /// their products with F.
    levers: Aligned,
    f_levers: Aligned,
    /// A_d with zeros beyond M, a row per output.
    a: Aligned,
    /// What the sums over points are gathered with: per quad, output and table the points' numbers.
    coef: Vec<f64>,
    /// Σ_n ½b Ψ₂ of the block's points so far and, in a narrow layer, for every dimension those with 1/e and then those with
    /// m/e; per output.
    gathered: Aligned,
    /// In a narrow layer B c_q for every dimension, then B c_q²; per output.
    moment_weights: Aligned,
    /// Their dot products with Ψ₂ per quad.
    moment_dots: Vec<f64>,
    /// Whether the block's first points are yet to come.
    fresh: bool,
    /// Of one law, ψ₁ or Ψ₂, with F its adjoint, per quad: Σ F, then Σ F (c − m)_q for every dimension, then those of squares.
    point_sums: Vec<f64>,
    zeros: Aligned,
}

/// Up to so many input and output dimensions a layer is narrow, and its adjoint goes pair by pair; beyond that row by row: see
/// [`EqSweep::pull`]. So does that of a layer whose Ψ₂ is so large that tables would be read for a quad of points alone.
const NARROW: (usize, usize) = (3, 2);

/// Bytes of Ψ₂ that a group may have: about half of a second-level cache.
const GROUP_BYTES: usize = 1 << 20;

/// How many points are best taken together by a layer with M inducing inputs: a multiple of four.
pub fn group_size(m: usize) -> usize {
    (GROUP_BYTES / (8 * tri::packed_len(m)) / QUAD * QUAD).clamp(QUAD, 32)
}

impl EqSweep {
    /// Room for `capacity` points, M inducing inputs, D input and D_out output dimensions, and for ξ if it is wanted.
    pub fn new(capacity: usize, m: usize, dim: usize, d_out: usize, want_xi: bool) -> Self {
        assert!(capacity > 0 && m > 0 && dim > 0 && d_out > 0, "sizes are positive");
        let (row, quads) = (row_len(m), capacity.div_ceil(QUAD));
        let n = quads * QUAD;
        let is_narrow = dim <= NARROW.0 && d_out <= NARROW.1 && group_size(m) > QUAD;
        let moments = if is_narrow { 2 * dim } else { 0 };
        Self {
            m,
            dim,
            d_out,
            points: Points::Quads(quads),
            of_psi1: Shape::zeros(dim, quads),
            of_psi2: Shape::zeros(dim, quads),
            psi1: Aligned::zeros(n * row),
            psi2: Aligned::zeros(n * triangle_len(m)),
            dots: vec![0.0; n * d_out],
            xi: Aligned::zeros(if want_xi { n * dim * row } else { 0 }),
            omega: Aligned::zeros(n * row),
            columns: Aligned::zeros((dim + 1).max(d_out) * row),
            rows: Aligned::zeros((dim + 1).max(d_out) * row),
            levers: Aligned::zeros((dim + 1) * row),
            f_levers: Aligned::zeros((dim + 1) * row),
            psi2_a: Aligned::zeros(n * d_out * row),
            a: Aligned::zeros(d_out * row),
            coef: vec![0.0; n * d_out * (1 + moments)],
            gathered: Aligned::zeros(d_out * (1 + moments) * triangle_len(m)),
            moment_weights: Aligned::zeros(d_out * moments * triangle_len(m)),
            moment_dots: vec![0.0; n * d_out * moments],
            fresh: true,
            point_sums: vec![0.0; n * (2 * dim + 1)],
            zeros: Aligned::zeros(row),
        }
    }

    /// ψ₁ of point `g`.
    pub fn psi1(&self, g: usize) -> &[f64] {
        &self.psi1[g * row_len(self.m)..][..self.m]
    }

    /// ξ_q of point `g`.
    pub fn xi(&self, g: usize, q: usize) -> &[f64] {
        &self.xi[(g * self.dim + q) * row_len(self.m)..][..self.m]
    }

    /// Ψ₂ A_d of point `g`, after [`EqSweep::backward`].
    pub fn psi2_a(&self, g: usize, d: usize) -> &[f64] {
        &self.psi2_a[(g * self.d_out + d) * row_len(self.m)..][..self.m]
    }

    /// Ψ₂ of point `g` as a packed triangle.
    #[cfg(test)]
    fn psi2(&self, g: usize) -> &[f64] {
        &self.psi2[g * triangle_len(self.m)..][..tri::packed_len(self.m)]
    }

    /// The inducing inputs.
    fn inducing(&self, tables: &PsiTables) -> Centres {
        let stride = row_len(self.m);
        assert!(tables.points.len() >= self.dim * stride, "the tables belong to this layer");
        Centres { at: tables.points.as_ptr(), stride, len: self.m, dim: self.dim }
    }

    /// The midpoints of their pairs.
    fn midpoints(&self, tables: &PsiTables) -> Centres {
        let stride = triangle_len(self.m);
        assert!(tables.midpoints.len() >= self.dim * stride, "the tables belong to this layer");
        Centres { at: tables.midpoints.as_ptr(), stride, len: tri::packed_len(self.m), dim: self.dim }
    }

    /// ψ₁, ξ and Ψ₂ of the first `n` rows of the input, and ⟨B_d, Ψ₂⟩ into `dots` (points × outputs).
    pub fn forward(&mut self, law: &Eq, tables: &PsiTables, b: &Mat, input: (&Mat, &Mat, usize), dots: &mut Mat) {
        let (mean, var, n) = input;
        let (len, row, d_out) = (tri::packed_len(self.m), row_len(self.m), self.d_out);
        assert!(0 < n && n * d_out <= self.dots.len() && mean.rows() >= n && var.rows() >= n, "room for the points");
        assert_eq!((law.dim_in(), b.rows()), (self.dim, d_out), "one lengthscale per input, one triangle per output");
        assert!(b.cols() >= len + PAD && tables.pairs.len() >= len + PAD, "tables are padded");
        self.points = if n == 1 { Points::One } else { Points::Quads(n.div_ceil(QUAD)) };
        let points = self.points;
        wide(|| {
            self.of_psi1.fill(law, law.signal_var.ln(), 1.0, None, input);
            self.of_psi2.fill(law, 0.0, 2.0, Some(tables.z.row(0)), input);
        });
        let (inducing, midpoints) = (self.inducing(tables), self.midpoints(tables));
        let of_psi1 = ExpSweep {
            points,
            centres: inducing,
            widths: self.of_psi1.widths(),
            table: self.zeros.as_ptr(),
            out: Rows { at: self.psi1.as_mut_ptr(), stride: row },
            weights: None,
            dots: &mut [],
        };
        // SAFETY: every table and every row of a point has PAD numbers past its last centre.
        unsafe { run(of_psi1) };
        let of_psi2 = ExpSweep {
            points,
            centres: midpoints,
            widths: self.of_psi2.widths(),
            table: tables.pairs.as_ptr(),
            out: Rows { at: self.psi2.as_mut_ptr(), stride: triangle_len(self.m) },
            weights: Some(b),
            dots: &mut self.dots,
        };
        // SAFETY: as above; B is zero past its last pair.
        unsafe { run(of_psi2) };
        for g in 0..n {
            for d in 0..d_out {
                dots[(g, d)] = self.dots[place(d_out, d, g)];
            }
            if !self.xi.is_empty() {
                self.fill_xi(law, tables, g, mean.row(g), var.row(g));
            }
        }
    }

    /// ξ_qi = ψ₁ᵢ (z_iq − m_q) v_q/c_q.
    fn fill_xi(&mut self, law: &Eq, tables: &PsiTables, g: usize, mean: &[f64], var: &[f64]) {
        let (m, row) = (self.m, row_len(self.m));
        for q in 0..self.dim {
            let (at, ratio) = (mean[q], var[q] / (law.lengthscale[q] * law.lengthscale[q] + var[q]));
            let (psi1, z) = (&self.psi1[g * row..][..m], &tables.points[q * row..][..m]);
            let xi = self.xi[(g * self.dim + q) * row..][..m].iter_mut().zip(psi1.iter().zip(z));
            wide(|| xi.for_each(|(xi, (psi1, z))| *xi = psi1 * (z - at) * ratio));
        }
    }

    /// The adjoint for `bar` and for coefficients `coef` (points × outputs) of the ⟨B_d, Ψ₂⟩: adds ∂/∂(input moments) to
    /// `input_bar` and leaves Ψ₂ A behind; what belongs to the kernel goes to `sums`, in part only at
    /// [`EqSweep::end_block`].
    #[expect(clippy::too_many_arguments, reason = "the arguments of `forward`, its adjoint, and what receives it")]
    pub fn backward(
        &mut self,
        law: &Eq,
        tables: &PsiTables,
        (a, b): (&Mat, &Mat),
        (mean, var, n): (&Mat, &Mat, usize),
        (bar, coef): (&GroupBar, &Mat),
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
    ) {
        let (m, d_out, row) = (self.m, self.d_out, row_len(self.m));
        assert_eq!((b.rows(), a.rows(), coef.cols()), (d_out, d_out, d_out), "one of each per output");
        assert!(n <= self.points.rows() && coef.rows() >= n, "the group of the forward pass");
        assert!(b.cols() >= tri::packed_len(m) + PAD, "triangles are padded");
        assert!(sums.points.len() >= self.dim * row, "sums are padded");

        for d in 0..d_out {
            self.a[d * row..][..m].copy_from_slice(a.row(d));
        }
        for g in 0..n {
            let (parts, out) = ((&mut self.columns, &mut self.rows), &mut self.psi2_a[g * d_out * row..]);
            multiply(m, (&self.psi2[g * triangle_len(m)..], Diagonal::Once), &self.a, parts, out);
        }

        self.gather(tables, b, coef, n);
        for g in 0..n {
            match self.is_narrow() {
                true => self.moments(g, coef.row(g)),
                false => self.pull(tables, g, mean.row(g), &mut sums.points),
            }
            let input = InputBar { mean: input_bar.0.row_mut(g), var: input_bar.1.row_mut(g) };
            self.finish_psi2(law, g, var.row(g), input, &mut sums.grad.params);
        }

        self.psi1_levers(tables, bar, n, sums);
        for g in 0..n {
            let input = InputBar { mean: input_bar.0.row_mut(g), var: input_bar.1.row_mut(g) };
            self.finish_psi1(law, g, bar.psi0[g], var.row(g), input, &mut sums.grad.params);
            if !self.xi.is_empty() {
                let input = InputBar { mean: input_bar.0.row_mut(g), var: input_bar.1.row_mut(g) };
                self.xi_adjoint(law, tables, g, (mean.row(g), var.row(g)), bar, input, sums);
            }
        }
    }

    fn is_narrow(&self) -> bool {
        !self.moment_weights.is_empty()
    }

    /// Tables that are gathered per output.
    fn gathered_per_output(&self) -> usize {
        if self.is_narrow() { 1 + 2 * self.dim } else { 1 }
    }

    /// The sums over points of the group, added to those of the block, and the dot products for [`EqSweep::moments`]; in a
    /// wide layer F takes the place of Ψ₂.
    fn gather(&mut self, tables: &PsiTables, b: &Mat, coef: &Mat, n: usize) {
        let (dim, d_out, stride, per_output) = (self.dim, self.d_out, triangle_len(self.m), self.gathered_per_output());
        let is_narrow = self.is_narrow();
        if self.fresh && is_narrow {
            self.weigh_moments(tables, b);
        }
        // A point that is there for company has no weight.
        self.coef.fill(0.0);
        for g in 0..n {
            for d in 0..d_out {
                let half_b = 0.5 * coef[(g, d)];
                let at = |t: usize| place(d_out * per_output, d * per_output + t, g);
                self.coef[at(0)] = half_b;
                for q in (0..dim).filter(|_| is_narrow) {
                    let (weight, mean) =
                        (half_b * self.of_psi2.inverse(g, q), self.of_psi2.mean[self.of_psi2.at(g, q)]);
                    self.coef[at(1 + q)] = weight;
                    self.coef[at(1 + dim + q)] = weight * mean;
                }
            }
        }
        let weights = if is_narrow { 2 * dim * d_out } else { 0 };
        let job = GatherSweep {
            points: self.points,
            len: tri::packed_len(self.m),
            psi2: Rows { at: self.psi2.as_mut_ptr(), stride },
            coef: &self.coef,
            gathered: Tables { at: self.gathered.as_mut_ptr(), stride, count: d_out * per_output },
            fresh: std::mem::replace(&mut self.fresh, false),
            weights: Tables { at: self.moment_weights.as_mut_ptr(), stride, count: weights },
            dots: &mut self.moment_dots,
            b: (!is_narrow).then_some(b),
        };
        // SAFETY: triangles and their sums have PAD numbers past the end, and B is zero there.
        unsafe { run(job) };
    }

    /// B c_q and B c_q² of every output and dimension.
    fn weigh_moments(&mut self, tables: &PsiTables, b: &Mat) {
        let (len, stride, dim) = (tri::packed_len(self.m), triangle_len(self.m), self.dim);
        for (weights, b) in self.moment_weights.chunks_exact_mut(2 * dim * stride).zip(b.iter_rows()) {
            let (first, second) = weights.split_at_mut(dim * stride);
            for q in 0..dim {
                let (first, second) = (&mut first[q * stride..][..len], &mut second[q * stride..][..len]);
                let entries = first.iter_mut().zip(second).zip(b.iter().zip(&tables.midpoints[q * stride..][..len]));
                wide(|| {
                    entries.for_each(|((first, second), (b, c))| {
                        *first = b * c;
                        *second = b * c * c;
                    });
                });
            }
        }
    }

    /// The block's sums over points: adds Σ_n b Ψ₂ to `c`, and those that belong to pairs and midpoints to `sums`.
    pub fn end_block(&mut self, tables: &PsiTables, b: &Mat, c: &mut Mat, sums: &mut PsiSums) {
        if std::mem::replace(&mut self.fresh, true) {
            return;
        }
        let (len, stride, dim, per_output) =
            (tri::packed_len(self.m), triangle_len(self.m), self.dim, self.gathered_per_output());
        for (d, (gathered, b)) in self.gathered.chunks_exact(per_output * stride).zip(b.iter_rows()).enumerate() {
            let (half_c, of_midpoints) = gathered.split_at(stride);
            let entries = c.row_mut(d)[..len].iter_mut().zip(&mut sums.pairs[..len]).zip(half_c.iter().zip(b));
            wide(|| {
                entries.for_each(|((c, pair), (half_c, b))| {
                    *c += 2.0 * half_c;
                    *pair += b * half_c;
                });
            });
            for q in (0..dim).filter(|_| !of_midpoints.is_empty()) {
                let inverse = &of_midpoints[q * stride..][..len];
                let shifted = &of_midpoints[(dim + q) * stride..][..len];
                let bar = sums.midpoints[q * stride..][..len].iter_mut().zip(b);
                let entries = bar.zip(inverse.iter().zip(shifted).zip(&tables.midpoints[q * stride..][..len]));
                wide(|| {
                    entries.for_each(|((bar, b), ((inverse, shifted), c))| *bar += b * (c * inverse - shifted));
                });
            }
        }
    }

    /// The sums of a narrow layer's point over pairs, from the moments of F about the origin of the midpoints.
    fn moments(&mut self, g: usize, coef: &[f64]) {
        let (dim, d_out) = (self.dim, self.d_out);
        let half_b = |d: usize| 0.5 * coef[d];
        let total: f64 = (0..d_out).map(|d| half_b(d) * self.dots[place(d_out, d, g)]).sum();
        self.set_sum(g, 0, total);
        for q in 0..dim {
            let moment = |t: usize| -> f64 {
                let dot = |d: usize| self.moment_dots[place(2 * dim * d_out, 2 * dim * d + t, g)];
                (0..d_out).map(|d| half_b(d) * dot(d)).sum()
            };
            let (first, second, mean) = (moment(q), moment(dim + q), self.of_psi2.mean[self.of_psi2.at(g, q)]);
            let about_mean = first - mean * total;
            self.set_sum(g, 1 + q, about_mean);
            self.set_sum(g, 1 + dim + q, second - mean * (first + about_mean));
        }
    }

    /// The adjoint of ψ₁ by ω = ψ̄₁∘ψ₁ + Σ_q ξ̄_q∘ξ_q = ∂F/∂log ψ₁.
    fn psi1_levers(&mut self, tables: &PsiTables, bar: &GroupBar, n: usize, sums: &mut PsiSums) {
        let (m, dim, row) = (self.m, self.dim, row_len(self.m));
        for g in 0..n {
            let omega = &mut self.omega[g * row..][..row];
            let factors = omega.iter_mut().zip(self.psi1[g * row..].iter().zip(bar.psi1_padded(g)));
            wide(|| factors.for_each(|(omega, (psi1, bar))| *omega = psi1 * bar));
            if !self.xi.is_empty() {
                for q in 0..dim {
                    let xi = &self.xi[(g * dim + q) * row..][..m];
                    let factors = omega.iter_mut().zip(xi.iter().zip(bar.xi(g, q)));
                    wide(|| factors.for_each(|(omega, (xi, bar))| *omega += xi * bar));
                }
            }
        }
        self.omega[n * row..self.points.rows() * row].fill(0.0);
        let job = LeverSweep {
            points: self.points,
            centres: self.inducing(tables),
            mean: &self.of_psi1.mean,
            inverse: &self.of_psi1.inverse,
            f: Rows { at: self.omega.as_mut_ptr(), stride: row },
            sums: &mut self.point_sums,
            centres_bar: sums.points.as_mut_ptr(),
        };
        // SAFETY: every table and every row of a point has PAD numbers past its last centre; ω is zero there because ψ̄₁ is.
        unsafe { run(job) };
    }

    /// The sums of a wide layer's point over pairs, row by row of F instead of pair by pair: two operations a pair and dimension
    /// instead of five, but rows have tails. With d = z − m, r = F 1 and u = r∘d + F d, where the diagonal of F counts twice,
    ///
    /// ```text
    /// Σ_p F = ½ Σ r      Σ_p F (c − m) = ¼ Σ u      Σ_p F (c − m)² = ¼ Σ d u      and a half of z̄ is −½ u/e
    /// ```
    fn pull(&mut self, tables: &PsiTables, g: usize, mean: &[f64], points_bar: &mut [f64]) {
        let (m, dim, row) = (self.m, self.dim, row_len(self.m));
        let (ones, d) = self.levers.split_at_mut(row);
        ones[..m].fill(1.0);
        for (q, mean) in mean.iter().enumerate() {
            let entries = d[q * row..][..m].iter_mut().zip(&tables.points[q * row..][..m]);
            wide(|| entries.for_each(|(d, z)| *d = z - mean));
        }
        let (parts, triangle) = ((&mut self.columns, &mut self.rows), &self.psi2[g * triangle_len(m)..]);
        multiply(m, (triangle, Diagonal::Twice), &self.levers, parts, &mut self.f_levers);
        self.set_sum(g, 0, 0.5 * sum(&self.f_levers[..m]));
        for q in 0..dim {
            let (r, f) = self.f_levers.split_at(row);
            let job = Pull {
                m,
                d: self.levers[(1 + q) * row..].as_ptr(),
                r: r.as_ptr(),
                f: f[q * row..].as_ptr(),
                scale: 0.5 * self.of_psi2.inverse(g, q),
                bar: points_bar[q * row..][..row].as_mut_ptr(),
            };
            // SAFETY: every row has `row_len` numbers.
            let [first, second] = unsafe { run(job) };
            self.set_sum(g, 1 + q, 0.25 * first);
            self.set_sum(g, 1 + dim + q, 0.25 * second);
        }
    }

    /// From the sums of a point to ∂/∂(input moments) and ∂/∂(parameters), through Ψ₂.
    ///
    /// With F half of ∂/∂log Ψ₂ and d = c − m:
    ///
    /// ```text
    /// m̄ = 4 Σ F d/e      v̄ = (4 Σ F d²/e − 2 Σ F)/e      ℓ̄ = 4 (ℓ Σ F d²/e + v/ℓ Σ F)/e      s̄² = 4 Σ F/s²
    /// ```
    fn finish_psi2(&self, law: &Eq, g: usize, var: &[f64], input: InputBar<'_>, params: &mut [f64]) {
        let (total, dim) = (self.sums_of(g, 0), self.dim);
        for q in 0..dim {
            let (first, second) = (self.sums_of(g, 1 + q), self.sums_of(g, 1 + dim + q));
            let (l, inv_e) = (law.lengthscale[q], self.of_psi2.inverse(g, q));
            input.mean[q] += 4.0 * inv_e * first;
            input.var[q] += inv_e * (4.0 * inv_e * second - 2.0 * total);
            params[q] += 4.0 * inv_e * (l * inv_e * second + total * var[q] / l);
        }
        params[dim] += 4.0 * total / law.signal_var;
    }

    /// The same through ψ₁ and ψ₀, with ω = ∂/∂log ψ₁ and d = z − m.
    ///
    /// ```text
    /// m̄ = Σ ω d/c      v̄ = ½ (Σ ω d²/c − Σ ω)/c      ℓ̄ = (ℓ Σ ω d²/c + v/ℓ Σ ω)/c      s̄² = ψ̄₀ + Σ ω/s²
    /// ```
    fn finish_psi1(&self, law: &Eq, g: usize, psi0_bar: f64, var: &[f64], input: InputBar<'_>, params: &mut [f64]) {
        let (total, dim) = (self.sums_of(g, 0), self.dim);
        for q in 0..dim {
            let (first, second) = (self.sums_of(g, 1 + q), self.sums_of(g, 1 + dim + q));
            let (l, inv_c) = (law.lengthscale[q], 2.0 * self.of_psi1.inverse(g, q));
            input.mean[q] += inv_c * first;
            input.var[q] += 0.5 * inv_c * (inv_c * second - total);
            params[q] += inv_c * (l * inv_c * second + total * var[q] / l);
        }
        params[dim] += psi0_bar + total / law.signal_var;
    }

    /// Row `row` of the sums of point `g`.
    fn sums_of(&self, g: usize, row: usize) -> f64 {
        self.point_sums[place(2 * self.dim + 1, row, g)]
    }

    fn set_sum(&mut self, g: usize, row: usize, value: f64) {
        self.point_sums[place(2 * self.dim + 1, row, g)] = value;
    }

    /// What ξ = ψ₁ d v/c adds beside its share in ω. With δ = ξ̄ ψ₁:
    ///
    /// ```text
    /// m̄ −= Σ δ v/c      v̄ += Σ δ d ℓ²/c²      z̄ += δ v/c      ℓ̄ −= 2 Σ δ d v ℓ/c²
    /// ```
    #[expect(clippy::too_many_arguments, reason = "the arguments of `backward` for one point")]
    fn xi_adjoint(
        &self,
        law: &Eq,
        tables: &PsiTables,
        g: usize,
        (mean, var): (&[f64], &[f64]),
        bar: &GroupBar,
        input: InputBar<'_>,
        sums: &mut PsiSums,
    ) {
        let (m, row) = (self.m, row_len(self.m));
        let psi1 = self.psi1(g);
        for q in 0..self.dim {
            let (l, v, at, xi_bar) = (law.lengthscale[q], var[q], mean[q], bar.xi(g, q));
            let (z, z_bar) = (&tables.points[q * row..][..m], &mut sums.points[q * row..][..m]);
            let c = l * l + v;
            let (direct, lever) = wide(|| {
                // The sums for Z are negative and half, as those of `LeverSweep`.
                for ((z_bar, bar), psi1) in z_bar.iter_mut().zip(xi_bar).zip(psi1) {
                    *z_bar -= 0.5 * bar * psi1 * v / c;
                }
                let direct = lane_sum(m, |i| xi_bar[i] * psi1[i]);
                (direct, lane_sum(m, |i| xi_bar[i] * psi1[i] * (z[i] - at)))
            });
            input.mean[q] -= direct * v / c;
            input.var[q] += lever * l * l / (c * c);
            sums.grad.params[q] -= 2.0 * lever * v * l / (c * c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{KernelGrad, Psi};
    use deepgp_oracle::{Tolerance, assert_all_close};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Mat {
        Mat::from_fn(rows, cols, |_, _| 2.0 * rng.random::<f64>() - 1.0)
    }

    /// Sweeps give what the plain law gives, for sizes on both sides of every vector, strip and group length.
    #[test]
    fn a_sweep_equals_the_plain_law() {
        crate::simd::forced::on_each(|_| compare_with_the_plain_law());
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
        ];
        // Near zero, and far from it in lengthscales.
        for ((m, dim, d_out, n, xi), offset) in sizes.map(|s| (s, 0.0)).into_iter().chain([((50, 2, 1, 7, true), 1e3)])
        {
            let law = Eq { lengthscale: (0..dim).map(|_| 0.5 + rng.random::<f64>()).collect(), signal_var: 1.3 };
            let (mut z, mut mean) = (random(m, dim, &mut rng), random(n, dim, &mut rng));
            z.as_mut_slice().iter_mut().chain(mean.as_mut_slice()).for_each(|v| *v += offset);
            let var = Mat::from_fn(n, dim, |_, _| 0.1 + rng.random::<f64>());
            let (a, coef) = (random(d_out, m, &mut rng), random(n, d_out, &mut rng));
            let packed = tri::packed_len(m);
            let mut b = Mat::zeros(d_out, triangle_len(m));
            (0..d_out).for_each(|d| b.row_mut(d)[..packed].fill_with(|| rng.random::<f64>() - 0.5));
            let mut group_bar = GroupBar::zeros(n, m, dim, xi);
            for g in 0..n {
                group_bar.psi0[g] = rng.random();
                group_bar.psi1(g).fill_with(|| rng.random::<f64>() - 0.5);
                (0..dim).filter(|_| xi).for_each(|q| group_bar.xi_mut(g, q).fill_with(|| rng.random::<f64>() - 0.5));
            }
            let mut tables = PsiTables::default();
            law.prepare(&z, &mut tables);

            let mut sweep = EqSweep::new(n, m, dim, d_out, xi);
            let mut dots = Mat::zeros(n, d_out);
            sweep.forward(&law, &tables, &b, (&mean, &var, n), &mut dots);
            // F takes the place of Ψ₂ on the way back.
            let psi2: Vec<Vec<f64>> = (0..n).map(|g| sweep.psi2(g).to_vec()).collect();
            let mut c = Mat::zeros(d_out, triangle_len(m));
            let (mut mean_bar, mut var_bar) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
            let mut sums = PsiSums::zeros(m, dim, dim + 1);
            let input = (&mean, &var, n);
            let bars = (&mut mean_bar, &mut var_bar);
            sweep.backward(&law, &tables, (&a, &b), input, (&group_bar, &coef), bars, &mut sums);
            sweep.end_block(&tables, &b, &mut c, &mut sums);

            let mut plain_c = vec![vec![0.0; packed]; d_out];
            let (mut plain_mean, mut plain_var) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
            let mut plain_sums = PsiSums::zeros(m, dim, dim + 1);
            for g in 0..n {
                let (mut psi, mut bar) = (Psi::zeros(m, dim, xi), Psi::zeros(m, dim, xi));
                law.psi(&tables, mean.row(g), var.row(g), &mut psi);
                assert_all_close("ψ₁", sweep.psi1(g), &psi.psi1, Tolerance::Rounding);
                assert_all_close("Ψ₂", &psi2[g], &psi.psi2, Tolerance::Rounding);
                bar.psi0 = group_bar.psi0[g];
                bar.psi1.copy_from_slice(group_bar.psi1(g));
                for q in (0..dim).filter(|_| xi) {
                    assert_all_close("ξ", sweep.xi(g, q), psi.xi.row(q), Tolerance::Rounding);
                    bar.xi.row_mut(q).copy_from_slice(group_bar.xi(g, q));
                }
                for d in 0..d_out {
                    let dot: f64 = b.row(d).iter().zip(&psi.psi2).map(|(b, p)| b * p).sum();
                    assert_all_close("⟨B, Ψ₂⟩", &[dots[(g, d)]], &[dot], Tolerance::Rounding);
                    let mut y = vec![0.0; m];
                    tri::packed_mul(&psi.psi2, a.row(d), &mut y);
                    assert_all_close("Ψ₂ A", sweep.psi2_a(g, d), &y, Tolerance::Rounding);
                    for p in 0..packed {
                        plain_c[d][p] += coef[(g, d)] * psi.psi2[p];
                        bar.psi2[p] += coef[(g, d)] * b[(d, p)];
                    }
                }
                let input = InputBar { mean: plain_mean.row_mut(g), var: plain_var.row_mut(g) };
                law.psi_adjoint(&tables, mean.row(g), var.row(g), &mut psi, &bar, input, &mut plain_sums);
            }
            for (c, plain) in c.iter_rows().zip(&plain_c) {
                assert_all_close("C̄", &c[..packed], plain, Tolerance::Rounding);
            }
            assert_all_close("m̄", mean_bar.as_slice(), plain_mean.as_slice(), Tolerance::Rounding);
            assert_all_close("v̄", var_bar.as_slice(), plain_var.as_slice(), Tolerance::Rounding);
            let (mut grad, mut plain) = (KernelGrad::zeros(m, dim, dim + 1), KernelGrad::zeros(m, dim, dim + 1));
            law.finish(&tables, &sums, &mut grad);
            law.finish(&tables, &plain_sums, &mut plain);
            assert_all_close("z̄", grad.z.as_slice(), plain.z.as_slice(), Tolerance::Rounding);
            assert_all_close("parameters", &grad.params, &plain.params, Tolerance::Rounding);
        }
    }

    /// Groups of one block leave what blocks of one group leave.
    #[test]
    fn groups_of_a_block_add_up() {
        let (m, dim, n, mut rng) = (20, 2, 6, ChaCha8Rng::seed_from_u64(5));
        let law = Eq::isotropic(dim, 0.8, 1.3);
        let (mut tables, packed) = (PsiTables::default(), tri::packed_len(m));
        law.prepare(&random(m, dim, &mut rng), &mut tables);
        let groups: [(Mat, Mat, Mat); 3] = std::array::from_fn(|_| {
            let var = Mat::from_fn(n, dim, |_, _| 0.1 + rng.random::<f64>());
            (random(n, dim, &mut rng), var, random(n, 1, &mut rng))
        });
        let (a, mut b) = (random(1, m, &mut rng), Mat::zeros(1, triangle_len(m)));
        b.as_mut_slice()[..packed].fill_with(|| rng.random::<f64>() - 0.5);
        let run = |groups_per_block: usize| {
            let (mut sweep, mut dots) = (EqSweep::new(n, m, dim, 1, false), Mat::zeros(n, 1));
            let (mut c, mut sums) = (Mat::zeros(1, triangle_len(m)), PsiSums::zeros(m, dim, dim + 1));
            for block in groups.chunks(groups_per_block) {
                for (mean, var, coef) in block {
                    sweep.forward(&law, &tables, &b, (mean, var, n), &mut dots);
                    let bars = (&mut Mat::zeros(n, dim), &mut Mat::zeros(n, dim));
                    let bar = &GroupBar::zeros(n, m, dim, false);
                    sweep.backward(&law, &tables, (&a, &b), (mean, var, n), (bar, coef), bars, &mut sums);
                }
                sweep.end_block(&tables, &b, &mut c, &mut sums);
            }
            let mut grad = KernelGrad::zeros(m, dim, dim + 1);
            law.finish(&tables, &sums, &mut grad);
            (c, grad)
        };
        let ((c, grad), (c_of_three, grad_of_three)) = (run(1), run(3));
        assert_all_close("C̄", c_of_three.as_slice(), c.as_slice(), Tolerance::Rounding);
        assert_all_close("z̄", grad_of_three.z.as_slice(), grad.z.as_slice(), Tolerance::Rounding);
        assert_all_close("parameters", &grad_of_three.params, &grad.params, Tolerance::Rounding);
    }
}
