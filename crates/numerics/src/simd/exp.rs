//! The vector exponential: its constants, and its use on a slice.
//!
//! Polynomials for (eʳ − 1)/r interpolate at Chebyshev nodes (degree 5 on |r| ≤ ln 2/32, degree 10 on |r| ≤ ln 2/2;
//! relative error of eʳ 1.4e-17 and 1.1e-17), computed with 60 digits. Logarithms of 2 are split so that k times the
//! high part is exact. Those for (2ʳ − 1)/r are made alike (0 ≤ r ≤ 1/16 and |r| ≤ ½; 2.8e-17 and 2.0e-17;
//! [`SMALL_POWERS`]; at most 5e-17).

use super::{Isa, Job, Lanes, run, run_on};

/// 1.5 · 2⁵²: adding it rounds to an integer, which then stands in the lowest bits.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0;
/// High part of ln 2/16, sixteen trailing zero bits.
pub(super) const LN2_16_HI: f64 = 0.043_321_698_784_893_67;
/// ln 2/16 less its high part.
pub(super) const LN2_16_LO: f64 = 1.029_121_848_931_067_6e-13;
/// High part of ln 2, twelve trailing zero bits.
pub(super) const LN2_HI: f64 = 0.693_147_180_559_663;
/// ln 2 less its high part.
pub(super) const LN2_LO: f64 = 2.823_529_056_303_157_7e-13;
/// Below this the forms without `vscalefpd` return 0: the exponent shift reaches normal numbers only.
pub(super) const MIN_ARGUMENT: f64 = -707.5;
/// Above this they return infinity.
pub(super) const MAX_ARGUMENT: f64 = 709.7;

/// 2^(i/16).
pub(super) static TABLE16: [f64; 16] = [
    1.0,
    1.044_273_782_427_413_8,
    1.090_507_732_665_257_7,
    1.138_788_634_756_691_6,
    1.189_207_115_002_721,
    1.241_857_812_073_484,
    1.296_839_554_651_009_6,
    1.354_255_546_936_892_7,
    std::f64::consts::SQRT_2,
    1.476_826_145_939_499_3,
    1.542_210_825_407_940_7,
    1.610_490_331_949_254_3,
    1.681_792_830_507_429,
    1.756_252_160_373_299_5,
    1.834_008_086_409_342_4,
    1.915_206_561_397_147_4,
];

/// Coefficients on |r| ≤ ln 2/32, highest power first.
pub(super) const TABLE_POLY: [f64; 6] = [
    0.001_388_906_378_993_546_3,
    0.008_333_473_254_376_16,
    0.041_666_666_663_583_17,
    0.166_666_666_641_998_64,
    0.500_000_000_000_000_1,
    1.000_000_000_000_000_7,
];

/// Coefficients on |r| ≤ ln 2/2, highest power first.
pub(super) const POLY: [f64; 11] = [
    2.510_531_272_962_210_3e-8,
    2.762_649_554_643_219_6e-7,
    2.755_725_517_000_089e-6,
    2.480_150_401_442_690_6e-5,
    0.000_198_412_698_750_022_8,
    0.001_388_888_893_275_1,
    0.008_333_333_333_326_084,
    0.041_666_666_666_572_39,
    0.166_666_666_666_666_7,
    0.500_000_000_000_000_6,
    1.0,
];

/// Coefficients of (2ʳ − 1)/r on 0 ≤ r ≤ 1/16, highest power first.
pub(super) const TABLE_POLY_2: [f64; 6] = [
    0.000_156_924_441_900_464_48,
    0.001_333_152_004_552_926_6,
    0.009_618_135_722_740_813,
    0.055_504_108_567_842_6,
    0.240_226_506_959_620_44,
    0.693_147_180_559_944_8,
];

/// Coefficients of (2ʳ − 1)/r on |r| ≤ ½, highest power first.
pub(super) const POLY_2: [f64; 11] = [
    4.454_960_598_186_518_6e-10,
    7.072_585_949_269_223e-9,
    1.017_806_244_584_577_4e-7,
    1.321_544_258_792_169e-6,
    1.525_273_382_983_612e-5,
    0.000_154_035_304_417_360_5,
    0.001_333_355_814_641_693_6,
    0.009_618_129_107_606_888,
    0.055_504_108_664_821_6,
    0.240_226_506_959_100_97,
    std::f64::consts::LN_2,
];

/// A polynomial that serves where powers are small.
pub struct SmallPower {
    /// Largest |r|.
    pub largest: f64,
    /// Coefficients of (2ʳ − 1)/r, highest power first.
    pub poly: &'static [f64],
}

/// From the cheapest on.
pub const SMALL_POWERS: [SmallPower; 6] = [
    SmallPower {
        largest: 1.0 / 320.0,
        poly: &[0.009_618_130_611_879_602, 0.055_504_121_685_875_73, 0.240_226_506_959_098_9, 0.693_147_180_559_929_4],
    },
    SmallPower {
        largest: 1.0 / 80.0,
        poly: &[
            0.001_333_358_793_695_521_6,
            0.009_618_159_192_689_107,
            0.055_504_108_664_705_21,
            0.240_226_506_957_925_52,
            std::f64::consts::LN_2,
        ],
    },
    SmallPower {
        largest: 1.0 / 32.0,
        poly: &[
            0.000_154_037_239_807_492_56,
            0.001_333_378_157_678_426_8,
            0.009_618_129_106_919_537,
            0.055_504_108_656_639_3,
            0.240_226_506_959_100_75,
            0.693_147_180_559_945_7,
        ],
    },
    SmallPower {
        largest: 1.0 / 12.0,
        poly: &[
            1.525_397_077_113_293_3e-5,
            0.000_154_051_365_165_498_2,
            0.001_333_355_810_347_771,
            0.009_618_129_051_859_537,
            0.055_504_108_664_825_31,
            0.240_226_506_959_149_13,
            std::f64::consts::LN_2,
        ],
    },
    SmallPower {
        largest: 1.0 / 7.0,
        poly: &[
            1.321_836_664_003_616_2e-6,
            1.525_688_863_409_020_1e-5,
            0.000_154_035_300_260_422_22,
            0.001_333_355_761_645_555_7,
            0.009_618_129_107_643_47,
            0.055_504_108_665_037_896,
            0.240_226_506_959_100_7,
            0.693_147_180_559_945_2,
        ],
    },
    SmallPower {
        largest: 0.375,
        poly: &[
            7.063_944_643_880_358e-9,
            1.019_372_585_889_523_2e-7,
            1.321_547_567_315_502_9e-6,
            1.525_271_455_539_766_4e-5,
            0.000_154_035_303_989_654,
            0.001_333_355_815_609_671_2,
            0.009_618_129_107_627_495,
            0.055_504_108_664_804_58,
            0.240_226_506_959_100_72,
            0.693_147_180_559_945_4,
        ],
    },
];

/// 2^y by polynomial number P, as far as it serves, to 2 ulp.
///
/// # Safety
/// The instruction set of `L` must be available.
#[inline(always)]
pub unsafe fn small_power<L: Lanes, const P: usize>(y: L::V) -> L::V {
    let poly = const { SMALL_POWERS[P].poly };
    // SAFETY: passed on to the caller.
    unsafe {
        let mut p = L::splat(poly[0]);
        for c in &poly[1..] {
            p = L::mul_add(p, y, L::splat(*c));
        }
        L::mul_add(p, y, L::splat(1.0))
    }
}

/// Powers of two below this are 0. Nothing is lost beside kernel values near one, and much is gained: a number below
/// 2⁻¹⁰²² is subnormal, and so soon is what is multiplied by one near it; a processor takes a hundred times as long for
/// these.
pub const MIN_POWER: f64 = -900.0;
/// Above this the forms without `vscalefpd` return infinity.
pub(super) const MAX_POWER: f64 = 1023.9;

/// x ← eˣ for each entry, to 2 ulp.
pub fn exp_in_place(values: &mut [f64]) {
    let (at, n) = (values.as_mut_ptr(), values.len());
    // SAFETY: the slice holds n numbers; each is read before it is written.
    unsafe { run(Exp { from: at, to: at, n }) }
}

/// `to_i = exp(from_i)` as far as both reach, to 2 ulp.
pub fn exp_into(from: &[f64], to: &mut [f64]) {
    let n = from.len().min(to.len());
    // SAFETY: both slices hold n numbers.
    unsafe { run(Exp { from: from.as_ptr(), to: to.as_mut_ptr(), n }) }
}

/// [`exp_in_place`] on a given instruction set.
///
/// # Panics
/// If the processor does not have it.
pub fn exp_in_place_on(isa: Isa, values: &mut [f64]) {
    assert!(Isa::available().contains(&isa), "{isa:?} is not available here");
    let (at, n) = (values.as_mut_ptr(), values.len());
    // SAFETY: the instruction set is available, and the slice holds n numbers.
    unsafe { run_on(isa, Exp { from: at, to: at, n }) }
}

struct Exp {
    from: *const f64,
    to: *mut f64,
    n: usize,
}

impl Job for Exp {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut i = 0;
            while i + L::N <= self.n {
                L::store(self.to.add(i), L::exp(L::load(self.from.add(i))));
                i += L::N;
            }
            let left = self.n - i;
            if left > 0 {
                L::store_part(self.to.add(i), L::exp(L::load_part(self.from.add(i), left)), left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units in the last place.
    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn agrees_with_the_standard_library_on_every_instruction_set() {
        let arguments: Vec<f64> = (0..400_003).map(|i| -707.0 + 1416.0 * f64::from(i) / 400_003.0).collect();
        let small: Vec<f64> = (0..10_001).map(|i| (f64::from(i) - 5000.0) * 1e-5).collect();
        for isa in Isa::available() {
            for arguments in [&arguments, &small] {
                let mut values = arguments.clone();
                exp_in_place_on(isa, &mut values);
                for (x, y) in arguments.iter().zip(&values) {
                    assert!(ulps(*y, x.exp()) <= 2, "{isa:?}: exp({x}) = {y}, not {}", x.exp());
                }
            }
        }
    }

    /// xᵢ ← 2^xᵢ, for whole vectors.
    struct Exp2<'a>(&'a mut [f64]);

    impl Job for Exp2<'_> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            for chunk in self.0.chunks_exact_mut(L::N) {
                // SAFETY: passed on to the caller; a chunk is a vector.
                unsafe { L::store(chunk.as_mut_ptr(), L::exp2(L::load(chunk.as_ptr()))) }
            }
        }
    }

    #[test]
    fn powers_of_two_agree_with_the_standard_library_on_every_instruction_set() {
        let arguments: Vec<f64> = (0..400_000).map(|i| MIN_POWER + 1923.1 * f64::from(i) / 400_000.0).collect();
        let small: Vec<f64> = (0..10_000).map(|i| (f64::from(i) - 5000.0) * 1e-5).collect();
        let whole: Vec<f64> = (0..64).map(|i| f64::from(i) / 16.0 - 2.0).collect();
        let tiny: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 1e-300 } else { -1e-300 }).collect();
        for isa in Isa::available() {
            for arguments in [&arguments, &small, &whole, &tiny] {
                let mut values = arguments.clone();
                // SAFETY: the instruction set is available.
                unsafe { run_on(isa, Exp2(&mut values)) };
                for (x, y) in arguments.iter().zip(&values) {
                    assert!(ulps(*y, x.exp2()) <= 2, "{isa:?}: 2^{x} = {y}, not {}", x.exp2());
                }
            }
            let mut below: Vec<f64> = (0..2400).map(|i| MIN_POWER.next_down() - 0.1 * f64::from(i)).collect();
            // SAFETY: the instruction set is available.
            unsafe { run_on(isa, Exp2(&mut below)) };
            assert!(below.iter().all(|y| *y == 0.0), "{isa:?}");
            let mut ends = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY, -1e300, -1e15, 1e15, -1100.0, 1025.0];
            // SAFETY: the instruction set is available.
            unsafe { run_on(isa, Exp2(&mut ends)) };
            assert!(ends[0].is_nan(), "{isa:?}");
            assert_eq!(ends[1..], [0.0, f64::INFINITY, 0.0, 0.0, f64::INFINITY, 0.0, f64::INFINITY], "{isa:?}");
        }
    }

    /// Powers of two of small exponents by polynomial number P.
    struct SmallPowers<'a, const P: usize>(&'a mut [f64]);

    impl<const P: usize> Job for SmallPowers<'_, P> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            for chunk in self.0.chunks_exact_mut(L::N) {
                // SAFETY: passed on to the caller; a chunk is a vector.
                unsafe { L::store(chunk.as_mut_ptr(), small_power::<L, P>(L::load(chunk.as_ptr()))) }
            }
        }
    }

    #[test]
    fn small_powers_agree_with_the_standard_library_as_far_as_they_serve() {
        fn check<const P: usize>(isa: Isa) {
            let largest = SMALL_POWERS[P].largest;
            let arguments: Vec<f64> = (0..=20_007).map(|i| largest * (f64::from(i) / 10_003.5 - 1.0)).collect();
            assert!(arguments[0] == -largest && arguments[20_007] == largest);
            let mut values = arguments.clone();
            // SAFETY: the instruction set is available.
            unsafe { run_on(isa, SmallPowers::<P>(&mut values)) };
            for (x, y) in arguments.iter().zip(&values) {
                assert!(ulps(*y, x.exp2()) <= 2, "{isa:?}, {P}: 2^{x} = {y}, not {}", x.exp2());
            }
        }
        for isa in Isa::available() {
            check::<0>(isa);
            check::<1>(isa);
            check::<2>(isa);
            check::<3>(isa);
            check::<4>(isa);
            check::<5>(isa);
        }
    }

    #[test]
    fn ends_of_the_range() {
        for isa in Isa::available() {
            let mut values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e100, 1e100, -746.0, 710.0, 0.0, -0.0];
            exp_in_place_on(isa, &mut values);
            assert!(values[0].is_nan(), "{isa:?}");
            assert_eq!(values[1..], [f64::INFINITY, 0.0, 0.0, f64::INFINITY, 0.0, f64::INFINITY, 1.0, 1.0], "{isa:?}");
        }
    }
}
