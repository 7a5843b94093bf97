//! The registry of kernels: every variant of [`Kernel`] with a name, once for all tests.

use deepgp::kernel::{Eq, Kernel, Linear, Matern, Smoothness, SpectralMixture, Sum};
use deepgp_numerics::linalg::Mat;

/// Draws a number between two others.
pub type Uniform<'a> = dyn FnMut(f64, f64) -> f64 + 'a;

fn numbers(n: usize, low: f64, high: f64, uniform: &mut Uniform<'_>) -> Vec<f64> {
    (0..n).map(|_| uniform(low, high)).collect()
}

/// An exponentiated quadratic kernel.
pub fn eq(dim: usize, uniform: &mut Uniform<'_>) -> Kernel {
    Kernel::Eq(Eq { lengthscale: numbers(dim, 0.7, 1.6, uniform), signal_var: uniform(0.5, 1.5) })
}

/// A linear kernel.
pub fn linear(dim: usize, uniform: &mut Uniform<'_>) -> Kernel {
    Kernel::Linear(Linear { variance: numbers(dim, 0.3, 1.2, uniform) })
}

/// A spectral mixture.
pub fn mixture(dim: usize, components: usize, uniform: &mut Uniform<'_>) -> Kernel {
    Kernel::SpectralMixture(SpectralMixture {
        weight: numbers(components, 0.3, 1.0, uniform),
        frequency: Mat::from_fn(components, dim, |_, _| uniform(-2.0, 2.0)),
        lengthscale: Mat::from_fn(components, dim, |_, _| uniform(0.7, 1.6)),
    })
}

/// A Matérn kernel.
pub fn matern(dim: usize, smoothness: Smoothness, uniform: &mut Uniform<'_>) -> Kernel {
    let (lengthscale, signal_var) = (numbers(dim, 0.7, 1.6, uniform), uniform(0.5, 1.5));
    Kernel::Matern(Matern { smoothness, lengthscale, signal_var })
}

/// Samples of the first variant of [`Kernel`], or of the one after `previous`; empty after the last. The match names
/// every variant, so that a new one does not compile before it has its samples here.
fn after(previous: Option<&Kernel>, dim: usize, draw: &mut Uniform<'_>) -> Vec<(&'static str, Kernel)> {
    use Smoothness::{FiveHalves, ThreeHalves};
    let Some(previous) = previous else { return vec![("eq", eq(dim, draw))] };
    match previous {
        Kernel::Eq(_) => vec![("linear", linear(dim, draw))],
        Kernel::Linear(_) => vec![("mixture of 1", mixture(dim, 1, draw)), ("mixture of 2", mixture(dim, 2, draw))],
        Kernel::SpectralMixture(_) => {
            vec![("Matérn 3/2", matern(dim, ThreeHalves, draw)), ("Matérn 5/2", matern(dim, FiveHalves, draw))]
        }
        Kernel::Matern(_) => {
            let sums = [
                ("sum of eq", vec![eq(dim, draw)]),
                ("eq + eq", vec![eq(dim, draw), eq(dim, draw)]),
                ("eq + linear", vec![eq(dim, draw), linear(dim, draw)]),
                (
                    "linear + mixture + eq + linear",
                    vec![linear(dim, draw), mixture(dim, 1, draw), eq(dim, draw), linear(dim, draw)],
                ),
                ("Matérn 5/2 + linear", vec![matern(dim, FiveHalves, draw), linear(dim, draw)]),
            ];
            sums.into_iter().map(|(name, parts)| (name, Kernel::Sum(Sum { parts }))).collect()
        }
        Kernel::Sum(_) => Vec::new(),
    }
}

/// Sample kernels of every variant on `dim` inputs, with their names; parameters are of order one.
pub fn kernels(dim: usize, uniform: &mut Uniform<'_>) -> Vec<(&'static str, Kernel)> {
    let mut all: Vec<(&str, Kernel)> = Vec::new();
    loop {
        let next = after(all.last().map(|(_, kernel)| kernel), dim, uniform);
        if next.is_empty() {
            return all;
        }
        all.extend(next);
    }
}

/// Whether the expectations are taken by quadrature, with hundreds of nodes in two dimensions and more.
pub fn is_approximate(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Matern(_) => true,
        Kernel::Sum(sum) => sum.parts.iter().any(is_approximate),
        Kernel::Eq(_) | Kernel::Linear(_) | Kernel::SpectralMixture(_) => false,
    }
}
