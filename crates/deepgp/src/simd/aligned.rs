//! Numbers that begin at a cache line, so that vectors at multiples of their length do not straddle two.

use std::ops::{Deref, DerefMut};

/// One cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([f64; 8]);

/// A fixed number of float64 that begin at a multiple of 64 bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([0.0; 8]); len.div_ceil(8)], len }
    }

    /// Makes it `len` numbers long; all are zero if it was not.
    pub(crate) fn resize(&mut self, len: usize) {
        if self.len != len {
            *self = Self::zeros(len);
        }
    }

    /// Makes it at least `len` numbers long; all are zero if it was not.
    pub(crate) fn expect(&mut self, len: usize) {
        self.resize(len.max(self.len));
    }
}

impl Deref for Aligned {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        // SAFETY: the lines are at least `len` numbers in a row: a line is eight of them without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_at_a_cache_line_and_holds_what_is_written() {
        for len in [0, 1, 8, 9, 100] {
            let mut numbers = Aligned::zeros(len);
            assert_eq!(numbers.as_ptr().align_offset(64), 0);
            assert_eq!(*numbers, vec![0.0; len]);
            numbers.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            assert!(numbers.clone().iter().enumerate().all(|(i, v)| *v == i as f64));
        }
    }
}
