//! Limits in which the method must give what is known in closed form, or what sampling gives.

mod common;

use common::{Draw, column, flat, gaussian, inference, no_factors, rows};
use deepgp::Data;
use deepgp::Fitted;
use deepgp::gauss::DiagGaussian;
use deepgp::gauss::Factor;
use deepgp::infer::StepWorkspace;
use deepgp::infer::{Batch, Engine, Inference, Site, State};
use deepgp::kernel::{Eq, Kernel, Law};
use deepgp::layer::{Layer, Mean};
use deepgp::network::DeepGp;
use deepgp::predict::Predictor;
use deepgp_numerics::linalg::Mat;
use deepgp_oracle::{MonteCarlo, Tolerance, assert_all_close, assert_close, normal_expectation};

// ---------------------------------------------------------------------------------------------------------------------
// Dense references, written here from the textbook

/// The lower Cholesky factor of a positive definite matrix.
fn cholesky(a: &Mat) -> Mat {
    let n = a.rows();
    let mut l = Mat::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let rest = a[(i, j)] - (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>();
            l[(i, j)] = if i == j { rest.sqrt() } else { rest / l[(j, j)] };
        }
    }
    l
}

/// L⁻¹ b.
fn forward_solve(l: &Mat, b: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::new();
    for i in 0..b.len() {
        let known: f64 = (0..i).map(|k| l[(i, k)] * x[k]).sum();
        x.push((b[i] - known) / l[(i, i)]);
    }
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// log N(y; 0, C).
fn log_normal(y: &[f64], cov: &Mat) -> f64 {
    let l = cholesky(cov);
    let white = forward_solve(&l, y);
    let log_det: f64 = (0..y.len()).map(|i| 2.0 * l[(i, i)].ln()).sum();
    -0.5 * (y.len() as f64 * (2.0 * std::f64::consts::PI).ln() + log_det + dot(&white, &white))
}

fn gram(kernel: &Kernel, a: &Mat, b: &Mat) -> Mat {
    let mut k = Mat::default();
    kernel.cross(a, b, &mut k);
    k
}

/// K_az K_zz⁻¹ K_zb.
fn nystrom(kernel: &Kernel, z: &Mat, a: &Mat, b: &Mat) -> Mat {
    let l = cholesky(&gram(kernel, z, z));
    let white = |x: &Mat| -> Vec<Vec<f64>> {
        let k = gram(kernel, x, z);
        (0..x.rows()).map(|n| forward_solve(&l, k.row(n))).collect()
    };
    let (left, right) = (white(a), white(b));
    Mat::from_fn(a.rows(), b.rows(), |i, j| dot(&left[i], &right[j]))
}

/// One-dimensional regression with one sparse layer and Gaussian noise, without jitter.
struct Sparse {
    model: DeepGp,
    x: Mat,
    y: Mat,
    noise_var: f64,
}

impl Sparse {
    /// `n` targets at inputs on [−2, 2]; inducing inputs at `z`, or at the inputs.
    fn new(n: usize, z: Option<&[f64]>) -> Self {
        let (mut draw, noise_var) = (Draw::new(7), 0.05);
        let x = Mat::from_fn(n, 1, |i, _| -2.0 + 4.0 * i as f64 / (n - 1) as f64 + draw.uniform(-0.05, 0.05));
        let y = Mat::from_fn(n, 1, |i, _| (2.0 * x[(i, 0)]).sin() + 0.3 * x[(i, 0)] + 0.2 * draw.normal());
        let layer = Layer {
            kernel: Kernel::Eq(Eq::isotropic(1, 0.7, 1.3)),
            z: z.map_or_else(|| x.clone(), column),
            dim_out: 1,
            noise_var: 0.0,
            mean: Mean::Zero,
        };
        let model = DeepGp::new(vec![layer], gaussian(1, noise_var)).expect("a network");
        Self { model, x, y, noise_var }
    }

    fn kernel(&self) -> &Kernel {
        &self.model.layers()[0].kernel
    }

    fn z(&self) -> &Mat {
        &self.model.layers()[0].z
    }

    /// d_n = k_nn − Q_nn, the variance that the inducing outputs leave.
    fn residual(&self) -> Vec<f64> {
        let q = nystrom(self.kernel(), self.z(), &self.x, &self.x);
        (0..self.x.rows()).map(|n| self.kernel().diag(self.x.row(n)) - q[(n, n)]).collect()
    }

    /// Q + α diag(d) + σ² I.
    fn covariance(&self, alpha: f64) -> Mat {
        let mut c = nystrom(self.kernel(), self.z(), &self.x, &self.x);
        for (n, d) in self.residual().iter().enumerate() {
            c[(n, n)] += alpha * d + self.noise_var;
        }
        c
    }

    /// Mean and variance of f at `at`: k_** − Q_*f C⁻¹ Q_f* and Q_*f C⁻¹ y with C = Q + α diag(d) + σ² I.
    fn prediction(&self, alpha: f64, at: &Mat) -> DiagGaussian {
        let l = cholesky(&self.covariance(alpha));
        let white_y = forward_solve(&l, &self.y.column(0));
        let cross = nystrom(self.kernel(), self.z(), at, &self.x);
        let (mut mean, mut var) = (Vec::new(), Vec::new());
        for n in 0..at.rows() {
            let white = forward_solve(&l, cross.row(n));
            mean.push(dot(&white, &white_y));
            var.push(self.kernel().diag(at.row(n)) - dot(&white, &white));
        }
        DiagGaussian { mean: column(&mean), var: column(&var) }
    }

    /// Log evidence and predictor of an engine, after a few undamped sweeps over all data: since a Gaussian term is its
    /// own site whatever the cavity, one sweep reaches the fixed point and the others stay there.
    fn fixed_point(&self, engine: Engine, alpha: f64) -> (f64, Predictor) {
        let engine = inference(engine, alpha, 1.0, 0.0);
        let mut state = State::new(no_factors(&self.model), self.x.rows(), &engine).expect("a state");
        let (mut ws, all) = (StepWorkspace::new(&self.model), rows(&self.x));
        let mut energy = f64::NAN;
        for _ in 0..4 {
            let batch = Batch::of(Data::new(&self.x, &self.y), &all);
            let step = engine.step(&self.model, &mut state, batch, &mut ws).expect("a step");
            assert!(step.events.is_empty(), "{:?}", step.events);
            energy = step.energy;
        }
        (-energy, predictor(&self.model, state.factors().to_vec(), &engine))
    }
}

fn predictor(model: &DeepGp, factors: Vec<Vec<Factor>>, engine: &Inference) -> Predictor {
    Predictor::new(Fitted { network: model.clone(), factors, inference: engine.settings() }).expect("a predictor")
}

#[track_caller]
fn assert_same_moments(what: &str, found: &DiagGaussian, expected: &DiagGaussian, tolerance: Tolerance) {
    assert_all_close(&format!("{what} mean"), found.mean.as_slice(), expected.mean.as_slice(), tolerance);
    assert_all_close(&format!("{what} var"), found.var.as_slice(), expected.var.as_slice(), tolerance);
}

const TEST_INPUTS: [f64; 6] = [-2.6, -1.3, -0.4, 0.21, 1.77, 3.5];
const FEW: [f64; 4] = [-1.6, -0.5, 0.55, 1.7];

// ---------------------------------------------------------------------------------------------------------------------
// One layer, Gaussian noise

#[test]
fn inducing_inputs_at_the_data_give_the_exact_gp() {
    let problem = Sparse::new(10, None);
    let at = column(&TEST_INPUTS);
    let mut cov = gram(problem.kernel(), &problem.x, &problem.x);
    (0..10).for_each(|n| cov[(n, n)] += problem.noise_var);
    let evidence = log_normal(&problem.y.column(0), &cov);
    let (l, cross) = (cholesky(&cov), gram(problem.kernel(), &at, &problem.x));
    let white_y = forward_solve(&l, &problem.y.column(0));
    let white: Vec<Vec<f64>> = (0..at.rows()).map(|n| forward_solve(&l, cross.row(n))).collect();
    let exact = DiagGaussian {
        mean: Mat::from_fn(at.rows(), 1, |n, _| dot(&white[n], &white_y)),
        var: Mat::from_fn(at.rows(), 1, |n, _| 1.3 - dot(&white[n], &white[n])),
    };
    for alpha in [1.0, 0.5] {
        let (log_evidence, ep) = problem.fixed_point(Engine::Ep, alpha);
        assert_close("EP evidence", log_evidence, evidence, Tolerance::Value);
        assert_same_moments("EP", &ep.predict(&at).expect("moments").f, &exact, Tolerance::Value);
        // The tied factor has the same product, though not the same evidence: its cavity is an average.
        let (_, sep) = problem.fixed_point(Engine::Sep(Site::Exact), alpha);
        assert_same_moments("SEP", &sep.predict(&at).expect("moments").f, &exact, Tolerance::Value);
    }
}

#[test]
fn power_ep_gives_its_closed_form_evidence_and_fitc_at_power_one() {
    // Bui, Yan, Turner (2017): log N(y; 0, Q + α diag(d) + σ²I) − (1 − α)/(2α) Σ log(1 + α d_n/σ²)
    let (problem, at) = (Sparse::new(12, Some(&FEW)), column(&TEST_INPUTS));
    for alpha in [1.0, 0.7, 0.5, 0.1] {
        let penalty: f64 = problem.residual().iter().map(|d| (alpha * d / problem.noise_var).ln_1p()).sum();
        let joint = log_normal(&problem.y.column(0), &problem.covariance(alpha));
        let evidence = joint - (1.0 - alpha) / (2.0 * alpha) * penalty;
        let (found, ep) = problem.fixed_point(Engine::Ep, alpha);
        assert_close(&format!("evidence at power {alpha}"), found, evidence, Tolerance::Value);
        let expected = problem.prediction(alpha, &at);
        let (_, sep) = problem.fixed_point(Engine::Sep(Site::Exact), alpha);
        for (name, predictor) in [("EP", ep), ("SEP", sep)] {
            let found = predictor.predict(&at).expect("moments").f;
            assert_same_moments(&format!("{name} at power {alpha}"), &found, &expected, Tolerance::Value);
        }
    }
}

#[test]
fn power_zero_is_the_collapsed_variational_bound() {
    // Titsias (2009): log N(y; 0, Q + σ²I) − tr(K − Q)/(2σ²), approached in proportion to α.
    let problem = Sparse::new(12, Some(&FEW));
    let trace: f64 = problem.residual().iter().sum();
    let bound = log_normal(&problem.y.column(0), &problem.covariance(0.0)) - trace / (2.0 * problem.noise_var);
    let distance = |alpha: f64| problem.fixed_point(Engine::Ep, alpha).0 - bound;
    let (far, near) = (distance(1e-4), distance(1e-5));
    assert!(far > 0.0, "a larger power lies further above the bound: {far}");
    assert_close("ratio", far / near, 10.0, Tolerance::Limit(1e-2));
    // Without the term in α, what is left is of the order of the product of the two powers.
    assert_close("limit", (10.0 * near - far) / 9.0, 0.0, Tolerance::Limit(1e-6));
}

// ---------------------------------------------------------------------------------------------------------------------
// One point, many batches

#[test]
fn sep_is_ep_when_there_is_one_point() {
    for (seed, alpha, damping) in [(1, 1.0, 1.0), (2, 0.7, 0.5), (3, 0.4, 1.0)] {
        for linear in [false, true] {
            let mut draw = Draw::new(seed);
            let model = draw.network(&[2, 2, 1], 4, linear);
            let (x, y, factors) = (draw.normals(1, 2), draw.normals(1, 1), draw.factors(&model));
            let mut ws = StepWorkspace::new(&model);
            let mut runs = [Engine::Sep(Site::Exact), Engine::Ep].map(|engine| {
                let engine = inference(engine, alpha, damping, 1e-6);
                (engine, State::new(factors.clone(), 1, &engine).expect("a state"))
            });
            for step in 0..6 {
                let [sep, ep] = runs.each_mut().map(|(engine, state)| {
                    engine.step(&model, state, Batch::of(Data::new(&x, &y), &[0]), &mut ws).expect("a step")
                });
                let at = format!("power {alpha}, step {step}");
                assert_close(&format!("energy, {at}"), sep.energy, ep.energy, Tolerance::Value);
                assert_all_close(&format!("gradient, {at}"), &sep.gradient, &ep.gradient, Tolerance::Value);
                assert_eq!(sep.events, ep.events, "{at}");
                let [sep, ep] = runs.each_ref().map(|(_, state)| flat(state.factors()));
                assert_all_close(&format!("factors, {at}"), &sep, &ep, Tolerance::Value);
            }
        }
    }
}

#[test]
fn batches_average_to_the_whole() {
    let shapes: [&[usize]; 3] = [&[2, 2], &[2, 3, 1], &[2, 2, 3, 2]];
    for (seed, widths) in shapes.into_iter().enumerate() {
        for linear in [false, true] {
            let mut draw = Draw::new(seed as u64);
            let model = draw.network(widths, 4, linear);
            let (x, y) = (draw.normals(40, 2), draw.normals(40, model.n_targets()));
            let factors = draw.factors(&model);
            let engine = inference(Engine::Sep(Site::FirstOrder), 0.7, 0.1, 1e-6);
            let mut ws = StepWorkspace::new(&model);
            // Energy and all its derivatives as one vector.
            let mut of = |rows: &[usize]| {
                let found =
                    engine.sep_energy(&model, &factors, Batch::of(Data::new(&x, &y), rows), &mut ws).expect("energy");
                let mut all = vec![found.energy];
                all.extend(found.model);
                all.extend(flat(&found.factors));
                all
            };
            let whole = of(&rows(&x));
            for size in [1, 5, 20] {
                let mut mean = vec![0.0; whole.len()];
                // Every row once, in an order of no meaning: 7 and 40 have no common divisor.
                let order: Vec<usize> = (0..40).map(|i| 7 * i % 40).collect();
                for batch in order.chunks(size) {
                    mean.iter_mut().zip(of(batch)).for_each(|(m, b)| *m += b * size as f64 / 40.0);
                }
                assert_all_close(&format!("{widths:?} by {size}"), &mean, &whole, Tolerance::Rounding);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Propagation of moments

/// One layer of a network on its own, with its factors.
fn lone_layer(model: &DeepGp, factors: &[Vec<Factor>], l: usize, engine: &Inference) -> Predictor {
    let layer = model.layers()[l].clone();
    let likelihood = gaussian(layer.dim_out, 0.1);
    let lone = DeepGp::new(vec![layer], likelihood).expect("one layer");
    predictor(&lone, vec![factors[l].clone()], engine)
}

/// Two layers with their factors and an input: one or two dimensions, zero and linear means, the latter also the
/// identity where widths agree and padded or cut where they do not. With them the moments that propagation gives for f,
/// those of the first layer's output, and the second layer alone.
fn two_layers() -> Vec<(String, DiagGaussian, DiagGaussian, Predictor)> {
    let engine = inference(Engine::Sep(Site::FirstOrder), 1.0, 0.1, 1e-6);
    let shapes = [([1, 1, 1], false), ([1, 1, 1], true), ([2, 2, 1], true), ([2, 3, 1], true)];
    let case = |(seed, (widths, linear)): (usize, ([usize; 3], bool))| {
        let mut draw = Draw::new(1 + seed as u64);
        let mut model = draw.network(&widths, 5, linear);
        if widths[0] == 2 {
            let mut layers = model.layers().to_vec();
            for layer in &mut layers {
                layer.mean = Mean::Linear(Mat::identity(layer.dim_in(), layer.dim_out));
            }
            model = DeepGp::new(layers, model.likelihood().clone()).expect("a network");
        }
        let (factors, x) = (draw.factors(&model), draw.normals(1, widths[0]));
        let propagated = predictor(&model, factors.clone(), &engine).predict(&x).expect("moments").f;
        let first = lone_layer(&model, &factors, 0, &engine).predict(&x).expect("moments").f;
        (format!("{widths:?}, linear {linear}"), propagated, first, lone_layer(&model, &factors, 1, &engine))
    };
    shapes.into_iter().enumerate().map(case).collect()
}

// The output of a first layer is normal, so that the moments of the second are exact; only its shape is not.

#[test]
fn two_layers_propagate_the_moments_of_ancestral_draws() {
    let (n_draws, chunk) = (1_000_000, 50_000);
    for (what, propagated, first, second) in two_layers() {
        let mut draw = Draw::new(100);
        let (mut mean, mut square) = (MonteCarlo::default(), MonteCarlo::default());
        for _ in 0..n_draws / chunk {
            let (m, v) = (&first.mean, &first.var);
            let h = Mat::from_fn(chunk, m.cols(), |_, q| m[(0, q)] + v[(0, q)].sqrt() * draw.normal());
            let f = second.predict(&h).expect("moments").f;
            for n in 0..chunk {
                let f = f.mean[(n, 0)] + f.var[(n, 0)].sqrt() * draw.normal();
                mean.push(f);
                square.push(f * f);
            }
        }
        let (m, v) = (propagated.mean[(0, 0)], propagated.var[(0, 0)]);
        let scores = [mean.z_score(m), square.z_score(v + m * m)];
        assert!(scores.iter().all(|z| z.abs() < 4.5), "{what}: z-scores {scores:?}");
    }
}

#[test]
fn two_layers_propagate_the_moments_of_quadrature() {
    for (what, propagated, first, second) in two_layers() {
        let over_hidden = |f: fn(f64, f64) -> f64| {
            let at = |h: &[f64]| {
                let moments = second.predict(&Mat::from_rows(&[h]).expect("a row")).expect("moments").f;
                f(moments.mean[(0, 0)], moments.var[(0, 0)])
            };
            let nodes = if first.mean.cols() == 3 { 40 } else { 60 };
            normal_expectation(at, first.mean.row(0), first.var.row(0), nodes)
        };
        let mean = over_hidden(|m, _| m);
        let var = over_hidden(|m, v| v + m * m) - mean * mean;
        assert_close(&format!("mean, {what}"), propagated.mean[(0, 0)], mean, Tolerance::Quadrature);
        assert_close(&format!("variance, {what}"), propagated.var[(0, 0)], var, Tolerance::Quadrature);
    }
}

#[test]
fn layers_without_signal_are_the_product_of_their_linear_means() {
    let mut draw = Draw::new(5);
    let widths = [2, 3, 2, 2];
    let mut layers = draw.network(&widths, 4, true).layers().to_vec();
    for layer in &mut layers {
        layer.kernel = Kernel::Eq(Eq::isotropic(layer.dim_in(), 1.0, 1e-24));
    }
    let model = DeepGp::new(layers, gaussian(2, 0.1)).expect("a network");
    let factors = draw.factors(&model);
    let x = draw.normals(5, 2);
    let engine = inference(Engine::Sep(Site::FirstOrder), 1.0, 0.1, 1e-6);
    let found = predictor(&model, factors, &engine).predict(&x).expect("moments").f;
    for n in 0..x.rows() {
        // m ← Wᵀm and v ← (W∘W)ᵀv + σ²
        let (mut mean, mut var) = (x.row(n).to_vec(), vec![0.0; 2]);
        for layer in model.layers() {
            let w = layer.mean.weights().expect("a linear mean");
            let through = |values: &[f64], power: i32| -> Vec<f64> {
                (0..w.cols()).map(|d| (0..w.rows()).map(|q| w[(q, d)].powi(power) * values[q]).sum()).collect()
            };
            (mean, var) = (through(&mean, 1), through(&var, 2).iter().map(|v| v + layer.noise_var).collect());
        }
        assert_all_close("mean", found.mean.row(n), &mean, Tolerance::Limit(1e-10));
        assert_all_close("variance", found.var.row(n), &var, Tolerance::Limit(1e-10));
    }
}
