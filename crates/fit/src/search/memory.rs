//! What a search has found out so far, so that it can be interrupted and taken up again.

use super::candidate::{Candidate, Design, Form};
use super::folds::Fold;
use super::settings::SearchSettings;
use deepgp::Fitted;
use deepgp::train::Fingerprint;
use deepgp::{Error, Result};
use deepgp_task::{LikelihoodChoice, StandardisedData, Task};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Results so far. A search that is given the memory of an interrupted one does not repeat what is in it, and comes to
/// the same answer as if nothing had happened.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    inner: Mutex<Inner>,
}

/// Raised whenever trials come to other results.
const VERSION: u32 = 4;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Inner {
    /// The version of the program that made the entries.
    #[serde(default)]
    version: u32,
    origin: Option<Origin>,
    entries: Vec<Entry>,
}

/// What results depend on besides the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Origin {
    data: Fingerprint,
    #[serde(default)]
    task: Task,
    effort: f64,
    seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "candidate")]
    design: Design,
    #[serde(flatten)]
    form: Form,
    #[serde(default, skip_serializing_if = "is_gaussian")]
    likelihood: LikelihoodChoice,
    fold: usize,
    /// Nothing if the candidate could not be trained.
    result: Option<FoldResult>,
}

fn is_gaussian(likelihood: &LikelihoodChoice) -> bool {
    *likelihood == LikelihoodChoice::Gaussian
}

impl Entry {
    fn is_of(&self, candidate: &Candidate, fold: &Fold) -> bool {
        // A file can say anything.
        let fits = |result: &FoldResult| result.log_densities.len() == fold.constant.len() && result.fitted.is_some();
        self.is_for(candidate) && self.fold == fold.index && self.result.as_ref().is_none_or(fits)
    }

    fn is_for(&self, candidate: &Candidate) -> bool {
        (&self.design, self.form, self.likelihood) == (&candidate.design, candidate.form, candidate.likelihood)
    }
}

/// What a candidate showed on one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoldResult {
    /// Log densities of the fold's validation rows.
    pub log_densities: Vec<f64>,
    /// The model, without factors where they are known in closed form. Earlier versions kept that of the first fold
    /// alone.
    pub fitted: Option<Fitted>,
}

impl Memory {
    /// Binds an empty memory to data and settings, as [`crate::search::search`] does.
    ///
    /// # Errors
    /// [`Error::OtherData`] if it belongs to others.
    pub fn bind(&self, data: &StandardisedData, settings: &SearchSettings) -> Result<()> {
        let fingerprint = Fingerprint::of(data.rows());
        let origin = Origin { data: fingerprint, task: data.task(), effort: settings.effort, seed: settings.seed };
        let mut inner = self.lock();
        if inner.version != VERSION {
            // What another version found out, this one finds out again.
            inner.entries.clear();
            inner.version = VERSION;
        }
        match inner.origin.replace(origin) {
            Some(other) if other != origin => {
                inner.origin = Some(other);
                Err(Error::OtherData { expected: other.data.hash, found: origin.data.hash })
            }
            _ => Ok(()),
        }
    }

    /// What is known of a candidate on a fold: nothing, that it failed, or its result.
    pub(crate) fn recall(&self, candidate: &Candidate, fold: &Fold) -> Option<Option<FoldResult>> {
        self.lock().entries.iter().find(|entry| entry.is_of(candidate, fold)).map(|entry| entry.result.clone())
    }

    /// Whether anything is known of a candidate on a fold.
    pub(crate) fn knows(&self, candidate: &Candidate, fold: &Fold) -> bool {
        self.lock().entries.iter().any(|entry| entry.is_of(candidate, fold))
    }

    pub(crate) fn remember(&self, candidate: &Candidate, fold: &Fold, result: Option<FoldResult>) {
        let Candidate { design, form, likelihood } = candidate.clone();
        self.lock().entries.push(Entry { design, form, likelihood, fold: fold.index, result });
    }

    /// Trainings that need not be repeated.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
