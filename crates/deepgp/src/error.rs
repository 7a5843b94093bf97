//! What can go wrong, with the numbers needed to act on it.

/// Result of every fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure that the caller can act on. Expected numerical events (jitter raised, damping shrunk) are not errors:
/// they are values in the result of a step, see [`crate::infer::Event`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A datum is NaN or infinite.
    #[error("{what}: row {row}, column {column} is {value}; every entry must be finite")]
    NotFinite {
        /// Which table: "inputs", "targets", ….
        what: &'static str,
        /// Zero-based row.
        row: usize,
        /// Zero-based column.
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// A table has no rows or no columns.
    #[error("{what}: has {rows} rows and {columns} columns; at least one of each is needed")]
    Empty {
        /// Which table.
        what: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which size.
        what: &'static str,
        /// What it must be.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// A setting or parameter is outside its domain.
    #[error("{name}{}{}: {value} is not allowed; {requirement}", at("layer", *layer), at("entry", *entry))]
    Parameter {
        /// Name of the setting or parameter.
        name: &'static str,
        /// Zero-based layer it belongs to, if any.
        layer: Option<usize>,
        /// Zero-based entry of a vector parameter, if any.
        entry: Option<usize>,
        /// The offending value.
        value: f64,
        /// What would be allowed, as a clause.
        requirement: &'static str,
    },
    /// More inducing inputs were asked for than there are distinct rows, and the caller forbade reducing them.
    #[error("{requested} inducing inputs requested but the inputs have only {distinct} distinct rows")]
    TooManyInducing {
        /// The number asked for.
        requested: usize,
        /// Distinct rows of the inputs.
        distinct: usize,
    },
    /// A matrix that must be positive definite is not, even after the largest admissible jitter.
    #[error("{what}{}{}: not positive definite at pivot {pivot} with jitter {jitter:e}", at("layer", *layer), at("output", *output))]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// Zero-based layer.
        layer: Option<usize>,
        /// Zero-based output of the layer.
        output: Option<usize>,
        /// First pivot that was not positive.
        pivot: usize,
        /// Largest jitter tried.
        jitter: f64,
    },
    /// Another error, with the layer it arose in.
    #[error("layer {layer}: {cause}")]
    InLayer {
        /// Zero-based layer.
        layer: usize,
        /// What is wrong there.
        cause: Box<Error>,
    },
    /// A parameter block that the network does not have.
    #[error("there is no parameter '{name}'; the network has {known}")]
    UnknownParameter {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A target value that the likelihood cannot explain.
    #[error("targets: row {row}, column {column} is {value}; {requirement}")]
    Target {
        /// Zero-based row.
        row: usize,
        /// Zero-based column.
        column: usize,
        /// The offending value.
        value: f64,
        /// What would be allowed, as a clause.
        requirement: &'static str,
    },
    /// A run is to be resumed with data that it did not begin with.
    #[error("the data are not those that the run began with: their fingerprint is {found:016x}, not {expected:016x}")]
    OtherData {
        /// Fingerprint of the data that the run began with.
        expected: u64,
        /// Fingerprint of the data given.
        found: u64,
    },
    /// An iteration of the linear algebra did not converge.
    #[error("{what}: the iteration did not converge")]
    NotConverged {
        /// What was being computed.
        what: &'static str,
    },
}

impl Error {
    /// This error, with the layer that it arose in.
    pub(crate) fn in_layer(mut self, index: usize) -> Self {
        if let Error::Parameter { layer, .. } | Error::NotPositiveDefinite { layer, .. } = &mut self {
            *layer = Some(index);
            return self;
        }
        Error::InLayer { layer: index, cause: Box::new(self) }
    }

    /// This error, with the output of the layer that it arose in.
    pub(crate) fn in_output(mut self, index: usize) -> Self {
        if let Error::NotPositiveDefinite { output, .. } = &mut self {
            *output = Some(index);
        }
        self
    }
}

impl From<deepgp_numerics::Error> for Error {
    /// This failure without a layer.
    fn from(error: deepgp_numerics::Error) -> Self {
        use deepgp_numerics::Error as Numeric;
        match error {
            Numeric::NotFinite { what, row, column, value } => Self::NotFinite { what, row, column, value },
            Numeric::Empty { what, rows, columns } => Self::Empty { what, rows, columns },
            Numeric::Shape { what, expected, found } => Self::Shape { what, expected, found },
            Numeric::Parameter { name, entry, value, requirement } => {
                Self::Parameter { name, layer: None, entry, value, requirement }
            }
            Numeric::NotPositiveDefinite { what, pivot, jitter } => {
                Self::NotPositiveDefinite { what, layer: None, output: None, pivot, jitter }
            }
        }
    }
}

/// " of layer 3", or nothing.
fn at(what: &str, index: Option<usize>) -> String {
    index.map_or_else(String::new, |i| format!(" of {what} {i}"))
}

/// `Ok` when `found == expected`, the [`Error::Shape`] otherwise.
pub(crate) fn expect_size(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// `Ok` when `value` is positive and finite, the [`Error::Parameter`] otherwise.
pub(crate) fn expect_positive(name: &'static str, entry: Option<usize>, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Parameter { name, layer: None, entry, value, requirement: "it must be positive and finite" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::gauss::Factor;
    use crate::infer::{Inference, InferenceSettings};
    use crate::init::{Architecture, network};
    use crate::likelihood::{Gaussian, Likelihood, Observation, Probit};
    use crate::train::{self, Fingerprint, Trainer};
    use deepgp_numerics::linalg::{Mat, symmetric_eigen};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// The first error, or the one after `previous`, provoked. The match names every variant, so that a new one does
    /// not compile before it has been provoked here.
    fn provoke_after(previous: Option<&Error>) -> Option<Result<()>> {
        let not_finite = || Mat::from_fn(2, 2, |i, j| if (i, j) == (1, 0) { f64::NAN } else { 0.0 });
        let Some(previous) = previous else { return Some(not_finite().check_data("inputs").map_err(Error::from)) };
        Some(match previous {
            Error::NotFinite { .. } => Mat::zeros(0, 3).check_data("targets").map_err(Error::from),
            Error::Empty { .. } => Mat::from_vec(2, 3, vec![0.0; 5]).map(|_| ()).map_err(Error::from),
            Error::Shape { .. } => {
                Inference::new(InferenceSettings { alpha: 0.0, ..InferenceSettings::default() }).map(|_| ())
            }
            Error::Parameter { .. } => {
                let shape = Architecture { n_inducing: 3, exact_inducing: true, ..Architecture::default() };
                let likelihood = Likelihood::Gaussian(Gaussian::isotropic(1, 0.1));
                network(&Mat::zeros(5, 1), likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(0)).map(|_| ())
            }
            Error::TooManyInducing { .. } => {
                let mut factor = Factor::zeros(3);
                factor.precision[(1, 1)] = -2.0;
                factor.moments(1.0).map(|_| ()).map_err(|e| e.in_layer(4).in_output(2))
            }
            Error::NotPositiveDefinite { .. } => {
                Probit { dim_out: 1 }.check_targets(&Mat::from_fn(2, 1, |i, _| [1.0, 0.5][i]))
            }
            Error::Target { .. } => {
                let eigen = symmetric_eigen(&not_finite());
                eigen.map(|_| ()).ok_or(Error::NotConverged { what: "principal directions" })
            }
            Error::NotConverged { .. } => {
                let x = Mat::from_fn(3, 1, |i, _| i as f64);
                let likelihood = Likelihood::Gaussian(Gaussian::isotropic(1, 0.1));
                let shape = Architecture { hidden: vec![], n_inducing: 2, ..Architecture::default() };
                let (net, _) = network(&x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(0)).ok()?;
                let settings =
                    train::TrainSettings { fixed: vec!["lengthscales".into()], ..train::TrainSettings::default() };
                Trainer::new(net, Data::new(&x, &x), settings).map(|_| ())
            }
            Error::UnknownParameter { .. } => {
                let (one, other) = (Mat::from_fn(3, 1, |i, _| i as f64), Mat::from_fn(3, 1, |i, _| -(i as f64)));
                Fingerprint::of(Data::new(&one, &one)).expect_same(&Fingerprint::of(Data::new(&other, &one)))
            }
            Error::OtherData { .. } => {
                Mat::zeros(0, 1).check_data("inducing inputs").map_err(|e| Error::from(e).in_layer(3))
            }
            Error::InLayer { .. } => return None,
        })
    }

    #[test]
    fn every_error_can_arise_and_says_what_to_act_on() {
        let messages = [
            "inputs: row 1, column 0 is NaN; every entry must be finite",
            "targets: has 0 rows and 3 columns; at least one of each is needed",
            "matrix entries: expected 6, found 5",
            "alpha: 0 is not allowed; it must be greater than 0 and at most 1",
            "3 inducing inputs requested but the inputs have only 1 distinct rows",
            "I + Λ of layer 4 of output 2: not positive definite at pivot 1 with jitter 0e0",
            "targets: row 1, column 0 is 0.5; a label must be −1 or +1",
            "principal directions: the iteration did not converge",
            "there is no parameter 'lengthscales'; the network has lengthscale, noise_var, signal_var, z",
            "the data are not those that the run began with: their fingerprint is 8de459d53dfd8e38, not dbc57db1ea1dd9e4",
            "layer 3: inducing inputs: has 0 rows and 1 columns; at least one of each is needed",
        ];
        let mut previous = None;
        for expected in messages {
            let provoked = provoke_after(previous.as_ref()).expect("as many errors as messages");
            let error = provoked.expect_err(expected);
            assert_eq!(error.to_string(), expected);
            previous = Some(error);
        }
        assert!(provoke_after(previous.as_ref()).is_none(), "a message for every error");
    }
}
