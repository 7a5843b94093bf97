//! The tails of Student's t distribution.

use statrs::function::beta::beta_reg;

/// Probability that |T| exceeds |t| for T of Student's distribution with `dof` degrees of freedom.
///
/// ```text
/// P(|T| > |t|) = I_x(ν/2, ½)      x = ν/(ν + t²)
/// ```
/// with the regularised incomplete beta function I. Absolute errors are below 1e-7 up to 1000 degrees of freedom.
/// Reference: Abramowitz and Stegun (1964), 26.7.1 and 26.5.27.
pub fn two_sided(t: f64, dof: f64) -> f64 {
    if t.is_infinite() { 0.0 } else { beta_reg(0.5 * dof, 0.5, dof / (dof + t * t)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Two-sided 5 % and 1 % points of tables of Student's distribution, to three digits after the point.
    #[test]
    fn points_of_the_tables() {
        for (dof, five, one) in [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (4.0, 2.776, 4.604),
            (9.0, 2.262, 3.250),
            (19.0, 2.093, 2.861),
            (30.0, 2.042, 2.750),
            (120.0, 1.980, 2.617),
        ] {
            assert!((two_sided(five, dof) - 0.05).abs() < 5e-5, "{dof}: {}", two_sided(five, dof));
            assert!((two_sided(one, dof) - 0.01).abs() < 2e-5, "{dof}: {}", two_sided(one, dof));
        }
    }

    /// One degree of freedom is Cauchy's distribution, P = 1 − (2/π) atan t; two give P = 1 − t/√(2 + t²).
    #[test]
    fn closed_forms() {
        for t in [1e-8, 0.01, 0.5, 1.0, 2.0, 7.0, 40.0] {
            // For a tiny t, 1 − x is lost.
            let tolerance = if t < 0.01 { 1e-7 } else { 1e-12 };
            let one = 2.0 / PI * (1.0_f64 / t).atan();
            assert!((two_sided(t, 1.0) / one - 1.0).abs() < tolerance, "{t}");
            let root = (2.0 + t * t).sqrt();
            let two = 2.0 / (root * (root + t));
            assert!((two_sided(t, 2.0) / two - 1.0).abs() < tolerance, "{t}");
        }
    }

    #[test]
    fn ends_sides_and_many_degrees_of_freedom() {
        for dof in [1.0, 3.0, 19.0, 1e3] {
            assert_eq!((two_sided(0.0, dof), two_sided(f64::INFINITY, dof)), (1.0, 0.0));
            assert_eq!(two_sided(-1.7, dof), two_sided(1.7, dof));
            let falling: Vec<f64> = (0..400).map(|i| two_sided(f64::from(i) * 0.1, dof)).collect();
            assert!(falling.windows(2).all(|w| w[1] < w[0] || w[0] < 1e-300), "{dof}");
        }
        // Towards the normal distribution, whose error in 1/ν is φ(t) t (t² + 1)/(2ν).
        let (t, dof) = (1.96_f64, 1e4);
        let normal = 2.0 * deepgp_numerics::special::ndtr(-t);
        let expected = normal + deepgp_numerics::special::phi(t) * t * (t * t + 1.0) / (2.0 * dof);
        assert!((two_sided(t, dof) - expected).abs() < 1e-7);
    }
}
