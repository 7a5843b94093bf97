//! Names of the columns that belong to rows beside inputs and targets, as a schema keeps them.

use super::roles::Roles;
use crate::error::{Error, Result};
use crate::moment::DateOrder;
use serde::{Deserialize, Serialize};

/// Names of the columns that belong to rows, by their roles.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoleColumns {
    /// How many rows a row counts as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Rows of one value stay together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// When a row was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How the dates of `time` are written, if they need an order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_order: Option<DateOrder>,
    /// What a count is in proportion to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// The known standard deviation of the target's noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_std: Option<String>,
    /// Whether the target is only a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored: Option<String>,
    /// What the target is at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<String>,
    /// What the target is at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<String>,
    /// Columns that are carried through to the predictions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

impl RoleColumns {
    /// The columns that `roles` names.
    ///
    /// # Errors
    /// [`Error::TwoRoles`] if one column is to be two of target, weight, exposure, noise, mark of censoring and bound
    /// (a bound may be the target), or a target is both censored by a column and by bounds; [`Error::SeveralTargets`].
    pub(super) fn choose(roles: &Roles) -> Result<Self> {
        let chosen = Self {
            weight: roles.weight.clone(),
            group: roles.group.clone(),
            time: roles.time.clone(),
            time_order: None,
            exposure: roles.exposure.clone(),
            noise_std: roles.noise_std.clone(),
            censored: roles.censored.clone(),
            lower: roles.lower.clone(),
            upper: roles.upper.clone(),
            keep: roles.keep.clone(),
        };
        let values = [
            (&chosen.weight, "weight"),
            (&chosen.exposure, "exposure"),
            (&chosen.noise_std, "standard deviation of the noise"),
            (&chosen.censored, "mark of censoring"),
            (&chosen.lower, "lower bound"),
            (&chosen.upper, "upper bound"),
        ];
        let clash = |name: &str, first: &str, second: &str| {
            Err(Error::TwoRoles { name: name.to_owned(), roles: format!("{first} and {second}") })
        };
        for (i, (name, role)) in values.iter().enumerate() {
            let Some(name) = name else { continue };
            if let Some((_, other)) = values[..i].iter().find(|(other, _)| other.as_ref() == Some(name)) {
                return clash(name, other, role);
            }
            if roles.targets.contains(name) && !role.ends_with("bound") {
                return clash(name, "target", role);
            }
        }
        if chosen.is_bounded() && roles.targets.len() > 1 {
            let what = if chosen.censored.is_some() { "a mark of censoring" } else { "a bound" };
            return Err(Error::SeveralTargets { what });
        }
        match &chosen.censored {
            Some(name) if chosen.has_bounds() => clash(name, "mark of censoring", "a target with bounds"),
            _ => Ok(chosen),
        }
    }

    /// Whether a target may be known by bounds, or be one.
    pub(super) fn is_bounded(&self) -> bool {
        self.censored.is_some() || self.has_bounds()
    }

    /// Whether no column has a role.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the target may be known by bounds.
    pub(super) fn has_bounds(&self) -> bool {
        self.lower.is_some() || self.upper.is_some()
    }

    /// Columns that only training and scoring read.
    pub(super) fn of_training(&self) -> impl Iterator<Item = &String> {
        [&self.weight, &self.group, &self.time, &self.censored, &self.lower, &self.upper].into_iter().flatten()
    }

    /// Every name, one of them several times if its column has several roles.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.of_training().chain([&self.exposure, &self.noise_std].into_iter().flatten()).chain(&self.keep)
    }
}
