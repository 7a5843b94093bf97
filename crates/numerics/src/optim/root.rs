//! The zero of a function of one number, in a bracket.

/// Evaluations after which the bracket is as good as it gets; halvings alone need some 50.
const MOST_EVALUATIONS: usize = 100;

/// A zero of `f` in [low, high], given f(low) ≤ 0 ≤ f(high): to `tolerance`, or to the spacing of numbers there. If `f`
/// does not change its sign, the result is the end at which it is closer to 0.
///
/// The first point is that of a straight line through both ends. Each later one is that of a parabola through the last
/// three points, x as a function of f, where these allow for one without a turn in between, and halves the bracket
/// elsewhere. Reference: Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm for finding the zero of a
/// nonlinear function without using derivatives".
pub fn root(low: f64, high: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut a, mut b) = ((low, f(low)), (high, f(high)));
    if a.1 >= 0.0 || b.1 <= 0.0 {
        return if a.1.abs() <= b.1.abs() { low } else { high };
    }
    let mut t = a.1 / (a.1 - b.1);
    for _ in 0..MOST_EVALUATIONS {
        let best = if a.1.abs() < b.1.abs() { a } else { b };
        // The share of the bracket that need not be told apart.
        let least = (tolerance + 2.0 * f64::EPSILON * best.0.abs()) / (b.0 - a.0).abs();
        let is_wide = least <= 0.5;
        if !is_wide || best.1 == 0.0 {
            break;
        }
        let x = a.0 + t.clamp(least, 1.0 - least) * (b.0 - a.0);
        let new = (x, f(x));
        // The new point takes the place of the end with its sign, which c keeps; a is the last point, b on its other
        // side.
        let c = if (new.1 > 0.0) == (a.1 > 0.0) { a } else { std::mem::replace(&mut b, a) };
        a = new;
        let (xi, phi) = ((a.0 - b.0) / (c.0 - b.0), (a.1 - b.1) / (c.1 - b.1));
        t = if phi * phi < xi && (1.0 - phi).powi(2) < 1.0 - xi {
            let (to_b, to_c) = (a.1 / (b.1 - a.1), a.1 / (c.1 - a.1));
            to_b * c.1 / (b.1 - c.1) + (c.0 - a.0) / (b.0 - a.0) * to_c * b.1 / (c.1 - b.1)
        } else {
            0.5
        };
    }
    if a.1.abs() < b.1.abs() { a.0 } else { b.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Roots of functions that are straight, bent, flat at the root, steep, and a step, with the evaluations that may
    /// be needed.
    #[test]
    fn roots_are_found_with_few_evaluations() {
        type Function = fn(f64) -> f64;
        let functions: [(Function, f64, usize); 6] = [
            (|x| 3.0 * x - 1.0, 1.0 / 3.0, 5),
            (|x| x.exp() - 2.0, std::f64::consts::LN_2, 10),
            (|x| x.powi(3) - 1e-9, 1e-3, 40),
            (|x| (1e3 * (x - 0.2)).tanh(), 0.2, 25),
            (|x| if x < 0.7 { -1.0 } else { 1.0 }, 0.7, 60),
            (|x| x, 0.0, 40),
        ];
        for (i, (f, zero, most)) in functions.into_iter().enumerate() {
            let count = Cell::new(0);
            let counted = |x: f64| {
                count.set(count.get() + 1);
                f(x)
            };
            let found = root(-2.0, 5.0, 1e-14, counted);
            assert!(
                (found - zero).abs() < 3e-14 && count.get() <= most,
                "function {i}: {found}, {} evaluations",
                count.get()
            );
        }
    }

    #[test]
    fn ends_are_roots_where_there_is_no_change_of_sign() {
        assert_eq!(root(1.0, 3.0, 0.0, |x| x - 1.0), 1.0);
        assert_eq!(root(1.0, 3.0, 0.0, |x| x - 3.0), 3.0);
        assert_eq!(root(1.0, 3.0, 0.0, |x| x), 1.0);
        assert_eq!(root(1.0, 3.0, 0.0, |x| x - 5.0), 3.0);
        assert_eq!(root(2.0, 2.0, 0.0, |x| x - 2.0), 2.0);
        assert_eq!(root(2.0, 2.0, 0.0, |x| x - 7.0), 2.0);
    }

    #[test]
    fn what_is_no_number_ends_the_search() {
        let found = root(0.0, 1.0, 1e-12, |x| if x > 0.2 && x < 0.9 { f64::NAN } else { x - 0.1 });
        assert!((0.0..=1.0).contains(&found), "{found}");
        root(f64::NAN, 1.0, 1e-12, |x| x);
        root(f64::NEG_INFINITY, f64::INFINITY, 1e-12, |x| x.clamp(-1.0, 1.0));
    }
}
