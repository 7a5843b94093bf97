//! The search: halving, transforming, growing, and training what is left on all rows.

use super::candidate::{Candidate, Design, First, Form};
use super::comparison::is_gain;
use super::cross_validation::{CrossValidated, cross_validated};
use super::folds::{Fold, folds};
use super::memory::Memory;
use super::settings::{SearchSettings, Training};
use super::stack::{best_alone, cautious, mix};
use super::trial::{Trial, cross_validate, train, train_again};
use crate::stop::Stop;
use deepgp::Fitted;
use deepgp::likelihood::Observation;
use deepgp::{Error, Result};
use deepgp_numerics::pool;
use deepgp_task::{Config, ExpectedDensity, LikelihoodChoice, Member, Model, StandardisedData, Tried, WarpKind};
use std::sync::atomic::AtomicBool;

/// Deep GPs that come through the first fold, besides the plain GPs.
const SURVIVORS: usize = 2;
/// The most flops of a trial with more inducing inputs, at full effort: about half a minute.
const MOST_WORK: f64 = 2.2e12;
/// Nats per row by which a model may be behind the best and still be tried in other forms.
const REACH_NATS: f64 = 0.25;
/// Nats per row by which a network may be behind the best and still be tried with other powers, which gain less.
const REACH_NATS_OF_POWERS: f64 = 0.1;
/// Nats per row that more inducing inputs must gain to be worth it.
const LEAST_GAIN: f64 = 0.005;
/// Doublings in a row by which a plain GP may gain less before it stops growing. The first has fewer evaluations than
/// what it starts from, and may gain nothing where later ones gain much.
const ALLOWED_IDLE_DOUBLINGS: usize = 1;
/// Nats per row, and standard errors of them, that another form of the data must gain a plain GP to be tried further.
const LEAST_FORM_GAIN: f64 = 0.01;
const LEAST_FORM_ERRORS: f64 = 1.0;
/// Standard errors by which a model that is dear must be behind the best on the first fold to see no other.
const LEAST_ERRORS_BEHIND: f64 = 2.0;
/// Observation models that may take the place of a task's own.
const ALTERNATIVES: [(LikelihoodChoice, LikelihoodChoice); 8] = [
    (LikelihoodChoice::Gaussian, LikelihoodChoice::StudentT),
    (LikelihoodChoice::Gaussian, LikelihoodChoice::VaryingGaussian),
    (LikelihoodChoice::Gaussian, LikelihoodChoice::Gamma),
    (LikelihoodChoice::Gaussian, LikelihoodChoice::Beta),
    (LikelihoodChoice::Ordinal, LikelihoodChoice::Softmax),
    (LikelihoodChoice::Probit, LikelihoodChoice::Logit),
    (LikelihoodChoice::Softmax, LikelihoodChoice::RobustMax),
    (LikelihoodChoice::NegativeBinomial, LikelihoodChoice::Poisson),
];
/// Powers that the best network is tried with.
const POWERS: [f64; 2] = [0.2, 0.8];

/// Trains one design with Gaussian noise on all rows, as the search trains what it tries: to compare with. Nothing if it is time to stop.
///
/// # Errors
/// What the data are refused for, or why the design cannot be trained.
pub fn train_design(
    design: &Design,
    data: &StandardisedData,
    settings: &SearchSettings,
    stop: &Stop<'_>,
) -> Result<Option<(Fitted, Config)>> {
    let training = Training { threads: settings.threads, ..settings.training(data.x().rows()) };
    let candidate = Candidate::from(design.clone());
    let fitted = train(&candidate, data, training, None, stop)?;
    Ok(fitted.map(|fitted| (fitted, candidate.config(data.x().rows(), training.steps, settings.seed))))
}

/// The answer of a search.
#[derive(Debug)]
pub struct SearchResult {
    /// The models and their weights, trained on all rows.
    pub members: Vec<Member>,
    /// The configuration of the heaviest.
    pub config: Config,
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
    /// What rows that were not learnt from say of it.
    pub validated: Option<CrossValidated>,
}

impl SearchResult {
    /// What log density new rows can be expected to have.
    pub fn expected(&self) -> Option<ExpectedDensity> {
        self.validated.as_ref().and_then(|validated| validated.expected)
    }

    /// The model in the data's own units.
    ///
    /// # Errors
    /// As [`Model::mixture`].
    pub fn model(&self, data: &StandardisedData) -> Result<Model> {
        let (inputs, targets) = (data.inputs().clone(), data.targets().clone());
        let model = Model::mixture(data.task(), inputs, targets, self.members.clone())?;
        Ok(model.with_average_row(data.average_row().cloned()))
    }
}

/// Searches on standardised rows. `on_tried` is called with everything that is tried, as it ends, on the caller's
/// thread. Once it is time to stop the search ends, and the answer is the best model so far; with what is in `memory`
/// by then it can be taken up again.
///
/// # Errors
/// What the data are refused for; [`Error::Empty`] if no candidate could be trained at all; [`Error::OtherData`] for
/// the memory of another search.
pub fn search(
    data: &StandardisedData,
    settings: &SearchSettings,
    memory: &Memory,
    stop: &Stop<'_>,
    on_tried: &mut dyn FnMut(&Tried),
) -> Result<SearchResult> {
    memory.bind(data, settings)?;
    let folds = folds(data, settings.seed)?;
    Search { trials: Trials { data, settings, memory, stop }, folds: &folds, on_tried, tried: Vec::new() }.answer()
}

fn best(trials: &[Trial], score: impl Fn(&Trial) -> f64) -> f64 {
    trials.iter().map(score).fold(f64::NEG_INFINITY, f64::max)
}

/// The best of some trials, by their scores.
fn leader<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<&'a Trial> {
    trials.into_iter().max_by(|a, b| a.score().total_cmp(&b.score()))
}

fn in_form(form: Form, candidates: &[Candidate]) -> Vec<Candidate> {
    candidates.iter().map(|candidate| Candidate { form, ..candidate.clone() }).collect()
}

/// Whether plain models with an observation model are tried with transformed targets.
fn has_transforms(likelihood: LikelihoodChoice) -> bool {
    matches!(likelihood, LikelihoodChoice::Gaussian | LikelihoodChoice::Censored)
}

/// Whether a model does better with the data in another form.
fn pays(before: &Trial, after: &Trial) -> bool {
    is_gain(&before.robust_log_densities, &after.robust_log_densities, LEAST_FORM_GAIN, LEAST_FORM_ERRORS)
}

/// How the growth of a model has gone so far.
struct Growth {
    /// The best score.
    best: f64,
    /// Doublings in a row that gained too little, and how many of them are allowed.
    idle_doublings: usize,
    allowed: usize,
}

impl Growth {
    /// Whether another doubling is worth trying after one with this score.
    fn goes_on(&mut self, score: f64) -> bool {
        self.idle_doublings = if score < self.best + LEAST_GAIN { self.idle_doublings + 1 } else { 0 };
        self.best = self.best.max(score);
        self.idle_doublings <= self.allowed
    }
}

/// What all trials share.
#[derive(Clone, Copy)]
struct Trials<'a> {
    data: &'a StandardisedData,
    settings: &'a SearchSettings,
    memory: &'a Memory,
    stop: &'a Stop<'a>,
}

impl Trials<'_> {
    fn training(&self) -> Training {
        self.settings.training(self.data.x().rows())
    }

    /// Tries a candidate on folds, with so many threads. Nothing if it is time to stop.
    fn one(&self, candidate: &Candidate, folds: &[Fold], threads: usize) -> Option<Trial> {
        let training = Training { threads, ..self.training() };
        cross_validate(candidate, folds, training, self.memory, |mean| self.in_units(mean), self.stop)
    }

    /// A log density of standardised targets in their own units.
    fn in_units(&self, log_density: f64) -> f64 {
        self.data.targets().invert_log_density(log_density)
    }
}

/// A search while it goes on.
struct Search<'a> {
    trials: Trials<'a>,
    folds: &'a [Fold],
    on_tried: &'a mut dyn FnMut(&Tried),
    tried: Vec<Tried>,
}

impl<'a> Search<'a> {
    fn answer(mut self) -> Result<SearchResult> {
        let finalists = self.finalists();
        let (mut trained, validated) = self.trained(finalists);
        if trained.is_empty() {
            trained.push(self.constant()?);
        }
        let (rows, Training { steps, seed, .. }) = (self.trials.data.x().rows(), self.trials.training());
        let config = trained[0].1.candidate.config(rows, steps, seed);
        let mut tried = self.tried;
        for (member, trial) in &trained {
            match tried.iter_mut().rev().find(|entry| **entry == trial.tried) {
                Some(entry) => entry.weight = member.weight,
                None => tried.push(Tried { weight: member.weight, ..trial.tried.clone() }),
            }
        }
        let members = trained.into_iter().map(|(member, _)| member).collect();
        Ok(SearchResult { members, config, tried, validated })
    }

    /// The mixture of finalists, trained on all rows, and what cross-validation tells of it. What worked on a part of
    /// the rows may fail on all of them: then it is done without.
    fn trained(&self, mut finalists: Vec<Trial>) -> (Vec<(Member, Trial)>, Option<CrossValidated>) {
        let Trials { data, settings, memory, stop } = self.trials;
        // Whoever stops the search waits for one more training.
        let most = if stop.now().is_some() { 1 } else { settings.ensemble };
        let choose = |finalists: Vec<Trial>| match settings.ensemble {
            0 | 1 => cautious(best_alone(finalists.clone()), finalists),
            _ => cautious(mix(finalists.clone(), most), finalists),
        };
        let training = self.trials.training();
        let train = |(weight, trial): &(f64, Trial), threads: usize| {
            let training = Training { threads, ..training };
            train_again(&trial.candidate, trial.fitted.as_ref()?, *weight, data, training).ok()
        };
        loop {
            let mixture = choose(finalists.clone());
            let (at_a_time, threads) = settings.shares(mixture.len());
            let members: Vec<Option<Member>> = pool::map(at_a_time, &mixture, |chosen| train(chosen, threads), |_| ());
            let failed = |trial: &Trial| {
                let place = mixture.iter().position(|(_, member)| member.candidate == trial.candidate);
                place.is_some_and(|place| members[place].is_none())
            };
            let before = finalists.len();
            finalists.retain(|trial| !failed(trial));
            if finalists.len() == before {
                // Without scores there is still an answer.
                let validated = cross_validated(data, self.folds, memory, &finalists, choose, settings.seed);
                let trials = mixture.into_iter().map(|(_, trial)| trial);
                return (members.into_iter().flatten().zip(trials).collect(), validated.unwrap_or(None));
            }
        }
    }

    /// For rows too few to validate by, or where everything else failed.
    fn constant(&self) -> Result<(Member, Trial)> {
        let (candidate, flag) = (Candidate::from(Design::Constant), AtomicBool::new(false));
        let fitted = train(&candidate, self.trials.data, self.trials.training(), None, &Stop::by(&flag))?;
        let Some(fitted) = fitted else {
            return Err(Error::Empty { what: "models that could be trained", rows: 0, columns: 0 });
        };
        let tried = Tried { name: candidate.to_string(), steps: 0, folds: 0, mean_log_density: None, weight: 1.0 };
        let trial =
            Trial { candidate, tried, log_densities: Vec::new(), robust_log_densities: Vec::new(), fitted: None };
        Ok((Member::new(1.0, fitted), trial))
    }

    /// Models that were validated on all folds: plain GPs, with the data in several forms, and the better networks.
    fn finalists(&mut self) -> Vec<Trial> {
        let (rows, inputs) = (self.trials.data.x().rows(), self.trials.data.x().cols());
        if self.folds.is_empty() {
            return Vec::new();
        }
        let (first, n_first) = self.first_fold();
        let (task, has_exposure) = (self.trials.data.task(), !self.trials.data.info().exposure.is_empty());
        let First { plain, deep: networks } = First::of(task, rows, inputs, has_exposure);
        let mut finalists = self.try_on(self.folds, &plain, |trial| trial);
        let (indicated, indicators) = self.indicated(&finalists);
        finalists.extend(indicated);
        let warped = self.warped(&finalists, indicators);
        // Networks are dear: they get the data as the plain GPs like them, and only the better ones see the other
        // folds.
        let warp = warped.first().and_then(|best| best.candidate.form.warp);
        let gain = best(&warped, Trial::score) - best(&finalists, Trial::score);
        finalists.extend(warped);
        let (others, likelihood) = self.other_likelihoods(&finalists, indicators);
        finalists.extend(others);
        let networks: Vec<Candidate> = networks
            .into_iter()
            .map(|network| Candidate { likelihood: likelihood.unwrap_or(network.likelihood), ..network })
            .collect();
        // Transforms are for additive noise.
        let in_form_of_warp = |network: &Candidate| match network.likelihood {
            likelihood if likelihood.is_additive() || has_transforms(likelihood) => network.clone(),
            _ => Candidate { likelihood: LikelihoodChoice::Gaussian, ..network.clone() },
        };
        let warped_networks: Vec<Candidate> = match warp {
            Some(_) => networks.iter().map(in_form_of_warp).collect(),
            None => networks.clone(),
        };
        let mut of_first = self.try_on(first, &in_form(Form { warp, indicators }, &warped_networks), |trial| trial);
        // And with targets as they are, too, where that may still be the best: the best of them where plain GPs gain
        // much.
        let on_first = |trials: &[Trial]| best(trials, |trial| trial.score_on(n_first));
        if warp.is_some() && on_first(&of_first) > on_first(&finalists) - REACH_NATS {
            let is_additive = self.trials.data.task().default_likelihood().is_additive();
            let again = match leader(&of_first).filter(|_| gain >= REACH_NATS && is_additive) {
                Some(best) => vec![best.candidate.clone()],
                None => networks,
            };
            of_first.extend(self.try_on(first, &in_form(Form { warp: None, indicators }, &again), |trial| trial));
        }
        finalists.extend(self.best_on_all_folds(of_first, &finalists));
        self.grow(&mut finalists, first, n_first);
        self.vary(&mut finalists, first, n_first);
        finalists
    }

    /// The first fold, as a part of all, and its rows.
    fn first_fold(&self) -> (&'a [Fold], usize) {
        let first = &self.folds[..self.folds.len().min(1)];
        (first, first.iter().map(|fold| fold.constant.len()).sum())
    }

    /// The best plain GP with the task's own observation model, with others that suit its targets in that place; and the
    /// best of these if one pays.
    fn other_likelihoods(&mut self, plain: &[Trial], indicators: bool) -> (Vec<Trial>, Option<LikelihoodChoice>) {
        let own = self.trials.data.task().default_likelihood();
        let is_own = |trial: &&Trial| {
            let Candidate { form, likelihood, .. } = trial.candidate;
            !trial.candidate.is_baseline() && likelihood == own && form.indicators == indicators
        };
        let Some(best) = leader(plain.iter().filter(is_own)) else { return (Vec::new(), None) };
        let others = ALTERNATIVES.iter().filter(|(of, _)| *of == own).map(|(_, other)| *other);
        let rows = self.trials.data.x().rows();
        let candidates: Vec<Candidate> = others
            // What is known of the noise says nothing of a model without added noise.
            .filter(|likelihood| likelihood.is_additive() || self.trials.data.info().noise_std.is_empty())
            .map(|likelihood| best.candidate.with_likelihood(likelihood, rows))
            .filter(|candidate| self.suits(candidate))
            .collect();
        let (first, _) = self.first_fold();
        let of_first = self.try_on(first, &candidates, |trial| trial);
        let tried = self.best_on_all_folds(of_first, plain);
        let nats = if own.is_additive() { LEAST_FORM_GAIN } else { 0.0 };
        let better = leader(&tried)
            .filter(|other| is_gain(&best.robust_log_densities, &other.robust_log_densities, nats, LEAST_FORM_ERRORS));
        let likelihood = better.map(|trial| trial.candidate.likelihood);
        (tried, likelihood)
    }

    /// The plain GPs with indicators of inputs that take few values, and whether they pay for the best of them.
    fn indicated(&mut self, plain: &[Trial]) -> (Vec<Trial>, bool) {
        let form = Form { indicators: true, ..Form::default() };
        let whole = || plain.iter().filter(|trial| !trial.candidate.is_baseline());
        let candidates: Vec<Candidate> = whole().map(|trial| trial.candidate.clone()).collect();
        let candidates = in_form(form, &candidates);
        if !candidates.iter().all(|candidate| self.suits(candidate)) {
            return (Vec::new(), false);
        }
        let indicated = self.try_on(self.folds, &candidates, |trial| trial);
        let pays = leader(whole()).zip(leader(&indicated)).is_some_and(|(before, after)| pays(before, after));
        (indicated, pays)
    }

    /// The plain GPs with transformed targets, the best first, if a transform pays for the best of them.
    fn warped(&mut self, plain: &[Trial], indicators: bool) -> Vec<Trial> {
        let whole = |trial: &&Trial| {
            let Candidate { form, likelihood, .. } = trial.candidate;
            has_transforms(likelihood) && !trial.candidate.is_baseline() && form.indicators == indicators
        };
        let Some(best) = leader(plain.iter().filter(whole)) else { return Vec::new() };
        let forms = WarpKind::ALL.map(|kind| Form { warp: Some(kind), indicators });
        let with = |form| Candidate { form, ..best.candidate.clone() };
        let candidates: Vec<Candidate> =
            forms.into_iter().map(with).filter(|candidate| self.suits(candidate)).collect();
        let mut warped = self.try_on(self.folds, &candidates, |trial| trial);
        warped.retain(|trial| pays(best, trial));
        warped.sort_by(|a, b| b.score().total_cmp(&a.score()));
        warped.truncate(1);
        if let Some(Candidate { design, form: Form { warp, .. }, .. }) =
            warped.first().map(|trial| trial.candidate.clone())
        {
            // Baselines take no indicators.
            let others =
                plain.iter().map(|trial| &trial.candidate).filter(|other| has_transforms(other.likelihood)).filter(
                    |other| other.design != design && (other.is_baseline() || other.form.indicators == indicators),
                );
            let with = |other: &Candidate| Candidate { form: Form { warp, ..other.form }, ..other.clone() };
            warped.extend(self.try_on(self.folds, &others.map(with).collect::<Vec<_>>(), |trial| trial));
        }
        warped
    }

    /// Whether a candidate can take the rows of all folds, and all rows.
    fn suits(&self, candidate: &Candidate) -> bool {
        let mut all = self.folds.iter().map(|fold| &fold.train).chain([self.trials.data]);
        all.all(|data| matches!(candidate.data(data), Ok(Some(_))))
    }

    /// More inducing inputs for the best plain GP, if it is among the better models, and for the best network, as long
    /// as they pay; a plain GP may have [`ALLOWED_IDLE_DOUBLINGS`].
    fn grow(&mut self, finalists: &mut Vec<Trial>, first: &[Fold], n_first: usize) {
        let mut ranked = finalists.clone();
        ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let rows = self.trials.data.x().rows();
        let least = best(&ranked, Trial::score) - REACH_NATS;
        ranked.retain(|trial| trial.score() >= least && trial.candidate.grown(rows).is_some());
        let best_of = |is_plain: bool| ranked.iter().find(|trial| trial.candidate.is_plain() == is_plain).cloned();
        for mut last in [best_of(true), best_of(false)].into_iter().flatten() {
            let allowed = if last.candidate.is_closed() { ALLOWED_IDLE_DOUBLINGS } else { 0 };
            let mut growth = Growth { best: last.score(), idle_doublings: 0, allowed };
            while let Some(grown) = last.candidate.grown(rows).filter(|grown| self.work(grown) <= self.most_work()) {
                // What takes steps must be better on the first fold to see the others.
                let is_dear = !grown.is_closed() && self.folds.len() > 1;
                let folds = if is_dear { first } else { self.folds };
                let Some(mut next) = self.try_on(folds, &[grown], |trial| trial).pop() else { return };
                if is_dear {
                    if next.score_on(n_first) < last.score_on(n_first) + LEAST_GAIN {
                        break;
                    }
                    let Some(on_all) = self.on_all_folds(vec![next]).pop() else { return };
                    next = on_all;
                }
                finalists.push(next.clone());
                if !growth.goes_on(next.score()) {
                    break;
                }
                last = next;
            }
        }
    }

    /// Other powers for the best network, if it is a cheap one and not far behind: on the first fold, and those that
    /// are better there on all.
    fn vary(&mut self, finalists: &mut Vec<Trial>, first: &[Fold], n_first: usize) {
        let Some(best) = leader(finalists.iter().filter(|trial| !trial.candidate.is_plain())) else { return };
        if best.score() < leader(&*finalists).map_or(0.0, Trial::score) - REACH_NATS_OF_POWERS {
            return;
        }
        let others: Vec<Candidate> = POWERS.iter().filter_map(|&power| best.candidate.with_alpha(power)).collect();
        if others.iter().map(|other| self.work(other)).sum::<f64>() > self.most_work() {
            return;
        }
        let before = best.score_on(n_first);
        let mut better = self.try_on(first, &others, |trial| trial);
        better.retain(|trial| trial.score() > before);
        finalists.extend(self.on_all_folds(better));
    }

    /// The best of what was tried on the first fold, without those that are clearly behind the best there, on all folds.
    fn best_on_all_folds(&mut self, mut of_first: Vec<Trial>, finalists: &[Trial]) -> Vec<Trial> {
        if self.folds.len() == 1 {
            return of_first;
        }
        let (_, n_first) = self.first_fold();
        of_first.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let all = of_first.iter().chain(finalists);
        let Some(best) = all.max_by(|a, b| a.score_on(n_first).total_cmp(&b.score_on(n_first))).cloned() else {
            return of_first;
        };
        of_first.retain(|trial| !trial.is_behind(&best, n_first, LEAST_ERRORS_BEHIND));
        of_first.truncate(SURVIVORS);
        self.on_all_folds(of_first)
    }

    /// What was validated on the first fold, validated on the others as well; what is not finished when it is time to
    /// stop is left out.
    fn on_all_folds(&mut self, of_first: Vec<Trial>) -> Vec<Trial> {
        let others = &self.folds[1..];
        if others.is_empty() {
            return of_first;
        }
        let candidates: Vec<Candidate> = of_first.iter().map(|trial| trial.candidate.clone()).collect();
        let trials = self.trials;
        self.try_on(others, &candidates, |rest| {
            let first = of_first.iter().find(|trial| trial.candidate == rest.candidate).cloned();
            first.map_or(rest.clone(), |first| first.joined(rest, |mean| trials.in_units(mean)))
        })
    }

    /// Flops of a trial on all folds.
    fn work(&self, candidate: &Candidate) -> f64 {
        let (data, Training { evaluations, steps, .. }) = (self.trials.data, self.trials.training());
        let n_latent = data.start(candidate.likelihood).likelihood.n_latent();
        self.folds.len() as f64 * candidate.work(data.x().rows(), data.x().cols(), n_latent, evaluations, steps)
    }

    fn most_work(&self) -> f64 {
        MOST_WORK * self.trials.settings.effort
    }

    /// Tries candidates on folds, several at a time; in the order given. `complete` has the last word on a trial. What
    /// is not finished when it is time to stop is left out.
    fn try_on(
        &mut self,
        folds: &[Fold],
        candidates: &[Candidate],
        complete: impl Fn(Trial) -> Trial + Sync,
    ) -> Vec<Trial> {
        let (trials, on_tried) = (self.trials, &mut self.on_tried);
        let (at_a_time, threads) = trials.settings.shares(candidates.len());
        let one = |candidate: &Candidate| trials.one(candidate, folds, threads).map(&complete);
        let tell = |trial: &Option<Trial>| {
            if let Some(trial) = trial {
                on_tried(&trial.tried);
            }
        };
        let done: Vec<Trial> = pool::map(at_a_time, candidates, one, tell).into_iter().flatten().collect();
        self.tried.extend(done.iter().map(|trial| trial.tried.clone()));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::linalg::Mat;
    use std::sync::atomic::Ordering;

    #[test]
    fn growth_goes_on_while_it_pays_or_idle_doublings_are_allowed() {
        // Doublings that are taken before growth ends.
        let taken = |allowed: usize, scores: &[f64]| {
            let mut growth = Growth { best: -2.75, idle_doublings: 0, allowed };
            scores.iter().take_while(|score| growth.goes_on(**score)).count()
        };
        assert_eq!(taken(0, &[-2.70, -2.60, -2.599, -2.0]), 2);
        assert_eq!(taken(0, &[-2.748, -2.60]), 0);
        assert_eq!(taken(1, &[-2.748, -2.72, -2.65, -2.56]), 4);
        // Two in a row end it; what counts is the gain over the best before.
        assert_eq!(taken(1, &[-2.748, -2.746, -2.0]), 1);
        assert_eq!(taken(1, &[-2.70, -2.80, -2.699, -2.0]), 2);
        assert_eq!(taken(1, &[-2.70, f64::NEG_INFINITY, -2.60, -2.61, -2.50]), 5);
    }

    #[test]
    fn a_search_that_is_stopped_compares_models_by_the_same_rows() -> Result<()> {
        let x = Mat::from_fn(60, 1, |i, _| i as f64 / 10.0);
        let y = Mat::from_fn(60, 1, |i, _| (i as f64 / 10.0).sin());
        let data = StandardisedData::new(x, y)?;
        let settings = SearchSettings { effort: 0.02, ..SearchSettings::default() };
        let flag = AtomicBool::new(false);
        // After the first network on the first fold.
        let is_network = |tried: &Tried| tried.name.starts_with("deep");
        let found = search(&data, &settings, &Memory::default(), &Stop::by(&flag), &mut |tried| {
            if is_network(tried) {
                flag.store(true, Ordering::Relaxed);
            }
        })?;
        assert!(found.tried.iter().any(|t| is_network(t) && t.folds == 1));
        let validated_on_all = found.tried.iter().filter(|t| t.folds > 1).filter_map(|t| t.mean_log_density);
        let best = validated_on_all.fold(f64::NEG_INFINITY, f64::max);
        let chosen: Vec<&Tried> = found.tried.iter().filter(|t| t.weight > 0.0).collect();
        assert!(chosen.len() == 1 && chosen[0].folds > 1, "{:#?}", found.tried);
        assert_eq!(chosen[0].mean_log_density, Some(best));
        Ok(())
    }

    /// Stopped after so many trials and taken up again, through text, it gives what it would have given.
    #[test]
    fn a_search_can_be_taken_up_again() -> Result<()> {
        // The second input is a code, so that forms have to be remembered, too.
        let code = |i: usize| (i * 7 % 4) as f64;
        let x = Mat::from_fn(40, 2, |i, j| if j == 0 { (1.7 * i as f64).sin() } else { code(i) });
        let noise = |i: usize| 0.1 * (9.1 * i as f64).cos();
        let y = Mat::from_fn(40, 1, |i, _| (2.0 * x[(i, 0)]).sin() + (2.5 * code(i)).cos() + noise(i));
        let data = StandardisedData::new(x, y)?;
        let settings = SearchSettings { effort: 0.02, ..SearchSettings::default() };
        let unset = AtomicBool::new(false);
        let never = Stop::by(&unset);
        let whole = search(&data, &settings, &Memory::default(), &never, &mut |_| ())?;
        assert!(whole.tried.iter().any(|tried| tried.name.contains("indicators")));
        for trials in [1, 7] {
            let (memory, flag, mut count) = (Memory::default(), AtomicBool::new(false), 0);
            search(&data, &settings, &memory, &Stop::by(&flag), &mut |_| {
                count += 1;
                if count == trials {
                    flag.store(true, Ordering::Relaxed);
                }
            })?;
            let text = serde_json::to_string(&memory).expect("JSON");
            let memory: Memory = serde_json::from_str(&text).expect("a memory");
            let known = memory.len();
            assert!(known > 0);
            let found = search(&data, &settings, &memory, &never, &mut |_| ())?;
            assert_eq!(found.tried, whole.tried, "stopped after {trials}");
            assert!(
                found.members.iter().zip(&whole.members).all(|(a, b)| a.fitted == b.fitted && a.weight == b.weight)
            );
            // Another search is refused, and harms nothing.
            let other = SearchSettings { seed: 1, ..settings };
            assert!(matches!(search(&data, &other, &memory, &never, &mut |_| ()), Err(Error::OtherData { .. })));
            assert!(search(&data, &settings, &memory, &never, &mut |_| ()).is_ok());
        }
        Ok(())
    }
}
