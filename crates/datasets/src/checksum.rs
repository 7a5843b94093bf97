//! The identity of a set: SHA-256 of its values, whatever file they came in, and of its splits.

use deepgp_numerics::linalg::Mat;
use sha2::{Digest, Sha256};

/// Bytes that are collected before they are hashed.
const HASH_BUFFER_BYTES: usize = 1 << 16;

/// SHA-256, as 64 hexadecimal digits, of the values of a data set:
///
/// ```text
/// u64  number of rows
/// u64  number of features
/// u64  number of targets
/// f64  row by row: the features, then the targets; −0 as 0
/// ```
/// all little endian and without gaps. Names, and how the numbers are written in a file, do not matter.
///
/// # Panics
/// If `features` and `targets` differ in their number of rows.
pub fn values_sha256(features: &Mat, targets: &Mat) -> String {
    assert_eq!(features.rows(), targets.rows(), "features and targets have the same rows");
    let mut hash = Hash::new(&[features.rows(), features.cols(), targets.cols()]);
    for row in 0..features.rows() {
        for value in features.row(row).iter().chain(targets.row(row)) {
            // Adding 0 turns −0 into 0 and leaves every other number alone.
            hash.add((value + 0.0).to_bits());
        }
    }
    hash.finish()
}

/// SHA-256, as 64 hexadecimal digits, of the test rows of splits:
///
/// ```text
/// u64  number of splits
///      for each split:
/// u64  number of test rows
/// u64  the test rows, as they stand
/// ```
/// all little endian and without gaps.
pub fn splits_sha256(splits: &[Vec<usize>]) -> String {
    let mut hash = Hash::new(&[splits.len()]);
    for split in splits {
        hash.add(split.len() as u64);
        split.iter().for_each(|&row| hash.add(row as u64));
    }
    hash.finish()
}

/// Hashes 64-bit words.
struct Hash {
    sha: Sha256,
    waiting: Vec<u8>,
}

impl Hash {
    fn new(shape: &[usize]) -> Self {
        let mut hash = Self { sha: Sha256::new(), waiting: Vec::with_capacity(HASH_BUFFER_BYTES) };
        shape.iter().for_each(|&n| hash.add(n as u64));
        hash
    }

    fn add(&mut self, word: u64) {
        self.waiting.extend_from_slice(&word.to_le_bytes());
        if self.waiting.len() >= HASH_BUFFER_BYTES {
            self.sha.update(&self.waiting);
            self.waiting.clear();
        }
    }

    fn finish(mut self) -> String {
        self.sha.update(&self.waiting);
        hex(&self.sha.finalize())
    }
}

/// Two hexadecimal digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of bytes that were put together by hand.
    fn sha(words: &[u64]) -> String {
        hex(&Sha256::digest(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()))
    }

    #[test]
    fn is_that_of_the_stated_bytes() -> deepgp_numerics::Result<()> {
        let (x, y) = (Mat::from_rows(&[[1.0, -0.0], [2.5, -3.0]])?, Mat::from_rows(&[[0.0], [1e300]])?);
        let bits = [1.0, 0.0, 0.0, 2.5, -3.0, 1e300].map(f64::to_bits);
        assert_eq!(values_sha256(&x, &y), sha(&[&[2, 2, 1], &bits[..]].concat()));
        assert_eq!(splits_sha256(&[vec![3, 1], vec![], vec![7]]), sha(&[3, 2, 3, 1, 0, 1, 7]));
        // The empty message, as every description of SHA-256 has it.
        assert_eq!(hex(&Sha256::digest([])), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        Ok(())
    }

    #[test]
    fn tells_shapes_and_values_apart() -> deepgp_numerics::Result<()> {
        let one = |rows, features, targets| values_sha256(&Mat::zeros(rows, features), &Mat::zeros(rows, targets));
        let mut all = vec![one(6, 1, 1), one(4, 2, 1), one(4, 1, 2), one(3, 3, 1), one(3, 1, 3)];
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5);
        // Larger than a block, so that a value in a later block counts, too.
        let mut large = Mat::zeros(HASH_BUFFER_BYTES / 8, 2);
        let before = values_sha256(&large, &Mat::zeros(HASH_BUFFER_BYTES / 8, 1));
        large[(HASH_BUFFER_BYTES / 8 - 1, 1)] = f64::MIN_POSITIVE;
        assert_ne!(values_sha256(&large, &Mat::zeros(HASH_BUFFER_BYTES / 8, 1)), before);
        Ok(())
    }
}
