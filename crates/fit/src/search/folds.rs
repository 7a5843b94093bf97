//! Which rows trials are trained on and which validate them.
//!
//! Rows with the same inputs stay together: a model that has memorised one of them must not be praised for another.

use deepgp::Result;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::normal_log_density;
use deepgp_task::{RowInfo, StandardisedData};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Up to this many rows, every row validates once (cross-validation); of more, a part is enough.
const MOST_CROSS_VALIDATION_ROWS: usize = 2000;
/// Folds of a cross-validation.
const FOLDS: usize = 4;
/// Share of the rows that validates where there are many, and the most.
const VALIDATION_SHARE: f64 = 0.15;
const MOST_VALIDATION: usize = 4000;
/// With fewer rows there is nothing to validate by.
pub(crate) const LEAST_ROWS: usize = FOLDS;
/// With fewer different rows for each fold, rows with the same inputs are parted.
const LEAST_GROUPS: usize = 2;

/// A division of the rows.
#[derive(Debug)]
pub(crate) struct Fold {
    /// Its number.
    pub index: usize,
    /// Rows to train on, standardised by themselves: what the validation rows are like must not be known.
    pub train: StandardisedData,
    /// Inputs and targets of the validation rows, in the units of what was divided, and what else is known of them.
    pub validation: (Mat, Mat),
    pub info: RowInfo,
    /// Log density of each validation row's targets by the distribution of those that are trained on.
    pub constant: Vec<f64>,
}

/// Divisions such that no row validates twice, a function of the seed; none for very few rows.
///
/// # Errors
/// As [`StandardisedData::part`].
pub(crate) fn folds(data: &StandardisedData, seed: u64) -> Result<Vec<Fold>> {
    let rows = data.x().rows();
    if !data.info().time.is_empty() {
        return by_time(data);
    }
    let group = &data.info().group;
    let mut groups = if group.is_empty() { same_inputs(data.x()) } else { same_groups(group) };
    if group.is_empty() && groups.len() < LEAST_GROUPS * FOLDS {
        groups = (0..rows).map(|row| vec![row]).collect();
    }
    groups.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let (count, size) = match rows {
        0..LEAST_ROWS => return Ok(Vec::new()),
        LEAST_ROWS..=MOST_CROSS_VALIDATION_ROWS => (FOLDS, rows.div_ceil(FOLDS)),
        _ => (1, ((VALIDATION_SHARE * rows as f64) as usize).min(MOST_VALIDATION)),
    };
    if data.task().n_labels() > 0 {
        // Dealt out label by label, every fold gets its share of each.
        groups.sort_by(|a, b| data.y()[(a[0], 0)].total_cmp(&data.y()[(b[0], 0)]));
        let parts = rows / size;
        let deal = |part: usize| (part..groups.len()).step_by(parts.max(1));
        groups = (0..parts.max(1)).flat_map(deal).map(|place| groups[place].clone()).collect();
    }
    // The fold that a row validates in, if any: groups in order, each fold until it is full.
    let (mut fold_of, mut before) = (vec![usize::MAX; rows], 0);
    for group in &groups {
        group.iter().for_each(|&row| fold_of[row] = before / size);
        before += group.len();
    }
    let divide = |index: usize| {
        let (chosen, train): (Vec<usize>, Vec<usize>) = (0..rows).partition(|&row| fold_of[row] == index);
        fold(data, index, &train, &chosen)
    };
    let is_division = |fold: &usize| fold_of.contains(fold) && fold_of.iter().any(|other| other != fold);
    (0..count.min(before.div_ceil(size))).filter(is_division).map(divide).collect()
}

/// A division into these rows to train on and these that validate.
fn fold(data: &StandardisedData, index: usize, train: &[usize], chosen: &[usize]) -> Result<Fold> {
    let validation = (data.x().select_rows(chosen), data.y().select_rows(chosen));
    let (train, mut info) = (data.part(train)?, data.info().of_rows(chosen));
    // As the targets, which are standardised.
    info.noise_std.iter_mut().for_each(|std| *std /= data.targets().scale()[0]);
    let constant = match train.average_row() {
        Some(law) => {
            let known = Some(&info).filter(|info| !info.is_empty());
            train.task().constant(train.targets(), Some(law), chosen.len(), known).log_density(&validation.1)?
        }
        None => (0..chosen.len()).map(|n| constant_log_density(&train, validation.1.row(n))).collect(),
    };
    Ok(Fold { index, train, validation, info, constant })
}

/// Divisions by time, the one with the latest rows first: of few rows every later fifth is validated by what comes
/// before it, of many the latest part.
fn by_time(data: &StandardisedData) -> Result<Vec<Fold>> {
    let (rows, time) = (data.x().rows(), &data.info().time);
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|a, b| time[*a].total_cmp(&time[*b]).then(a.cmp(b)));
    let ends: Vec<(usize, usize)> = match rows {
        0..LEAST_ROWS => return Ok(Vec::new()),
        LEAST_ROWS..=MOST_CROSS_VALIDATION_ROWS => {
            let end = |part: usize| (part * rows).div_ceil(FOLDS + 1);
            (1..=FOLDS).rev().map(|part| (end(part), end(part + 1))).collect()
        }
        _ => vec![(rows - ((VALIDATION_SHARE * rows as f64) as usize).min(MOST_VALIDATION), rows)],
    };
    // Rows of the same time stay together: what begins a part goes back to where its time begins.
    let begin = |place: usize| order.partition_point(|row| time[*row] < time[order[place.min(rows - 1)]]);
    let divide = |(start, end): (usize, usize)| (begin(start), if end == rows { rows } else { begin(end) });
    let divisions = ends.into_iter().map(divide).filter(|(start, end)| 0 < *start && start < end);
    divisions.enumerate().map(|(index, (start, end))| fold(data, index, &order[..start], &order[start..end])).collect()
}

/// Rows by their group, in order of the first of each.
fn same_groups(group: &[u64]) -> Vec<Vec<usize>> {
    let (mut groups, mut places): (Vec<Vec<usize>>, HashMap<u64, usize>) = (Vec::new(), HashMap::new());
    for (row, id) in group.iter().enumerate() {
        let place = *places.entry(*id).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(row);
    }
    groups
}

/// Log density of a row of targets by the normal distribution of others, in the units of what these are a part of.
fn constant_log_density(train: &StandardisedData, targets: &[f64]) -> f64 {
    let laws = train.targets().mean().iter().zip(train.targets().scale());
    targets
        .iter()
        .zip(laws)
        .map(|(y, (mean, scale))| normal_log_density((y - mean) / scale, 0.0, 1.0) - scale.ln())
        .sum()
}

/// Rows by their inputs, in order of the first of each.
fn same_inputs(x: &Mat) -> Vec<Vec<usize>> {
    let (mut groups, mut places): (Vec<Vec<usize>>, HashMap<u64, usize>) = (Vec::new(), HashMap::new());
    for row in 0..x.rows() {
        let mut hasher = DefaultHasher::new();
        x.row(row).iter().for_each(|value| value.to_bits().hash(&mut hasher));
        let place = *places.entry(hasher.finish()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(row);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_all_validate_and_many_in_part() -> Result<()> {
        for (rows, count, n_validation) in [
            (3, 0, 0),
            (4, 4, 4),
            (9, 3, 9),
            (12, 4, 12),
            (103, 4, 103),
            (2000, 4, 2000),
            (5000, 1, 750),
            (90_000, 1, 4000),
        ] {
            let x = Mat::from_fn(rows, 1, |i, _| i as f64);
            let all = folds(&StandardisedData::new(x.clone(), x)?, 1)?;
            let mut seen: Vec<f64> = all.iter().flat_map(|fold| fold.validation.0.column(0)).collect();
            seen.sort_by(f64::total_cmp);
            seen.dedup();
            assert_eq!((all.len(), seen.len()), (count, n_validation), "{rows} rows");
            for fold in &all {
                assert_eq!(fold.train.x().rows() + fold.validation.0.rows(), rows);
                assert!(fold.train.x().rows() > 0);
            }
        }
        Ok(())
    }

    #[test]
    fn later_rows_validate_what_earlier_ones_taught() -> Result<()> {
        for (rows, count) in [(60, 4), (5000, 1)] {
            let x = Mat::from_fn(rows, 1, |i, _| ((i * 37) % rows / 3) as f64);
            let info = RowInfo { time: x.column(0), ..RowInfo::default() };
            let all = folds(&StandardisedData::new(x.clone(), x.clone())?.with_info(info)?, 1)?;
            assert_eq!(all.len(), count);
            for fold in &all {
                let last = fold.train.info().time.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert!(fold.info.time.iter().all(|time| *time > last));
            }
            assert!(all[0].train.x().rows() > rows / 2);
        }
        Ok(())
    }

    #[test]
    fn groups_stay_together_and_labels_are_spread() -> Result<()> {
        let x = Mat::from_fn(100, 1, |i, _| i as f64);
        let info = RowInfo { group: (0..100).map(|i| i / 5).collect(), ..RowInfo::default() };
        let all = folds(&StandardisedData::new(x.clone(), x.clone())?.with_info(info)?, 1)?;
        assert_eq!(all.iter().map(|fold| fold.validation.0.rows()).sum::<usize>(), 100);
        for fold in &all {
            assert!(fold.info.group.iter().all(|id| !fold.train.info().group.contains(id)));
        }
        // Eight rows of the second label: two for every fold.
        let y = Mat::from_fn(100, 1, |i, _| if i % 13 == 5 { 1.0 } else { 0.0 });
        let data = StandardisedData::for_task(deepgp_task::Task::Classes { count: 2 }, x, y)?;
        for fold in folds(&data, 1)? {
            assert_eq!(fold.validation.1.as_slice().iter().sum::<f64>(), 2.0);
        }
        Ok(())
    }

    #[test]
    fn rows_with_the_same_inputs_stay_together() -> Result<()> {
        let x = Mat::from_fn(90, 2, |i, j| (i % 40 * (j + 1)) as f64);
        let all = folds(&StandardisedData::new(x.clone(), x.clone())?, 3)?;
        assert_eq!(all.iter().map(|fold| fold.validation.0.rows()).sum::<usize>(), 90);
        for fold in &all {
            // In the units of all rows, as the validation rows are.
            let train = fold.train.inputs().invert_mean(fold.train.x())?;
            for row in 0..fold.validation.0.rows() {
                let row = fold.validation.0.row(row);
                let is_same = |n: usize| train.row(n).iter().zip(row).all(|(a, b)| (a - b).abs() < 1e-9);
                assert!(!(0..train.rows()).any(is_same));
            }
        }
        // Where all inputs are the same there is no other way.
        let same = folds(&StandardisedData::new(Mat::zeros(40, 2), Mat::from_fn(40, 1, |i, _| i as f64))?, 3)?;
        assert_eq!(same.len(), 4);
        Ok(())
    }
}
