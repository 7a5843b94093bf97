//! 512-bit vectors; the exponential by a 16-entry table and `vscalefpd`.

use super::exp::{LN2_16_HI, LN2_16_LO, MAGIC, MIN_POWER, TABLE_POLY, TABLE_POLY_2, TABLE16};
use super::{Job, Lanes};
use std::arch::x86_64::*;
use std::mem::ManuallyDrop;

/// Eight lanes.
#[derive(Debug, Clone, Copy)]
pub struct Avx512;

/// Compiles and runs a job with AVX-512.
///
/// # Safety
/// The processor must have AVX-512 F and DQ, and what the job says of its own pointers must hold. The job is taken out
/// of its place: nobody may use it again.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn run<J: Job>(job: &ManuallyDrop<J>) -> J::Output {
    // SAFETY: passed on to the caller.
    unsafe { std::ptr::read(&raw const **job).run::<Avx512>() }
}

impl Lanes for Avx512 {
    type V = __m512d;
    const N: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f64) -> __m512d {
        unsafe { _mm512_set1_pd(x) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f64) -> __m512d {
        unsafe { _mm512_loadu_pd(p) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f64, v: __m512d) {
        unsafe { _mm512_storeu_pd(p, v) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const f64, n: usize) -> __m512d {
        unsafe { _mm512_maskz_loadu_pd((1_u8 << n) - 1, p) }
    }
    #[inline(always)]
    unsafe fn store_part(p: *mut f64, v: __m512d, n: usize) {
        unsafe {
            match n {
                // A load of what follows would wait for a masked store, which the processor takes for a whole vector.
                2 => _mm_storeu_pd(p, _mm512_castpd512_pd128(v)),
                4 => _mm256_storeu_pd(p, _mm512_castpd512_pd256(v)),
                _ => _mm512_mask_storeu_pd(p, (1_u8 << n) - 1, v),
            }
        }
    }
    #[inline(always)]
    unsafe fn prefetch(p: *const f64, vectors: usize) {
        unsafe { (0..vectors).for_each(|c| _mm_prefetch::<_MM_HINT_T0>(p.add(c * Self::N).cast())) }
    }
    #[inline(always)]
    unsafe fn add(a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_add_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_sub_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_mul_pd(a, b) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }
    #[inline(always)]
    unsafe fn mul_sub(a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        unsafe { _mm512_fmsub_pd(a, b, c) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        unsafe { _mm512_fnmadd_pd(a, b, c) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add_1(a: f64, b: f64, c: f64) -> f64 {
        (-a).mul_add(b, c)
    }
    #[inline(always)]
    unsafe fn max(a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_max_pd(a, b) }
    }

    /// By Newton's method from 14 bits, y ← y + ½y (1 − x y²) for y = 1/√x: the processor's own root takes three times
    /// as long.
    #[inline(always)]
    unsafe fn sqrt_positive(x: __m512d) -> __m512d {
        unsafe {
            let (half, mut y) = (_mm512_set1_pd(0.5), _mm512_rsqrt14_pd(x));
            for _ in 0..2 {
                let error = _mm512_fnmadd_pd(_mm512_mul_pd(x, y), y, _mm512_set1_pd(1.0));
                y = _mm512_fmadd_pd(_mm512_mul_pd(half, y), error, y);
            }
            _mm512_mul_pd(x, y)
        }
    }

    /// By Newton's method from 14 bits, y ← y + y (1 − x y).
    #[inline(always)]
    unsafe fn inverse_positive(x: __m512d) -> __m512d {
        unsafe {
            let mut y = _mm512_rcp14_pd(x);
            for _ in 0..2 {
                y = _mm512_fmadd_pd(y, _mm512_fnmadd_pd(x, y, _mm512_set1_pd(1.0)), y);
            }
            y
        }
    }

    #[inline(always)]
    unsafe fn sum(v: __m512d) -> f64 {
        unsafe { _mm512_reduce_add_pd(v) }
    }

    #[inline(always)]
    unsafe fn sum4(v: [__m512d; 4]) -> [f64; 4] {
        unsafe {
            // Pairs of lanes, then 128-bit quarters: [a b a b …] and [c d c d …] become [a b c d] twice, then once.
            let ab = _mm512_add_pd(_mm512_unpacklo_pd(v[0], v[1]), _mm512_unpackhi_pd(v[0], v[1]));
            let cd = _mm512_add_pd(_mm512_unpacklo_pd(v[2], v[3]), _mm512_unpackhi_pd(v[2], v[3]));
            let even = _mm512_shuffle_f64x2(ab, cd, 0b10_00_10_00);
            let odd = _mm512_shuffle_f64x2(ab, cd, 0b11_01_11_01);
            let four = _mm512_add_pd(even, odd); // ab ab cd cd
            let low = _mm512_castpd512_pd256(four); // ab ab
            let high = _mm512_extractf64x4_pd(four, 1); // cd cd
            let left = _mm256_permute2f128_pd(low, high, 0x20); // ab cd
            let right = _mm256_permute2f128_pd(low, high, 0x31);
            let mut out = [0.0; 4];
            _mm256_storeu_pd(out.as_mut_ptr(), _mm256_add_pd(left, right));
            out
        }
    }

    #[inline(always)]
    unsafe fn spread(p: *const f64, s: usize) -> __m512d {
        unsafe {
            match s {
                1 => _mm512_set1_pd(*p),
                2 => _mm512_broadcast_f64x2(_mm_loadu_pd(p)),
                4 => _mm512_broadcast_f64x4(_mm256_loadu_pd(p)),
                _ => _mm512_loadu_pd(p),
            }
        }
    }

    #[inline(always)]
    unsafe fn fold(v: &[__m512d], s: usize) -> __m512d {
        unsafe {
            match (s, v) {
                (4, &[a, b]) => fold_halves(a, b),
                (2, &[a, b, c, d]) => fold_quarters(fold_halves(a, b), fold_halves(c, d)),
                (1, &[a, b, c, d, e, f, g, h]) => {
                    let even = fold_quarters(fold_halves(a, c), fold_halves(e, g));
                    let odd = fold_quarters(fold_halves(b, d), fold_halves(f, h));
                    _mm512_add_pd(_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd))
                }
                _ => v[0],
            }
        }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const f64, from_stride: usize, to: *mut f64, to_stride: usize) {
        unsafe {
            let row: [__m512d; 8] = std::array::from_fn(|i| _mm512_loadu_pd(from.add(i * from_stride)));
            // Pairs of rows: columns 0 2 4 6 of both, and columns 1 3 5 7.
            let even: [__m512d; 4] = std::array::from_fn(|k| _mm512_unpacklo_pd(row[2 * k], row[2 * k + 1]));
            let odd: [__m512d; 4] = std::array::from_fn(|k| _mm512_unpackhi_pd(row[2 * k], row[2 * k + 1]));
            for (first, [a, b, c, d]) in [even, odd].into_iter().enumerate() {
                // Then 128-bit quarters, each a pair of numbers of one column.
                let (low, high) =
                    (_mm512_shuffle_f64x2(a, b, 0b10_00_10_00), _mm512_shuffle_f64x2(c, d, 0b10_00_10_00));
                _mm512_storeu_pd(to.add(first * to_stride), _mm512_shuffle_f64x2(low, high, 0b10_00_10_00));
                _mm512_storeu_pd(to.add((first + 4) * to_stride), _mm512_shuffle_f64x2(low, high, 0b11_01_11_01));
                let (low, high) =
                    (_mm512_shuffle_f64x2(a, b, 0b11_01_11_01), _mm512_shuffle_f64x2(c, d, 0b11_01_11_01));
                _mm512_storeu_pd(to.add((first + 2) * to_stride), _mm512_shuffle_f64x2(low, high, 0b10_00_10_00));
                _mm512_storeu_pd(to.add((first + 6) * to_stride), _mm512_shuffle_f64x2(low, high, 0b11_01_11_01));
            }
        }
    }

    /// eˣ = 2^⌊k/16⌋ · T[k mod 16] · (1 + p(r)),   k = round(16 x/ln 2),   r = x − k ln 2/16.
    #[inline(always)]
    unsafe fn exp(x: __m512d) -> __m512d {
        unsafe {
            // Where exponentials are 0 or infinite already. max and min return their second argument when either is
            // NaN, so NaN passes.
            let x = _mm512_max_pd(_mm512_set1_pd(-800.0), _mm512_min_pd(_mm512_set1_pd(800.0), x));
            // Rounds to sixteenths: k/16 by itself, and k in the lowest bits.
            let magic = _mm512_set1_pd(MAGIC / 16.0);
            let shifted = _mm512_fmadd_pd(x, _mm512_set1_pd(std::f64::consts::LOG2_E), magic);
            let k_16 = _mm512_sub_pd(shifted, magic);
            let r = _mm512_fnmadd_pd(k_16, _mm512_set1_pd(16.0 * LN2_16_HI), x);
            let r = _mm512_fnmadd_pd(k_16, _mm512_set1_pd(16.0 * LN2_16_LO), r);
            // What k/16 cannot scale to becomes 0 or infinity by itself.
            _mm512_scalef_pd(sixteenth(shifted, r, &TABLE_POLY), k_16)
        }
    }

    #[inline(always)]
    unsafe fn exp2(x: __m512d) -> __m512d {
        unsafe {
            // NaN is not less.
            let kept = _mm512_cmp_pd_mask::<_CMP_NLT_UQ>(x, _mm512_set1_pd(MIN_POWER));
            _mm512_maskz_scalef_pd(kept, fraction_of_exp2(x), x)
        }
    }

    #[inline(always)]
    unsafe fn exp2_inside(x: __m512d) -> __m512d {
        unsafe { _mm512_scalef_pd(fraction_of_exp2(x), x) }
    }
}

/// 2ˣ = 2^⌊x⌋ · T[⌊16x⌋ mod 16] · (1 + p(r)) but for 2^⌊x⌋,   r = x − ⌊16x⌋/16, which is exact.
#[inline(always)]
unsafe fn fraction_of_exp2(x: __m512d) -> __m512d {
    const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    unsafe {
        // ⌊16x⌋ in the lowest bits; where x is too large for that any entry will do.
        let shifted = _mm512_add_round_pd::<DOWN>(x, _mm512_set1_pd(MAGIC / 16.0));
        // To four binary places, rounding down: one instruction less than two differences.
        let r = _mm512_reduce_pd::<{ 4 << 4 | DOWN }>(x);
        sixteenth(shifted, r, &TABLE_POLY_2)
    }
}

/// The halves of a added up, then those of b.
#[inline(always)]
unsafe fn fold_halves(a: __m512d, b: __m512d) -> __m512d {
    unsafe { _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0b01_00_01_00), _mm512_shuffle_f64x2(a, b, 0b11_10_11_10)) }
}

/// The quarters of each half of a added up, then those of b.
#[inline(always)]
unsafe fn fold_quarters(a: __m512d, b: __m512d) -> __m512d {
    unsafe { _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0b10_00_10_00), _mm512_shuffle_f64x2(a, b, 0b11_01_11_01)) }
}

/// T[k] (1 + r p(r)), where k stands in the four lowest bits of `shifted`.
#[inline(always)]
unsafe fn sixteenth(shifted: __m512d, r: __m512d, poly: &[f64; 6]) -> __m512d {
    unsafe {
        let (low, high) = (_mm512_loadu_pd(TABLE16.as_ptr()), _mm512_loadu_pd(TABLE16.as_ptr().add(8)));
        let t = _mm512_permutex2var_pd(low, _mm512_castpd_si512(shifted), high);
        let mut p = _mm512_set1_pd(poly[0]);
        let mut i = 1;
        while i < poly.len() {
            p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(poly[i]));
            i += 1;
        }
        _mm512_fmadd_pd(p, _mm512_mul_pd(t, r), t)
    }
}
