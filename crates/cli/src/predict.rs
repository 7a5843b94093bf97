//! `deepgp predict`: mean, deviation and interval of every row of a table, in bounded memory.

use crate::args::Predict;
use crate::exit_codes::{usage, usage_of};
use crate::out::{path_text, print_json, write_to};
use crate::rows::{Loaded, Table};
use anyhow::{Context, Result};
use deepgp_data::{Batch, Targets};
use deepgp_fit::threads;
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
        data: &args.data,
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

/// Names of the columns after the row's number.
fn columns(loaded: &Loaded, log_density: bool) -> Vec<String> {
    let of_target = |name: &String| ["mean", "std", "lower", "upper"].map(|what| format!("{name}_{what}"));
    let mut names: Vec<String> = loaded.saved.preprocessing.schema.targets().iter().flat_map(of_target).collect();
    if log_density {
        names.push("log_density".to_owned());
    }
    names
}

/// The numbers of each row, in the order of the columns; NaN for a log density that there is none of.
fn cells(loaded: &Loaded, batch: &Batch, interval: f64, log_density: bool) -> Result<Vec<Vec<f64>>> {
    let predictive = loaded.model.predictive(&batch.inputs)?;
    let (y, tail) = (predictive.moments()?, 0.5 * (1.0 - interval));
    let [lower, upper] = [tail, 1.0 - tail].map(|probability| predictive.quantiles(probability));
    let mut all: Vec<Vec<f64>> = (0..y.mean.rows())
        .map(|n| {
            let of_target = |p| [y.mean[(n, p)], y.var[(n, p)].sqrt(), lower[(n, p)], upper[(n, p)]];
            (0..y.mean.cols()).flat_map(of_target).collect()
        })
        .collect();
    if log_density {
        let is_observed = |n: &usize| batch.targets.row(*n).iter().all(|v| !v.is_nan());
        let observed: Vec<usize> = (0..all.len()).filter(is_observed).collect();
        all.iter_mut().for_each(|row| row.push(f64::NAN));
        if !observed.is_empty() {
            let densities = predictive.of_rows(&observed).log_density(&batch.targets.select_rows(&observed));
            for (&n, density) in observed.iter().zip(densities.map_err(|error| of_row(error, &observed))?) {
                all[n].pop();
                all[n].push(density);
            }
        }
    }
    Ok(all)
}

/// An error about a number with its row in the table, from its row in a chunk.
fn of_row(error: deepgp::Error, some: &[usize]) -> deepgp::Error {
    match error {
        deepgp::Error::NotFinite { what, row, column, value } => {
            deepgp::Error::NotFinite { what, row: some.get(row).copied().unwrap_or(row), column, value }
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
    fn rows(self, names: &[String], rows: &[u64], values: &[Vec<f64>]) -> String {
        let mut text = String::new();
        for (i, (row, values)) in rows.iter().zip(values).enumerate() {
            if i > 0 {
                text.push_str(self.between());
            }
            self.row(&mut text, names, row + 1, values).expect("nothing that is written to memory fails");
        }
        text
    }

    fn row(self, text: &mut String, names: &[String], number: u64, values: &[f64]) -> std::fmt::Result {
        match self {
            Self::Delimited(delimiter) => {
                write!(text, "{number}")?;
                for value in values {
                    if value.is_nan() { write!(text, "{delimiter}")? } else { write!(text, "{delimiter}{value:?}")? }
                }
                writeln!(text)
            }
            Self::Json => {
                let mut object = serde_json::Map::from_iter([("row".to_owned(), json!(number))]);
                object.extend(names.iter().cloned().zip(values.iter().map(|v| json!(v))));
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
