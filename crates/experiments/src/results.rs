//! Records in order: studies, tasks, variants, and what their runs say together.

use crate::error::{Error, Result};
use crate::log::read_records;
use crate::metric::Metric;
use crate::record::{Choice, Key, Line, Run, Search};
use crate::stats::{Paired, Summary, Verdict, mid_ranks};
use crate::study::CHOSEN;
use crate::task::Task;
use deepgp::infer::{Engine, Site};
use deepgp::train::Termination;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

/// All records of some files.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The studies, by name.
    pub studies: Vec<StudyResults>,
}

/// The records of one study.
#[derive(Debug, Clone, Default)]
pub struct StudyResults {
    /// Its name.
    pub name: String,
    /// Its tasks: those of the paper first, in the paper's order, then others by name.
    pub tasks: Vec<String>,
    /// Its variants: by depth, width, inducing inputs, engine and α.
    pub variants: Vec<String>,
    /// Its searches, by task and variant in these orders.
    pub searches: Vec<Search>,
    /// Its choices.
    pub choices: Vec<Choice>,
    runs: BTreeMap<(String, String), Vec<Run>>,
}

/// Runs of one task and variant, one for each split.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a>(&'a [Run]);

/// A column of a table: a variant of a study.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The study.
    pub study: &'a StudyResults,
    /// The variant.
    pub variant: &'a str,
}

/// How two columns stand to each other over tasks, counted for the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Tally {
    /// Tasks that both have results for.
    pub tasks: usize,
    /// [`Verdict::Win`]s.
    pub wins: usize,
    /// [`Verdict::Tie`]s.
    pub ties: usize,
    /// [`Verdict::Loss`]es.
    pub losses: usize,
    /// Tasks on which its mean is better, by however little.
    pub better: usize,
    /// Tasks on which its mean is worse, by however little.
    pub worse: usize,
    /// Wins that the corrected resampled t-test finds significant.
    pub significant_wins: usize,
    /// Losses that it finds significant.
    pub significant_losses: usize,
}

impl Results {
    /// Reads record files, plain or compressed.
    ///
    /// # Errors
    /// What [`read_records`] says, and [`Error::TwoRecords`] if files disagree about a run.
    pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Self> {
        let mut results = Self::default();
        for path in paths.iter().map(AsRef::as_ref) {
            for line in read_records(path)? {
                let key = results.add(line);
                key.map_err(|key| Error::TwoRecords {
                    path: path.into(),
                    what: format!("study {}, task {}, {}, split {}", key.study, key.task, key.variant, key.split),
                })?;
            }
        }
        results.sort();
        Ok(results)
    }

    /// From records in memory.
    ///
    /// # Errors
    /// [`Error::TwoRecords`] if they disagree about a run.
    pub fn of(lines: impl IntoIterator<Item = Line>) -> Result<Self> {
        let mut results = Self::default();
        for line in lines {
            results.add(line).map_err(|key| Error::TwoRecords { path: "records".into(), what: format!("{key:?}") })?;
        }
        results.sort();
        Ok(results)
    }

    /// Adds a record. The same result again, as overlapping files have it, is passed over; another result is an error.
    fn add(&mut self, line: Line) -> std::result::Result<(), Key> {
        let name = &line.key().study;
        let place = self.studies.iter().position(|study| study.name == *name).unwrap_or_else(|| {
            self.studies.push(StudyResults { name: name.clone(), ..StudyResults::default() });
            self.studies.len() - 1
        });
        let study = &mut self.studies[place];
        // Times and circumstances differ from one time to the next, results must not.
        match line {
            Line::Run(run) => {
                let runs = study.runs.entry((run.key.task.clone(), run.key.variant.clone())).or_default();
                match runs.iter().find(|old| old.key == run.key) {
                    None => runs.push(run),
                    Some(old) if (&old.config, &old.result) == (&run.config, &run.result) => {}
                    Some(_) => return Err(run.key),
                }
            }
            Line::Search(search) => match study.searches.iter().find(|old| old.key == search.key) {
                None => study.searches.push(search),
                Some(old) if (&old.config, &old.trials) == (&search.config, &search.trials) => {}
                Some(_) => return Err(search.key),
            },
            Line::Choice(choice) => match study.choices.iter().find(|old| old.key.task == choice.key.task) {
                None => study.choices.push(choice),
                Some(old) if *old == choice => {}
                Some(_) => return Err(choice.key),
            },
            // It follows from the runs and is made of them again: `StudyResults::far_below`.
            Line::FarBelow(_) => {}
        }
        Ok(())
    }

    /// This study with the runs of these splits alone; searches and choices stay.
    pub fn of_splits(&self, splits: &[usize]) -> Self {
        let mut some = self.clone();
        for study in &mut some.studies {
            study.runs.values_mut().for_each(|runs| runs.retain(|run| splits.contains(&run.key.split)));
            study.runs.retain(|_, runs| !runs.is_empty());
        }
        some.sort();
        some
    }

    fn sort(&mut self) {
        self.studies.sort_by(|a, b| a.name.cmp(&b.name));
        self.studies.iter_mut().for_each(StudyResults::sort);
    }

    /// The study of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn study(&self, name: &str) -> Result<&StudyResults> {
        self.studies.iter().find(|study| study.name == name).ok_or_else(|| Error::Unknown {
            what: "study",
            name: name.into(),
            known: self.studies.iter().map(|study| study.name.clone()).collect(),
        })
    }
}

/// Where a variant stands among others.
type Place = (bool, usize, usize, usize, usize, i64, String);

impl StudyResults {
    fn sort(&mut self) {
        self.runs.values_mut().for_each(|runs| runs.sort_by_key(|run| run.key.split));
        let searched = self.searches.iter().map(|s| s.key.task.clone());
        let mut tasks: Vec<String> = self.runs.keys().map(|(task, _)| task.clone()).chain(searched).collect();
        let paper: Vec<String> = Task::paper().into_iter().map(|task| task.name).collect();
        let place = |task: &String| paper.iter().position(|name| name == task).unwrap_or(paper.len());
        tasks.sort_by_key(|task| (place(task), task.clone()));
        tasks.dedup();
        let configs = self.runs.iter().filter_map(|((_, variant), runs)| Some((variant, &runs.first()?.config)));
        let mut variants: Vec<Place> = configs
            .map(|(variant, config)| {
                let (hidden, inference) = (&config.architecture.hidden, config.train.inference);
                let engine = match inference.engine {
                    Engine::Sep(Site::FirstOrder) => 0,
                    Engine::Sep(Site::Exact) => 1,
                    Engine::Ep => 2,
                    Engine::Adf => 3,
                    Engine::JointEnergy => 4,
                };
                let alpha = (-1e6 * inference.alpha) as i64;
                let units = hidden.iter().sum();
                let inducing = config.architecture.n_inducing;
                (variant == CHOSEN, hidden.len(), units, inducing, engine, alpha, variant.clone())
            })
            .collect();
        variants.sort();
        self.variants.clear();
        for (.., variant) in variants {
            // Layers as wide as the inputs have other widths on other tasks; the narrowest decides.
            if !self.variants.contains(&variant) {
                self.variants.push(variant);
            }
        }
        let (variants, place) = (&self.variants, |name: &str, list: &[String]| list.iter().position(|n| n == name));
        self.searches.sort_by_key(|s| {
            (place(&s.key.task, &tasks), place(&s.key.variant, variants), s.key.variant.clone(), s.key.split)
        });
        self.choices.sort_by_key(|c| place(&c.key.task, &tasks));
        self.tasks = tasks;
    }

    /// The runs of a task and variant; none if there are none.
    pub fn runs(&self, task: &str, variant: &str) -> Option<Runs<'_>> {
        self.runs.get(&(task.to_owned(), variant.to_owned())).map(|runs| Runs(runs))
    }

    /// Whether there is a run with this key.
    pub fn has(&self, key: &Key) -> bool {
        self.runs(&key.task, &key.variant).is_some_and(|runs| runs.iter().any(|run| run.key == *key))
    }

    /// All runs, by task and variant.
    pub fn all_runs(&self) -> impl Iterator<Item = &Run> {
        let pairs = self.tasks.iter().flat_map(|task| self.variants.iter().map(move |variant| (task, variant)));
        pairs.filter_map(|(task, variant)| self.runs(task, variant)).flat_map(|runs| runs.0)
    }

    /// The column of this variant.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn column<'a>(&'a self, variant: &str) -> Result<Column<'a>> {
        let found = self.variants.iter().find(|name| *name == variant);
        let variant = found.ok_or_else(|| Error::Unknown {
            what: "variant",
            name: variant.into(),
            known: self.variants.clone(),
        })?;
        Ok(Column { study: self, variant })
    }

    /// All its columns.
    pub fn columns(&self) -> Vec<Column<'_>> {
        self.variants.iter().map(|variant| Column { study: self, variant }).collect()
    }

    /// Its first sparse GP: what others are compared with if nothing else is said.
    pub fn gp(&self) -> Option<Column<'_>> {
        let is_gp = |column: &Column<'_>| {
            column.all().next().is_some_and(|run| run.config.architecture.hidden.is_empty()) && column.variant != CHOSEN
        };
        self.columns().into_iter().find(is_gp)
    }
}

impl<'a> Column<'a> {
    /// Its runs on a task.
    pub fn runs(&self, task: &str) -> Option<Runs<'a>> {
        self.study.runs(task, self.variant)
    }

    /// Its runs on all tasks.
    pub fn all(&self) -> impl Iterator<Item = &'a Run> {
        let (study, variant) = (self.study, self.variant);
        study.tasks.iter().filter_map(move |task| study.runs(task, variant)).flat_map(|runs| runs.0)
    }

    /// A comparison with another column on the splits of a task that both have scores for; none if there are none.
    pub fn compare(&self, other: &Column<'_>, task: &str, metric: Metric) -> Option<Paired> {
        let (ours, theirs) = (self.runs(task)?, other.runs(task)?);
        let of = |run: &Run| Some((run.key.split, metric.of(run)?));
        let theirs: BTreeMap<usize, f64> = theirs.iter().filter_map(of).collect();
        let pairs: Vec<(f64, f64)> =
            ours.iter().filter_map(of).filter_map(|(split, a)| Some((a, *theirs.get(&split)?))).collect();
        Paired::of(&pairs, ours.test_to_train()?)
    }

    /// Who is ahead on a task. A failed run has no score, and leaving it out would favour the column that it belongs
    /// to: of two columns the one with the larger share of failed runs loses; if the shares are equal, the other runs
    /// decide.
    pub fn verdict(&self, other: &Column<'_>, task: &str, metric: Metric) -> Option<Verdict> {
        let (ours, theirs) = (self.runs(task)?, other.runs(task)?);
        match ours.compare_failures(&theirs) {
            Ordering::Less => Some(Verdict::Win),
            Ordering::Greater => Some(Verdict::Loss),
            Ordering::Equal => Some(self.compare(other, task, metric)?.verdict(metric.larger_is_better()?)),
        }
    }

    /// Wins, ties and losses against another column over tasks; see [`Column::verdict`].
    pub fn tally(&self, other: &Column<'_>, tasks: &[String], metric: Metric) -> Tally {
        let mut tally = Tally::default();
        for task in tasks {
            let (Some(verdict), Some(larger)) = (self.verdict(other, task, metric), metric.larger_is_better()) else {
                continue;
            };
            tally.tasks += 1;
            match verdict {
                Verdict::Win => tally.wins += 1,
                Verdict::Tie => tally.ties += 1,
                Verdict::Loss => tally.losses += 1,
            }
            let Some(paired) = self.compare(other, task, metric) else { continue };
            let gain = if larger { paired.difference } else { -paired.difference };
            tally.better += usize::from(gain > 0.0);
            tally.worse += usize::from(gain < 0.0);
            tally.significant_wins += usize::from(gain > 0.0 && paired.is_significant());
            tally.significant_losses += usize::from(gain < 0.0 && paired.is_significant());
        }
        tally
    }
}

impl<'a> Runs<'a> {
    /// Runs, ordered by split.
    pub fn iter(&self) -> impl Iterator<Item = &'a Run> + use<'a> {
        self.0.iter()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many have no finite scores.
    pub fn failed(&self) -> usize {
        self.0.iter().filter(|run| run.result.scores.is_none()).count()
    }

    /// Whether a smaller or larger share of these runs has failed than of others.
    fn compare_failures(&self, other: &Runs<'_>) -> Ordering {
        (self.failed() * other.count()).cmp(&(other.failed() * self.count()))
    }

    /// Summary of a metric over the runs that have it.
    pub fn summary(&self, metric: Metric) -> Option<Summary> {
        Summary::of(&self.0.iter().filter_map(|run| metric.of(run)).collect::<Vec<f64>>())
    }

    /// Mean ratio of the sizes of test and training part.
    fn test_to_train(&self) -> Option<f64> {
        let ratios = self.0.iter().filter_map(|run| Some(run.result.scores.as_ref()?.rows as f64 / run.rows as f64));
        Some(Summary::of(&ratios.collect::<Vec<f64>>())?.mean)
    }
}

impl Run {
    /// The linear model's RMSE on the same rows, if this run's is above it: a fit that is lost.
    pub fn lost_to(&self) -> Option<f64> {
        let (_, linear) = self.result.baselines.iter().find(|(name, _)| name == "linear")?;
        let (rmse, linear) = (self.result.scores.as_ref()?.rmse()?, linear.rmse()?);
        (rmse > linear).then_some(linear)
    }

    /// Whether training gave up.
    pub fn diverged(&self) -> bool {
        self.result.termination == Termination::Diverged
    }
}

/// Ranks of columns by their means on a task, 1 for the best; a column with a larger share of failed runs stands behind
/// those with a smaller one, equal means share their ranks. None unless every column has a mean.
pub fn ranks<'a>(columns: &[Column<'a>], task: &str, metric: Metric) -> Option<Vec<f64>> {
    let larger = metric.larger_is_better()?;
    let standing = |column: &Column<'a>| {
        let runs = column.runs(task)?;
        let mean = runs.summary(metric)?.mean;
        Some((runs, if larger { -mean } else { mean }))
    };
    let standings: Vec<(Runs<'a>, f64)> = columns.iter().map(standing).collect::<Option<_>>()?;
    Some(mid_ranks(&standings, |a, b| a.0.compare_failures(&b.0).then(a.1.total_cmp(&b.1))))
}

/// Average rank of each column over the tasks on which all have means, and the number of these tasks.
pub fn average_ranks(columns: &[Column<'_>], tasks: &[String], metric: Metric) -> (Vec<f64>, usize) {
    let all: Vec<Vec<f64>> = tasks.iter().filter_map(|task| ranks(columns, task, metric)).collect();
    let mean = |i: usize| all.iter().map(|ranks| ranks[i]).sum::<f64>() / all.len() as f64;
    (if all.is_empty() { Vec::new() } else { (0..columns.len()).map(mean).collect() }, all.len())
}
