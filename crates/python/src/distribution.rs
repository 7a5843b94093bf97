//! Predictive distributions of some rows: moments, quantiles, probabilities, densities, draws and scores of their laws.

use crate::errors::Failure;
use crate::matrices::{Array, array, matrix};
use crate::moments::moments;
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Level, Predictive, PredictiveLaw};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The laws of rows × targets, in parts one after the other.
#[pyclass(frozen, module = "deepgp._deepgp")]
pub struct Distribution {
    parts: Vec<Predictive>,
    /// The numbers that levels are.
    values: Option<Vec<f64>>,
}

impl Distribution {
    /// Laws of rows, of which there is at least one, and the numbers that ordered levels are.
    pub fn new(parts: Vec<Predictive>, values: Option<Vec<f64>>) -> Self {
        Self { parts, values }
    }

    fn n_rows(&self) -> usize {
        self.parts.iter().map(Predictive::rows).sum()
    }

    fn n_columns(&self) -> usize {
        self.parts.first().map_or(0, Predictive::columns)
    }

    /// A matrix for each part, one below the other.
    fn below<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&Predictive) -> Result<Mat, Failure> + Sync,
    ) -> PyResult<Array<'py>> {
        let (mut numbers, mut columns) = (Vec::new(), 1);
        py.detach(|| {
            for part in &self.parts {
                let matrix = of(part)?;
                columns = matrix.cols();
                numbers.extend_from_slice(matrix.as_slice());
            }
            Ok::<(), Failure>(())
        })?;
        array(py, numbers, columns)
    }

    /// A number for each law and an entry of `y`.
    fn at<'py>(
        &self,
        py: Python<'py>,
        y: &PyReadonlyArray2<'_, f64>,
        of: impl Fn(&Predictive, (usize, usize), f64) -> f64 + Sync,
    ) -> PyResult<Array<'py>> {
        let y = matrix(y, self.n_rows(), self.n_columns())?;
        let mut numbers = Vec::with_capacity(y.as_slice().len());
        py.detach(|| {
            let mut first = 0;
            for part in &self.parts {
                for n in 0..part.rows() {
                    let row = y.row(first + n).iter().enumerate();
                    numbers.extend(row.map(|(p, value)| of(part, (n, p), *value)));
                }
                first += part.rows();
            }
        });
        array(py, numbers, self.n_columns())
    }
}

#[pymethods]
impl Distribution {
    /// Rows and targets.
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_columns())
    }

    /// Means of all targets, or of ordered levels that are numbers.
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.below(py, |part| moments(part, self.values.as_deref()).map(|[mean, _]| mean))
    }

    /// Standard deviations.
    fn std<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.below(py, |part| moments(part, self.values.as_deref()).map(|[_, std]| std))
    }

    /// The numbers that targets stay below with a probability; of levels their number, from 0.
    fn quantile<'py>(&self, py: Python<'py>, probability: f64) -> PyResult<Array<'py>> {
        if !(probability > 0.0 && probability < 1.0) {
            return Err(Failure::data(format!("a quantile must lie between 0 and 1, not {probability}")).into());
        }
        self.below(py, |part| Ok(part.quantiles(probability)))
    }

    /// Quantiles, for a probability for each law.
    fn ppf<'py>(&self, py: Python<'py>, p: PyReadonlyArray2<'_, f64>) -> PyResult<Array<'py>> {
        let quantile = |part: &Predictive, (n, k): (usize, usize), p: f64| match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            p if p > 0.0 && p < 1.0 => part.law(n, k).quantile(Level::new(p)),
            _ => f64::NAN,
        };
        self.at(py, &p, quantile)
    }

    /// Probabilities of all labels.
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.below(py, |part| Ok(part.probabilities()))
    }

    /// The probability of at most y, for an entry of y for each law.
    fn cdf<'py>(&self, py: Python<'py>, y: PyReadonlyArray2<'_, f64>) -> PyResult<Array<'py>> {
        self.at(py, &y, |part, (n, p), y| part.law(n, p).cdf(y))
    }

    /// Log density, or log probability of targets that take separate values.
    fn log_prob<'py>(&self, py: Python<'py>, y: PyReadonlyArray2<'_, f64>) -> PyResult<Array<'py>> {
        self.at(py, &y, |part, (n, p), y| part.law(n, p).log_prob(y))
    }

    /// Continuous ranked probability score; smaller is better.
    fn crps<'py>(&self, py: Python<'py>, y: PyReadonlyArray2<'_, f64>) -> PyResult<Array<'py>> {
        self.at(py, &y, |part, (n, p), y| part.law(n, p).crps(y))
    }

    /// Draws: for each of `count` all rows, one below the other. Targets of a row are drawn together.
    fn sample<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Array<'py>> {
        let mut numbers = Vec::new();
        py.detach(|| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            for _ in 0..count {
                for part in &self.parts {
                    (0..part.rows()).for_each(|n| numbers.extend(part.draw(n, &mut rng)));
                }
            }
        });
        array(py, numbers, self.n_columns())
    }

    /// The laws of some rows.
    fn of_rows(&self, rows: Vec<usize>) -> PyResult<Self> {
        let ends: Vec<usize> = self
            .parts
            .iter()
            .scan(0, |end, part| {
                *end += part.rows();
                Some(*end)
            })
            .collect();
        if let Some(row) = rows.iter().find(|row| **row >= self.n_rows()) {
            return Err(PyIndexError::new_err(format!("row {row} of {}", self.n_rows())));
        }
        let mut parts = Vec::new();
        // Neighbours in one part stay together.
        let mut rows = rows.as_slice();
        while let Some(row) = rows.first() {
            let part = ends.partition_point(|end| end <= row);
            let first = part.checked_sub(1).map_or(0, |before| ends[before]);
            let length = rows.iter().take_while(|row| (first..ends[part]).contains(row)).count();
            let local: Vec<usize> = rows[..length].iter().map(|row| row - first).collect();
            parts.push(self.parts[part].of_rows(&local));
            rows = &rows[length..];
        }
        Ok(Self { parts, values: self.values.clone() })
    }
}
