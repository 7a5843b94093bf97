//! The length of a row in tables that vector code reads.

use deepgp_numerics::simd::PAD;

/// Length of a row of `n` numbers in a table: whole vectors, and space for one more.
pub(crate) fn row_len(n: usize) -> usize {
    n.next_multiple_of(PAD) + PAD
}
