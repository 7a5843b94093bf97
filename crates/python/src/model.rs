//! A fitted model: files, bytes, descriptions, and predictions of tables.

use crate::distribution::Distribution;
use crate::errors::Failure;
use crate::matrices::{Array, array};
use crate::moments::{level_values, moments};
use crate::table::Table;
use deepgp_data::{Batch, Targets};
use deepgp_fit::{PART_ROWS, for_parts, row_info, targets, threads};
use deepgp_numerics::linalg::Mat;
use deepgp_task::SavedModel;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use serde_json::json;
use std::path::PathBuf;

/// A model, ready to predict. It never changes.
#[pyclass(frozen, module = "deepgp._deepgp")]
pub struct Model {
    saved: SavedModel,
    model: deepgp_task::Model,
}

/// What is asked of each row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Question {
    /// Mean of each target; of ordered levels that are numbers, their mean.
    Mean,
    /// Standard deviation of each target.
    Std,
    /// Standard deviation of the latent function of each target: what more data would take away.
    LatentStd,
    /// A quantile of each target; of levels their number.
    Quantile(f64),
    /// The probability of each label.
    Probabilities,
    /// Log density or probability of all targets together; NaN where they are missing.
    LogDensity,
}

impl Question {
    fn of(name: &str, probability: f64) -> Result<Self, Failure> {
        Ok(match name {
            "mean" => Self::Mean,
            "std" => Self::Std,
            "latent_std" => Self::LatentStd,
            "quantile" if probability > 0.0 && probability < 1.0 => Self::Quantile(probability),
            "quantile" => {
                return Err(Failure::data(format!("a quantile must lie between 0 and 1, not {probability}")));
            }
            "probabilities" => Self::Probabilities,
            "log_density" => Self::LogDensity,
            _ => return Err(Failure::data(format!("no question: {name:?}"))),
        })
    }
}

impl Model {
    /// A model that was fitted or read.
    ///
    /// # Errors
    /// [`Failure`] for one that is unsound.
    pub fn new(saved: SavedModel) -> Result<Self, Failure> {
        let model = saved.model()?;
        Ok(Self { saved, model })
    }

    fn levels(&self) -> &[String] {
        self.saved.preprocessing.schema.target_levels(0).unwrap_or_default()
    }

    fn answers(&self, batch: &Batch, questions: &[Question]) -> Result<Vec<Mat>, Failure> {
        let (info, task) = (row_info(batch.columns.clone()), self.saved.preprocessing.task);
        let (latent, predictive) = self.model.distributions((&batch.inputs, &info))?;
        let values = level_values(self.levels());
        let is_of_moments = |question: &Question| matches!(question, Question::Mean | Question::Std);
        let [mean, std] = match questions.iter().any(is_of_moments) {
            true => moments(&predictive, values.as_deref())?,
            false => [Mat::default(), Mat::default()],
        };
        let answer = |question: &Question| {
            Ok(match *question {
                Question::Mean => mean.clone(),
                Question::Std => std.clone(),
                Question::LatentStd => {
                    let mut f = latent.moments()?;
                    f.var.as_mut_slice().iter_mut().for_each(|v| *v = v.sqrt());
                    f.var
                }
                Question::Quantile(probability) => predictive.quantiles(probability),
                Question::Probabilities => predictive.probabilities(),
                Question::LogDensity => {
                    let y = targets(task, batch);
                    let is_there = |n: &usize| y.row(*n).iter().any(|v| !v.is_nan());
                    let there: Vec<usize> = (0..y.rows()).filter(is_there).collect();
                    let mut all = Mat::from_fn(y.rows(), 1, |_, _| f64::NAN);
                    if !there.is_empty() {
                        let densities = predictive.of_rows(&there).log_density(&y.select_rows(&there))?;
                        there.iter().zip(densities).for_each(|(n, density)| all[(*n, 0)] = density);
                    }
                    all
                }
            })
        };
        questions.iter().map(answer).collect()
    }

    /// Goes through a table on so many threads, or all cores if it is large.
    fn for_table<R: Send>(
        &self,
        table: &Table,
        targets: Targets,
        n_threads: Option<usize>,
        work: impl Fn(&Batch) -> Result<R, Failure> + Sync,
        mut visit: impl FnMut(&Batch, R),
    ) -> Result<Vec<String>, Failure> {
        let n_threads = match table.source_rows() {
            Some(rows) if rows <= PART_ROWS => 1,
            _ => threads(n_threads)?,
        };
        let (schema, options) = (&self.saved.preprocessing.schema, table.options().read_options());
        let visit = |batch: &Batch, result: R| {
            visit(batch, result);
            Ok(())
        };
        let notices = for_parts(schema, (&table.source(), &options), targets, n_threads, work, visit)?;
        Ok(notices.iter().map(ToString::to_string).collect())
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Ok(Self::new(SavedModel::load(&path).map_err(Failure::from)?)?))
    }

    /// Writes a model file, all of it or nothing.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| Ok(self.saved.save(&path).map_err(Failure::from)?))
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.saved.to_bytes()).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| Ok(Self::new(SavedModel::from_bytes(bytes).map_err(Failure::from)?)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let from_bytes = PyType::new::<Self>(py).getattr("from_bytes")?;
        Ok((from_bytes, (self.to_bytes(py)?,)))
    }

    /// What `deepgp show --json` prints.
    fn described(&self) -> String {
        deepgp_cli::described(&self.saved).to_string()
    }

    /// What `deepgp show` prints.
    fn description(&self) -> String {
        deepgp_cli::description(&self.saved)
    }

    /// Columns, roles and the target, as JSON.
    fn schema(&self) -> String {
        let (schema, task) = (&self.saved.preprocessing.schema, self.saved.preprocessing.task);
        json!({
            "inputs": schema.inputs().iter().map(|input| &input.name).collect::<Vec<_>>(),
            "targets": schema.targets(),
            "roles": schema.role_columns(),
            "levels": schema.target_levels(0),
            "task": deepgp_fit::names::TaskName::from(task),
            "is_discrete": task.is_discrete(),
        })
        .to_string()
    }

    /// The course of training: an entry for each scored step.
    fn curve(&self) -> String {
        json!(self.saved.record.curve.points).to_string()
    }

    /// Answers questions about each row of a table, each a name and, for a quantile, its probability: an array for each
    /// question, and notices.
    #[pyo3(signature = (table, questions, threads = None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'_, Table>,
        questions: Vec<(String, f64)>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<Array<'py>>, Vec<String>)> {
        let questions: Vec<Question> =
            questions.iter().map(|(name, p)| Question::of(name, *p)).collect::<Result<_, _>>()?;
        let reads_targets = questions.contains(&Question::LogDensity);
        let targets = if reads_targets { Targets::Optional } else { Targets::Ignored };
        let mut answers: Vec<(Vec<f64>, usize)> = vec![(Vec::new(), 1); questions.len()];
        let table = &*table.borrow();
        let notices = py.detach(|| {
            self.for_table(
                table,
                targets,
                threads,
                |batch| self.answers(batch, &questions),
                |_, parts| {
                    for (answer, part) in answers.iter_mut().zip(parts) {
                        answer.0.extend_from_slice(part.as_slice());
                        answer.1 = part.cols();
                    }
                },
            )
        })?;
        let arrays = answers.into_iter().map(|(numbers, columns)| array(py, numbers, columns));
        Ok((arrays.collect::<PyResult<_>>()?, notices))
    }

    /// The predictive distributions of the rows of a table: of the targets, or of the latent functions.
    #[pyo3(signature = (table, latent = false, threads = None))]
    fn distribution(
        &self,
        py: Python<'_>,
        table: &Bound<'_, Table>,
        latent: bool,
        threads: Option<usize>,
    ) -> PyResult<Distribution> {
        let table = &*table.borrow();
        let mut parts = Vec::new();
        let work = |batch: &Batch| {
            let info = row_info(batch.columns.clone());
            let (f, y) = self.model.distributions((&batch.inputs, &info))?;
            Ok(if latent { f } else { y })
        };
        py.detach(|| self.for_table(table, Targets::Ignored, threads, work, |_, predictive| parts.push(predictive)))?;
        let values = if latent { None } else { level_values(self.levels()) };
        Ok(Distribution::new(parts, values))
    }

    /// The page of `deepgp report` on a table.
    fn report(&self, py: Python<'_>, table: &Bound<'_, Table>, title: &str) -> PyResult<String> {
        let table = &*table.borrow();
        let page = py.detach(|| deepgp_cli::page(title, self.saved.clone(), &table.source(), &table.options()));
        Ok(page.map_err(|error| Failure::data(format!("{error:#}")))?)
    }
}
