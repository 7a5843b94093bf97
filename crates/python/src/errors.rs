//! Errors of the library as exceptions of the package: the library's words, with a class for the kind.

use deepgp_fit::{Error as FitError, SettingsError};
use deepgp_task::{FileError, FormatError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::error::Error;

/// The classes of `deepgp.errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Settings,
    Data,
    Target,
    Numerics,
    File,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Settings => "SettingsError",
            Self::Data => "DataError",
            Self::Target => "TargetError",
            Self::Numerics => "NumericsError",
            Self::File => "ModelFileError",
        }
    }
}

/// A failure that becomes an exception.
#[derive(Debug)]
pub struct Failure {
    class: Class,
    message: String,
}

/// An error and what caused it, in one line.
fn in_words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

impl Failure {
    fn new(class: Class, error: &dyn Error) -> Self {
        Self { class, message: in_words(error) }
    }

    /// Settings that cannot be.
    pub fn settings(message: impl Into<String>) -> Self {
        Self { class: Class::Settings, message: message.into() }
    }

    /// What is wrong with a table, or with numbers that were given.
    pub fn data(message: impl Into<String>) -> Self {
        Self { class: Class::Data, message: message.into() }
    }

    /// Whether the target cannot be what it was taken for.
    pub fn is_of_target(&self) -> bool {
        self.class == Class::Target
    }
}

impl From<deepgp_data::Error> for Failure {
    fn from(error: deepgp_data::Error) -> Self {
        Self::new(Class::Data, &error)
    }
}

impl From<deepgp::Error> for Failure {
    fn from(error: deepgp::Error) -> Self {
        use deepgp::Error::{Empty, NotFinite, Shape, Target};
        let class = match error {
            NotFinite { .. } | Empty { .. } | Shape { .. } | Target { .. } => Class::Data,
            _ => Class::Numerics,
        };
        Self::new(class, &error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(Class::File, &error)
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Self::new(Class::File, &error)
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        let error = match error {
            FitError::Settings(error) => return error.into(),
            error => error,
        };
        let class = match &error {
            FitError::StoredSettings { .. } | FitError::Transform { .. } => Class::Settings,
            FitError::Output(_) | FitError::File(_) => Class::File,
            FitError::Target(_) => Class::Target,
            FitError::Data(_) | FitError::Numbers { .. } | FitError::OtherTable { .. } => Class::Data,
            _ => Class::Numerics,
        };
        Self::new(class, &error)
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        let SettingsError::OutOfRange { name, must } = &error else { return Self::new(Class::Settings, &error) };
        // Parameters that have the names that scikit-learn gives them.
        let name = match *name {
            "threads" => "n_jobs",
            "seed" => "random_state",
            "time" => "time_limit",
            name => name,
        };
        Self::settings(format!("{name} must {must}"))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let class = py.import("deepgp.errors").and_then(|module| module.getattr(failure.class.name()));
            match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
                Ok(class) => PyErr::from_type(class, failure.message),
                // Only if the package is not whole.
                Err(_) => PyRuntimeError::new_err(failure.message),
            }
        })
    }
}
