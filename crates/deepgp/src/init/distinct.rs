//! Which rows of a table differ, bit for bit (with −0 = 0).

use deepgp_numerics::linalg::Mat;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// A row compared by its bits, so that it can be a key; −0 and 0 are the same number.
pub(super) struct RowKey<'a>(pub &'a [f64]);

impl RowKey<'_> {
    fn bits(&self) -> impl Iterator<Item = u64> {
        // −0 + 0 = 0
        self.0.iter().map(|v| (v + 0.0).to_bits())
    }
}

impl PartialEq for RowKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bits().eq(other.bits())
    }
}

impl Eq for RowKey<'_> {}

impl Hash for RowKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().for_each(|b| state.write_u64(b));
    }
}

/// The rows that equal no earlier row, ascending, the first `limit` of them.  Cost: O(N D) by hashing, memory for
/// `limit` rows' keys.
pub(super) fn first_occurrences(x: &Mat, limit: usize) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(limit.min(x.rows()));
    (0..x.rows()).filter(|&i| seen.insert(RowKey(x.row(i)))).take(limit).collect()
}

/// Number of different rows: no more inducing inputs than this are of use.  Cost: O(N D) by hashing.
pub fn distinct_rows(x: &Mat) -> usize {
    first_occurrences(x, usize::MAX).len()
}

/// The number of different rows or `limit`, whichever is less; the search ends there.
pub(super) fn distinct_rows_up_to(x: &Mat, limit: usize) -> usize {
    first_occurrences(x, limit).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    #[test]
    fn counts_rows_by_their_bits() -> Result<()> {
        let next = 1.0 + f64::EPSILON;
        let x = Mat::from_rows(&[[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, next], [0.0, 1.0]])?;
        assert_eq!(first_occurrences(&x, 9), [0, 2, 3]);
        assert_eq!(first_occurrences(&x, 2), [0, 2]);
        assert_eq!(distinct_rows_up_to(&x, 2), 2);
        assert_eq!(distinct_rows(&x), 3);
        Ok(())
    }

    #[test]
    fn tables_without_rows_or_columns() {
        assert_eq!(distinct_rows(&Mat::zeros(0, 3)), 0);
        assert_eq!(distinct_rows(&Mat::zeros(5, 0)), 1);
    }
}
