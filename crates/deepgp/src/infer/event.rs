//! What an algorithm expects to happen now and then, as values with numbers in them.

use crate::pass::Sums;
use deepgp_numerics::linalg::Jitter;
use serde::{Deserialize, Serialize};

/// Something the algorithm expects to happen now and then, with the numbers that describe it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
#[non_exhaustive]
pub enum Event {
    /// K_zz needed more than the configured jitter.
    JitterRaised {
        /// The layer.
        layer: usize,
        /// The jitter used.
        jitter: Jitter,
        /// How often it was raised tenfold.
        raises: usize,
    },
    /// I + Λ would have lost definiteness: the step was shortened to this.
    DampingShrunk {
        /// The layer.
        layer: usize,
        /// The output.
        output: usize,
        /// The step that was taken.
        damping: f64,
    },
    /// No step was short enough: the sites were not included, and a factor of SEP was drawn towards the prior.
    SiteRejected {
        /// The layer.
        layer: usize,
        /// The output.
        output: usize,
    },
    /// A point's cavity or tilted distribution is not a proper Gaussian: the point was left out.
    PointSkipped {
        /// The row of the data.
        row: usize,
        /// The layer.
        layer: usize,
        /// The output.
        output: usize,
    },
    /// The energy rose far above its recent course: the damping is shrunk for the steps to come.
    EnergyJump {
        /// The energy of this step.
        energy: f64,
        /// Its recent mean.
        expected: f64,
        /// The damping from here on.
        damping: f64,
    },
    /// Rounding pushed output variances below the floor, where they are held.
    VariancesFloored {
        /// The layer.
        layer: usize,
        /// How many.
        count: usize,
    },
    /// A step gave a non-finite or impossible result and was undone.
    StepRejected {
        /// Why, in words.
        cause: String,
    },
    /// The run had ended far above its lowest mean energy: network and factors of that step were restored.
    #[serde(rename = "went_back")]
    RestoredLowestEnergy {
        /// The step they are from.
        step: usize,
        /// The mean energy that the run had ended with.
        energy: f64,
        /// The lowest.
        lowest: f64,
    },
    /// There were fewer distinct rows than inducing inputs asked for.
    InducingReduced {
        /// The number asked for.
        requested: usize,
        /// The number used.
        used: usize,
    },
}

/// Events for variances held at the floor.
pub(super) fn floor_events(sums: &Sums, events: &mut Vec<Event>) {
    for (layer, sums) in sums.layers.iter().enumerate().filter(|(_, s)| s.floored > 0) {
        events.push(Event::VariancesFloored { layer, count: sums.floored });
    }
}
