//! The deep GP: layers and a likelihood, with its parameters as one flat vector.

use crate::error::{Error, Result, expect_size};
use crate::gauss::Factor;
use crate::layer::{Layer, LayerGrad};
use crate::likelihood::{Likelihood, Observation, check_latent};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::wide;
use serde::{Deserialize, Serialize};

/// A deep Gaussian process: x → layer 1 → … → layer L → likelihood. With one layer it is a sparse GP.
///
/// The likelihood sees f + c, with a learned constant c for each latent function if the network has one
/// ([`DeepGp::with_constant`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeepGp {
    layers: Vec<Layer>,
    likelihood: Likelihood,
    /// c, K numbers or none; absent in files where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    constant: Vec<f64>,
}

impl DeepGp {
    /// Puts checked layers together.
    ///
    /// # Errors
    /// [`Error::Empty`] without layers; [`Error::Shape`] if widths do not chain; otherwise what [`Layer::check`] and
    /// the likelihood's check say, with the layer named.
    pub fn new(layers: Vec<Layer>, likelihood: Likelihood) -> Result<Self> {
        let network = Self { layers, likelihood, constant: Vec::new() };
        network.check()?;
        Ok(network)
    }

    /// This network with a learned constant that is added to each latent function before the likelihood, starting at the
    /// given values: the intercept of classes and counts (log odds, log rates), whose targets cannot be standardised.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are K numbers or none, [`Error::Parameter`] for one that is not finite.
    pub fn with_constant(mut self, constant: Vec<f64>) -> Result<Self> {
        self.constant = constant;
        self.check_constant()?;
        Ok(self)
    }

    fn check_constant(&self) -> Result<()> {
        if self.constant.is_empty() {
            return Ok(());
        }
        expect_size("numbers of the constant", self.n_latent(), self.constant.len())?;
        match self.constant.iter().position(|c| !c.is_finite()) {
            None => Ok(()),
            Some(k) => {
                let (name, requirement, value) = ("constant", "it must be finite", self.constant[k]);
                Err(Error::Parameter { name, layer: None, entry: Some(k), value, requirement })
            }
        }
    }

    /// Checks what [`DeepGp::new`] and [`DeepGp::with_constant`] check, for a network that came from a file.
    ///
    /// # Errors
    /// As [`DeepGp::new`] and [`DeepGp::with_constant`].
    pub fn check(&self) -> Result<()> {
        let Some(last) = self.layers.last() else {
            return Err(Error::Empty { what: "layers", rows: 0, columns: 0 });
        };
        for (l, layer) in self.layers.iter().enumerate() {
            layer.check().map_err(|e| e.in_layer(l))?;
        }
        for (l, pair) in self.layers.windows(2).enumerate() {
            expect_size("inputs of a layer", pair[0].dim_out, pair[1].dim_in()).map_err(|e| e.in_layer(l + 1))?;
        }
        expect_size("outputs of the last layer", self.likelihood.n_latent(), last.dim_out)?;
        self.likelihood.check()?;
        self.check_constant()?;
        check_latent(&self.likelihood)
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The likelihood.
    pub fn likelihood(&self) -> &Likelihood {
        &self.likelihood
    }

    /// c, which is added to each latent function before the likelihood; empty if the network has no constant.
    pub fn constant(&self) -> &[f64] {
        &self.constant
    }

    /// Number of inputs.
    pub fn dim_in(&self) -> usize {
        self.layers[0].dim_in()
    }

    /// Number of latent functions: the width of the last layer.
    pub fn n_latent(&self) -> usize {
        self.likelihood.n_latent()
    }

    /// Number of targets.
    pub fn n_targets(&self) -> usize {
        self.likelihood.n_targets()
    }

    /// Number of columns that y has in data.
    pub fn n_columns(&self) -> usize {
        self.likelihood.n_columns()
    }

    /// Checks a table of inputs.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Shape`] or [`Error::NotFinite`].
    pub fn check_inputs(&self, x: &Mat) -> Result<()> {
        x.check_data("inputs")?;
        expect_size("columns of the inputs", self.dim_in(), x.cols())
    }

    /// Checks inputs and targets together. A target may be missing, which is NaN; so may all of a row.
    ///
    /// # Errors
    /// As [`DeepGp::check_inputs`], and what the likelihood says of the targets.
    pub fn check_data(&self, x: &Mat, y: &Mat) -> Result<()> {
        self.check_inputs(x)?;
        if y.as_slice().is_empty() {
            return Err(Error::Empty { what: "targets", rows: y.rows(), columns: y.cols() });
        }
        expect_size("rows of the targets", x.rows(), y.rows())?;
        expect_size("columns of the targets", self.n_columns(), y.cols())?;
        self.likelihood.check_targets(y)
    }

    /// Checks that there is one finite factor of the right size for every layer and output.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`].
    pub fn check_factors(&self, factors: &[Vec<Factor>]) -> Result<()> {
        expect_size("layers of the factors", self.layers.len(), factors.len())?;
        for (l, (layer, factors)) in self.layers.iter().zip(factors).enumerate() {
            check_layer_factors(layer, factors).map_err(|e| e.in_layer(l))?;
        }
        Ok(())
    }
}

/// Checks the factors of one layer.
fn check_layer_factors(layer: &Layer, factors: &[Factor]) -> Result<()> {
    let m = layer.n_inducing();
    expect_size("outputs of the factors", layer.dim_out, factors.len())?;
    for Factor { precision, linear } in factors {
        expect_size("entries of a factor", m, linear.len())?;
        expect_size("rows of a factor", m, precision.rows())?;
        expect_size("columns of a factor", m, precision.cols())?;
        precision.check_data("precision of a factor")?;
        check_symmetric(precision)?;
        if let Some((row, &value)) = linear.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(Error::NotFinite { what: "linear term of a factor", row, column: 0, value });
        }
    }
    Ok(())
}

/// Largest difference of two entries that should be equal, as a share of the largest entry.
const ASYMMETRY: f64 = 1e-8;

/// Checks that Λ is symmetric but for rounding: factorisations read one half of it, other code the other.
fn check_symmetric(precision: &Mat) -> Result<()> {
    let largest = precision.as_slice().iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
    for i in 0..precision.rows() {
        for j in 0..i {
            let value = precision[(i, j)] - precision[(j, i)];
            // A difference of two finite numbers may be infinite, and then it is too large.
            if value.abs() > ASYMMETRY * largest {
                let requirement = "it is the difference of two entries that mirror each other and must be 0";
                let entry = Some(i * precision.cols() + j);
                return Err(Error::Parameter { name: "precision of a factor", layer: None, entry, value, requirement });
            }
        }
    }
    Ok(())
}

/// Order: each layer's blocks, then the likelihood's, then the constant if there is one.
impl Parameters for DeepGp {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        for layer in &self.layers {
            layer.visit(visit);
        }
        self.likelihood.visit(visit);
        if !self.constant.is_empty() {
            visit(Block { name: "constant", domain: Domain::Real, values: &self.constant });
        }
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        for layer in &mut self.layers {
            layer.visit_mut(visit);
        }
        self.likelihood.visit_mut(visit);
        if !self.constant.is_empty() {
            visit(BlockMut { name: "constant", domain: Domain::Real, values: &mut self.constant });
        }
    }
}

/// ∂ℒ/∂(parameters) of a network, natural values.
#[derive(Debug, Clone)]
pub struct Gradient {
    /// Per layer.
    pub layers: Vec<LayerGrad>,
    /// Derivatives by the likelihood's parameters.
    pub likelihood: Vec<f64>,
    /// Derivatives by the constant; none if there is none.
    pub constant: Vec<f64>,
}

impl Gradient {
    /// Zeros of the right shape.
    pub fn zeros(model: &DeepGp) -> Self {
        Self {
            layers: model.layers.iter().map(LayerGrad::zeros).collect(),
            likelihood: vec![0.0; model.likelihood.n_params()],
            constant: vec![0.0; model.constant.len()],
        }
    }

    /// The gradient times `scale` with respect to the unconstrained coordinates, in the order of
    /// [`Parameters::visit`] of `model`.
    pub fn to_free(&self, model: &DeepGp, scale: f64) -> Vec<f64> {
        let mut flat = Vec::with_capacity(model.n_params());
        self.free_into(model, scale, &mut flat);
        flat
    }

    /// [`Gradient::to_free`] into existing memory.
    pub fn free_into(&self, model: &DeepGp, scale: f64, flat: &mut Vec<f64>) {
        flat.clear();
        for (grad, layer) in self.layers.iter().zip(&model.layers) {
            flat.extend_from_slice(&grad.kernel.params);
            flat.extend_from_slice(grad.kernel.z.as_slice());
            if layer.noise_var > 0.0 {
                flat.push(grad.noise_var);
            }
        }
        flat.extend_from_slice(&self.likelihood);
        flat.extend_from_slice(&self.constant);
        model.chain_to_free(flat);
        wide(|| flat.iter_mut().for_each(|g| *g *= scale));
    }
}
