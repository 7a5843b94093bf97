//! Draws a figure that has nothing to do with a report: error against time on logarithmic axes, in small multiples.
//!
//! ```text
//! cargo run -p deepgp-report --example frontier -- FOLDER
//! ```

use deepgp_report::plot::{Axis, Figure, Ink, Mark, Panel};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let mut figure = Figure::new("frontier", "Test error against training time (made-up numbers)")
        .columns(3)
        .row_height(230.0)
        .shared_legend();
    for (set, floor) in [("boston", 2.4), ("concrete", 5.1), ("energy", 0.45), ("kin8nm", 0.07), ("power", 3.9)] {
        let mut panel = Panel::new(set, Axis::log("training time (s)"), Axis::log("RMSE"));
        for (i, model) in ["deep GP", "sparse GP", "forest"].into_iter().enumerate() {
            let seconds: Vec<f64> = (0..6).map(|k| 0.3 * 4f64.powi(k) * (1.0 + i as f64)).collect();
            let error: Vec<f64> = seconds.iter().map(|s| floor * (1.0 + 0.1 * i as f64 + 0.8 / s.sqrt())).collect();
            let ends = |sign: f64| error.iter().map(|e| e * (1.0 + sign * 0.06)).collect();
            let ink = Ink::Series(i);
            panel.marks.push(Mark::whiskers(seconds.clone(), ends(-1.0), ends(1.0)).ink(ink));
            panel.marks.push(Mark::line(seconds.clone(), error.clone()).ink(ink).label(model));
            panel.marks.push(Mark::points(seconds, error).ink(ink).opacity(1.0).width(2.6));
        }
        figure.panels.push(panel);
    }
    std::fs::write(Path::new(&folder).join("frontier.svg"), figure.svg())?;
    std::fs::write(Path::new(&folder).join("frontier.png"), figure.png())
}
