//! Small networks, factors and data for tests, all drawn from a seed.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod case;
pub mod kernels;
pub mod laws;
pub mod varying_noise;

use deepgp::gauss::Factor;
use deepgp::infer::{Engine, Inference, InferenceSettings, Site};
use deepgp::kernel::{Eq, Kernel};
use deepgp::layer::{Layer, Mean};
use deepgp::likelihood::{Gaussian, Likelihood};
use deepgp::network::DeepGp;
use deepgp::param::Parameters;
use deepgp_numerics::linalg::{Jitter, Mat, Op, mul};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, Uniform};

/// Numbers from a seed.
pub struct Draw(pub ChaCha8Rng);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        Uniform::new(low, high).expect("low < high").sample(&mut self.0)
    }

    pub fn normals(&mut self, rows: usize, cols: usize) -> Mat {
        Mat::from_fn(rows, cols, |_, _| self.normal())
    }

    pub fn uniforms(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        (0..n).map(|_| self.uniform(low, high)).collect()
    }

    /// Exponentiated quadratic with lengthscales around 1.
    pub fn eq(&mut self, dim_in: usize) -> Kernel {
        Kernel::Eq(Eq { lengthscale: self.uniforms(dim_in, 0.8, 1.5), signal_var: self.uniform(0.6, 1.4) })
    }

    /// Points on a line through the cube [−1.5, 1.5]^D, each moved by at most a third of their distance along it.
    pub fn spread(&mut self, m: usize, dim: usize) -> Mat {
        let gap = 3.0 / m as f64;
        Mat::from_fn(m, dim, |i, q| {
            let sign = if q % 2 == 0 { 1.0 } else { -1.0 };
            sign * (gap * (i as f64 + 0.5) - 1.5) + self.uniform(-gap, gap) / 3.0
        })
    }

    /// A linear mean with entries of order one.
    pub fn linear_mean(&mut self, dim_in: usize, dim_out: usize) -> Mean {
        Mean::Linear(Mat::from_fn(dim_in, dim_out, |i, j| f64::from(u8::from(i == j)) + 0.3 * self.normal()))
    }

    /// A Gaussian network with exponentiated quadratics: `widths` are inputs, hidden layers, outputs. Every layer has a
    /// linear mean if `linear`.
    pub fn network(&mut self, widths: &[usize], m: usize, linear: bool) -> DeepGp {
        let last = widths.len() - 2;
        let layers = widths.windows(2).enumerate().map(|(l, w)| Layer {
            kernel: self.eq(w[0]),
            z: self.spread(m, w[0]),
            dim_out: w[1],
            noise_var: if l == last { 0.0 } else { 0.05 },
            mean: if linear { self.linear_mean(w[0], w[1]) } else { Mean::Zero },
        });
        let layers = layers.collect();
        DeepGp::new(layers, gaussian(widths[last + 1], 0.1)).expect("a network")
    }

    /// Factors that know something: Λ = G Gᵀ/M with standard normal G, and standard normal η.
    pub fn factors(&mut self, model: &DeepGp) -> Vec<Vec<Factor>> {
        let mut one = |m: usize| {
            let g = self.normals(m, m);
            let mut precision = Mat::default();
            mul(&mut precision, &g, Op::Id, &g, Op::T);
            precision.as_mut_slice().iter_mut().for_each(|p| *p /= m as f64);
            Factor { precision, linear: (0..m).map(|_| self.normal()).collect() }
        };
        model.layers().iter().map(|l| (0..l.dim_out).map(|_| one(l.n_inducing())).collect()).collect()
    }
}

/// All links of a chain, from the first.
pub fn chain<T>(mut after: impl FnMut(Option<&T>) -> Option<T>) -> Vec<T> {
    let mut all = Vec::new();
    while let Some(next) = after(all.last()) {
        all.push(next);
    }
    all
}

/// Every engine: a new one does not compile before it has its place in the chain.
pub fn engines() -> Vec<Engine> {
    chain(|previous| {
        Some(match previous {
            None => Engine::Sep(Site::FirstOrder),
            Some(Engine::Sep(Site::FirstOrder)) => Engine::Sep(Site::Exact),
            Some(Engine::Sep(Site::Exact)) => Engine::Ep,
            Some(Engine::Ep) => Engine::Adf,
            Some(Engine::Adf) => Engine::JointEnergy,
            Some(Engine::JointEnergy) => return None,
        })
    })
}

/// Gaussian noise of equal variance on every output.
pub fn gaussian(dim_out: usize, noise_var: f64) -> Likelihood {
    Likelihood::Gaussian(Gaussian::isotropic(dim_out, noise_var))
}

/// A checked engine.
pub fn inference(engine: Engine, alpha: f64, damping: f64, jitter: f64) -> Inference {
    Inference::new(InferenceSettings { engine, alpha, damping, jitter: Jitter::Relative(jitter) }).expect("settings")
}

/// The factors that say nothing.
pub fn no_factors(model: &DeepGp) -> Vec<Vec<Factor>> {
    model.layers().iter().map(|l| vec![Factor::zeros(l.n_inducing()); l.dim_out]).collect()
}

/// All entries of all factors in one vector.
pub fn flat(factors: &[Vec<Factor>]) -> Vec<f64> {
    let one = |f: &Factor| f.precision.as_slice().iter().chain(&f.linear).copied().collect::<Vec<_>>();
    factors.iter().flatten().flat_map(one).collect()
}

/// The model's unconstrained coordinates.
pub fn free(model: &DeepGp) -> Vec<f64> {
    let mut free = Vec::new();
    model.read_free(&mut free);
    free
}

/// A column of numbers.
pub fn column(values: &[f64]) -> Mat {
    Mat::from_vec(values.len(), 1, values.to_vec()).expect("a column")
}

/// The rows 0, 1, … of a table.
pub fn rows(x: &Mat) -> Vec<usize> {
    (0..x.rows()).collect()
}
