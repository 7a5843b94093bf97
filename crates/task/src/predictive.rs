//! What is predicted of the targets of some rows: their laws, in the targets' own units.
//!
//! ```text
//! y = μ + s u          u a mixture over networks          g_k(c_k(u)) the target that network k was trained on
//! ```
//! with a code c_k where a network sees outcomes as other numbers, and a transform g_k.

use crate::law::{
    Affine, Coded, Level, Mixture, NetworkLaw, NetworkLaws, PredictiveLaw, Transformed, draw_member, mix_log_densities,
};
use crate::likelihood_choice::ConstantLaw;
use crate::member::Member;
use crate::row_info::RowInfo;
use crate::standardise::Standardiser;
use crate::task::Task;
use crate::warp::with_log_slopes;
use deepgp::gauss::DiagGaussian;
use deepgp::likelihood::{Likelihood, Observation};
use deepgp::predict::Prediction;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use rand::Rng;

/// The least probability of an interval.
const LEAST_PROBABILITY: f64 = 1e-15;

/// Predictive laws of rows × targets, in the targets' own units.
#[derive(Debug, Clone)]
pub struct Predictive {
    task: Task,
    /// What each network says of transformed standardised targets; the weights add up to 1.
    parts: Vec<Member<NetworkLaws>>,
    targets: Standardiser,
}

impl Predictive {
    /// A mixture of what networks say of standardised targets.
    ///
    /// # Panics
    /// If there is no network.
    pub(crate) fn new(task: Task, parts: Vec<Member<NetworkLaws>>, targets: Standardiser) -> Self {
        assert!(!parts.is_empty(), "a mixture has members");
        Self { task, parts, targets }
    }

    /// Normal laws with these moments.
    pub fn normal(moments: DiagGaussian) -> Self {
        let targets = Standardiser::identity(moments.mean.cols());
        Self::new(Task::Regression, vec![Member::new(1.0, NetworkLaws::Normal(moments))], targets)
    }

    /// The same law for every row, but for its exposure.
    pub(crate) fn constant(
        task: Task,
        law: &ConstantLaw,
        targets: &Standardiser,
        n_rows: usize,
        info: Option<&RowInfo>,
    ) -> Self {
        let latent = law.latent();
        let mut mean = Mat::from_fn(n_rows, latent.len(), |_, k| latent[k]);
        if let Some(offset) = info.and_then(|info| info.offset(&law.likelihood, targets, None)) {
            mean.add_scaled(1.0, &offset.mean);
        }
        let f = DiagGaussian { var: Mat::zeros(n_rows, latent.len()), mean };
        Self::of_latent(task, &law.likelihood, f, targets)
    }

    /// The laws of what a likelihood observes of latent values, of standardised outcomes that it sees as they are.
    pub(crate) fn of_latent(task: Task, likelihood: &Likelihood, f: DiagGaussian, targets: &Standardiser) -> Self {
        let n_targets = likelihood.n_targets();
        let mut y = DiagGaussian::zeros(f.n_points(), n_targets);
        for n in 0..f.n_points() {
            let (mean, var) = f.point(n);
            likelihood.observe(mean, var, y.mean.row_mut(n), y.var.row_mut(n));
        }
        let [_, laws] = NetworkLaws::new(likelihood, Prediction { f, y, seen_var: None });
        Self::new(task, vec![Member::new(1.0, laws)], targets.clone())
    }

    /// What the targets are.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.parts[0].fitted.rows()
    }

    /// Number of targets.
    pub fn columns(&self) -> usize {
        self.targets.columns()
    }

    /// The law of target `column` of row `row`.
    ///
    /// # Panics
    /// If there is no such row or target.
    pub fn law(&self, row: usize, column: usize) -> impl PredictiveLaw {
        let law = Mixture(self.parts.iter().map(move |part| (part.weight, of_part(part, row, column))));
        Affine { shift: self.targets.mean()[column], scale: self.targets.scale()[column], law }
    }

    /// Means and variances.
    ///
    /// # Errors
    /// [`deepgp::Error::NotFinite`] for moments beyond all numbers.
    pub fn moments(&self) -> Result<DiagGaussian> {
        let mut moments = DiagGaussian::zeros(self.rows(), self.columns());
        for n in 0..self.rows() {
            for p in 0..self.columns() {
                let parts = self.parts.iter().map(|part| (part.weight, of_part(part, n, p)));
                (moments.mean[(n, p)], moments.var[(n, p)]) = Mixture(parts).moments();
            }
        }
        self.targets.invert_moments(&moments)
    }

    /// Probabilities of all labels of each row, rows × labels, which add up to 1; nothing where there are no labels.
    pub fn probabilities(&self) -> Mat {
        let labels = self.task.n_labels();
        let mut all = Mat::zeros(self.rows(), labels);
        let mut of_network = vec![0.0; labels];
        for n in 0..self.rows() {
            for part in &self.parts {
                match &part.fitted {
                    NetworkLaws::Observed(laws) if !part.has_cells() => laws.probabilities(n, &mut of_network),
                    _ => {
                        let law = of_part(part, n, 0);
                        of_network.iter_mut().enumerate().for_each(|(k, p)| *p = law.log_prob(k as f64).exp());
                    }
                }
                all.row_mut(n).iter_mut().zip(&of_network).for_each(|(sum, p)| *sum += part.weight * p);
            }
            let total: f64 = all.row(n).iter().sum();
            all.row_mut(n).iter_mut().for_each(|p| *p /= total);
        }
        all
    }

    /// Quantiles of all rows and targets.
    pub fn quantiles(&self, probability: f64) -> Mat {
        let level = Level::new(probability);
        Mat::from_fn(self.rows(), self.columns(), |n, p| self.law(n, p).quantile(level))
    }

    /// The laws of some rows.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        let parts = self.parts.iter().map(|part| part.with(part.fitted.of_rows(rows))).collect();
        Self { task: self.task, parts, targets: self.targets.clone() }
    }

    /// These laws with deviations from the mean multiplied by a factor, before transforms are undone.
    pub(crate) fn widened(mut self, factor: f64) -> Self {
        self.parts.iter_mut().for_each(|part| part.fitted.widen(factor));
        self
    }

    /// Log density (or probability) of each row of `y`, jointly over targets, in nats per row of the targets' own
    /// units. Shapes: `y` rows × columns.
    ///
    /// ```text
    /// log p(y) = log Σ_k w_k Π_p p_kp(g_kp(u_p)) g_kp'(u_p) − Σ_p log s_p
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many rows and columns, [`Error::NotFinite`] for a target that is not a
    /// number or whose transform is none.
    pub fn log_density(&self, y: &Mat) -> Result<Vec<f64>> {
        if y.rows() != self.rows() {
            return Err(Error::Shape { what: "rows of the targets", expected: self.rows(), found: y.rows() });
        }
        self.task.check(y)?;
        if self.task == Task::Censored {
            return Ok(y.iter_rows().enumerate().map(|(n, bounds)| self.log_likelihood(n, bounds)).collect());
        }
        let u = self.targets.apply(y, "targets")?;
        let log_probs = |part: &Member<NetworkLaws>| {
            if part.has_cells() {
                return Ok((0..u.rows()).map(|n| of_part(part, n, 0).log_prob(u[(n, 0)])).collect());
            }
            let (coded, t) = part.targets(&u)?;
            let mut all = with_log_slopes(&part.warps, &coded, part.fitted.log_probs(&t)?);
            if let Some(coding) = &part.coding {
                all.iter_mut().for_each(|log_p| *log_p -= coding.log_width());
            }
            Ok(all)
        };
        let all = self.parts.iter().map(log_probs).collect::<Result<Vec<Vec<f64>>>>()?;
        let weights: Vec<f64> = self.parts.iter().map(|part| part.weight).collect();
        let standard = mix_log_densities(&weights, &all);
        Ok(standard.into_iter().map(|l| self.targets.invert_log_density(l)).collect())
    }

    /// Log density of a number that was seen, or log probability of the interval that it lies in:
    ///
    /// ```text
    /// l = u     log p(u)          l < u     log (F(u) − F(l)),   F(−∞) = 0, F(∞) = 1
    /// ```
    /// No interval is held to be less likely than [`LEAST_PROBABILITY`]: its probability is a difference.
    fn log_likelihood(&self, row: usize, bounds: &[f64]) -> f64 {
        let law = self.law(row, 0);
        match (bounds[0], bounds[1]) {
            (lower, upper) if lower.is_nan() && upper.is_nan() => 0.0,
            (lower, upper) if lower == upper => law.log_prob(upper),
            (lower, upper) => {
                let below = if lower.is_nan() { 0.0 } else { law.cdf(lower) };
                let up_to = if upper.is_nan() { 1.0 } else { law.cdf(upper) };
                (up_to - below).max(LEAST_PROBABILITY).ln()
            }
        }
    }

    /// Draws all targets of a row together: they come from one network.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn draw(&self, row: usize, rng: &mut dyn Rng) -> Vec<f64> {
        let part = &self.parts[draw_member(self.parts.iter().map(|part| part.weight), rng)];
        let scales = self.targets.mean().iter().zip(self.targets.scale());
        let own_unit = |(p, (t, (shift, scale))): (usize, (&f64, (&f64, &f64)))| {
            let coded = part.warps.get(p).map_or(*t, |warp| warp.inverse(*t));
            shift + scale * part.coding.map_or(coded, |coding| coding.outcome_of(coded))
        };
        part.fitted.draw(row, rng).iter().zip(scales).enumerate().map(own_unit).collect()
    }
}

impl Task {
    /// The laws that so many rows have if nothing is known of their inputs: the frequencies of labels, a negative
    /// binomial law of counts, the normal distribution of numbers.
    pub fn constant(
        self,
        targets: &Standardiser,
        average: Option<&ConstantLaw>,
        n_rows: usize,
        info: Option<&RowInfo>,
    ) -> Predictive {
        match average {
            Some(law) => Predictive::constant(self, law, targets, n_rows, info),
            None => {
                // The normal distribution of the training targets.
                let fill = |of: &dyn Fn(usize) -> f64| Mat::from_fn(n_rows, targets.columns(), |_, p| of(p));
                let (mean, var) = (fill(&|p| targets.mean()[p]), fill(&|p| targets.scale()[p].powi(2)));
                Predictive::normal(DiagGaussian { mean, var })
            }
        }
    }
}

/// What a network says of a standardised target.
fn of_part(part: &Member<NetworkLaws>, row: usize, column: usize) -> Coded<'_, Transformed<'_, NetworkLaw<'_>>> {
    let law = Transformed { law: part.fitted.at(row, column), warp: part.warps.get(column) };
    Coded { law, coding: part.coding.as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Interval;
    use crate::warp::{Warp, WarpKind};
    use deepgp::likelihood::{Likelihood, StudentT};
    use deepgp::predict::Prediction;
    use deepgp_numerics::special::normal_quantile;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn part(weight: f64, mean: f64, var: f64, warps: Vec<Warp>) -> Member<NetworkLaws> {
        let fitted = NetworkLaws::Normal(DiagGaussian { mean: one(mean), var: one(var) });
        Member { warps, ..Member::new(weight, fitted) }
    }

    fn one(value: f64) -> Mat {
        Mat::from_fn(1, 1, |_, _| value)
    }

    /// Student-t noise on normal latent values.
    fn heavy(weight: f64, mean: f64, var: f64, scale: f64, warps: Vec<Warp>) -> Member<NetworkLaws> {
        let likelihood = Likelihood::StudentT(StudentT { scale: vec![scale], dof: 4.0 });
        let y = DiagGaussian { mean: one(mean), var: one(var + 2.0 * scale * scale) };
        let prediction = Prediction { f: DiagGaussian { mean: one(mean), var: one(var) }, y, seen_var: None };
        let [_, fitted] = NetworkLaws::new(&likelihood, prediction);
        Member { warps, ..Member::new(weight, fitted) }
    }

    fn targets() -> (Vec<f64>, Standardiser) {
        let y: Vec<f64> = (0..200).map(|i| (0.8 * normal_quantile((f64::from(i) + 0.5) / 200.0)).exp()).collect();
        let targets = Standardiser::fit(&Mat::from_fn(200, 1, |i, _| y[i]), "targets").expect("a standardiser");
        let u = y.iter().map(|y| (y - targets.mean()[0]) / targets.scale()[0]).collect();
        (u, targets)
    }

    fn mixtures() -> Vec<Predictive> {
        let (u, targets) = targets();
        let zero = -targets.mean()[0] / targets.scale()[0];
        let log = || vec![Warp::fit(WarpKind::Log, &u, zero).expect("a transform")];
        let with = |parts| Predictive::new(Task::Regression, parts, targets.clone());
        vec![
            with(vec![part(1.0, 0.3, 0.5, vec![])]),
            with(vec![part(0.03, -1.0, 2.0, vec![]), part(0.97, 0.2, 0.01, vec![])]),
            with(vec![part(0.6, 0.3, 0.2, log()), part(0.4, 0.1, 0.1, vec![])]),
            // Parts that do not agree, and one much narrower than another.
            with(vec![part(0.5, -1.5, 0.09, log()), part(0.5, 1.5, 0.09, log())]),
            with(vec![part(0.5, 0.2, 4e-4, log()), part(0.5, 0.0, 1.0, log())]),
            // Heavy tails, of sure and unsure functions, wider than they were, mixed, and transformed.
            with(vec![heavy(1.0, 0.3, 1e-4, 0.5, vec![])]),
            with(vec![heavy(1.0, -0.2, 2.0, 0.1, vec![])]).widened(1.5),
            with(vec![heavy(0.7, 0.3, 0.2, 0.2, vec![]), part(0.3, 0.2, 0.5, vec![])]),
            with(vec![heavy(1.0, 0.3, 0.05, 0.2, log())]),
        ]
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        for mixture in mixtures() {
            let mut last = f64::NEG_INFINITY;
            for p in [0.001, 0.025, 0.25, 0.5, 0.75, 0.975, 0.999] {
                let q = mixture.law(0, 0).quantile(Level::new(p));
                assert!(q > last && (mixture.law(0, 0).cdf(q) - p).abs() < 1e-9, "{p}: {q}");
                last = q;
                assert_eq!(q, mixture.quantiles(p)[(0, 0)]);
            }
        }
    }

    #[test]
    fn intervals_are_those_of_the_mixture_and_not_of_its_moments() -> Result<()> {
        // A little of something wide: moments see a wide normal, the mixture has a narrow middle.
        let mixture = &mixtures()[1];
        let width = mixture.quantiles(0.75)[(0, 0)] - mixture.quantiles(0.25)[(0, 0)];
        let of_moments = 2.0 * 0.674_489_75 * mixture.moments()?.var[(0, 0)].sqrt();
        assert!(width < 0.5 * of_moments, "{width} {of_moments}");
        Ok(())
    }

    #[test]
    fn densities_are_slopes_of_the_distribution() -> Result<()> {
        for mixture in mixtures() {
            let width = 1e-5;
            for y in [0.4, 1.1, 1.7, 4.0] {
                let slope = (mixture.law(0, 0).cdf(y + width) - mixture.law(0, 0).cdf(y - width)) / (2.0 * width);
                let log_density = mixture.log_density(&Mat::from_fn(1, 1, |_, _| y))?[0];
                assert!(
                    (log_density - slope.ln()).abs() < 1e-5 * (1.0 + log_density.abs()),
                    "{y}: {log_density} {slope}"
                );
            }
            assert!(matches!(mixture.log_density(&Mat::zeros(2, 1)), Err(Error::Shape { .. })));
            assert!(matches!(mixture.log_density(&Mat::from_fn(1, 1, |_, _| f64::NAN)), Err(Error::NotFinite { .. })));
        }
        Ok(())
    }

    /// Parts whose weights add up to 1 + 2⁻⁵².
    #[test]
    fn nothing_is_more_than_certain() {
        let Predictive { mut parts, targets, .. } = mixtures().swap_remove(2);
        parts.push(parts[1].clone());
        parts.iter_mut().zip([0.4, 0.1, 0.1]).for_each(|(part, weight)| part.weight = weight / (0.4 + 0.1 + 0.1));
        assert!(parts.iter().map(|part| part.weight).sum::<f64>() > 1.0);
        let mixture = Predictive::new(Task::Regression, parts, targets);
        assert_eq!(mixture.law(0, 0).cdf(1e3), 1.0);
        assert!((mixture.law(0, 0).crps(1e3) - 1e3).abs() < 3.0 && mixture.quantiles(1.0 - 1e-16)[(0, 0)].is_finite());
    }

    /// Far out the score is the distance but for what is the distribution's own.
    #[test]
    fn ranked_scores_of_extreme_targets_are_distances() {
        for mixture in mixtures() {
            let score = |y: f64| mixture.law(0, 0).crps(y);
            for y in [1e3, 1e6] {
                assert!(
                    ((score(y + 1.0) - score(y)) - 1.0).abs() < 1e-6
                        && ((score(-y - 1.0) - score(-y)) - 1.0).abs() < 1e-6
                );
            }
            assert!(score(1e300).is_finite() && score(f64::NAN).is_nan());
        }
    }

    #[test]
    fn moments_and_ranked_scores_are_integrals_of_the_distribution() -> Result<()> {
        for mixture in mixtures() {
            let observed = 1.7;
            let (mut mean, mut square, mut crps) = (0.0, 0.0, 0.0);
            // Steps that grow towards the tails, with an end at the observation.
            let law = mixture.law(0, 0);
            let end = |i: i32| observed + (5e-4 * f64::from(i)).sinh();
            let mut before = law.cdf(end(-16_000));
            for i in -16_000..16_000 {
                let (low, high) = (end(i), end(i + 1));
                let after = law.cdf(high);
                let (middle, mass) = (0.5 * (low + high), after - before);
                (mean, square) = (mean + mass * middle, square + mass * middle * middle);
                let step = f64::from(u8::from(i >= 0));
                crps += (high - low) * (law.cdf(middle) - step).powi(2);
                before = after;
            }
            let moments = mixture.moments()?;
            let std = moments.var[(0, 0)].sqrt();
            assert!((moments.mean[(0, 0)] - mean).abs() < 1e-4 * std);
            assert!((std - (square - mean * mean).sqrt()).abs() < 1e-3 * std);
            let score = mixture.law(0, 0).crps(observed);
            assert!((score - crps).abs() < 2e-5 * crps, "{score} {crps}");
        }
        Ok(())
    }

    /// Draws are made by another way than everything else is computed.
    #[test]
    fn samples_tell_the_same_as_the_law() -> Result<()> {
        const DRAWS: usize = 40_000;
        for (number, predictive) in mixtures().into_iter().enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(number as u64);
            let law = predictive.law(0, 0);
            let mut single: Vec<f64> = (0..DRAWS).map(|_| law.draw(&mut rng)).collect();
            let joint: Vec<f64> = (0..DRAWS).map(|_| predictive.draw(0, &mut rng)[0]).collect();
            let share_below =
                |draws: &[f64], y: f64| draws.iter().filter(|draw| **draw <= y).count() as f64 / DRAWS as f64;
            // Four standard errors of a share.
            let near = |share: f64, p: f64| (share - p).abs() < 4.0 * (p * (1.0 - p) / DRAWS as f64).sqrt();
            for p in [0.005, 0.025, 0.25, 0.5, 0.75, 0.975, 0.995] {
                let quantile = law.quantile(Level::new(p));
                for draws in [&single, &joint] {
                    assert!(
                        near(share_below(draws, quantile), p),
                        "{number}: {} below {quantile}",
                        share_below(draws, quantile)
                    );
                }
            }
            let intervals = [0.5, 0.95].map(Interval::central);
            for (place, p) in [0.5, 0.95].into_iter().enumerate() {
                let inside = single.iter().filter(|draw| law.is_inside(**draw, intervals)[place]).count();
                assert!(near(inside as f64 / DRAWS as f64, p), "{number}: {inside} in the interval of {p}");
            }
            let (mean, var) = law.moments();
            let average = single.iter().sum::<f64>() / DRAWS as f64;
            assert!((average - mean).abs() < 4.0 * (var / DRAWS as f64).sqrt(), "{number}: {average} {mean}");
            // E|Y − y| − ½ E|Y − Y′|, the second from pairs of draws that are sorted.
            let y = mean + 0.7 * var.sqrt();
            let distance = single.iter().map(|draw| (draw - y).abs()).sum::<f64>() / DRAWS as f64;
            single.sort_unstable_by(f64::total_cmp);
            let rank = |i: usize| 2.0 * i as f64 - DRAWS as f64 + 1.0;
            let apart = single.iter().enumerate().map(|(i, draw)| rank(i) * draw).sum::<f64>() / (DRAWS as f64).powi(2);
            let score = law.crps(y);
            assert!((distance - apart - score).abs() < 0.02 * var.sqrt(), "{number}: {} {score}", distance - apart);
        }
        Ok(())
    }

    /// Two targets whose networks disagree: a row is drawn from one network, not each target from its own.
    #[test]
    fn targets_of_a_row_are_drawn_together() {
        let side = |weight: f64, mean: f64| {
            let of = |value: f64| Mat::from_fn(1, 2, |_, _| value);
            Member::new(weight, NetworkLaws::Normal(DiagGaussian { mean: of(mean), var: of(0.01) }))
        };
        let parts = vec![side(0.5, -1.0), side(0.5, 1.0)];
        let predictive = Predictive::new(Task::Regression, parts, Standardiser::identity(2));
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        assert!((0..200).all(|_| predictive.draw(0, &mut rng).iter().product::<f64>() > 0.0));
    }

    /// Half of the latent variance or a normal of the same variance would be wrong by far more.
    #[test]
    fn heavy_tails_are_no_normals() -> Result<()> {
        let parts = vec![heavy(1.0, 0.0, 1e-8, 1.0, vec![])];
        let heavy = Predictive::new(Task::Regression, parts, Standardiser::identity(1));
        // Quantiles of Student's t with four degrees of freedom, from tables.
        for (p, t) in [(0.75, 0.7407), (0.95, 2.1318), (0.975, 2.7764), (0.99, 3.7469), (0.999, 7.1732)] {
            assert!((heavy.quantiles(p)[(0, 0)] - t).abs() < 1e-4, "{p}: {}", heavy.quantiles(p)[(0, 0)]);
        }
        assert!((heavy.moments()?.var[(0, 0)] - 2.0).abs() < 1e-6);
        // A normal of that variance has 1.96 √2 = 2.7718 and 3.09 √2 = 4.37.
        Ok(())
    }
}
