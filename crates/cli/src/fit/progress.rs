//! How far a run is, on standard error: one line that is redrawn on a terminal, a few lines elsewhere.

use crate::wording::{count, duration, number};
use deepgp_fit::Progress;
use deepgp_task::Task;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Shows it, now and then.
#[derive(Debug)]
pub struct Display {
    style: Style,
    /// When the first step of this session was done, and which.
    began: Instant,
    first_step: Option<usize>,
    shown: Option<(Instant, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Line,
    Lines,
    Silent,
}

/// Between two drawings of the line.
const REDRAW: Duration = Duration::from_millis(100);
/// Between two lines, and the share of the run between them.
const NEXT_LINE: Duration = Duration::from_secs(2);
const NEXT_SHARE: f64 = 0.1;

impl Display {
    /// On a terminal a line, elsewhere lines; nothing if quiet.
    pub fn new(quiet: bool) -> Self {
        let style = match quiet {
            true => Style::Silent,
            false if stderr().is_terminal() => Style::Line,
            false => Style::Lines,
        };
        Self { style, began: Instant::now(), first_step: None, shown: None }
    }

    /// Shows where the run is, unless it was shown a moment ago.
    pub fn show(&mut self, progress: &Progress, task: Task) {
        if self.style == Style::Silent {
            return;
        }
        let now = Instant::now();
        let (step, share) = (progress.step, progress.share);
        let first_step = *self.first_step.get_or_insert_with(|| {
            self.began = now;
            step
        });
        let due = match (self.style, self.shown) {
            (_, None) => self.style == Style::Line || now - self.began >= NEXT_LINE,
            (Style::Line, Some((at, _))) => now - at >= REDRAW,
            (_, Some((at, then))) => now - at >= NEXT_LINE && share >= then + NEXT_SHARE,
        };
        if !due {
            return;
        }
        self.shown = Some((now, share));
        let rate = (step - first_step) as f64 / (now - self.began).as_secs_f64().max(1e-9);
        let text = line(progress, task, rate);
        let mut out = stderr().lock();
        // There is nobody to tell if that fails.
        let _ = match self.style {
            // Clears the line, and has the terminal cut what does not fit instead of wrapping it.
            Style::Line => write!(out, "\r\x1b[K\x1b[?7l{text}\x1b[?7h").and_then(|()| out.flush()),
            _ => writeln!(out, "{text}"),
        };
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.style == Style::Line && self.shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// What matters most comes first, where terminals are narrow.
fn line(progress: &Progress, task: Task, rate: f64) -> String {
    let Progress { step, steps, share, seconds_left, energy, held_out } = *progress;
    let mut text = match steps {
        Some(steps) => format!("step {}/{}", count(step), count(steps)),
        None => format!("step {} ({:.0} %)", count(step), 100.0 * share),
    };
    if let Some(left) = seconds_left {
        text += &format!("  {} left  {} steps/s", duration(left), number(rate));
    }
    text += &format!("  energy {}", number(energy));
    if let Some((rmse, log_density)) = held_out {
        let rmse = rmse.map_or(String::new(), |rmse| format!("RMSE {}, ", number(rmse)));
        text += &format!("  held-out {rmse}{} {}", task.log_score_name(), number(log_density));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_everything() {
        let (seconds_left, held_out) = (Some(3.3), Some((Some(5.3), -3.01)));
        let progress = Progress { step: 1200, steps: Some(4000), share: 0.3, seconds_left, energy: 123.456, held_out };
        assert_eq!(
            line(&progress, Task::Regression, 850.0),
            "step 1200/4000  3.3 s left  850.0 steps/s  energy 123.5  held-out RMSE 5.300, log density -3.010"
        );
        let by_clock = Progress { steps: None, seconds_left: None, held_out: None, ..progress };
        assert_eq!(line(&by_clock, Task::Regression, 850.0), "step 1200 (30 %)  energy 123.5");
    }
}
