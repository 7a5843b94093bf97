//! What hidden layers do to the data, asked of a model.

use crate::probe::Probe;
use crate::report::{HiddenCloud, HiddenNet, HiddenPath, LayerView, UnitUse};
use crate::slopes::rates;
use crate::stats::mean_std;
use deepgp::Result;
use deepgp::gauss::DiagGaussian;
use deepgp_numerics::linalg::Mat;

/// Rows of the data that are asked for.
const MAX_ROWS: usize = 1500;
/// Points along a path.
const PATH_POINTS: usize = 201;
/// Lines of a net in each direction, and points along each.
const NET_LINES: usize = 13;
const NET_POINTS: usize = 49;

/// A view of each hidden layer.
pub fn views(probe: &Probe<'_>) -> Result<Vec<LayerView>> {
    let layers = probe.model.predictor().fitted().network.layers();
    let n_hidden = layers.len() - 1;
    if n_hidden == 0 {
        return Ok(Vec::new());
    }
    let rows: Vec<usize> = (0..probe.x.rows()).step_by(probe.x.rows().div_ceil(MAX_ROWS)).collect();
    let data = probe.hidden(&probe.x.select_rows(&rows))?;
    let first = probe.by_relevance[0];
    let at = probe.grid(first, PATH_POINTS);
    let path = probe.hidden(&probe.along(first, &at))?;
    let net = probe.by_relevance.get(1).map(|&second| net_inputs(probe, first, second));
    let net_moments = net.as_ref().map(|x| probe.hidden(x)).transpose()?;
    let mut views = Vec::new();
    for l in 0..n_hidden {
        let rates = rates(&layers[l + 1]);
        let units = unit_use(&data[l], &rates);
        let pair = top_two(&units);
        views.push(LayerView {
            layer: l + 1,
            path: Some(hidden_path(probe.features[first].clone(), &at, &path[l], &rates)),
            net: pair.zip(net_moments.as_ref()).map(|(pair, moments)| {
                let columns = [first, probe.by_relevance[1]].map(|c| probe.features[c].clone());
                hidden_net(columns, pair, &moments[l].mean)
            }),
            cloud: pair.map(|pair| HiddenCloud {
                units: pair,
                mean: pair.map(|u| data[l].mean.column(u)),
                std: pair.map(|u| data[l].var.column(u).iter().map(|v| v.sqrt()).collect()),
                target: probe.targets[0].clone(),
                value: rows.iter().map(|&n| probe.y[(n, 0)]).collect(),
            }),
            units,
        });
    }
    Ok(views)
}

fn unit_use(data: &DiagGaussian, rates: &[f64]) -> Vec<UnitUse> {
    let unit = |u: usize| {
        let spread = mean_std(&data.mean.column(u)).1;
        UnitUse { spread, noise: mean_std(&data.var.column(u)).0.sqrt(), reach: spread * rates[u] }
    };
    (0..data.mean.cols()).map(unit).collect()
}

/// The two units that are used most, in their own order.
fn top_two(units: &[UnitUse]) -> Option<[usize; 2]> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by(|&a, &b| units[b].reach.total_cmp(&units[a].reach));
    let pair = [*order.first()?, *order.get(1)?];
    Some([pair[0].min(pair[1]), pair[0].max(pair[1])])
}

/// Means, deviations and relative speed along a path.
///
/// ```text
/// speed² = Σ_q (r_q dh_q/dx)²
/// ```
/// r_q are the rates of the next layer, so that only what that layer can see counts.
fn hidden_path(column: String, at: &[f64], moments: &DiagGaussian, rates: &[f64]) -> HiddenPath {
    let units = 0..moments.mean.cols();
    let mean: Vec<Vec<f64>> = units.clone().map(|u| moments.mean.column(u)).collect();
    let std = units.map(|u| moments.var.column(u).iter().map(|v| v.sqrt()).collect()).collect();
    let last = at.len() - 1;
    let speed = |i: usize| {
        let (before, after) = (i.saturating_sub(1), (i + 1).min(last));
        // Steps are equal, but at the ends there is one instead of two.
        let steps = (after - before) as f64;
        mean.iter().zip(rates).map(|(m, r)| (r * (m[after] - m[before]) / steps).powi(2)).sum::<f64>().sqrt()
    };
    let speeds: Vec<f64> = (0..at.len()).map(speed).collect();
    let average = mean_std(&speeds).0;
    let stretch = if average > 0.0 { speeds.iter().map(|s| s / average).collect() } else { Vec::new() };
    HiddenPath { column, at: at.to_vec(), mean, std, stretch }
}

/// Inputs of a net: lines along the first column, then lines along the second.
fn net_inputs(probe: &Probe<'_>, first: usize, second: usize) -> Mat {
    let coarse = [first, second].map(|c| probe.grid(c, NET_LINES));
    let fine = [first, second].map(|c| probe.grid(c, NET_POINTS));
    let mut x = Mat::zeros(2 * NET_LINES * NET_POINTS, probe.x.cols());
    for n in 0..x.rows() {
        let (direction, line, point) = (n / (NET_LINES * NET_POINTS), n / NET_POINTS % NET_LINES, n % NET_POINTS);
        let row = x.row_mut(n);
        row.copy_from_slice(&probe.medians);
        (row[first], row[second]) =
            if direction == 0 { (fine[0][point], coarse[1][line]) } else { (coarse[0][line], fine[1][point]) };
    }
    x
}

fn hidden_net(columns: [String; 2], units: [usize; 2], mean: &Mat) -> HiddenNet {
    let points: Vec<(f64, f64)> = (0..mean.rows()).map(|n| (mean[(n, units[0])], mean[(n, units[1])])).collect();
    let mut lines: Vec<Vec<(f64, f64)>> = points.chunks(NET_POINTS).map(<[_]>::to_vec).collect();
    let along_second = lines.split_off(NET_LINES);
    HiddenNet { columns, units, along_first: lines, along_second }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretching_of_a_parabola_is_its_slope() {
        let at: Vec<f64> = (0..101).map(|i| f64::from(i) / 100.0).collect();
        let mean = Mat::from_fn(101, 1, |n, _| at[n] * at[n]);
        let path = hidden_path("x".into(), &at, &DiagGaussian { var: Mat::zeros(101, 1), mean }, &[3.0]);
        // The slope 2x has mean 1; the rate cancels.
        for i in 1..100 {
            assert!((path.stretch[i] - 2.0 * at[i]).abs() < 1e-9, "{} {}", path.stretch[i], at[i]);
        }
    }

    #[test]
    fn the_most_used_pair_keeps_its_order() {
        let unit = |reach| UnitUse { spread: 1.0, noise: 1.0, reach };
        assert_eq!(top_two(&[unit(0.1), unit(0.5), unit(0.9)]), Some([1, 2]));
        assert_eq!(top_two(&[unit(0.1)]), None);
    }
}
