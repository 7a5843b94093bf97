//! `deepgp predict`: numbers with intervals, or labels with probabilities, of every row of a table, in bounded memory.

use crate::args::Predict;
use crate::exit_codes::{usage, usage_of};
use crate::out::{path_text, print_json, write_to};
use crate::rows::{Loaded, Table};
use anyhow::{Context, Result};
use deepgp_data::{Batch, Source, Targets};
use deepgp_fit::{row_info, targets, threads};
use deepgp_task::{Level, Predictive, PredictiveLaw, Task, label_moments, most_probable};
use serde_json::json;
use std::fmt::Write;
use std::time::Instant;

/// Predicts every row.
pub fn run(args: &Predict) -> Result<()> {
    if !(args.interval > 0.0 && args.interval < 1.0) {
        return Err(usage!("--interval must lie between 0 and 1, not {}", args.interval));
    }
    let started = Instant::now();
    let threads = threads(args.threads).map_err(usage_of)?;
    let loaded = Loaded::open(&args.model)?;
    let json_rows = args.json && args.out.is_none();
    let is_tsv = args.out.as_ref().is_some_and(|p| p.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv")));
    let format = match (json_rows, is_tsv) {
        (true, _) => Format::Json,
        (false, true) => Format::Delimited('\t'),
        (false, false) => Format::Delimited(','),
    };
    let names = columns(&loaded, args.log_density);
    let table = Table {
        data: &Source::new(&args.data),
        options: &args.table,
        targets: if args.log_density { Targets::Optional } else { Targets::Ignored },
        threads,
        quiet: args.quiet,
    };
    let text_of = |batch: &Batch| {
        let cells = cells(&loaded, batch, args.interval, args.log_density)?;
        Ok(format.rows(&names, &batch.rows, &cells))
    };
    let n_rows = write_to(args.out.as_deref(), |out| {
        let mut put = |text: &str| out.write_all(text.as_bytes()).context("cannot write the predictions");
        let mut n_rows = 0;
        loaded.for_rows(&table, text_of, |batch, text| {
            match n_rows {
                0 => put(&format.begin(&names))?,
                _ => put(format.between())?,
            }
            n_rows += batch.rows.len();
            put(&text)
        })?;
        put(&format.end(n_rows))?;
        Ok(n_rows)
    })?;
    if args.json
        && let Some(out) = &args.out
    {
        let seconds = started.elapsed().as_secs_f64();
        print_json(&json!({
            "rows": n_rows,
            "columns": names,
            "out": path_text(out),
            "interval": args.interval,
            "seconds": seconds,
        }))?;
    }
    Ok(())
}

/// A cell of the predictions.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    /// A number; NaN where there is none.
    Number(f64),
    /// A whole number.
    Whole(f64),
    /// A label, or a cell that is carried through.
    Text(String),
}

/// Names of the columns after the row's number.
fn columns(loaded: &Loaded, log_density: bool) -> Vec<String> {
    let (schema, task) = (&loaded.saved.preprocessing.schema, loaded.saved.preprocessing.task);
    let mut names = Vec::new();
    for (p, name) in schema.targets().iter().enumerate() {
        let levels = schema.target_levels(p).unwrap_or_default();
        let mut add = |what: &[&str]| names.extend(what.iter().map(|what| format!("{name}_{what}")));
        match task {
            Task::Regression | Task::Counts | Task::Censored => add(&["mean", "std", "lower", "upper"]),
            Task::Classes { .. } => add(&["label"]),
            Task::Ordinal { .. } if level_values(levels).is_some() => add(&["label", "mean", "std", "lower", "upper"]),
            Task::Ordinal { .. } => add(&["label", "lower", "upper"]),
        }
        names.extend(levels.iter().map(|level| format!("{name}_p_{level}")));
    }
    if log_density {
        names.push(if task.is_discrete() { "log_probability" } else { "log_density" }.to_owned());
    }
    names.extend(schema.role_columns().keep.iter().cloned());
    names
}

/// The numbers that levels are, if they are.
fn level_values(levels: &[String]) -> Option<Vec<f64>> {
    levels.iter().map(|level| level.parse().ok().filter(|value: &f64| value.is_finite())).collect()
}

/// The cells of each row, in the order of the columns; NaN for a log density that there is none of.
fn cells(loaded: &Loaded, batch: &Batch, interval: f64, log_density: bool) -> Result<Vec<Vec<Value>>> {
    let info = row_info(batch.columns.clone());
    let predictive = loaded.model.predictive((&batch.inputs, &info))?;
    let tail = 0.5 * (1.0 - interval);
    let mut all = match loaded.saved.preprocessing.schema.target_levels(0) {
        Some(levels) => label_cells(loaded.saved.preprocessing.task, &predictive, levels, tail),
        None => number_cells(&predictive, tail)?,
    };
    if log_density {
        let y = targets(loaded.saved.preprocessing.task, batch);
        let is_observed = |n: &usize| y.row(*n).iter().any(|v| !v.is_nan());
        let observed: Vec<usize> = (0..all.len()).filter(is_observed).collect();
        let mut of_rows = vec![f64::NAN; all.len()];
        if !observed.is_empty() {
            let densities = predictive.of_rows(&observed).log_density(&y.select_rows(&observed));
            for (&n, density) in observed.iter().zip(densities.map_err(|error| of_row(error, &observed))?) {
                of_rows[n] = density;
            }
        }
        all.iter_mut().zip(of_rows).for_each(|(row, density)| row.push(Value::Number(density)));
    }
    for kept in &batch.columns.keep {
        all.iter_mut().zip(kept).for_each(|(row, cell)| row.push(Value::Text(cell.clone())));
    }
    Ok(all)
}

/// Mean, deviation and interval of every target.
fn number_cells(predictive: &Predictive, tail: f64) -> Result<Vec<Vec<Value>>> {
    let y = predictive.moments()?;
    let [lower, upper] = [tail, 1.0 - tail].map(|probability| predictive.quantiles(probability));
    let end = |value: f64| if predictive.task() == Task::Counts { Value::Whole(value) } else { Value::Number(value) };
    let of_row = |n: usize| {
        let of_target = |p| {
            let (mean, std) = (y.mean[(n, p)], y.var[(n, p)].sqrt());
            [Value::Number(mean), Value::Number(std), end(lower[(n, p)]), end(upper[(n, p)])]
        };
        (0..y.mean.cols()).flat_map(of_target).collect()
    };
    Ok((0..y.mean.rows()).map(of_row).collect())
}

/// The most probable label, an interval of ordered ones, and the probability of each.
fn label_cells(task: Task, predictive: &Predictive, levels: &[String], tail: f64) -> Vec<Vec<Value>> {
    let probabilities = predictive.probabilities();
    let values = level_values(levels);
    let of_row = |n: usize| {
        let p = probabilities.row(n);
        let label = |k: usize| Value::Text(levels[k].clone());
        let mut cells = vec![label(most_probable(p))];
        if task.is_ordered() {
            if let Some(values) = &values {
                let (mean, var) = label_moments(p, values);
                cells.extend([mean, var.sqrt()].map(Value::Number));
            }
            let law = predictive.law(n, 0);
            cells.extend([tail, 1.0 - tail].map(|probability| label(law.quantile(Level::new(probability)) as usize)));
        }
        cells.extend(p.iter().map(|p| Value::Number(*p)));
        cells
    };
    (0..predictive.rows()).map(of_row).collect()
}

/// An error about a number with its row in the table, from its row in a chunk.
fn of_row(error: deepgp::Error, some: &[usize]) -> deepgp::Error {
    match error {
        deepgp::Error::NotFinite { what, row, column, value } => {
            deepgp::Error::NotFinite { what, row: some.get(row).copied().unwrap_or(row), column, value }
        }
        deepgp::Error::Target { row, column, value, requirement } => {
            deepgp::Error::Target { row: some.get(row).copied().unwrap_or(row), column, value, requirement }
        }
        other => other,
    }
}

/// How rows are written.
#[derive(Clone, Copy)]
enum Format {
    Delimited(char),
    Json,
}

impl Format {
    /// What stands before the rows.
    fn begin(self, names: &[String]) -> String {
        match self {
            Self::Delimited(delimiter) => {
                let header: String =
                    names.iter().map(|name| format!("{delimiter}{}", quoted(name, delimiter))).collect();
                format!("row{header}\n")
            }
            Self::Json => "{\"predictions\":[".to_owned(),
        }
    }

    /// What stands between some rows and the next ones.
    fn between(self) -> &'static str {
        match self {
            Self::Delimited(_) => "",
            Self::Json => ",",
        }
    }

    /// Rows with their numbers, from 0, and values.
    fn rows(self, names: &[String], rows: &[u64], values: &[Vec<Value>]) -> String {
        let mut text = String::new();
        for (i, (row, values)) in rows.iter().zip(values).enumerate() {
            if i > 0 {
                text.push_str(self.between());
            }
            self.row(&mut text, names, row + 1, values).expect("nothing that is written to memory fails");
        }
        text
    }

    fn row(self, text: &mut String, names: &[String], number: u64, values: &[Value]) -> std::fmt::Result {
        match self {
            Self::Delimited(delimiter) => {
                write!(text, "{number}")?;
                for value in values {
                    match value {
                        Value::Number(value) if value.is_nan() => write!(text, "{delimiter}")?,
                        Value::Number(value) => write!(text, "{delimiter}{value:?}")?,
                        Value::Whole(value) => write!(text, "{delimiter}{value}")?,
                        Value::Text(cell) => write!(text, "{delimiter}{}", quoted(cell, delimiter))?,
                    }
                }
                writeln!(text)
            }
            Self::Json => {
                let mut object = serde_json::Map::from_iter([("row".to_owned(), json!(number))]);
                let cell = |value: &Value| match value {
                    Value::Number(value) | Value::Whole(value) => json!(value),
                    Value::Text(cell) => json!(cell),
                };
                object.extend(names.iter().cloned().zip(values.iter().map(cell)));
                write!(text, "{}", serde_json::Value::Object(object))
            }
        }
    }

    /// What stands behind all rows.
    fn end(self, n_rows: usize) -> String {
        match self {
            Self::Delimited(_) => String::new(),
            Self::Json => format!("],\"rows\":{n_rows}}}\n"),
        }
    }
}

/// A name as a cell of a text table.
fn quoted(name: &str, delimiter: char) -> String {
    if name.contains([delimiter, '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_delimiters_are_quoted() {
        assert_eq!(quoted("a,b", ','), "\"a,b\"");
        assert_eq!(quoted("a,b", '\t'), "a,b");
        assert_eq!(quoted("the \"x\"", ','), "\"the \"\"x\"\"\"");
    }
}
