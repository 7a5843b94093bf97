//! The Mersenne Twister MT19937: the generator behind the standard splits.
//!
//! Matsumoto & Nishimura (1998), ACM Transactions on Modeling and Computer Simulation 8(1), seeded as their
//! `init_genrand` does it.

/// Words of state.
const N: usize = 624;
/// How far ahead the word lies that a word is mixed with.
const M: usize = 397;

/// A stream of 32-bit words.
pub(crate) struct Mt19937 {
    state: [u32; N],
    next: usize,
}

impl Mt19937 {
    /// The stream of a seed.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for i in 1..N {
            let last = state[i - 1];
            state[i] = 1_812_433_253_u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: N }
    }

    /// The next word.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == N {
            self.twist();
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Replaces every word of the state.
    fn twist(&mut self) {
        for i in 0..N {
            let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (joined >> 1) ^ odd;
        }
    }

    /// A whole number from 0 to `max`, all equally likely: words are cut to the bits of `max` and redrawn while above
    /// it.
    pub fn up_to(&mut self, max: u32) -> u32 {
        let mask = u32::MAX.checked_shr(max.leading_zeros()).unwrap_or(0);
        loop {
            let value = self.next_u32() & mask;
            if value <= max {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_known_words() {
        // The first words of NumPy's seed 1, and of C++'s std::mt19937 with its default seed, whose ten thousandth
        // the standard fixes.
        let mut one = Mt19937::new(1);
        assert_eq!(
            [0; 5].map(|_| one.next_u32()),
            [1_791_095_845, 4_282_876_139, 3_093_770_124, 4_005_303_368, 491_263]
        );
        let mut default = Mt19937::new(5489);
        assert_eq!([0; 3].map(|_| default.next_u32()), [3_499_211_612, 581_869_302, 3_890_346_734]);
        assert_eq!((3..10_000).map(|_| default.next_u32()).last(), Some(4_123_659_995));
    }

    #[test]
    fn draws_reach_their_bounds_and_stay_within() {
        let mut words = Mt19937::new(1);
        for max in [0, 1, 2, 6, 7, 8] {
            let mut seen = vec![false; max as usize + 1];
            (0..200).for_each(|_| seen[words.up_to(max) as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{max}");
        }
        assert!((0..100).map(|_| words.up_to(u32::MAX)).any(|word| word > u32::MAX / 2));
    }
}
