//! Dot products, scaled sums and sums of slices.

use super::{Job, Lanes, run, wide};

/// Σ a_i b_i over the shorter of the two.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    // SAFETY: both slices hold n numbers.
    unsafe { run(Reduce { a: a.as_ptr(), b: Some(b.as_ptr()), n }) }
}

/// Σ a_i.
pub fn sum(a: &[f64]) -> f64 {
    // SAFETY: the slice holds as many numbers.
    unsafe { run(Reduce { a: a.as_ptr(), b: None, n: a.len() }) }
}

/// `y_i += s · x_i` as far as both reach.
pub fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    let n = x.len().min(y.len());
    // SAFETY: both slices hold n numbers.
    unsafe { run(Axpy { s, x: x.as_ptr(), y: y.as_mut_ptr(), n }) }
}

/// `out_i = a · x_i + b · y_i` as far as all reach.
pub fn combine(a: f64, x: &[f64], b: f64, y: &[f64], out: &mut [f64]) {
    let n = x.len().min(y.len()).min(out.len());
    // SAFETY: all slices hold n numbers.
    unsafe { run(Combine { a, x: x.as_ptr(), b, y: y.as_ptr(), out: out.as_mut_ptr(), n }) }
}

/// Whether no entry is NaN or infinite.
pub fn all_finite(a: &[f64]) -> bool {
    // The exponent bits of NaN and infinity are all set; no early exit, so that the loop vectorises.
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    wide(|| a.iter().fold(true, |fine, v| fine & (v.to_bits() & EXPONENT != EXPONENT)))
}

/// The first of some numbers that `is_sought`, where there is hardly ever one: all are asked at once, by vectors.
pub fn find(numbers: &[f64], is_sought: impl Fn(f64) -> bool) -> Option<usize> {
    if wide(|| numbers.iter().fold(false, |any, x| any | is_sought(*x))) {
        return numbers.iter().position(|x| is_sought(*x));
    }
    None
}

/// Σ a_i b_i, or Σ a_i.
struct Reduce {
    a: *const f64,
    b: Option<*const f64>,
    n: usize,
}

/// Sums what `add` adds to its last argument for the numbers from its first argument on, as many as its second says or
/// a vector of them. Vectors go to four sums by turns, since each waits for its last term.
#[inline(always)]
unsafe fn in_fours<L: Lanes>(n: usize, mut add: impl FnMut(usize, usize, L::V) -> L::V) -> f64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sums = [L::splat(0.0); 4];
        let mut i = 0;
        while i + 4 * L::N <= n {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = add(i + k * L::N, L::N, *sum);
            }
            i += 4 * L::N;
        }
        for sum in &mut sums {
            if i < n {
                *sum = add(i, n - i, *sum);
                i += L::N;
            }
        }
        L::sum(L::add(L::add(sums[0], sums[1]), L::add(sums[2], sums[3])))
    }
}

impl Job for Reduce {
    type Output = f64;

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            in_fours::<L>(self.n, |at, left, sum| {
                let a = L::load_some(self.a.add(at), left);
                match self.b {
                    Some(b) => L::mul_add(a, L::load_some(b.add(at), left), sum),
                    None => L::add(a, sum),
                }
            })
        }
    }
}

struct Axpy {
    s: f64,
    x: *const f64,
    y: *mut f64,
    n: usize,
}

impl Job for Axpy {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let s = L::splat(self.s);
            let left = self.n % L::N;
            for i in (0..self.n - left).step_by(L::N) {
                let (x, y) = (self.x.add(i), self.y.add(i));
                L::store(y, L::mul_add(s, L::load(x), L::load(y)));
            }
            if left > 0 {
                let (x, y) = (self.x.add(self.n - left), self.y.add(self.n - left));
                L::store_part(y, L::mul_add(s, L::load_part(x, left), L::load_part(y, left)), left);
            }
        }
    }
}

struct Combine {
    a: f64,
    x: *const f64,
    b: f64,
    y: *const f64,
    out: *mut f64,
    n: usize,
}

impl Job for Combine {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (a, b) = (L::splat(self.a), L::splat(self.b));
            let left = self.n % L::N;
            for i in (0..self.n - left).step_by(L::N) {
                let (x, y, out) = (self.x.add(i), self.y.add(i), self.out.add(i));
                L::store(out, L::mul_add(a, L::load(x), L::mul(b, L::load(y))));
            }
            if left > 0 {
                let at = self.n - left;
                let (x, y, out) = (self.x.add(at), self.y.add(at), self.out.add(at));
                let by = L::mul(b, L::load_part(y, left));
                L::store_part(out, L::mul_add(a, L::load_part(x, left), by), left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, run_on};

    #[test]
    fn the_first_that_is_sought() {
        let numbers: Vec<f64> = (0..50).map(f64::from).collect();
        for least in [0, 1, 7, 8, 49] {
            assert_eq!(find(&numbers, |x| x >= f64::from(least)), Some(least as usize));
        }
        assert_eq!(find(&numbers, f64::is_nan), None);
        assert_eq!(find(&[1.0, f64::NAN], f64::is_nan), Some(1));
    }

    #[test]
    fn slices_of_every_length_on_every_instruction_set() {
        for isa in Isa::available() {
            for n in 0..80 {
                let a: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
                let b: Vec<f64> = (0..n).map(|i| (2.0 * i as f64).cos()).collect();
                let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
                // SAFETY: the instruction set is available, and the slices hold n numbers.
                let found = unsafe { run_on(isa, Reduce { a: a.as_ptr(), b: Some(b.as_ptr()), n }) };
                assert!((found - plain).abs() < 1e-13, "{isa:?} {n}");
                // SAFETY: as above.
                let found = unsafe { run_on(isa, Reduce { a: a.as_ptr(), b: None, n }) };
                assert!((found - a.iter().sum::<f64>()).abs() < 1e-13, "{isa:?} {n}");
                let mut y = b.clone();
                // SAFETY: as above.
                unsafe { run_on(isa, Axpy { s: 0.3, x: a.as_ptr(), y: y.as_mut_ptr(), n }) };
                for i in 0..n {
                    assert!((y[i] - (b[i] + 0.3 * a[i])).abs() < 1e-15, "{isa:?} {n} {i}");
                }
                let job = Combine { a: 0.3, x: a.as_ptr(), b: -2.0, y: b.as_ptr(), out: y.as_mut_ptr(), n };
                // SAFETY: as above.
                unsafe { run_on(isa, job) };
                for i in 0..n {
                    assert!((y[i] - (0.3 * a[i] - 2.0 * b[i])).abs() < 1e-15, "{isa:?} {n} {i}");
                }
            }
        }
    }
}
