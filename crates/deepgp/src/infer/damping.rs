//! The step of site updates, and when it must shrink.

use super::Event;
use crate::gauss::{Factor, PivotScratch};
use serde::{Deserialize, Serialize};

/// I + Λ must stay this far from singular: no conditional precision of an inducing output may fall below a tenth of
/// the prior's.
const LEAST_PIVOT: f64 = 0.1;
/// How often a step is halved before it is given up.
const MAX_HALVINGS: usize = 6;
/// Steps observed before a jump can be detected.
const WARM_UP_STEPS: usize = 50;
/// A jump is a rise by this many standard deviations above the recent mean.
const JUMP_SDS: f64 = 8.0;
/// Least standard deviation of the energy, relative to its size.
const LEAST_RELATIVE_SD: f64 = 1e-9;
/// Weight of the newest energy in the recent mean and variance.
const NEWEST_WEIGHT: f64 = 0.05;
/// Growth of a reduced damping with each step without a jump.
const RECOVERY: f64 = 1.02;
/// The damping is never shrunk below this share of what was asked for.
const LEAST_SCALE: f64 = 1.0 / 64.0;

/// A damping that adapts: it halves when the energy jumps and recovers slowly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Damping {
    base: f64,
    scale: f64,
    seen: usize,
    mean: f64,
    variance: f64,
}

impl Damping {
    /// Starts at the damping asked for.
    pub fn new(base: f64) -> Self {
        Self { base, scale: 1.0, seen: 0, mean: 0.0, variance: 0.0 }
    }

    /// The step to use now.
    pub fn current(&self) -> f64 {
        self.base * self.scale
    }

    /// Standard deviation of the energies of recent batches.
    pub fn spread(&self) -> f64 {
        self.variance.sqrt()
    }

    /// Checks a damping that came from a file against the one asked for.
    pub(super) fn check(&self, base: f64) -> crate::Result<()> {
        let error = |name, value, requirement| {
            Err(crate::Error::Parameter { name, layer: None, entry: None, value, requirement })
        };
        if self.base != base {
            return error("damping of the state", self.base, "it must be that of the settings");
        }
        if !(LEAST_SCALE..=1.0).contains(&self.scale) {
            return error("scale of the damping", self.scale, "it must lie between 1/64 and 1");
        }
        Ok(())
    }

    /// Takes note of a step's energy; a jump upwards shrinks the damping and is reported.
    pub fn observe(&mut self, energy: f64) -> Option<Event> {
        if !energy.is_finite() {
            return None;
        }
        let expected = self.mean;
        // Differences and squares of huge energies must not overflow: what is not finite here would stay so for ever.
        let deviation = (energy - expected).clamp(-f64::MAX, f64::MAX);
        // An energy that has come to rest has no spread: what rounding adds is no jump.
        let limit = JUMP_SDS * self.variance.sqrt().max(LEAST_RELATIVE_SD * (1.0 + expected.abs()));
        let jumped = self.seen >= WARM_UP_STEPS && deviation > limit;
        if self.seen == 0 {
            self.mean = energy;
        } else {
            // One outlier must not widen the band it is compared with.
            let bounded = if jumped { limit } else { deviation };
            self.mean += NEWEST_WEIGHT * bounded;
            self.variance += NEWEST_WEIGHT * ((bounded * bounded).min(f64::MAX) - self.variance);
        }
        self.seen = self.seen.saturating_add(1);
        if jumped {
            self.scale = (0.5 * self.scale).max(LEAST_SCALE);
            return Some(Event::EnergyJump { energy, expected, damping: self.current() });
        }
        self.scale = (RECOVERY * self.scale).min(1.0);
        None
    }

    /// Shrinks the damping after a step that had to be undone.
    pub fn shrink(&mut self) {
        self.scale = (0.5 * self.scale).max(LEAST_SCALE);
    }
}

/// Finds the longest of `step`, `step`/2, … at which the candidate, then in `scratch.factor`, is finite and keeps I + Λ
/// definite.
///
/// `candidate` writes the factor for a step, a combination of one that is definite with another. Pivots are concave
/// functions of Λ, so steps that will do reach from 0 to some length: whichever is tried first, the furthest is the
/// same. The search begins beside `halvings`, those of the last time, and leaves its own there. `false` (with the event
/// that says so) if no step is short enough.
pub(super) fn shorten_until_definite(
    at: (usize, usize),
    step: f64,
    mut candidate: impl FnMut(f64, &mut Factor),
    scratch: &mut DampingScratch,
    halvings: &mut usize,
    events: &mut Vec<Event>,
) -> bool {
    let (layer, output) = at;
    let halved = |times: usize| step * 0.5_f64.powi(times as i32);
    let mut tried = halvings.saturating_sub(1);
    if try_candidate(halved(tried), &mut candidate, scratch) {
        while tried > 0 {
            let last = scratch.log_partition;
            std::mem::swap(&mut scratch.factor, &mut scratch.shorter);
            if !try_candidate(halved(tried - 1), &mut candidate, scratch) {
                std::mem::swap(&mut scratch.factor, &mut scratch.shorter);
                scratch.log_partition = last;
                break;
            }
            tried -= 1;
        }
    } else {
        tried += 1;
        while tried <= MAX_HALVINGS && !try_candidate(halved(tried), &mut candidate, scratch) {
            tried += 1;
        }
    }
    *halvings = tried;
    match tried {
        0 => {}
        1..=MAX_HALVINGS => events.push(Event::DampingShrunk { layer, output, damping: halved(tried) }),
        _ => events.push(Event::SiteRejected { layer, output }),
    }
    tried <= MAX_HALVINGS
}

/// Writes the candidate for a step into `scratch.factor`, and returns whether it is finite and keeps I + Λ definite.
pub(super) fn try_candidate(
    step: f64,
    mut candidate: impl FnMut(f64, &mut Factor),
    scratch: &mut DampingScratch,
) -> bool {
    candidate(step, &mut scratch.factor);
    match scratch.factor.log_partition(LEAST_PIVOT, &mut scratch.root) {
        // Candidates are symmetric to the last bit. An entry of the upper triangle of Λ, which is what is factored, or
        // of η that is not finite leaves a pivot or φ that is not.
        Ok(log_partition) if log_partition.is_finite() => {
            scratch.log_partition = log_partition;
            true
        }
        _ => false,
    }
}

/// Working memory of [`shorten_until_definite`].
#[derive(Debug, Clone)]
pub(super) struct DampingScratch {
    /// The candidate, and one for a shorter step.
    pub factor: Factor,
    shorter: Factor,
    /// φ of prior × candidate.
    pub log_partition: f64,
    root: PivotScratch,
}

impl Default for DampingScratch {
    fn default() -> Self {
        Self { factor: Factor::zeros(0), shorter: Factor::zeros(0), log_partition: 0.0, root: PivotScratch::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::linalg::Mat;

    /// Wherever the search for a step begins, it ends at the same one.
    #[test]
    fn halvings_do_not_depend_on_where_they_begin() {
        let m = 9;
        let wave = |i: usize, j: usize, k: f64| (k * (1 + i.min(j)) as f64 + (2 * i.max(j)) as f64).sin();
        let factor = Factor {
            precision: Mat::from_fn(m, m, |i, j| if i == j { 2.0 } else { 0.1 * wave(i, j, 1.3) }),
            linear: (0..m).map(|i| wave(i, i, 0.7)).collect(),
        };
        let mut seen = [false; MAX_HALVINGS + 2];
        for scale in (0..200).map(|k| 1.1_f64.powi(k - 30)) {
            let site = Factor {
                precision: Mat::from_fn(m, m, |i, j| scale * wave(i, j, 2.1)),
                linear: (0..m).map(|i| scale * wave(i, 0, 0.9)).collect(),
            };
            let search = |mut halvings: usize| {
                let (mut scratch, mut events) = (DampingScratch::default(), Vec::new());
                let candidate = |rho: f64, out: &mut Factor| out.combine(1.0 - rho, &factor, rho, &site);
                let found = shorten_until_definite((0, 0), 0.5, candidate, &mut scratch, &mut halvings, &mut events);
                (halvings, found.then_some((scratch.factor, scratch.log_partition)), events)
            };
            let plain = search(0);
            seen[plain.0] = true;
            (1..=MAX_HALVINGS + 1).for_each(|start| assert_eq!(search(start), plain, "{scale}, from {start}"));
        }
        assert!(seen.iter().all(|seen| *seen), "every outcome arises: {seen:?}");
    }

    #[test]
    fn huge_energies_leave_finite_numbers() {
        let mut damping = Damping::new(0.5);
        for energy in [1e308, -1e308, 1e200, f64::MAX, f64::MIN, 1.0] {
            damping.observe(energy);
            assert!(damping.mean.is_finite() && damping.variance.is_finite(), "after {energy}: {damping:?}");
        }
    }

    #[test]
    fn an_energy_at_rest_may_tremble() {
        let mut damping = Damping::new(0.5);
        for _ in 0..500 {
            assert_eq!(damping.observe(123.0), None);
        }
        assert_eq!(damping.observe(123.0_f64.next_up()), None);
        assert!(damping.observe(124.0).is_some());
        assert_eq!(damping.current(), 0.25);
    }
}
