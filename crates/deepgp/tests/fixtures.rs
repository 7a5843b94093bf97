//! The authors' own numbers (testdata/oracle) are reproduced: values, gradients, tilted moments, predictions.
//!
//! The fixtures are written for unwhitened factors q(u) ∝ N(u; 0, K) exp(−½ uᵀΘu + tᵀu). With u = L v these are
//! Λ = LᵀΘL and η = Lᵀt; gradients that hold (Θ, t) fixed gain a term through L.

use deepgp::Data;
use deepgp::Fitted;
use deepgp::gauss::{DiagGaussian, Factor, FullGaussian};
use deepgp::infer::{self, Batch, Inference, InferenceSettings, Root, energy, site};
use deepgp::kernel::{Eq, GaussianInput, Kernel, KernelGrad, KernelScratch, Law, Psi};
use deepgp::layer::{ExactTape, GaussianTape, Inducing, Inputs, Layer, Mean, Projection, ProjectionBack, Wanted};
use deepgp::likelihood::{Gaussian, Likelihood, Observation, Probit, TiltedBar};
use deepgp::network::DeepGp;
use deepgp::param::Parameters;
use deepgp::pass::{Cores, Evaluate, Pass, Stack, Sums};
use deepgp::predict::Predictor;
use deepgp_numerics::linalg::{Jitter, Mat, Op, mul, tri};
use deepgp_oracle::{MonteCarlo, Tolerance, assert_all_close, assert_close};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

const NAMES: [&str; 13] = [
    "gp_1layer",
    "gp_1layer_2out_tied",
    "dgp2_h1",
    "dgp2_h2_tied",
    "dgp3_tied_2out",
    "dgp2_n1",
    "dgp2_m1",
    "dgp2_fullbatch",
    "probit_gp",
    "power_gp_alpha05",
    "power_dgp2_alpha05",
    "power_dgp3_alpha08",
    "power_dgp2_alpha1",
];

/// A fixture, turned into our types.
struct Fixture {
    json: Value,
    model: DeepGp,
    inducing: Vec<Inducing>,
    factors: Vec<Vec<Factor>>,
    x: Mat,
    y: Mat,
    n_data: usize,
    alpha: f64,
    inference: Inference,
}

/// All numbers of a nested array, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        other => vec![other.as_f64().expect("a number")],
    }
}

fn matrix(value: &Value) -> Mat {
    let rows: Vec<Vec<f64>> = value.as_array().expect("rows").iter().map(flat).collect();
    Mat::from_rows(&rows).expect("equal rows")
}

fn product(a: &Mat, op_a: Op, b: &Mat, op_b: Op) -> Mat {
    let mut out = Mat::default();
    mul(&mut out, a, op_a, b, op_b);
    out
}

/// op(l) · a · op(l)ᵀ.
fn sandwich(l: &Mat, op: Op, a: &Mat) -> Mat {
    let other = if op == Op::Id { Op::T } else { Op::Id };
    product(&product(l, op, a, Op::Id), Op::Id, l, other)
}

fn column(values: &[f64]) -> Mat {
    Mat::from_vec(values.len(), 1, values.to_vec()).expect("a column")
}

fn read(name: &str) -> Value {
    let path = format!("{}/../../testdata/oracle/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    serde_json::from_str(&text).expect("JSON")
}

fn load(name: &str) -> Fixture {
    let json = read(name);
    let specs = json["inputs"]["layers"].as_array().expect("layers").clone();
    let alpha = json["alpha"].as_f64().unwrap_or(1.0);
    let jitter = Jitter::Absolute(json["jitter"].as_f64().expect("jitter"));
    let mut layers = Vec::new();
    for (l, spec) in specs.iter().enumerate() {
        let noise = spec["noise_variance"].as_f64().unwrap_or(0.0);
        layers.push(Layer {
            kernel: Kernel::Eq(Eq {
                lengthscale: flat(&spec["log_lengthscale"]).iter().map(|l| l.exp()).collect(),
                signal_var: spec["log_signal_variance"].as_f64().expect("signal").exp(),
            }),
            z: matrix(&spec["Z"][0]),
            dim_out: spec["output_dim"].as_u64().expect("outputs") as usize,
            noise_var: if l + 1 == specs.len() { 0.0 } else { noise },
            mean: Mean::Zero,
        });
    }
    let last = specs.last().expect("a layer");
    let d_out = last["output_dim"].as_u64().expect("outputs") as usize;
    let likelihood = match json["likelihood"].as_str() {
        Some("gaussian") => {
            Likelihood::Gaussian(Gaussian { noise_var: vec![last["noise_variance"].as_f64().expect("noise"); d_out] })
        }
        _ => Likelihood::Probit(Probit { dim_out: d_out }),
    };
    let model = DeepGp::new(layers, likelihood).expect("a network");
    let inducing: Vec<Inducing> = model
        .layers()
        .iter()
        .enumerate()
        .map(|(l, layer)| Inducing::new(layer, Inputs::of_layer(l, Inputs::Exact), jitter).expect("K_zz"))
        .collect();
    let factors = specs
        .iter()
        .zip(&inducing)
        .map(|(spec, inducing)| {
            let l = &inducing.chol.l();
            let thetas = spec["theta1"].as_array().expect("theta1");
            let linears = spec["theta2"].as_array().expect("theta2");
            let one = |(theta, t): (&Value, &Value)| Factor {
                precision: sandwich(l, Op::T, &matrix(theta)),
                linear: product(l, Op::T, &column(&flat(t)), Op::Id).column(0),
            };
            thetas.iter().zip(linears).map(one).collect()
        })
        .collect();
    let (x, y) = (matrix(&json["inputs"]["X"]), matrix(&json["inputs"]["y"]));
    let n_data = json["N_total"].as_u64().expect("N") as usize;
    let inference =
        Inference::new(InferenceSettings { alpha, jitter, ..InferenceSettings::default() }).expect("settings");
    Fixture { json, model, inducing, factors, x, y, n_data, alpha, inference }
}

impl Fixture {
    fn moments(&self, share: f64) -> Vec<Vec<FullGaussian>> {
        let layer = |f: &Vec<Factor>| f.iter().map(|f| f.moments(share).expect("proper")).collect();
        self.factors.iter().map(layer).collect()
    }

    fn cavity(&self) -> Vec<Vec<FullGaussian>> {
        self.moments(1.0 - self.alpha / self.n_data as f64)
    }

    fn projections(&self, q: &[Vec<FullGaussian>]) -> Vec<Projection> {
        self.inducing
            .iter()
            .zip(q)
            .enumerate()
            .map(|(l, (i, q))| Projection::new(i, Inputs::of_layer(l, Inputs::Exact), q))
            .collect()
    }

    fn observation_noise(&self) -> f64 {
        match self.model.likelihood() {
            Likelihood::Gaussian(g) => g.noise_var[0],
            _ => 0.0,
        }
    }

    fn output(&self, name: &str) -> &Value {
        &self.json["outputs"][name]
    }

    /// Moments of every layer for every row, by hand through the tapes; noise included at the last layer as well.
    fn forward(&self, q: &[Vec<FullGaussian>], x: &Mat) -> (Vec<Mat>, Vec<Mat>) {
        let (layers, projections) = (self.model.layers(), self.projections(q));
        let mut first = ExactTape::default();
        first.forward(&layers[0], &self.inducing[0], &projections[0], x);
        let (mut means, mut vars) = (vec![first.out.mean.clone()], vec![first.out.var.clone()]);
        for l in 1..layers.len() {
            let mut tape = GaussianTape::new(&layers[l], 1);
            let (mut mean, mut var) =
                (Mat::zeros(x.rows(), layers[l].dim_out), Mat::zeros(x.rows(), layers[l].dim_out));
            for n in 0..x.rows() {
                let input = DiagGaussian { mean: means[l - 1].select_rows(&[n]), var: vars[l - 1].select_rows(&[n]) };
                tape.forward(&layers[l], &self.inducing[l], &projections[l], &input, 1);
                mean.row_mut(n).copy_from_slice(tape.out.mean.row(0));
                var.row_mut(n).copy_from_slice(tape.out.var.row(0));
            }
            means.push(mean);
            vars.push(var);
        }
        let noise = self.observation_noise();
        let last = vars.last_mut().expect("a layer");
        last.as_mut_slice().iter_mut().for_each(|v| *v += noise);
        (means, vars)
    }
}

fn stacked(mats: &[Mat]) -> Vec<f64> {
    mats.iter().flat_map(|m| m.as_slice().to_vec()).collect()
}

fn for_all(check: impl Fn(&str, &Fixture)) {
    for name in NAMES {
        check(name, &load(name));
    }
}

#[test]
fn gram_and_cross_matrices() {
    for_all(|name, f| {
        for (l, inducing) in f.inducing.iter().enumerate() {
            let k = product(&inducing.chol.l(), Op::Id, &inducing.chol.l(), Op::T);
            assert_all_close(
                &format!("{name} Kuu {l}"),
                k.as_slice(),
                &flat(&f.output("Kuu")[l][0]),
                Tolerance::Fixture,
            );
        }
        if !f.output("Kxz_first_layer").is_null() {
            let mut k = Mat::default();
            f.model.layers()[0].kernel.cross(&f.x, &f.model.layers()[0].z, &mut k);
            assert_all_close(
                &format!("{name} Kxz"),
                k.as_slice(),
                &flat(&f.output("Kxz_first_layer")[0]),
                Tolerance::Fixture,
            );
        }
    });
}

#[test]
fn posterior_and_cavity_moments() {
    for_all(|name, f| {
        for (role, q) in [("posterior", f.moments(1.0)), ("cavity", f.cavity())] {
            for (l, q) in q.iter().enumerate() {
                let chol_l = &f.inducing[l].chol.l();
                for (d, q) in q.iter().enumerate() {
                    let mean = product(chol_l, Op::Id, &column(&q.mean), Op::Id);
                    let cov = sandwich(chol_l, Op::Id, &q.cov());
                    let expected = f.output(role);
                    let at = format!("{name} {role} {l} {d}");
                    assert_all_close(&at, mean.as_slice(), &flat(&expected["mean"][l][d]), Tolerance::Fixture);
                    assert_all_close(&at, cov.as_slice(), &flat(&expected["cov"][l][d]), Tolerance::Fixture);
                }
            }
        }
    });
}

#[test]
fn kernel_expectations() {
    for_all(|name, f| {
        for entry in f.output("psi").as_array().into_iter().flatten() {
            let l = entry["layer"].as_u64().expect("layer") as usize;
            let layer = &f.model.layers()[l];
            let (mean, var) = (flat(&entry["in_mean"]), flat(&entry["in_var"]));
            let mut psi = Psi::zeros(layer.n_inducing(), layer.dim_in(), false);
            let input = GaussianInput { mean: &mean, var: &var };
            layer.kernel.psi(&f.inducing[l].tables, input, &mut psi, &mut KernelScratch::default());
            let mut psi2 = Mat::zeros(layer.n_inducing(), layer.n_inducing());
            tri::unpack(&psi.psi2, &mut psi2);
            assert_all_close(&format!("{name} psi1"), &psi.psi1, &flat(&entry["psi1"]), Tolerance::Fixture);
            assert_all_close(&format!("{name} psi2"), psi2.as_slice(), &flat(&entry["psi2"]), Tolerance::Fixture);
        }
    });
}

#[test]
fn propagation_through_cavity_and_log_z() {
    for_all(|name, f| {
        let (means, vars) = f.forward(&f.cavity(), &f.x);
        let expected = f.output("cavity_forward");
        assert_all_close(&format!("{name} mean"), &stacked(&means), &flat(&expected["mean"]), Tolerance::Fixture);
        assert_all_close(&format!("{name} var"), &stacked(&vars), &flat(&expected["var"]), Tolerance::Fixture);

        let (mean, var) = (means.last().expect("layer"), vars.last().expect("layer"));
        let d_out = f.model.n_latent();
        let (mut m_bar, mut v_bar) = (vec![0.0; d_out], vec![0.0; d_out]);
        let mut params = vec![0.0; f.model.likelihood().n_params()];
        for (n, expected) in flat(f.output("log_Z_n")).into_iter().enumerate() {
            let latent: Vec<f64> = var.row(n).iter().map(|v| v - f.observation_noise()).collect();
            let bar = TiltedBar { mean: &mut m_bar, var: &mut v_bar, params: &mut params };
            let found = f.model.likelihood().log_z(mean.row(n), &latent, f.y.row(n), f.alpha, bar);
            assert_close(&format!("{name} log Z {n}"), found, expected, Tolerance::Fixture);
        }
    });
}

#[test]
fn log_partitions() {
    for_all(|name, f| {
        let phi = f.output("phi");
        if phi.is_null() {
            return;
        }
        // Unwhitened log partitions carry ½ log|K| for every output.
        let units = f.model.layers().iter().zip(&f.inducing);
        let prior: f64 = units.map(|(layer, i)| layer.dim_out as f64 * 0.5 * i.chol.log_det()).sum();
        assert_close(name, prior, phi["prior"].as_f64().expect("phi"), Tolerance::Fixture);
        for (role, q) in [("posterior", f.moments(1.0)), ("cavity", f.cavity())] {
            let found = prior + energy::log_partition(&q);
            assert_close(&format!("{name} {role}"), found, phi[role].as_f64().expect("phi"), Tolerance::Fixture);
        }
    });
}

#[test]
fn energy_and_its_gradient() {
    for_all(|name, f| {
        let rows: Vec<usize> = (0..f.x.rows()).collect();
        let batch = Batch { n_data: f.n_data, ..Batch::of(Data::new(&f.x, &f.y), &rows) };
        let mut ws = infer::StepWorkspace::new(&f.model);
        let found = f.inference.sep_energy(&f.model, &f.factors, batch, &mut ws).expect("energy");
        let log_z = f.output("log_Z_sep").as_f64().expect("log Z");
        assert_close(&format!("{name} energy"), -found.energy, log_z, Tolerance::Fixture);

        // All derivatives of the fixture in one vector, and ours beside them.
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut model_grad = &found.model[..];
        for (l, layer) in f.model.layers().iter().enumerate() {
            let (own, rest) = model_grad.split_at(layer.n_params());
            model_grad = rest;
            let spec = &f.json["inputs"]["layers"][l];
            let expected = &f.output("grad_energy")["layers"][l];
            let chol = &f.inducing[l].chol;
            // Through L at fixed (Θ, t): Λ = LᵀΘL, η = Lᵀt give L̄ = Σ_d 2 Θ L Λ̄ + t η̄ᵀ.
            let mut l_bar = Mat::zeros(layer.n_inducing(), layer.n_inducing());
            for (d, bar) in found.factors[l].iter().enumerate() {
                let theta = matrix(&spec["theta1"][d]);
                let theta_l = product(&theta, Op::Id, &chol.l(), Op::Id);
                l_bar.add_scaled(2.0, &product(&theta_l, Op::Id, &bar.precision, Op::Id));
                let t = column(&flat(&spec["theta2"][d]));
                l_bar.add_scaled(1.0, &product(&t, Op::Id, &column(&bar.linear), Op::T));

                let theta_bar = sandwich(&chol.l(), Op::Id, &bar.precision);
                let root = Root::from_packed(layer.n_inducing(), flat(&spec["theta1_R_packed"][d])).expect("root");
                ours.extend_from_slice(theta_bar.as_slice());
                theirs.extend(flat(&expected["theta1"][d]));
                root.adjoint(&theta_bar, &mut ours);
                theirs.extend(flat(&expected["theta1_R_packed"][d]));
                ours.extend(product(&chol.l(), Op::Id, &column(&bar.linear), Op::Id).column(0));
                theirs.extend(flat(&expected["theta2"][d]));
            }
            let mut through = KernelGrad::zeros(layer.n_inducing(), layer.dim_in(), layer.kernel.n_params());
            layer.kernel.gram_adjoint(
                &f.inducing[l].tables,
                &f.inducing[l].kzz,
                &mut chol.adjoint(&l_bar),
                &mut through,
                &mut KernelScratch::default(),
            );
            layer.kernel.chain_to_free(&mut through.params);

            let d_in = layer.dim_in();
            let kernel: Vec<f64> = own.iter().zip(&through.params).take(d_in + 1).map(|(a, b)| a + b).collect();
            ours.extend_from_slice(&kernel[..d_in]);
            theirs.extend(flat(&expected["log_lengthscale"]));
            ours.push(2.0 * kernel[d_in]); // log s = ½ log s²
            theirs.extend(flat(&expected["log_signal_std"]));
            let z_bar = &own[d_in + 1..d_in + 1 + layer.z.as_slice().len()];
            ours.extend(z_bar.iter().zip(through.z.as_slice()).map(|(a, b)| a + b));
            theirs.extend(flat(&expected["Z"]));
            if layer.noise_var > 0.0 {
                ours.push(2.0 * own[own.len() - 1]);
                theirs.extend(flat(&expected["log_noise_std"]));
            }
        }
        if !model_grad.is_empty() {
            // One noise variance for all outputs there, one each here.
            ours.push(2.0 * model_grad.iter().sum::<f64>());
            let last = f.model.layers().len() - 1;
            theirs.extend(flat(&f.output("grad_energy")["layers"][last]["log_noise_std"]));
        }
        assert_all_close(&format!("{name} gradient"), &ours, &theirs, Tolerance::FixtureGradient);
    });
}

#[test]
fn tilted_moments_of_single_points() {
    for_all(|name, f| {
        let cavity = f.cavity();
        let projections = f.projections(&cavity);
        let (network, inputs) = (&f.model, Inputs::Exact);
        let stack = Stack { network, inducing: &f.inducing, projections: &projections, factored: None, inputs };
        let pass = |wanted| Pass { stack, alpha: f.alpha, wanted };
        let mut cores = Cores::new(network, inputs, 1);
        let mut run = |wanted, rows: &[usize]| {
            let mut sums = Sums::zeros(network, inputs);
            cores
                .evaluate(&pass(wanted), Batch::of(Data::new(&f.x, &f.y), rows), &mut sums)
                .expect("cores do not fail");
            sums
        };
        for entry in f.output("ep").as_array().into_iter().flatten() {
            let point = entry["point"].as_u64().expect("point") as usize;
            let (mut sums, mut for_sites) = (run(Wanted::Gradient, &[point]), run(Wanted::Sites, &[point]));
            for (l, inducing) in f.inducing.iter().enumerate() {
                let (chol_l, l_inv) = (&inducing.chol.l(), inducing.chol.l_inv());
                let mut back = ProjectionBack::default();
                projections[l].adjoint(inducing, &mut sums.layers[l], &mut back);
                let mut sites = ProjectionBack::default();
                projections[l].adjoint(inducing, &mut for_sites.layers[l], &mut sites);
                for (d, bar) in back.bars.iter().enumerate() {
                    let at = format!("{name} point {point} layer {l} output {d}");
                    let check = |what: &str, found: &Mat| {
                        assert_all_close(
                            &format!("{at} {what}"),
                            found.as_slice(),
                            &flat(&entry[what][l][d]),
                            Tolerance::Fixture,
                        );
                    };
                    check("dlogZ_dcavity_mean", &product(l_inv, Op::T, &column(&bar.mean), Op::Id));
                    check("dlogZ_dcavity_cov", &sandwich(l_inv, Op::T, &bar.cov));

                    // μ + V g and V − V P V
                    let q = &cavity[l][d];
                    let p = sites.curvature[d].clone();
                    let mut mean = product(&q.cov(), Op::Id, &column(&bar.mean), Op::Id);
                    mean.add_scaled(1.0, &column(&q.mean));
                    let mut cov = q.cov();
                    cov.add_scaled(-1.0, &sandwich(&q.cov(), Op::Id, &p));
                    check("tilted_mean", &product(chol_l, Op::Id, &mean, Op::Id));
                    check("tilted_cov", &sandwich(chol_l, Op::Id, &cov));

                    // The exact site multiplied into the cavity gives the same moments.
                    let site = site::exact(q, &p, &bar.mean).expect("proper");
                    let mut whole = f.factors[l][d].clone();
                    whole.add_scaled(-f.alpha / f.n_data as f64, &f.factors[l][d]);
                    whole.add_scaled(1.0, &site);
                    let tilted = whole.moments(1.0).expect("proper");
                    check("tilted_mean", &product(chol_l, Op::Id, &column(&tilted.mean), Op::Id));
                    check("tilted_cov", &sandwich(chol_l, Op::Id, &tilted.cov()));
                }
            }
        }
    });
}

#[test]
fn predictions() {
    for_all(|name, f| {
        let x = matrix(&f.json["inputs"]["X_test"]);
        let expected = f.output("predict");
        let fitted = Fitted { network: f.model.clone(), factors: f.factors.clone(), inference: f.inference.settings() };
        let predictor = Predictor::new(fitted).expect("a predictor");
        let mut layers = predictor.layers(&x).expect("moments");
        for v in layers.last_mut().expect("a layer").var.as_mut_slice() {
            *v += f.observation_noise();
        }
        let mean: Vec<f64> = layers.iter().flat_map(|l| l.mean.as_slice().to_vec()).collect();
        let var: Vec<f64> = layers.iter().flat_map(|l| l.var.as_slice().to_vec()).collect();
        assert_all_close(&format!("{name} mean"), &mean, &flat(&expected["mean"]), Tolerance::Fixture);
        assert_all_close(&format!("{name} var"), &var, &flat(&expected["var"]), Tolerance::Fixture);
        if let Likelihood::Gaussian(_) = f.model.likelihood() {
            let y = predictor.predict(&x).expect("moments").y;
            let last = layers.last().expect("a layer");
            assert_all_close(&format!("{name} y"), y.var.as_slice(), last.var.as_slice(), Tolerance::Rounding);
        }
    });
}

#[test]
fn sampling_the_hidden_layer_gives_the_exact_log_z() {
    let (f, exact) = (load("dgp2_h1"), read("exact_log_z_dgp2_h1"));
    // A network whose posterior is the fixture's cavity: log Z is then the log density of a prediction.
    let mut factors = f.factors.clone();
    for factor in factors.iter_mut().flatten() {
        let whole = factor.clone();
        factor.add_scaled(-f.alpha / f.n_data as f64, &whole);
    }
    let fitted = Fitted { network: f.model.clone(), factors, inference: f.inference.settings() };
    let predictor = Predictor::new(fitted).expect("a predictor");
    let points = exact["points"].as_array().expect("points");
    let rows: Vec<usize> = points.iter().map(|p| p["point"].as_u64().expect("point") as usize).collect();
    let (x, y) = (f.x.select_rows(&rows), f.y.select_rows(&rows));

    let (n_samples, seed) = (100_000, 11);
    let draws = predictor.sample_mixture(&x, n_samples, &mut ChaCha8Rng::seed_from_u64(seed)).expect("draws");
    let log_p =
        predictor.mixture_log_density(&x, &y, n_samples, &mut ChaCha8Rng::seed_from_u64(seed)).expect("log densities");
    let projected = predictor.log_density(&x, &y).expect("log densities");
    for (n, point) in points.iter().enumerate() {
        let mut z = MonteCarlo::default();
        for draw in &draws {
            z.push(f.model.likelihood().log_density(draw.mean.row(n), draw.var.row(n), y.row(n)).exp());
        }
        let log_z = point["log_Z_n_exact_quadrature"].as_f64().expect("log Z");
        assert!(z.z_score(log_z.exp()).abs() < 4.5, "point {n}: z-score {}", z.z_score(log_z.exp()));
        assert_close(&format!("mixture {n}"), log_p[n], z.mean().ln(), Tolerance::Fixture);
        let expected = point["log_Z_n_projected"].as_f64().expect("log Z");
        assert_close(&format!("projected {n}"), projected[n], expected, Tolerance::Fixture);
    }
}
