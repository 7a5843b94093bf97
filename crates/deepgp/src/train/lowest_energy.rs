//! The state of lowest mean energy of a run so far, which is restored if the run ends far above it.
//!
//! A learning rate that stays constant can lead a run away from where it was, for good or for a while, and its last
//! step may be in the middle of that. The mean energy tells so without any held-out row.

use super::Trainer;
use crate::gauss::Factor;
use crate::infer::Event;
use crate::network::DeepGp;
use serde::{Deserialize, Serialize};

/// Steps between comparisons.
const INTERVAL_STEPS: usize = 25;
/// Steps before the first comparison: the mean energy must have forgotten where the run began.
const FIRST_STEP: usize = 200;
/// The lowest state is restored if the mean energy ends above it by more than this many standard deviations of a
/// batch's energy. The mean itself has a tenth of that spread.
const MAX_RISE_SDS: f64 = 0.5;

/// The state of lowest mean energy of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LowestEnergy {
    /// Its mean energy.
    pub energy: f64,
    /// Steps done when it was reached.
    pub step: usize,
    /// The network.
    pub model: DeepGp,
    /// (Λ, η) per layer and output.
    pub factors: Vec<Vec<Factor>>,
}

impl Trainer<'_> {
    /// Remembers the present state if its mean energy is the lowest so far.
    pub(super) fn remember_if_lowest(&mut self) {
        let (Some(energy), true) =
            (self.mean_energy, self.step >= FIRST_STEP && self.step.is_multiple_of(INTERVAL_STEPS))
        else {
            return;
        };
        // Engines that keep more than factors would need a copy of all of it.
        if self.state.is_factors_alone() && self.lowest.as_ref().is_none_or(|lowest| energy < lowest.energy) {
            let (model, factors) = (self.model.clone(), self.state.factors().to_vec());
            self.lowest = Some(LowestEnergy { energy, step: self.step, model, factors });
        }
    }

    /// Restores the state of lowest mean energy if the run has ended far above it.
    pub(super) fn restore_lowest(&mut self) {
        let Some(LowestEnergy { energy: lowest, step, model, factors }) = self.lowest.clone() else { return };
        let energy = self.mean_energy.unwrap_or(f64::INFINITY);
        let is_too_high = energy - lowest > MAX_RISE_SDS * self.state.damping.spread();
        if is_too_high {
            self.model = model;
            self.state.set_factors(factors);
            self.last_good = self.theta();
            self.mean_energy = Some(lowest);
            self.note(Event::RestoredLowestEnergy { step, energy, lowest });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::fitted::Fitted;
    use crate::init::{Architecture, network};
    use crate::likelihood::{Gaussian, Likelihood};
    use crate::train::TrainSettings;
    use deepgp_numerics::linalg::Mat;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn only_a_run_that_ends_far_above_its_lowest_energy_restores_it() {
        let x = Mat::from_fn(40, 1, |i, _| i as f64 / 10.0 - 2.0);
        let y = Mat::from_fn(40, 1, |i, _| (0.3 * i as f64).sin() + 0.1 * (7.7 * i as f64).sin());
        let shape = Architecture { hidden: vec![1], n_inducing: 5, ..Architecture::default() };
        let likelihood = Likelihood::Gaussian(Gaussian::isotropic(1, 0.05));
        let (net, _) = network(&x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(1)).expect("a network");
        let settings =
            TrainSettings { iterations: FIRST_STEP + 2 * INTERVAL_STEPS, batch_size: 10, ..TrainSettings::default() };
        let mut trainer = Trainer::new(net, Data::new(&x, &y), settings).expect("a trainer");
        trainer.run(&mut ());
        let (energy, spread) = (trainer.mean_energy.expect("steps"), trainer.state.damping.spread());
        assert!(spread > 0.0 && trainer.lowest.is_some());

        let mut lower = trainer.lowest.clone().expect("a state");
        let end: Fitted = trainer.fitted();
        lower.factors[0][0].linear[0] += 1.0;
        lower.energy = energy - 0.9 * MAX_RISE_SDS * spread;
        trainer.lowest = Some(lower.clone());
        trainer.restore_lowest();
        assert_eq!(trainer.fitted(), end);
        lower.energy = energy - 1.1 * MAX_RISE_SDS * spread;
        trainer.lowest = Some(lower.clone());
        trainer.restore_lowest();
        assert_eq!((&trainer.model, trainer.state.factors()), (&lower.model, &lower.factors[..]));
        assert_eq!(trainer.mean_energy, Some(lower.energy));
        let last = trainer.events.last().map(|(_, event)| event.clone());
        assert_eq!(last, Some(Event::RestoredLowestEnergy { step: lower.step, energy, lowest: lower.energy }));
    }
}
