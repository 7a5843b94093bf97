//! One suite for every kernel: values, expectations, limits and the adjoint of each, against independent instruments.

mod common;

use common::kernels::{eq, is_approximate, linear, matern};
use deepgp::kernel::{
    Eq, GaussianInput, InputBar, Kernel, KernelGrad, KernelScratch, KernelTables, Law, Matern, PointSums, Psi, PsiGrad,
    Smoothness, SpectralMixture, Sum,
};
use deepgp::param::Parameters;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::{Mat, symmetric_eigen, tri};
use deepgp_oracle::{Tolerance, assert_all_close, assert_close, gradient, normal_expectation};
use proptest::prelude::*;

// ---------------------------------------------------------------------------------------------------------------------
// Samples

/// Numbers for a test, from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        low + (high - low) * (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn vec(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        (0..n).map(|_| self.uniform(low, high)).collect()
    }

    fn mat(&mut self, rows: usize, cols: usize, low: f64, high: f64) -> Mat {
        Mat::from_fn(rows, cols, |_, _| self.uniform(low, high))
    }
}

/// The kernels of the registry.
fn samples(dim: usize, draw: &mut Draw) -> Vec<Kernel> {
    let kernels = common::kernels::kernels(dim, &mut |low, high| draw.uniform(low, high));
    kernels.into_iter().map(|(_, kernel)| kernel).collect()
}

/// How well differences see a derivative. The third derivative of a Matérn 3/2 law jumps at r = 0, so that a difference
/// across it with steps of 2e-3 is wrong by about the square of the step.
fn difference_tolerance(kernel: &Kernel) -> Tolerance {
    match kernel {
        Kernel::Matern(Matern { smoothness: Smoothness::ThreeHalves, .. }) => Tolerance::AcrossKink,
        _ => Tolerance::Gradient,
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Instruments

/// Natural parameter values in order.
fn natural(kernel: &Kernel) -> Vec<f64> {
    let mut values = Vec::new();
    kernel.visit(&mut |b| values.extend_from_slice(b.values));
    values
}

/// The kernel with other natural parameter values.
fn with_natural(kernel: &Kernel, values: &[f64]) -> Kernel {
    let (mut kernel, mut at) = (kernel.clone(), 0);
    kernel.visit_mut(&mut |b| {
        let n = b.values.len();
        b.values.copy_from_slice(&values[at..at + n]);
        at += n;
    });
    kernel
}

fn like(values: &[f64], shape: &Mat) -> Mat {
    Mat::from_fn(shape.rows(), shape.cols(), |i, j| values[i * shape.cols() + j])
}

fn inner(a: &Mat, b: &Mat) -> f64 {
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a * b).sum()
}

fn cross(kernel: &Kernel, x: &Mat, z: &Mat) -> Mat {
    let mut k = Mat::default();
    kernel.cross(x, z, &mut k);
    k
}

/// k(x, z) of two points.
fn value(kernel: &Kernel, x: &[f64], z: &[f64]) -> f64 {
    let row = |v: &[f64]| Mat::from_fn(1, v.len(), |_, q| v[q]);
    cross(kernel, &row(x), &row(z))[(0, 0)]
}

fn psi(kernel: &Kernel, z: &Mat, mean: &[f64], var: &[f64], with_xi: bool) -> Psi {
    let (mut tables, mut psi) = (KernelTables::default(), Psi::zeros(z.rows(), z.cols(), with_xi));
    kernel.prepare(z, &mut tables);
    kernel.psi(&tables, GaussianInput { mean, var }, &mut psi, &mut KernelScratch::default());
    psi
}

/// A linear functional of the expectations.
fn functional(psi: &Psi, bar: &Psi) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    bar.psi0 * psi.psi0 + dot(&bar.psi1, &psi.psi1) + dot(&bar.psi2, &psi.psi2) + inner(&bar.xi, &psi.xi)
}

fn random_bar(draw: &mut Draw, m: usize, dim: usize, with_xi: bool) -> Psi {
    let mut bar = Psi::zeros(m, dim, with_xi);
    bar.psi0 = draw.uniform(-1.0, 1.0);
    bar.psi1 = draw.vec(m, -1.0, 1.0);
    bar.psi2 = draw.vec(tri::packed_len(m), -1.0, 1.0);
    if with_xi {
        bar.xi = draw.mat(dim, m, -1.0, 1.0);
    }
    bar
}

/// ∂ℒ/∂(mean, var, Z, parameters), one after the other, of the functional `bar`; the point is given `copies` times.
fn psi_gradient(kernel: &Kernel, z: &Mat, mean: &[f64], var: &[f64], bar: &Psi, copies: usize) -> Vec<f64> {
    let (m, dim) = (z.rows(), z.cols());
    let (mut tables, mut scratch) = (KernelTables::default(), KernelScratch::default());
    kernel.prepare(z, &mut tables);
    let (mut sums, input) = (kernel.zero_sums(m), GaussianInput { mean, var });
    let (mut mean_bar, mut var_bar) = (vec![0.0; dim], vec![0.0; dim]);
    let mut psi = Psi::zeros(m, dim, bar.wants_xi());
    for _ in 0..copies {
        let mut block = kernel.zero_sums(m);
        kernel.psi(&tables, input, &mut psi, &mut scratch);
        let input_bar = InputBar { mean: &mut mean_bar, var: &mut var_bar };
        let grad = PsiGrad { input: input_bar, kernel: block.grad_mut() };
        kernel.psi_adjoint(&tables, input, &mut psi, bar, grad, &mut scratch);
        sums.add(&block);
    }
    let mut grad = KernelGrad::zeros(m, dim, kernel.n_params());
    kernel.finish(&tables, &sums, &mut grad, &mut scratch);
    [mean_bar, var_bar, grad.z.as_slice().to_vec(), grad.params].concat()
}

// ---------------------------------------------------------------------------------------------------------------------
// The suite

fn check_gram(kernel: &Kernel, z: &Mat) {
    let k = cross(kernel, z, z);
    assert_all_close("K = Kᵀ", k.as_slice(), k.transpose().as_slice(), Tolerance::Rounding);
    for i in 0..z.rows() {
        assert_close("diagonal of K", k[(i, i)], kernel.diag(z.row(i)), Tolerance::Rounding);
    }
    let (values, _) = symmetric_eigen(&k).expect("eigenvalues of a small symmetric matrix");
    assert!(values[0] >= -1e-12 * values[values.len() - 1].max(1.0), "{kernel:?}: eigenvalues {values:?}");
}

fn check_cross_adjoint(kernel: &Kernel, x: &Mat, z: &Mat, k_bar: &Mat) {
    let tolerance = difference_tolerance(kernel);
    let (mut grad, mut x_bar) =
        (KernelGrad::zeros(z.rows(), z.cols(), kernel.n_params()), Mat::zeros(x.rows(), x.cols()));
    kernel.cross_adjoint(x, z, &cross(kernel, x, z), k_bar, Some(&mut x_bar), &mut grad);
    let by_x = gradient(|v| inner(k_bar, &cross(kernel, &like(v, x), z)), x.as_slice());
    assert_all_close("cross by x", x_bar.as_slice(), &by_x, tolerance);
    let by_z = gradient(|v| inner(k_bar, &cross(kernel, x, &like(v, z))), z.as_slice());
    assert_all_close("cross by z", grad.z.as_slice(), &by_z, tolerance);
    let by_params = gradient(|v| inner(k_bar, &cross(&with_natural(kernel, v), x, z)), &natural(kernel));
    assert_all_close("cross by parameters", &grad.params, &by_params, tolerance);

    let mut without_x = KernelGrad::zeros(z.rows(), z.cols(), kernel.n_params());
    kernel.cross_adjoint(x, z, &cross(kernel, x, z), k_bar, None, &mut without_x);
    assert_all_close("cross without x̄", &without_x.params, &grad.params, Tolerance::Rounding);

    // The form from the tables of the inducing inputs agrees with the plain one.
    let (mut tables, mut k, mut scratch) = (KernelTables::default(), Mat::default(), KernelScratch::default());
    kernel.prepare(z, &mut tables);
    kernel.cross_from_tables(&tables, x, &mut k, &mut scratch);
    assert_all_close("cross from tables", k.as_slice(), cross(kernel, x, z).as_slice(), Tolerance::Rounding);
    let mut sums = kernel.zero_sums(z.rows());
    kernel.cross_from_tables_adjoint(&tables, x, &k, &mut k_bar.clone(), &mut sums, &mut scratch);
    let mut from_tables = KernelGrad::zeros(z.rows(), z.cols(), kernel.n_params());
    kernel.finish(&tables, &sums, &mut from_tables, &mut scratch);
    assert_all_close("cross from tables by z", from_tables.z.as_slice(), grad.z.as_slice(), Tolerance::Value);
    assert_all_close("cross from tables by parameters", &from_tables.params, &grad.params, Tolerance::Value);
}

fn check_gram_adjoint(kernel: &Kernel, z: &Mat, k_bar: &Mat) {
    let tolerance = difference_tolerance(kernel);
    let mut grad = KernelGrad::zeros(z.rows(), z.cols(), kernel.n_params());
    let k_bar = &Mat::from_fn(z.rows(), z.rows(), |i, j| 0.5 * (k_bar[(i, j)] + k_bar[(j, i)]));
    let (mut tables, mut k) = (KernelTables::default(), Mat::default());
    kernel.prepare(z, &mut tables);
    kernel.gram(&tables, &mut k);
    assert_all_close("Gram", k.as_slice(), cross(kernel, z, z).as_slice(), Tolerance::Rounding);
    kernel.gram_adjoint(&tables, &k, &mut k_bar.clone(), &mut grad, &mut KernelScratch::default());
    let gram = |kernel: &Kernel, z: &Mat| inner(k_bar, &cross(kernel, z, z));
    let by_z = gradient(|v| gram(kernel, &like(v, z)), z.as_slice());
    assert_all_close("Gram by z", grad.z.as_slice(), &by_z, tolerance);
    let by_params = gradient(|v| gram(&with_natural(kernel, v), z), &natural(kernel));
    assert_all_close("Gram by parameters", &grad.params, &by_params, tolerance);
}

fn check_diag_adjoint(kernel: &Kernel, x: &[f64]) {
    let (mut params, mut x_bar) = (vec![0.0; kernel.n_params()], vec![0.0; x.len()]);
    kernel.diag_adjoint(x, -0.7, Some(&mut x_bar), &mut params);
    let by_x = gradient(|v| -0.7 * kernel.diag(v), x);
    assert_all_close("diagonal by x", &x_bar, &by_x, Tolerance::Gradient);
    let by_params = gradient(|v| -0.7 * with_natural(kernel, v).diag(x), &natural(kernel));
    assert_all_close("diagonal by parameters", &params, &by_params, Tolerance::Gradient);
}

fn check_psi_adjoint(kernel: &Kernel, z: &Mat, mean: &[f64], var: &[f64], bar: &Psi) {
    let (m, dim) = (z.rows(), z.cols());
    let at = [mean, var, z.as_slice(), &natural(kernel)].concat();
    let value = |v: &[f64]| {
        let (mean, rest) = v.split_at(dim);
        let (var, rest) = rest.split_at(dim);
        let (z_values, params) = rest.split_at(m * dim);
        let kernel = with_natural(kernel, params);
        2.0 * functional(&psi(&kernel, &like(z_values, z), mean, var, bar.wants_xi()), bar)
    };
    let found = psi_gradient(kernel, z, mean, var, bar, 2);
    let what = format!("expectations of {kernel:?}");
    assert_all_close(&what, &found, &gradient(value, &at), difference_tolerance(kernel));
}

fn check_point_limit(kernel: &Kernel, z: &Mat, mean: &[f64]) {
    let (m, dim) = (z.rows(), z.cols());
    let found = psi(kernel, z, mean, &vec![0.0; dim], true);
    let k: Vec<f64> = (0..m).map(|i| value(kernel, mean, z.row(i))).collect();
    let k_kt = Mat::from_fn(m, m, |i, j| k[i] * k[j]);
    let mut packed = vec![0.0; tri::packed_len(m)];
    tri::pack(&k_kt, &mut packed);
    assert_close("ψ₀ at a point", found.psi0, kernel.diag(mean), Tolerance::Rounding);
    assert_all_close("ψ₁ at a point", &found.psi1, &k, Tolerance::Rounding);
    assert_all_close("Ψ₂ at a point", &found.psi2, &packed, Tolerance::Rounding);
    assert_all_close("ξ at a point", found.xi.as_slice(), &vec![0.0; dim * m], Tolerance::Rounding);
}

/// The expectations by the trapezium rule.
fn check_expectations(kernel: &Kernel, z: &Mat, mean: &[f64], var: &[f64], nodes: usize, tolerance: Tolerance) {
    let (m, dim) = (z.rows(), z.cols());
    let found = psi(kernel, z, mean, var, true);
    let expect = |f: &dyn Fn(&[f64]) -> f64| normal_expectation(f, mean, var, nodes);
    let k = |h: &[f64], i: usize| value(kernel, h, z.row(i));
    let what = |name: &str| format!("{name} of {kernel:?}");
    assert_close(&what("ψ₀"), found.psi0, expect(&|h| kernel.diag(h)), tolerance);
    for i in 0..m {
        assert_close(&what("ψ₁"), found.psi1[i], expect(&|h| k(h, i)), tolerance);
        for j in i..m {
            let at = tri::row_start(m, i) + j - i;
            assert_close(&what("Ψ₂"), found.psi2[at], expect(&|h| k(h, i) * k(h, j)), tolerance);
        }
        for q in 0..dim {
            assert_close(&what("ξ"), found.xi[(q, i)], expect(&|h| (h[q] - mean[q]) * k(h, i)), tolerance);
        }
    }
}

/// A moderate number of cases, the same in every run.
fn cases(n: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn values_and_their_adjoints(dim in 1_usize..=4, m in 1_usize..=6, n in 1_usize..=4, seed: u64) {
        let mut draw = Draw(seed);
        let (x, z) = (draw.mat(n, dim, -2.0, 2.0), draw.mat(m, dim, -2.0, 2.0));
        for kernel in samples(dim, &mut draw) {
            prop_assert_eq!(kernel.check(), Ok(()));
            prop_assert_eq!(kernel.dim_in(), dim);
            check_gram(&kernel, &z);
            check_cross_adjoint(&kernel, &x, &z, &draw.mat(n, m, -1.0, 1.0));
            check_gram_adjoint(&kernel, &z, &draw.mat(m, m, -1.0, 1.0));
            check_diag_adjoint(&kernel, x.row(0));
        }
    }

    #[test]
    fn a_point_has_no_spread(dim in 1_usize..=4, m in 1_usize..=6, seed: u64) {
        let mut draw = Draw(seed);
        let (mean, z) = (draw.vec(dim, -1.0, 1.0), draw.mat(m, dim, -2.0, 2.0));
        for kernel in samples(dim, &mut draw) {
            check_point_limit(&kernel, &z, &mean);
            let bar = random_bar(&mut draw, m, dim, true);
            let at_point = psi_gradient(&kernel, &z, &mean, &vec![0.0; dim], &bar, 1);
            let nearby = psi_gradient(&kernel, &z, &mean, &vec![1e-9; dim], &bar, 1);
            // 1e-9 of variance, or of the kink of a Matérn law √1e-9 of spread
            let near = if is_approximate(&kernel) { Tolerance::Limit(1e-3) } else { Tolerance::Limit(1e-7) };
            assert_all_close("adjoint at a point", &at_point, &nearby, near);
        }
    }

    #[test]
    fn expectations_in_closed_form(dim in 1_usize..=2, m in 1_usize..=4, seed: u64) {
        let mut draw = Draw(seed);
        let (mean, var, z) = (draw.vec(dim, -1.0, 1.0), draw.vec(dim, 0.05, 1.5), draw.mat(m, dim, -2.0, 2.0));
        for kernel in samples(dim, &mut draw).into_iter().filter(|k| !is_approximate(k)) {
            check_expectations(&kernel, &z, &mean, &var, 70, Tolerance::Quadrature);
        }
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn adjoints_of_expectations(dim in 1_usize..=4, m in 1_usize..=6, seed: u64, with_xi: bool) {
        let mut draw = Draw(seed);
        let (mean, var, z) = (draw.vec(dim, -1.0, 1.0), draw.vec(dim, 0.1, 1.0), draw.mat(m, dim, -2.0, 2.0));
        for kernel in samples(dim, &mut draw) {
            check_psi_adjoint(&kernel, &z, &mean, &var, &random_bar(&mut draw, m, dim, with_xi));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Single cases

#[test]
fn expectations_in_three_dimensions() {
    let mut draw = Draw(3);
    let (mean, var, z) = (draw.vec(3, -1.0, 1.0), draw.vec(3, 0.05, 0.8), draw.mat(2, 3, -1.5, 1.5));
    for kernel in samples(3, &mut draw).into_iter().filter(|k| !is_approximate(k)) {
        check_expectations(&kernel, &z, &mean, &var, 36, Tolerance::Quadrature);
    }
}

/// The errors that `quadrature` states for √v near ℓ, and smaller ones for a narrow input.
#[test]
fn expectations_by_the_fallback() {
    for (dim, nodes, wide, narrow) in [(1, 801, 1e-3, 1e-4), (2, 101, 3e-3, 1e-4)] {
        let mut draw = Draw(4);
        let (mean, z) = (draw.vec(dim, -1.0, 1.0), draw.mat(3, dim, -2.0, 2.0));
        for kernel in samples(dim, &mut draw).into_iter().filter(is_approximate) {
            check_expectations(&kernel, &z, &mean, &vec![0.8; dim], nodes, Tolerance::Limit(wide));
            check_expectations(&kernel, &z, &mean, &vec![0.02; dim], nodes, Tolerance::Limit(narrow));
        }
    }
}

/// Seven and more dimensions use the rule with 2D nodes, which is exact to first order in the variance.
#[test]
fn the_fallback_in_many_dimensions() {
    let dim = 8;
    let mut draw = Draw(5);
    let (mean, z) = (draw.vec(dim, -1.0, 1.0), draw.mat(3, dim, -1.0, 1.0));
    let kernel = matern(dim, Smoothness::FiveHalves, &mut |low, high| draw.uniform(low, high));
    let exact_enough = |var: f64| {
        // E f = f + ½ v Σ f'' + O(v²) for ψ₁, with the second differences of k
        let (found, h) = (psi(&kernel, &z, &mean, &vec![var; dim], false), 1e-3);
        for i in 0..3 {
            let k = |h: &[f64]| value(&kernel, h, z.row(i));
            let mut expected = k(&mean);
            for q in 0..dim {
                let mut moved = [mean.clone(), mean.clone()];
                moved[0][q] += h;
                moved[1][q] -= h;
                expected += 0.5 * var * (k(&moved[0]) + k(&moved[1]) - 2.0 * k(&mean)) / (h * h);
            }
            assert_close("ψ₁ to first order", found.psi1[i], expected, Tolerance::Limit(100.0 * var * var));
        }
    };
    exact_enough(1e-3);
    exact_enough(1e-2);
    for with_xi in [false, true] {
        let bar = random_bar(&mut draw, 3, dim, with_xi);
        check_psi_adjoint(&kernel, &z, &mean, &vec![0.3; dim], &bar);
    }
}

/// Matérn 3/2 away from r = 0, where it is as smooth as any law, to the tolerance of the others.
#[test]
fn matern_away_from_its_kink() {
    for dim in [1, 3] {
        let mut draw = Draw(6);
        let (x, z) = (draw.mat(3, dim, -2.0, -0.5), draw.mat(2, dim, 0.5, 2.0));
        let kernel = matern(dim, Smoothness::ThreeHalves, &mut |low, high| draw.uniform(low, high));
        let k_bar = draw.mat(3, 2, -1.0, 1.0);
        let mut grad = KernelGrad::zeros(2, dim, kernel.n_params());
        kernel.cross_adjoint(&x, &z, &cross(&kernel, &x, &z), &k_bar, None, &mut grad);
        let by_z = gradient(|v| inner(&k_bar, &cross(&kernel, &x, &like(v, &z))), z.as_slice());
        let by_params = gradient(|v| inner(&k_bar, &cross(&with_natural(&kernel, v), &x, &z)), &natural(&kernel));
        assert_all_close("Matérn by z", grad.z.as_slice(), &by_z, Tolerance::Gradient);
        assert_all_close("Matérn by parameters", &grad.params, &by_params, Tolerance::Gradient);
    }
}

/// One component that does not oscillate is the exponentiated quadratic law, as a mixture and as the only part of a
/// sum.
#[test]
fn one_component_without_frequency_is_eq() {
    for dim in 1..=4 {
        let mut draw = Draw(7);
        let (m, eq) = (5, Eq { lengthscale: draw.vec(dim, 0.5, 2.0), signal_var: 1.3 });
        let mixture = SpectralMixture {
            weight: vec![eq.signal_var],
            frequency: Mat::zeros(1, dim),
            lengthscale: Mat::from_fn(1, dim, |_, q| eq.lengthscale[q]),
        };
        let (mean, var, z) = (draw.vec(dim, -1.0, 1.0), draw.vec(dim, 0.01, 2.0), draw.mat(m, dim, -2.0, 2.0));
        let bar = random_bar(&mut draw, m, dim, true);
        let (eq, mixture) = (Kernel::Eq(eq), Kernel::SpectralMixture(mixture));
        let sum = Kernel::Sum(Sum { parts: vec![eq.clone()] });
        let expected = psi(&eq, &z, &mean, &var, true);
        let expected_gradient = psi_gradient(&eq, &z, &mean, &var, &bar, 1);
        for same in [&mixture, &sum] {
            let found = psi(same, &z, &mean, &var, true);
            assert_close("ψ₀", found.psi0, expected.psi0, Tolerance::Rounding);
            assert_all_close("ψ₁", &found.psi1, &expected.psi1, Tolerance::Rounding);
            assert_all_close("Ψ₂", &found.psi2, &expected.psi2, Tolerance::Rounding);
            assert_all_close("ξ", found.xi.as_slice(), expected.xi.as_slice(), Tolerance::Rounding);
        }
        let found = psi_gradient(&sum, &z, &mean, &var, &bar, 1);
        assert_all_close("adjoint of a sum", &found, &expected_gradient, Tolerance::Rounding);

        // The mixture's parameters are (w, ω, ℓ), those of Eq (ℓ, s²).
        let found = psi_gradient(&mixture, &z, &mean, &var, &bar, 1);
        let (inputs, params) = found.split_at((2 + m) * dim);
        let reordered = [inputs, &params[1 + dim..], &params[..1]].concat();
        assert_all_close("adjoint of a mixture", &reordered, &expected_gradient, Tolerance::Rounding);
        assert_all_close("no slope in ω = 0", &params[1..=dim], &vec![0.0; dim], Tolerance::Rounding);
    }
}

/// Fast oscillations and far inputs underflow to zero; they never overflow.
#[test]
fn extreme_numbers_stay_finite() {
    let mut draw = Draw(8);
    let z = draw.mat(4, 2, -1e3, 1e3);
    for kernel in samples(2, &mut draw) {
        let kernel = match kernel {
            Kernel::SpectralMixture(mut mixture) => {
                mixture.frequency = draw.mat(mixture.weight.len(), 2, -1e4, 1e4);
                Kernel::SpectralMixture(mixture)
            }
            other => other,
        };
        for (mean, var) in [([0.0, 1.0], [0.0, 1e6]), ([1e3, -1e3], [1e-300, 1e-9])] {
            let bar = random_bar(&mut draw, 4, 2, true);
            let (found, slopes) =
                (psi(&kernel, &z, &mean, &var, true), psi_gradient(&kernel, &z, &mean, &var, &bar, 1));
            assert!(functional(&found, &bar).is_finite(), "{kernel:?}");
            assert!(slopes.iter().all(|s| s.is_finite()), "{kernel:?}: {slopes:?}");
        }
    }
}

#[test]
fn kernels_survive_a_file() {
    for kernel in samples(3, &mut Draw(9)) {
        let text = serde_json::to_string(&kernel).expect("a kernel is plain data");
        let back: Kernel = serde_json::from_str(&text).expect("what was written can be read");
        let exact = Tolerance::Rounding;
        assert_all_close("parameters", &natural(&back), &natural(&kernel), exact);
        assert_eq!(std::mem::discriminant(&back), std::mem::discriminant(&kernel));
    }
}

/// Every positive parameter of every sample refuses zero, a negative number, NaN and infinity; real ones the last two.
#[test]
fn bad_parameters_are_refused() {
    for kernel in samples(2, &mut Draw(10)) {
        let values = natural(&kernel);
        let mut positive = Vec::new();
        kernel.visit(&mut |b| positive.extend(b.values.iter().map(|_| b.domain == deepgp::param::Domain::Positive)));
        for p in 0..values.len() {
            for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                let mut changed = values.clone();
                changed[p] = bad;
                let found = with_natural(&kernel, &changed).check();
                if positive[p] || !bad.is_finite() {
                    assert!(matches!(found, Err(Error::Parameter { .. })), "{kernel:?}, entry {p} = {bad}: {found:?}");
                } else {
                    assert_eq!(found, Ok(()));
                }
            }
        }
    }
}

#[test]
fn bad_shapes_are_refused() {
    let mut draw = Draw(11);
    let uniform = &mut |low: f64, high: f64| draw.uniform(low, high);
    let (eq_of_2, linear_of_2, linear_of_3) = (eq(2, uniform), linear(2, uniform), linear(3, uniform));
    let refused = |found: Result<()>| assert!(matches!(found, Err(Error::Shape { .. })), "{found:?}");
    refused(Sum { parts: Vec::new() }.check());
    refused(Sum { parts: vec![eq_of_2.clone(), linear_of_3] }.check());
    for (weights, frequency, lengthscale) in
        [(0, (0, 0), (0, 0)), (2, (1, 2), (2, 2)), (2, (2, 2), (1, 2)), (1, (1, 3), (1, 2))]
    {
        let mixture = SpectralMixture {
            weight: vec![1.0; weights],
            frequency: Mat::zeros(frequency.0, frequency.1),
            lengthscale: draw.mat(lengthscale.0, lengthscale.1, 1.0, 2.0),
        };
        refused(mixture.check());
    }
    let inner = Kernel::Sum(Sum { parts: vec![eq_of_2.clone(), linear_of_2] });
    let parts = vec![eq_of_2, inner];
    assert!(matches!(Sum { parts: parts.clone() }.check(), Err(Error::Parameter { entry: Some(1), .. })));
    let flat = Sum::new(parts);
    assert_eq!((flat.parts.len(), flat.check()), (3, Ok(())));
}

/// A stationary law does not know where the origin is, nor do its derivatives.
#[test]
fn derivatives_do_not_depend_on_the_origin() {
    let kernel = Kernel::Eq(Eq { lengthscale: vec![0.7, 1.3], signal_var: 1.2 });
    let here = |rows: usize, shift: f64| Mat::from_fn(rows, 2, |i, q| shift + ((3 * i + 2 * q) as f64).sin());
    let derivatives = |shift: f64| {
        let (x, z) = (here(7, shift), here(5, shift));
        let (mut tables, mut k, mut scratch) = (KernelTables::default(), Mat::default(), KernelScratch::default());
        kernel.prepare(&z, &mut tables);
        kernel.cross_from_tables(&tables, &x, &mut k, &mut scratch);
        let (mut sums, mut k_bar) = (kernel.zero_sums(5), Mat::from_fn(7, 5, |i, j| (i + j) as f64));
        kernel.cross_from_tables_adjoint(&tables, &x, &k, &mut k_bar, &mut sums, &mut scratch);
        let mut grad = KernelGrad::zeros(5, 2, 3);
        kernel.finish(&tables, &sums, &mut grad, &mut scratch);
        kernel.gram(&tables, &mut k);
        let mut k_bar = Mat::from_fn(5, 5, |i, j| (1 + i + j) as f64);
        kernel.gram_adjoint(&tables, &k, &mut k_bar, &mut grad, &mut scratch);
        [grad.params, grad.z.as_slice().to_vec()].concat()
    };
    // Inputs around 2²⁰ are rounded to 2⁻³², so that is what the derivatives may differ by.
    assert_all_close("far away", &derivatives((1 << 20).into()), &derivatives(0.0), Tolerance::Limit(1e-8));
}
