//! The way forward through the layers, for training, prediction and pictures alike.
//!
//! ```text
//! x → N(m₁, v₁) → … → N(m_L, v_L)          the outputs of a layer, with its noise, are the inputs of the next
//! ```
//! Exact inputs pass the first layer a block at once. Above it, and from the first layer on where inputs have
//! variances, a few points go up together while their Ψ₂ are in cache.

use crate::gauss::{DiagGaussian, FullGaussian};
use crate::layer::{ExactTape, GaussianTape, Inducing, Inputs, Layer, POINTS_PER_BLOCK, Projection};
use crate::network::DeepGp;
use deepgp_numerics::Mat;
use std::ops::Range;

/// A network with one Gaussian per layer and output, cavity or posterior, ready to take points.
#[derive(Debug, Clone, Copy)]
pub struct Stack<'a> {
    /// The network.
    pub network: &'a DeepGp,
    /// Per layer: K_zz and its factor.
    pub inducing: &'a [Inducing],
    /// Per layer: N(μ, S), and A and B where inputs are Gaussian.
    pub projections: &'a [Projection],
    /// The first layer's Gaussians, if it propagates exact inputs by the factors of their precisions: its projection
    /// then has only μ.
    pub factored: Option<&'a [FullGaussian]>,
    /// What the first layer is given.
    pub inputs: Inputs,
}

/// What a way forward keeps of a block of points, layer by layer, for those who read it and for the way back.
#[derive(Debug, Clone)]
pub struct Tapes {
    /// Tape of the first layer, where inputs are exact: the whole block.
    pub(super) first: Option<ExactTape>,
    /// Tapes of the layers above, or of all: one group.
    pub(super) above: Vec<GaussianTape>,
    /// What the group gives to the lowest of `above`: outputs of the first layer, or inputs.
    pub(super) below: DiagGaussian,
    /// Points that go up together.
    pub(super) group_size: usize,
    /// Inputs of the block.
    pub(super) x: Mat,
}

impl Tapes {
    /// For the way forward and back.
    pub fn new(network: &DeepGp, inputs: Inputs) -> Self {
        Self::with(network, inputs, POINTS_PER_BLOCK, GaussianTape::new)
    }

    /// For the way forward alone, which is cheaper, of at most `n_points` at a time.
    pub fn forward_only(network: &DeepGp, inputs: Inputs, n_points: usize) -> Self {
        Self::with(network, inputs, n_points, GaussianTape::forward_only)
    }

    fn with(network: &DeepGp, inputs: Inputs, most: usize, tape: impl Fn(&Layer, usize) -> GaussianTape) -> Self {
        let n_exact = usize::from(inputs == Inputs::Exact);
        let above = &network.layers()[n_exact..];
        let group_size = GaussianTape::group_size(above).min(most);
        let width = above.first().map_or(network.layers()[0].dim_out, Layer::dim_in);
        Self {
            first: (n_exact > 0).then(ExactTape::default),
            above: above.iter().map(|layer| tape(layer, group_size)).collect(),
            below: DiagGaussian::zeros(group_size, width),
            group_size,
            x: Mat::default(),
        }
    }

    /// What these tapes are for.
    pub fn inputs(&self) -> Inputs {
        if self.first.is_some() { Inputs::Exact } else { Inputs::Gaussian }
    }

    /// Outputs of layer `l` for the group that has just gone up, its points first.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn outputs(&self, l: usize) -> &DiagGaussian {
        match (&self.first, l) {
            (Some(_), 0) => &self.below,
            (Some(_), l) => &self.above[l - 1].out,
            (None, l) => &self.above[l].out,
        }
    }
}

impl Stack<'_> {
    /// Takes the given rows of `x` forward, a block at most; calls `at_top` for each group of them that has reached the
    /// last layer, with the places of its points among the rows. Inputs without variances that go in as Gaussian ones
    /// have variances of 0.
    ///
    /// # Panics
    /// If the tapes are for other inputs.
    pub fn forward(
        &self,
        tapes: &mut Tapes,
        x: &Mat,
        x_var: Option<&Mat>,
        rows: &[usize],
        mut at_top: impl FnMut(&mut Tapes, Range<usize>),
    ) {
        assert_eq!(tapes.inputs(), self.inputs, "tapes for these inputs");
        let layers = self.network.layers();
        if let Some(first) = &mut tapes.first {
            tapes.x.gather_rows(x, rows);
            let (layer, inducing, projection) = (&layers[0], &self.inducing[0], &self.projections[0]);
            match self.factored {
                Some(q) => first.forward_solving(layer, inducing, projection, q, &tapes.x),
                None => first.forward(layer, inducing, projection, &tapes.x),
            }
        }
        let n_exact = usize::from(tapes.first.is_some());
        for (group, of_group) in rows.chunks(tapes.group_size).enumerate() {
            let start = group * tapes.group_size;
            let points = start..start + of_group.len();
            let Tapes { first, above, below, .. } = tapes;
            match first {
                Some(first) => below.copy_points(0, &first.out, points.clone()),
                None => {
                    for (g, &row) in of_group.iter().enumerate() {
                        below.mean.row_mut(g).copy_from_slice(x.row(row));
                        match x_var {
                            Some(var) => below.var.row_mut(g).copy_from_slice(var.row(row)),
                            None => below.var.row_mut(g).fill(0.0),
                        }
                    }
                }
            }
            for t in 0..above.len() {
                let (done, rest) = above.split_at_mut(t);
                let (input, l) = (done.last().map_or(&*below, |tape| &tape.out), n_exact + t);
                rest[0].forward(&layers[l], &self.inducing[l], &self.projections[l], input, of_group.len());
            }
            at_top(tapes, points);
        }
    }
}
