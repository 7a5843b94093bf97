//! How quickly a layer's functions vary along each of its inputs.

use deepgp::kernel::{Kernel, Smoothness};
use deepgp::layer::Layer;

/// Mean square of ∂f/∂x_q under a layer's prior, for each input q, averaged over outputs.
///
/// ```text
/// E (∂f/∂x_q)² = −∂²k/∂τ_q² at τ = 0, plus W_q² of a linear mean
/// ```
/// With one exponentiated quadratic this is s²/ℓ_q²: in ratios, the usual relevance 1/ℓ_q². The definition holds for
/// every kernel, and the parts of a sum add up.
pub fn mean_square_slopes(layer: &Layer) -> Vec<f64> {
    let mut slopes = vec![0.0; layer.dim_in()];
    add_slopes(&layer.kernel, &mut slopes);
    if let Some(w) = layer.mean.weights() {
        for (q, slope) in slopes.iter_mut().enumerate() {
            *slope += w.row(q).iter().map(|w| w * w).sum::<f64>() / w.cols() as f64;
        }
    }
    slopes
}

/// One over the distance along which a layer's functions change by about their own size, for each input: 1/ℓ_q with one
/// exponentiated quadratic.
pub fn rates(layer: &Layer) -> Vec<f64> {
    let mut slopes = vec![0.0; layer.dim_in()];
    add_slopes(&layer.kernel, &mut slopes);
    let size = match signal_var(&layer.kernel) {
        v if v > 0.0 => v,
        _ => 1.0,
    };
    slopes.iter().map(|s| (s / size).sqrt()).collect()
}

fn add_slopes(kernel: &Kernel, slopes: &mut [f64]) {
    let radial = |slopes: &mut [f64], lengthscale: &[f64], curvature: f64| {
        slopes.iter_mut().zip(lengthscale).for_each(|(s, l)| *s += curvature / (l * l));
    };
    match kernel {
        Kernel::Eq(k) => radial(slopes, &k.lengthscale, k.signal_var),
        // Curvatures of (1 + √3 r) e^{−√3 r} and (1 + √5 r + 5r²/3) e^{−√5 r} at 0.
        Kernel::Matern(k) => {
            let curvature = match k.smoothness {
                Smoothness::ThreeHalves => 3.0,
                Smoothness::FiveHalves => 5.0 / 3.0,
            };
            radial(slopes, &k.lengthscale, k.signal_var * curvature);
        }
        Kernel::Linear(k) => slopes.iter_mut().zip(&k.variance).for_each(|(s, v)| *s += v),
        Kernel::SpectralMixture(k) => {
            for (c, &weight) in k.weight.iter().enumerate() {
                for (q, slope) in slopes.iter_mut().enumerate() {
                    *slope += weight * (k.lengthscale[(c, q)].powi(-2) + k.frequency[(c, q)].powi(2));
                }
            }
        }
        Kernel::Sum(k) => k.parts.iter().for_each(|part| add_slopes(part, slopes)),
    }
}

/// k(0, 0).
fn signal_var(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Eq(k) => k.signal_var,
        Kernel::Matern(k) => k.signal_var,
        Kernel::Linear(_) => 0.0,
        Kernel::SpectralMixture(k) => k.weight.iter().sum(),
        Kernel::Sum(k) => k.parts.iter().map(signal_var).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::kernel::{Eq, Law, Linear, Matern, SpectralMixture, Sum};
    use deepgp::layer::Mean;
    use deepgp_numerics::linalg::Mat;

    /// −∂²k/∂τ_q² by differences, from the variance of f(x + h) − f(x − h).
    fn by_differences(kernel: &Kernel, q: usize) -> f64 {
        let h = 1e-3;
        let x = Mat::from_fn(2, kernel.dim_in(), |n, c| {
            if c != q {
                0.3
            } else if n == 0 {
                h
            } else {
                -h
            }
        });
        let mut k = Mat::zeros(2, 2);
        kernel.cross(&x, &x, &mut k);
        (k[(0, 0)] + k[(1, 1)] - 2.0 * k[(0, 1)]) / (4.0 * h * h)
    }

    #[test]
    fn slopes_agree_with_differences_of_the_kernel() {
        let eq = Kernel::Eq(Eq { lengthscale: vec![0.5, 2.0], signal_var: 1.7 });
        let linear = Kernel::Linear(Linear { variance: vec![0.3, 0.0001] });
        let mixture = SpectralMixture {
            weight: vec![0.6, 0.2],
            frequency: Mat::from_fn(2, 2, |c, q| (c + 2 * q) as f64),
            lengthscale: Mat::from_fn(2, 2, |c, q| 1.0 + (c * q) as f64),
        };
        let smooth = |s| Kernel::Matern(Matern { smoothness: s, lengthscale: vec![0.8, 1.5], signal_var: 0.9 });
        let kernels = [
            eq.clone(),
            linear.clone(),
            Kernel::SpectralMixture(mixture),
            smooth(Smoothness::ThreeHalves),
            smooth(Smoothness::FiveHalves),
            Kernel::Sum(Sum::new([eq, linear])),
        ];
        for kernel in kernels {
            let mut slopes = vec![0.0; 2];
            add_slopes(&kernel, &mut slopes);
            for q in 0..2 {
                let expected = by_differences(&kernel, q);
                // Matérn 3/2 has a third derivative that jumps: its differences err by √3³ h/ℓ³.
                assert!(
                    (slopes[q] - expected).abs() <= 6e-3 * expected + 1e-8,
                    "{kernel:?} {q}: {} {expected}",
                    slopes[q]
                );
            }
        }
    }

    #[test]
    fn rates_are_inverse_lengthscales_and_a_linear_mean_adds_its_slope() {
        let kernel = Kernel::Eq(Eq { lengthscale: vec![0.5, 2.0], signal_var: 4.0 });
        let mean = Mean::Linear(Mat::from_fn(2, 2, |q, d| (q * (d + 1)) as f64));
        let layer = Layer { kernel, z: Mat::zeros(3, 2), dim_out: 2, noise_var: 0.0, mean };
        assert_eq!(rates(&layer), [2.0, 0.5]);
        assert_eq!(mean_square_slopes(&layer), [16.0, 1.0 + 2.5]);
    }
}
