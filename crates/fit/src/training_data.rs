//! From a table to what training takes: encoded, some rows held out, standardised.

use crate::error::{Error, Result};
use crate::held_out::Rows;
use crate::names::TaskName;
use crate::plan::Plan;
use crate::target::{self, TargetChoice};
use crate::target_error::TargetError;
use deepgp::init::distinct_rows;
use deepgp_data::{Notice, Reader, Schema, Source, TargetLevel, TargetSummary, Targets};
use deepgp_task::{Linear, Preprocessing, Range, StandardisedData, Task, WarpKind};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// With fewer rows than this not every fold has one of a label.
const FEW_ROWS: u64 = 8;
/// Most rows that are compared with each other, which takes memory for each.
const MOST_COMPARED: usize = 200_000;
/// Most different whole numbers that are worth a word, and how large they may be.
const MOST_DIFFERENT: usize = 20;
const MOST_WHOLE: f64 = 1e9;

/// The columns of a table and how many rows there are.
#[derive(Debug)]
pub(crate) struct Learnt {
    /// The plan, with a target.
    pub plan: Plan,
    /// Which columns are what.
    pub schema: Schema,
    /// What the targets are.
    pub task: Task,
    /// What the target is taken for, if there is only one.
    pub choice: Option<TargetChoice>,
    /// Rows with a target.
    pub n_rows: usize,
    /// What was decided about the columns.
    pub notices: Vec<Notice>,
}

/// Learns which columns are what; the last one is the target if the plan names none.
///
/// # Errors
/// What is wrong with the table or the columns asked for.
pub(crate) fn learn(plan: Plan, source: &Source) -> Result<Learnt> {
    let plan = match plan.targets() {
        [] => {
            let reader = Reader::open(source, plan.read_options())?;
            plan.with_target_among(reader.names())?
        }
        _ => plan,
    };
    let learnt = Schema::learn(source, plan.read_options(), &plan.roles())?;
    let (mut schema, n_rows, mut notices) = (learnt.schema, learnt.n_rows as usize, learnt.notices);
    let (mut task, mut choice) = (Task::Regression, None);
    match learnt.targets.as_slice() {
        [target] => {
            let chosen = target::choose(target, plan.target_settings())?;
            task = chosen.task;
            if !chosen.levels.is_empty() {
                schema = schema.with_labels(&chosen.column, chosen.levels.clone())?;
                notices.extend(rare_labels(target));
            }
            choice = Some(chosen);
        }
        several => {
            // Counts and numbers between bounds have a model each.
            let is_of_one = matches!(plan.target_settings().task, Some(TaskName::Counts | TaskName::Censored));
            for target in several {
                if plan.target_settings().asks_for_labels() || is_of_one || !target.is_numeric() {
                    return Err(TargetError::SeveralTargets { column: target.name.clone() }.into());
                }
            }
        }
    }
    let likelihood = plan.search().is_none().then(|| plan.likelihood(task));
    target::check_model(&learnt.targets, task, likelihood, plan.row_settings())?;
    check_transform(&plan, task)?;
    Ok(Learnt { plan, schema, task, choice, n_rows, notices })
}

/// Checks that targets are transformed only where noise is added to them and not known.
fn check_transform(plan: &Plan, task: Task) -> Result<(), TargetError> {
    let is_additive = plan.likelihood(task).is_additive() || task == Task::Censored;
    if plan.transform().is_some() && (!is_additive || plan.roles().noise_std.is_some()) {
        return Err(TargetError::NoTransform { column: plan.targets().join(", ") });
    }
    Ok(())
}

/// A word about labels that few rows have.
fn rare_labels(target: &TargetSummary) -> Option<Notice> {
    let rare = |level: &&TargetLevel| level.count < FEW_ROWS;
    let labels: Vec<String> = target.levels.iter().filter(rare).map(|level| level.text.clone()).collect();
    (!labels.is_empty()).then(|| Notice::RareLabels { column: target.name.clone(), labels, rows: FEW_ROWS })
}

/// Everything that a fit takes from the data. There is one copy of the rows in memory.
#[derive(Debug)]
pub(crate) struct TrainingData {
    /// What the table is called.
    pub table: PathBuf,
    /// Training rows, standardised.
    pub standardised: StandardisedData,
    /// From a table to these, and back.
    pub preprocessing: Preprocessing,
    /// A linear model of the training rows, to compare with; a singular table has none.
    pub linear: Option<Linear>,
    /// Rows held out; may be none.
    pub held_out: Rows,
    /// The rows of those that are scored while training.
    pub scored_in_training: Rows,
    /// What is remarkable about the training rows.
    pub notices: Vec<Notice>,
}

impl TrainingData {
    /// Reads the table by its schema, and that of the rows to hold out if there is one, and standardises the rows.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub fn read(plan: &Plan, source: &Source, held_out: Option<&Source>, schema: Schema, task: Task) -> Result<Self> {
        let (rows, held_out, of_held_out) = split(plan, source, held_out, &schema, task)?;
        let mut notices = peculiarities(task, &rows, schema.targets());
        notices.extend(of_held_out);
        let ranges = Range::of_columns(&rows.x);
        let Rows { x, y, info } = rows;
        let standardised = StandardisedData::for_rows(task, x, y, info).map_err(|e| numbers(source, e))?;
        let (inputs, targets) = (standardised.inputs().clone(), standardised.targets().clone());
        let average_row = standardised.average_row().cloned();
        let preprocessing = Preprocessing { task, schema, inputs, ranges, targets, average_row };
        Self::of(plan, source, standardised, preprocessing, held_out, notices)
    }

    /// The data of an interrupted run, standardised as before.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub fn read_again(plan: &Plan, source: &Source, preprocessing: Preprocessing) -> Result<Self> {
        let held_out = plan.valid_table().map(Source::new);
        let (rows, held_out, _) = split(plan, source, held_out.as_ref(), &preprocessing.schema, preprocessing.task)?;
        let (inputs, targets) = (preprocessing.inputs.clone(), preprocessing.targets.clone());
        let Rows { x, y, info } = rows;
        let standardised = StandardisedData::with(preprocessing.task, inputs, targets, x, y)
            .and_then(|data| data.with_info(info))
            .map_err(|e| numbers(source, e))?;
        Self::of(plan, source, standardised, preprocessing, held_out, Vec::new())
    }

    fn of(
        plan: &Plan,
        source: &Source,
        plain: StandardisedData,
        preprocessing: Preprocessing,
        held_out: Rows,
        notices: Vec<Notice>,
    ) -> Result<Self> {
        let linear = Linear::fit(&plain).unwrap_or(None);
        // A search decides on the observation model itself.
        let plain = match plan.search() {
            Some(_) => plain,
            None => {
                let likelihood = plan.likelihood(plain.task());
                plain.for_likelihood(likelihood).map_err(|e| numbers(source, e))?
            }
        };
        let standardised = match plan.transform().map(WarpKind::from) {
            None => plain,
            Some(kind) => plain.warped(kind).map_err(|e| numbers(source, e))?.ok_or(Error::Transform { kind })?,
        };
        let (table, scored_in_training) = (source.label().to_owned(), held_out.thinned());
        Ok(Self { table, standardised, preprocessing, linear, held_out, scored_in_training, notices })
    }

    /// Training rows.
    pub fn n_train(&self) -> usize {
        self.standardised.x().rows()
    }
}

/// An error about the numbers in a table.
fn numbers(table: &Source, source: deepgp::Error) -> Error {
    Error::Numbers { table: table.label().to_owned(), source }
}

/// All rows with a target: those to train on and those held out, and what is to be said of these if they are of another
/// table.
fn split(
    plan: &Plan,
    source: &Source,
    held_out: Option<&Source>,
    schema: &Schema,
    task: Task,
) -> Result<(Rows, Rows, Vec<Notice>)> {
    let (batch, _) = schema.read(source, plan.read_options(), Targets::Required)?;
    let mut rows = Rows::of(task, batch);
    match held_out {
        None => {
            let held_out = rows.hold_out(plan.n_held_out(rows.len()), plan.seed());
            Ok((rows, held_out, Vec::new()))
        }
        Some(table) => {
            let (batch, notices) = schema.read(table, plan.read_options(), Targets::Required)?;
            Ok((rows, Rows::of(task, batch), notices))
        }
    }
}

/// What is remarkable about the training rows: repeated inputs, and targets that are a few whole numbers.
fn peculiarities(task: Task, rows: &Rows, targets: &[String]) -> Vec<Notice> {
    if rows.len() > MOST_COMPARED {
        return Vec::new();
    }
    let (all, different) = (rows.len() as u64, distinct_rows(&rows.x) as u64);
    let repeated = (different < all).then(|| Notice::RepeatedInputs { count: all - different, rows: all });
    let whole = targets.iter().enumerate().filter_map(|(d, column)| {
        let values = rows.y.column(d);
        let is_whole = task == Task::Regression && values.iter().all(|v| v.fract() == 0.0 && v.abs() < MOST_WHOLE);
        let different: BTreeSet<i64> =
            if is_whole { values.iter().map(|v| *v as i64).collect() } else { BTreeSet::new() };
        let few = 2..=MOST_DIFFERENT.min(rows.len() / 2);
        few.contains(&different.len())
            .then(|| Notice::WholeTarget { column: column.clone(), different: different.len() })
    });
    repeated.into_iter().chain(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::linalg::Mat;

    #[test]
    fn repeated_rows_and_whole_numbers_are_noticed() {
        let x = Mat::from_fn(60, 2, |i, j| (i % 50 * (j + 1)) as f64);
        let y = Mat::from_fn(60, 2, |i, d| if d == 0 { (i % 6) as f64 } else { i as f64 });
        let names = ["quality".to_owned(), "price".to_owned()];
        let found = peculiarities(Task::Regression, &Rows { x: x.clone(), y: y.clone(), ..Rows::default() }, &names);
        let quality = Notice::WholeTarget { column: "quality".into(), different: 6 };
        assert_eq!(found, [Notice::RepeatedInputs { count: 10, rows: 60 }, quality]);
        let x = Mat::from_fn(60, 1, |i, _| i as f64);
        let half = Mat::from_fn(60, 1, |i, _| i as f64 / 2.0);
        assert!(peculiarities(Task::Regression, &Rows { x, y: half, ..Rows::default() }, &names[1..]).is_empty());
    }
}
