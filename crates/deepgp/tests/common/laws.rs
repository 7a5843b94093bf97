//! The registry of likelihoods that all tests of them use. Its matches name every variant of the enum, so that a new
//! one does not compile before it has its place here.

use super::varying_noise::VaryingNoise;
use super::{Draw, chain, gaussian};
use deepgp::Result;
use deepgp::likelihood::{
    Beta, Gamma, Gaussian, Independent, Likelihood, Logit, NegativeBinomial, Observation, Ordinal, Poisson, Probit,
    RobustMax, Softmax, StudentT, Support, VaryingGaussian, VaryingStudentT,
};
use deepgp::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::Mat;
use rand::Rng;

/// A law without its closed forms: what it must write, with everything else by quadrature.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain<L>(pub L);

impl<L: Parameters> Parameters for Plain<L> {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        self.0.visit(visit);
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        self.0.visit_mut(visit);
    }
}

impl<L: Independent> Independent for Plain<L> {
    fn n_outputs(&self) -> usize {
        self.0.n_outputs()
    }

    fn check(&self) -> Result<()> {
        Independent::check(&self.0)
    }

    fn support(&self, d: usize) -> Support {
        Independent::support(&self.0, d)
    }

    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        Independent::log_likelihood(&self.0, d, f, y, params)
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        Independent::moments_given(&self.0, d, f)
    }

    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        Independent::cdf_given(&self.0, d, f, y)
    }

    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        Independent::draw(&self.0, d, f, rng)
    }
}

/// A likelihood of two latent functions, with what the suite must know of it beyond its interface.
pub struct Sample {
    pub law: Likelihood,
    /// This law with closed forms, if this one has none.
    pub closed: Option<Likelihood>,
    /// Largest latent mean and variance for which log Z is asked to be finite for every target.
    pub reach: (f64, f64),
    /// Whether p has no steps in f, so that the instruments of the tests can integrate it.
    pub is_smooth: bool,
}

/// Set-ups of every variant, and laws from outside the crate.
pub fn samples() -> Vec<Sample> {
    let everywhere = (1e6, 1e12);
    let probit = || Probit { dim_out: 2 };
    let heavy = || StudentT { scale: vec![0.4, 1.3], dof: 3.5 };
    let normal = || Gaussian { noise_var: vec![0.3, 1.7] };
    let logit = || Logit { dim_out: 2 };
    let ordinal = || Ordinal { first_cut: vec![-0.4, 0.7], gaps: vec![vec![0.6, 1.1], vec![0.2, 0.9, 1.4]] };
    let poisson = || Poisson { dim_out: 2 };
    let varied = || NegativeBinomial { dispersion: vec![0.3, 1.6] };
    let enumerated = chain(|previous: Option<&Sample>| {
        let law = match previous.map(|sample| &sample.law) {
            None => Likelihood::Gaussian(normal()),
            Some(Likelihood::Gaussian(_)) => Likelihood::Probit(probit()),
            Some(Likelihood::Probit(_)) => Likelihood::StudentT(heavy()),
            Some(Likelihood::StudentT(law)) if law.dof < 10.0 => {
                Likelihood::StudentT(StudentT { scale: vec![0.8, 0.5], dof: 60.0 })
            }
            Some(Likelihood::StudentT(_)) => Likelihood::Logit(logit()),
            Some(Likelihood::Logit(_)) => Likelihood::Ordinal(ordinal()),
            Some(Likelihood::Ordinal(_)) => Likelihood::Poisson(poisson()),
            Some(Likelihood::Poisson(_)) => Likelihood::NegativeBinomial(varied()),
            Some(Likelihood::NegativeBinomial(_)) => Likelihood::Softmax(Softmax { n_classes: 2 }),
            Some(Likelihood::Softmax(_)) => Likelihood::RobustMax(RobustMax { n_classes: 2, error: 0.01 }),
            Some(Likelihood::RobustMax(_)) => Likelihood::VaryingGaussian(VaryingGaussian { scale: 0.7 }),
            Some(Likelihood::VaryingGaussian(_)) => Likelihood::Gamma(Gamma { shape: vec![0.6, 3.5] }),
            Some(Likelihood::Gamma(_)) => Likelihood::Beta(Beta { precision: vec![20.0, 80.0] }),
            Some(Likelihood::Beta(_)) => {
                Likelihood::VaryingStudentT(VaryingStudentT { scale: 0.6, dof_above_two: 9.0 })
            }
            Some(Likelihood::VaryingStudentT(_)) => Likelihood::custom(VaryingNoise { scale: 0.7 }),
            // Censored targets have one latent function (`censored.rs`).
            Some(Likelihood::Custom(_) | Likelihood::Censored(_)) => return None,
        };
        // exp f₂ leaves the numbers there are.
        let reach = if matches!(law, Likelihood::Custom(_)) { (5.0, 5.0) } else { everywhere };
        let is_smooth = !matches!(law, Likelihood::RobustMax(_));
        Some(Sample { law, closed: None, reach, is_smooth })
    });
    let varying = || Likelihood::VaryingGaussian(VaryingGaussian { scale: 0.7 });
    let two_rules = Sample {
        law: Likelihood::custom(VaryingNoise { scale: 0.7 }),
        closed: Some(varying()),
        reach: (5.0, 5.0),
        is_smooth: true,
    };
    let plain = [
        (Likelihood::custom(Plain(normal())), Likelihood::Gaussian(normal())),
        (Likelihood::custom(Plain(probit())), Likelihood::Probit(probit())),
        (Likelihood::custom(Plain(heavy())), Likelihood::StudentT(heavy())),
        (Likelihood::custom(Plain(logit())), Likelihood::Logit(logit())),
        (Likelihood::custom(Plain(ordinal())), Likelihood::Ordinal(ordinal())),
        (Likelihood::custom(Plain(poisson())), Likelihood::Poisson(poisson())),
        (Likelihood::custom(Plain(varied())), Likelihood::NegativeBinomial(varied())),
    ];
    // A rule without the closed form takes its time far out.
    let plain = plain.into_iter().enumerate().map(|(i, (law, closed))| {
        let reach = if i < 3 { everywhere } else { (1e3, 5.0) };
        Sample { law, closed: Some(closed), reach, is_smooth: true }
    });
    enumerated.into_iter().chain(plain).chain([two_rules]).collect()
}

/// A likelihood of every variant that has a target for each of `n` latent functions; those with one target are in
/// `one_target.rs`.
pub fn likelihoods(n: usize, draw: &mut Draw) -> Vec<Likelihood> {
    chain(|previous| {
        Some(match previous {
            None => gaussian(n, draw.uniform(0.1, 0.4)),
            Some(Likelihood::Gaussian(_)) => Likelihood::Probit(Probit { dim_out: n }),
            Some(Likelihood::Probit(_)) => {
                Likelihood::StudentT(StudentT { scale: draw.uniforms(n, 0.3, 0.6), dof: draw.uniform(2.5, 8.0) })
            }
            Some(Likelihood::StudentT(_)) => Likelihood::Logit(Logit { dim_out: n }),
            Some(Likelihood::Logit(_)) => {
                let gaps = (0..n).map(|_| draw.uniforms(2, 0.3, 0.8)).collect();
                Likelihood::Ordinal(Ordinal { first_cut: draw.uniforms(n, -0.8, -0.2), gaps })
            }
            Some(Likelihood::Ordinal(_)) => Likelihood::Poisson(Poisson { dim_out: n }),
            Some(Likelihood::Poisson(_)) => {
                Likelihood::NegativeBinomial(NegativeBinomial { dispersion: draw.uniforms(n, 0.2, 1.5) })
            }
            Some(Likelihood::NegativeBinomial(_)) => Likelihood::Gamma(Gamma { shape: draw.uniforms(n, 1.0, 3.0) }),
            Some(Likelihood::Gamma(_)) => Likelihood::Beta(Beta { precision: draw.uniforms(n, 5.0, 10.0) }),
            Some(Likelihood::Beta(_)) => Likelihood::custom(Plain(Gaussian::isotropic(n, 0.2))),
            Some(
                Likelihood::Softmax(_)
                | Likelihood::RobustMax(_)
                | Likelihood::VaryingGaussian(_)
                | Likelihood::VaryingStudentT(_)
                | Likelihood::Censored(_)
                | Likelihood::Custom(_),
            ) => return None,
        })
    })
}

/// The value nearest to `y` in kind that the target can take.
pub fn in_support(support: Support, y: f64) -> f64 {
    match support {
        Support::Real => y,
        Support::Signs => {
            if y > 0.0 {
                1.0
            } else {
                -1.0
            }
        }
        Support::Positive => y.abs(),
        Support::Interval { low, high } => low + (high - low) / (1.0 + (-y.clamp(-6.0, 6.0)).exp()),
        Support::Whole => y.abs().round(),
        Support::Labels(n) => y.abs().round() % n as f64,
        other => panic!("no law here has targets in {other:?}"),
    }
}

/// Targets that the likelihood can explain: the numbers, or their signs.
pub fn explained(law: &Likelihood, y: &Mat) -> Mat {
    Mat::from_fn(y.rows(), y.cols(), |i, t| in_support(law.support(t), y[(i, t)]))
}
