//! Inputs and targets in standardised units, with the way back to their own.

use crate::coding::Coding;
use crate::config::Config;
use crate::indicators::Indicators;
use crate::likelihood_choice::{ConstantLaw, LikelihoodChoice, Outcomes};
use crate::member::Member;
use crate::model::Model;
use crate::row_info::RowInfo;
use crate::standardise::Standardiser;
use crate::task::Task;
use crate::warp::{Warp, WarpKind, warp_targets};
use deepgp::Data;
use deepgp::Fitted;
use deepgp::gauss::DiagGaussian;
use deepgp::init::{network, starting_stream};
use deepgp::train::{Observer, Outcome, Snapshot, Trainer};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;

/// Standardised inputs and targets with their standardisers: what [`Model::fit`] trains on, in steps.
///
/// ```
/// use deepgp_task::{Config, StandardisedData};
///
/// let (x, y) = deepgp_datasets::builtin::step(60, 0.1, 1);
/// let mut config = Config::default();
/// (config.architecture.n_inducing, config.train.iterations) = (10, 50);
/// let data = StandardisedData::new(x.clone(), y.clone())?;
/// let mut trainer = data.trainer(&config)?;
/// trainer.run(&mut |p: &deepgp::train::Progress<'_>| match p.step {
///     20 => std::ops::ControlFlow::Break(()),
///     _ => std::ops::ControlFlow::Continue(()),
/// });
/// let mut resumed = data.resume(trainer.snapshot())?;
/// assert_eq!(resumed.run(&mut ()).steps, 50);
/// let scores = data.model(resumed.fitted())?.score(&x, &y)?;
/// assert!(scores.rmse().is_some_and(|rmse| rmse < 0.3));
/// # Ok::<(), deepgp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StandardisedData {
    task: Task,
    inputs: Standardiser,
    targets: Standardiser,
    x: Mat,
    y: Mat,
    /// What a target of 0 became, and the size of 1 in the targets' own unit.
    zero: Vec<f64>,
    unit: Vec<f64>,
    /// What is known of the rows besides.
    info: RowInfo,
    /// The law of the targets, if they are no numbers of a regression.
    average_row: Option<ConstantLaw>,
    /// How an observation model sees targets, if not as they are.
    coding: Option<Coding>,
    /// What is added to latent values before that model.
    offset: Option<DiagGaussian>,
    warps: Vec<Warp>,
    /// Indicators that inputs could have, and those that they have.
    possible: Option<Indicators>,
    indicators: Option<Indicators>,
}

impl StandardisedData {
    /// For regression: learns the standardisers from raw inputs `x` (N × D) and targets `y` (N × P), and applies them
    /// in place: there is never a second copy of the data.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Empty`] or [`Error::NotFinite`].
    pub fn new(x: Mat, y: Mat) -> Result<Self> {
        Self::for_task(Task::Regression, x, y)
    }

    /// Standardised data of any task.
    ///
    /// # Errors
    /// As [`StandardisedData::new`], and for targets that do not suit the task.
    pub fn for_task(task: Task, x: Mat, y: Mat) -> Result<Self> {
        let (inputs, targets) = (Standardiser::fit(&x, "inputs")?, task.encode(&y)?);
        Self::with(task, inputs, targets, x, y)
    }

    /// Standardised data of which more is known: means and deviations are those of rows that count as often as their
    /// weights say.
    ///
    /// # Errors
    /// As [`StandardisedData::for_task`] and [`RowInfo::check`].
    pub fn for_rows(task: Task, x: Mat, y: Mat, info: RowInfo) -> Result<Self> {
        info.check(x.rows())?;
        let inputs = Standardiser::fit_weighted(&x, &info.weight, "inputs")?;
        let targets = task.encode_weighted(&y, &info.weight)?;
        Self::with(task, inputs, targets, x, y)?.with_info(info)
    }

    /// Applies given standardisers: those of a checkpoint, so that a resumed run sees the same bits.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`].
    pub fn with(task: Task, inputs: Standardiser, targets: Standardiser, mut x: Mat, mut y: Mat) -> Result<Self> {
        if x.rows() != y.rows() {
            return Err(Error::Shape { what: "rows of the targets", expected: x.rows(), found: y.rows() });
        }
        inputs.apply_in_place(&mut x, "inputs")?;
        match task {
            Task::Censored => targets.apply_to_bounds(&mut y, "targets")?,
            _ => targets.apply_in_place(&mut y, "targets")?,
        }
        let zero = targets.mean().iter().zip(targets.scale()).map(|(mean, scale)| -mean / scale).collect();
        task.check(&y)?;
        let (unit, possible) = (targets.scale().to_vec(), Indicators::learn(&x));
        let average_row = task.average_row(Outcomes::of(&y, task.n_labels()));
        Ok(Self {
            task,
            inputs,
            targets,
            x,
            y,
            zero,
            unit,
            info: RowInfo::default(),
            average_row,
            coding: None,
            offset: None,
            warps: Vec::new(),
            possible,
            indicators: None,
        })
    }

    /// These data with what is known of their rows besides, standardised as they are.
    ///
    /// # Errors
    /// As [`RowInfo::check`].
    pub fn with_info(self, info: RowInfo) -> Result<Self> {
        info.check(self.x.rows())?;
        let mut data = Self { info, ..self };
        data.average_row = data.task.average_row(data.outcomes());
        data.offset = data.offset_for(data.task.default_likelihood());
        Ok(data)
    }

    /// The targets with what laws start from.
    fn outcomes(&self) -> Outcomes<'_> {
        let RowInfo { exposure, weight, .. } = &self.info;
        Outcomes { y: &self.y, classes: self.task.n_labels(), exposure, weight }
    }

    /// What is added to latent values before an observation model.
    fn offset_for(&self, likelihood: LikelihoodChoice) -> Option<DiagGaussian> {
        if self.info.is_empty() {
            return None;
        }
        self.info.offset(&self.start(likelihood).likelihood, &self.targets, self.coding.as_ref())
    }

    /// What is known of the rows besides inputs and targets.
    pub fn info(&self) -> &RowInfo {
        &self.info
    }

    /// These data as an observation model sees them, of outcomes that were neither coded nor transformed.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Target`] or [`Error::Shape`] for a model that does not suit the task or the
    /// targets.
    pub fn for_likelihood(mut self, likelihood: LikelihoodChoice) -> Result<Self> {
        self.coding = self.task.coding(likelihood, (&self.y, &self.info.weight), (self.zero[0], self.unit[0]))?;
        self.coding.iter().try_for_each(|coding| coding.apply(&mut self.y))?;
        self.offset = self.offset_for(likelihood);
        Ok(self)
    }

    /// Whether an observation model sees outcomes as they are here.
    ///
    /// # Errors
    /// As [`StandardisedData::for_likelihood`].
    pub fn is_for(&self, likelihood: LikelihoodChoice) -> Result<bool> {
        Ok(self.info.is_empty()
            && self.task.coding(likelihood, (&self.y, &self.info.weight), (self.zero[0], self.unit[0]))?.is_none())
    }

    /// Some of the rows, standardised by themselves, as if there were no others; their own unit is that of these rows
    /// here. Only where zero was and what values inputs can take is known from all of them. Not for data with
    /// codes, transforms or indicators, which a part can be given itself.
    ///
    /// # Errors
    /// As [`StandardisedData::new`].
    pub fn part(&self, rows: &[usize]) -> Result<Self> {
        let mut info = self.info.of_rows(rows);
        // In the unit of these rows, whose targets were divided by a deviation.
        info.noise_std.iter_mut().for_each(|std| *std /= self.targets.scale()[0]);
        let mut part = Self::for_rows(self.task, self.x.select_rows(rows), self.y.select_rows(rows), info)?;
        let scales = part.targets.mean().iter().zip(part.targets.scale());
        part.possible = self.possible.as_ref().map(|indicators| indicators.standardised(&part.inputs));
        if self.task.is_discrete() {
            return Ok(part);
        }
        part.zero = self.zero.iter().zip(scales).map(|(zero, (mean, scale))| (zero - mean) / scale).collect();
        part.unit = self.unit.iter().zip(part.targets.scale()).map(|(unit, scale)| unit * scale).collect();
        Ok(part)
    }

    /// These data with transformed targets, by transforms that are learnt from them; nothing if the kind does not suit
    /// all of them. A copy of the data.
    ///
    /// # Errors
    /// As [`warp_targets`].
    pub fn warped(&self, kind: WarpKind) -> Result<Option<Self>> {
        if self.offset.is_some() {
            // Known noise is that of the target itself.
            return Ok(None);
        }
        if self.task == Task::Censored {
            return self.warped_bounds(kind);
        }
        let zero = |p: usize| self.coding.map_or(self.zero[p], |coding| coding.encode(self.zero[p]));
        let learn = |p: usize| Warp::fit(kind, &self.y.column(p), zero(p));
        let Some(warps) = (0..self.targets.columns()).map(learn).collect::<Option<Vec<Warp>>>() else {
            return Ok(None);
        };
        let mut warped = Self { warps, ..self.clone() };
        warp_targets(&warped.warps, &mut warped.y)?;
        Ok(Some(warped))
    }

    /// Targets between bounds with a transform that is learnt from all bounds.
    fn warped_bounds(&self, kind: WarpKind) -> Result<Option<Self>> {
        let bounds: Vec<f64> = self.y.as_slice().iter().copied().filter(|bound| !bound.is_nan()).collect();
        let Some(warp) = Warp::fit(kind, &bounds, self.zero[0]) else { return Ok(None) };
        let mut warped = self.clone();
        warped.y.as_mut_slice().iter_mut().filter(|bound| !bound.is_nan()).for_each(|b| *b = warp.forward(*b));
        warped.warps = vec![warp];
        Ok(Some(warped))
    }

    /// These data with indicators beside inputs that take few values; nothing if no input does, or if indicators are
    /// there already. A copy of the data.
    ///
    /// # Errors
    /// As [`Indicators::append`].
    pub fn indicated(&self) -> Result<Option<Self>> {
        if self.indicators.is_some() {
            return Ok(None);
        }
        let Some(indicators) = &self.possible else { return Ok(None) };
        Ok(Some(Self { x: indicators.append(&self.x)?, indicators: Some(indicators.clone()), ..self.clone() }))
    }

    /// What the targets are.
    pub fn task(&self) -> Task {
        self.task
    }

    /// How inputs are standardised.
    pub fn inputs(&self) -> &Standardiser {
        &self.inputs
    }

    /// How targets are standardised.
    pub fn targets(&self) -> &Standardiser {
        &self.targets
    }

    /// Standardised inputs, with indicators if there are some.
    pub fn x(&self) -> &Mat {
        &self.x
    }

    /// Standardised targets, transformed if there are transforms.
    pub fn y(&self) -> &Mat {
        &self.y
    }

    /// The rows as an engine learns from them.
    pub fn rows(&self) -> Data<'_> {
        let data = Data::new(&self.x, &self.y);
        let data = self.offset.as_ref().map_or(data, |offset| data.with_offset(offset));
        if self.info.weight.is_empty() { data } else { data.with_weights(&self.info.weight) }
    }

    /// The law that rows have if nothing is known of their inputs; nothing for a regression, where it is the normal
    /// distribution that the standardiser knows.
    pub fn average_row(&self) -> Option<&ConstantLaw> {
        self.average_row.as_ref()
    }

    /// An observation model at the values that a network of these data starts from.
    pub fn start(&self, likelihood: LikelihoodChoice) -> ConstantLaw {
        likelihood.start_of_network(self.outcomes())
    }

    /// A run from the start, on these data as the likelihood of the configuration sees them.
    ///
    /// # Errors
    /// What the data or the configuration are refused for; see [`deepgp::Error`].
    pub fn trainer(&self, config: &Config) -> Result<Trainer<'_>> {
        let ConstantLaw { likelihood, constant } = self.start(config.likelihood);
        let mut rng = starting_stream(config.train.seed);
        let (net, events) = network(&self.x, likelihood, &config.architecture, &mut rng)?;
        let net = net.with_constant(constant)?;
        let mut trainer = Trainer::new(net, self.rows(), config.train.clone())?;
        for event in events {
            trainer.note(event);
        }
        Ok(trainer)
    }

    /// A run that was interrupted, on the data that it began with.
    ///
    /// # Errors
    /// As [`Trainer::resume`].
    pub fn resume(&self, snapshot: Snapshot) -> Result<Trainer<'_>> {
        Trainer::resume(snapshot, self.rows())
    }

    /// A network that was trained on these data, as one of a mixture.
    pub fn member(&self, weight: f64, fitted: Fitted) -> Member {
        let Self { coding, warps, indicators, .. } = self;
        Member { weight, fitted, coding: *coding, warps: warps.clone(), indicators: indicators.clone() }
    }

    /// The model in the data's own units.
    ///
    /// # Errors
    /// As [`Model::mixture`].
    pub fn model(&self, fitted: Fitted) -> Result<Model> {
        let model =
            Model::mixture(self.task, self.inputs.clone(), self.targets.clone(), vec![self.member(1.0, fitted)])?;
        Ok(model.with_average_row(self.average_row.clone()))
    }
}

impl Model {
    /// Fits a model to raw inputs `x` (N × D) and targets `y` (N × P) of a regression.
    ///
    /// # Errors
    /// What the data or the configuration are refused for; see [`deepgp::Error`].
    pub fn fit(x: &Mat, y: &Mat, config: &Config, observer: &mut dyn Observer) -> Result<(Self, Outcome)> {
        Self::fit_task(Task::Regression, x, y, config, observer)
    }

    /// As [`Model::fit`], for targets of any kind.
    ///
    /// # Errors
    /// As [`Model::fit`].
    pub fn fit_task(
        task: Task,
        x: &Mat,
        y: &Mat,
        config: &Config,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Outcome)> {
        let data = StandardisedData::for_task(task, x.clone(), y.clone())?.for_likelihood(config.likelihood)?;
        let mut trainer = data.trainer(config)?;
        let outcome = trainer.run(observer);
        let fitted = trainer.fitted();
        Ok((data.model(fitted)?, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_knows_values_that_it_does_not_have() -> Result<()> {
        // The last row alone has the value 5.
        let x = Mat::from_fn(61, 1, |i, _| if i == 60 { 5.0 } else { (i % 3) as f64 });
        let data = StandardisedData::new(x.clone(), x)?;
        let rows: Vec<usize> = (0..50).collect();
        let columns = |data: &StandardisedData| Ok::<_, Error>(data.indicated()?.expect("a code").x().cols());
        assert_eq!([columns(&data)?, columns(&data.part(&rows)?)?], [5, 5]);
        Ok(())
    }

    #[test]
    fn a_part_knows_where_zero_was() -> Result<()> {
        let x = Mat::from_fn(60, 1, |i, _| i as f64);
        let y = Mat::from_fn(60, 1, |i, _| (0.1 * i as f64).exp());
        let data = StandardisedData::new(x, y.clone())?;
        let rows: Vec<usize> = (10..50).collect();
        let part = data.part(&rows)?;
        // Back through both standardisers.
        let back = data.targets().invert_mean(&part.targets().invert_mean(part.y())?)?;
        assert!((0..40).all(|i| (back[(i, 0)] / y[(i + 10, 0)] - 1.0).abs() < 1e-12));
        // A logarithm makes these targets a straight line, of the part as of the whole; with another zero it would not.
        for data in [&data, &part] {
            let warped = data.warped(WarpKind::Log)?.expect("positive targets");
            let t = warped.y().column(0);
            let steps: Vec<f64> = t.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(steps.iter().all(|step| (step / steps[0] - 1.0).abs() < 1e-6), "{steps:?}");
        }
        let signed =
            StandardisedData::new(Mat::from_fn(60, 1, |i, _| i as f64), Mat::from_fn(60, 1, |i, _| i as f64 - 5.0))?;
        assert!(signed.warped(WarpKind::Log)?.is_none());
        assert!(signed.part(&rows)?.warped(WarpKind::Log)?.is_some());
        Ok(())
    }
}
