//! Minima, maxima and roots: evaluations and time. Ours asks for value and gradient together, theirs for one at a time.

use crate::record::Record;
use crate::turns::{Outcome, task, turns};
use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::brent::{BrentOpt, BrentRoot};
use argmin::solver::goldensectionsearch::GoldenSectionSearch;
use argmin::solver::linesearch::{HagerZhangLineSearch, MoreThuenteLineSearch};
use argmin::solver::quasinewton::LBFGS;
use deepgp_numerics::optim::{golden_section, minimise, root};
use std::cell::Cell;

/// Where a descent ends.
const TARGET: f64 = 1e-10;
/// Pairs that L-BFGS keeps, here and there.
const MEMORY: usize = 10;

#[derive(Clone, Copy)]
enum Valley {
    /// Rosenbrock's: Σ (1 − x_i)² + 100 (x_{i+1} − x_i²)².
    Rosenbrock,
    /// Σ c_i x_i², with c from 1 to 10⁴.
    Quadratic,
}

fn scale(i: usize, n: usize) -> f64 {
    1e4_f64.powf(i as f64 / (n - 1) as f64)
}

impl Valley {
    fn start(self, n: usize) -> Vec<f64> {
        match self {
            Valley::Rosenbrock => (0..n).map(|i| if i % 2 == 0 { -1.2 } else { 1.0 }).collect(),
            Valley::Quadratic => vec![1.0; n],
        }
    }

    fn value(self, x: &[f64]) -> f64 {
        match self {
            Valley::Rosenbrock => {
                x.windows(2).map(|x| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)).sum()
            }
            Valley::Quadratic => x.iter().enumerate().map(|(i, v)| scale(i, x.len()) * v * v).sum(),
        }
    }

    fn slope(self, x: &[f64]) -> Vec<f64> {
        match self {
            Valley::Rosenbrock => {
                let mut g = vec![0.0; x.len()];
                for i in 0..x.len() - 1 {
                    let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
                    g[i] += -2.0 * a - 400.0 * x[i] * b;
                    g[i + 1] += 200.0 * b;
                }
                g
            }
            Valley::Quadratic => x.iter().enumerate().map(|(i, v)| 2.0 * scale(i, x.len()) * v).collect(),
        }
    }
}

/// A valley, and how often its value and its slope were asked for.
struct Asked<'a>(Valley, &'a [Cell<u64>; 2]);

impl CostFunction for Asked<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.1[0].update(|count| count + 1);
        Ok(self.0.value(x))
    }
}

impl Gradient for Asked<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.1[1].update(|count| count + 1);
        Ok(self.0.slope(x))
    }
}

/// Value at the end, evaluations of values and of gradients.
type End = (f64, u64, u64);

macro_rules! by_argmin {
    ($search:expr, $valley:expr, $n:expr) => {{
        let solver = LBFGS::new($search, MEMORY).with_tolerance_grad(0.0).and_then(|s| s.with_tolerance_cost(0.0));
        let start = $valley.start($n);
        let asked = [Cell::new(0), Cell::new(0)];
        let run = Executor::new(Asked($valley, &asked), solver.expect("valid"))
            .configure(|state| state.param(start).target_cost(TARGET).max_iters(5000))
            .timer(false)
            .run();
        let end = run.map_or(f64::NAN, |result| result.state().get_best_cost());
        (end, asked[0].get(), asked[1].get())
    }};
}

fn descend(record: &mut Record, name: &str, valley: Valley, n: usize) {
    // How many evaluations it takes, and then so many, without the search for a point that would be better still.
    let (mut count, mut needed) = (0, None);
    minimise(valley.start(n), 20_000, 0.0, |x| {
        count += 1;
        let value = valley.value(x);
        if value <= TARGET && needed.is_none() {
            needed = Some(count);
        }
        Some((value, valley.slope(x)))
    });
    let evaluations = needed.unwrap_or(count);
    let ours = || {
        let end = minimise(valley.start(n), evaluations, 0.0, |x| Some((valley.value(x), valley.slope(x))));
        end.expect("it can be evaluated").value
    };
    let value = ours();
    let more_thuente = || -> End { by_argmin!(MoreThuenteLineSearch::new(), valley, n) };
    let hager_zhang = || -> End { by_argmin!(HagerZhangLineSearch::new(), valley, n) };
    let mut compare = |peer: &'static str, theirs: &dyn Fn() -> End| {
        let (end, values, slopes) = theirs();
        let outcome = turns(&mut task(ours), &mut task(theirs));
        let more = format!(
            r#""evaluations":{evaluations},"end":{value:e},"peer_values":{values},"peer_gradients":{slopes},"peer_end":{}"#,
            if end.is_nan() { "null".to_owned() } else { format!("{end:e}") }
        );
        eprintln!("{more}");
        record.add(name, &n.to_string(), peer, outcome, more);
    };
    compare("argmin, Moré-Thuente", &more_thuente);
    compare("argmin, Hager-Zhang", &hager_zhang);
}

/// A function of one number that counts its evaluations.
struct Counted<'a>(&'a dyn Fn(f64) -> f64, &'a Cell<u32>);

impl Counted<'_> {
    fn at(&self, x: f64) -> f64 {
        self.1.set(self.1.get() + 1);
        (self.0)(x)
    }
}

impl CostFunction for Counted<'_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, x: &f64) -> Result<f64, Error> {
        Ok(self.at(*x))
    }
}

/// Counts, errors and times of two ways to one number.
fn line(
    record: &mut Record,
    (name, size, peer): (&str, &str, &'static str),
    zero: f64,
    count: &Cell<u32>,
    ours: &dyn Fn() -> f64,
    theirs: &dyn Fn() -> f64,
) {
    let of = |f: &dyn Fn() -> f64| {
        count.set(0);
        let found = f();
        (count.get(), (found - zero).abs())
    };
    let ((n, e), (pn, pe)) = (of(ours), of(theirs));
    let outcome: Outcome = turns(&mut task(ours), &mut task(theirs));
    let more = format!(r#""evaluations":{n},"error":{e:e},"peer_evaluations":{pn},"peer_error":{}"#, finite(pe));
    eprintln!("{more}");
    record.add(name, size, peer, outcome, more);
}

fn finite(x: f64) -> String {
    if x.is_finite() { format!("{x:e}") } else { "null".to_owned() }
}

pub fn measure(record: &mut Record) {
    for n in [2, 10, 50] {
        descend(record, "L-BFGS, Rosenbrock", Valley::Rosenbrock, n);
    }
    for n in [10, 50] {
        descend(record, "L-BFGS, quadratic", Valley::Quadratic, n);
    }

    let count = Cell::new(0);
    let hill = |x: f64| -(x - 0.7).powi(2) - 0.1 * (x - 0.7).powi(4);
    let ours = || golden_section(0.0, 2.0, 40, |x| Counted(&hill, &count).at(x));
    let negative = |x: f64| -hill(x);
    let golden = || {
        let solver = GoldenSectionSearch::new(0.0, 2.0).and_then(|s| s.with_tolerance(1e-12)).expect("valid");
        // In the golden section, as ours begins.
        let run = Executor::new(Counted(&negative, &count), solver)
            .configure(|state| state.param(2.0 * 0.381_966_011_250_105_1).max_iters(40))
            .timer(false)
            .run();
        run.ok().and_then(|result| result.state().get_best_param().copied()).unwrap_or(f64::NAN)
    };
    let brent = || {
        let solver = BrentOpt::new(0.0, 2.0);
        let run = Executor::new(Counted(&negative, &count), solver)
            .configure(|state| state.max_iters(100))
            .timer(false)
            .run();
        run.ok().and_then(|result| result.state().get_best_param().copied()).unwrap_or(f64::NAN)
    };
    line(record, ("golden section", "40 sections", "argmin, golden section"), 0.7, &count, &ours, &golden);
    line(record, ("golden section", "40 sections", "argmin, Brent"), 0.7, &count, &ours, &brent);

    type Function = fn(f64) -> f64;
    let functions: [(&str, Function, f64); 6] = [
        ("straight", |x| 3.0 * x - 1.0, 1.0 / 3.0),
        ("exponential", |x| x.exp() - 2.0, std::f64::consts::LN_2),
        ("flat cube", |x| x.powi(3) - 1e-9, 1e-3),
        ("steep", |x| (1e3 * (x - 0.2)).tanh(), 0.2),
        ("step", |x| if x < 0.7 { -1.0 } else { 1.0 }, 0.7),
        ("normal quantile", |x| deepgp_numerics::special::ndtr(x) - 0.9, 1.281_551_565_544_600_4),
    ];
    for (name, f, zero) in functions {
        let ours = || root(-2.0, 5.0, 1e-12, |x| Counted(&f, &count).at(x));
        let theirs = || {
            let run = Executor::new(Counted(&f, &count), BrentRoot::new(-2.0, 5.0, 1e-12))
                .configure(|state| state.max_iters(200))
                .timer(false)
                .run();
            run.ok().and_then(|result| result.state().get_param().copied()).unwrap_or(f64::NAN)
        };
        line(record, ("root", name, "argmin, Brent"), zero, &count, &ours, &theirs);
    }
}
