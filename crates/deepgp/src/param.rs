//! Parameters as one flat unconstrained vector: the only place where a logarithmic scale exists.

use serde::{Deserialize, Serialize};

/// The set a parameter lives in, and with it the bijection from the real line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Domain {
    /// Any real number; the identity.
    Real,
    /// A positive number; the exponential.
    Positive,
}

/// Positive parameters are kept within this range of their natural scale, so that no step can overflow them.
const POSITIVE_RANGE: (f64, f64) = (1e-10, 1e10);

impl Domain {
    /// Unconstrained coordinate of a natural value.
    pub fn to_free(self, value: f64) -> f64 {
        match self {
            Domain::Real => value,
            Domain::Positive => value.ln(),
        }
    }

    /// Natural value of an unconstrained coordinate; positive ones are clamped to [1e-10, 1e10].
    pub fn to_natural(self, free: f64) -> f64 {
        match self {
            Domain::Real => free,
            Domain::Positive => free.exp().clamp(POSITIVE_RANGE.0, POSITIVE_RANGE.1),
        }
    }

    /// ∂natural/∂free at a natural value: 1, or the value itself.
    pub fn slope(self, value: f64) -> f64 {
        match self {
            Domain::Real => 1.0,
            Domain::Positive => value,
        }
    }
}

/// One named block of natural parameters.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Name of the block, such as "lengthscale".
    pub name: &'static str,
    /// Where its values live.
    pub domain: Domain,
    /// The values.
    pub values: &'a [f64],
}

/// One named block of natural parameters, writable.
#[derive(Debug)]
pub struct BlockMut<'a> {
    /// Name of the block.
    pub name: &'static str,
    /// Where its values live.
    pub domain: Domain,
    /// The values.
    pub values: &'a mut [f64],
}

/// Something whose trainable parameters can be walked, always in the same order.
pub trait Parameters {
    /// Calls `visit` with each block.
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>));

    /// Calls `visit` with each block, in the order of [`Parameters::visit`], so that it can change the values.
    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>));

    /// Number of parameters.
    fn n_params(&self) -> usize {
        let mut n = 0;
        self.visit(&mut |b| n += b.values.len());
        n
    }

    /// Appends the unconstrained coordinates to `free`.
    fn read_free(&self, free: &mut Vec<f64>) {
        self.visit(&mut |Block { domain, values, .. }| match domain {
            Domain::Real => free.extend_from_slice(values),
            Domain::Positive => free.extend(values.iter().map(|&v| domain.to_free(v))),
        });
    }

    /// Sets the parameters from the front of `free`; returns how many were used.
    ///
    /// A parameter that is at its coordinate already stays as it is: there and back again through a logarithm would
    /// move its last bit, or move it into the clamped range.
    fn write_free(&mut self, free: &[f64]) -> usize {
        let mut before = Vec::new();
        self.read_free(&mut before);
        self.move_free(&before, free)
    }

    /// [`Parameters::write_free`] for a caller that knows the coordinates `before`, as [`Parameters::read_free`] gives
    /// them.
    fn move_free(&mut self, before: &[f64], free: &[f64]) -> usize {
        let mut at = 0;
        self.visit_mut(&mut |BlockMut { domain, values, .. }| {
            let range = at..at + values.len();
            let (before, free) = (&before[range.clone()], &free[range]);
            match domain {
                Domain::Real => values.copy_from_slice(free),
                Domain::Positive => {
                    for ((v, before), &free) in values.iter_mut().zip(before).zip(free) {
                        if *before != free {
                            *v = domain.to_natural(free);
                        }
                    }
                }
            }
            at += values.len();
        });
        at
    }

    /// Turns a gradient with respect to natural values, in place, into one with respect to unconstrained coordinates.
    fn chain_to_free(&self, gradient: &mut [f64]) {
        let mut at = 0;
        self.visit(&mut |Block { domain, values, .. }| {
            if domain != Domain::Real {
                gradient[at..].iter_mut().zip(values).for_each(|(g, &v)| *g *= domain.slope(v));
            }
            at += values.len();
        });
    }
}
