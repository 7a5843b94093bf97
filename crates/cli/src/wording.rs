//! Numbers, times and tables as people read them.

use deepgp::kernel::Kernel;
use deepgp_task::{Better, ExpectedDensity, Measure, Record, SavedModel, Scores, Task, Unit};

/// Four significant digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        format!("{value}")
    } else if size == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e7).contains(&size) {
        format!("{value:.3e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    }
}

/// A whole number with its digits in groups of three.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 row", "2 rows".
pub fn plural(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", count(n)) }
}

/// A length of time.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown".to_owned();
    }
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 0.1 => format!("{:.0} ms", 1e3 * seconds),
        _ if seconds < 10.0 => format!("{seconds:.1} s"),
        0..120 => format!("{whole} s"),
        120..7200 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// "deep GP 8 → 2 → 1" or, with indicators, "deep GP 8 + 25 → 2 → 1"; of a mixture the heaviest network.
pub fn network(saved: &SavedModel) -> String {
    if is_constant(saved) {
        return CONSTANT.to_owned();
    }
    let mut text = format!("{} {}", network_kind(saved), saved.preprocessing.inputs.columns());
    if let Some(indicators) = &saved.heaviest().indicators {
        text += &format!(" + {}", indicators.count());
    }
    for layer in saved.network().layers() {
        text += &format!(" → {}", layer.dim_out);
    }
    text
}

/// The network in words, with the number of others in a mixture.
pub fn mixed_network(saved: &SavedModel) -> String {
    match saved.members.len() - 1 {
        0 => network(saved),
        others => format!("mixture of {} and {}", network(saved), plural(others, "other")),
    }
}

/// "mixture", "constant", "linear GP", "exact GP", "sparse GP" or "deep GP".
pub fn kind(saved: &SavedModel) -> &'static str {
    if saved.members.len() == 1 { network_kind(saved) } else { "mixture" }
}

/// What a model is called beside those it is compared with, one of which is constant.
pub fn column_name(saved: &SavedModel) -> &'static str {
    match kind(saved) {
        CONSTANT => "model",
        other => other,
    }
}

/// The model that knows no inputs.
const CONSTANT: &str = "constant";
/// Slopes below this, in units of the deviations, are those of a constant.
const NEXT_TO_NO_SLOPE: f64 = 1e-4;

/// Whether the heaviest network is linear with slopes that are next to nothing.
fn is_constant(saved: &SavedModel) -> bool {
    let is_flat = |kernel: &Kernel| match kernel {
        Kernel::Linear(linear) => linear.variance.iter().all(|var| var.sqrt() <= NEXT_TO_NO_SLOPE),
        _ => false,
    };
    matches!(saved.network().layers(), [layer] if is_flat(&layer.kernel))
}

fn network_kind(saved: &SavedModel) -> &'static str {
    match saved.network().layers() {
        _ if is_constant(saved) => CONSTANT,
        // A linear model, whatever its inducing inputs are.
        [layer] if matches!(layer.kernel, Kernel::Linear(_)) => "linear GP",
        // An exact GP has an inducing input on every row.
        [layer] if layer.n_inducing() == saved.record.rows => "exact GP",
        [_] => "sparse GP",
        _ => "deep GP",
    }
}

/// What to say of rows that are less likely than those that a search validated its model on; nothing of others.
pub fn surprise(task: Task, record: &Record, scores: &Scores) -> Option<String> {
    let (rows, mean_log_density) = (scores.rows, scores.mean_log_density);
    let expected = record.expected.filter(|expected| expected.is_surprised(rows, mean_log_density))?;
    Some(expectation_sentence(task, expected, rows, mean_log_density))
}

/// A sentence that compares the log density, or probability, of rows with what was expected of them.
pub fn expectation_sentence(task: Task, expected: ExpectedDensity, rows: usize, mean_log_density: f64) -> String {
    format!(
        "these rows have a mean {} of {}, where {} ± {} was to be expected: they may differ from the training rows",
        task.log_score_name(),
        number(mean_log_density),
        number(expected.mean_log_density),
        number(expected.error(rows))
    )
}

/// Scores of several models side by side, one score a line.
pub fn score_table(task: Task, title: &str, columns: &[(&str, &Scores)]) -> String {
    let name = |measure: &Measure| match measure.remark {
        "" => measure.title.to_owned(),
        remark => format!("{} ({remark})", measure.title),
    };
    let show = |measure: &Measure, scores: &Scores| measured(measure, scores).unwrap_or_else(|| "-".to_owned());
    // Two blanks before the name of a score.
    let longest = task.measures().iter().map(|measure| name(measure).chars().count()).max().unwrap_or(0);
    let width = longest.max(44);
    let mut out = format!("{title:<header$}", header = width + 2);
    columns.iter().for_each(|(name, _)| out += &format!(" {name:>10}"));
    for measure in task.measures() {
        out += &format!("\n  {:<width$}", name(measure));
        columns.iter().for_each(|(_, scores)| out += &format!(" {:>10}", show(measure, scores)));
    }
    out + "\n"
}

/// The value of a score, as a share in per cent or as a number.
fn measured(measure: &Measure, scores: &Scores) -> Option<String> {
    let value = measure.of(scores)?;
    Some(match measure.unit {
        Unit::Share => percent(value),
        Unit::Number => number(value),
    })
}

/// The chief scores in one line: "RMSE 2.1, mean log density -2.3 nats/row, 94.0 % inside the 95 % interval".
pub fn brief(task: Task, scores: &Scores) -> String {
    let chief = task.measures().iter().filter(|measure| measure.is_chief);
    let say = |measure: &Measure| {
        let value = measured(measure, scores)?;
        Some(match measure.better {
            Better::Near(_) => format!("{value} {}", measure.title),
            _ if measure.is_joint => format!("{} {value} nats/row", measure.title),
            _ => format!("{} {value}", measure.title),
        })
    };
    chief.filter_map(say).collect::<Vec<_>>().join(", ")
}

/// Rows by their label (down) and the predicted one (across); nothing for very many labels.
pub fn confusion_table(confusion: &[Vec<usize>], labels: &[String]) -> String {
    const MOST: usize = 12;
    const WIDEST: usize = 14;
    if labels.len() > MOST {
        return String::new();
    }
    let short = |label: &String| label.chars().take(WIDEST).collect::<String>();
    let largest = confusion.iter().flatten().map(|n| n.to_string().len()).max().unwrap_or(1);
    let width = labels.iter().map(|label| short(label).chars().count()).max().unwrap_or(0).max(largest) + 2;
    let mut out = format!("\n  {:<width$}   predicted\n  {:<width$}", "label", "");
    labels.iter().for_each(|label| out += &format!("{:>width$}", short(label)));
    for (label, row) in labels.iter().zip(confusion) {
        out += &format!("\n  {:<width$}", short(label));
        row.iter().for_each(|n| out += &format!("{n:>width$}"));
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (4.98765, "4.988"),
            (-0.0123456, "-0.01235"),
            (1234.56, "1235"),
            (1e9, "1.000e9"),
            (0.0, "0"),
            (1e-7, "1.000e-7"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(
            (count(9568), count(12_345), count(1_000_000)),
            ("9568".into(), "12,345".into(), "1,000,000".into())
        );
        assert_eq!((plural(1, "row"), plural(0, "row")), ("1 row".into(), "0 rows".into()));
    }

    #[test]
    fn times_are_short() {
        for (seconds, text) in
            [(0.05, "50 ms"), (3.21, "3.2 s"), (65.0, "65 s"), (125.0, "2 min 05 s"), (7260.0, "2 h 01 min")]
        {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!(duration(f64::INFINITY), "unknown");
    }
}
