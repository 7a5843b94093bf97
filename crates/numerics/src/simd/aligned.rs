//! Numbers that begin at a cache line, so that vectors at multiples of their length do not straddle two.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Numbers before the first line that begins in a piece of memory, at most.
const SLACK: usize = LINE / size_of::<f64>() - 1;

/// Float64 in a row that begin at a multiple of 64 bytes, unless they were taken over from a vector.
#[derive(Debug, Default)]
pub struct Aligned {
    /// It never grows in place: its numbers would be moved to where no line begins.
    memory: Vec<f64>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        if len == 0 {
            return Self::default();
        }
        let memory = vec![0.0; len + SLACK];
        // Where the offset cannot be told, any will do.
        let start = Some(memory.as_ptr().align_offset(LINE)).filter(|start| *start <= SLACK).unwrap_or(0);
        Self { memory, start, len }
    }

    /// Makes it `len` numbers long; all are zero if it was not.
    pub fn resize(&mut self, len: usize) {
        if self.len != len {
            *self = Self::zeros(len);
        }
    }

    /// Makes it at least `len` numbers long; all are zero if it was not.
    pub fn expect(&mut self, len: usize) {
        self.resize(len.max(self.len));
    }

    /// Forgets what comes after the first `len` numbers, keeping the memory.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends zeros until it is `len` numbers long.
    pub fn extend_to(&mut self, len: usize) {
        let old = self.len;
        self.lengthen(len);
        self[old..].fill(0.0);
    }

    /// Appends these numbers.
    pub fn extend_from_slice(&mut self, numbers: &[f64]) {
        let old = self.len;
        self.lengthen(old + numbers.len());
        self[old..].copy_from_slice(numbers);
    }

    /// Makes sure that it can become `len` numbers long without asking for memory again.
    pub fn reserve(&mut self, len: usize) {
        if self.start + len > self.memory.len() {
            let mut larger = Self::zeros(len);
            larger[..self.len].copy_from_slice(self);
            larger.len = self.len;
            *self = larger;
        }
    }

    /// Makes it at least `len` numbers long; what is new has no meaning.
    pub fn lengthen(&mut self, len: usize) {
        if self.start + len > self.memory.len() {
            self.reserve(len.max(2 * self.len));
        }
        self.len = self.len.max(len);
    }
}

impl From<Vec<f64>> for Aligned {
    /// The numbers of a vector where they are.
    fn from(memory: Vec<f64>) -> Self {
        Self { start: 0, len: memory.len(), memory }
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.len);
        copy.copy_from_slice(self);
        copy
    }

    /// Keeps its memory where it can.
    fn clone_from(&mut self, source: &Self) {
        self.truncate(0);
        self.reserve(source.len);
        self.len = source.len;
        self.copy_from_slice(source);
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl serde::Serialize for Aligned {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        &self.memory[self.start..][..self.len]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.memory[self.start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins_at_a_line(numbers: &Aligned) -> bool {
        numbers.as_ptr().align_offset(LINE) == 0
    }

    #[test]
    fn begins_at_a_cache_line_and_holds_what_is_written() {
        for len in [1, 8, 9, 100] {
            let mut numbers = Aligned::zeros(len);
            assert!(begins_at_a_line(&numbers));
            assert_eq!(*numbers, vec![0.0; len]);
            numbers.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            let copy = numbers.clone();
            assert!(begins_at_a_line(&copy) && copy == numbers);
            assert!(copy.iter().enumerate().all(|(i, v)| *v == i as f64));
        }
        assert!(Aligned::zeros(0).is_empty());
    }

    #[test]
    fn grows_as_a_vector_does() {
        let (mut numbers, mut vector) = (Aligned::from(vec![7.0, 8.0]), vec![7.0, 8.0]);
        for i in 0..50 {
            let more = vec![f64::from(i); i as usize % 4];
            numbers.extend_from_slice(&more);
            vector.extend_from_slice(&more);
            if i % 7 == 0 {
                numbers.truncate(i as usize);
                vector.truncate(i as usize);
                // What was there before does not come back.
                numbers.extend_to(vector.len() + 3);
                vector.resize(vector.len() + 3, 0.0);
            }
            assert_eq!(*numbers, vector);
        }
        assert!(begins_at_a_line(&numbers));
        let mut copy = Aligned::zeros(1000);
        let place = copy.as_ptr();
        copy.clone_from(&numbers);
        assert!(copy == numbers && copy.as_ptr() == place);
        numbers.reserve(10_000);
        assert_eq!(*numbers, vector);
    }
}
