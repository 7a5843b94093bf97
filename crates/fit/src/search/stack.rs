//! The mixture of the finalists, and its weights.

use super::candidate::{Design, Form};
use super::comparison::is_gain;
use super::trial::Trial;
use deepgp_task::{finite_mean, mix_log_densities, stacking_weights};

/// With fewer validation rows a mixture must be better than a constant by so many standard errors.
const FEW_VALIDATION_ROWS: usize = 30;
const LEAST_ERRORS_OF_FEW: f64 = 3.0;
/// Members with a smaller weight are left out of a mixture. Baselines cost nothing, and their wide error bars take care
/// of a row in hundreds that is simply wrong, whatever their weight; but they widen those of all rows, and must be
/// worth so many nats, of all rows together.
const LEAST_WEIGHT: f64 = 0.01;
const LEAST_WORTH_OF_BASELINE: f64 = 1.0;

/// The best of the finalists, without a baseline beside it and therefore by its own log densities.
pub(crate) fn best_alone(finalists: Vec<Trial>) -> Vec<(f64, Trial)> {
    let scored = finalists.into_iter().filter_map(|trial| Some((trial.tried.mean_log_density?, trial)));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, best)| (1.0, best)).into_iter().collect()
}

/// The best mixture of so many finalists and of baselines, or the best of them alone where mixing does not help; the
/// heaviest first.
pub(crate) fn mix(mut finalists: Vec<Trial>, most: usize) -> Vec<(f64, Trial)> {
    finalists.retain(|trial| trial.tried.mean_log_density.is_some());
    let alone = best_alone(finalists.clone());
    if alone.is_empty() {
        return alone;
    }
    finalists.sort_by(|a, b| b.score().total_cmp(&a.score()));
    if most == 1 {
        // The heaviest of many need not be the best with a baseline.
        let best = finalists.iter().map(|trial| trial.candidate.clone()).find(|candidate| !candidate.is_baseline());
        finalists.retain(|trial| trial.candidate.is_baseline() || Some(&trial.candidate) == best.as_ref());
    }
    // The lightest are left out until all that are left weigh enough.
    let mut chosen = finalists;
    loop {
        let columns: Vec<Vec<f64>> = chosen.iter().map(|trial| trial.log_densities.clone()).collect();
        let mut mixed: Vec<(f64, Trial)> = stacking_weights(&columns).into_iter().zip(chosen).collect();
        mixed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let are_many = mixed.iter().filter(|(_, trial)| !trial.candidate.is_baseline()).count() > most;
        let is_light = |place: &usize| match &mixed[*place] {
            (_, trial) if trial.candidate.is_baseline() => worth(&mixed, *place) < LEAST_WORTH_OF_BASELINE,
            (weight, _) => are_many || *weight < LEAST_WEIGHT,
        };
        let Some(lightest) = (0..mixed.len()).rev().find(is_light) else {
            return if mean_log_density(&mixed) > mean_log_density(&alone) { mixed } else { alone };
        };
        // One at a time: without it, others weigh more.
        mixed.remove(lightest);
        chosen = mixed.into_iter().map(|(_, trial)| trial).collect();
    }
}

/// Log density of all validation rows that a mixture has because of one of its members.
fn worth(mixture: &[(f64, Trial)], member: usize) -> f64 {
    let mut others = mixture.to_vec();
    let (weight, _) = others.remove(member);
    others.iter_mut().for_each(|(other, _)| *other /= 1.0 - weight);
    match others.is_empty() {
        true => f64::INFINITY,
        false => log_densities(mixture).iter().zip(log_densities(&others)).map(|(with, without)| with - without).sum(),
    }
}

/// The mixture, or the constant alone where rows are so few that the mixture may be better by luck.
pub(crate) fn cautious(mixture: Vec<(f64, Trial)>, finalists: Vec<Trial>) -> Vec<(f64, Trial)> {
    let is_constant =
        |trial: &Trial| trial.candidate.design == Design::Constant && trial.candidate.form == Form::default();
    let Some(constant) = finalists.into_iter().find(is_constant) else { return mixture };
    let of_mixture = log_densities(&mixture);
    if of_mixture.len() >= FEW_VALIDATION_ROWS
        || is_gain(&constant.log_densities, &of_mixture, 0.0, LEAST_ERRORS_OF_FEW)
    {
        return mixture;
    }
    vec![(1.0, constant)]
}

/// Mean log density of a mixture on the validation rows of its members, in standardised units.
fn mean_log_density(mixture: &[(f64, Trial)]) -> Option<f64> {
    finite_mean(&log_densities(mixture))
}

/// Log density of each validation row of a mixture's members, in standardised units.
pub(crate) fn log_densities(mixture: &[(f64, Trial)]) -> Vec<f64> {
    let (weights, columns): (Vec<f64>, Vec<Vec<f64>>) =
        mixture.iter().map(|(weight, trial)| (*weight, trial.log_densities.clone())).unzip();
    mix_log_densities(&weights, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::candidate::Candidate;
    use deepgp::init::KernelChoice;
    use deepgp_task::{LikelihoodChoice, Tried};

    fn trial(name: &str, log_densities: Vec<f64>) -> Trial {
        let mean_log_density = finite_mean(&log_densities);
        let tried = Tried { name: name.into(), steps: 1, folds: 1, mean_log_density, weight: 0.0 };
        let design = Design::Exact { kernel: KernelChoice::Eq };
        Trial {
            candidate: design.into(),
            tried,
            robust_log_densities: log_densities.clone(),
            log_densities,
            fitted: None,
        }
    }

    /// Log densities that are good on every row for which `good` holds.
    fn good_on(good: impl Fn(usize) -> bool) -> Vec<f64> {
        (0..100).map(|n| if good(n) { 0.0 } else { -5.0 }).collect()
    }

    #[test]
    fn mixtures_beat_their_members_and_leave_the_useless_out() {
        let all =
            || vec![trial("a", good_on(|n| n < 60)), trial("b", good_on(|n| n >= 60)), trial("c", good_on(|_| false))];
        let mixed = mix(all(), 4);
        let names: Vec<&str> = mixed.iter().map(|(_, t)| t.tried.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let of = |mixture: &[(f64, Trial)]| mean_log_density(mixture).expect("a number");
        assert!(of(&mixed) > of(&[(1.0, all().remove(0))]) + 0.5, "{}", of(&mixed));
        let best = best_alone(all());
        assert_eq!((best.len(), best[0].0, best[0].1.tried.name.as_str()), (1, 1.0, "a"));
    }

    #[test]
    fn a_baseline_stays_for_the_sake_of_a_row_in_hundreds() {
        // Sharp but for one row that is simply wrong; a constant that is wide everywhere.
        let sharp = trial("sharp", (0..600).map(|n| if n == 7 { -300.0 } else { 1.0 }).collect());
        let wide = |design: Design| Trial { candidate: design.into(), ..trial("wide", vec![-4.0; 600]) };
        let names = |mixture: &[(f64, Trial)]| mixture.iter().map(|(_, t)| t.tried.name.clone()).collect::<Vec<_>>();
        let mixed = mix(vec![sharp.clone(), wide(Design::Constant)], 4);
        assert_eq!(names(&mixed), ["sharp", "wide"]);
        assert!(mixed[1].0 < 0.01 && mean_log_density(&mixed) > Some(0.9), "{}", mixed[1].0);
        // What has to be trained is not worth it, and nothing is where no row is wrong.
        assert_eq!(mix(vec![sharp, wide(Design::Exact { kernel: KernelChoice::Eq })], 4).len(), 1);
        assert_eq!(mix(vec![trial("sharp", vec![1.0; 600]), wide(Design::Constant)], 4).len(), 1);
    }

    #[test]
    fn what_failed_is_never_chosen() {
        let failed = || trial("failed", vec![f64::NEG_INFINITY; 100]);
        assert!(mix(vec![failed()], 4).is_empty());
        assert_eq!(mix(vec![failed(), trial("a", good_on(|_| true))], 4).len(), 1);
    }

    #[test]
    fn few_rows_must_be_sure_that_they_beat_the_constant() {
        // Of a task with an observation model of its own the constant is called by that.
        for likelihood in [LikelihoodChoice::Gaussian, LikelihoodChoice::Probit] {
            let constant = |n: usize| {
                let mut trial = trial("constant", vec![-1.0; n]);
                trial.candidate = Candidate { likelihood, ..Candidate::from(Design::Constant) };
                trial
            };
            // Better by half a nat on average: in every row, or by luck in one.
            let sure = |n: usize| trial("sure", (0..n).map(|i| -0.5 + 0.01 * (i % 2) as f64).collect());
            let lucky =
                |n: usize| trial("lucky", (0..n).map(|i| if i == 0 { 0.5 * n as f64 - 1.0 } else { -1.0 }).collect());
            let chosen = |better: Trial| {
                let n = better.log_densities.len();
                cautious(vec![(1.0, better)], vec![constant(n)])[0].1.tried.name.clone()
            };
            assert_eq!([chosen(sure(10)), chosen(lucky(10)), chosen(lucky(200))], ["sure", "constant", "lucky"]);
        }
    }
}
