//! The law of a number that comes from one of several laws.
//!
//! ```text
//! p(y) = Σ_k w_k p_k(y)       E y = Σ_k w_k m_k       Var y = Σ_k w_k (v_k + (m_k − E y)²)
//! ```

use super::{CLOSENESS, Level, Normal, PredictiveLaw, ranked_score, whole};
use deepgp_numerics::optim::root;
use rand::{Rng, RngExt};

/// Laws with their weights, which add up to 1 but for rounding; at least one.
#[derive(Debug, Clone)]
pub(crate) struct Mixture<I>(pub I);

impl<L: PredictiveLaw, I: Iterator<Item = (f64, L)> + Clone> Mixture<I> {
    fn parts(&self) -> I {
        self.0.clone()
    }

    /// The law if there is only one.
    fn only(&self) -> Option<L> {
        let mut parts = self.parts();
        let (_, first) = parts.next()?;
        parts.next().is_none().then_some(first)
    }

    /// All laws with their weights, if all are normal.
    fn normals(&self) -> Option<Vec<(f64, Normal)>> {
        self.parts().map(|(weight, law)| Some((weight, law.as_normal()?))).collect()
    }
}

/// The ranked score of a mixture of normals in closed form, where x_k − x_j is normal, too. Reference: Grimit et al.
/// (2006).
fn score_of_normals(normals: &[(f64, Normal)], y: f64) -> f64 {
    let mut score = 0.0;
    for (w, Normal { mean, var }) in normals {
        score += w * Normal { mean: y - mean, var: *var }.mean_size();
        for (other_w, other) in normals {
            score -= 0.5 * w * other_w * Normal { mean: mean - other.mean, var: var + other.var }.mean_size();
        }
    }
    score
}

/// Draws which of some members, with weights that add up to 1 but for rounding, a row belongs to.
pub(crate) fn draw_member(weights: impl Iterator<Item = f64>, rng: &mut dyn Rng) -> usize {
    let (mut rest, mut chosen): (f64, usize) = (rng.random(), 0);
    for (k, weight) in weights.enumerate() {
        chosen = k;
        if rest < weight {
            break;
        }
        rest -= weight;
    }
    chosen
}

/// log Σ_k w_k p_k of every row, from log p_k: `log_densities[k][n]` is that of row n.
pub fn mix_log_densities(weights: &[f64], log_densities: &[Vec<f64>]) -> Vec<f64> {
    let row = |n: usize| log_sum(weights.iter().zip(log_densities).map(|(w, l)| w.ln() + l[n]));
    (0..log_densities.first().map_or(0, Vec::len)).map(row).collect()
}

/// log Σ exp of some terms.
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY { top } else { top + terms.map(|t| (t - top).exp()).sum::<f64>().ln() }
}

impl<L: PredictiveLaw, I: Iterator<Item = (f64, L)> + Clone> PredictiveLaw for Mixture<I> {
    fn moments(&self) -> (f64, f64) {
        if let Some(only) = self.only() {
            return only.moments();
        }
        let parts: Vec<(f64, (f64, f64))> = self.parts().map(|(weight, law)| (weight, law.moments())).collect();
        let mean = parts.iter().map(|(w, (m, _))| w * m).sum::<f64>();
        let var = parts.iter().map(|(w, (m, v))| w * (v + (m - mean).powi(2))).sum::<f64>();
        (mean, var)
    }

    fn cdf(&self, y: f64) -> f64 {
        // Weights may add up to a little more than 1.
        self.parts().map(|(weight, law)| weight * law.cdf(y)).sum::<f64>().min(1.0)
    }

    fn log_prob(&self, y: f64) -> f64 {
        let terms: Vec<f64> = self.parts().map(|(weight, law)| weight.ln() + law.log_prob(y)).collect();
        log_sum(terms.into_iter())
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        let chosen = draw_member(self.parts().map(|(weight, _)| weight), rng);
        let (_, law) = self.parts().nth(chosen).expect("a mixture has members");
        law.draw(rng)
    }

    fn landmarks(&self) -> Vec<f64> {
        self.parts().flat_map(|(_, law)| law.landmarks()).collect()
    }

    fn as_normal(&self) -> Option<Normal> {
        self.only()?.as_normal()
    }

    fn is_whole(&self) -> bool {
        self.parts().all(|(_, law)| law.is_whole())
    }

    /// The quantile, which lies between those of the parts.
    fn quantile(&self, level: Level) -> f64 {
        let (low, high) = self
            .parts()
            .map(|(_, law)| law.quantile(level))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), q| (low.min(q), high.max(q)));
        match self.only() {
            Some(_) => low,
            None if self.is_whole() => whole::quantile((low, high), level.probability, |y| self.cdf(y)),
            None => root(low, high, CLOSENESS * (high - low), |y| self.cdf(y) - level.probability),
        }
    }

    fn crps(&self, y: f64) -> f64 {
        match (self.as_normal(), self.normals()) {
            (Some(normal), _) => normal.crps(y),
            (None, Some(normals)) => score_of_normals(&normals, y),
            (None, None) if self.is_whole() => whole::ranked_score(self, y),
            (None, None) => ranked_score(self, y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const PARTS: [(f64, Normal); 2] = [(0.3, Normal { mean: 1.0, var: 0.5 }), (0.7, Normal { mean: -2.0, var: 0.1 })];

    #[test]
    fn moments_are_those_of_the_density() {
        let mixture = Mixture(PARTS.into_iter());
        // Integrals of y p(y) and y² p(y) by a midpoint sum.
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for i in 0..40_000 {
            let y = -10.0 + 20.0 * (f64::from(i) + 0.5) / 40_000.0;
            let p = mixture.log_prob(y).exp() * 20.0 / 40_000.0;
            (mass, first, second) = (mass + p, first + y * p, second + y * y * p);
        }
        let (mean, var) = mixture.moments();
        assert!((mass - 1.0).abs() < 1e-9 && (mean - first).abs() < 1e-9);
        assert!((var - (second - first * first)).abs() < 1e-9);
    }

    #[test]
    fn members_are_drawn_by_their_weights() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let weights = [0.2, 0.0, 0.5, 0.3];
        let mut counts = [0; 4];
        for _ in 0..20_000 {
            counts[draw_member(weights.into_iter(), &mut rng)] += 1;
        }
        // Three standard errors.
        assert!(counts.iter().zip(weights).all(|(&n, w)| (f64::from(n) / 2e4 - w).abs() < 3.0 * 0.5 / 2e4_f64.sqrt()));
        assert_eq!(counts[1], 0);
        // What rounding leaves belongs to the last.
        assert_eq!(draw_member([0.0, 0.0].into_iter(), &mut rng), 1);
    }
}
