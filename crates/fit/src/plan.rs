//! Settings that were checked: what a fit will do, with everything decided that can be before the data are seen.

use crate::error::SettingsError;
use crate::names::{LikelihoodName, TaskName, TransformName};
use crate::search::SearchSettings;
use crate::settings::{
    FitSettings, ModelSettings, RowSettings, TableSettings, at_least_one, expect, positive, threads,
};
use crate::target::TargetSettings;
use crate::values::{Names, Seconds, Valid};
use deepgp_data::{ReadOptions, Roles};
use deepgp_task::{Config, LikelihoodChoice, Task};
use std::path::{Path, PathBuf};

/// Defaults of what is not said of held-out rows of a given network, the model file and seconds between checkpoints.
const VALID: f64 = 0.1;
const OUT: &str = "model.deepgp";
const CHECKPOINT_SECONDS: f64 = 60.0;
/// Most of the rows that may be held out.
const MOST_VALID: f64 = 0.9;
/// Fewer rows than this are all trained on.
const ROWS_FOR_HOLDING_OUT: usize = 50;
/// Most rows that are held out.
const MOST_HELD_OUT: usize = 10_000;

/// What decides on the end of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Length {
    /// A number of steps.
    Steps(usize),
    /// Passes over the data.
    Epochs(f64),
    /// Seconds.
    Time(f64),
}

/// A fit with every setting checked and defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    data: PathBuf,
    read: ReadOptions,
    /// Names of the targets; empty for the last column.
    targets: Vec<String>,
    /// `None` for all that are left.
    features: Option<Vec<String>>,
    exclude: Vec<String>,
    categorical: Vec<String>,
    /// What is said of the target; found out where nothing is.
    task: Option<TaskName>,
    positive: Option<String>,
    levels: Option<Names>,
    /// The observation model; nothing for what suits the target.
    likelihood: Option<LikelihoodName>,
    /// The network and its training; [`Plan::config`] knows the number of steps.
    config: Config,
    length: Length,
    search: Option<SearchSettings>,
    transform: Option<TransformName>,
    recalibrate: bool,
    valid: Valid,
    rows: RowSettings,
    out: PathBuf,
    /// Whether there is a model file, with checkpoints beside it.
    has_files: bool,
    /// Seconds; 0 for never.
    checkpoint: f64,
}

impl Plan {
    /// Fills in defaults and checks every number.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn new(settings: &FitSettings) -> Result<Self, SettingsError> {
        let mut config = settings.model.config()?;
        let search = search(settings)?;
        if let Some(search) = &search {
            // For the trials of a search threads pay whatever the batch.
            config.train.threads = search.threads;
        }
        let data = settings.data.clone().ok_or(SettingsError::NoTable)?;
        let out = settings.out.clone().unwrap_or_else(|| OUT.into());
        if let Some(path) = [&data, &out].into_iter().find(|path| path.to_str().is_none()) {
            return Err(SettingsError::NotUtf8(path.clone()));
        }
        let length = match (settings.epochs, settings.time) {
            (Some(epochs), _) => {
                positive("epochs", epochs)?;
                Length::Epochs(epochs)
            }
            (None, Some(Seconds(time))) => {
                positive("time", time)?;
                Length::Time(time)
            }
            (None, None) => Length::Steps(config.train.iterations),
        };
        // A search is validated by its folds, and learns from every row.
        let share = if search.is_some() && !settings.recalibrate { 0.0 } else { VALID };
        let valid = settings.valid.clone().unwrap_or(Valid::Share(share));
        if let Valid::Share(share) = valid {
            expect("valid", (0.0..=MOST_VALID).contains(&share), || {
                format!("lie between 0 and {MOST_VALID}, not {share}")
            })?;
            if settings.recalibrate && share == 0.0 {
                return Err(SettingsError::NothingToRecalibrateBy);
            }
        }
        let names = |names: &Option<Names>| names.as_ref().map(|names| names.0.clone());
        Ok(Self {
            data,
            read: settings.table.read_options(),
            targets: names(&settings.target).unwrap_or_default(),
            features: names(&settings.features),
            exclude: names(&settings.exclude).unwrap_or_default(),
            categorical: names(&settings.categorical).unwrap_or_default(),
            task: settings.task,
            positive: settings.positive.clone(),
            levels: settings.levels.clone(),
            likelihood: settings.model.likelihood,
            config,
            length,
            search,
            transform: settings.transform,
            recalibrate: settings.recalibrate,
            valid,
            rows: settings.rows.clone(),
            out,
            has_files: true,
            checkpoint: settings.checkpoint.map_or(CHECKPOINT_SECONDS, |seconds| seconds.0),
        })
    }

    /// This plan without any file: the model is in the [`FitResult`](crate::FitResult) alone, and an interrupted fit
    /// cannot be resumed.
    #[must_use]
    pub fn in_memory(self) -> Self {
        Self { has_files: false, ..self }
    }

    /// Whether there is a model file.
    pub(crate) fn has_files(&self) -> bool {
        self.has_files
    }

    /// The settings that say all of this plan: what `--dry-run` prints and a checkpoint keeps.
    pub fn settings(&self) -> FitSettings {
        let names = |names: &[String]| (!names.is_empty()).then(|| Names(names.to_vec()));
        let mut model = ModelSettings { likelihood: self.likelihood, ..ModelSettings::of(&self.config) };
        let (mut epochs, mut time) = (None, None);
        match self.length {
            Length::Steps(steps) => model.iters = Some(steps),
            Length::Epochs(n) => (model.iters, epochs) = (None, Some(n)),
            Length::Time(seconds) => (model.iters, time) = (None, Some(Seconds(seconds))),
        }
        if self.search.is_some() {
            // All else is what the search decides on.
            model = ModelSettings { seed: model.seed, threads: model.threads, ..ModelSettings::default() };
        }
        FitSettings {
            auto: self.search.is_some(),
            ensemble: self.search.map(|search| search.ensemble),
            effort: self.search.map(|search| search.effort),
            data: Some(self.data.clone()),
            target: names(&self.targets),
            features: self.features.as_ref().map(|names| Names(names.clone())),
            exclude: names(&self.exclude),
            categorical: names(&self.categorical),
            task: self.task,
            positive: self.positive.clone(),
            levels: self.levels.clone(),
            model,
            transform: self.transform,
            recalibrate: self.recalibrate,
            epochs,
            time,
            valid: Some(self.valid.clone()),
            rows: self.rows.clone(),
            out: Some(self.out.clone()),
            checkpoint: Some(Seconds(self.checkpoint)),
            table: TableSettings::of(&self.read),
        }
    }

    /// The table; "-" for standard input.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The model file.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Where checkpoints go; nowhere if there are none or the model goes to what is not a file.
    pub fn checkpoint_path(&self) -> Option<PathBuf> {
        let is_special = || std::fs::metadata(&self.out).is_ok_and(|m| !m.is_file());
        (self.has_files && self.checkpoint > 0.0 && !is_special()).then(|| checkpoint_of(&self.out))
    }

    /// Seconds between checkpoints.
    pub(crate) fn checkpoint_interval(&self) -> f64 {
        self.checkpoint
    }

    /// How the table is written.
    pub(crate) fn read_options(&self) -> &ReadOptions {
        &self.read
    }

    /// Roles of the columns.
    pub(crate) fn roles(&self) -> Roles {
        Roles {
            inputs: self.features.clone(),
            exclude: self.exclude.clone(),
            categories: self.categorical.clone(),
            labels: if self.target_settings().asks_for_labels() { self.targets.clone() } else { Vec::new() },
            weight: self.rows.weight.clone(),
            group: self.rows.group.clone(),
            time: self.rows.time_column.clone(),
            exposure: self.rows.exposure.clone(),
            noise_std: self.rows.noise_std.clone(),
            censored: self.rows.censored.clone(),
            lower: self.rows.lower.clone(),
            upper: self.rows.upper.clone(),
            keep: self.rows.keep.clone().map(|names| names.0).unwrap_or_default(),
            ..Roles::predict(self.targets.iter().cloned())
        }
    }

    /// This plan with the last of these columns that has no other role as the target, where none is named.
    pub(crate) fn with_target_among(mut self, columns: &[String]) -> Result<Self, SettingsError> {
        if self.targets.is_empty() {
            let is_free = |name: &&String| {
                !self.exclude.contains(name)
                    && !self.has_role(name)
                    && !self.features.as_ref().is_some_and(|names| names.contains(name))
            };
            self.targets = vec![columns.iter().rev().find(is_free).ok_or(SettingsError::NoTarget)?.clone()];
        }
        Ok(self)
    }

    /// Whether a column says something else of rows.
    fn has_role(&self, name: &String) -> bool {
        let RowSettings { weight, group, time_column, exposure, noise_std, censored, lower, upper, keep } = &self.rows;
        let single = [weight, group, time_column, exposure, noise_std, censored, lower, upper];
        single.iter().any(|role| role.as_ref() == Some(name)) || keep.iter().any(|names| names.0.contains(name))
    }

    /// Columns to predict; none before a table has been looked at where none were named.
    pub(crate) fn targets(&self) -> &[String] {
        &self.targets
    }

    /// The search for a model, unless the network is given.
    pub(crate) fn search(&self) -> Option<&SearchSettings> {
        self.search.as_ref()
    }

    /// What is said of the target.
    pub(crate) fn target_settings(&self) -> TargetSettings<'_> {
        let RowSettings { censored, lower, upper, .. } = &self.rows;
        TargetSettings {
            task: self.task,
            positive: self.positive.as_deref(),
            levels: self.levels.as_ref(),
            has_bounds: censored.is_some() || lower.is_some() || upper.is_some(),
        }
    }

    /// Columns that say something else of rows.
    pub(crate) fn row_settings(&self) -> &RowSettings {
        &self.rows
    }

    /// The observation model of a given network.
    pub(crate) fn likelihood(&self, task: Task) -> LikelihoodChoice {
        self.likelihood.map_or_else(|| task.default_likelihood(), Into::into)
    }

    /// The network and its training on so many rows.
    pub(crate) fn config(&self, task: Task, n_train: usize) -> Config {
        let mut config = self.config.clone();
        config.likelihood = self.likelihood(task);
        let batch = config.train.batch_size.min(n_train).max(1);
        config.train.iterations = match self.length {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => ((epochs * n_train as f64 / batch as f64).ceil() as usize).max(1),
            // The clock ends the run; a count that no run reaches keeps the learning rate to the clock as well.
            Length::Time(_) => u32::MAX as usize,
        };
        config
    }

    /// Seconds that training may take, earlier sessions included.
    pub(crate) fn time_limit(&self) -> Option<f64> {
        match self.length {
            Length::Time(seconds) => Some(seconds),
            Length::Steps(_) | Length::Epochs(_) => None,
        }
    }

    /// Seed of everything random.
    pub(crate) fn seed(&self) -> u64 {
        self.config.train.seed
    }

    /// Threads of training.
    pub(crate) fn threads(&self) -> usize {
        self.config.train.threads
    }

    /// The transform of the targets.
    pub(crate) fn transform(&self) -> Option<TransformName> {
        self.transform
    }

    /// Whether standard deviations are calibrated by the held-out rows.
    pub(crate) fn recalibrate(&self) -> bool {
        self.recalibrate
    }

    /// How many of so many rows are held out.
    pub(crate) fn n_held_out(&self, n_rows: usize) -> usize {
        match self.valid {
            Valid::Share(share) if n_rows >= ROWS_FOR_HOLDING_OUT => {
                ((n_rows as f64 * share).round() as usize).min(MOST_HELD_OUT)
            }
            _ => 0,
        }
    }

    /// The table whose rows are held out, if it is another one.
    pub(crate) fn valid_table(&self) -> Option<&Path> {
        match &self.valid {
            Valid::Share(_) => None,
            Valid::Table(path) => Some(path),
        }
    }
}

/// The settings of a search, if one is asked for or nothing is said of the network and its training.
fn search(settings: &FitSettings) -> Result<Option<SearchSettings>, SettingsError> {
    let is_open = settings.model.is_open() && settings.epochs.is_none() && settings.transform.is_none();
    match (settings.auto || is_open, settings.ensemble, settings.effort) {
        (false, None, None) => Ok(None),
        (false, ..) => Err(SettingsError::NetworkIsGiven),
        (true, ..) if !is_open => Err(SettingsError::NetworkIsSearched),
        (true, ensemble, effort) => search_settings(&settings.model, ensemble, effort).map(Some),
    }
}

/// Settings of a search; of a network's settings it takes no more than seed and threads.
///
/// # Errors
/// [`SettingsError::NetworkIsSearched`] if more is said of it, and [`SettingsError::OutOfRange`].
pub fn search_settings(
    model: &ModelSettings,
    ensemble: Option<usize>,
    effort: Option<f64>,
) -> Result<SearchSettings, SettingsError> {
    if !model.is_open() {
        return Err(SettingsError::NetworkIsSearched);
    }
    let plain = SearchSettings::default();
    let (ensemble, effort) = (ensemble.unwrap_or(plain.ensemble), effort.unwrap_or(plain.effort));
    positive("effort", effort)?;
    at_least_one("ensemble", ensemble)?;
    let (seed, threads) = (model.seed.unwrap_or(plain.seed), threads(model.threads)?);
    Ok(SearchSettings { effort, ensemble, seed, threads })
}

/// The checkpoint that belongs to a model file.
pub fn checkpoint_of(model: &Path) -> PathBuf {
    let mut path = model.as_os_str().to_owned();
    path.push(".checkpoint");
    path.into()
}

impl FitSettings {
    /// Where the checkpoint of an interrupted fit with these settings is, if there is one.
    pub fn checkpoint_path(&self) -> PathBuf {
        checkpoint_of(self.out.as_deref().unwrap_or(Path::new(OUT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: impl FnOnce(&mut FitSettings)) -> Result<Plan, SettingsError> {
        let mut settings = FitSettings { data: Some("t.csv".into()), ..FitSettings::default() };
        change(&mut settings);
        Plan::new(&settings)
    }

    #[test]
    fn the_settings_of_a_plan_give_the_same_plan() -> Result<(), SettingsError> {
        for change in [
            |_: &mut FitSettings| {},
            |s: &mut FitSettings| s.epochs = Some(2.5),
            |s: &mut FitSettings| s.time = Some(Seconds(60.0)),
            |s: &mut FitSettings| s.model.iters = Some(7),
            |s: &mut FitSettings| (s.task, s.model.likelihood) = (Some(TaskName::Classes), Some(LikelihoodName::Logit)),
            |s: &mut FitSettings| s.auto = true,
            |s: &mut FitSettings| (s.auto, s.ensemble, s.effort, s.model.seed) = (true, Some(2), Some(0.5), Some(3)),
        ] {
            let first = plan(change)?;
            assert_eq!(Plan::new(&first.settings())?, first);
        }
        Ok(())
    }

    #[test]
    fn epochs_count_batches_of_the_training_rows() -> Result<(), SettingsError> {
        let steps = |epochs, n_train| -> Result<usize, SettingsError> {
            Ok(plan(|s| s.epochs = Some(epochs))?.config(Task::Regression, n_train).train.iterations)
        };
        assert_eq!((steps(2.0, 1000)?, steps(1.0, 101)?, steps(3.0, 50)?, steps(0.001, 50)?), (20, 2, 3, 1));
        Ok(())
    }

    #[test]
    fn few_rows_are_all_trained_on() -> Result<(), SettingsError> {
        let held_out = |plan: &Plan| [49, 50, 1030, 10_000_000].map(|n| plan.n_held_out(n));
        // A search learns from all rows, unless something must be chosen by others.
        let search = plan(|_| {})?;
        assert!(search.search().is_some() && held_out(&search) == [0; 4]);
        let recalibrated = plan(|s| s.recalibrate = true)?;
        assert!(recalibrated.search().is_some() && held_out(&recalibrated) == [0, 5, 103, 10_000]);
        let network = plan(|s| s.model.iters = Some(10))?;
        assert!(network.search().is_none() && held_out(&network) == [0, 5, 103, 10_000]);
        Ok(())
    }

    #[test]
    fn the_last_column_without_a_role_is_the_target() -> Result<(), SettingsError> {
        let names = |names: &[&str]| Names(names.iter().map(ToString::to_string).collect());
        let columns = names(&["a", "b", "c"]).0;
        let target = |change: fn(&mut FitSettings)| plan(change)?.with_target_among(&columns);
        assert_eq!(target(|_| {})?.targets(), ["c"]);
        assert_eq!(target(|s| s.exclude = Some(Names(vec!["c".into()])))?.targets(), ["b"]);
        assert_eq!(target(|s| s.target = Some(Names(vec!["a".into()])))?.targets(), ["a"]);
        let all = target(|s| s.features = Some(Names(vec!["a".into(), "b".into(), "c".into()])));
        assert_eq!(all, Err(SettingsError::NoTarget));
        Ok(())
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |change: fn(&mut FitSettings)| plan(change).expect_err("refused");
        let out_of_range = |change: fn(&mut FitSettings), said: &str| assert_eq!(refused(change).to_string(), said);
        assert_eq!(refused(|s| s.data = None), SettingsError::NoTable);
        out_of_range(|s| s.valid = Some(Valid::Share(1.0)), "valid must lie between 0 and 0.9, not 1");
        out_of_range(|s| s.valid = Some(Valid::Share(f64::NAN)), "valid must lie between 0 and 0.9, not NaN");
        out_of_range(|s| s.epochs = Some(0.0), "epochs must be positive, not 0");
        out_of_range(|s| s.time = Some(Seconds(0.0)), "time must be positive, not 0");
        out_of_range(|s| s.model.alpha = Some(0.0), "alpha must lie in (0, 1], not 0");
        out_of_range(|s| s.model.lr = Some(-1.0), "lr must be positive, not -1");
        out_of_range(|s| (s.auto, s.ensemble) = (true, Some(0)), "ensemble must be at least 1");
        out_of_range(|s| (s.auto, s.effort) = (true, Some(-1.0)), "effort must be positive, not -1");
        out_of_range(|s| s.model.batch = Some(0), "batch must be at least 1");
        out_of_range(|s| s.model.threads = Some(0), "threads must be at least 1");
        assert_eq!(refused(|s| (s.auto, s.model.alpha) = (true, Some(0.5))), SettingsError::NetworkIsSearched);
        assert_eq!(refused(|s| (s.model.iters, s.ensemble) = (Some(5), Some(2))), SettingsError::NetworkIsGiven);
        let recalibrated = refused(|s| (s.recalibrate, s.valid) = (true, Some(Valid::Share(0.0))));
        assert_eq!(recalibrated, SettingsError::NothingToRecalibrateBy);
    }
}
