//! The law of an outcome u that a network sees as numbers of its own: t = (u − a)/b.
//!
//! ```text
//! Density   u any number                    F(u) = F_t((u − a)/b)       log p(u) = log p_t((u − a)/b) − log b
//! Labels    u one of few, and so is t       F(u) = F_t((u − a)/b)       log P(u) = log P_t((u − a)/b)
//! Cells     u whole, t any number           P(u) = F_t((u + ½ − a)/b) − F_t((u − ½ − a)/b)
//! ```
//! The least and the greatest whole number have all that lies beyond their cells.

use super::{Level, Normal, PredictiveLaw};
use crate::coding::{Coding, Outcome};
use rand::Rng;

/// Where the probability of a cell is smaller, it is told from the density: a difference would be rounding alone.
const SMALL: f64 = 1e-9;
/// Most cells whose probabilities are added up for moments; of more, every so-manieth stands for its neighbours.
const MOST_CELLS: f64 = 400.0;
/// How far from the mean cells are added up, in standard deviations.
const REACH: f64 = 12.0;

/// u, seen through a code if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coded<'a, L> {
    /// The law of t.
    pub law: L,
    /// From u to t.
    pub coding: Option<&'a Coding>,
}

impl<L: PredictiveLaw> Coded<'_, L> {
    /// The code, if it is one of cells.
    fn cells(&self) -> Option<&Coding> {
        self.coding.filter(|coding| matches!(coding.outcome, Outcome::Cells { .. }))
    }

    fn encode(&self, u: f64) -> f64 {
        self.coding.map_or(u, |coding| coding.encode(u))
    }

    fn decode(&self, t: f64) -> f64 {
        self.coding.map_or(t, |coding| coding.decode(t))
    }

    /// P(u ≤ k) of a whole number.
    fn cdf_of_cell(&self, coding: &Coding, k: f64) -> f64 {
        let last = coding.last();
        if k < 0.0 {
            0.0
        } else if k >= last {
            1.0
        } else {
            self.law.cdf(coding.encode(k + 0.5))
        }
    }

    /// log P(u = k): of tiny probabilities the largest density in the cell times its width.
    fn log_prob_of_cell(&self, coding: &Coding, k: f64) -> f64 {
        if k < 0.0 || k > coding.last() || k.fract() != 0.0 {
            return f64::NEG_INFINITY;
        }
        let probability = self.cdf_of_cell(coding, k) - self.cdf_of_cell(coding, k - 1.0);
        if probability > SMALL {
            return probability.ln();
        }
        let density = |u: f64| self.law.log_prob(coding.encode(u)) - coding.scale.ln();
        [k - 0.5, k, k + 0.5].into_iter().map(density).fold(f64::NEG_INFINITY, f64::max).min(SMALL.ln())
    }

    /// Mean and variance over cells:
    ///
    /// ```text
    /// E u = k₀ + Σ_{k ≥ k₀} (1 − F(k))        E (u − k₀)² = Σ_{k ≥ k₀} (2 (k − k₀) + 1) (1 − F(k))
    /// ```
    /// from a k₀ below which there is next to nothing.
    fn moments_of_cells(&self, coding: &Coding) -> (f64, f64) {
        let (mean, var) = self.law.moments();
        let (mean, std) = (coding.decode(mean), coding.scale * var.sqrt());
        let last = coding.last();
        let first = (mean - REACH * std).floor().clamp(0.0, last);
        let end = (mean + REACH * std + 1.0).ceil().clamp(first, last);
        let step = ((end - first) / MOST_CELLS).ceil().max(1.0);
        let (mut sum, mut squares, mut k) = (0.0, 0.0, first);
        while k < end {
            // The cells k to k + width − 1, by the one in the middle.
            let width = step.min(end - k);
            let above = 1.0 - self.cdf_of_cell(coding, (k + 0.5 * (width - 1.0)).floor());
            sum += width * above;
            squares += width * (2.0 * (k - first) + width) * above;
            k += width;
        }
        (first + sum, (squares - sum * sum).max(0.0))
    }
}

impl<L: PredictiveLaw> PredictiveLaw for Coded<'_, L> {
    fn moments(&self) -> (f64, f64) {
        match (self.coding, self.cells()) {
            (None, _) => self.law.moments(),
            (_, Some(cells)) => self.moments_of_cells(cells),
            (Some(coding), None) => {
                let (mean, var) = self.law.moments();
                (coding.decode(mean), var * coding.scale * coding.scale)
            }
        }
    }

    fn cdf(&self, u: f64) -> f64 {
        match self.cells() {
            Some(cells) => self.cdf_of_cell(cells, u.floor()),
            None => self.law.cdf(self.encode(u)),
        }
    }

    fn log_prob(&self, u: f64) -> f64 {
        match (self.coding, self.cells()) {
            (_, Some(cells)) => self.log_prob_of_cell(cells, u),
            (Some(coding), None) => self.law.log_prob(coding.encode(u)) - coding.log_width(),
            (None, _) => self.law.log_prob(u),
        }
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        let t = self.law.draw(rng);
        self.coding.map_or(t, |coding| coding.outcome_of(t))
    }

    fn landmarks(&self) -> Vec<f64> {
        self.law.landmarks().into_iter().map(|t| self.decode(t)).collect()
    }

    fn as_normal(&self) -> Option<Normal> {
        match self.coding {
            None => self.law.as_normal(),
            Some(Coding { shift, scale, outcome: Outcome::Density }) => {
                self.law.as_normal().map(|normal| normal.mapped(*shift, *scale))
            }
            Some(_) => None,
        }
    }

    fn is_whole(&self) -> bool {
        self.coding.map_or_else(|| self.law.is_whole(), |coding| coding.outcome != Outcome::Density)
    }

    fn quantile(&self, level: Level) -> f64 {
        match self.cells() {
            // The cell in which the quantile of t lies.
            Some(cells) => (self.decode(self.law.quantile(level)) - 0.5).ceil().clamp(0.0, cells.last()),
            None => self.decode(self.law.quantile(level)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Normal laws of standardised numbers, as levels and as counts, narrow and wide.
    fn laws() -> Vec<(Normal, Coding)> {
        let coding = |shift, scale, count| Coding { shift, scale, outcome: Outcome::Cells { count } };
        vec![
            (Normal { mean: 0.3, var: 0.4 }, coding(2.0, 1.1, Some(5))),
            (Normal { mean: -3.0, var: 2.0 }, coding(2.0, 1.1, Some(5))),
            (Normal { mean: 0.1, var: 0.2 }, coding(1.5, 2.0, None)),
            (Normal { mean: 0.4, var: 1e-6 }, coding(20.0, 7.0, None)),
            (Normal { mean: 1.0, var: 0.5 }, coding(900.0, 800.0, None)),
        ]
    }

    #[test]
    fn cells_have_all_the_probability_and_their_moments() {
        for (law, coding) in laws() {
            let coded = Coded { law, coding: Some(&coding) };
            let last = coding.last().min(20_000.0) as usize;
            let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
            for k in 0..=last {
                let p = coded.log_prob(k as f64).exp();
                (sum, mean, square) = (sum + p, mean + p * k as f64, square + p * (k * k) as f64);
            }
            let (m, v) = coded.moments();
            assert!((sum - 1.0).abs() < 1e-4, "{coding:?}: {sum}");
            assert!((m - mean).abs() < 2e-3 * (1.0 + v.sqrt()), "{coding:?}: {m} {mean}");
            assert!((v - (square - mean * mean)).abs() < 0.01 * (0.01 + v), "{coding:?}: {v}");
            assert_eq!([-1.0, 0.5, coding.last() + 1.0].map(|u| coded.log_prob(u)), [f64::NEG_INFINITY; 3]);
        }
    }

    #[test]
    fn quantiles_are_the_least_numbers_that_reach_a_probability() {
        for (law, coding) in laws() {
            let coded = Coded { law, coding: Some(&coding) };
            for p in [0.025, 0.2, 0.5, 0.8, 0.975] {
                let q = coded.quantile(Level::new(p));
                assert_eq!((q.fract(), q >= 0.0 && q <= coding.last()), (0.0, true));
                assert!(coded.cdf(q) >= p - 1e-9 && (q == 0.0 || coded.cdf(q - 1.0) < p), "{coding:?}: {p} {q}");
            }
        }
    }

    #[test]
    fn draws_are_as_frequent_as_they_are_probable() {
        const DRAWS: usize = 20_000;
        let (law, coding) = laws().swap_remove(0);
        let coded = Coded { law, coding: Some(&coding) };
        let (mut rng, mut counts) = (ChaCha8Rng::seed_from_u64(3), [0.0; 5]);
        (0..DRAWS).for_each(|_| counts[coded.draw(&mut rng) as usize] += 1.0 / DRAWS as f64);
        for (k, share) in counts.into_iter().enumerate() {
            let p = coded.log_prob(k as f64).exp();
            // Four standard errors.
            assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / DRAWS as f64).sqrt(), "{k}: {share} {p}");
        }
    }

    /// Far out a difference of two distribution functions would be 0.
    #[test]
    fn what_is_all_but_impossible_stays_a_number() {
        let (law, coding) = laws().swap_remove(2);
        let coded = Coded { law, coding: Some(&coding) };
        let mut last = coded.log_prob(10.0);
        for k in [20.0, 50.0, 300.0] {
            let log_p = coded.log_prob(k);
            assert!(log_p.is_finite() && log_p < last, "{k}: {log_p}");
            last = log_p;
        }
    }
}
