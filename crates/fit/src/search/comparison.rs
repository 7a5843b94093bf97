//! Whether a difference between the log densities of two models is more than chance.
//!
//! ```text
//! d_n = log p(y_n) of one − log p(y_n) of the other,   d̄ > k s/√N       s the deviation of d_n over N rows
//! ```

/// Whether log densities of the same rows are better by so many nats a row, and by so many standard errors.
pub(crate) fn is_gain(before: &[f64], after: &[f64], nats: f64, errors: f64) -> bool {
    if before.len() != after.len() {
        // One of the models could not be trained.
        return false;
    }
    let n = before.len() as f64;
    let gains = || before.iter().zip(after).map(|(before, after)| after - before);
    let mean = gains().sum::<f64>() / n;
    let var = gains().map(|gain| (gain - mean).powi(2)).sum::<f64>() / n;
    mean > nats && mean > errors * (var / n).sqrt()
}
