//! Weighted sums of the shifts of one sequence, for three sets of weights at once.

use super::{Job, Lanes, run};

/// out_k\[j\] = Σ_i w_i\[k\] g\[i + j\] for as many j as the outputs have places; sums stay in registers.
///
/// # Panics
/// If the outputs differ in length, or if `g` is shorter than the last shift needs.
pub fn convolve(weights: &[[f64; 3]], g: &[f64], out: [&mut [f64]; 3]) {
    let n = out[0].len();
    assert!(out.iter().all(|out| out.len() == n), "outputs of one length");
    assert!(g.len() + 1 >= n + weights.len(), "a number for every shift");
    let job = Convolve { weights, g: g.as_ptr(), out: out.map(<[f64]>::as_mut_ptr), n };
    // SAFETY: the lengths have been checked.
    unsafe { run(job) }
}

struct Convolve<'a> {
    weights: &'a [[f64; 3]],
    g: *const f64,
    out: [*mut f64; 3],
    n: usize,
}

impl Job for Convolve<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let mut j = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while j + 2 * L::N <= self.n {
                let mut sums = [[L::splat(0.0); 2]; 3];
                for (i, weights) in self.weights.iter().enumerate() {
                    let g = self.g.add(i + j);
                    let g = [L::load(g), L::load(g.add(L::N))];
                    for (sums, weight) in sums.iter_mut().zip(weights) {
                        let weight = L::splat(*weight);
                        *sums = [L::mul_add(weight, g[0], sums[0]), L::mul_add(weight, g[1], sums[1])];
                    }
                }
                for (out, sums) in self.out.iter().zip(sums) {
                    L::store(out.add(j), sums[0]);
                    L::store(out.add(j + L::N), sums[1]);
                }
                j += 2 * L::N;
            }
            while j < self.n {
                let mut sums = [L::splat(0.0); 3];
                for (i, weights) in self.weights.iter().enumerate() {
                    let g = L::load_some(self.g.add(i + j), self.n - j);
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum = L::mul_add(L::splat(*weight), g, *sum);
                    }
                }
                for (out, sum) in self.out.iter().zip(sums) {
                    L::store_some(out.add(j), sum, self.n - j);
                }
                j += L::N;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced::on_each;

    #[test]
    fn every_length_on_every_instruction_set() {
        on_each(|isa| {
            for n in 0..40 {
                for terms in [0, 1, 2, 7] {
                    let weights: Vec<[f64; 3]> =
                        (0..terms).map(|i| [1.0, 2.0, 3.0].map(|k| (k * i as f64).cos())).collect();
                    let g: Vec<f64> = (0..n + terms).map(|i| (1.7 * i as f64).sin()).collect();
                    let mut out = [vec![f64::NAN; n], vec![f64::NAN; n], vec![f64::NAN; n]];
                    let [a, b, c] = &mut out;
                    convolve(&weights, &g[..(n + terms).saturating_sub(1)], [a, b, c]);
                    for (k, j) in (0..3).flat_map(|k| (0..n).map(move |j| (k, j))) {
                        let expected: f64 = weights.iter().enumerate().map(|(i, w)| w[k] * g[i + j]).sum();
                        assert!((out[k][j] - expected).abs() < 1e-14, "{isa:?}, {n}, {terms}: {k}, {j}");
                    }
                }
            }
        });
    }
}
