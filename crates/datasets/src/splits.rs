//! The standard splits: which rows are for testing, by one rule for every set.

use crate::mt19937::Mt19937;

/// Test rows of the standard splits of `n_rows` rows, ascending.
///
/// The rule of Hernández-Lobato & Adams (2015), ICML, whose index files have been used since: shuffle all rows, train
/// on the first nine tenths ([`n_training_rows`]), test on the rest, and go on with the same stream of random numbers
/// for the next split. In NumPy: `np.random.seed(1)`, then `np.random.choice(range(n), n, replace=False)` for each
/// split. Step by step: MT19937 is seeded with 1, once. For each split a = 0, 1, …, n − 1; for i from n − 1 down to 1,
/// j is drawn from 0, …, i by cutting 32-bit words to the bits of i and redrawing while above it, and a\[i\] and a\[j\]
/// change places.
///
/// Fewer splits are the first ones of more.
///
/// ```
/// let splits = deepgp_datasets::standard_splits(506, 20);
/// assert_eq!((splits.len(), splits[0].len()), (20, 51));
/// assert_eq!(splits[0][..5], [1, 7, 22, 37, 50]);
/// ```
///
/// # Panics
/// If there are more rows than a 32-bit word can number.
pub fn standard_splits(n_rows: usize, n_splits: usize) -> Vec<Vec<usize>> {
    assert!(u32::try_from(n_rows).is_ok(), "rows must be numbered by 32-bit words");
    let mut words = Mt19937::new(1);
    let n_training = n_training_rows(n_rows);
    (0..n_splits)
        .map(|_| {
            let mut rows: Vec<usize> = (0..n_rows).collect();
            for i in (1..n_rows).rev() {
                rows.swap(i, words.up_to(i as u32) as usize);
            }
            let mut test = rows.split_off(n_training);
            test.sort_unstable();
            test
        })
        .collect()
}

/// Training rows of a standard split: nine tenths of all rows, a half rounded to the even number as NumPy does.
pub fn n_training_rows(n_rows: usize) -> usize {
    (0.9 * n_rows as f64).round_ties_even() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_go_to_the_even_number() {
        // 0.9 n = 4.5, 13.5, 22.5, 31.5
        assert_eq!([5, 15, 25, 35].map(n_training_rows), [4, 14, 22, 32]);
        assert_eq!([0, 1, 2, 9, 10, 506, 45_730].map(n_training_rows), [0, 1, 2, 8, 9, 455, 41_157]);
    }

    #[test]
    fn tables_of_a_few_rows_have_splits() {
        assert_eq!(standard_splits(0, 2), [vec![], vec![]] as [Vec<usize>; 2]);
        assert_eq!(standard_splits(1, 1), [vec![]] as [Vec<usize>; 1]);
        assert_eq!(standard_splits(10, 3).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert!(standard_splits(10, 0).is_empty());
    }

    proptest! {
        #[test]
        fn test_rows_ascend_and_are_rows(n_rows in 2_usize..300, n_splits in 1_usize..4) {
            let splits = standard_splits(n_rows, n_splits);
            prop_assert_eq!(splits.len(), n_splits);
            for test in &splits {
                prop_assert_eq!(test.len(), n_rows - n_training_rows(n_rows));
                prop_assert!(test.is_sorted_by(|a, b| a < b) && test.iter().all(|row| *row < n_rows));
            }
            prop_assert_eq!(&standard_splits(n_rows, n_splits + 1)[..n_splits], &splits[..]);
        }
    }
}
