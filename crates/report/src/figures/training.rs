//! The course of training.

use super::{Part, Section};
use crate::plot::{Axis, Figure, Ink, Mark, Panel, number};
use crate::report::CurvePoint;
use crate::stats::{mean_std, quantile};

/// The section, if there is a curve.
pub fn section(curve: &[CurvePoint]) -> Option<Section> {
    if curve.len() < 2 {
        return None;
    }
    let steps: Vec<f64> = curve.iter().map(|p| p.step as f64).collect();
    let energy: Vec<f64> = curve.iter().map(|p| p.energy).collect();
    let mut figure = Figure::new("training", "The course of training").row_height(270.0);
    figure.panels.push(
        Panel::new("Energy (smaller is better)", Axis::linear("step"), energy_axis(&energy))
            .with(Mark::line(steps, energy.clone())),
    );
    let series = |get: fn(&CurvePoint) -> Option<f64>| -> (Vec<f64>, Vec<f64>) {
        curve.iter().filter_map(|p| Some((p.step as f64, get(p)?))).unzip()
    };
    let held_out = [
        ("Held-out error", "RMSE", series(|p| p.valid_rmse)),
        ("Held-out log density", "nats a row", series(|p| p.valid_log_density)),
    ];
    for (i, (title, label, (x, y))) in held_out.into_iter().enumerate() {
        if !x.is_empty() {
            let ink = Ink::Series(i + 1);
            let line = Mark::line(x.clone(), y.clone()).ink(ink);
            let panel = Panel::new(title, Axis::linear("step"), Axis::linear(label)).with(line);
            figure.panels.push(panel.with(Mark::points(x, y).ink(ink)));
        }
    }
    figure.columns = figure.panels.len();
    let look = "The energy is what training makes small (its negative approximates the log evidence), averaged over recent \
                steps. It should fall and then level off; a jump upwards, or an error on held-out rows that rises again, is \
                a warning. The first steps may lie above the picture.";
    let part = Part { figure, look: look.into(), finding: finding(&energy) };
    let title = "How training went".into();
    Some(Section { id: "training", title, parts: vec![part], headline: String::new(), omitted: String::new() })
}

/// An axis that does not let the very first energies flatten all others.
fn energy_axis(energy: &[f64]) -> Axis {
    let (low, most, high) = (quantile(energy, 0.0), quantile(energy, 0.9), quantile(energy, 1.0));
    let axis = Axis::linear("energy");
    if high - low > 3.0 * (most - low) && most > low {
        axis.range(low - 0.05 * (most - low), most + 0.6 * (most - low))
    } else {
        axis
    }
}

fn finding(energy: &[f64]) -> String {
    let (Some(&first), Some(&last)) = (energy.first(), energy.last()) else { return String::new() };
    let mut text = format!("The energy went from {} to {}.", number(first), number(last));
    let tenth = energy.len() / 10;
    if tenth >= 2 {
        let part = |end: usize| mean_std(&energy[end - tenth..end]);
        let n = energy.len();
        let (fall, noise) = (part(n - tenth).0 - part(n).0, part(n).1);
        let since_half = part(n / 2).0 - part(n).0;
        // A nat of log evidence is little; a steady fall leaves a tenth of the run more than its noise.
        text += &match fall {
            f if f > 1.0 && f > noise && f > 0.1 * since_half => {
                format!(" In the last tenth of the run it still fell by {}: more steps may help.", number(f))
            }
            f if f < -1.0 && f < -3.0 * noise => {
                " At the end it was rising: a smaller learning rate may help.".to_owned()
            }
            _ => " At the end it had settled.".to_owned(),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_tells_whether_it_settled() {
        let falling: Vec<f64> = (0..100).map(|i| 100.0 - f64::from(i)).collect();
        assert!(finding(&falling).contains("still fell"));
        let settled: Vec<f64> = (0..100).map(|i| 100.0 * (-f64::from(i) / 5.0).exp()).collect();
        assert!(finding(&settled).contains("settled"));
        // A slow fall after a steep one is still a fall.
        let slow: Vec<f64> = (0..100).map(|i| 500.0 * (-f64::from(i) / 5.0).exp() - 0.5 * f64::from(i)).collect();
        assert!(finding(&slow).contains("still fell by 5:"), "{}", finding(&slow));
    }

    #[test]
    fn early_energies_do_not_flatten_the_rest() {
        let mut energy: Vec<f64> = (0..100).map(|i| -f64::from(i)).collect();
        energy[0] = 1e6;
        assert!(energy_axis(&energy).range.is_some_and(|r| r.1 < 200.0));
    }
}
