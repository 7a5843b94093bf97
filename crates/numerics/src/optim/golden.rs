//! The maximum of a function of one number, by golden sections.

/// Where `f` is greatest between `low` and `high`, for a function with one maximum there: each of so many sections
/// leaves 0.618 of the interval, and the middle of the last one is returned. NaN counts as less than everything.
pub fn golden_section(low: f64, high: f64, sections: usize, f: impl Fn(f64) -> f64) -> f64 {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (low, high);
    let inner = |low: f64, high: f64| [high - golden * (high - low), low + golden * (high - low)];
    let [mut a, mut b] = inner(low, high);
    let (mut f_a, mut f_b) = (f(a), f(b));
    for _ in 0..sections {
        // One of the two inner points serves again.
        if f_a > f_b || f_b.is_nan() {
            (high, b, f_b) = (b, a, f_a);
            a = inner(low, high)[0];
            f_a = f(a);
        } else {
            (low, a, f_a) = (a, b, f_b);
            b = inner(low, high)[1];
            f_b = f(b);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maxima_are_found_inside_and_at_the_ends() {
        for (peak, expected) in [(0.3, 0.3), (-1.0, 0.0), (5.0, 2.0)] {
            let found = golden_section(0.0, 2.0, 40, |x: f64| -(x - peak).powi(2));
            assert!((found - expected).abs() < 1e-7, "{peak}: {found}");
        }
        let found = golden_section(0.0, 1.0, 40, |x| if x > 0.25 { f64::NAN } else { x });
        assert!((found - 0.25).abs() < 1e-7, "{found}");
    }
}
