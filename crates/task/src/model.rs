//! A trained model that speaks the data's own units.

use crate::law::{NetworkLaws, is_continuous};
use crate::likelihood_choice::ConstantLaw;
use crate::member::Member;
use crate::predictive::Predictive;
use crate::row_info::{RowInfo, Rows};
use crate::scores::{ScoreTally, Scores};
use crate::standardise::Standardiser;
use crate::task::Task;
use deepgp::gauss::DiagGaussian;
use deepgp::predict::{Points, Prediction, Predictor};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;

/// A trained network, or a mixture of several, with the standardisers of inputs and targets. It never changes, so
/// threads can share it.
#[derive(Debug)]
pub struct Model {
    task: Task,
    inputs: Standardiser,
    targets: Standardiser,
    /// The heaviest first; their weights add up to 1.
    members: Vec<Member<Predictor>>,
    /// Factor of all predicted standard deviations.
    std_factor: f64,
    /// The law of the training targets, where they are no numbers of a regression.
    average_row: Option<ConstantLaw>,
}

impl Model {
    /// A mixture of networks for the same inputs and targets. Weights are divided by their sum.
    ///
    /// # Errors
    /// As [`Predictor::new`] for each network; [`Error::Shape`] for one that does not fit the standardisers,
    /// [`Error::Empty`] if there is none, [`Error::Parameter`] for a weight that is not positive and finite.
    pub fn mixture(task: Task, inputs: Standardiser, targets: Standardiser, mut mixed: Vec<Member>) -> Result<Self> {
        if mixed.is_empty() {
            return Err(Error::Empty { what: "networks of a mixture", rows: 0, columns: 1 });
        }
        mixed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let total: f64 = mixed.iter().map(|m| m.weight).sum();
        let mut members = Vec::new();
        for member in mixed {
            if !(member.weight > 0.0 && total.is_finite()) {
                let (name, requirement) = ("weight of a network", "it must be positive and finite");
                return Err(Error::Parameter { name, layer: None, entry: None, value: member.weight, requirement });
            }
            member.fitted.check()?;
            member.check(inputs.columns(), targets.columns())?;
            let Member { weight, fitted, coding, warps, indicators } = member;
            let (weight, fitted) = (weight / total, Predictor::new(fitted)?);
            members.push(Member { weight, fitted, coding, warps, indicators });
        }
        Ok(Self { task, inputs, targets, members, std_factor: 1.0, average_row: None })
    }

    /// This model with all predicted deviations from the mean, before any transform is undone, multiplied by a factor:
    /// every law stays what it is, but wider.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a factor that is not positive and finite, or one that is not 1 where there are gaps
    /// between the values of targets, which cannot be moved.
    pub fn with_std_factor(self, factor: f64) -> Result<Self> {
        let requirement = match factor > 0.0 && factor.is_finite() {
            true if factor == 1.0 || self.is_continuous() => return Ok(Self { std_factor: factor, ..self }),
            true => "it must be 1 where targets take separate values",
            false => "it must be positive and finite",
        };
        let name = "factor of standard deviations";
        Err(Error::Parameter { name, layer: None, entry: None, value: factor, requirement })
    }

    /// This model with the law that rows have if nothing is known of their inputs, to compare with.
    pub fn with_average_row(self, average_row: Option<ConstantLaw>) -> Self {
        Self { average_row, ..self }
    }

    /// What a model without inputs says of so many rows; see [`Task::constant`].
    pub fn constant(&self, n_rows: usize, info: Option<&RowInfo>) -> Predictive {
        self.task.constant(&self.targets, self.average_row.as_ref(), n_rows, info)
    }

    /// Factor of all predicted standard deviations; 1 unless they were calibrated.
    pub fn std_factor(&self) -> f64 {
        self.std_factor
    }

    /// Whether targets can be any number.
    pub(crate) fn is_continuous(&self) -> bool {
        !self.task.is_discrete()
            && self.members.iter().all(|member| is_continuous(member.fitted.fitted().network.likelihood()))
    }

    /// The predictor of the network, or of the heaviest of a mixture, in standardised units; its inputs may have
    /// indicators.
    pub fn predictor(&self) -> &Predictor {
        &self.members[0].fitted
    }

    /// Moments of every layer of the network, or of the heaviest of a mixture, for raw inputs; the layers' own units.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn layers(&self, x: &Mat) -> Result<Vec<DiagGaussian>> {
        let heaviest = &self.members[0];
        heaviest.fitted.layers(&*heaviest.inputs(&self.inputs.apply(x, "inputs")?)?)
    }

    /// Numbers that belong to the features of the network, or of the heaviest of a mixture, added up by input.
    ///
    /// # Panics
    /// If there are fewer numbers than features.
    pub fn by_input(&self, of_features: &[f64]) -> Vec<f64> {
        match &self.members[0].indicators {
            None => of_features.to_vec(),
            Some(indicators) => indicators.by_input(of_features),
        }
    }

    /// The predictors of all networks with their weights, the heaviest first.
    pub fn members(&self) -> impl Iterator<Item = (f64, &Predictor)> {
        self.members.iter().map(|member| (member.weight, &member.fitted))
    }

    /// All networks, the heaviest first, each with the form in which it takes inputs and targets.
    pub(crate) fn parts(&self) -> &[Member<Predictor>] {
        &self.members
    }

    /// What the targets are.
    pub fn task(&self) -> Task {
        self.task
    }

    /// How inputs are standardised.
    pub fn inputs(&self) -> &Standardiser {
        &self.inputs
    }

    /// How targets are standardised.
    pub fn targets(&self) -> &Standardiser {
        &self.targets
    }

    /// Moments of f and y for raw rows, in the targets' units.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Shape`] or [`Error::NotFinite`] for the inputs, and as [`RowInfo::check`].
    pub fn predict<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Prediction> {
        let (f, y) = self.distributions(rows)?;
        Ok(Prediction { f: f.moments()?, y: y.moments()?, seen_var: None })
    }

    /// Predictive laws of y for raw rows: quantiles, probabilities, moments.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn predictive<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Predictive> {
        Ok(self.distributions(rows)?.1)
    }

    /// Predictive laws of f, the target without its noise, and of y.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn distributions<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<(Predictive, Predictive)> {
        let Rows { x, info } = rows.into();
        if let Some(info) = info {
            info.check(x.rows())?;
        }
        let x = self.inputs.apply(x, "inputs")?;
        let (mut of_f, mut of_y) = (Vec::new(), Vec::new());
        for member in &self.members {
            let (x, likelihood) = (member.inputs(&x)?, member.fitted.fitted().network.likelihood());
            let offset = info.and_then(|info| info.offset(likelihood, &self.targets, member.coding.as_ref()));
            let points = match &offset {
                Some(offset) => Points::new(&x).with_offset(offset),
                None => Points::new(&x),
            };
            let [f, y] = NetworkLaws::new(likelihood, member.fitted.predict(points)?);
            of_f.push(member.with(f));
            of_y.push(member.with(y));
        }
        let with = |parts| Predictive::new(self.task, parts, self.targets.clone()).widened(self.std_factor);
        Ok((with(of_f), with(of_y)))
    }

    /// Log density (or probability) of each row's targets, jointly over targets, in nats per row of the targets' own
    /// units.
    ///
    /// # Errors
    /// As [`Model::predict`], and for targets that do not fit.
    pub fn log_density<'a>(&self, rows: impl Into<Rows<'a>>, y: &Mat) -> Result<Vec<f64>> {
        self.predictive(rows)?.log_density(y)
    }

    /// Scores on raw data.
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn score<'a>(&self, rows: impl Into<Rows<'a>>, y: &Mat) -> Result<Scores> {
        let mut tally = ScoreTally::new();
        self.tally(rows, y, &mut tally)?;
        tally.scores()
    }

    /// Adds raw rows to scores in the making, with their weights if they have some; returns the predictive laws of y.
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn tally<'a>(&self, rows: impl Into<Rows<'a>>, y: &Mat, tally: &mut ScoreTally) -> Result<Predictive> {
        let rows = rows.into();
        let predictive = self.predictive(rows)?;
        tally.add_weighted(&predictive, y, rows.weights())?;
        Ok(predictive)
    }
}
