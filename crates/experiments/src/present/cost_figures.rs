//! Figures of accuracy against cost: time, and the memory of factors.

use super::{Captioned, file_name};
use crate::metric::Metric;
use crate::record::Run;
use crate::results::{Column, StudyResults};
use crate::stats::Summary;
use deepgp::infer::{Engine, Site};
use deepgp_report::plot::{Axis, Figure, Ink, Mark, N_SERIES, Panel};

/// A mean this many times as far from all better ones as these are from each other does not shape an axis.
const FAR: f64 = 3.0;

/// What grows along a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// The number of inducing inputs.
    Inducing,
    /// The number of hidden layers of one width.
    Depth,
}

impl Growth {
    /// How large it is in a run.
    fn of(self, run: &Run) -> usize {
        match self {
            Self::Inducing => run.config.architecture.n_inducing,
            Self::Depth => run.config.architecture.hidden.len(),
        }
    }

    /// The label of a variant without it. Of a label's parts the last number that stands alone is the number of
    /// inducing inputs; the first names the kind, and those between are the widths.
    fn without(self, label: &str, run: &Run) -> String {
        let mut parts: Vec<&str> = label.trim_start_matches('[').trim_end_matches(']').split(", ").collect();
        let (inducing, layers) = (run.config.architecture.n_inducing.to_string(), run.config.architecture.hidden.len());
        match self {
            Self::Inducing => {
                if let Some(place) = parts.iter().rposition(|part| *part == inducing) {
                    parts.remove(place);
                }
            }
            // "2, 2, 2 linear" is "2 linear", three times.
            Self::Depth if layers > 1 && layers < parts.len() => {
                let width = |part: &&str| part.split(' ').next().map(str::to_owned);
                if parts[1..=layers].iter().all(|part| width(part) == width(&parts[1])) {
                    parts.drain(1..layers);
                }
            }
            Self::Depth => {}
        }
        parts.join(", ")
    }
}

/// Variants that differ in one thing only, which grows.
struct Family<'a> {
    name: String,
    /// How large that thing is, and the column; least first.
    members: Vec<(usize, Column<'a>)>,
    style: LineStyle,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineStyle {
    colour: usize,
    /// With broken lines and rings.
    broken: bool,
}

impl LineStyle {
    fn on(self, mark: Mark) -> Mark {
        let mark = mark.ink(Ink::Series(self.colour));
        if self.broken { mark.dashed().hollow() } else { mark }
    }
}

/// The families of some columns, in the columns' order.
fn families<'a>(columns: &[Column<'a>], growth: Growth) -> Vec<Family<'a>> {
    let mut families: Vec<Family<'a>> = Vec::new();
    // Network and engine of each family.
    let mut kinds: Vec<(String, Engine)> = Vec::new();
    for column in columns {
        let Some(run) = column.all().next() else { continue };
        let (shape, engine) = (&run.config.architecture, run.config.train.inference.engine);
        let (name, size) = (growth.without(column.variant, run), growth.of(run));
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.members.push((size, *column)),
            None => {
                kinds.push((format!("{:?} {:?}", shape.hidden, shape.mean), engine));
                let style = LineStyle { colour: 0, broken: false };
                families.push(Family { name, members: vec![(size, *column)], style });
            }
        }
    }
    families.iter_mut().for_each(|family| family.members.sort_by_key(|(size, _)| *size));
    let several_engines = kinds.iter().any(|kind| kind.1 != kinds[0].1);
    for (family, (style, kind)) in families.iter_mut().zip(line_styles(&kinds).into_iter().zip(&kinds)) {
        family.style = style;
        if several_engines && kind.1 == Engine::Sep(Site::FirstOrder) {
            // Labels do not name the engine that the paper uses.
            family.name += ", SEP";
        }
    }
    families
}

/// Where one or two networks are trained by several engines, colours tell the engines and broken lines the first
/// network; otherwise every family has a colour, and broken lines when colours are used up.
fn line_styles(kinds: &[(String, Engine)]) -> Vec<LineStyle> {
    let (mut networks, mut engines): (Vec<&String>, Vec<Engine>) = (Vec::new(), Vec::new());
    for (network, engine) in kinds {
        if !networks.contains(&network) {
            networks.push(network);
        }
        if !engines.contains(engine) {
            engines.push(*engine);
        }
    }
    let place = |engine: &Engine| engines.iter().position(|other| other == engine).unwrap_or(0);
    let paired: Vec<LineStyle> = kinds
        .iter()
        .map(|(network, engine)| LineStyle {
            colour: place(engine),
            broken: networks.len() > 1 && network == networks[0],
        })
        .collect();
    let is_unique = paired.iter().enumerate().all(|(i, style)| !paired[..i].contains(style));
    if engines.len() > 1 && engines.len() <= N_SERIES && networks.len() <= 2 && is_unique {
        return paired;
    }
    (0..kinds.len()).map(|n| LineStyle { colour: n % N_SERIES, broken: n >= N_SERIES }).collect()
}

/// What a point lies above.
#[derive(Clone, Copy)]
enum Cost {
    Seconds,
    FactorBytes,
}

impl Cost {
    fn of(self, run: &Run) -> f64 {
        match self {
            Self::Seconds => run.seconds,
            Self::FactorBytes => run.result.factor_bytes as f64,
        }
    }

    fn axis(self) -> Axis {
        Axis::log(match self {
            Self::Seconds => "seconds of training",
            Self::FactorBytes => "bytes of factors",
        })
    }
}

fn metric_label(metric: Metric) -> &'static str {
    match metric {
        Metric::MeanLogDensity => "log density (nats)",
        Metric::Rmse => "RMSE",
        Metric::Coverage95 => "95 % coverage",
        Metric::Seconds => "seconds",
    }
}

/// Accuracy of each family against a cost on one task.
fn panel(title: String, families: &[Family<'_>], task: &str, metric: Metric, cost: Cost) -> Panel {
    let (mut marks, mut means) = (Vec::new(), Vec::new());
    for family in families {
        let style = family.style;
        let points: Vec<(f64, Summary)> = family
            .members
            .iter()
            .filter_map(|(_, column)| {
                let runs = column.runs(task)?;
                let costs: Vec<f64> = runs.iter().map(|run| cost.of(run)).collect();
                Some((Summary::of(&costs)?.mean, runs.summary(metric)?))
            })
            .collect();
        let x: Vec<f64> = points.iter().map(|p| p.0).collect();
        let y: Vec<f64> = points.iter().map(|p| p.1.mean).collect();
        let end = |sign: f64| points.iter().map(|p| p.1.mean + sign * p.1.se.unwrap_or(0.0)).collect();
        means.extend(points.iter().map(|p| (p.1.mean, p.1.se.unwrap_or(0.0))));
        marks.push(style.on(Mark::whiskers(x.clone(), end(-1.0), end(1.0)).width(1.2)));
        marks.push(style.on(Mark::line(x.clone(), y.clone()).width(1.4).label(family.name.as_str())));
        marks.push(style.on(Mark::points(x, y).width(3.0).opacity(1.0)));
    }
    let mut axis = Axis::linear(metric_label(metric));
    axis.range = without_the_far(&means, metric == Metric::MeanLogDensity);
    Panel { marks, ..Panel::new(title, cost.axis(), axis) }
}

/// The ends of an axis that leaves out means so bad that all others would lie on one line, from means and their
/// standard errors; none if there are none such. More than half of the means are kept.
fn without_the_far(means: &[(f64, f64)], larger_is_better: bool) -> Option<(f64, f64)> {
    let sign = if larger_is_better { 1.0 } else { -1.0 };
    let mut sorted = means.to_vec();
    // The best one first.
    sorted.sort_by(|a, b| (sign * b.0).total_cmp(&(sign * a.0)));
    let is_far = |i: usize| (sorted[i].0 - sorted[i - 1].0).abs() > FAR * (sorted[i - 1].0 - sorted[0].0).abs();
    let first_far = ((sorted.len() / 2 + 1).max(2)..sorted.len()).find(|&i| is_far(i))?;
    let kept = &sorted[..first_far];
    let low = kept.iter().map(|(mean, se)| mean - se).fold(f64::INFINITY, f64::min);
    let high = kept.iter().map(|(mean, se)| mean + se).fold(f64::NEG_INFINITY, f64::max);
    let room = 0.06 * (high - low);
    Some((low - room, high + room))
}

/// The sizes along the lines, in words.
fn sizes(families: &[Family<'_>]) -> String {
    let mut all: Vec<usize> = families.iter().flat_map(|f| f.members.iter().map(|(size, _)| *size)).collect();
    all.sort_unstable();
    all.dedup();
    all.iter().map(usize::to_string).collect::<Vec<String>>().join(", ")
}

/// Accuracy against training time: for each task a panel of log densities and one of errors, a line for each network
/// and engine through its numbers of inducing inputs. Nothing without runs.
pub fn frontier(study: &StudyResults, tasks: &[String], columns: &[Column<'_>]) -> Option<Captioned> {
    let title = "Accuracy against training time";
    against_time(file_name("frontier", &study.name), title, tasks, columns, Growth::Inducing)
}

/// Accuracy against cost with lines through numbers of hidden layers of one width.
pub fn depth(study: &StudyResults, tasks: &[String], columns: &[Column<'_>]) -> Option<Captioned> {
    let title = "Depth: accuracy against training time";
    against_time(file_name("depth", &study.name), title, tasks, columns, Growth::Depth)
}

fn against_time(
    name: String,
    title: &str,
    tasks: &[String],
    columns: &[Column<'_>],
    growth: Growth,
) -> Option<Captioned> {
    let families = families(columns, growth);
    let mut figure = Figure::new(name, title).columns(2).row_height(230.0).shared_legend();
    for task in tasks.iter().filter(|task| columns.iter().any(|c| c.runs(task).is_some())) {
        for metric in [Metric::MeanLogDensity, Metric::Rmse] {
            figure.panels.push(panel(task.clone(), &families, task, metric, Cost::Seconds));
        }
    }
    let grows = match growth {
        Growth::Inducing => "the number of inducing inputs",
        Growth::Depth => "the number of hidden layers",
    };
    let caption = format!(
        "Means over splits with standard errors. Along each line {grows} grows ({}). Left: larger is better; right: smaller is \
         better. Means far worse than the others may lie outside of a panel.",
        sizes(&families)
    );
    (!figure.panels.is_empty() && !families.is_empty()).then_some(Captioned { figure, caption })
}

/// Engines compared: log density and error against time, and log density against the memory of factors. Nothing without
/// runs.
pub fn engines(study: &StudyResults, tasks: &[String], columns: &[Column<'_>]) -> Option<Captioned> {
    let families = families(columns, Growth::Inducing);
    let mut figure = Figure::new(file_name("engines", &study.name), "Engines: accuracy against time and memory")
        .columns(3)
        .row_height(215.0)
        .shared_legend();
    for task in tasks.iter().filter(|task| columns.iter().any(|c| c.runs(task).is_some())) {
        for (metric, cost) in [
            (Metric::MeanLogDensity, Cost::Seconds),
            (Metric::Rmse, Cost::Seconds),
            (Metric::MeanLogDensity, Cost::FactorBytes),
        ] {
            figure.panels.push(panel(task.clone(), &families, task, metric, cost));
        }
    }
    let caption = format!(
        "Means over splits with standard errors, for {} inducing inputs. EP keeps a factor for each row of the data, the other \
         engines one for all. Means far worse than the others may lie outside of a panel.",
        sizes(&families)
    );
    (!figure.panels.is_empty() && !families.is_empty()).then_some(Captioned { figure, caption })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lost_mean_does_not_flatten_the_others() {
        let with_error = |means: &[f64]| means.iter().map(|m| (*m, 0.1)).collect::<Vec<_>>();
        let range = without_the_far(&with_error(&[-2.0, -2.2, -2.1, -2.3, -200.0]), true).expect("a range");
        assert!(range.0 > -2.5 && range.0 < -2.4 && range.1 > -1.9 && range.1 < -1.8, "{range:?}");
        let range = without_the_far(&with_error(&[2.0, 2.2, 2.1, 2.3, 200.0]), false).expect("a range");
        assert!(range.1 > 2.4 && range.1 < 2.5 && range.0 < 1.9, "{range:?}");
        // Somewhat worse is not lost, and neither is half of all.
        for ordinary in [&[-2.0, -2.2, -2.4, -3.1][..], &[-1.0, -1.1, -9.0, -9.1], &[-1.0, -5.0], &[1.0], &[]] {
            assert_eq!(without_the_far(&with_error(ordinary), true), None, "{ordinary:?}");
        }
    }

    #[test]
    fn looks_tell_engines_and_networks() {
        let kind = |network: &str, engine| (network.to_owned(), engine);
        let sep = Engine::Sep(Site::FirstOrder);
        let found = line_styles(&[kind("a", sep), kind("a", Engine::Ep), kind("b", sep), kind("b", Engine::Ep)]);
        let expected = [(0, true), (1, true), (0, false), (1, false)];
        assert_eq!(found, expected.map(|(colour, broken)| LineStyle { colour, broken }));
        // Eight networks and one engine: colours, then broken lines.
        let many: Vec<(String, Engine)> = (0..8).map(|i| (i.to_string(), sep)).collect();
        let found = line_styles(&many);
        assert!(!found[5].broken && found[6] == LineStyle { colour: 0, broken: true });
        assert!((0..8).all(|i| !found[..i].contains(&found[i])));
        // Two of one kind, as with two values of α, cannot share a style.
        let found = line_styles(&[kind("a", sep), kind("a", sep), kind("a", Engine::Ep)]);
        assert_ne!(found[0], found[1]);
    }
}
