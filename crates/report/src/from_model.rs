//! Fills a report from a model, rows of data and the record of a training run: all that depends on `deepgp-task`.

use crate::hidden;
use crate::probe::Probe;
use crate::report::{CurvePoint, LabelResults, Report, ScoreTable, Slice, Surface, TargetResults};
use crate::slopes::mean_square_slopes;
use deepgp::gauss::DiagGaussian;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_task::{
    Level, Measure, Model, Predictive, PredictiveLaw, RowInfo, Rows, ScoreTally, Scores, Task, most_probable,
};

/// Columns that get a slice, and targets for which they do.
const MAX_SLICES: usize = 6;
const MAX_SLICED_TARGETS: usize = 2;
/// Points along a slice, and cells along each side of a surface.
const SLICE_POINTS: usize = 161;
const SURFACE_CELLS: usize = 48;

/// Rows to report on, in raw units, best ones that the model has not seen: `x` N × D, `y` N × P, with their columns'
/// names.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Inputs.
    pub x: &'a Mat,
    /// Targets.
    pub y: &'a Mat,
    /// Names of the input columns.
    pub features: &'a [String],
    /// Names of the targets.
    pub targets: &'a [String],
    /// Names of the labels, if the target has labels.
    pub labels: &'a [String],
    /// What else is known of the rows.
    pub info: Option<&'a RowInfo>,
}

/// What is known of the training run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Training {
    /// Its course.
    pub curve: Vec<CurvePoint>,
    /// Settings and versions, name and value.
    pub settings: Vec<(String, String)>,
    /// Facts for the top of the page, name and value, such as the number of training rows or the time it took.
    pub facts: Vec<(String, String)>,
    /// Warnings.
    pub notes: Vec<String>,
    /// Other models' scores on the same rows.
    pub baselines: Vec<(String, Scores)>,
}

/// Asks a model for everything that a report shows.
///
/// # Errors
/// [`Error::Shape`] if names, inputs and targets do not fit together; what the model refuses the data for.
pub fn from_model(title: &str, model: &Model, source: Source<'_>, training: Training) -> Result<Report> {
    let Source { x, y, features, targets, labels, info } = source;
    for (what, expected, found) in [
        ("names of input columns", x.cols(), features.len()),
        ("columns of targets", y.cols(), model.task().n_columns(targets.len())),
        ("rows of the targets", x.rows(), y.rows()),
        ("names of labels", model.task().n_labels(), labels.len()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found });
        }
    }
    let network = &model.predictor().fitted().network;
    let relevance = model.by_input(&mean_square_slopes(&network.layers()[0]));
    let mut tally = ScoreTally::new();
    let predictive = model.tally(Rows { x, info }, y, &mut tally)?;
    let scores = tally.scores()?;
    // Figures show numbers that were seen; of others the bound stands for them where rows only have to be coloured.
    let (shown, seen) = match model.task() {
        Task::Censored => (known(y), (0..y.rows()).filter(|n| y[(*n, 0)] == y[(*n, 1)]).collect()),
        _ => (y.clone(), (0..y.rows()).collect::<Vec<usize>>()),
    };
    let results = match model.task().is_ordered() {
        true => {
            let (predictive, shown) = (predictive.of_rows(&seen), shown.select_rows(&seen));
            let moments = predictive.moments()?;
            let one = |p: usize| results(&targets[p], shown.column(p), (&predictive, &moments), p);
            (0..targets.len()).map(one).collect()
        }
        false => Vec::new(),
    };
    let mut by_relevance: Vec<usize> = (0..x.cols()).collect();
    by_relevance.sort_by(|&a, &b| relevance[b].total_cmp(&relevance[a]));
    let mut probe = Probe { model, x, y: &shown, features, targets, labels, medians: Vec::new(), by_relevance };
    probe.medians = (0..x.cols()).map(|c| probe.median(c)).collect();
    let mut notes = training.notes;
    if x.rows() < 30 {
        notes.push(format!("There are only {} rows: shares and shapes below are rough.", x.rows()));
    }
    Ok(Report {
        title: title.to_owned(),
        summary: summary(&probe, &scores, training.facts),
        notes,
        scores: score_table(&probe, scores, training.baselines, (y, info))?,
        curve: training.curve,
        targets: results,
        labels: label_results(&probe, &predictive),
        relevance: features.iter().cloned().zip(relevance).collect(),
        layers: hidden::views(&probe)?,
        slices: slices(&probe)?,
        surface: surface(&probe)?,
        settings: training.settings,
    })
}

/// The number that was seen of each row, or its bound.
fn known(bounds: &Mat) -> Mat {
    let of_row = |n: usize| if bounds[(n, 0)].is_nan() { bounds[(n, 1)] } else { bounds[(n, 0)] };
    Mat::from_fn(bounds.rows(), 1, |n, _| of_row(n))
}

fn summary(probe: &Probe<'_>, scores: &Scores, facts: Vec<(String, String)>) -> Vec<(String, String)> {
    let layers = probe.model.predictor().fitted().network.layers();
    let mut widths = vec![match layers[0].dim_in() - probe.x.cols() {
        0 => probe.x.cols().to_string(),
        indicators => format!("{} + {indicators}", probe.x.cols()),
    }];
    widths.extend(layers.iter().map(|layer| layer.dim_out.to_string()));
    let kind = if layers.len() == 1 { "GP" } else { "deep GP" };
    let mut all = vec![
        ("rows in this report".to_owned(), scores.rows.to_string()),
        ("model".to_owned(), format!("{kind}, {}", widths.join(" → "))),
        ("inducing inputs a layer".to_owned(), layers[0].n_inducing().to_string()),
    ];
    all.extend(facts);
    all
}

fn score_table(
    probe: &Probe<'_>,
    scores: Scores,
    baselines: Vec<(String, Scores)>,
    (y, info): (&Mat, Option<&RowInfo>),
) -> Result<ScoreTable> {
    let chief: Vec<&Measure> = probe.model.task().measures().iter().filter(|measure| measure.is_chief).collect();
    let row = |(name, scores): (String, Scores)| (name, chief.iter().map(|measure| measure.of(&scores)).collect());
    let without_inputs = match probe.model.task() {
        Task::Regression | Task::Counts | Task::Censored => "always the training mean",
        Task::Classes { .. } | Task::Ordinal { .. } => "always the training frequencies",
    };
    let constant = (without_inputs.to_owned(), constant_scores(probe, y, info)?);
    let rows = std::iter::once(("this model".to_owned(), scores)).chain(baselines).chain([constant]).map(row).collect();
    Ok(ScoreTable { columns: chief.iter().map(|measure| (measure.short.to_owned(), measure.better)).collect(), rows })
}

/// Scores of the model that knows no inputs.
fn constant_scores(probe: &Probe<'_>, y: &Mat, info: Option<&RowInfo>) -> Result<Scores> {
    let mut tally = ScoreTally::new();
    tally.add_weighted(&probe.model.constant(y.rows(), info), y, info.map_or(&[], |info| &info.weight))?;
    tally.scores()
}

fn results(
    name: &str,
    observed: Vec<f64>,
    (predictive, moments): (&Predictive, &DiagGaussian),
    p: usize,
) -> TargetResults {
    let mean = moments.mean.column(p);
    let std: Vec<f64> = moments.var.column(p).iter().map(|v| v.sqrt()).collect();
    let pit = observed.iter().enumerate().map(|(n, y)| transform(&predictive.law(n, p), *y, n)).collect();
    TargetResults { name: name.to_owned(), observed, mean, std, interval: interval(predictive, p), pit }
}

/// The probability integral transform of an observation. Where values are separate it lies anywhere between the
/// probabilities of less and of no more, by a number that is evenly spread over rows.
///
/// ```text
/// F(y)        of whole numbers F(y − 1) + u P(y),   u_n = frac(n (√5 − 1)/2)
/// ```
fn transform(law: &impl PredictiveLaw, y: f64, row: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let up_to = law.cdf(y);
    if !law.is_whole() {
        return up_to;
    }
    let below = law.cdf(y - 1.0);
    below + (GOLDEN * (row + 1) as f64).fract() * (up_to - below)
}

/// Probabilities of labels with what was observed, if there are labels.
fn label_results(probe: &Probe<'_>, predictive: &Predictive) -> Option<LabelResults> {
    if probe.labels.is_empty() {
        return None;
    }
    let probabilities = predictive.probabilities();
    Some(LabelResults {
        name: probe.targets[0].clone(),
        labels: probe.labels.to_vec(),
        probabilities: probabilities.iter_rows().map(<[f64]>::to_vec).collect(),
        observed: probe.y.column(0).iter().map(|label| *label as usize).collect(),
    })
}

/// Ends of the central 95 % intervals of a target.
fn interval(predictive: &Predictive, p: usize) -> [Vec<f64>; 2] {
    let ends = [0.025, 0.975].map(Level::new);
    ends.map(|level| (0..predictive.rows()).map(|n| predictive.law(n, p).quantile(level)).collect())
}

/// The label whose probability slices and surfaces show: the second of two, or the most frequent.
fn shown_label(probe: &Probe<'_>) -> usize {
    let mut counts = vec![0; probe.labels.len()];
    probe.y.column(0).iter().for_each(|label| counts[*label as usize] += 1);
    if counts.len() == 2 { 1 } else { (0..counts.len()).max_by_key(|k| counts[*k]).unwrap_or(0) }
}

/// Probabilities of a label along the most relevant columns.
fn probability_slices(probe: &Probe<'_>) -> Result<Vec<Slice>> {
    let label = shown_label(probe);
    let mut all = Vec::new();
    for &c in probe.by_relevance.iter().take(MAX_SLICES) {
        let few = probe.few_values(c);
        let x = few.clone().unwrap_or_else(|| probe.grid(c, SLICE_POINTS));
        let probabilities = probe.model.predictive(&probe.along(c, &x))?.probabilities();
        all.push(Slice {
            column: probe.features[c].clone(),
            target: format!("probability of {}", probe.labels[label]),
            mean: probabilities.column(label),
            discrete: few.is_some(),
            x,
            ..Slice::default()
        });
    }
    Ok(all)
}

fn slices(probe: &Probe<'_>) -> Result<Vec<Slice>> {
    if !probe.model.task().is_ordered() {
        return probability_slices(probe);
    }
    let mut all = Vec::new();
    for p in 0..probe.targets.len().min(MAX_SLICED_TARGETS) {
        for &c in probe.by_relevance.iter().take(MAX_SLICES) {
            let few = probe.few_values(c);
            let x = few.clone().unwrap_or_else(|| probe.grid(c, SLICE_POINTS));
            let (f, y) = probe.model.distributions(&probe.along(c, &x))?;
            // With other columns about, observations lie off the slice.
            let observed =
                if probe.x.cols() == 1 { (probe.x.column(0), probe.y.column(p)) } else { Default::default() };
            all.push(Slice {
                column: probe.features[c].clone(),
                target: probe.targets[p].clone(),
                mean: y.moments()?.mean.column(p),
                // The latent function of counts is a log rate, that of levels lies between cut points.
                function: if probe.model.task().is_discrete() { Default::default() } else { interval(&f, p) },
                observation: interval(&y, p),
                observed,
                discrete: few.is_some(),
                x,
            });
        }
    }
    Ok(all)
}

/// The first target over the two most relevant columns, unless one of them has a few values only.
fn surface(probe: &Probe<'_>) -> Result<Option<Surface>> {
    let &[a, b, ..] = &probe.by_relevance[..] else { return Ok(None) };
    if probe.few_values(a).or_else(|| probe.few_values(b)).is_some() {
        return Ok(None);
    }
    let edges = [a, b].map(|c| probe.grid(c, SURFACE_CELLS + 1));
    let middle = |e: &[f64], i: usize| 0.5 * (e[i] + e[i + 1]);
    let mut x = Mat::zeros(SURFACE_CELLS * SURFACE_CELLS, probe.x.cols());
    for n in 0..x.rows() {
        let row = x.row_mut(n);
        row.copy_from_slice(&probe.medians);
        (row[a], row[b]) = (middle(&edges[0], n % SURFACE_CELLS), middle(&edges[1], n / SURFACE_CELLS));
    }
    let target = probe.targets[0].clone();
    let (shows, mean, std) = if probe.model.task().is_ordered() {
        let y = probe.model.predict(&x)?.y;
        let std = y.var.column(0).iter().map(|v| v.sqrt()).collect();
        ([target.clone(), "standard deviation".to_owned()], y.mean.column(0), std)
    } else {
        // A map of classes: of two the probability of the second, of more the number of the likeliest.
        let probabilities = probe.model.predictive(&x)?.probabilities();
        let likeliest: Vec<usize> = probabilities.iter_rows().map(most_probable).collect();
        let doubt = probabilities.iter_rows().zip(&likeliest).map(|(p, k)| 1.0 - p[*k]).collect();
        let (shown, mean) = match probe.labels {
            [_, second] => (format!("probability of {second}"), probabilities.column(1)),
            _ => ("likeliest label".to_owned(), likeliest.iter().map(|k| *k as f64).collect()),
        };
        ([shown, "probability of another label".to_owned()], mean, doubt)
    };
    let labels = if probe.model.task().is_ordered() || probe.labels.len() == 2 { &[] } else { probe.labels };
    let columns = [a, b].map(|c| probe.features[c].clone());
    Ok(Some(Surface { columns, target, shows, edges, labels: labels.to_vec(), mean, std }))
}
