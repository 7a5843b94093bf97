//! From a table to what training takes: encoded, some rows held out, standardised.

use crate::fault::usage;
use crate::plan::Plan;
use crate::values::TransformName;
use anyhow::{Result, bail};
use deepgp::init::distinct_rows;
use deepgp_data::{Notice, Reader, Schema, Source, Targets};
use deepgp_numerics::linalg::Mat;
use deepgp_task::WarpKind;
use deepgp_task::{LinearModel, Prepared, Preprocessing, Range};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// Most rows that are compared with each other, which takes memory for each.
const MOST_COMPARED: usize = 200_000;
/// Most different whole numbers that are worth a word, and how large they may be.
const MOST_DIFFERENT: usize = 20;
const MOST_WHOLE: f64 = 1e9;
/// Most held-out rows that are looked at while training.
const LOOKED_AT: usize = 1000;

/// Rows in their own units.
#[derive(Debug, Default)]
pub struct Rows {
    /// Inputs.
    pub x: Mat,
    /// Targets.
    pub y: Mat,
}

/// Everything that a run takes from the data.
#[derive(Debug)]
pub struct TrainingData {
    /// Training rows, standardised.
    pub prepared: Prepared,
    /// From a table to these, and back.
    pub preprocessing: Preprocessing,
    /// A linear model of the training rows, to compare with; a singular table has none.
    pub linear: Option<LinearModel>,
    /// Rows held out; may be none.
    pub held_out: Rows,
    /// The rows of those that are looked at while training.
    pub looked_at: Rows,
    /// What was decided about the data.
    pub notices: Vec<Notice>,
}

impl TrainingData {
    /// Learns the schema, reads the table and prepares the rows. Of the data there is one copy in memory.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub fn read(plan: &Plan, source: &Source, schema: Schema, mut notices: Vec<Notice>) -> Result<Self> {
        let (rows, held_out) = split(plan, source, &schema)?;
        notices.extend(peculiarities(&rows, schema.targets()));
        let ranges = Range::of_columns(&rows.x);
        let prepared = Prepared::new(rows.x, rows.y)?;
        let (inputs, targets) = (prepared.inputs().clone(), prepared.targets().clone());
        let preprocessing = Preprocessing { schema, inputs, ranges, targets };
        Self::of(plan, prepared, preprocessing, held_out, notices)
    }

    fn of(
        plan: &Plan,
        plain: Prepared,
        preprocessing: Preprocessing,
        held_out: Rows,
        notices: Vec<Notice>,
    ) -> Result<Self> {
        let linear = LinearModel::fit(&plain).unwrap_or(None);
        let prepared = match plan.transform {
            None => plain,
            Some(name) => match plain.warped(name.into())? {
                Some(warped) => warped,
                None => bail!(
                    "the targets cannot be transformed by {}: there are too few different ones{}",
                    WarpKind::from(name),
                    if name == TransformName::Log { ", or some are not positive" } else { "" }
                ),
            },
        };
        Ok(Self { looked_at: held_out.thinned(), prepared, preprocessing, linear, held_out, notices })
    }

    /// The data of an interrupted run, prepared as they were.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub fn read_again(plan: &Plan, source: &Source, preprocessing: Preprocessing) -> Result<Self> {
        let (rows, held_out) = split(plan, source, &preprocessing.schema)?;
        let (inputs, targets) = (preprocessing.inputs.clone(), preprocessing.targets.clone());
        let prepared = Prepared::with(inputs, targets, rows.x, rows.y)?;
        Self::of(plan, prepared, preprocessing, held_out, Vec::new())
    }

    /// Training rows.
    pub fn n_train(&self) -> usize {
        self.prepared.x().rows()
    }
}

/// Learns which columns are what; names the last column as target if the plan names none.
///
/// # Errors
/// What is wrong with the table or the columns asked for.
pub fn learn(plan: &mut Plan, source: &Source) -> Result<(Schema, usize, Vec<Notice>)> {
    if plan.targets.is_empty() {
        let reader = Reader::open(source, &plan.read)?;
        let taken = |name: &&String| {
            !plan.exclude.contains(name) && !plan.features.as_ref().is_some_and(|features| features.contains(name))
        };
        match reader.names().iter().rev().find(taken) {
            Some(last) => plan.targets = vec![last.clone()],
            None => return Err(usage!("no column is left to predict; name one with --target")),
        }
    }
    let learnt = Schema::learn(source, &plan.read, &plan.roles())?;
    Ok((learnt.schema, learnt.n_rows as usize, learnt.notices))
}

/// All rows with a target: those to train on and those held out.
fn split(plan: &Plan, source: &Source, schema: &Schema) -> Result<(Rows, Rows)> {
    let (batch, _) = schema.read(source, &plan.read, Targets::Required)?;
    drop(batch.rows);
    let (mut x, mut y) = (batch.inputs, batch.targets);
    let chosen = choose(x.rows(), plan.n_held_out(x.rows()), plan.config.train.seed);
    let held_out = Rows { x: x.take_rows(&chosen), y: y.take_rows(&chosen) };
    Ok((Rows { x, y }, held_out))
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

/// Stream of random numbers for the choice of held-out rows; minibatches count up from 0.
const STREAM: u64 = u64::MAX - 2;

/// `count` of `n` rows, ascending: a function of the seed. After R. W. Floyd.
fn choose(n: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let mut chosen = BTreeSet::new();
    for last in n - count..n {
        let row = rng.random_range(0..=last);
        chosen.insert(if chosen.contains(&row) { last } else { row });
    }
    chosen.into_iter().collect()
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// The first rows, at most so many.
    pub fn first(&self, most: usize) -> (Mat, Mat) {
        let rows: Vec<usize> = (0..self.len().min(most)).collect();
        (self.x.select_rows(&rows), self.y.select_rows(&rows))
    }

    /// Evenly spaced rows, few enough to be looked at often.
    fn thinned(&self) -> Self {
        let stride = self.len().div_ceil(LOOKED_AT).max(1);
        let rows: Vec<usize> = (0..self.len()).step_by(stride).collect();
        Self { x: self.x.select_rows(&rows), y: self.y.select_rows(&rows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_a_function_of_the_seed() {
        let chosen = choose(1000, 100, 3);
        assert_eq!((chosen.len(), &chosen), (100, &choose(1000, 100, 3)));
        assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.iter().all(|&row| row < 1000));
        assert_ne!(chosen, choose(1000, 100, 4));
        assert_eq!((choose(5, 5, 0), choose(5, 0, 0)), (vec![0, 1, 2, 3, 4], vec![]));
        // Every row is equally likely: its count over 2000 seeds is 200 ± 5 deviations.
        let mut counts = [0_i32; 50];
        (0..2000).flat_map(|seed| choose(50, 5, seed)).for_each(|row| counts[row] += 1);
        assert!(counts.iter().all(|&c| (c - 200).abs() < 67), "{counts:?}");
    }

    #[test]
    fn twins_and_whole_numbers_are_noticed() {
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

    #[test]
    fn looks_are_spread_over_all_rows() {
        let x = Mat::from_fn(2500, 1, |i, _| i as f64);
        let few = Rows { y: x.clone(), x }.thinned();
        assert_eq!((few.len(), few.x[(1, 0)], few.x[(833, 0)]), (834, 3.0, 2499.0));
        assert_eq!(Rows::default().thinned().len(), 0);
    }
}
