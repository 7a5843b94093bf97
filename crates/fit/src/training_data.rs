//! From a table to what training takes: encoded, some rows held out, standardised.

use crate::error::{Error, Result};
use crate::held_out::Rows;
use crate::plan::Plan;
use deepgp::init::distinct_rows;
use deepgp_data::{Notice, Reader, Schema, Source, TargetSummary, Targets};
use deepgp_task::{LinearModel, Preprocessing, Range, StandardisedData, WarpKind};
use std::collections::BTreeSet;
use std::path::PathBuf;

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
    learnt.targets.iter().try_for_each(TargetSummary::require_numbers)?;
    Ok(Learnt { plan, schema: learnt.schema, n_rows: learnt.n_rows as usize, notices: learnt.notices })
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
    pub linear: Option<LinearModel>,
    /// Rows held out; may be none.
    pub held_out: Rows,
    /// The rows of those that are scored while training.
    pub scored_in_training: Rows,
    /// What is remarkable about the training rows.
    pub notices: Vec<Notice>,
}

impl TrainingData {
    /// Reads the table by its schema and standardises the rows.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub fn read(plan: &Plan, source: &Source, schema: Schema) -> Result<Self> {
        let (rows, held_out) = split(plan, source, &schema)?;
        let notices = peculiarities(&rows, schema.targets());
        let ranges = Range::of_columns(&rows.x);
        let standardised = StandardisedData::new(rows.x, rows.y).map_err(|e| numbers(source, e))?;
        let (inputs, targets) = (standardised.inputs().clone(), standardised.targets().clone());
        let preprocessing = Preprocessing { task: standardised.task(), schema, inputs, ranges, targets };
        Self::of(plan, source, standardised, preprocessing, held_out, notices)
    }

    /// The data of an interrupted run, standardised as before.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub fn read_again(plan: &Plan, source: &Source, preprocessing: Preprocessing) -> Result<Self> {
        let (rows, held_out) = split(plan, source, &preprocessing.schema)?;
        let (inputs, targets) = (preprocessing.inputs.clone(), preprocessing.targets.clone());
        let standardised = StandardisedData::with(preprocessing.task, inputs, targets, rows.x, rows.y)
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
        let linear = LinearModel::fit(&plain).unwrap_or(None);
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

/// All rows with a target: those to train on and those held out.
fn split(plan: &Plan, source: &Source, schema: &Schema) -> Result<(Rows, Rows)> {
    let (batch, _) = schema.read(source, plan.read_options(), Targets::Required)?;
    drop(batch.rows);
    let mut rows = Rows { x: batch.inputs, y: batch.targets };
    let held_out = rows.hold_out(plan.n_held_out(rows.len()), plan.seed());
    Ok((rows, held_out))
}

/// What is remarkable about the training rows: repeated inputs, and targets that are a few whole numbers.
fn peculiarities(rows: &Rows, targets: &[String]) -> Vec<Notice> {
    if rows.len() > MOST_COMPARED {
        return Vec::new();
    }
    let (all, different) = (rows.len() as u64, distinct_rows(&rows.x) as u64);
    let repeated = (different < all).then(|| Notice::RepeatedInputs { count: all - different, rows: all });
    let whole = targets.iter().enumerate().filter_map(|(d, column)| {
        let values = rows.y.column(d);
        let is_whole = values.iter().all(|v| v.fract() == 0.0 && v.abs() < MOST_WHOLE);
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
        let found = peculiarities(&Rows { x: x.clone(), y: y.clone() }, &names);
        let quality = Notice::WholeTarget { column: "quality".into(), different: 6 };
        assert_eq!(found, [Notice::RepeatedInputs { count: 10, rows: 60 }, quality]);
        let x = Mat::from_fn(60, 1, |i, _| i as f64);
        let half = Mat::from_fn(60, 1, |i, _| i as f64 / 2.0);
        assert!(peculiarities(&Rows { x, y: half }, &names[1..]).is_empty());
    }
}
