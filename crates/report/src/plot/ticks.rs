//! Round numbers along an axis, and how they are written.

/// Places on an axis with their labels.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ticks {
    /// Where they are, in the axis' own units, in rising order.
    pub at: Vec<f64>,
    /// What is written there.
    pub labels: Vec<String>,
    /// What must be added to the axis' label to make the tick labels true: "×10⁶" or "− 1000"; mostly nothing.
    pub unit: String,
}

/// At most `most` (and a few, if there is room for them) round numbers between `low` and `high`.
///
/// Steps are 1, 2, 2.5 or 5 times a power of ten. Large and small numbers are written with one common power of ten;
/// numbers that differ only in their last digits, by what they are above a common number.
///
/// # Panics
/// If the range is not finite or empty.
pub fn linear(low: f64, high: f64, most: usize) -> Ticks {
    assert!(low.is_finite() && high.is_finite() && low < high, "an axis from {low} to {high}");
    let raw = (high - low) / most.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|s| s * power).find(|&s| s >= raw * (1.0 - 1e-9));
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    let at: Vec<f64> = (0..=(last - first).max(-1.0) as i64).map(|i| (first + i as f64) * step + 0.0).collect();
    let at = if last < first { Vec::new() } else { at };
    label(at, step)
}

/// Powers of ten between `low` and `high`, or other round numbers where there are fewer than three.
///
/// # Panics
/// If the range is not finite and positive, or empty.
pub fn log(low: f64, high: f64, most: usize) -> Ticks {
    assert!(low > 0.0 && high.is_finite() && low < high, "a logarithmic axis from {low} to {high}");
    let most = most.max(1);
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let powers = last - first + 1;
    if powers < 3 {
        // 1, 2 and 5 of each power, and if they are too few, what a linear axis would have.
        let candidates = (first - 1..=last + 1).flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)));
        let at: Vec<f64> = candidates.filter(|v| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(v)).collect();
        if (3..=most.max(3)).contains(&at.len()) && (1e-3..1e5).contains(&at[0]) {
            let labels = at.iter().map(|&v| number(v)).collect();
            return Ticks { at, labels, unit: String::new() };
        }
        if powers < 2 {
            return linear(low, high, most);
        }
    }
    let stride = powers.unsigned_abs().div_ceil(most as u32).max(1) as usize;
    let (at, labels) = (first..=last).step_by(stride).map(|k| (10f64.powi(k), power_of_ten(k))).unzip();
    Ticks { at, labels, unit: String::new() }
}

/// Writes numbers that are multiples of `step`.
fn label(at: Vec<f64>, step: f64) -> Ticks {
    let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return Ticks::default() };
    if first == 0.0 && last == 0.0 {
        return Ticks { at, labels: vec!["0".to_owned()], unit: String::new() };
    }
    let largest = first.abs().max(last.abs());
    let mut unit = String::new();
    // Numbers with more than six digits in common are written by their difference from a round number.
    let mut offset = 0.0;
    if largest / step > 2e5 && largest / (last - first).max(step) > 1e3 {
        let round = 10f64.powf((10.0 * (last - first).max(step)).log10().ceil());
        offset = (first / round).floor() * round;
        let sign = if offset < 0.0 { '+' } else { '−' };
        unit = format!("{sign} {}", multiple(offset.abs(), round));
    }
    let largest = (first - offset).abs().max((last - offset).abs());
    if largest < 1e-6 * step {
        // A single number, and nothing is left of it.
        return Ticks { labels: vec!["0".to_owned(); at.len()], at, unit };
    }
    let mut exponent = 0;
    if largest > 0.0 && !(1e-3..1e5).contains(&largest) {
        // Powers of a thousand, as in kilo, mega, giga.
        exponent = 3 * (largest.log10() / 3.0 + 1e-12).floor() as i32;
        unit = format!("{unit} ×{}", superscript(exponent)).trim_start().to_owned();
    }
    // Two powers, as one of them may lie outside the range of numbers when the other does not.
    let scaled = |v: f64| (v - offset) / 10f64.powi(exponent / 2) / 10f64.powi(exponent - exponent / 2);
    let scaled_step = step / 10f64.powi(exponent / 2) / 10f64.powi(exponent - exponent / 2);
    let decimals = (0..15).find(|&d| {
        let shifted = scaled_step * 10f64.powi(d);
        (shifted - shifted.round()).abs() < 1e-6 * shifted
    });
    let decimals = decimals.unwrap_or(15) as usize;
    let labels = at.iter().map(|&v| minus(&format!("{:.decimals$}", scaled(v) + 0.0))).collect();
    Ticks { at, labels, unit }
}

/// A number in as few characters as it needs, to about four digits: for sentences and tables.
pub fn number(v: f64) -> String {
    if !v.is_finite() {
        return minus(if v.is_nan() {
            "not a number"
        } else if v > 0.0 {
            "∞"
        } else {
            "-∞"
        });
    }
    let size = v.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        let power = size.log10().floor() as i32;
        let digits = v / 10f64.powi(power / 2) / 10f64.powi(power - power / 2);
        return minus(&format!("{digits:.2}×{}", superscript(power)));
    }
    let decimals = if size == 0.0 { 0 } else { (3 - size.log10().floor() as i32).clamp(0, 6) as usize };
    let text = format!("{v:.decimals$}");
    minus(without_zeros(&text))
}

/// A positive multiple of a power of ten with all its digits, since a rounded one would make the tick labels false;
/// with an exponent where it would be long without.
fn multiple(v: f64, power_of_ten: f64) -> String {
    let (power, last) = (v.log10().floor() as i32, power_of_ten.log10().round() as i32);
    if (-6..12).contains(&power) && last >= -12 {
        return without_zeros(&format!("{v:.*}", last.min(0).unsigned_abs() as usize)).to_owned();
    }
    let written = format!("{v:.*e}", (power - last).clamp(0, 15) as usize);
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    format!("{}×{}", without_zeros(digits), superscript(exponent.parse().unwrap_or(power)))
}

/// Digits without the zeros that end their decimals.
fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// A power of ten as a tick label.
fn power_of_ten(k: i32) -> String {
    match k {
        0..=4 => format!("{}", 10f64.powi(k)),
        -3..=-1 => format!("{:.*}", k.unsigned_abs() as usize, 10f64.powi(k)),
        _ => superscript(k),
    }
}

/// 10ᵏ.
pub fn superscript(k: i32) -> String {
    let digit =
        |c: char| c.to_digit(10).map_or('⁻', |d| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][d as usize]);
    format!("10{}", k.to_string().chars().map(digit).collect::<String>())
}

/// The sign that is as wide as a digit, in place of the hyphen.
pub fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(t: &Ticks) -> Vec<&str> {
        t.labels.iter().map(String::as_str).collect()
    }

    #[test]
    fn everyday_ranges() {
        assert_eq!(labels(&linear(0.0, 10.0, 5)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&linear(-1.0, 1.0, 4)), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(&linear(0.013, 0.094, 4)), ["0.025", "0.050", "0.075"]);
        assert_eq!(labels(&linear(990.0, 1110.0, 5)), ["1000", "1025", "1050", "1075", "1100"]);
    }

    #[test]
    fn large_and_small_numbers_share_a_power_of_ten() {
        let large = linear(63_070.0, 115_600.0, 5);
        assert_eq!((labels(&large), large.unit.as_str()), (vec!["80", "100"], "×10³"));
        let small = linear(0.0, 4e-7, 4);
        assert_eq!((labels(&small), small.unit.as_str()), (vec!["0", "100", "200", "300", "400"], "×10⁻⁹"));
    }

    #[test]
    fn numbers_that_differ_in_their_last_digits_are_written_as_differences() {
        let t = linear(1_000_000.2, 1_000_001.1, 4);
        assert_eq!((labels(&t), t.unit.as_str()), (vec!["0.25", "0.50", "0.75", "1.00"], "− 1000000"));
        let t = linear(-5_000_000.9, -5_000_000.1, 4);
        assert_eq!(t.unit, "+ 5000010");
        let scale = 1e-10;
        let t = linear(scale * -702_423.801, scale * -702_423.797, 1);
        assert_eq!((labels(&t), t.unit.as_str()), (vec!["0"], "+ 0.00007024238"));
        // With an exponent where zeros would fill the axis, and with every digit all the same.
        assert_eq!(linear(5.231362e-112, 5.231364e-112, 2).unit, "− 5.2313×10⁻¹¹² ×10⁻¹¹⁷");
        assert_eq!(linear(1_234_567_891_200.0, 1_234_567_891_300.0, 2).unit, "− 1.234567891×10¹²");
        assert_eq!(linear(1_731_800_000_000.0, 1_731_800_007_000.0, 5).unit, "− 1.7318×10¹²");
    }

    #[test]
    fn logarithmic_axes() {
        assert_eq!(labels(&log(0.05, 2000.0, 8)), ["0.1", "1", "10", "100", "1000"]);
        assert_eq!(labels(&log(1e-6, 1e-4, 8)), ["10⁻⁶", "10⁻⁵", "10⁻⁴"]);
        assert_eq!(labels(&log(3.0, 60.0, 8)), ["5", "10", "20", "50"]);
        assert_eq!(labels(&log(0.5, 20.0, 6)), ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(&log(3.9, 9.9, 4)), ["4", "6", "8"]);
        assert!(log(1e-300, 1e300, 6).at.len() <= 6);
        assert!(log(5.1, 5.3, 4).at.len() >= 2);
    }

    #[test]
    fn numbers_in_sentences() {
        let written: Vec<String> = [0.0, 1.0, -2.5, 0.12345, 1234.56, 12345.6, 1e7, -3.2e-5, 1e300, f64::INFINITY]
            .into_iter()
            .map(number)
            .collect();
        let expected = ["0", "1", "−2.5", "0.1235", "1235", "12346", "1.00×10⁷", "−3.20×10⁻⁵", "1.00×10³⁰⁰", "∞"];
        assert_eq!(written, expected);
    }

    proptest! {
        #[test]
        fn ticks_rise_inside_the_range_and_differ_in_writing(
            centre in -1e6..1e6_f64, log_span in -8.0..8.0_f64, magnitude in -200..200, most in 1..12_usize
        ) {
            let scale = 10f64.powi(magnitude);
            let span = 10f64.powf(log_span) + 1e-9 * centre.abs();
            let (low, high) = (scale * (centre - span), scale * (centre + span));
            let t = linear(low, high, most);
            prop_assert!(t.at.len() <= most + 2 && t.at.len() == t.labels.len());
            prop_assert!(t.at.windows(2).all(|w| w[0] < w[1]));
            let slack = 1e-6 * (high - low);
            prop_assert!(t.at.iter().all(|&v| v >= low - slack && v <= high + slack));
            prop_assert!(t.labels.windows(2).all(|w| w[0] != w[1]), "{:?}", t);
            prop_assert!(t.labels.iter().all(|l| l.chars().count() <= 12), "{:?}", t);
            prop_assert!(t.unit.chars().count() <= 30, "{:?}", t);
        }
    }
}
