//! What a report is made from: plain numbers and names, nothing computed.

pub use deepgp_task::Better;

/// Everything a report shows. Parts that are empty are left out of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// What it is about, in a few words.
    pub title: String,
    /// Facts for the top of the page, name and value.
    pub summary: Vec<(String, String)>,
    /// Things the reader should know before trusting it.
    pub notes: Vec<String>,
    /// How good the model is, with others to compare.
    pub scores: ScoreTable,
    /// The course of training.
    pub curve: Vec<CurvePoint>,
    /// Predictions and observations of each target.
    pub targets: Vec<TargetResults>,
    /// Predicted probabilities of labels, if the target has labels.
    pub labels: Option<LabelResults>,
    /// How much each input column matters; any positive scale.
    pub relevance: Vec<(String, f64)>,
    /// What each hidden layer does, first to last.
    pub layers: Vec<LayerView>,
    /// Predictions along single columns.
    pub slices: Vec<Slice>,
    /// Predictions over a plane of two columns.
    pub surface: Option<Surface>,
    /// Settings of the run and versions, name and value.
    pub settings: Vec<(String, String)>,
}

/// Scores of one or more models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScoreTable {
    /// Name of each score, and what is good.
    pub columns: Vec<(String, Better)>,
    /// Name of each model, and its scores where it has them; the first is the one that the report is about.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// A moment of training.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CurvePoint {
    /// Steps done.
    pub step: usize,
    /// The energy, or its running mean; smaller is better.
    pub energy: f64,
    /// Error on rows held out.
    pub valid_rmse: Option<f64>,
    /// Mean log density of rows held out.
    pub valid_log_density: Option<f64>,
}

/// Predictions and observations of one target, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetResults {
    /// Its name, with its unit if it has one.
    pub name: String,
    /// What was observed.
    pub observed: Vec<f64>,
    /// What was expected.
    pub mean: Vec<f64>,
    /// Standard deviation of an observation.
    pub std: Vec<f64>,
    /// Ends of the central 95 % interval of an observation.
    pub interval: [Vec<f64>; 2],
    /// Probability integral transform: the predicted probability of an observation below the one made.
    pub pit: Vec<f64>,
}

/// Predicted probabilities of labels and what was observed, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabelResults {
    /// The target.
    pub name: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// Probabilities of all labels, for each row.
    pub probabilities: Vec<Vec<f64>>,
    /// Which label each row has.
    pub observed: Vec<usize>,
}

/// What one hidden layer does to the data, in its own units.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayerView {
    /// Its number, from 1.
    pub layer: usize,
    /// Use that is made of each of its units.
    pub units: Vec<UnitUse>,
    /// Its units along one input column.
    pub path: Option<HiddenPath>,
    /// The image of a regular grid of two inputs in two units.
    pub net: Option<HiddenNet>,
    /// The rows of the data in two units.
    pub cloud: Option<HiddenCloud>,
}

/// How much a hidden unit is used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitUse {
    /// Standard deviation of its mean over the data.
    pub spread: f64,
    /// Root of its mean variance: how uncertain it is.
    pub noise: f64,
    /// The spread in lengthscales of the next layer: how much that layer can see of it.
    pub reach: f64,
}

/// Hidden units along one input column, other columns at their medians.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HiddenPath {
    /// The column.
    pub column: String,
    /// Its values.
    pub at: Vec<f64>,
    /// Means, unit by unit.
    pub mean: Vec<Vec<f64>>,
    /// Standard deviations, unit by unit.
    pub std: Vec<Vec<f64>>,
    /// Speed of the hidden means along the path in lengthscales of the next layer, divided by its mean.
    pub stretch: Vec<f64>,
}

/// The image of a regular grid.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HiddenNet {
    /// The two input columns.
    pub columns: [String; 2],
    /// The two units, from 0.
    pub units: [usize; 2],
    /// Images of lines along the first column.
    pub along_first: Vec<Vec<(f64, f64)>>,
    /// Images of lines along the second column.
    pub along_second: Vec<Vec<(f64, f64)>>,
}

/// Rows of the data in two hidden units.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HiddenCloud {
    /// The two units, from 0.
    pub units: [usize; 2],
    /// Means of each row.
    pub mean: [Vec<f64>; 2],
    /// Standard deviations of each row.
    pub std: [Vec<f64>; 2],
    /// Name of the target that colours the rows.
    pub target: String,
    /// Its observed values.
    pub value: Vec<f64>,
}

/// Predictions of one target along one column, other columns at their medians.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slice {
    /// The column.
    pub column: String,
    /// The target.
    pub target: String,
    /// Values of the column.
    pub x: Vec<f64>,
    /// What is expected.
    pub mean: Vec<f64>,
    /// Ends of the central 95 % interval of the function.
    pub function: [Vec<f64>; 2],
    /// Ends of the central 95 % interval of an observation.
    pub observation: [Vec<f64>; 2],
    /// Observations to show with it, x and y; where other columns matter there are none.
    pub observed: (Vec<f64>, Vec<f64>),
    /// Whether the column has a few values only, with nothing between them.
    pub discrete: bool,
}

/// Predictions of one target over a grid of two columns, other columns at their medians.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surface {
    /// The two columns.
    pub columns: [String; 2],
    /// The target.
    pub target: String,
    /// What the two pictures show: "standard deviation", "probability of yes".
    pub shows: [String; 2],
    /// Edges of the cells along each column.
    pub edges: [Vec<f64>; 2],
    /// Names of several labels, if what is expected is one of them.
    pub labels: Vec<String>,
    /// What is expected, the first column running fastest: a number, a probability, or the number of a label.
    pub mean: Vec<f64>,
    /// Standard deviation of an observation, or the probability that the label is another.
    pub std: Vec<f64>,
}
