//! `deepgp show`: what a model is and what it has learnt, in words.

use crate::args::Show;
use crate::fit::{cross_validated, kinds, summary};
use crate::out::{print, print_json};
use crate::rows::Loaded;
use crate::wording::{brief, count, duration, mixed_network, number, percent, plural};
use anyhow::Result;
use deepgp::kernel::{Kernel, Smoothness};
use deepgp::layer::Layer;
use deepgp::likelihood::Likelihood;
use deepgp_data::{Kind, Schema};
use deepgp_fit::ModelSettings;
use deepgp_fit::names::TaskName;
use deepgp_report::mean_square_slopes;
use deepgp_task::{Preprocessing, Record, SavedModel, Task};
use serde_json::{Value, json};

/// Columns whose relevance is shown.
const SHOWN: usize = 30;

/// Describes a model file.
pub fn run(args: &Show) -> Result<()> {
    let Loaded { saved, .. } = Loaded::open(&args.model)?;
    if args.json { print_json(&described(&saved)) } else { print(&text(&saved)) }
}

/// A model for machines: what `deepgp show --json` prints.
pub fn described(saved: &SavedModel) -> Value {
    let (schema, record) = (&saved.preprocessing.schema, &saved.record);
    let layers = saved.network().layers();
    let layer = |layer: &Layer| {
        json!({
            "inputs": layer.dim_in(), "outputs": layer.dim_out, "inducing": layer.n_inducing(), "kernel": layer.kernel,
            "noise_std": layer.noise_var.sqrt(), "mean": if layer.mean.weights().is_some() { "linear" } else { "zero" },
        })
    };
    let relevance: Vec<Value> =
        relevance(saved).into_iter().map(|(column, share)| json!({ "column": column, "share": share })).collect();
    json!({
        "version": record.deepgp,
        "date": record.date,
        "network": mixed_network(saved),
        "tried": saved.record.tried,
        "targets": schema.targets(),
        "task": TaskName::from(saved.preprocessing.task),
        "levels": schema.target_levels(0),
        "columns": schema.inputs(),
        "features": schema.feature_names(),
        "indicators": saved.heaviest().indicators,
        "std_factor": saved.std_factor,
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
        "noise": noise(saved),
        "relevance": relevance,
        "rows": record.rows,
        "steps": record.steps,
        "best_step": record.best_step,
        "seconds": record.seconds,
        "energy": record.energy,
        "termination": record.termination,
        "n_events": record.n_events,
        "held_out": record.held_out,
        "cross_validated": record.cross_validated,
        "settings": ModelSettings::of(&record.config),
    })
}

/// A model for people: what `deepgp show` prints.
pub fn text(saved: &SavedModel) -> String {
    let (schema, record, model) = (&saved.preprocessing.schema, &saved.record, saved.network());
    let mut out = format!("{}, by deepgp {}", mixed_network(saved), record.deepgp);
    if let Some(date) = &record.date {
        out += &format!(", {date}");
    }
    out += &format!("\n\npredicts {}\n", targets(saved));
    out += &format!("from     {}\n", columns(schema));
    if let Some(indicators) = &saved.heaviest().indicators {
        out += &format!("         and {} of inputs that take few values\n", plural(indicators.count(), "indicator"));
    }
    for line in noise(saved) {
        out += &format!("noise    {line}\n");
    }
    if let Some(factor) = saved.std_factor {
        out += &format!("scaled   standard deviations times {}, by held-out rows\n", number(factor));
    }
    if !record.tried.is_empty() {
        out += &format!("\n{}", summary(saved.preprocessing.task, record, saved.members.len()));
    }
    out += "\nnetwork (inputs and targets have standard deviation 1 here)\n";
    for (l, layer) in model.layers().iter().enumerate() {
        out += &format!("  layer {}: {}\n", l + 1, layer_words(layer, l + 1 == model.layers().len()));
    }
    out += "\nrelevance of the columns to the first layer\n";
    let all = relevance(saved);
    let width = all.iter().take(SHOWN).map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(40);
    for (name, share) in all.iter().take(SHOWN) {
        let bar = "█".repeat((30.0 * share.clamp(0.0, 1.0)).round() as usize);
        out += format!("  {name:<width$} {:>7}  {bar}", percent(*share)).trim_end();
        out += "\n";
    }
    if all.len() > SHOWN {
        out += &format!("  and {} more\n", plural(all.len() - SHOWN, "column"));
    }
    out + &training(saved.preprocessing.task, record)
}

/// The targets, and what they are if not numbers: "sick: no or yes", "visits, a count".
fn targets(saved: &SavedModel) -> String {
    let (schema, task) = (&saved.preprocessing.schema, saved.preprocessing.task);
    let names = schema.targets().join(", ");
    match (task, schema.target_levels(0)) {
        (Task::Classes { .. }, Some(levels)) => format!("{names}, one of {}", levels.join(", ")),
        (Task::Ordinal { .. }, Some(levels)) => format!("{names}, in this order {}", levels.join(", ")),
        (Task::Counts, _) => format!("{names}, a count"),
        (Task::Censored, _) => format!("{names}, of which some were known within bounds"),
        _ => names,
    }
}

fn columns(schema: &Schema) -> String {
    let of = |test: fn(&Kind) -> bool| schema.inputs().iter().filter(|input| test(&input.kind)).count();
    let kinds = [
        (of(|kind| matches!(kind, Kind::Number { .. })), "number"),
        (of(|kind| matches!(kind, Kind::Boolean { .. })), "yes or no"),
        (of(|kind| matches!(kind, Kind::Category { .. })), "category"),
        (of(|kind| matches!(kind, Kind::Time { .. })), "date or time"),
    ];
    let there: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{} {name}", count(*n))).collect();
    let n_features = plural(schema.n_features(), "feature");
    format!("{} ({}), as {n_features}", plural(schema.inputs().len(), "column"), there.join(", "))
}

/// A likelihood that adds no noise to a number.
fn own_noise(likelihood: &Likelihood) -> String {
    match likelihood {
        Likelihood::Probit(_) => "two classes by the normal distribution function (probit)".to_owned(),
        Likelihood::Logit(_) => "two classes by the logistic function (logit)".to_owned(),
        Likelihood::Softmax(law) => format!("{} classes by the softmax", law.n_classes),
        Likelihood::RobustMax(law) => {
            format!("{} classes, {} of the labels wrong", law.n_classes, percent(law.error))
        }
        Likelihood::Ordinal(law) => format!("{} ordered levels by the normal distribution function", law.n_levels(0)),
        Likelihood::Poisson(_) => "Poisson".to_owned(),
        Likelihood::NegativeBinomial(law) => format!("negative binomial, dispersion {}", number(law.dispersion[0])),
        Likelihood::VaryingGaussian(_) => "Gaussian, its size a function of the inputs".to_owned(),
        Likelihood::VaryingStudentT(law) => {
            format!(
                "Student-t, its size a function of the inputs, {} degrees of freedom",
                number(2.0 + law.dof_above_two)
            )
        }
        Likelihood::Censored(_) => "Gaussian, some of the targets known within bounds".to_owned(),
        Likelihood::Gamma(law) => format!("gamma, shape {}", number(law.shape[0])),
        Likelihood::Beta(law) => format!("beta, precision {}", number(law.precision[0])),
        Likelihood::Gaussian(_) | Likelihood::StudentT(_) | Likelihood::Custom(_) => "of another kind".to_owned(),
    }
}

/// One line for each target.
fn noise(saved: &SavedModel) -> Vec<String> {
    let (name, spread, spreads, more): (_, _, Vec<f64>, _) = match saved.network().likelihood() {
        Likelihood::Gaussian(g) => {
            ("Gaussian", "standard deviation", g.noise_var.iter().map(|var| var.sqrt()).collect(), String::new())
        }
        Likelihood::StudentT(t) => {
            ("Student-t", "scale", t.scale.clone(), format!(", {} degrees of freedom", number(t.dof)))
        }
        other => return vec![own_noise(other)],
    };
    let Preprocessing { schema, targets, .. } = &saved.preprocessing;
    let line = |(p, (target, own)): (usize, (&String, f64))| match saved.heaviest().warps.get(p) {
        None => format!("{name}, {spread} {} of {target}{more}", number(own * targets.scale()[p])),
        Some(warp) => {
            format!("{name}, {spread} {} of {target} after its transform ({}){more}", number(own), warp.kind())
        }
    };
    schema.targets().iter().zip(spreads).enumerate().map(line).collect()
}

fn layer_words(layer: &Layer, is_last: bool) -> String {
    let mean = if layer.mean.weights().is_some() { ", linear mean" } else { "" };
    let noise = if is_last { String::new() } else { format!(", noise {}", number(layer.noise_var.sqrt())) };
    format!(
        "{} → {}, {}; {}{mean}{noise}",
        layer.dim_in(),
        layer.dim_out,
        plural(layer.n_inducing(), "inducing input"),
        kernel_words(&layer.kernel)
    )
}

fn kernel_words(kernel: &Kernel) -> String {
    let radial = |name: &str, signal_var: f64, lengthscale: &[f64]| {
        format!("{name} of deviation {}, lengthscales {}", number(signal_var.sqrt()), range(lengthscale))
    };
    match kernel {
        Kernel::Eq(k) => radial("exponentiated quadratic", k.signal_var, &k.lengthscale),
        Kernel::Matern(k) => {
            let name = match k.smoothness {
                Smoothness::ThreeHalves => "Matérn 3/2",
                Smoothness::FiveHalves => "Matérn 5/2",
            };
            radial(name, k.signal_var, &k.lengthscale)
        }
        Kernel::Linear(k) => {
            let slopes: Vec<f64> = k.variance.iter().map(|v| v.sqrt()).collect();
            format!("linear with slopes of deviation {}", range(&slopes))
        }
        Kernel::SpectralMixture(k) => {
            let deviation = number(k.weight.iter().sum::<f64>().sqrt());
            format!("spectral mixture of {}, deviation {deviation}", plural(k.weight.len(), "component"))
        }
        Kernel::Sum(k) => k.parts.iter().map(kernel_words).collect::<Vec<_>>().join(" + "),
    }
}

/// A few numbers as they are, many by their range.
fn range(values: &[f64]) -> String {
    const FEW: usize = 4;
    if values.len() <= FEW {
        return values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", ");
    }
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
    format!("{} to {}", number(low), number(high))
}

/// Columns with their shares of the first layer's mean squared slope, largest first; features of a column are added up.
pub fn relevance(saved: &SavedModel) -> Vec<(String, f64)> {
    let schema = &saved.preprocessing.schema;
    let mut slopes = mean_square_slopes(&saved.network().layers()[0]);
    if let Some(indicators) = &saved.heaviest().indicators {
        slopes = indicators.by_input(&slopes);
    }
    let mut shares: Vec<(String, f64)> = schema.inputs().iter().map(|input| (input.name.clone(), 0.0)).collect();
    for (column, slope) in schema.feature_inputs().into_iter().zip(&slopes) {
        shares[column].1 += slope;
    }
    let total: f64 = slopes.iter().sum();
    let is_sound = total > 0.0 && total.is_finite();
    shares.iter_mut().for_each(|(_, share)| *share = if is_sound { *share / total } else { 0.0 });
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

fn training(task: Task, record: &Record) -> String {
    let train = &record.config.train;
    let settings = serde_json::to_value(ModelSettings::of(&record.config)).unwrap_or_default();
    let setting = |name: &str| settings[name].to_string().replace('"', "");
    let mut out = format!(
        "\ntraining\n  {}, {} in {}, batches of {}, learning rate {} ({})\n  engine {}, alpha {}, damping {}, seed {}\n",
        plural(record.rows, "row"),
        plural(record.steps, "step"),
        duration(record.seconds),
        count(train.batch_size.min(record.rows)),
        number(train.learning_rate),
        setting("schedule"),
        setting("engine"),
        setting("alpha"),
        setting("damping"),
        train.seed,
    );
    if let Some(energy) = record.energy {
        out += &format!("  energy at the end {} (its negative approximates the log evidence)\n", number(energy));
    }
    if record.n_events > 0 {
        out += &format!("  {}: {}\n", plural(record.n_events, "event"), kinds(&record.events));
    }
    if let Some(check) = &record.moment_check {
        out += &format!(
            "  mean {} of {} not learnt from by moments {}, by samples {}\n",
            task.log_score_name(),
            plural(check.rows, "row"),
            number(check.moments),
            number(check.samples)
        );
    }
    if let Some(validated) = &record.cross_validated {
        out += &format!("  {}: {}\n", cross_validated(validated), brief(task, &validated.scores));
    }
    if let Some(scores) = &record.held_out {
        out += &format!(
            "  {} held out: {}{}\n",
            plural(scores.rows, "row"),
            brief(task, scores),
            record.best_step.map_or(String::new(), |step| format!("; best at step {}", count(step)))
        );
    }
    out
}
