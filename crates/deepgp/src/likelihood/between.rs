//! The probability that a standard normal variable falls into an interval, in logarithms.
//!
//! ```text
//! ℓ = log(Φ(b) − Φ(a))        r_x = φ(x)/(Φ(b) − Φ(a))        ∂ℓ/∂a = −r_a        ∂ℓ/∂b = r_b
//! ```

use deepgp_numerics::special::{log_ndtr_slopes, log_phi};

/// ℓ = log(Φ(b) − Φ(a)) with what follows from it.
pub(super) struct Between {
    /// ℓ.
    pub log_p: f64,
    /// r_a and r_b.
    pub ratios: [f64; 2],
    /// ∂ℓ/∂s = r_b − r_a and ∂²ℓ/∂s² where a and b grow with s.
    pub slope: f64,
    pub curvature: f64,
}

/// Where the interval is narrower than this share of the scale on which φ changes, two terms of a series do.
const NARROW: f64 = 1e-4;

impl Between {
    /// For a < b = a + `width`; either may be infinite. With q = Φ(a)/Φ(b) and h = φ/Φ, nothing cancels in the tails:
    ///
    /// ```text
    /// ℓ = log Φ(b) + log(1 − q)        r_b = h_b/(1 − q)        r_a = q h_a/(1 − q)
    /// ∂²ℓ = h_b' − q''/(1 − q) − (q'/(1 − q))²        q' = q (h_a − h_b)        q'' = q ((h_a − h_b)² + h_a' − h_b')
    /// ```
    /// Where Φ is large, Φ(b) − Φ(a) = Φ(−a) − Φ(−b) takes its place; where the interval is narrow, with its middle c,
    /// Φ(b) − Φ(a) ≈ φ(c) width (1 + width² (c² − 1)/24).
    pub fn new(a: f64, b: f64, width: f64) -> Self {
        if a + b > 0.0 {
            let Self { log_p, ratios: [r_b, r_a], slope, curvature } = Self::new(-b, -a, width);
            return Self { log_p, ratios: [r_a, r_b], slope: -slope, curvature };
        }
        if a == f64::NEG_INFINITY {
            let [log_p, h_b, curvature] = log_ndtr_slopes(b);
            return Self { log_p, ratios: [0.0, h_b], slope: h_b, curvature };
        }
        let middle = 0.5 * (a + b);
        if width * (1.0 + middle.abs()) < NARROW {
            let square = width * width;
            let more = square * (middle * middle - 1.0) / 24.0;
            // φ(c ∓ w/2)/φ(c) = exp(±½wc − w²/8)
            let ratio = |side: f64| (0.5 * side * width * middle - 0.125 * square).exp() / (width * (1.0 + more));
            return Self {
                log_p: log_phi(middle) + width.ln() + more.ln_1p(),
                ratios: [ratio(1.0), ratio(-1.0)],
                slope: middle * (square / 12.0 - 1.0),
                curvature: square / 12.0 - 1.0,
            };
        }
        let ([log_b, h_b, slope_b], [_, h_a, slope_a]) = (log_ndtr_slopes(b), log_ndtr_slopes(a));
        // log φ(a) − log φ(b) = ½(b² − a²)
        let log_q = width * middle + (h_b / h_a).ln();
        let (q, rest) = (log_q.exp(), -log_q.exp_m1());
        let step = h_a - h_b;
        let (first, second) = (q * step / rest, q * (step * step + slope_a - slope_b) / rest);
        Self {
            log_p: log_b + rest.ln(),
            ratios: [q * h_a / rest, h_b / rest],
            slope: h_b - first,
            curvature: slope_b - second - first * first,
        }
    }
}
