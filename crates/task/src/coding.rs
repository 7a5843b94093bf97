//! How a network sees outcomes that are no standardised numbers, such as labels, counts and positive numbers.

use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// What outcomes are, and with it what becomes of their probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Any number: its density is that of the network's number but for the unit.
    Density,
    /// One of few numbers, and so is the network's: both have the same probability.
    Labels,
    /// Whole numbers from 0 on, where the network predicts any number: each has the probability of its cell.
    Cells {
        /// How many there are; nothing if there is no last one.
        count: Option<usize>,
    },
}

/// t = (u − a)/b.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Coding {
    /// a.
    pub shift: f64,
    /// b > 0.
    pub scale: f64,
    /// What u is.
    pub outcome: Outcome,
}

impl Coding {
    /// Labels 0 and 1 as the signs −1 and +1.
    pub const SIGNS: Self = Self { shift: 0.5, scale: 0.5, outcome: Outcome::Labels };

    /// t of u.
    pub fn encode(&self, u: f64) -> f64 {
        (u - self.shift) / self.scale
    }

    /// u of t.
    pub fn decode(&self, t: f64) -> f64 {
        self.shift + self.scale * t
    }

    /// The outcome that a drawn t stands for: of cells the whole number.
    pub fn outcome_of(&self, t: f64) -> f64 {
        let u = self.decode(t);
        match self.outcome {
            Outcome::Cells { .. } => u.round().clamp(0.0, self.last()),
            Outcome::Density | Outcome::Labels => u,
        }
    }

    /// log b, where u has a density.
    pub fn log_width(&self) -> f64 {
        if self.outcome == Outcome::Density { self.scale.ln() } else { 0.0 }
    }

    /// The last whole number, infinite if there is none.
    pub fn last(&self) -> f64 {
        match self.outcome {
            Outcome::Cells { count: Some(count) } => count as f64 - 1.0,
            _ => f64::INFINITY,
        }
    }

    /// Checks one that came from a file.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub fn check(&self) -> Result<()> {
        let error = |name, value, requirement| Error::Parameter { name, layer: None, entry: None, value, requirement };
        if !self.shift.is_finite() {
            return Err(error("shift of a code", self.shift, "it must be finite"));
        }
        if !(self.scale > 0.0 && self.scale.is_finite()) {
            return Err(error("scale of a code", self.scale, "it must be positive and finite"));
        }
        match self.outcome {
            Outcome::Cells { count: Some(0) } => Err(error("cells of a code", 0.0, "there must be one")),
            _ => Ok(()),
        }
    }

    /// Replaces outcomes by what a network sees, column by column alike.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with row and column for a number that does not stay finite.
    pub fn apply(&self, outcomes: &mut Mat) -> Result<()> {
        for row in 0..outcomes.rows() {
            for (column, entry) in outcomes.row_mut(row).iter_mut().enumerate() {
                let before = *entry;
                *entry = self.encode(before);
                if entry.is_infinite() || (entry.is_nan() && !before.is_nan()) {
                    return Err(Error::NotFinite { what: "targets", row, column, value: *entry });
                }
            }
        }
        Ok(())
    }
}
