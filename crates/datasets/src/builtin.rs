//! Built-in data: generated from a formula and a seed, the same on every machine.
//!
//! Inputs are uniform on the stated ranges; targets are the formula plus noise of the stated standard deviation.

use deepgp_numerics::linalg::Mat;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use std::f64::consts::PI;

/// `n_data` points of a step: one input, one output.
///
/// ```text
/// f(x) = 1[x ≥ 0] − 1[x < 0]          x ∈ [−1, 1]
/// ```
/// A plain GP with a smooth kernel rings at the jump; a deep one can bend its inputs around it.
pub fn step(n_data: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    generate(n_data, &[(-1.0, 1.0)], noise_std, seed, |x| if x[0] < 0.0 { -1.0 } else { 1.0 })
}

/// `n_data` points of a sine whose frequency jumps fivefold half way: one input, one output.
///
/// ```text
/// f(x) = sin(4πx) for x < ½,  sin(20πx) for x ≥ ½          x ∈ [0, 1]
/// ```
/// The function is continuous; no single lengthscale suits both halves.
pub fn sine_jump(n_data: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    generate(n_data, &[(0.0, 1.0)], noise_std, seed, |x| (if x[0] < 0.5 { 4.0 } else { 20.0 } * PI * x[0]).sin())
}

/// `n_data` points of a ridge with a sharp crest along a curve: two inputs, one output.
///
/// ```text
/// f(x) = exp(−5 |x₂ − ½ sin πx₁|)          x ∈ [−1, 1]²
/// ```
/// No scaling of the two inputs makes it simple; a bend of them does.
pub fn ridge(n_data: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    generate(n_data, &[(-1.0, 1.0); 2], noise_std, seed, |x| (-5.0 * (x[1] - 0.5 * (PI * x[0]).sin()).abs()).exp())
}

/// `n_data` points of a smooth function of `dim` inputs, for timing at any size: one output.
///
/// ```text
/// f(x) = Σ_q sin(q + 2 x_q)/√D          x ∈ [−√3, √3]^D, so that inputs have variance 1
/// ```
pub fn ripple(n_data: usize, dim: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    let ranges = vec![(-3.0_f64.sqrt(), 3.0_f64.sqrt()); dim];
    generate(n_data, &ranges, noise_std, seed, |x| {
        x.iter().enumerate().map(|(q, x)| (q as f64 + 2.0 * x).sin()).sum::<f64>() / (dim as f64).sqrt()
    })
}

/// `n_data` points of a function of ten inputs of which five matter: one output.
///
/// ```text
/// f(x) = 10 sin(π x₁ x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅          x ∈ [0, 1]¹⁰
/// ```
/// Its deviation is about 4.9. Reference: Friedman (1991), Annals of Statistics 19(1).
pub fn friedman(n_data: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    generate(n_data, &[(0.0, 1.0); 10], noise_std, seed, |x| {
        10.0 * (PI * x[0] * x[1]).sin() + 20.0 * (x[2] - 0.5).powi(2) + 10.0 * x[3] + 5.0 * x[4]
    })
}

/// Deviation of the noise of [`impact`] at a time, in units of its largest one.
///
/// ```text
/// s(x) = 0.04 + 0.96/(1 + exp(12 − x))
/// ```
pub fn impact_noise(x: f64) -> f64 {
    0.04 + 0.96 / (1.0 + (12.0 - x).exp())
}

/// `n_data` points of an acceleration after an impact, whose noise is small before it and large after it: one input,
/// one output, made to resemble the motorcycle data of Silverman (1985).
///
/// ```text
/// f(x) = −120 exp(−(x − 20)²/50) + 50 exp(−(x − 32)²/50)          x ∈ [0, 60]
/// y = f(x) + noise_std s(x) ε,  ε ~ N(0, 1)
/// ```
/// with s of [`impact_noise`].
pub fn impact(n_data: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    let bump = |x: f64, at: f64| (-(x - at).powi(2) / 50.0).exp();
    let noise = |x: &[f64]| noise_std * impact_noise(x[0]);
    generate_with(n_data, &[(0.0, 60.0)], noise, seed, |x| -120.0 * bump(x[0], 20.0) + 50.0 * bump(x[0], 32.0))
}

/// Ranges of the inputs of [`borehole_flow`]: r_w, r, T_u, H_u, T_l, H_l, L, K_w.
pub const BOREHOLE_RANGES: [(f64, f64); 8] = [
    (0.05, 0.15),
    (100.0, 50_000.0),
    (63_070.0, 115_600.0),
    (990.0, 1110.0),
    (63.1, 116.0),
    (700.0, 820.0),
    (1120.0, 1680.0),
    (9855.0, 12_045.0),
];

/// Flow of water through a borehole, in m³ a year: the standard test function of emulation with eight inputs.
///
/// ```text
/// f = 2π T_u (H_u − H_l) / (ln(r/r_w) (1 + 2 L T_u/(ln(r/r_w) r_w² K_w) + T_u/T_l))
/// ```
/// r_w radius of the borehole (m), r radius of influence (m), T_u and T_l transmissivity of the upper and lower
/// aquifer (m²/year), H_u and H_l their potentiometric heads (m), L length of the borehole (m), K_w its hydraulic
/// conductivity (m/year); `x` holds them in the order of [`BOREHOLE_RANGES`].
///
/// References: Harper & Gupta (1983); Morris, Mitchell & Ylvisaker (1993), Technometrics 35(3).
pub fn borehole_flow(x: &[f64; 8]) -> f64 {
    let [r_w, r, t_u, h_u, t_l, h_l, l, k_w] = *x;
    let log_ratio = (r / r_w).ln();
    2.0 * PI * t_u * (h_u - h_l) / (log_ratio * (1.0 + 2.0 * l * t_u / (log_ratio * r_w * r_w * k_w) + t_u / t_l))
}

/// `n_data` points of [`borehole_flow`]: eight inputs in their physical units, one output.
pub fn borehole(n_data: usize, noise_std: f64, seed: u64) -> (Mat, Mat) {
    let flow = |x: &[f64]| borehole_flow(&std::array::from_fn(|i| x[i]));
    generate(n_data, &BOREHOLE_RANGES, noise_std, seed, flow)
}

/// Uniform inputs, and targets f(x) + ε with noise of one deviation.
fn generate(n_data: usize, ranges: &[(f64, f64)], noise_std: f64, seed: u64, f: impl Fn(&[f64]) -> f64) -> (Mat, Mat) {
    generate_with(n_data, ranges, |_| noise_std, seed, f)
}

/// Uniform inputs, and targets f(x) + s(x) ε. Row by row, so that a longer set begins with the shorter one.
fn generate_with(
    n_data: usize,
    ranges: &[(f64, f64)],
    noise_std: impl Fn(&[f64]) -> f64,
    seed: u64,
    f: impl Fn(&[f64]) -> f64,
) -> (Mat, Mat) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut x, mut y) = (Mat::zeros(n_data, ranges.len()), Mat::zeros(n_data, 1));
    for n in 0..n_data {
        for (x, (low, high)) in x.row_mut(n).iter_mut().zip(ranges) {
            *x = low + (high - low) * rng.random::<f64>();
        }
        y[(n, 0)] = f(x.row(n)) + noise_std(x.row(n)) * rng.sample::<f64, _>(StandardNormal);
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{MonteCarlo, Tolerance, assert_close};

    #[test]
    fn sets_are_determined_by_their_seed() {
        for make in [step, sine_jump, ridge, borehole, friedman, impact] {
            let (x, y) = make(50, 0.1, 3);
            assert_eq!((x.rows(), y.rows(), y.cols()), (50, 50, 1));
            assert_eq!(make(50, 0.1, 3), (x.clone(), y.clone()));
            assert_ne!(make(50, 0.1, 4).0, x);
            let first: Vec<usize> = (0..20).collect();
            assert_eq!(make(20, 0.1, 3), (x.select_rows(&first), y.select_rows(&first)));
        }
        assert_eq!(step(0, 0.1, 0).0.rows(), 0);
    }

    #[test]
    fn without_noise_the_targets_follow_the_formula() {
        let (x, y) = step(100, 0.0, 1);
        assert!((0..100).all(|n| y[(n, 0)] == x[(n, 0)].signum()));
        let (x, y) = sine_jump(100, 0.0, 1);
        for n in 0..100 {
            let x = x[(n, 0)];
            let expected = if x < 0.5 { (4.0 * PI * x).sin() } else { (20.0 * PI * x).sin() };
            assert_close("sine", y[(n, 0)], expected, Tolerance::Rounding);
        }
        // 1 on the crest, and falling by a factor of e for a fifth beside it.
        let (x, y) = ridge(100, 0.0, 1);
        for n in 0..100 {
            let beside = (x[(n, 1)] - 0.5 * (PI * x[(n, 0)]).sin()).abs();
            assert_close("ridge", y[(n, 0)].ln(), -5.0 * beside, Tolerance::Rounding);
        }
    }

    #[test]
    fn noise_has_the_stated_deviation() {
        let (mut squares, noise_std) = (MonteCarlo::default(), 0.3);
        let (x, y) = step(20_000, noise_std, 2);
        (0..20_000).for_each(|n| squares.push((y[(n, 0)] - x[(n, 0)].signum()).powi(2)));
        assert!(squares.z_score(noise_std * noise_std).abs() < 4.0);
    }

    #[test]
    fn noise_that_varies_has_its_deviation_everywhere() {
        let (x, clean) = impact(20_000, 0.0, 4);
        let (again, y) = impact(20_000, 25.0, 4);
        assert_eq!(x, again);
        let mut squares = MonteCarlo::default();
        (0..20_000).for_each(|n| {
            let noise_std = 25.0 * impact_noise(x[(n, 0)]);
            squares.push(((y[(n, 0)] - clean[(n, 0)]) / noise_std).powi(2));
        });
        assert!(squares.z_score(1.0).abs() < 4.0);
        assert!(impact_noise(0.0) < 0.05 && impact_noise(60.0) > 0.99);
    }

    #[test]
    fn borehole_by_hand() {
        // ln(r/r_w) = 1, r_w = 1, K_w = 2 L: 2π T_u ΔH/(1 + T_u + T_u/T_l)
        let x = [1.0, 1.0_f64.exp(), 3.0, 5.0, 1.5, 1.0, 0.5, 1.0];
        assert_close("flow", borehole_flow(&x), 2.0 * PI * 3.0 * 4.0 / (1.0 + 3.0 + 2.0), Tolerance::Rounding);
    }

    #[test]
    fn borehole_has_its_known_size() {
        // Over the ranges the flow lies between about 8 and 310 m³ a year.
        let (x, y) = borehole(2000, 0.0, 0);
        for n in 0..2000 {
            assert!((5.0..350.0).contains(&y[(n, 0)]));
            assert!(x.row(n).iter().zip(BOREHOLE_RANGES).all(|(v, (low, high))| (low..=high).contains(v)));
        }
    }
}
