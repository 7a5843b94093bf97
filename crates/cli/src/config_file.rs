//! Settings of a fit from a config file, under those of the command line.

use crate::exit_codes::usage;
use anyhow::{Context, Result};
use clap::{Args, Command};
use deepgp_fit::FitSettings;
use std::path::Path;

/// Options of which only one can decide on the length of a run.
const LENGTHS: [&str; 3] = ["iters", "epochs", "time"];

/// These settings, and where they say nothing those of a config file.
///
/// # Errors
/// What is wrong with the file, with the line and a hint.
pub fn over_file(given: &FitSettings, path: &Path) -> Result<FitSettings> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    over_text(given, &text, path)
}

fn over_text(given: &FitSettings, text: &str, path: &Path) -> Result<FitSettings> {
    let file = path.display();
    let mut table: toml::Table = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |span| line_at(text, span.start));
        usage!("{file}, line {line}: {}", e.message())
    })?;
    for (key, value) in &table {
        let line = line_of(text, key);
        if key == OLD_LIKELIHOOD && table.contains_key("likelihood") {
            return Err(usage!("{file}, line {line}: 'noise' is the old name of 'likelihood', which is there, too"));
        }
        check_key(key).map_err(|hint| usage!("{file}, line {line}: unknown setting '{key}'{hint}"))?;
        let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
        alone.try_into::<FitSettings>().map_err(|e| usage!("{file}, line {line}: {key}: {}", e.message()))?;
    }
    if let [first, second, ..] = LENGTHS.iter().filter(|key| table.contains_key(**key)).collect::<Vec<_>>()[..] {
        return Err(usage!("{file}: '{first}' and '{second}' cannot both decide on the length of training"));
    }
    let flags = toml::Table::try_from(given).map_err(|e| usage!("the options cannot go with a config file: {e}"))?;
    if LENGTHS.iter().any(|key| flags.contains_key(*key)) {
        LENGTHS.iter().for_each(|key| drop(table.remove(*key)));
    }
    if flags.contains_key("likelihood") {
        table.remove(OLD_LIKELIHOOD);
    }
    table.extend(flags);
    table.try_into().map_err(|e| usage!("{file}: {}", e.message()))
}

/// The name that `likelihood` had.
const OLD_LIKELIHOOD: &str = "noise";

/// A hint if there is no such setting.
fn check_key(key: &str) -> std::result::Result<(), String> {
    let command = FitSettings::augment_args(Command::new("fit"));
    let known: Vec<&str> = command.get_arguments().map(|a| a.get_long().unwrap_or("data")).collect();
    if known.contains(&key) || key == OLD_LIKELIHOOD {
        return Ok(());
    }
    let nearest = known.iter().map(|name| (strsim::osa_distance(key, name), name)).min();
    Err(match nearest {
        Some((distance, name)) if distance <= 2 => format!("; did you mean '{name}'?"),
        _ => format!("; there are {}", known.join(", ")),
    })
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|b| *b == b'\n').count()
}

/// The line on which a key is set.
fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'', '[']);
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(['=', '.', ']']))
    };
    1 + text.lines().position(sets).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_fit::Plan;
    use deepgp_fit::values::{Names, Seconds, Widths};
    use deepgp_task::Config;

    fn over(flags: &FitSettings, text: &str) -> Result<FitSettings> {
        over_text(flags, text, Path::new("fit.toml"))
    }

    fn error(text: &str) -> String {
        over(&FitSettings::default(), text).map_or_else(|e| format!("{e:#}"), |o| format!("no fault: {o:?}"))
    }

    #[test]
    fn flags_come_before_the_file() -> Result<()> {
        let mut flags = FitSettings { epochs: Some(3.0), ..FitSettings::default() };
        flags.model.alpha = Some(0.5);
        let text = "target = \"a,b\"\nhidden = [8, 8]\nalpha = 1\niters = 10\ncheckpoint = \"5m\"\nlr = 1\ndelimiter = \";\"\n";
        let options = over(&flags, text)?;
        assert_eq!(options.target, Some(Names(vec!["a".into(), "b".into()])));
        assert_eq!((options.model.alpha, options.model.lr), (Some(0.5), Some(1.0)));
        assert_eq!((options.epochs, options.model.iters), (Some(3.0), None));
        assert_eq!((options.checkpoint, options.table.delimiter), (Some(Seconds(300.0)), Some(';')));
        assert_eq!(options.model.hidden, Some(Widths(vec![8, 8])));
        Ok(())
    }

    #[test]
    fn faults_of_a_file_say_where_they_are() {
        assert_eq!(
            error("alpha = 1\nhiden = 2\n"),
            "fit.toml, line 2: unknown setting 'hiden'; did you mean 'hidden'?"
        );
        assert!(
            error("alpha = 1\n\nlr = \"fast\"\n").starts_with("fit.toml, line 3: lr: invalid type"),
            "{}",
            error("lr = \"fast\"")
        );
        assert!(
            error("time = \"soon\"").contains("line 1: time: 'soon' is not a time"),
            "{}",
            error("time = \"soon\"")
        );
        assert!(error("alpha = \n").starts_with("fit.toml, line 1: "));
        assert!(error("iters = 5\ntime = 3\n").contains("'iters' and 'time' cannot both"));
        assert!(error("zzzzzzzz = 1").contains("there are data, target"));
    }

    #[test]
    fn help_tells_the_true_defaults() -> Result<()> {
        let command = FitSettings::augment_args(Command::new("fit"));
        // Of a search, and of a network that is given.
        let search = FitSettings { data: Some("t.csv".into()), ..FitSettings::default() };
        let mut given = search.clone();
        given.model.iters = Some(Config::default().train.iterations);
        let resolved = |settings: &FitSettings| -> Result<serde_json::Value> {
            Ok(serde_json::to_value(Plan::new(settings)?.settings())?)
        };
        let (search, given) = (resolved(&search)?, resolved(&given)?);
        let mut told = 0;
        for argument in command.get_arguments() {
            let (Some(name), Some(help)) = (argument.get_long(), argument.get_help()) else { continue };
            let Some((_, default)) = help
                .to_string()
                .trim_end_matches(']')
                .rsplit_once("[default: ")
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
            else {
                continue;
            };
            let setting = if given[name].is_null() { &search[name] } else { &given[name] };
            let expected = match setting {
                serde_json::Value::Null => continue,
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Array(list) => list.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
                value => value.to_string(),
            };
            let (free, whole) = (["damping", "threads"].contains(&name), expected.trim_end_matches(".0"));
            assert!(
                free || [expected.as_str(), whole, &format!("{whole}s")].contains(&default.as_str()),
                "--{name}: {default} is {expected}"
            );
            told += 1;
        }
        assert!(told >= 15, "only {told}");
        Ok(())
    }
}
