//! Numbers with as many digits as they deserve.

use deepgp_report::plot::{minus, number, superscript};

/// A mean with its uncertainty: two digits of the uncertainty decide how many the mean has. Very small and large
/// numbers share a power of ten.
pub fn with_spread(mean: f64, spread: Option<f64>) -> String {
    let Some(spread) = visible(mean, spread) else { return number(mean) };
    let (exponent, decimals) = scale(mean, spread);
    let shown = |value: f64| fixed(value / 10f64.powi(exponent), decimals);
    let text = format!("{} ± {}", shown(mean), shown(spread));
    if exponent == 0 { text } else { format!("({text})×{}", superscript(exponent)) }
}

/// A number with the digits that its uncertainty leaves it.
pub fn to_spread(value: f64, spread: Option<f64>) -> String {
    let Some(spread) = visible(value, spread) else { return number(value) };
    let (exponent, decimals) = scale(value, spread);
    let text = fixed(value / 10f64.powi(exponent), decimals);
    if exponent == 0 { text } else { format!("{text}×{}", superscript(exponent)) }
}

/// The uncertainty, if it is more than rounding.
fn visible(value: f64, spread: Option<f64>) -> Option<f64> {
    spread.filter(|s| *s > 1e-9 * value.abs() && s.is_finite() && value.is_finite())
}

/// The common power of ten, and digits after the point.
fn scale(mean: f64, spread: f64) -> (i32, usize) {
    let size = mean.abs().max(spread);
    let exponent = if (1e-3..1e6).contains(&size) { 0 } else { size.log10().floor() as i32 };
    let least = (spread / 10f64.powi(exponent)).log10().floor() as i32;
    (exponent, (1 - least).clamp(0, 6) as usize)
}

/// So many digits after the point.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // A small negative number must not become "−0.00".
    let zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    minus(if zero { text.trim_start_matches('-') } else { &text })
}

/// Three digits.
pub fn short(value: f64) -> String {
    let decimals = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 8) };
    fixed(value, decimals as usize)
}

/// A p value.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uncertainty_decides_the_digits() {
        for (mean, spread, text) in [
            (2.61234, Some(0.0612), "2.612 ± 0.061"),
            (-2.2249, Some(0.31), "−2.22 ± 0.31"),
            (70.583, Some(4.4), "70.6 ± 4.4"),
            (70.583, Some(44.0), "71 ± 44"),
            (0.000_312, Some(0.000_011), "(3.12 ± 0.11)×10⁻⁴"),
            (-0.0004, Some(0.31), "0.00 ± 0.31"),
            (2.5, Some(0.0), "2.5"),
            (2.5, None, "2.5"),
            (0.94, Some(1e-17), "0.94"),
            (1.0, Some(1e-8), "1.000000 ± 0.000000"),
            (4.2e7, Some(3e5), "(4.200 ± 0.030)×10⁷"),
        ] {
            assert_eq!(with_spread(mean, spread), text);
        }
        assert_eq!((to_spread(2.61234, Some(0.0612)), to_spread(-1.5, None)), ("2.612".into(), "−1.5".into()));
        assert_eq!((short(0.011_382), short(0.0005), short(123.4)), ("0.0114".into(), "0.000500".into(), "123".into()));
        assert_eq!((p_value(0.0004), p_value(0.0312)), ("< 0.001".into(), "0.031".into()));
    }
}
