//! Plain Rust on arrays of four numbers: the reference, and what other processors run.

use super::exp::{LN2_HI, LN2_LO, MAGIC, MAX_ARGUMENT, MAX_POWER, MIN_ARGUMENT, MIN_POWER, POLY, POLY_2};
use super::{Job, Lanes};
use std::mem::ManuallyDrop;

/// Four lanes as an array.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

/// Runs a job in plain Rust: out of line as for other instruction sets, or every caller would have its code once more.
///
/// # Safety
/// What the job says of its own pointers must hold. The job is taken out of its place: nobody may use it again.
#[inline(never)]
pub(super) unsafe fn run<J: Job>(job: &ManuallyDrop<J>) -> J::Output {
    // SAFETY: passed on to the caller.
    unsafe { std::ptr::read(&raw const **job).run::<Portable>() }
}

/// a · b + c, fused where the processor does that in one instruction.
#[inline(always)]
fn fused(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn map2(a: [f64; 4], b: [f64; 4], f: impl Fn(f64, f64) -> f64) -> [f64; 4] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl Lanes for Portable {
    type V = [f64; 4];
    const N: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f64) -> [f64; 4] {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(p: *const f64) -> [f64; 4] {
        unsafe { p.cast::<[f64; 4]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f64, v: [f64; 4]) {
        unsafe { p.cast::<[f64; 4]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const f64, n: usize) -> [f64; 4] {
        std::array::from_fn(|i| if i < n { unsafe { p.add(i).read() } } else { 0.0 })
    }
    #[inline(always)]
    unsafe fn store_part(p: *mut f64, v: [f64; 4], n: usize) {
        for (i, x) in v.into_iter().enumerate().take(n) {
            unsafe { p.add(i).write(x) }
        }
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const f64, _: usize) {}
    #[inline(always)]
    unsafe fn add(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn mul_add(a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| fused(a[i], b[i], c[i]))
    }
    #[inline(always)]
    unsafe fn mul_sub(a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| fused(a[i], b[i], -c[i]))
    }
    #[inline(always)]
    unsafe fn neg_mul_add(a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| fused(-a[i], b[i], c[i]))
    }
    #[inline(always)]
    unsafe fn neg_mul_add_1(a: f64, b: f64, c: f64) -> f64 {
        fused(-a, b, c)
    }
    #[inline(always)]
    unsafe fn max(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn sqrt_positive(v: [f64; 4]) -> [f64; 4] {
        v.map(f64::sqrt)
    }
    #[inline(always)]
    unsafe fn inverse_positive(v: [f64; 4]) -> [f64; 4] {
        v.map(|x| 1.0 / x)
    }
    #[inline(always)]
    unsafe fn sum(v: [f64; 4]) -> f64 {
        (v[0] + v[2]) + (v[1] + v[3])
    }
    #[inline(always)]
    unsafe fn sum4(v: [[f64; 4]; 4]) -> [f64; 4] {
        v.map(|v| (v[0] + v[2]) + (v[1] + v[3]))
    }
    #[inline(always)]
    unsafe fn spread(p: *const f64, s: usize) -> [f64; 4] {
        std::array::from_fn(|i| unsafe { p.add(i % s).read() })
    }
    #[inline(always)]
    unsafe fn fold(v: &[[f64; 4]], s: usize) -> [f64; 4] {
        std::array::from_fn(|i| v[i / s].iter().skip(i % s).step_by(s).sum())
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f64, from_stride: usize, to: *mut f64, to_stride: usize) {
        unsafe {
            let row: [[f64; 4]; 4] = std::array::from_fn(|i| Self::load(from.add(i * from_stride)));
            for j in 0..4 {
                Self::store(to.add(j * to_stride), std::array::from_fn(|i| row[i][j]));
            }
        }
    }
    #[inline(always)]
    unsafe fn exp(v: [f64; 4]) -> [f64; 4] {
        v.map(exp)
    }
    #[inline(always)]
    unsafe fn exp2(v: [f64; 4]) -> [f64; 4] {
        v.map(exp2)
    }
}

/// eˣ of one number, by the formula of the 256-bit form.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let inside = clamp(x, MIN_ARGUMENT, MAX_ARGUMENT);
    let shifted = fused(inside, std::f64::consts::LOG2_E, MAGIC);
    let k = shifted - MAGIC;
    let r = fused(-k, LN2_LO, fused(-k, LN2_HI, inside));
    ends(x, scaled(shifted, r, &POLY), MIN_ARGUMENT, MAX_ARGUMENT)
}

/// 2ˣ of one number, likewise.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let inside = clamp(x, MIN_POWER, MAX_POWER);
    let shifted = inside + MAGIC;
    let r = inside - (shifted - MAGIC);
    ends(x, scaled(shifted, r, &POLY_2), MIN_POWER, MAX_POWER)
}

/// x within bounds, written so that NaN passes.
#[inline(always)]
fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let inside = if x < low { low } else { x };
    if inside > high { high } else { inside }
}

/// 2ᵏ (1 + r p(r)), where k stands in the lowest bits of `shifted`.
#[inline(always)]
fn scaled(shifted: f64, r: f64, poly: &[f64; 11]) -> f64 {
    let mut p = poly[0];
    let mut i = 1;
    while i < poly.len() {
        p = fused(p, r, poly[i]);
        i += 1;
    }
    let y = fused(p, r, 1.0);
    f64::from_bits(y.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// y, but 0, infinity or NaN where x is below `low`, above `high` or NaN.
#[inline(always)]
fn ends(x: f64, y: f64, low: f64, high: f64) -> f64 {
    let y = if x < low { 0.0 } else { y };
    let y = if x > high { f64::INFINITY } else { y };
    if x.is_nan() { x } else { y }
}
