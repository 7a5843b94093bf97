//! Figures that others have published, to stand beside ours.

use crate::error::{Error, Result};
use crate::metric::Metric;
use deepgp_data::{Cell, ReadOptions, Reader, Source};
use std::path::Path;

/// Figures of one file, a group of columns in tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The name of its file without folder and ending.
    pub name: String,
    /// Its lines, in order.
    pub entries: Vec<Entry>,
}

/// What was published of one method on one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The task.
    pub task: String,
    /// The method.
    pub variant: String,
    /// Root mean squared error.
    pub rmse: Option<Figure>,
    /// Mean log density.
    pub mean_log_density: Option<Figure>,
    /// Seconds of training.
    pub seconds: Option<Figure>,
    /// Where it stands.
    pub source: Option<String>,
    /// Over how many splits.
    pub splits: Option<usize>,
}

/// A number with the digits it was printed with.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// As it was printed.
    pub text: String,
}

const COLUMNS: [&str; 7] = ["task", "variant", "rmse", "mean_log_density", "seconds", "source", "splits"];

impl Published {
    /// Reads a table with the columns `task`, `variant`, `rmse` and `mean_log_density` and, if wanted, `seconds`,
    /// `source` and `splits`, in any order; figures may be missing.
    ///
    /// # Errors
    /// [`Error::Data`] for what is no table, [`Error::InvalidPublishedTable`] with the line for what is no such table.
    pub fn read(path: &Path) -> Result<Self> {
        let error = |line: Option<u64>, cause: String| Error::InvalidPublishedTable { path: path.into(), line, cause };
        let mut reader = Reader::open(&Source::new(path), &ReadOptions::default())?;
        let names = reader.names().to_vec();
        if let Some(name) = names.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
            return Err(error(None, format!("column '{name}' is none of {}", COLUMNS.join(", "))));
        }
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        let [Some(task), Some(variant), Some(rmse), Some(density)] = [0, 1, 2, 3].map(|i| place(COLUMNS[i])) else {
            return Err(error(None, format!("the columns {} are needed", COLUMNS[..4].join(", "))));
        };
        let [seconds, source, splits] = ["seconds", "source", "splits"].map(place);
        let mut entries: Vec<Entry> = Vec::new();
        let mut line = 1;
        while let Some(chunk) = reader.next_chunk()? {
            for row in 0..chunk.rows() {
                line += 1;
                let text = |column: usize| chunk.text(row, column).into_owned();
                let figure = |column: usize| match chunk.cell(row, column) {
                    Cell::Missing => Ok(None),
                    Cell::Number(value) => Ok(Some(Figure { value, text: text(column) })),
                    _ => Err(error(Some(line), format!("'{}' is not a number", text(column)))),
                };
                let whole = |column: usize| match text(column) {
                    none if none.is_empty() => Ok(None),
                    text => text.parse().map(Some).map_err(|_| error(Some(line), format!("'{text}' is no count"))),
                };
                let entry = Entry {
                    task: text(task),
                    variant: text(variant),
                    rmse: figure(rmse)?,
                    mean_log_density: figure(density)?,
                    seconds: seconds.map_or(Ok(None), figure)?,
                    source: source.map(text).filter(|text| !text.is_empty()),
                    splits: splits.map_or(Ok(None), whole)?,
                };
                if entries.iter().any(|e| (&e.task, &e.variant) == (&entry.task, &entry.variant)) {
                    return Err(error(Some(line), format!("{}, {} stands twice", entry.task, entry.variant)));
                }
                entries.push(entry);
            }
        }
        let name = path.file_stem().map_or_else(|| "published".into(), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, entries })
    }

    /// The methods, in order.
    pub fn variants(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for entry in &self.entries {
            if !all.contains(&entry.variant.as_str()) {
                all.push(&entry.variant);
            }
        }
        all
    }

    /// What was published of a method on a task.
    pub fn entry(&self, task: &str, variant: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.task == task && e.variant == variant)
    }
}

impl Entry {
    /// Its figure for a metric.
    pub fn figure(&self, metric: Metric) -> Option<&Figure> {
        match metric {
            Metric::Rmse => self.rmse.as_ref(),
            Metric::MeanLogDensity => self.mean_log_density.as_ref(),
            Metric::Seconds => self.seconds.as_ref(),
            Metric::Coverage95 => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Published> {
        let path = std::env::temp_dir().join(format!("deepgp-published-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).expect("a file of our own");
        let read = Published::read(&path);
        std::fs::remove_file(&path).expect("a file of our own");
        read
    }

    #[test]
    fn figures_keep_their_digits() -> Result<()> {
        let found = read(
            "digits",
            "task,variant,rmse,mean_log_density,source,seconds\na,\"[GP, 50]\",0.50,-0.26,Us,220\nb,\"[GP, 50]\",,1,,\n",
        )?;
        assert_eq!(found.variants(), ["[GP, 50]"]);
        let entry = found.entry("a", "[GP, 50]").expect("it is there");
        let figure = entry.figure(Metric::Rmse).expect("it is there");
        assert_eq!((figure.text.as_str(), figure.value, entry.source.as_deref()), ("0.50", 0.5, Some("Us")));
        assert_eq!(entry.figure(Metric::Seconds).map(|figure| figure.text.as_str()), Some("220"));
        let other = found.entry("b", "[GP, 50]").expect("it is there");
        assert_eq!((other.figure(Metric::Rmse), other.source.as_ref(), other.splits), (None, None, None));
        assert_eq!(other.figure(Metric::Seconds), None);
        Ok(())
    }

    #[test]
    fn faults_are_named() {
        let error = |name, text| read(name, text).expect_err("a fault").to_string();
        assert!(error("column", "task,variant,rmse,mean_log_density,colour\na,b,1,2,3\n").contains("'colour'"));
        assert!(error("missing", "task,variant,rmse\na,b,1\n").contains("mean_log_density are needed"));
        let text = "task,variant,rmse,mean_log_density\na,b,1,2\nc,d,x,2\n";
        assert!(error("word", text).contains("line 3: 'x' is not a number"), "{}", error("word", text));
        let text = "task,variant,rmse,mean_log_density\na,b,1,2\na,b,3,2\n";
        assert!(error("twice", text).contains("line 3: a, b stands twice"));
    }
}
