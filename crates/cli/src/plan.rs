//! What a fit will do, with everything decided that can be before the data are seen.

use crate::fault::usage;
use crate::options::{ModelOptions, Options, TableOptions, positive, threads};
use crate::values::{Names, Seconds, TransformName};
use anyhow::Result;
use deepgp_data::{ReadOptions, Roles};
use deepgp_task::Config;
use std::path::{Path, PathBuf};

/// What decides on the end of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// A number of steps.
    Steps(usize),
    /// Passes over the data.
    Epochs(f64),
    /// Seconds.
    Time(f64),
}

/// A fit with every setting resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The table.
    pub data: PathBuf,
    /// How it is written.
    pub read: ReadOptions,
    /// Columns to predict; none for the last one.
    pub targets: Vec<String>,
    /// Columns to predict from; `None` for all others.
    pub features: Option<Vec<String>>,
    /// Columns to leave alone.
    pub exclude: Vec<String>,
    /// Columns that are categories in any case.
    pub categorical: Vec<String>,
    /// The network and its training; `train.iterations` is what [`Plan::settle`] makes of the length.
    pub config: Config,
    /// What ends training.
    pub length: Length,
    /// The search for a model, unless it is given.
    pub auto: Option<deepgp_fit::SearchSettings>,
    /// The transform of the targets.
    pub transform: Option<TransformName>,
    /// Whether standard deviations are calibrated by the held-out rows.
    pub recalibrate: bool,
    /// Share of the rows that is held out.
    pub valid: f64,
    /// The model file.
    pub out: PathBuf,
    /// Seconds between checkpoints; 0 for none.
    pub checkpoint: f64,
}

/// Fewer rows than this are all trained on.
const ROWS_FOR_HOLDING_OUT: usize = 50;
/// Most rows that are held out.
const MOST_HELD_OUT: usize = 10_000;

impl Plan {
    /// Fills in defaults and checks every number.
    ///
    /// # Errors
    /// [`crate::fault::Usage`].
    pub fn resolve(options: &Options) -> Result<Self> {
        let mut config = options.model.config()?;
        let auto = auto(options)?;
        if let Some(settings) = &auto {
            // For the trials of a search threads pay whatever the batch.
            config.train.threads = settings.threads;
        }
        let Some(data) = options.data.clone() else {
            return Err(usage!("no table is named; try: deepgp fit data.csv --target COLUMN"));
        };
        if let Some(path) =
            [Some(&data), options.out.as_ref()].into_iter().flatten().find(|path| path.to_str().is_none())
        {
            return Err(usage!(
                "the name {} is not UTF-8, and a model file could not keep it; rename it",
                path.display()
            ));
        }
        let length = match (options.epochs, options.time) {
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
        let valid = options.valid.unwrap_or(0.1);
        if !(0.0..=0.9).contains(&valid) {
            return Err(usage!("--valid must lie between 0 and 0.9, not {valid}"));
        }
        if options.recalibrate && valid == 0.0 {
            return Err(usage!("--recalibrate needs held-out rows, and --valid is 0"));
        }
        let names = |names: &Option<Names>| names.as_ref().map(|names| names.0.clone());
        Ok(Self {
            data,
            read: options.table.read_options(),
            targets: names(&options.target).unwrap_or_default(),
            features: names(&options.features),
            exclude: names(&options.exclude).unwrap_or_default(),
            categorical: names(&options.categorical).unwrap_or_default(),
            auto,
            config,
            length,
            transform: options.transform,
            recalibrate: options.recalibrate,
            valid,
            out: options.out.clone().unwrap_or_else(|| PathBuf::from("model.deepgp")),
            checkpoint: options.checkpoint.map_or(60.0, |seconds| seconds.0),
        })
    }

    /// The options that say all of this plan: what `--dry-run` prints and a checkpoint keeps.
    pub fn options(&self) -> Options {
        let names = |names: &[String]| (!names.is_empty()).then(|| Names(names.to_vec()));
        let mut model = ModelOptions::of(&self.config);
        let (mut epochs, mut time) = (None, None);
        match self.length {
            Length::Steps(steps) => model.iters = Some(steps),
            Length::Epochs(n) => (model.iters, epochs) = (None, Some(n)),
            Length::Time(seconds) => (model.iters, time) = (None, Some(Seconds(seconds))),
        }
        let auto = self.auto;
        if auto.is_some() {
            // All else is what the search decides on.
            model = ModelOptions { seed: model.seed, threads: model.threads, ..ModelOptions::default() };
        }
        Options {
            auto: auto.is_some(),
            ensemble: auto.map(|settings| settings.ensemble),
            effort: auto.map(|settings| settings.effort),
            data: Some(self.data.clone()),
            target: names(&self.targets),
            features: self.features.as_ref().map(|names| Names(names.clone())),
            exclude: names(&self.exclude),
            categorical: names(&self.categorical),
            model,
            transform: self.transform,
            recalibrate: self.recalibrate,
            epochs,
            time,
            valid: Some(self.valid),
            out: Some(self.out.clone()),
            checkpoint: Some(Seconds(self.checkpoint)),
            table: TableOptions {
                header: Some(self.read.header.into()),
                delimiter: self.read.delimiter,
                decimal: Some(self.read.decimal.into()),
            },
        }
    }

    /// Roles of the columns.
    pub fn roles(&self) -> Roles {
        Roles {
            inputs: self.features.clone(),
            exclude: self.exclude.clone(),
            categories: self.categorical.clone(),
            ..Roles::predict(self.targets.iter().cloned())
        }
    }

    /// How many of so many rows are held out.
    pub fn n_held_out(&self, n_rows: usize) -> usize {
        if n_rows < ROWS_FOR_HOLDING_OUT {
            return 0;
        }
        ((n_rows as f64 * self.valid).round() as usize).min(MOST_HELD_OUT)
    }

    /// Decides on the number of steps, now that the number of training rows is known.
    pub fn settle(&mut self, n_train: usize) {
        let batch = self.config.train.batch_size.min(n_train).max(1);
        self.config.train.iterations = match self.length {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => ((epochs * n_train as f64 / batch as f64).ceil() as usize).max(1),
            // The clock ends the run; a count that no run reaches keeps the learning rate to the clock as well.
            Length::Time(_) => u32::MAX as usize,
        };
    }

    /// Where checkpoints go; nowhere if there are none or the model goes to what is not a file.
    pub fn checkpoint_path(&self) -> Option<PathBuf> {
        let is_special = std::fs::metadata(&self.out).is_ok_and(|m| !m.is_file());
        (self.checkpoint > 0.0 && !is_special).then(|| checkpoint_of(&self.out))
    }
}

/// The settings of a search, if one is asked for or nothing is said of the network and its training.
fn auto(options: &Options) -> Result<Option<deepgp_fit::SearchSettings>> {
    let is_open = is_open(&options.model) && options.epochs.is_none() && options.transform.is_none();
    match (options.auto || is_open, options.ensemble, options.effort) {
        (false, None, None) => Ok(None),
        (false, ..) => Err(usage!("'ensemble' and 'effort' are for a search, and the network is given")),
        (true, ..) if !is_open => Err(decides_itself()),
        (true, ensemble, effort) => search_settings(&options.model, ensemble, effort).map(Some),
    }
}

/// Whether nothing is said of the network and its training.
fn is_open(model: &ModelOptions) -> bool {
    let ModelOptions { seed, threads, .. } = model.clone();
    *model == (ModelOptions { seed, threads, ..ModelOptions::default() })
}

fn decides_itself() -> anyhow::Error {
    usage!("'auto' decides on the network and its training itself; of these only seed, threads and time can be set")
}

/// Settings of a search; of a model's options it takes no more than seed and threads.
pub fn search_settings(
    model: &ModelOptions,
    ensemble: Option<usize>,
    effort: Option<f64>,
) -> Result<deepgp_fit::SearchSettings> {
    if !is_open(model) {
        return Err(decides_itself());
    }
    let plain = deepgp_fit::SearchSettings::default();
    let (ensemble, effort) = (ensemble.unwrap_or(plain.ensemble), effort.unwrap_or(plain.effort));
    positive("effort", effort)?;
    if ensemble == 0 {
        return Err(usage!("--ensemble must be at least 1"));
    }
    let (seed, threads) = (model.seed.unwrap_or(plain.seed), threads(model.threads)?);
    Ok(deepgp_fit::SearchSettings { effort, ensemble, seed, threads })
}

/// The checkpoint that belongs to a model file.
pub fn checkpoint_of(model: &Path) -> PathBuf {
    let mut path = model.as_os_str().to_owned();
    path.push(".checkpoint");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: impl FnOnce(&mut Options)) -> Result<Plan> {
        let mut options = Options { data: Some("t.csv".into()), ..Options::default() };
        change(&mut options);
        Plan::resolve(&options)
    }

    #[test]
    fn a_resolved_plan_resolves_to_itself() -> Result<()> {
        for change in [
            |_: &mut Options| {},
            |o: &mut Options| o.epochs = Some(2.5),
            |o: &mut Options| o.time = Some(Seconds(60.0)),
            |o: &mut Options| o.model.iters = Some(7),
            |o: &mut Options| o.auto = true,
            |o: &mut Options| (o.auto, o.ensemble, o.effort, o.model.seed) = (true, Some(2), Some(0.5), Some(3)),
        ] {
            let mut first = plan(change)?;
            first.settle(1000);
            let mut second = Plan::resolve(&first.options())?;
            second.settle(1000);
            assert_eq!(first, second);
        }
        Ok(())
    }

    #[test]
    fn epochs_count_batches_of_the_training_rows() -> Result<()> {
        let steps = |epochs, n_train| -> Result<usize> {
            let mut plan = plan(|o| o.epochs = Some(epochs))?;
            plan.settle(n_train);
            Ok(plan.config.train.iterations)
        };
        assert_eq!((steps(2.0, 1000)?, steps(1.0, 101)?, steps(3.0, 50)?, steps(0.001, 50)?), (20, 2, 3, 1));
        Ok(())
    }

    #[test]
    fn few_rows_are_all_trained_on() -> Result<()> {
        let plan = plan(|_| {})?;
        assert!(plan.auto.is_some());
        assert_eq!([49, 50, 1030, 10_000_000].map(|n| plan.n_held_out(n)), [0, 5, 103, 10_000]);
        Ok(())
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |change: fn(&mut Options)| plan(change).is_err_and(|e| e.is::<crate::fault::Usage>());
        assert!(refused(|o| o.data = None));
        assert!(refused(|o| o.valid = Some(1.0)) && refused(|o| o.valid = Some(f64::NAN)));
        assert!(refused(|o| o.epochs = Some(0.0)) && refused(|o| o.time = Some(Seconds(0.0))));
        assert!(refused(|o| o.model.alpha = Some(0.0)) && refused(|o| o.model.lr = Some(-1.0)));
        assert!(refused(|o| (o.auto, o.model.alpha) = (true, Some(0.5))));
        assert!(refused(|o| (o.model.iters, o.ensemble) = (Some(5), Some(2))));
        assert!(refused(|o| (o.auto, o.ensemble) = (true, Some(0))));
        assert!(refused(|o| (o.auto, o.effort) = (true, Some(-1.0))));
        assert!(refused(|o| o.model.batch = Some(0)) && refused(|o| o.model.threads = Some(0)));
    }
}
