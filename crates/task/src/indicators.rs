//! Indicators beside inputs that take few values: what a number means need not be how large it is.
//!
//! ```text
//! x_q takes the values l_1 < … < l_K          appended: [x_q = l_1], …, [x_q = l_K]
//! ```
//! The number itself stays, so that values between and beyond those of the training rows, which have no indicator,
//! still lie where they lie.

use crate::standardise::Standardiser;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// Least and most values of an input that gets indicators: with two, the number is an indicator already.
const LEVELS: [usize; 2] = [3, 15];
/// Least training rows for each value, on average.
const ROWS_PER_LEVEL: usize = 10;
/// Most indicators of all inputs together; an input that needs more than are left gets none.
const MOST_INDICATORS: usize = 50;
/// Share of the least difference between values up to which a number is one of them, and of their range up to which two
/// values are the same: digits can be lost on the way.
const SAME: f64 = 1e-6;
const SAME_VALUE: f64 = 1e-9;

/// The values of inputs that take few, learnt from training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Levels>", into = "Vec<Levels>")]
pub struct Indicators {
    inputs: Vec<Levels>,
}

/// The values of one input, ascending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Levels {
    input: usize,
    values: Vec<f64>,
}

impl Indicators {
    /// Learns them from the rows of `x` (N × D); nothing if no input takes few values. Cost: O(N D).
    pub fn learn(x: &Mat) -> Option<Self> {
        let (mut inputs, mut room) = (Vec::new(), MOST_INDICATORS);
        for input in 0..x.cols() {
            let Some(values) = few_values(x, input, LEVELS[1].min(room)) else { continue };
            if values.len() >= LEVELS[0] && values.len() * ROWS_PER_LEVEL <= x.rows() {
                room -= values.len();
                inputs.push(Levels { input, values });
            }
        }
        (!inputs.is_empty()).then_some(Self { inputs })
    }

    /// These indicators, for inputs that have been standardised.
    ///
    /// # Panics
    /// If there are fewer columns than inputs with indicators.
    pub fn standardised(&self, by: &Standardiser) -> Self {
        let of_input = |levels: &Levels| {
            let (mean, scale) = (by.mean()[levels.input], by.scale()[levels.input]);
            Levels { values: levels.values.iter().map(|value| (value - mean) / scale).collect(), ..*levels }
        };
        Self { inputs: self.inputs.iter().map(of_input).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.inputs.iter().map(|levels| levels.values.len()).sum()
    }

    /// Rows with their indicators, N × (D + count).
    ///
    /// # Errors
    /// As [`Indicators::check`].
    pub fn append(&self, x: &Mat) -> Result<Mat> {
        self.check(x.cols())?;
        let mut out = Mat::zeros(x.rows(), x.cols() + self.count());
        for n in 0..x.rows() {
            let (numbers, mut indicators) = out.row_mut(n).split_at_mut(x.cols());
            numbers.copy_from_slice(x.row(n));
            for levels in &self.inputs {
                let (of_input, rest) = indicators.split_at_mut(levels.values.len());
                if let Some(place) = levels.place(numbers[levels.input]) {
                    of_input[place] = 1.0;
                }
                indicators = rest;
            }
        }
        Ok(out)
    }

    /// Numbers that belong to inputs and their indicators, added up by input: what the indicators of an input say, it
    /// says.
    ///
    /// # Panics
    /// If there are fewer numbers than indicators.
    pub fn by_input(&self, numbers: &[f64]) -> Vec<f64> {
        let (inputs, mut indicators) = numbers.split_at(numbers.len() - self.count());
        let mut sums = inputs.to_vec();
        for levels in &self.inputs {
            let (of_input, rest) = indicators.split_at(levels.values.len());
            sums[levels.input] += of_input.iter().sum::<f64>();
            indicators = rest;
        }
        sums
    }

    /// Checks that they fit so many inputs.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self, inputs: usize) -> Result<()> {
        match self.inputs.iter().find(|levels| levels.input >= inputs) {
            None => Ok(()),
            Some(levels) => Err(Error::Shape {
                what: "inputs with indicators",
                expected: inputs,
                found: levels.input.saturating_add(1),
            }),
        }
    }
}

impl Levels {
    /// Which of the values a number is.
    fn place(&self, number: f64) -> Option<usize> {
        let least_gap = self.values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        self.values.iter().position(|value| (value - number).abs() <= SAME * least_gap)
    }
}

/// The different values of an input, ascending, if they are no more than so many.
fn few_values(x: &Mat, input: usize, most: usize) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = Vec::new();
    for n in 0..x.rows() {
        // Zero has one sign here.
        let number = x[(n, input)] + 0.0;
        if let Err(place) = values.binary_search_by(|value| value.total_cmp(&number)) {
            values.insert(place, number);
        }
        if values.len() > most {
            return None;
        }
    }
    let range = values.last().zip(values.first()).map_or(0.0, |(last, first)| last - first);
    values.dedup_by(|next, value| *next - *value <= SAME_VALUE * range);
    Some(values)
}

impl From<Indicators> for Vec<Levels> {
    fn from(indicators: Indicators) -> Self {
        indicators.inputs
    }
}

impl TryFrom<Vec<Levels>> for Indicators {
    type Error = Error;

    fn try_from(inputs: Vec<Levels>) -> Result<Self> {
        let is_ascending = |levels: &Levels| {
            let values = &levels.values;
            values.iter().all(|v| v.is_finite()) && values.windows(2).all(|pair| pair[0] < pair[1])
        };
        for (entry, levels) in inputs.iter().enumerate() {
            let is_in_order = entry == 0 || inputs[entry - 1].input < levels.input;
            if !(is_in_order && (LEVELS[0]..=LEVELS[1]).contains(&levels.values.len()) && is_ascending(levels)) {
                let (name, requirement) = ("input with indicators", "inputs and their few values must ascend");
                let value = levels.input as f64;
                return Err(Error::Parameter { name, layer: None, entry: Some(entry), value, requirement });
            }
        }
        Ok(Self { inputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number, a code with the values 1, 2 and 4, and a yes or no.
    fn rows(n: usize) -> Mat {
        Mat::from_fn(n, 3, |i, j| match j {
            0 => (0.7 * i as f64).sin(),
            1 => [1.0, 4.0, 2.0][i % 3],
            _ => (i % 2) as f64,
        })
    }

    #[test]
    fn inputs_of_few_values_get_an_indicator_of_each() -> Result<()> {
        let x = rows(60);
        let indicators = Indicators::learn(&x).expect("a code");
        assert_eq!(indicators.count(), 3);
        let new = Mat::from_rows(&[[0.5, 2.0, 1.0], [0.5, 1.0 + 1e-9, 1.0], [0.5, 3.0, 0.0]])?;
        let all = indicators.append(&new)?;
        assert_eq!(all.row(0), [0.5, 2.0, 1.0, 0.0, 1.0, 0.0]);
        assert_eq!(all.row(1)[3..], [1.0, 0.0, 0.0]);
        // A value that the training rows do not have is none of theirs.
        assert_eq!(all.row(2), [0.5, 3.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(indicators.by_input(&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), [1.0, 62.0, 3.0]);
        assert!(matches!(indicators.append(&Mat::zeros(1, 1)), Err(Error::Shape { .. })));
        Ok(())
    }

    #[test]
    fn values_that_are_all_but_equal_are_one() {
        // 0.3 in two ways, and a zero of either sign.
        let values = [0.0, -0.0, 0.3, 0.1 + 0.2, 0.7];
        let x = Mat::from_fn(60, 1, |i, _| values[i % 5]);
        let indicators = Indicators::learn(&x).expect("few values");
        assert_eq!(indicators.count(), 3);
        let text = serde_json::to_string(&indicators).expect("JSON");
        assert_eq!(serde_json::from_str::<Indicators>(&text).expect("sound"), indicators);
        let all = indicators.append(&x).expect("one input");
        assert!((0..60).all(|n| all.row(n)[1..].iter().sum::<f64>() == 1.0));
    }

    #[test]
    fn standardised_inputs_have_the_same_indicators() -> Result<()> {
        let x = rows(60);
        let by = Standardiser::fit(&x, "inputs")?;
        let indicators = Indicators::learn(&x).expect("a code");
        let (before, after) = (indicators.append(&x)?, indicators.standardised(&by).append(&by.apply(&x, "inputs")?)?);
        assert!((0..60).all(|n| before.row(n)[3..] == after.row(n)[3..]));
        Ok(())
    }

    #[test]
    fn rows_must_be_many_and_indicators_few() {
        assert_eq!(Indicators::learn(&rows(29)), None);
        assert_eq!(Indicators::learn(&Mat::from_fn(60, 1, |i, _| i as f64)), None);
        let wide = Mat::from_fn(200, 30, |i, j| ((i * (j + 1)) % 5) as f64);
        assert!(Indicators::learn(&wide).is_some_and(|all| all.count() == MOST_INDICATORS));
    }

    #[test]
    fn only_sound_ones_are_read() -> std::result::Result<(), serde_json::Error> {
        let indicators = Indicators::learn(&rows(60)).expect("a code");
        let text = serde_json::to_string(&indicators)?;
        assert_eq!(serde_json::from_str::<Indicators>(&text)?, indicators);
        for bad in [
            r#"[{"input":1,"values":[1.0,1.0,2.0]}]"#,
            r#"[{"input":1,"values":[1.0]}]"#,
            r#"[{"input":1,"values":[1.0,2.0,3.0]},{"input":1,"values":[1.0,2.0,3.0]}]"#,
        ] {
            assert!(serde_json::from_str::<Indicators>(bad).is_err(), "{bad}");
        }
        Ok(())
    }
}
