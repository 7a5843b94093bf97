//! The search: halving, transforming, growing, and training what is left on all rows.

use crate::candidate::{Candidate, Design, Form, MOST_EXACT_ROWS};
use crate::folds::{Fold, folds};
use crate::memory::Memory;
use crate::stack::{best_alone, cautious, is_gain, log_densities, mix};
use crate::trial::{Training, Trial, judge, train, train_again};
use deepgp::Fitted;
use deepgp::{Error, Result};
use deepgp_task::WarpKind;
use deepgp_task::{Config, Judged, Member, Model, Prepared, Tried};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Steps of a network, for few rows and for many, and evaluations of a GP's evidence, at full effort.
const STEPS: [f64; 2] = [2000.0, 5000.0];
const EVALUATIONS: f64 = 40.0;
/// Deep GPs that come through the first fold, besides the plain GPs.
const SURVIVORS: usize = 2;
/// The most flops of a trial with more inducing inputs, at full effort: about half a minute.
const MOST_WORK: f64 = 2.2e12;
/// Nats per row by which a model may be behind the best and still be tried in other forms.
const REACH: f64 = 0.25;
/// The same for networks that are tried with other powers, which gain less.
const REACH_OF_POWERS: f64 = 0.1;
/// Nats per row that more inducing inputs must gain to be worth it.
const LEAST_GAIN: f64 = 0.005;
/// Doublings in a row by which a plain GP may gain less before it stops growing. The first has fewer evaluations than what it starts
/// from, and may gain nothing where later ones gain much.
const SECOND_CHANCES: usize = 1;
/// Nats per row, and standard errors of them, that another form of the data must gain a plain GP to be tried further.
const LEAST_FORM_GAIN: f64 = 0.01;
const LEAST_FORM_ERRORS: f64 = 1.0;
/// Powers that the best network is tried with.
const POWERS: [f64; 2] = [0.2, 0.8];

/// Settings of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    /// Multiplies all numbers of steps.
    pub effort: f64,
    /// Most models in the mixture besides constant and linear ones; 1 for the best alone.
    pub ensemble: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Trials at a time; the result does not depend on it.
    pub threads: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { effort: 1.0, ensemble: 5, seed: 0, threads: 1 }
    }
}

impl SearchSettings {
    /// Does work on the threads that there may be.
    fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match rayon::ThreadPoolBuilder::new().num_threads(self.threads.max(1)).build() {
            // From a thread of its own: one of a caller's pool would take up other jobs of that pool while it waits, other
            // searches among them, and hold all of them at once.
            Ok(pool) => std::thread::scope(|scope| {
                let done = scope.spawn(|| pool.install(work)).join();
                done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }),
            // Threads can be refused; the work can be done without.
            Err(_) => work(),
        }
    }

    /// How models of so many rows are trained.
    fn training(&self, rows: usize) -> Training {
        let times = |count: f64, least: f64| (count * self.effort).ceil().max(least) as usize;
        let steps = STEPS[usize::from(rows > MOST_EXACT_ROWS)];
        Training { steps: times(steps, 20.0), evaluations: times(EVALUATIONS, 10.0), seed: self.seed }
    }
}

/// Trains one design on all rows, as the search trains what it tries: to compare with. Nothing if `stop` was set.
///
/// # Errors
/// What the data are refused for, or why the design cannot be trained.
pub fn fit_design(
    design: &Design,
    data: &Prepared,
    settings: &SearchSettings,
    stop: &AtomicBool,
) -> Result<Option<(Fitted, Config)>> {
    let training = settings.training(data.x().rows());
    let fitted = settings.on_threads(|| train(design, data, training, None, stop))?;
    Ok(fitted.map(|fitted| (fitted, design.config(data.x().rows(), training.steps, settings.seed))))
}

/// The answer of a search.
#[derive(Debug)]
pub struct Found {
    /// The models and their weights, trained on all rows.
    pub members: Vec<Member>,
    /// The configuration of the heaviest.
    pub config: Config,
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
    /// How the mixture did, before the last training, on the rows that models were judged by.
    pub judged: Option<Judged>,
}

impl Found {
    /// The model in the data's own units.
    ///
    /// # Errors
    /// As [`Model::mixture`].
    pub fn model(&self, data: &Prepared) -> Result<Model> {
        Model::mixture(data.inputs().clone(), data.targets().clone(), self.members.clone())
    }
}

/// Searches on prepared rows. `watch` is told of everything that is tried. Once `stop` is set the search ends, and the answer is
/// the best model so far; with what is in `memory` by then it can be taken up again.
///
/// # Errors
/// What the data are refused for; [`Error::Empty`] if no candidate could be trained at all; [`Error::OtherData`] for the memory
/// of another search.
pub fn fit(
    data: &Prepared,
    settings: &SearchSettings,
    memory: &Memory,
    stop: &AtomicBool,
    watch: &(dyn Fn(&Tried) + Sync),
) -> Result<Found> {
    memory.bind(data, settings)?;
    let search =
        Search { memory, folds: folds(data, settings.seed)?, data, settings, watch, stop, tried: Mutex::default() };
    settings.on_threads(|| search.answer())
}

fn best(trials: &[Trial], score: impl Fn(&Trial) -> f64) -> f64 {
    trials.iter().map(score).fold(f64::NEG_INFINITY, f64::max)
}

/// The best of some trials, by their scores.
fn leader<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<&'a Trial> {
    trials.into_iter().max_by(|a, b| a.score().total_cmp(&b.score()))
}

fn in_form(form: Form, designs: impl IntoIterator<Item = Design>) -> Vec<Candidate> {
    designs.into_iter().map(|design| Candidate { design, form }).collect()
}

/// Whether a model does better with the data in another form.
fn pays(before: &Trial, after: &Trial) -> bool {
    is_gain(&before.guarded, &after.guarded, LEAST_FORM_GAIN, LEAST_FORM_ERRORS)
}

/// How the growth of a model has gone so far.
struct Growth {
    /// The best score.
    best: f64,
    /// Doublings in a row that gained too little, and how many of them are forgiven.
    idle: usize,
    chances: usize,
}

impl Growth {
    /// Whether another doubling is worth trying after one with this score.
    fn goes_on(&mut self, score: f64) -> bool {
        self.idle = if score < self.best + LEAST_GAIN { self.idle + 1 } else { 0 };
        self.best = self.best.max(score);
        self.idle <= self.chances
    }
}

/// What the stages share.
struct Search<'a> {
    data: &'a Prepared,
    folds: Vec<Fold>,
    settings: &'a SearchSettings,
    memory: &'a Memory,
    watch: &'a (dyn Fn(&Tried) + Sync),
    stop: &'a AtomicBool,
    tried: Mutex<Vec<Tried>>,
}

impl Search<'_> {
    fn answer(self) -> Result<Found> {
        let (mut trained, judged) = self.trained(self.finalists());
        let judged = judged.map(|judged| Judged { mean_log_density: self.in_units(judged.mean_log_density), ..judged });
        if trained.is_empty() {
            trained.push(self.unjudged()?);
        }
        let (rows, Training { steps, seed, .. }) = (self.data.x().rows(), self.training());
        let config = trained[0].1.candidate.design.config(rows, steps, seed);
        let mut tried = self.tried.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (member, trial) in &trained {
            match tried.iter_mut().rev().find(|entry| **entry == trial.tried) {
                Some(entry) => entry.weight = member.weight,
                None => tried.push(Tried { weight: member.weight, ..trial.tried.clone() }),
            }
        }
        let members = trained.into_iter().map(|(member, _)| member).collect();
        Ok(Found { members, config, tried, judged })
    }

    /// The mixture of finalists, trained on all rows, and how it did before. What worked on a part of the rows may fail on all of
    /// them: then it is done without.
    fn trained(&self, mut finalists: Vec<Trial>) -> (Vec<(Member, Trial)>, Option<Judged>) {
        // Whoever stops the search waits for one more training.
        let most = if self.is_stopped() { 1 } else { self.settings.ensemble };
        let choose = |finalists: Vec<Trial>| match self.settings.ensemble {
            0 | 1 => best_alone(finalists),
            _ => mix(finalists, most),
        };
        let train = |(weight, trial): &(f64, Trial)| {
            train_again(&trial.candidate, trial.fitted.as_ref()?, *weight, self.data, self.training()).ok()
        };
        loop {
            let mixture = cautious(choose(finalists.clone()), finalists.clone());
            let members: Vec<Option<Member>> = mixture.par_iter().map(train).collect();
            let failed = |trial: &Trial| {
                let place = mixture.iter().position(|(_, member)| member.candidate == trial.candidate);
                place.is_some_and(|place| members[place].is_none())
            };
            let before = finalists.len();
            finalists.retain(|trial| !failed(trial));
            if finalists.len() == before {
                let judged = Judged::of(&log_densities(&mixture));
                let trials = mixture.into_iter().map(|(_, trial)| trial);
                return (members.into_iter().flatten().zip(trials).collect(), judged);
            }
        }
    }

    /// For rows too few to judge by, or where everything else failed: the constant.
    fn unjudged(&self) -> Result<(Member, Trial)> {
        let design = Design::Constant;
        let fitted = train(&design, self.data, self.training(), None, &AtomicBool::new(false))?;
        let Some(fitted) = fitted else {
            return Err(Error::Empty { what: "models that could be trained", rows: 0, columns: 0 });
        };
        let tried = Tried { name: design.to_string(), steps: 0, folds: 0, mean_log_density: None, weight: 1.0 };
        let trial =
            Trial { candidate: design.into(), tried, log_densities: Vec::new(), guarded: Vec::new(), fitted: None };
        Ok((Member::new(1.0, fitted), trial))
    }

    fn training(&self) -> Training {
        self.settings.training(self.data.x().rows())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Models that were judged by all folds: plain GPs, with the data in several forms, and the better networks.
    fn finalists(&self) -> Vec<Trial> {
        let (rows, inputs) = (self.data.x().rows(), self.data.x().cols());
        let Some((first, _)) = self.folds.split_at_checked(1) else { return Vec::new() };
        let (plain, networks): (Vec<Design>, Vec<Design>) =
            Design::first(rows, inputs).into_iter().partition(Design::is_plain);
        let mut finalists = self.try_on(&self.folds, &in_form(Form::default(), plain), |trial| trial);
        let (indicated, indicators) = self.indicated(&finalists);
        finalists.extend(indicated);
        let warped = self.warped(&finalists, indicators);
        // Networks are dear: they get the data as the plain GPs like them, and only the better ones see the other folds.
        let warp = warped.first().and_then(|best| best.candidate.form.warp);
        let gain = best(&warped, Trial::score) - best(&finalists, Trial::score);
        finalists.extend(warped);
        let mut of_first = self.try_on(first, &in_form(Form { warp, indicators }, networks.clone()), |trial| trial);
        // And with targets as they are, too, where that may still be the best: the best of them where plain GPs gain much.
        let judges = first.iter().map(|fold| fold.judge.0.rows()).sum();
        let on_first = |trials: &[Trial]| best(trials, |trial| trial.score_on(judges));
        if warp.is_some() && on_first(&of_first) > on_first(&finalists) - REACH {
            let again = match leader(&of_first).filter(|_| gain >= REACH) {
                Some(best) => vec![best.candidate.design.clone()],
                None => networks,
            };
            of_first.extend(self.try_on(first, &in_form(Form { warp: None, indicators }, again), |trial| trial));
        }
        of_first.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let least = on_first(&finalists) - REACH;
        let survivors = of_first.iter().filter(|trial| trial.score() >= least).take(SURVIVORS);
        finalists.extend(self.on_all_folds(survivors.cloned().collect()));
        self.grow(&mut finalists);
        self.vary(&mut finalists, first, judges);
        finalists
    }

    /// The plain GPs with indicators of inputs that take few values, and whether they pay for the best of them.
    fn indicated(&self, plain: &[Trial]) -> (Vec<Trial>, bool) {
        let form = Form { indicators: true, ..Form::default() };
        let whole = || plain.iter().filter(|trial| !trial.candidate.is_floor());
        if !self.suits(form) {
            return (Vec::new(), false);
        }
        let designs = whole().map(|trial| trial.candidate.design.clone());
        let indicated = self.try_on(&self.folds, &in_form(form, designs), |trial| trial);
        let pays = leader(whole()).zip(leader(&indicated)).is_some_and(|(before, after)| pays(before, after));
        (indicated, pays)
    }

    /// The plain GPs with transformed targets, the best first, if a transform pays for the best of them.
    fn warped(&self, plain: &[Trial], indicators: bool) -> Vec<Trial> {
        let whole = |trial: &&Trial| !trial.candidate.is_floor() && trial.candidate.form.indicators == indicators;
        let Some(best) = leader(plain.iter().filter(whole)) else { return Vec::new() };
        let forms = WarpKind::ALL.map(|kind| Form { warp: Some(kind), indicators });
        let with = |form| Candidate { form, ..best.candidate.clone() };
        let candidates: Vec<Candidate> = forms.into_iter().filter(|form| self.suits(*form)).map(with).collect();
        let mut warped = self.try_on(&self.folds, &candidates, |trial| trial);
        warped.retain(|trial| pays(best, trial));
        warped.sort_by(|a, b| b.score().total_cmp(&a.score()));
        warped.truncate(1);
        if let Some(Candidate { design, form: Form { warp, .. } }) = warped.first().map(|trial| trial.candidate.clone())
        {
            // Floors know no indicators.
            let others = plain
                .iter()
                .map(|trial| &trial.candidate)
                .filter(|other| other.design != design && (other.is_floor() || other.form.indicators == indicators));
            let with = |other: &Candidate| Candidate { form: Form { warp, ..other.form }, ..other.clone() };
            warped.extend(self.try_on(&self.folds, &others.map(with).collect::<Vec<_>>(), |trial| trial));
        }
        warped
    }

    /// Whether a form suits the rows of all folds, and all rows.
    fn suits(&self, form: Form) -> bool {
        let mut all = self.folds.iter().map(|fold| &fold.train).chain([self.data]);
        all.all(|data| matches!(form.of(data), Ok(Some(_))))
    }

    /// More inducing inputs for the best plain GP, if it is among the better models, and for the best network, as long as they pay;
    /// a plain GP gets [`SECOND_CHANCES`].
    fn grow(&self, finalists: &mut Vec<Trial>) {
        let mut ranked = finalists.clone();
        ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let rows = self.data.x().rows();
        let least = best(&ranked, Trial::score) - REACH;
        ranked.retain(|trial| trial.score() >= least && trial.candidate.grown(rows).is_some());
        let best_of = |is_plain: bool| ranked.iter().find(|trial| trial.candidate.is_plain() == is_plain).cloned();
        for mut last in [best_of(true), best_of(false)].into_iter().flatten() {
            let chances = if last.candidate.is_plain() { SECOND_CHANCES } else { 0 };
            let mut growth = Growth { best: last.score(), idle: 0, chances };
            while let Some(grown) = last.candidate.grown(rows).filter(|grown| self.work(grown) <= self.most_work()) {
                let Some(next) = self.try_on(&self.folds, &[grown], |trial| trial).pop() else { return };
                finalists.push(next.clone());
                if !growth.goes_on(next.score()) {
                    break;
                }
                last = next;
            }
        }
    }

    /// Other powers for the best network, if it is a cheap one and not far behind: on the first fold, and those that are better
    /// there on all.
    fn vary(&self, finalists: &mut Vec<Trial>, first: &[Fold], judges: usize) {
        let Some(best) = leader(finalists.iter().filter(|trial| !trial.candidate.is_plain())) else { return };
        if best.score() < leader(&*finalists).map_or(0.0, Trial::score) - REACH_OF_POWERS {
            return;
        }
        let others: Vec<Candidate> = POWERS.iter().filter_map(|&power| best.candidate.with_alpha(power)).collect();
        if others.iter().map(|other| self.work(other)).sum::<f64>() > self.most_work() {
            return;
        }
        let before = best.score_on(judges);
        let mut better = self.try_on(first, &others, |trial| trial);
        better.retain(|trial| trial.score() > before);
        finalists.extend(self.on_all_folds(better));
    }

    /// What was judged by the first fold, judged by the others as well; what is not finished when the search is stopped is left
    /// out.
    fn on_all_folds(&self, of_first: Vec<Trial>) -> Vec<Trial> {
        let others = &self.folds[1..];
        if others.is_empty() {
            return of_first;
        }
        let candidates: Vec<Candidate> = of_first.iter().map(|trial| trial.candidate.clone()).collect();
        self.try_on(others, &candidates, |rest| {
            let first = of_first.iter().find(|trial| trial.candidate == rest.candidate).cloned();
            first.map_or(rest.clone(), |first| first.joined(rest, |mean| self.in_units(mean)))
        })
    }

    /// Flops of a trial on all folds.
    fn work(&self, candidate: &Candidate) -> f64 {
        let (x, Training { steps, evaluations, .. }) = (self.data.x(), self.training());
        self.folds.len() as f64 * candidate.design.work(x.rows(), x.cols(), evaluations, steps)
    }

    fn most_work(&self) -> f64 {
        MOST_WORK * self.settings.effort
    }

    /// A log density of standardised targets in their own units.
    fn in_units(&self, log_density: f64) -> f64 {
        self.data.targets().invert_log_density(log_density)
    }

    /// Tries candidates on folds, several at a time; in the order given. `complete` has the last word on a trial. What was
    /// begun when the search is stopped is left out.
    fn try_on(&self, folds: &[Fold], candidates: &[Candidate], complete: impl Fn(Trial) -> Trial + Sync) -> Vec<Trial> {
        let one = |candidate: &Candidate| {
            if self.is_stopped() {
                return None;
            }
            let unit = |mean| self.in_units(mean);
            let trial = complete(judge(candidate, folds, self.training(), self.memory, unit, self.stop)?);
            (self.watch)(&trial.tried);
            Some(trial)
        };
        let trials: Vec<Trial> = candidates.par_iter().filter_map(one).collect();
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.extend(trials.iter().map(|trial| trial.tried.clone()));
        trials
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::linalg::Mat;

    #[test]
    fn growth_goes_on_while_it_pays_and_forgives_as_often_as_it_may() {
        // Doublings that are taken before growth ends.
        let taken = |chances: usize, scores: &[f64]| {
            let mut growth = Growth { best: -2.75, idle: 0, chances };
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
        let data = Prepared::new(x, y)?;
        let settings = SearchSettings { effort: 0.02, ..SearchSettings::default() };
        let stop = AtomicBool::new(false);
        // After the first network on the first fold.
        let is_network = |tried: &Tried| tried.name.starts_with("deep");
        let found = fit(&data, &settings, &Memory::default(), &stop, &|tried| {
            if is_network(tried) {
                stop.store(true, Ordering::Relaxed);
            }
        })?;
        assert!(found.tried.iter().any(|t| is_network(t) && t.folds == 1));
        let judged_by_all = found.tried.iter().filter(|t| t.folds > 1).filter_map(|t| t.mean_log_density);
        let best = judged_by_all.fold(f64::NEG_INFINITY, f64::max);
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
        let data = Prepared::new(x, y)?;
        let settings = SearchSettings { effort: 0.02, ..SearchSettings::default() };
        let never = AtomicBool::new(false);
        let whole = fit(&data, &settings, &Memory::default(), &never, &|_| ())?;
        assert!(whole.tried.iter().any(|tried| tried.name.contains("indicators")));
        for trials in [1, 7] {
            let (memory, stop, count) =
                (Memory::default(), AtomicBool::new(false), std::sync::atomic::AtomicUsize::new(1));
            fit(&data, &settings, &memory, &stop, &|_| {
                if count.fetch_add(1, Ordering::Relaxed) == trials {
                    stop.store(true, Ordering::Relaxed);
                }
            })?;
            let text = serde_json::to_string(&memory).expect("JSON");
            let memory: Memory = serde_json::from_str(&text).expect("a memory");
            let known = memory.len();
            assert!(known > 0);
            let found = fit(&data, &settings, &memory, &never, &|_| ())?;
            assert_eq!(found.tried, whole.tried, "stopped after {trials}");
            assert!(
                found.members.iter().zip(&whole.members).all(|(a, b)| a.fitted == b.fitted && a.weight == b.weight)
            );
            // Another search is refused, and harms nothing.
            let other = SearchSettings { seed: 1, ..settings };
            assert!(matches!(fit(&data, &other, &memory, &never, &|_| ()), Err(Error::OtherData { .. })));
            assert!(fit(&data, &settings, &memory, &never, &|_| ()).is_ok());
        }
        Ok(())
    }
}
