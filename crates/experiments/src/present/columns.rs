//! Columns of tables: those of our records and those that others have published.

use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::published::Published;
use crate::results::Column;
use crate::stats::Summary;
use deepgp_report::plot::minus;
use std::str::FromStr;

/// What stands after the ±.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// The standard error of the mean.
    #[default]
    Se,
    /// The sample standard deviation.
    Sd,
}

impl Spread {
    /// The spread of a summary; none if it has fewer than two values.
    pub(super) fn of(self, summary: &Summary) -> Option<f64> {
        match self {
            Self::Se => summary.se,
            Self::Sd => summary.sd,
        }
    }

    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Se => "standard error",
            Self::Sd => "sample standard deviation",
        }
    }
}

impl FromStr for Spread {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "se" => Ok(Self::Se),
            "sd" => Ok(Self::Sd),
            _ => Err(Error::Unknown { what: "spread", name: text.into(), known: vec!["se".into(), "sd".into()] }),
        }
    }
}

/// A column of ours, or one that others have published.
#[derive(Debug, Clone, Copy)]
pub enum AnyColumn<'a> {
    /// From our records.
    Ours(Column<'a>),
    /// From a table of published figures: the table, and the method.
    Published(&'a Published, &'a str),
}

impl<'a> AnyColumn<'a> {
    /// All columns of a table of published figures.
    pub fn of_published(group: &'a Published) -> Vec<Self> {
        group.variants().into_iter().map(|variant| Self::Published(group, variant)).collect()
    }

    /// The column, if it is ours.
    pub fn ours(&self) -> Option<Column<'a>> {
        match self {
            Self::Ours(column) => Some(*column),
            Self::Published(..) => None,
        }
    }

    /// Its name above a table, with that of its study if wanted.
    pub(super) fn title(&self, with_study: bool) -> String {
        match self {
            Self::Ours(column) if with_study => format!("{}: {}", column.study.name, column.variant),
            Self::Ours(column) => column.variant.to_owned(),
            Self::Published(group, variant) => format!("{}: {variant}", group.name),
        }
    }
}

/// A published figure as a cell shows it.
pub(super) fn published(group: &Published, task: &str, variant: &str, metric: Metric) -> String {
    let Some(entry) = group.entry(task, variant) else { return "–".into() };
    let Some(figure) = entry.figure(metric) else { return "–".into() };
    let splits = entry.splits.map_or_else(String::new, |n| format!(" ({n} split{})", if n == 1 { "" } else { "s" }));
    minus(&figure.text) + &splits
}

/// Where published columns come from.
pub(super) fn sources(columns: &[AnyColumn<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for column in columns {
        let AnyColumn::Published(group, variant) = column else { continue };
        for source in group.entries.iter().filter(|e| e.variant == *variant).filter_map(|e| e.source.as_ref()) {
            let note = format!("{}: {source}.", group.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}
