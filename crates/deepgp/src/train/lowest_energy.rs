//! The lowest place of a run so far, to go back to if it ends far above.
//!
//! A learning rate that stays constant can lead a run away from where it was, for good or for a while, and its last
//! step may be in the middle of that. The mean energy tells so without any held-out row.

use super::Trainer;
use crate::gauss::Factor;
use crate::infer::Event;
use crate::network::DeepGp;
use serde::{Deserialize, Serialize};

/// Steps between looks.
const EVERY: usize = 25;
/// Steps before the first look: the mean energy must have forgotten where the run began.
const SETTLED: usize = 200;
/// A run ends too high if its mean energy is above the lowest by this many standard deviations of a batch's energy. The
/// mean itself has a tenth of that spread.
const TOO_HIGH: f64 = 0.5;

/// The lowest place of a run, by its mean energy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LowestEnergy {
    /// The mean energy there.
    pub energy: f64,
    /// After how many steps.
    pub step: usize,
    /// The network.
    pub model: DeepGp,
    /// (Λ, η) per layer and output.
    pub factors: Vec<Vec<Factor>>,
}

impl Trainer<'_> {
    /// Remembers this place if it is the lowest so far.
    pub(super) fn look_around(&mut self) {
        let (Some(energy), true) = (self.mean_energy, self.step >= SETTLED && self.step.is_multiple_of(EVERY)) else {
            return;
        };
        // Engines that keep more than factors would need a copy of all of it.
        if self.state.is_factors_alone() && self.lowest.as_ref().is_none_or(|lowest| energy < lowest.energy) {
            let (model, factors) = (self.model.clone(), self.state.factors().to_vec());
            self.lowest = Some(LowestEnergy { energy, step: self.step, model, factors });
        }
    }

    /// Goes back to the lowest place if the run has ended far above it.
    pub(super) fn go_back(&mut self) {
        let Some(LowestEnergy { energy: lowest, step, model, factors }) = self.lowest.clone() else { return };
        let energy = self.mean_energy.unwrap_or(f64::INFINITY);
        let is_too_high = energy - lowest > TOO_HIGH * self.state.damping.spread();
        if is_too_high {
            self.model = model;
            self.state.set_factors(factors);
            self.last_good = self.theta();
            self.mean_energy = Some(lowest);
            self.note(Event::WentBack { step, energy, lowest });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fitted::Fitted;
    use crate::init::{Architecture, network};
    use crate::likelihood::{Gaussian, Likelihood};
    use crate::train::TrainSettings;
    use deepgp_numerics::linalg::Mat;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn only_a_run_that_ends_far_above_its_lowest_place_goes_back() {
        let x = Mat::from_fn(40, 1, |i, _| i as f64 / 10.0 - 2.0);
        let y = Mat::from_fn(40, 1, |i, _| (0.3 * i as f64).sin() + 0.1 * (7.7 * i as f64).sin());
        let shape = Architecture { hidden: vec![1], n_inducing: 5, ..Architecture::default() };
        let likelihood = Likelihood::Gaussian(Gaussian::isotropic(1, 0.05));
        let (net, _) = network(&x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(1)).expect("a network");
        let settings = TrainSettings { iterations: SETTLED + 2 * EVERY, batch_size: 10, ..TrainSettings::default() };
        let mut trainer = Trainer::new(net, &x, &y, settings).expect("a trainer");
        trainer.run(&mut ());
        let (energy, spread) = (trainer.mean_energy.expect("steps"), trainer.state.damping.spread());
        assert!(spread > 0.0 && trainer.lowest.is_some());

        let mut lower = trainer.lowest.clone().expect("a place");
        let end: Fitted = trainer.fitted();
        lower.factors[0][0].linear[0] += 1.0;
        lower.energy = energy - 0.9 * TOO_HIGH * spread;
        trainer.lowest = Some(lower.clone());
        trainer.go_back();
        assert_eq!(trainer.fitted(), end);
        lower.energy = energy - 1.1 * TOO_HIGH * spread;
        trainer.lowest = Some(lower.clone());
        trainer.go_back();
        assert_eq!((&trainer.model, trainer.state.factors()), (&lower.model, &lower.factors[..]));
        assert_eq!(trainer.mean_energy, Some(lower.energy));
        let last = trainer.events.last().map(|(_, event)| event.clone());
        assert_eq!(last, Some(Event::WentBack { step: lower.step, energy, lowest: lower.energy }));
    }
}
