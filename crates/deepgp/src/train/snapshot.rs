//! A run as a value: everything that its future depends on but the data, so that it can be stored and resumed.

use super::lowest_energy::LowestEnergy;
use super::{Fitted, MAX_EVENTS, TrainSettings, Trainer, entries_of};
use crate::batches::Batches;
use crate::data::Data;
use crate::error::{Error, Result, expect_size};
use crate::infer::{Event, State, StepWorkspace};
use crate::network::DeepGp;
use crate::param::Parameters;
use deepgp_numerics::optim::Adam;
use serde::{Deserialize, Serialize};

/// Everything that the future of a run depends on, except for the data.
///
/// A run that is resumed from a snapshot, with the same data and on the same kind of processor, goes on to the last bit
/// as it would have gone on by itself. Take it in an observer: what [`Trainer::run`] does at its end is not part of the
/// course. Parameters are kept as the natural values that the run computes with, so a format that keeps the bits of a
/// `f64` keeps the course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    settings: TrainSettings,
    data: Fingerprint,
    model: DeepGp,
    state: State,
    adam: Adam,
    step: usize,
    mean_energy: Option<f64>,
    rejections: usize,
    learning_scale: f64,
    last_good: Vec<f64>,
    /// The state of lowest mean energy; `foothold` in files, and absent in older ones.
    #[serde(default, rename = "foothold")]
    lowest: Option<LowestEnergy>,
    events: Vec<(usize, Event)>,
    n_events: usize,
}

impl Snapshot {
    /// Settings of the run.
    pub fn settings(&self) -> &TrainSettings {
        &self.settings
    }

    /// Steps done.
    pub fn step(&self) -> usize {
        self.step
    }

    /// The network and factors at that moment, copied.
    pub fn fitted(&self) -> Fitted {
        Fitted {
            network: self.model.clone(),
            factors: self.state.factors().to_vec(),
            inference: self.settings.inference,
        }
    }

    /// The data that the run began with.
    pub fn data(&self) -> Fingerprint {
        self.data
    }

    /// This run with another number of iterations. Unless the learning rate is constant, its course from here on is
    /// another one, since the learning rate follows the share of the iterations that are done: a run that is made
    /// longer after its end starts again at the learning rate of that share.
    #[must_use]
    pub fn with_iterations(mut self, iterations: usize) -> Self {
        self.settings.iterations = iterations;
        self
    }

    /// This run on another number of threads, which changes no bit.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads;
        self
    }
}

impl<'a> Trainer<'a> {
    /// The run as it is now, copied.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            settings: self.settings.clone(),
            data: self.fingerprint,
            model: self.model.clone(),
            state: self.state.clone(),
            adam: self.adam.clone(),
            step: self.step,
            mean_energy: self.mean_energy,
            rejections: self.rejections,
            learning_scale: self.learning_scale,
            last_good: self.last_good.clone(),
            lowest: self.lowest.clone(),
            events: self.events.clone(),
            n_events: self.n_events,
        }
    }

    /// Takes a run up again with the data that it began with.
    ///
    /// # Errors
    /// [`Error::OtherData`] or [`Error::Shape`] for other data, and what [`Data::check`] says; for a snapshot from a file that is not valid, the
    /// errors of [`Trainer::new`] and [`super::Fitted::check`].
    pub fn resume(snapshot: Snapshot, data: Data<'a>) -> Result<Self> {
        let Snapshot { settings, data: fingerprint, model, state, adam, step, mean_energy, .. } = snapshot;
        let Snapshot { rejections, learning_scale, last_good, lowest, mut events, n_events, .. } = snapshot;
        let inference = settings.check()?;
        model.check()?;
        data.check(&model)?;
        inference.check_weights(data.weights())?;
        fingerprint.expect_same(&Fingerprint::of(data))?;
        let n_data = data.x().rows();
        state.check_all(&model, &inference, n_data)?;
        let mut theta = Vec::new();
        model.read_free(&mut theta);
        state.read_free(&mut theta);
        adam.check(theta.len())?;
        expect_size("parameters of the last good step", theta.len(), last_good.len())?;
        if let Some(row) = last_good.iter().position(|v| !v.is_finite()) {
            let what = "parameters of the last good step";
            return Err(Error::NotFinite { what, row, column: 0, value: last_good[row] });
        }
        if let Some(lowest) = &lowest {
            lowest.model.check()?;
            data.check(&lowest.model)?;
            lowest.model.check_factors(&lowest.factors)?;
            model.check_factors(&lowest.factors)?;
        }
        if !(0.0..=1.0).contains(&learning_scale) {
            let (name, requirement) = ("learning scale", "it must lie between 0 and 1");
            return Err(Error::Parameter { name, layer: None, entry: None, value: learning_scale, requirement });
        }
        events.truncate(MAX_EVENTS);
        Ok(Self {
            fixed: entries_of(&model, &settings.fixed)?,
            batches: Batches::new(n_data, settings.batch_size, settings.seed),
            ws: StepWorkspace::with_threads(&model, settings.threads),
            data,
            fingerprint,
            settings,
            inference,
            model,
            state,
            adam,
            step,
            mean_energy,
            rejections,
            learning_scale,
            last_good,
            theta: Vec::new(),
            lowest,
            n_events: n_events.max(events.len()),
            events,
        })
    }
}

/// Shape of a data set and a hash of its bits: tells data sets apart, but is no protection against forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Rows.
    pub rows: usize,
    /// Columns of the inputs.
    pub inputs: usize,
    /// Columns of the targets.
    pub targets: usize,
    /// Hash over the bits of all entries, inputs then targets, row by row, then offset and weights if there are some.
    pub hash: u64,
}

impl Fingerprint {
    /// The fingerprint of a data set.
    pub fn of(data: Data<'_>) -> Self {
        let (x, y) = (data.x(), data.y());
        // FNV-1a on words, with a shift: without it high bits would never reach the low ones.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |word: u64| {
            hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^= hash >> 29;
        };
        x.as_slice().iter().chain(y.as_slice()).for_each(|value| add(value.to_bits()));
        // What there may be beside them begins with a word of its own.
        if let Some(offset) = data.offset() {
            add(1);
            offset.mean.as_slice().iter().chain(offset.var.as_slice()).for_each(|value| add(value.to_bits()));
        }
        if let Some(weights) = data.weights() {
            add(2);
            weights.iter().for_each(|value| add(value.to_bits()));
        }
        Self { rows: x.rows(), inputs: x.cols(), targets: y.cols(), hash }
    }

    /// Checks that `other` belongs to the same data.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::OtherData`].
    pub fn expect_same(&self, other: &Fingerprint) -> Result<()> {
        expect_size("rows of the data", self.rows, other.rows)?;
        expect_size("columns of the inputs", self.inputs, other.inputs)?;
        expect_size("columns of the targets", self.targets, other.targets)?;
        if self.hash == other.hash { Ok(()) } else { Err(Error::OtherData { expected: self.hash, found: other.hash }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauss::DiagGaussian;
    use deepgp_numerics::linalg::Mat;

    #[test]
    fn a_fingerprint_sees_every_bit_and_the_order() {
        let x = Mat::from_fn(7, 3, |i, j| (i * 3 + j) as f64);
        let y = Mat::from_fn(7, 1, |i, _| i as f64);
        let of = |x: &Mat, y: &Mat| Fingerprint::of(Data::new(x, y));
        let own = of(&x, &y);
        assert_eq!(own.expect_same(&of(&x.clone(), &y)), Ok(()));
        for bit in 0..64 {
            let mut other = x.clone();
            other[(4, 1)] = f64::from_bits(x[(4, 1)].to_bits() ^ (1 << bit));
            assert_ne!(own.hash, of(&other, &y).hash, "bit {bit}");
        }
        let swapped = x.select_rows(&[1, 0, 2, 3, 4, 5, 6]);
        assert_ne!(own.hash, of(&swapped, &y).hash);
        assert!(own.expect_same(&of(&y, &x)).is_err());
        let (one, two) = (vec![1.0; 7], DiagGaussian { mean: Mat::zeros(7, 1), var: Mat::zeros(7, 1) });
        let data = Data::new(&x, &y);
        let all = [data, data.with_weights(&one), data.with_offset(&two), data.with_offset(&two).with_weights(&one)];
        let hashes = all.map(|data| Fingerprint::of(data).hash);
        for (i, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..i].contains(hash), "{hashes:?}");
        }
    }
}
