//! One run: train on the training part of a split, score on its test part.

use crate::error::Result;
use crate::record::{Course, RunResult};
use crate::task::Parts;
use deepgp::infer::Event;
use deepgp::train::{Progress, Termination};
use deepgp_task::{Baselines, Config, Linear, LinearModel, ScoreTally, Scores, StandardisedData, Task};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Values of the energy that a record keeps.
const COURSE_POINTS: usize = 10;

/// Trains and scores; with the seconds of training. Nothing if `stop` was set meanwhile.
///
/// # Errors
/// What data or configuration are refused for.
pub fn run(parts: &Parts, config: &Config, stop: &AtomicBool) -> Result<Option<(RunResult, f64)>> {
    let (x, y) = &parts.train;
    let data = StandardisedData::for_task(parts.task, x.clone(), y.clone())?;
    let likelihood = match parts.task.likelihoods().contains(&config.likelihood) {
        true => config.likelihood,
        false => parts.task.default_likelihood(),
    };
    let config = &Config { likelihood, ..config.clone() };
    let coded = if data.is_for(likelihood)? { None } else { Some(data.clone().for_likelihood(likelihood)?) };
    let (plain, data) = (&data, coded.as_ref().unwrap_or(&data));
    let mut trainer = data.trainer(config)?;
    let (mut course, every) = (Course::default(), config.train.iterations.div_ceil(COURSE_POINTS).max(1));
    let started = Instant::now();
    let outcome = trainer.run(&mut |p: &Progress<'_>| {
        if p.mean_energy.is_finite() {
            if 10 * p.step > p.iterations && course.lowest.is_none_or(|lowest| p.mean_energy < lowest) {
                course.lowest = Some(p.mean_energy);
            }
            if p.step.is_multiple_of(every) {
                course.points.push((p.step, p.mean_energy));
            }
        }
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let seconds = started.elapsed().as_secs_f64();
    if outcome.termination == Termination::Stopped {
        return Ok(None);
    }
    course.last = Some(outcome.energy).filter(|energy| energy.is_finite());
    let mut events = BTreeMap::new();
    for (_, event) in &outcome.events {
        *events.entry(kind(event)).or_insert(0) += 1;
    }
    let factor_bytes = trainer.state().bytes();
    let model = data.model(trainer.fitted())?;
    let scores = Some(model.score(&parts.test.0, &parts.test.1)?).filter(Scores::is_finite);
    let result = RunResult {
        scores,
        baselines: baseline_scores(plain, parts)?,
        termination: outcome.termination,
        steps: outcome.steps,
        energy: course,
        events,
        n_events: outcome.n_events,
        factor_bytes,
    };
    Ok(Some((result, seconds)))
}

/// Scores of a constant and of a linear model on the same rows, where they are finite.
pub(crate) fn baseline_scores(data: &StandardisedData, parts: &Parts) -> Result<Vec<(String, Scores)>> {
    // Records keep the linear model that the first of them had.
    let linear = match parts.task {
        Task::Regression => LinearModel::least_squares(data)?.map(Linear::Plain),
        _ => Linear::fit(data)?,
    };
    let (x, y) = &parts.test;
    let mut all = Vec::new();
    for (name, predictive) in Baselines::of(data, linear.as_ref()).predictive(x)? {
        let mut tally = ScoreTally::new();
        tally.add(&predictive, y)?;
        all.push((name.to_owned(), tally.scores()?));
    }
    all.retain(|(_, scores)| scores.is_finite());
    Ok(all)
}

/// The name of an event's kind, as it stands in JSON.
fn kind(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    value.get("event").and_then(|name| name.as_str()).unwrap_or("other").to_owned()
}
