//! The fused expectations equal the plain law.

use super::*;
use crate::kernel::eq::scratch::EqScratch;
use crate::kernel::eq::tables::EqTables;
use crate::kernel::law::Law;
use crate::kernel::products::{GroupBar, GroupGrad, GroupInput, Products};
use crate::kernel::psi::{GaussianInput, InputBar, KernelGrad, Psi, PsiGrad};
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

/// The fused form gives what the plain law gives, for sizes on both sides of the length of every vector, range of rows
/// and group.
#[test]
fn the_fused_form_equals_the_plain_law() {
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
    // Near zero, and far from it in lengthscales; inducing inputs so far from each other that Ψ₂ vanishes; variances so
    // small that powers will do.
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
    let surer = surer.flat_map(|sure| [((50, 2, 1, 16, false), 0.0, 0.5, sure), ((13, 3, 2, 8, true), 0.0, 1.0, sure)]);
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
        let (mut tables, mut scratch) = (EqTables::default(), EqScratch::default());
        law.prepare(&z, &mut tables);

        let shape =
            GroupShape { capacity: n, n_inducing: m, dim_in: dim, dim_out: d_out, want_xi: xi, want_adjoint: true };
        let (mut fused, weights) = (FusedEq::new(shape), Weights { a: &a, b: &b });
        let mut products = Products::zeros(n, dim, d_out, xi);
        fused.forward(&law, &tables, weights, GroupInput { mean: &mean, var: &var, n }, &mut products);
        let form = fused.points[0].form;
        assert_eq!(form == Psi2Form::Guarded, narrow < 0.1, "M = {m}");
        seen.push((form, dim == 2));
        let mut c = vec![Mat::from_fn(m, m, |i, j| if j <= i { f64::NAN } else { 0.0 }); d_out];
        let (mut mean_bar, mut var_bar) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
        let mut sums = law.zero_sums(m);
        let mut found_a_bar = vec![Mat::zeros(n + 1, m); d_out];
        let mut grad =
            GroupGrad { mean: &mut mean_bar, var: &mut var_bar, sums: &mut sums, a: &mut found_a_bar, first_row: 1 };
        fused.backward(&law, weights, GroupBar { psi0: &psi0_bar, products: &bar }, &mut grad);
        assert!(found_a_bar.iter().all(|a_bar| a_bar.row(0) == vec![0.0; m]), "rows before the first stay");
        fused.end_block(&mut c, false);

        let mut plain_c = vec![vec![0.0; packed]; d_out];
        let (mut plain_mean, mut plain_var) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
        let mut plain_grad = KernelGrad::zeros(m, dim, dim + 1);
        for g in 0..n {
            let (mut psi, mut psi_bar) = (Psi::zeros(m, dim, xi), Psi::zeros(m, dim, xi));
            let input = GaussianInput { mean: mean.row(g), var: var.row(g) };
            law.psi(&tables, input, &mut psi, &mut scratch);
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
            let input_bar = InputBar { mean: plain_mean.row_mut(g), var: plain_var.row_mut(g) };
            let grad = PsiGrad { input: input_bar, kernel: &mut plain_grad };
            law.psi_adjoint(&tables, input, &mut psi, &psi_bar, grad, &mut scratch);
        }
        for (c, plain) in c.iter_mut().zip(&plain_c) {
            let mut found = vec![0.0; packed];
            mirror(c, Part::Lower);
            tri::pack(c, &mut found);
            assert_all_close("C̄", &found, plain, Tolerance::Rounding);
        }
        assert_all_close("m̄", mean_bar.as_slice(), plain_mean.as_slice(), Tolerance::Rounding);
        assert_all_close("v̄", var_bar.as_slice(), plain_var.as_slice(), Tolerance::Rounding);
        let mut grad = KernelGrad::zeros(m, dim, dim + 1);
        law.finish(&tables, &sums, &mut grad, &mut scratch);
        assert_all_close("z̄", grad.z.as_slice(), plain_grad.z.as_slice(), Tolerance::Rounding);
        assert_all_close("parameters", &grad.params, &plain_grad.params, Tolerance::Rounding);
    }
    // Every form arises on every instruction set, in two dimensions and in more.
    let by_products = (0..SMALL_POWERS.len()).map(Psi2Form::ByProducts);
    for form in [Psi2Form::Guarded, Psi2Form::Inside].into_iter().chain(by_products) {
        assert!([true, false].iter().all(|two| seen.contains(&(form, *two))), "{form:?}: {seen:?}");
    }
}

/// Groups of one block leave what blocks of one group leave.
#[test]
fn groups_of_a_block_add_up() {
    let (m, dim, n, mut rng) = (20, 2, 6, ChaCha8Rng::seed_from_u64(5));
    let law = Eq::isotropic(dim, 0.8, 1.3);
    let mut tables = EqTables::default();
    law.prepare(&random(m, dim, &mut rng), &mut tables);
    let groups: [(Mat, Mat, Products); 3] = std::array::from_fn(|_| {
        let var = Mat::from_fn(n, dim, |_, _| 0.1 + rng.random::<f64>());
        let mut bar = Products::zeros(n, dim, 1, false);
        bar.quadratic = random(n, 1, &mut rng);
        (random(n, dim, &mut rng), var, bar)
    });
    let (a, b) = (random(1, m, &mut rng), [table(m, &mut rng)]);
    let run = |groups_per_block: usize| {
        let shape =
            GroupShape { capacity: n, n_inducing: m, dim_in: dim, dim_out: 1, want_xi: false, want_adjoint: true };
        let (mut fused, mut out) = (FusedEq::new(shape), Products::zeros(n, dim, 1, false));
        let (mut c, mut sums, weights) = (vec![Mat::zeros(m, m)], law.zero_sums(m), Weights { a: &a, b: &b });
        for block in groups.chunks(groups_per_block) {
            for (mean, var, bar) in block {
                fused.forward(&law, &tables, weights, GroupInput { mean, var, n }, &mut out);
                let mut grad = GroupGrad {
                    mean: &mut Mat::zeros(n, dim),
                    var: &mut Mat::zeros(n, dim),
                    sums: &mut sums,
                    a: &mut [Mat::zeros(n, m)],
                    first_row: 0,
                };
                fused.backward(&law, weights, GroupBar { psi0: &[0.0; 6], products: bar }, &mut grad);
            }
            fused.end_block(&mut c, true);
        }
        let mut grad = KernelGrad::zeros(m, dim, dim + 1);
        law.finish(&tables, &sums, &mut grad, &mut EqScratch::default());
        (c, grad)
    };
    let ((c, grad), (c_of_three, grad_of_three)) = (run(1), run(3));
    assert_all_close("C̄", c_of_three[0].as_slice(), c[0].as_slice(), Tolerance::Rounding);
    assert_all_close("z̄", grad_of_three.z.as_slice(), grad.z.as_slice(), Tolerance::Rounding);
    assert_all_close("parameters", &grad_of_three.params, &grad.params, Tolerance::Rounding);
}
