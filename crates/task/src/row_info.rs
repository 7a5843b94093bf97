//! What is known of rows besides their inputs and targets.
//!
//! ```text
//! exposure e    a count is in proportion to it          log e is added to the mean of the latent function
//! known noise s the target's deviation beside the noise that is learnt      s² is added to the latent variance
//! weight w      the row counts as that many rows
//! ```

use crate::coding::Coding;
use crate::standardise::Standardiser;
use deepgp::gauss::DiagGaussian;
use deepgp::likelihood::{Likelihood, Observation};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;

/// What is known of rows: a number for each of them, or nothing at all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowInfo {
    /// How many rows each counts as; positive.
    pub weight: Vec<f64>,
    /// What its count is in proportion to; positive.
    pub exposure: Vec<f64>,
    /// Known standard deviation of its target, in the target's unit; not negative.
    pub noise_std: Vec<f64>,
    /// Rows of the same group stay together where rows are divided.
    pub group: Vec<u64>,
    /// When it was observed: later rows validate what was learnt from earlier ones.
    pub time: Vec<f64>,
}

/// Calls the same method on every list.
macro_rules! on_lists {
    ($self:ident, $list:ident => $call:expr) => {
        RowInfo {
            weight: {
                let $list = &$self.weight;
                $call
            },
            exposure: {
                let $list = &$self.exposure;
                $call
            },
            noise_std: {
                let $list = &$self.noise_std;
                $call
            },
            group: {
                let $list = &$self.group;
                $call
            },
            time: {
                let $list = &$self.time;
                $call
            },
        }
    };
}

impl RowInfo {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is known of some of the rows.
    ///
    /// # Panics
    /// If one of them is not there.
    #[must_use]
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        fn pick<T: Copy>(list: &[T], rows: &[usize]) -> Vec<T> {
            if list.is_empty() { Vec::new() } else { rows.iter().map(|row| list[*row]).collect() }
        }
        on_lists!(self, list => pick(list, rows))
    }

    /// Takes a row of others as a new last one, or in the place of one of these.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn take(&mut self, others: &Self, row: usize, place: Option<usize>) {
        fn one<T: Copy>(list: &mut Vec<T>, others: &[T], row: usize, place: Option<usize>) {
            match (others.is_empty(), place) {
                (true, _) => {}
                (false, Some(place)) => list[place] = others[row],
                (false, None) => list.push(others[row]),
            }
        }
        one(&mut self.weight, &others.weight, row, place);
        one(&mut self.exposure, &others.exposure, row, place);
        one(&mut self.noise_std, &others.noise_std, row, place);
        one(&mut self.group, &others.group, row, place);
        one(&mut self.time, &others.time, row, place);
    }

    /// Checks that there is a sound number for each of so many rows.
    ///
    /// # Errors
    /// [`Error::Shape`], or [`Error::Parameter`] with the row and what it must be.
    pub fn check(&self, rows: usize) -> Result<()> {
        let lengths = [
            ("weights", self.weight.len()),
            ("exposures", self.exposure.len()),
            ("known deviations", self.noise_std.len()),
            ("groups", self.group.len()),
            ("times", self.time.len()),
        ];
        for (what, found) in lengths {
            if found != 0 && found != rows {
                return Err(Error::Shape { what, expected: rows, found });
            }
        }
        let expect = |name, list: &[f64], is_sound: &dyn Fn(f64) -> bool, requirement| match list
            .iter()
            .position(|v| !is_sound(*v))
        {
            None => Ok(()),
            Some(entry) => {
                Err(Error::Parameter { name, layer: None, entry: Some(entry), value: list[entry], requirement })
            }
        };
        let is_positive = |v: f64| v > 0.0 && v.is_finite();
        expect("weight", &self.weight, &is_positive, "it must be positive and finite")?;
        expect("exposure", &self.exposure, &is_positive, "it must be positive and finite")?;
        let is_deviation = |v: f64| v >= 0.0 && v.is_finite();
        expect("known deviation", &self.noise_std, &is_deviation, "it must be finite and not negative")?;
        expect("time", &self.time, &f64::is_finite, "it must be finite")?;
        Ok(())
    }

    /// What is added to the latent values of rows that a likelihood observes, where targets are in units of `targets`
    /// and `coding`; nothing if nothing is known that changes them.
    pub(crate) fn offset(
        &self,
        likelihood: &Likelihood,
        targets: &Standardiser,
        coding: Option<&Coding>,
    ) -> Option<DiagGaussian> {
        let latent = likelihood.n_latent();
        let unit = targets.scale()[0] * coding.map_or(1.0, |coding| coding.scale);
        match likelihood {
            Likelihood::Poisson(_) | Likelihood::NegativeBinomial(_) if !self.exposure.is_empty() => {
                let mean = Mat::from_fn(self.exposure.len(), latent, |n, _| self.exposure[n].ln());
                Some(DiagGaussian { var: Mat::zeros(mean.rows(), latent), mean })
            }
            Likelihood::Gaussian(_)
            | Likelihood::StudentT(_)
            | Likelihood::VaryingGaussian(_)
            | Likelihood::VaryingStudentT(_)
            | Likelihood::Censored(_)
                if !self.noise_std.is_empty() =>
            {
                let of = |n: usize, k: usize| if k == 0 { (self.noise_std[n] / unit).powi(2) } else { 0.0 };
                let var = Mat::from_fn(self.noise_std.len(), latent, of);
                Some(DiagGaussian { mean: Mat::zeros(var.rows(), latent), var })
            }
            _ => None,
        }
    }
}

/// Rows to predict: raw inputs, and what is known of them besides.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Inputs, N × D.
    pub x: &'a Mat,
    /// What else is known.
    pub info: Option<&'a RowInfo>,
}

impl<'a> Rows<'a> {
    /// What the rows count for; nothing if each counts once.
    pub fn weights(&self) -> &'a [f64] {
        self.info.map_or(&[], |info| &info.weight)
    }
}

impl<'a> From<&'a Mat> for Rows<'a> {
    fn from(x: &'a Mat) -> Self {
        Self { x, info: None }
    }
}

impl<'a> From<(&'a Mat, &'a RowInfo)> for Rows<'a> {
    fn from((x, info): (&'a Mat, &'a RowInfo)) -> Self {
        Self { x, info: Some(info).filter(|info| !info.is_empty()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_known_of_rows_is_refused() {
        let sound = RowInfo { weight: vec![1.0, 2.0], noise_std: vec![0.0, 3.0], ..RowInfo::default() };
        assert_eq!(sound.check(2), Ok(()));
        assert!(matches!(sound.check(3), Err(Error::Shape { what: "weights", .. })));
        for bad in [
            RowInfo { weight: vec![0.0, 1.0], ..RowInfo::default() },
            RowInfo { exposure: vec![1.0, -1.0], ..RowInfo::default() },
            RowInfo { noise_std: vec![f64::NAN, 1.0], ..RowInfo::default() },
        ] {
            assert!(matches!(bad.check(2), Err(Error::Parameter { .. })), "{bad:?}");
        }
        assert_eq!(sound.of_rows(&[1]).weight, [2.0]);
        assert!(sound.of_rows(&[1]).group.is_empty());
    }
}
