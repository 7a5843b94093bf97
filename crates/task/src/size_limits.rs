//! Sizes that no honest model exceeds: what a file must not make prediction allocate.

use deepgp::kernel::{Kernel, Law};
use deepgp::layer::Layer;
use deepgp::network::DeepGp;
use deepgp::{Error, Result};

/// Most layers.
const LAYERS: usize = 100;
/// Most inducing inputs of a layer.
const INDUCING: usize = 10_000;
/// Most inputs of a layer whose kernel takes expectations by quadrature, at 2 D² nodes.
const QUADRATURE_INPUTS: usize = 2_000;
/// Most components of a layer's kernel; expectations take all pairs.
const COMPONENTS: usize = 200;

/// Most networks of a mixture.
const MEMBERS: usize = 100;

/// Checks the number of networks of a mixture.
///
/// # Errors
/// [`Error::Parameter`] with the number.
pub(crate) fn check_members(members: usize) -> Result<()> {
    expect("networks of a mixture", None, members, MEMBERS)
}

/// Checks the sizes that memory and time grow with faster than the file does. All else is bounded by the file's length.
///
/// # Errors
/// [`Error::Parameter`] with the size.
pub(crate) fn check(model: &DeepGp) -> Result<()> {
    expect("layers", None, model.layers().len(), LAYERS)?;
    for (l, layer) in model.layers().iter().enumerate() {
        expect("inducing inputs", Some(l), layer.n_inducing(), INDUCING)?;
        expect("components of the kernel", Some(l), components(&layer.kernel), COMPONENTS)?;
        if takes_quadrature(layer) {
            expect("inputs of a kernel by quadrature", Some(l), layer.kernel.dim_in(), QUADRATURE_INPUTS)?;
        }
    }
    Ok(())
}

fn expect(name: &'static str, layer: Option<usize>, found: usize, most: usize) -> Result<()> {
    if found <= most {
        return Ok(());
    }
    let requirement = "it is more than any model file may have";
    Err(Error::Parameter { name, layer, entry: None, value: found as f64, requirement })
}

fn components(kernel: &Kernel) -> usize {
    match kernel {
        Kernel::Eq(_) | Kernel::Linear(_) | Kernel::Matern(_) => 1,
        Kernel::SpectralMixture(mixture) => mixture.weight.len(),
        Kernel::Sum(sum) => sum.parts.iter().map(components).sum(),
    }
}

fn takes_quadrature(layer: &Layer) -> bool {
    match &layer.kernel {
        Kernel::Matern(_) => true,
        Kernel::Sum(sum) => sum.parts.iter().any(|part| matches!(part, Kernel::Matern(_))),
        Kernel::Eq(_) | Kernel::Linear(_) | Kernel::SpectralMixture(_) => false,
    }
}
