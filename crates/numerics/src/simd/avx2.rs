//! 256-bit vectors with fused multiply-add; the exponential by a polynomial and an exponent shift.

use super::exp::{LN2_HI, LN2_LO, MAGIC, MAX_ARGUMENT, MAX_POWER, MIN_ARGUMENT, MIN_POWER, POLY, POLY_2};
use super::{Job, Lanes};
use std::arch::x86_64::*;
use std::mem::ManuallyDrop;

/// Four lanes.
#[derive(Debug, Clone, Copy)]
pub struct Avx2;

/// Compiles and runs a job with AVX2 and FMA.
///
/// # Safety
/// The processor must have AVX2 and FMA, and what the job says of its own pointers must hold. The job is taken out of
/// its place: nobody may use it again.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run<J: Job>(job: &ManuallyDrop<J>) -> J::Output {
    // SAFETY: passed on to the caller.
    unsafe { std::ptr::read(&raw const **job).run::<Avx2>() }
}

/// Selects the first `n` ≤ 4 lanes.
#[inline(always)]
unsafe fn mask(n: usize) -> __m256i {
    static SLIDING: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
    // SAFETY: n ≤ 4 keeps the four numbers inside the table.
    unsafe { _mm256_loadu_si256(SLIDING.as_ptr().add(4 - n).cast()) }
}

impl Lanes for Avx2 {
    type V = __m256d;
    const N: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f64) -> __m256d {
        unsafe { _mm256_set1_pd(x) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f64) -> __m256d {
        unsafe { _mm256_loadu_pd(p) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f64, v: __m256d) {
        unsafe { _mm256_storeu_pd(p, v) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const f64, n: usize) -> __m256d {
        unsafe { _mm256_maskload_pd(p, mask(n)) }
    }
    #[inline(always)]
    unsafe fn store_part(p: *mut f64, v: __m256d, n: usize) {
        unsafe { _mm256_maskstore_pd(p, mask(n), v) }
    }
    #[inline(always)]
    unsafe fn prefetch(p: *const f64, vectors: usize) {
        unsafe { (0..vectors).for_each(|c| _mm_prefetch::<_MM_HINT_T0>(p.add(c * Self::N).cast())) }
    }
    #[inline(always)]
    unsafe fn add(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_add_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_sub_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_mul_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }
    #[inline(always)]
    unsafe fn mul_sub(a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        unsafe { _mm256_fmsub_pd(a, b, c) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add(a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        unsafe { _mm256_fnmadd_pd(a, b, c) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add_1(a: f64, b: f64, c: f64) -> f64 {
        (-a).mul_add(b, c)
    }
    #[inline(always)]
    unsafe fn max(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_max_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn sqrt_positive(v: __m256d) -> __m256d {
        unsafe { _mm256_sqrt_pd(v) }
    }
    #[inline(always)]
    unsafe fn inverse_positive(v: __m256d) -> __m256d {
        unsafe { _mm256_div_pd(_mm256_set1_pd(1.0), v) }
    }
    #[inline(always)]
    unsafe fn sum(v: __m256d) -> f64 {
        unsafe {
            let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
            _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
        }
    }

    #[inline(always)]
    unsafe fn sum4(v: [__m256d; 4]) -> [f64; 4] {
        unsafe {
            let (ab, cd) = (_mm256_hadd_pd(v[0], v[1]), _mm256_hadd_pd(v[2], v[3]));
            let left = _mm256_permute2f128_pd(ab, cd, 0x20);
            let right = _mm256_permute2f128_pd(ab, cd, 0x31);
            let mut out = [0.0; 4];
            _mm256_storeu_pd(out.as_mut_ptr(), _mm256_add_pd(left, right));
            out
        }
    }

    #[inline(always)]
    unsafe fn spread(p: *const f64, s: usize) -> __m256d {
        unsafe {
            match s {
                1 => _mm256_set1_pd(*p),
                2 => _mm256_set_m128d(_mm_loadu_pd(p), _mm_loadu_pd(p)),
                _ => _mm256_loadu_pd(p),
            }
        }
    }

    #[inline(always)]
    unsafe fn fold(v: &[__m256d], s: usize) -> __m256d {
        unsafe {
            match (s, v) {
                (2, &[a, b]) => fold_halves(a, b),
                (1, &[a, b, c, d]) => {
                    let (even, odd) = (fold_halves(a, c), fold_halves(b, d));
                    _mm256_add_pd(_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd))
                }
                _ => v[0],
            }
        }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const f64, from_stride: usize, to: *mut f64, to_stride: usize) {
        unsafe {
            let row: [__m256d; 4] = std::array::from_fn(|i| _mm256_loadu_pd(from.add(i * from_stride)));
            let (even, odd) = (_mm256_unpacklo_pd(row[0], row[1]), _mm256_unpackhi_pd(row[0], row[1]));
            let (even_below, odd_below) = (_mm256_unpacklo_pd(row[2], row[3]), _mm256_unpackhi_pd(row[2], row[3]));
            _mm256_storeu_pd(to, _mm256_permute2f128_pd(even, even_below, 0x20));
            _mm256_storeu_pd(to.add(to_stride), _mm256_permute2f128_pd(odd, odd_below, 0x20));
            _mm256_storeu_pd(to.add(2 * to_stride), _mm256_permute2f128_pd(even, even_below, 0x31));
            _mm256_storeu_pd(to.add(3 * to_stride), _mm256_permute2f128_pd(odd, odd_below, 0x31));
        }
    }

    /// eˣ = 2ᵏ (1 + r p(r)),   k = round(x/ln 2),   r = x − k ln 2.
    #[inline(always)]
    unsafe fn exp(x: __m256d) -> __m256d {
        unsafe {
            let inside = clamp(x, MIN_ARGUMENT, MAX_ARGUMENT);
            let magic = _mm256_set1_pd(MAGIC);
            let shifted = _mm256_fmadd_pd(inside, _mm256_set1_pd(std::f64::consts::LOG2_E), magic);
            let k = _mm256_sub_pd(shifted, magic);
            let r = _mm256_fnmadd_pd(k, _mm256_set1_pd(LN2_HI), inside);
            let r = _mm256_fnmadd_pd(k, _mm256_set1_pd(LN2_LO), r);
            ends(x, scaled(shifted, r, &POLY), MIN_ARGUMENT, MAX_ARGUMENT)
        }
    }

    /// 2ˣ = 2ᵏ (1 + r p(r)),   k = round(x),   r = x − k.
    #[inline(always)]
    unsafe fn exp2(x: __m256d) -> __m256d {
        unsafe {
            let inside = clamp(x, MIN_POWER, MAX_POWER);
            let magic = _mm256_set1_pd(MAGIC);
            let shifted = _mm256_add_pd(inside, magic);
            let r = _mm256_sub_pd(inside, _mm256_sub_pd(shifted, magic));
            ends(x, scaled(shifted, r, &POLY_2), MIN_POWER, MAX_POWER)
        }
    }
}

/// The halves of a added up, then those of b.
#[inline(always)]
unsafe fn fold_halves(a: __m256d, b: __m256d) -> __m256d {
    unsafe { _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31)) }
}

/// x within bounds. max and min return their second argument when either is NaN, so NaN passes.
#[inline(always)]
unsafe fn clamp(x: __m256d, low: f64, high: f64) -> __m256d {
    unsafe { _mm256_min_pd(_mm256_set1_pd(high), _mm256_max_pd(_mm256_set1_pd(low), x)) }
}

/// 2ᵏ (1 + r p(r)), where k stands in the lowest bits of `shifted`.
#[inline(always)]
unsafe fn scaled(shifted: __m256d, r: __m256d, poly: &[f64; 11]) -> __m256d {
    unsafe {
        let mut p = _mm256_set1_pd(poly[0]);
        let mut i = 1;
        while i < poly.len() {
            p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(poly[i]));
            i += 1;
        }
        let y = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0));
        let shift = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
        _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(y), shift))
    }
}

/// y, but 0 where x is below `low`, infinity where it is above `high`, and x itself where that is NaN, which the
/// exponent shift garbles.
#[inline(always)]
unsafe fn ends(x: __m256d, y: __m256d, low: f64, high: f64) -> __m256d {
    unsafe {
        let too_low = _mm256_cmp_pd(x, _mm256_set1_pd(low), _CMP_LT_OQ);
        let too_high = _mm256_cmp_pd(x, _mm256_set1_pd(high), _CMP_GT_OQ);
        let y = _mm256_andnot_pd(too_low, y);
        let y = _mm256_blendv_pd(y, _mm256_set1_pd(f64::INFINITY), too_high);
        _mm256_blendv_pd(y, x, _mm256_cmp_pd(x, x, _CMP_UNORD_Q))
    }
}
