//! Scores of predicted probabilities of labels.
//!
//! ```text
//! error rate   share of rows whose label is not the most probable one
//! Brier        mean of Σ_k (p_k − 1[y = k])²; half of it for two classes, where both terms are the same
//! ECE          Σ_b n_b/N |observed_b − predicted_b| over bins of the probability of the label that is predicted
//! AUC          P(p of a row of a class > p of another row), ties counted half; of several classes the mean over classes
//! ```
//! Reference: Brier (1950); Naeini, Cooper and Hauskrecht (2015) for the calibration error.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bins of probabilities.
const BINS: usize = 15;
/// Log odds that differ by less than this share of 1 count as ties in the AUC, and the largest that are told apart.
const STEPS_PER_LOG_ODDS: f64 = 1000.0;
const MOST_LOG_ODDS: f64 = 700.0;

/// Scores of labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelScores {
    /// Share of rows whose label is not the most probable one.
    pub error_rate: f64,
    /// Brier score.
    pub brier: f64,
    /// Expected calibration error of the predicted label's probability.
    pub ece: f64,
    /// Area under the ROC curve; nothing if all rows have the same label.
    pub auc: Option<f64>,
    /// Rows by their label (outer) and the predicted one (inner), each once whatever it counts for.
    pub confusion: Vec<Vec<usize>>,
    /// Predicted probabilities and what came true: of the second of two classes, otherwise of the predicted label.
    pub reliability: Vec<ReliabilityBin>,
}

/// Rows with about the same predicted probability.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// How many.
    pub rows: usize,
    /// Their mean probability.
    pub predicted: f64,
    /// Share of them of which it came true.
    pub observed: f64,
    /// Standard error of that share if the probabilities are right.
    pub error: f64,
}

/// Sums of a bin.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    rows: usize,
    /// What they count for, and those of which it came true.
    total_weight: f64,
    predicted: f64,
    came_true: f64,
    variance: f64,
}

impl Bin {
    fn add(&mut self, p: f64, is_true: bool, weight: f64) {
        self.rows += 1;
        self.total_weight += weight;
        self.predicted += weight * p;
        self.came_true += if is_true { weight } else { 0.0 };
        self.variance += weight * (p * (1.0 - p));
    }

    fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.total_weight += other.total_weight;
        self.predicted += other.predicted;
        self.came_true += other.came_true;
        self.variance += other.variance;
    }

    fn averages(&self) -> ReliabilityBin {
        let n = self.total_weight;
        ReliabilityBin {
            rows: self.rows,
            predicted: self.predicted / n,
            observed: self.came_true / n,
            error: self.variance.max(0.0).sqrt() / n,
        }
    }
}

/// What rows with the same log odds of a class count for: of other classes, and of this one.
type Odds = BTreeMap<i32, [f64; 2]>;

/// Sums over rows.
#[derive(Debug, Clone)]
pub(super) struct LabelTally {
    /// What the rows count for, and those whose label was predicted.
    total_weight: f64,
    right: f64,
    brier: f64,
    confusion: Vec<Vec<usize>>,
    /// By the probability of the predicted label, and of the second label.
    of_predicted: [Bin; BINS],
    of_second: [Bin; BINS],
    /// For each class; for two only of the second.
    odds: Vec<Odds>,
}

fn bin(p: f64) -> usize {
    ((p * BINS as f64) as usize).min(BINS - 1)
}

impl LabelTally {
    /// Of no rows.
    pub fn new(labels: usize) -> Self {
        Self {
            total_weight: 0.0,
            right: 0.0,
            brier: 0.0,
            confusion: vec![vec![0; labels]; labels],
            of_predicted: [Bin::default(); BINS],
            of_second: [Bin::default(); BINS],
            odds: vec![Odds::new(); if labels == 2 { 1 } else { labels }],
        }
    }

    /// Number of labels.
    pub fn n_labels(&self) -> usize {
        self.confusion.len()
    }

    /// Adds a row with the probabilities of all labels; it counts for `weight` rows.
    pub fn add(&mut self, p: &[f64], label: usize, weight: f64) {
        let predicted = most_probable(p);
        let brier = p.iter().enumerate().map(|(k, p)| (p - f64::from(u8::from(k == label))).powi(2)).sum::<f64>();
        self.total_weight += weight;
        self.right += if predicted == label { weight } else { 0.0 };
        self.brier += weight * if p.len() == 2 { 0.5 * brier } else { brier };
        self.confusion[label][predicted] += 1;
        self.of_predicted[bin(p[predicted])].add(p[predicted], predicted == label, weight);
        if p.len() == 2 {
            self.of_second[bin(p[1])].add(p[1], label == 1, weight);
        }
        let first = p.len() - self.odds.len();
        for (k, odds) in (first..).zip(&mut self.odds) {
            let others = p.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, p)| p).sum::<f64>();
            let log_odds = (p[k].ln() - others.ln()).clamp(-MOST_LOG_ODDS, MOST_LOG_ODDS);
            let count = odds.entry((STEPS_PER_LOG_ODDS * log_odds).round() as i32).or_default();
            count[usize::from(k == label)] += weight;
        }
    }

    /// Adds the rows of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.total_weight += other.total_weight;
        self.right += other.right;
        self.brier += other.brier;
        for (row, others) in self.confusion.iter_mut().zip(&other.confusion) {
            row.iter_mut().zip(others).for_each(|(n, more)| *n += more);
        }
        for (bins, others) in [(&mut self.of_predicted, &other.of_predicted), (&mut self.of_second, &other.of_second)] {
            bins.iter_mut().zip(others).for_each(|(bin, more)| bin.merge(more));
        }
        for (odds, others) in self.odds.iter_mut().zip(&other.odds) {
            for (key, more) in others {
                let count = odds.entry(*key).or_default();
                (count[0], count[1]) = (count[0] + more[0], count[1] + more[1]);
            }
        }
    }

    /// The scores; there must be a row.
    pub fn scores(&self) -> LabelScores {
        let n = self.total_weight;
        let averages = |bins: &[Bin; BINS]| {
            bins.iter().filter(|bin| bin.rows > 0).map(Bin::averages).collect::<Vec<ReliabilityBin>>()
        };
        let of_predicted = averages(&self.of_predicted);
        let of_all = |bin: &&Bin| bin.rows > 0;
        let gap = |bin: &Bin| {
            let averages = bin.averages();
            bin.total_weight / n * (averages.observed - averages.predicted).abs()
        };
        let aucs: Vec<f64> = self.odds.iter().filter_map(auc).collect();
        LabelScores {
            error_rate: 1.0 - self.right / n,
            brier: self.brier / n,
            ece: self.of_predicted.iter().filter(of_all).map(gap).sum(),
            auc: (!aucs.is_empty()).then(|| aucs.iter().sum::<f64>() / aucs.len() as f64),
            confusion: self.confusion.clone(),
            reliability: if self.n_labels() == 2 { averages(&self.of_second) } else { of_predicted },
        }
    }
}

/// The first of the most probable labels.
pub fn most_probable(p: &[f64]) -> usize {
    (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best })
}

/// Mean and variance of the numbers that labels stand for: Σ_k p_k u_k and Σ_k p_k (u_k − mean)².
pub fn label_moments(p: &[f64], values: &[f64]) -> (f64, f64) {
    let mean: f64 = values.iter().zip(p).map(|(value, p)| value * p).sum();
    (mean, values.iter().zip(p).map(|(value, p)| p * (value - mean).powi(2)).sum())
}

/// The area under the ROC curve; nothing if rows of the class, or of others, are missing.
fn auc(odds: &Odds) -> Option<f64> {
    let (mut below, mut area, mut inside) = (0.0, 0.0, 0.0);
    for &[others, own] in odds.values() {
        area += own * (below + 0.5 * others);
        (below, inside) = (below + others, inside + own);
    }
    (below > 0.0 && inside > 0.0).then(|| area / (below * inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<(Vec<f64>, usize)> {
        let row = |i: usize| {
            let raw: Vec<f64> = (0..3).map(|k| 0.1 + (0.7 * (i * (k + 2)) as f64).sin().powi(2)).collect();
            let total: f64 = raw.iter().sum();
            (raw.iter().map(|p| p / total).collect(), (i * i + i / 3) % 3)
        };
        (0..90).map(row).collect()
    }

    #[test]
    fn scores_are_those_of_their_definitions() {
        let rows = rows();
        let mut whole = LabelTally::new(3);
        rows.iter().for_each(|(p, label)| whole.add(p, *label, 1.0));
        let mut merged = LabelTally::new(3);
        for part in rows.chunks(17) {
            let mut tally = LabelTally::new(3);
            part.iter().for_each(|(p, label)| tally.add(p, *label, 1.0));
            merged.merge(&tally);
        }
        let scores = whole.scores();
        assert_eq!(scores.confusion, merged.scores().confusion);
        assert!((scores.brier - merged.scores().brier).abs() < 1e-14 && scores.auc == merged.scores().auc);
        let n = rows.len() as f64;
        let wrong = rows.iter().filter(|(p, label)| most_probable(p) != *label).count() as f64;
        assert!((scores.error_rate - wrong / n).abs() < 1e-12);
        let brier: f64 = rows
            .iter()
            .map(|(p, label)| (0..3).map(|k| (p[k] - f64::from(u8::from(k == *label))).powi(2)).sum::<f64>())
            .sum();
        assert!((scores.brier - brier / n).abs() < 1e-12);
        // Over all pairs of rows.
        let of_class = |k: usize| {
            let (mut pairs, mut won) = (0.0, 0.0);
            for (p, _) in rows.iter().filter(|(_, label)| *label == k) {
                for (q, _) in rows.iter().filter(|(_, label)| *label != k) {
                    pairs += 1.0;
                    won += if p[k] > q[k] {
                        1.0
                    } else if p[k] == q[k] {
                        0.5
                    } else {
                        0.0
                    };
                }
            }
            won / pairs
        };
        let expected = (of_class(0) + of_class(1) + of_class(2)) / 3.0;
        let found = scores.auc.expect("all classes");
        assert!((found - expected).abs() < 1e-3, "{found} is not {expected}");
        assert_eq!(scores.reliability.iter().map(|bin| bin.rows).sum::<usize>(), rows.len());
    }

    #[test]
    fn two_classes_have_half_the_brier_score_and_one_area() {
        let mut tally = LabelTally::new(2);
        [(0.9, 1), (0.2, 0), (0.6, 0), (0.6, 1)].iter().for_each(|(p, label)| tally.add(&[1.0 - p, *p], *label, 1.0));
        let scores = tally.scores();
        assert!((scores.brier - (0.01 + 0.04 + 0.36 + 0.16) / 4.0).abs() < 1e-12);
        // Of four pairs three are won, and one is a tie.
        assert!((scores.auc.expect("both classes") - 3.5 / 4.0).abs() < 1e-12);
        assert_eq!(scores.confusion, [[1, 1], [0, 2]]);
        let mut same = LabelTally::new(2);
        same.add(&[1.0, 0.0], 0, 1.0);
        assert_eq!(same.scores().auc, None);
    }
}
