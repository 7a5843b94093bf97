//! Fills a report from a model, rows of data and the record of a training run: all that depends on `deepgp-task`.

use crate::hidden;
use crate::probe::Probe;
use crate::report::{CurvePoint, Report, ScoreTable, Slice, Surface, TargetResults};
use crate::slopes::mean_square_slopes;
use deepgp::gauss::DiagGaussian;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Level, Measure, Model, Predictive, PredictiveLaw, ScoreTally, Scores};

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
    let Source { x, y, features, targets } = source;
    for (what, expected, found) in [
        ("names of input columns", x.cols(), features.len()),
        ("names of targets", y.cols(), targets.len()),
        ("rows of the targets", x.rows(), y.rows()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found });
        }
    }
    let network = &model.predictor().fitted().network;
    let relevance = model.by_input(&mean_square_slopes(&network.layers()[0]));
    let mut tally = ScoreTally::new();
    let predictive = model.tally(x, y, &mut tally)?;
    let (moments, scores) = (predictive.moments()?, tally.scores()?);
    let mut by_relevance: Vec<usize> = (0..x.cols()).collect();
    by_relevance.sort_by(|&a, &b| relevance[b].total_cmp(&relevance[a]));
    let mut probe = Probe { model, x, y, features, targets, medians: Vec::new(), by_relevance };
    probe.medians = (0..x.cols()).map(|c| probe.median(c)).collect();
    let mut notes = training.notes;
    if x.rows() < 30 {
        notes.push(format!("There are only {} rows: shares and shapes below are rough.", x.rows()));
    }
    Ok(Report {
        title: title.to_owned(),
        summary: summary(&probe, &scores, training.facts),
        notes,
        scores: score_table(&probe, scores, training.baselines)?,
        curve: training.curve,
        targets: (0..y.cols()).map(|p| results(&probe, &predictive, &moments, p)).collect(),
        relevance: features.iter().cloned().zip(relevance).collect(),
        layers: hidden::views(&probe)?,
        slices: slices(&probe)?,
        surface: surface(&probe)?,
        settings: training.settings,
    })
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

fn score_table(probe: &Probe<'_>, scores: Scores, baselines: Vec<(String, Scores)>) -> Result<ScoreTable> {
    let chief: Vec<&Measure> = probe.model.task().measures().iter().filter(|measure| measure.is_chief).collect();
    let row =
        |(name, scores): (String, Scores)| (name, chief.iter().map(|measure| Some(measure.of(&scores))).collect());
    let constant = ("always the training mean".to_owned(), constant_scores(probe)?);
    let rows = std::iter::once(("this model".to_owned(), scores)).chain(baselines).chain([constant]).map(row).collect();
    Ok(ScoreTable { columns: chief.iter().map(|measure| (measure.short.to_owned(), measure.better)).collect(), rows })
}

/// Scores of the model that knows no inputs.
fn constant_scores(probe: &Probe<'_>) -> Result<Scores> {
    let mut tally = ScoreTally::new();
    tally.add(&probe.model.task().constant(probe.model.targets(), probe.y.rows()), probe.y)?;
    tally.scores()
}

fn results(probe: &Probe<'_>, predictive: &Predictive, moments: &DiagGaussian, p: usize) -> TargetResults {
    let (observed, mean) = (probe.y.column(p), moments.mean.column(p));
    let std: Vec<f64> = moments.var.column(p).iter().map(|v| v.sqrt()).collect();
    let pit = observed.iter().enumerate().map(|(n, y)| predictive.law(n, p).cdf(*y)).collect();
    TargetResults { name: probe.targets[p].clone(), observed, mean, std, interval: interval(predictive, p), pit }
}

/// Ends of the central 95 % intervals of a target.
fn interval(predictive: &Predictive, p: usize) -> [Vec<f64>; 2] {
    let ends = [0.025, 0.975].map(Level::new);
    ends.map(|level| (0..predictive.rows()).map(|n| predictive.law(n, p).quantile(level)).collect())
}

fn slices(probe: &Probe<'_>) -> Result<Vec<Slice>> {
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
                function: interval(&f, p),
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
    let y = probe.model.predict(&x)?.y;
    Ok(Some(Surface {
        columns: [a, b].map(|c| probe.features[c].clone()),
        target: probe.targets[0].clone(),
        edges,
        mean: y.mean.column(0),
        std: y.var.column(0).iter().map(|v| v.sqrt()).collect(),
    }))
}
