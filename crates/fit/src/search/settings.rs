//! Settings of a search.

/// Steps of a network without rows, for each row, and at most; and evaluations of a GP's evidence, at full effort.
const FEWEST_STEPS: f64 = 1000.0;
const STEPS_OF_ROW: f64 = 0.5;
const MOST_STEPS: f64 = 5000.0;
const EVALUATIONS: f64 = 40.0;

/// How candidates are trained.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Training {
    /// Steps of a network.
    pub steps: usize,
    /// Evaluations of a GP's evidence.
    pub evaluations: usize,
    pub seed: u64,
    /// Threads that share the rows of a GP in closed form.
    pub threads: usize,
}

/// Settings of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    /// Multiplies all numbers of steps.
    pub effort: f64,
    /// Most models in the mixture besides constant and linear ones; 1 for the best alone.
    pub ensemble: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads that share trials, and the rows of those that are fewer; the result does not depend on the number.
    pub threads: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { effort: 1.0, ensemble: 5, seed: 0, threads: 1 }
    }
}

impl SearchSettings {
    /// How models of so many rows are trained, on one thread each.
    pub(crate) fn training(&self, rows: usize) -> Training {
        let times = |count: f64, least: f64| (count * self.effort).ceil().max(least) as usize;
        let steps = (FEWEST_STEPS + STEPS_OF_ROW * rows as f64).min(MOST_STEPS);
        Training { steps: times(steps, 20.0), evaluations: times(EVALUATIONS, 10.0), seed: self.seed, threads: 1 }
    }

    /// For so many pieces of work: how many are done at a time, and the threads of each.
    pub(crate) fn shares(&self, pieces: usize) -> (usize, usize) {
        let at_a_time = self.threads.min(pieces).max(1);
        (at_a_time, (self.threads / at_a_time).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_shared_out() {
        let shares = |threads, pieces| SearchSettings { threads, ..SearchSettings::default() }.shares(pieces);
        assert_eq!([shares(1, 4), shares(8, 3), shares(4, 1), shares(2, 9)], [(1, 1), (3, 2), (1, 4), (2, 1)]);
        assert_eq!([shares(0, 3), shares(2, 0)], [(1, 1), (1, 2)]);
    }
}
