//! What is done to slices. `wide` chooses its vectors when it is compiled, the others when they run.

use crate::numbers;
use crate::record::Record;
use crate::turns::{task, task_in};
use deepgp_numerics::optim::Adam;
use deepgp_numerics::simd::{self, Aligned};
use pulp::{Arch, Simd, WithSimd};
use std::cell::RefCell;
use std::hint::black_box;
use wide::f64x8;

fn aligned(n: usize, seed: u64) -> Aligned {
    let mut out = Aligned::zeros(n);
    out.copy_from_slice(&numbers(n, seed));
    out
}

struct Dot<'a>(&'a [f64], &'a [f64]);

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let ((x, x_rest), (y, y_rest)) = (S::as_simd_f64s(self.0), S::as_simd_f64s(self.1));
        let mut sums = [simd.splat_f64s(0.0); 4];
        let (x4, x1) = pulp::as_arrays::<4, _>(x);
        let (y4, y1) = pulp::as_arrays::<4, _>(y);
        for (x, y) in x4.iter().zip(y4) {
            for k in 0..4 {
                sums[k] = simd.mul_add_f64s(x[k], y[k], sums[k]);
            }
        }
        for (x, y) in x1.iter().zip(y1) {
            sums[0] = simd.mul_add_f64s(*x, *y, sums[0]);
        }
        let (x, y) = (simd.partial_load_f64s(x_rest), simd.partial_load_f64s(y_rest));
        sums[1] = simd.mul_add_f64s(x, y, sums[1]);
        simd.reduce_sum_f64s(simd.add_f64s(simd.add_f64s(sums[0], sums[1]), simd.add_f64s(sums[2], sums[3])))
    }
}

struct Sum<'a>(&'a [f64]);

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (x, rest) = S::as_simd_f64s(self.0);
        let mut sums = [simd.splat_f64s(0.0); 4];
        let (x4, x1) = pulp::as_arrays::<4, _>(x);
        for x in x4 {
            for k in 0..4 {
                sums[k] = simd.add_f64s(x[k], sums[k]);
            }
        }
        for x in x1 {
            sums[0] = simd.add_f64s(*x, sums[0]);
        }
        sums[1] = simd.add_f64s(simd.partial_load_f64s(rest), sums[1]);
        simd.reduce_sum_f64s(simd.add_f64s(simd.add_f64s(sums[0], sums[1]), simd.add_f64s(sums[2], sums[3])))
    }
}

struct Axpy<'a>(f64, &'a [f64], &'a mut [f64]);

impl WithSimd for Axpy<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ((x, x_rest), (y, y_rest)) = (S::as_simd_f64s(self.1), S::as_mut_simd_f64s(self.2));
        let s = simd.splat_f64s(self.0);
        for (x, y) in x.iter().zip(y) {
            *y = simd.mul_add_f64s(s, *x, *y);
        }
        let last = simd.mul_add_f64s(s, simd.partial_load_f64s(x_rest), simd.partial_load_f64s(y_rest));
        simd.partial_store_f64s(y_rest, last);
    }
}

struct Combine<'a>(f64, &'a [f64], f64, &'a [f64], &'a mut [f64]);

impl WithSimd for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ((x, x_rest), (y, y_rest)) = (S::as_simd_f64s(self.1), S::as_simd_f64s(self.3));
        let (out, out_rest) = S::as_mut_simd_f64s(self.4);
        let (a, b) = (simd.splat_f64s(self.0), simd.splat_f64s(self.2));
        for ((x, y), out) in x.iter().zip(y).zip(out) {
            *out = simd.mul_add_f64s(a, *x, simd.mul_f64s(b, *y));
        }
        let y = simd.mul_f64s(b, simd.partial_load_f64s(y_rest));
        simd.partial_store_f64s(out_rest, simd.mul_add_f64s(a, simd.partial_load_f64s(x_rest), y));
    }
}

fn wide_vectors(x: &[f64]) -> impl Iterator<Item = f64x8> {
    x.chunks_exact(8).map(|x| f64x8::from(<[f64; 8]>::try_from(x).expect("eight")))
}

fn wide_dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [f64x8::ZERO; 4];
    for (x, y) in x.chunks_exact(32).zip(y.chunks_exact(32)) {
        for ((x, y), sum) in wide_vectors(x).zip(wide_vectors(y)).zip(&mut sums) {
            *sum = x.mul_add(y, *sum);
        }
    }
    let (x, y) = (x.chunks_exact(32).remainder(), y.chunks_exact(32).remainder());
    for (x, y) in wide_vectors(x).zip(wide_vectors(y)) {
        sums[0] = x.mul_add(y, sums[0]);
    }
    let (x, y) = (x.chunks_exact(8).remainder(), y.chunks_exact(8).remainder());
    let rest: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
    ((sums[0] + sums[1]) + (sums[2] + sums[3])).reduce_add() + rest
}

fn wide_sum(x: &[f64]) -> f64 {
    let mut sums = [f64x8::ZERO; 4];
    for x in x.chunks_exact(32) {
        for (x, sum) in wide_vectors(x).zip(&mut sums) {
            *sum += x;
        }
    }
    let x = x.chunks_exact(32).remainder();
    for x in wide_vectors(x) {
        sums[0] += x;
    }
    ((sums[0] + sums[1]) + (sums[2] + sums[3])).reduce_add() + x.chunks_exact(8).remainder().iter().sum::<f64>()
}

fn wide_axpy(s: f64, x: &[f64], y: &mut [f64]) {
    let splat = f64x8::splat(s);
    for (x, y) in x.chunks_exact(8).zip(y.chunks_exact_mut(8)) {
        let load = |x: &[f64]| f64x8::from(<[f64; 8]>::try_from(x).expect("eight"));
        y.copy_from_slice(&splat.mul_add(load(x), load(y)).to_array());
    }
    let y = y.chunks_exact_mut(8).into_remainder();
    x.chunks_exact(8).remainder().iter().zip(y).for_each(|(x, y)| *y += s * x);
}

fn wide_exp(x: &[f64], out: &mut [f64]) {
    for (x, out) in wide_vectors(x).zip(out.chunks_exact_mut(8)) {
        out.copy_from_slice(&x.exp().to_array());
    }
    let (rest, out) = (x.chunks_exact(8).remainder(), out.chunks_exact_mut(8).into_remainder());
    if !rest.is_empty() {
        let mut last = [0.0; 8];
        last[..rest.len()].copy_from_slice(rest);
        out.copy_from_slice(&f64x8::from(last).exp().to_array()[..out.len()]);
    }
}

/// Adam's step, with what the compiler makes of it.
#[inline(always)]
fn adam(theta: &mut [f64], g: &[f64], m: &mut [f64], v: &mut [f64], t: i32) {
    let (c1, c2) = (1.0 - 0.9_f64.powi(t), 1.0 - 0.999_f64.powi(t));
    for (((theta, g), m), v) in theta.iter_mut().zip(g).zip(m).zip(v) {
        *m = 0.9 * *m + 0.1 * g;
        *v = 0.999 * *v + 0.001 * g * g;
        *theta -= 1e-3 * (*m / c1) / ((*v / c2).sqrt() + 1e-8);
    }
}

pub fn measure(record: &mut Record) {
    let arch = Arch::new();
    for n in [8, 50, 200, 1000, 100_000] {
        let size = n.to_string();
        let (x, y) = (&aligned(n, 1), &aligned(n, 2));
        record.compare(
            "dot",
            &size,
            &mut task(|| simd::dot(black_box(x), black_box(y))),
            vec![
                ("pulp", task(|| arch.dispatch(Dot(black_box(x), black_box(y))))),
                ("wide", task(|| wide_dot(black_box(x), black_box(y)))),
                ("loop", task(|| black_box(&**x).iter().zip(black_box(&**y)).map(|(x, y)| x * y).sum::<f64>())),
            ],
        );
        record.compare(
            "sum",
            &size,
            &mut task(|| simd::sum(black_box(x))),
            vec![
                ("pulp", task(|| arch.dispatch(Sum(black_box(x))))),
                ("wide", task(|| wide_sum(black_box(x)))),
                ("loop", task(|| black_box(&**x).iter().sum::<f64>())),
            ],
        );
        let out = &RefCell::new(y.clone());
        // Small, so that numbers stay finite.
        let s = 1e-9;
        record.compare(
            "axpy",
            &size,
            &mut task_in(out, |y| simd::axpy(s, black_box(x), y)),
            vec![
                ("pulp", task_in(out, |y| arch.dispatch(Axpy(s, black_box(x), y)))),
                ("wide", task_in(out, |y| wide_axpy(s, black_box(x), y))),
                ("loop", task_in(out, |y| black_box(&**x).iter().zip(&mut **y).for_each(|(x, y)| *y += s * x))),
                (
                    "loop in pulp",
                    task_in(out, |y| {
                        let (x, y) = (black_box(&**x), &mut **y);
                        arch.dispatch(
                            #[inline(always)]
                            || x.iter().zip(y).for_each(|(x, y)| *y += s * x),
                        )
                    }),
                ),
                (
                    "loop in simd::wide",
                    task_in(out, |y| {
                        let (x, y) = (black_box(&**x), &mut **y);
                        simd::wide(|| x.iter().zip(y).for_each(|(x, y)| *y = s.mul_add(*x, *y)))
                    }),
                ),
            ],
        );
        let mut run = task_in(out, |out| simd::combine(s, black_box(x), 0.5, black_box(y), out));
        record.compare(
            "combine",
            &size,
            &mut run,
            vec![
                ("pulp", task_in(out, |out| arch.dispatch(Combine(s, black_box(x), 0.5, black_box(y), out)))),
                (
                    "loop",
                    task_in(out, |out| {
                        let (x, y) = (black_box(&**x), black_box(&**y));
                        x.iter().zip(y).zip(&mut **out).for_each(|((x, y), out)| *out = s * x + 0.5 * y);
                    }),
                ),
                (
                    "loop in simd::wide",
                    task_in(out, |out| {
                        let (x, y, out) = (black_box(&**x), black_box(&**y), &mut **out);
                        simd::wide(|| x.iter().zip(y).zip(out).for_each(|((x, y), out)| *out = s.mul_add(*x, 0.5 * y)))
                    }),
                ),
            ],
        );
        record.compare(
            "all_finite",
            &size,
            &mut task(|| simd::all_finite(black_box(x))),
            vec![
                ("loop", task(|| black_box(&**x).iter().all(|x| x.is_finite()))),
                (
                    "loop in pulp",
                    task(|| {
                        let x = black_box(&**x);
                        arch.dispatch(
                            #[inline(always)]
                            || x.iter().fold(true, |fine, x| fine & x.is_finite()),
                        )
                    }),
                ),
            ],
        );
        // Arguments of kernels: between −10 and 0.
        let mut powers = x.clone();
        powers.iter_mut().for_each(|x| *x = 10.0 * (*x - 0.5));
        let powers = &powers;
        record.compare(
            "exp",
            &size,
            &mut task_in(out, |out| simd::exp_into(black_box(powers), out)),
            vec![
                ("wide", task_in(out, |out| wide_exp(black_box(powers), out))),
                (
                    "loop",
                    task_in(out, |out| black_box(&**powers).iter().zip(&mut **out).for_each(|(x, y)| *y = x.exp())),
                ),
            ],
        );
        let g = &x;
        let (mut ours, mut theta) = (Adam::new(n), y.clone());
        let state = || (y.clone(), aligned(n, 1), Aligned::zeros(n), 0_i32);
        let ((mut t1, mut m1, mut v1, mut k1), (mut t2, mut m2, mut v2, mut k2)) = (state(), state());
        record.compare(
            "Adam",
            &size,
            &mut task(|| ours.step(black_box(&mut theta), black_box(g), 1e-3)),
            vec![
                (
                    "loop",
                    task(|| {
                        k1 = (k1 + 1).min(100_000);
                        adam(black_box(&mut t1), black_box(g), &mut m1, &mut v1, k1);
                    }),
                ),
                (
                    "loop in pulp",
                    task(|| {
                        k2 = (k2 + 1).min(100_000);
                        let (t, g, m, v, k) = (black_box(&mut *t2), black_box(&**g), &mut *m2, &mut *v2, k2);
                        arch.dispatch(
                            #[inline(always)]
                            || adam(t, g, m, v, k),
                        )
                    }),
                ),
            ],
        );
    }
    errors(record);
}

/// Of the exponentials, in units of the last place of `f64::exp`.
fn errors(record: &mut Record) {
    let x: Vec<f64> = (0..1_000_000).map(|i| -700.0 + 1400.0 * f64::from(i) / 1e6).collect();
    let (mut ours, mut theirs) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    simd::exp_into(&x, &mut ours);
    wide_exp(&x, &mut theirs);
    let ulps = |found: &[f64]| {
        found.iter().zip(&x).map(|(f, x)| f.to_bits().abs_diff(x.exp().to_bits())).max().unwrap_or_default()
    };
    let more = format!(r#""from":-700,"to":700,"ulps":{},"peer":"wide","peer_ulps":{}"#, ulps(&ours), ulps(&theirs));
    record.note("accuracy", "exp", &more);
}
