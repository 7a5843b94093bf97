//! What cross-validation tells of the answer: scores of rows by models that have not seen them.
//!
//! The mixture is chosen again for each part of the rows, by what the trials showed on all other parts, and made of the
//! models that were trained without it. So the scores are those of the whole way from trials to an answer:
//!
//! ```text
//! log p(y_n) = log Σ_k w_k(−part of n) p_k(y_n; trained without the fold of n)
//! ```
//!
//! The answer itself is trained on all rows, and should do a little better.

use super::folds::Fold;
use super::memory::Memory;
use super::trial::{Trial, member_of_fold};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_task::{
    Baselines, CrossValidation, ExpectedDensity, Linear, Member, Model, MomentCheck, Predictive, RowInfo, ScoreTally,
    Scores, StandardisedData, Standardiser,
};

/// Parts of the rows of a single fold.
const PARTS_OF_ONE_FOLD: usize = 5;

/// Scores of the answer and of what it is compared with, on rows that none of them has seen.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossValidated {
    /// Of the mixture.
    pub mixture: CrossValidation,
    /// Of simpler models: "constant", and "linear" where there is one.
    pub baselines: Vec<(&'static str, Scores)>,
    /// Log densities of the mixture.
    pub expected: Option<ExpectedDensity>,
    /// How far propagated moments agree with samples on rows of the first fold.
    pub moment_check: Option<MomentCheck>,
}

/// Validates the way from finalists to a mixture. Nothing if a part of the rows has no finite scores.
///
/// # Errors
/// From prediction.
pub(crate) fn cross_validated(
    data: &StandardisedData,
    folds: &[Fold],
    memory: &Memory,
    finalists: &[Trial],
    choose: impl Fn(Vec<Trial>) -> Vec<(f64, Trial)>,
    seed: u64,
) -> Result<Option<CrossValidated>> {
    let ends: Vec<usize> = folds
        .iter()
        .scan(0, |end, fold| {
            *end += fold.constant.len();
            Some(*end)
        })
        .collect();
    let n = ends.last().copied().unwrap_or(0);
    let parts: Vec<(usize, Vec<usize>)> = match ends.len() {
        0 => return Ok(None),
        1 => (0..PARTS_OF_ONE_FOLD.min(n)).map(|part| (0, (part..n).step_by(PARTS_OF_ONE_FOLD).collect())).collect(),
        _ => ends.iter().enumerate().map(|(f, end)| (f, (end - folds[f].constant.len()..*end).collect())).collect(),
    };
    let of_fold: Vec<Unseen<'_>> = folds.iter().map(|fold| Unseen::of(data, fold)).collect();
    let (mut tally, mut log_densities) = (ScoreTally::new(), Vec::new());
    let (mut baselines, mut moment_check): (Vec<(&'static str, ScoreTally)>, _) = (Vec::new(), None);
    for (f, part) in parts {
        let others: Vec<usize> = (0..n).filter(|row| part.binary_search(row).is_err()).collect();
        let mixture = choose(finalists.iter().map(|trial| trial.on(&others)).collect());
        let unseen = &of_fold[f];
        let model = unseen.model(memory, mixture)?;
        let first = ends[f] - unseen.fold.constant.len();
        let (x, y, info) = unseen.rows(&part.iter().map(|row| row - first).collect::<Vec<usize>>());
        let predictive = model.tally((&x, &info), &y, &mut tally)?;
        log_densities.extend(predictive.log_density(&y)?);
        for (name, predictive) in unseen.baselines((&x, &info))? {
            let place = baselines.iter().position(|(other, _)| *other == name).unwrap_or(baselines.len());
            if place == baselines.len() {
                baselines.push((name, ScoreTally::new()));
            }
            baselines[place].1.add_weighted(&predictive, &y, &info.weight)?;
        }
        if moment_check.is_none() && info.is_empty() {
            let few: Vec<usize> = (0..x.rows().min(MomentCheck::MOST_ROWS)).collect();
            moment_check =
                model.check_moments(&x.select_rows(&few), &y.select_rows(&few), MomentCheck::SAMPLES, seed)?;
        }
    }
    let scores = tally.scores()?;
    if !scores.is_finite() {
        return Ok(None);
    }
    let baselines = baselines.into_iter().map(|(name, tally)| Ok((name, tally.scores()?))).collect::<Result<_>>()?;
    let expected = ExpectedDensity::of(&log_densities);
    let standard_error = expected.map(|expected| expected.own_error());
    let mixture = CrossValidation { folds: folds.len(), scores, standard_error };
    Ok(Some(CrossValidated { mixture, baselines, expected, moment_check }))
}

/// A fold whose validation rows are predicted in the targets' own units.
struct Unseen<'a> {
    fold: &'a Fold,
    data: &'a StandardisedData,
    /// From the targets' own units to those that the fold is trained in.
    targets: Standardiser,
    linear: Option<Linear>,
}

impl<'a> Unseen<'a> {
    fn of(data: &'a StandardisedData, fold: &'a Fold) -> Self {
        let targets = data.targets().then(fold.train.targets());
        Self { fold, data, targets, linear: Linear::fit(&fold.train).unwrap_or(None) }
    }

    /// Validation rows: inputs as the data have them, targets and what is known of the rows in their own units.
    fn rows(&self, rows: &[usize]) -> (Mat, Mat, RowInfo) {
        let (x, y) = (self.fold.validation.0.select_rows(rows), self.fold.validation.1.select_rows(rows));
        let targets = self.data.targets();
        // Both bounds of a target are in its unit.
        let column = |p: usize| p.min(targets.columns() - 1);
        let own = |n: usize, p: usize| y[(n, p)] * targets.scale()[column(p)] + targets.mean()[column(p)];
        let mut info = self.fold.info.of_rows(rows);
        info.noise_std.iter_mut().for_each(|std| *std *= targets.scale()[0]);
        (x, Mat::from_fn(y.rows(), y.cols(), own), info)
    }

    /// The mixture of what its members were on this fold.
    fn model(&self, memory: &Memory, mixture: Vec<(f64, Trial)>) -> Result<Model> {
        let train = &self.fold.train;
        let member = |(weight, trial): (f64, Trial)| -> Result<Member> {
            let found = memory.recall(&trial.candidate, self.fold).flatten().and_then(|result| result.fitted);
            let kept = found.ok_or(Error::Empty { what: "results of a fold", rows: 0, columns: 1 })?;
            member_of_fold(&trial.candidate, self.fold, weight, kept)
        };
        let members = mixture.into_iter().map(member).collect::<Result<Vec<Member>>>()?;
        let model = Model::mixture(train.task(), train.inputs().clone(), self.targets.clone(), members)?;
        Ok(model.with_average_row(train.average_row().cloned()))
    }

    /// The linear model of this fold, and the constant of all rows: it has next to nothing to learn, and with one for
    /// each fold rows would be ranked by their fold.
    fn baselines(&self, rows: (&Mat, &RowInfo)) -> Result<Vec<(&'static str, Predictive)>> {
        let (train, linear) = (&self.fold.train, self.linear.as_ref());
        let of_fold = Baselines { targets: &self.targets, ..Baselines::of(train, linear) };
        let of_all = Baselines { inputs: train.inputs(), ..Baselines::of(self.data, None) };
        let linear = of_fold.predictive(rows)?.into_iter().filter(|(name, _)| *name == "linear");
        Ok(of_all.predictive(rows)?.into_iter().chain(linear).collect())
    }
}
