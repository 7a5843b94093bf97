//! Special functions: time, and the worst relative error beside 40 digits.

use crate::numbers;
use crate::record::Record;
use crate::reference;
use crate::turns::{Task, task};
use deepgp_numerics::linalg::sum_of_logs;
use deepgp_numerics::special;
use spec_math::cephes64;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use std::hint::black_box;

type Function = fn(f64) -> f64;

fn statrs_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

fn statrs_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

fn each(f: Function, table: &'static [(f64, f64)]) -> Task<'static> {
    task(move || {
        let mut sum = 0.0;
        for (x, _) in black_box(table) {
            sum += black_box(f)(*x);
        }
        sum
    })
}

/// The largest relative error, and where it is.
fn worst(f: Function, table: &[(f64, f64)]) -> (f64, f64) {
    let error = |x: f64, y: f64| {
        let error = ((f(x) - y) / y).abs();
        if error.is_nan() { f64::INFINITY } else { error }
    };
    table.iter().map(|(x, y)| (error(*x, *y), *x)).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

fn number(x: f64) -> String {
    if x.is_finite() { format!("{x:.2e}") } else { "null".to_owned() }
}

pub fn measure(record: &mut Record) {
    let log: [(&str, Function); 2] =
        [("statrs, log of it", |x| statrs_cdf(x).ln()), ("spec_math, log of it", |x| cephes64::ndtr(x).ln())];
    let ratio: [(&str, Function); 1] = [("statrs, φ/Φ", |x| Normal::standard().pdf(x) / statrs_cdf(x))];
    let cdf: [(&str, Function); 2] = [("statrs", statrs_cdf), ("spec_math", cephes64::ndtr)];
    let quantile: [(&str, Function); 2] = [("statrs", statrs_quantile), ("spec_math", cephes64::ndtri)];
    let ln_1p: [(&str, Function); 2] = [("standard library", f64::ln_1p), ("libm", libm::log1p)];
    type Cases<'a> = (&'a str, &'a str, &'static [(f64, f64)], Function, &'a [(&'static str, Function)]);
    let cases: [Cases<'_>; 12] = [
        ("ndtr", "−37 to −5", reference::NDTR_TAIL, special::ndtr, &cdf),
        ("ndtr", "−5 to 8", reference::NDTR, special::ndtr, &cdf),
        ("log_ndtr", "−1e8 to −38", reference::LOG_NDTR_FAR, special::log_ndtr, &log),
        ("log_ndtr", "−38 to −5", reference::LOG_NDTR_TAIL, special::log_ndtr, &log),
        ("log_ndtr", "−5 to 20", reference::LOG_NDTR, special::log_ndtr, &log),
        ("inverse_mills", "−1e8 to −38", reference::MILLS_FAR, special::inverse_mills, &ratio),
        ("inverse_mills", "−38 to −5", reference::MILLS_TAIL, special::inverse_mills, &ratio),
        ("inverse_mills", "−5 to 20", reference::MILLS, special::inverse_mills, &ratio),
        ("normal_quantile", "1e-300 to 1e-10", reference::QUANTILE_TAIL, special::normal_quantile, &quantile),
        ("normal_quantile", "1e-10 to 0.999", reference::QUANTILE, special::normal_quantile, &quantile),
        ("ln_1p", "1e-18 to 0.1", reference::LN_1P_SMALL, special::ln_1p, &ln_1p),
        ("ln_1p", "−0.999 to 1e10", reference::LN_1P, special::ln_1p, &ln_1p),
    ];
    for (name, domain, table, ours, theirs) in cases {
        let error = worst(ours, table);
        for (peer, f) in theirs {
            let mut outcome = crate::turns::turns(&mut each(ours, table), &mut each(*f, table));
            outcome.nanoseconds.iter_mut().for_each(|t| *t /= table.len() as f64);
            let theirs = worst(*f, table);
            let more = format!(
                r#""error":{},"error_at":{:e},"peer_error":{},"peer_error_at":{:e}"#,
                number(error.0),
                error.1,
                number(theirs.0),
                theirs.1
            );
            eprintln!("{more}");
            record.add(name, domain, peer, outcome, more);
        }
    }
    for n in [8, 50, 200] {
        let x: Vec<f64> = numbers(n, 8).iter().map(|x| x + 1.0).collect();
        record.compare(
            "sum_of_logs",
            n.to_string(),
            &mut task(|| sum_of_logs(black_box(&x))),
            vec![("loop", task(|| black_box(&x).iter().map(|x| x.ln()).sum::<f64>()))],
        );
    }
}
