//! Vector arithmetic chosen at run time: one body of code, compiled for each instruction set.
//!
//! A `Job` is written once over `Lanes`; `run` executes it with the widest vectors the processor has: AVX-512,
//! AVX2 with FMA, or a portable form that the compiler maps to the baseline (NEON on 64-bit ARM). The portable form is
//! the reference: tests run every form against plain code.

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blas;
mod convolve;
mod exp;
#[cfg(any(test, feature = "forced-isa"))]
pub mod forced;
mod portable;

pub use aligned::Aligned;
pub use blas::find;
pub use blas::{all_finite, axpy, combine, dot, sum};
pub use convolve::convolve;
pub use exp::{MIN_POWER, SMALL_POWERS, small_power};
pub use exp::{exp_in_place, exp_in_place_on, exp_into};
use std::mem::ManuallyDrop;

/// A vector of `N` float64 numbers and what is done with it.
///
/// # Safety
/// Every function may only be called where the instruction set is available: inside [`Job::run`], which [`run`] calls
/// after detection. Pointers must be valid for `N` numbers; no alignment is needed.
#[expect(clippy::missing_safety_doc, reason = "the trait says it for all of its functions")]
pub trait Lanes: Copy {
    /// The vector.
    type V: Copy;
    /// Its length.
    const N: usize;
    /// All lanes equal to `x`.
    unsafe fn splat(x: f64) -> Self::V;
    /// N numbers from memory.
    unsafe fn load(p: *const f64) -> Self::V;
    /// N numbers to memory.
    unsafe fn store(p: *mut f64, v: Self::V);
    /// The first `n` < N numbers from memory, the other lanes 0.
    unsafe fn load_part(p: *const f64, n: usize) -> Self::V;
    /// The first `n` < N lanes to memory.
    unsafe fn store_part(p: *mut f64, v: Self::V, n: usize);
    /// The first N or fewer of `n` numbers from memory, the other lanes 0.
    #[inline(always)]
    unsafe fn load_some(p: *const f64, n: usize) -> Self::V {
        // SAFETY: passed on to the caller.
        unsafe { if n < Self::N { Self::load_part(p, n) } else { Self::load(p) } }
    }
    /// The first N or fewer of `n` lanes to memory.
    #[inline(always)]
    unsafe fn store_some(p: *mut f64, v: Self::V, n: usize) {
        // SAFETY: passed on to the caller.
        unsafe { if n < Self::N { Self::store_part(p, v, n) } else { Self::store(p, v) } }
    }
    /// Says that `vectors` vectors from here on, in one row, will be wanted soon.
    unsafe fn prefetch(p: *const f64, vectors: usize);
    /// a + b.
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// a − b.
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    /// a · b.
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// a · b + c.
    unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a · b − c.
    unsafe fn mul_sub(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// c − a · b.
    unsafe fn neg_mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// c − a · b of single numbers.
    unsafe fn neg_mul_add_1(a: f64, b: f64, c: f64) -> f64;
    /// The larger of a and b; b where either is NaN.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// √x of positive normal numbers, to 2 ulp.
    unsafe fn sqrt_positive(v: Self::V) -> Self::V;
    /// 1/x of positive normal numbers where it is normal too, to 2 ulp.
    unsafe fn inverse_positive(v: Self::V) -> Self::V;
    /// Sum of the lanes, in a fixed order.
    unsafe fn sum(v: Self::V) -> f64;
    /// Sums of the lanes of four vectors.
    unsafe fn sum4(v: [Self::V; 4]) -> [f64; 4];
    /// N/s times the `s` numbers from memory, where `s` divides N.
    unsafe fn spread(p: *const f64, s: usize) -> Self::V;
    /// Sums over the groups of `s` lanes of N/s vectors: lane v · s + k is Σ_g v[g · s + k].
    unsafe fn fold(v: &[Self::V], s: usize) -> Self::V;
    /// Transposes an N × N block: `to[j · to_stride + i] = from[i · from_stride + j]`; the two may be the same block.
    unsafe fn transpose(from: *const f64, from_stride: usize, to: *mut f64, to_stride: usize);
    /// eˣ, to 2 ulp where it is a normal number; 0 or nearly 0 below −707.5, infinity above 709.7 or where it
    /// overflows, NaN for NaN.
    unsafe fn exp(v: Self::V) -> Self::V;
    /// 2ˣ, to 2 ulp; 0 below −900 (`exp::MIN_POWER`), infinity where it overflows or nearly does, NaN for NaN. Cheaper
    /// than eˣ, since x less its nearest power is exact.
    unsafe fn exp2(v: Self::V) -> Self::V;
    /// 2ˣ where x is not below −900.
    #[inline(always)]
    unsafe fn exp2_inside(v: Self::V) -> Self::V {
        // SAFETY: passed on to the caller.
        unsafe { Self::exp2(v) }
    }
}

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Says that these numbers will be wanted soon; where the processor cannot be told, nothing happens.
pub fn prefetch(numbers: &[f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let (first, bytes) = (numbers.as_ptr().cast::<i8>(), size_of_val(numbers));
        // From the beginning of the line in which they begin.
        let before = first.addr() % LINE;
        for at in (0..before + bytes).step_by(LINE) {
            // SAFETY: a hint, which every processor of this kind takes, and which never fails.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(at).wrapping_sub(before)) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = numbers;
}

/// Numbers that the longest vector may read or write past the end of an array that has room for it.
pub const PAD: usize = 8;

/// Code that can be compiled for any instruction set.
pub trait Job {
    /// What it returns.
    type Output;
    /// The body; must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The instruction set of `L` must be available, and whatever the job says of its own pointers must hold.
    unsafe fn run<L: Lanes>(self) -> Self::Output;
}

/// Instruction sets that a job can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// 512-bit vectors.
    Avx512,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// Plain Rust on arrays of four numbers.
    Portable,
}

impl Isa {
    /// The widest one that this processor has.
    #[inline]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512dq") {
                return Isa::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        Isa::Portable
    }

    /// All that this processor can run, widest first.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Isa::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                all.insert(0, Isa::Avx2);
            }
            if Self::detect() == Isa::Avx512 {
                all.insert(0, Isa::Avx512);
            }
        }
        all
    }
}

/// Runs a job on the widest instruction set.
///
/// # Safety
/// What the job says of its own pointers must hold.
#[inline(always)]
pub unsafe fn run<J: Job>(job: J) -> J::Output {
    #[cfg(any(test, feature = "forced-isa"))]
    let isa = forced::isa().unwrap_or_else(Isa::detect);
    #[cfg(not(any(test, feature = "forced-isa")))]
    let isa = Isa::detect();
    // SAFETY: the instruction set was detected; the rest is passed on to the caller.
    unsafe { run_on(isa, job) }
}

/// Runs plain loops compiled for the widest vectors: the compiler vectorises what it can of the closure's own body (not
/// of functions that it calls without inlining them).
#[inline]
pub fn wide<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: the closure is safe code; only the instructions it is compiled to differ.
    unsafe { run(Plain(body)) }
}

struct Plain<F>(F);

impl<R, F: FnOnce() -> R> Job for Plain<F> {
    type Output = R;

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> R {
        (self.0)()
    }
}

/// Runs a job on a given instruction set.
///
/// # Safety
/// The processor must have it, and what the job says of its own pointers must hold.
#[inline(always)]
pub unsafe fn run_on<J: Job>(isa: Isa, job: J) -> J::Output {
    // By reference: jobs have many fields, and to move one costs as much as a short job.
    let job = ManuallyDrop::new(job);
    // SAFETY: passed on to the caller; the job is read once.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::run(&job),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::run(&job),
            _ => portable::run(&job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// √x and 1/x of whole vectors.
    struct Roots<'a>(&'a [f64], &'a mut [f64], &'a mut [f64]);

    impl Job for Roots<'_> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            for i in (0..self.0.len()).step_by(L::N) {
                // SAFETY: passed on to the caller; there are whole vectors.
                unsafe {
                    let x = L::load(self.0.as_ptr().add(i));
                    L::store(self.1.as_mut_ptr().add(i), L::sqrt_positive(x));
                    L::store(self.2.as_mut_ptr().add(i), L::inverse_positive(x));
                }
            }
        }
    }

    #[test]
    fn roots_and_inverses_on_every_instruction_set() {
        let x: Vec<f64> = (0..80_000).map(|i| 10.0_f64.powf(-300.0 + 600.0 * f64::from(i) / 80_000.0)).collect();
        let near: Vec<f64> = (0..80_000).map(|i| 1.0 + f64::from(i) / 20_000.0).collect();
        for (isa, x) in Isa::available().into_iter().flat_map(|isa| [(isa, &x), (isa, &near)]) {
            let (mut root, mut inverse) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            // SAFETY: the instruction set is available, and there are whole vectors.
            unsafe { run_on(isa, Roots(x, &mut root, &mut inverse)) };
            let ulps = |a: f64, b: f64| a.to_bits().abs_diff(b.to_bits());
            for ((x, root), inverse) in x.iter().zip(&root).zip(&inverse) {
                assert!(ulps(*root, x.sqrt()) <= 2, "{isa:?}: √{x} = {root}");
                assert!(ulps(*inverse, 1.0 / x) <= 2, "{isa:?}: 1/{x} = {inverse}");
            }
        }
    }
}
