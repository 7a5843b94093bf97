//! Times ours and theirs by turns: neighbours on a machine slow both alike.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Instant;

/// Pairs of turns.
const ROUNDS: usize = 41;
/// Seconds of a turn, at least.
const TURN: f64 = 3e-4;

/// Does something so many times.
pub type Task<'a> = Box<dyn FnMut(u64) + 'a>;

/// The loop is in here, so that what is short is not called through a pointer.
pub fn task<'a, R>(mut f: impl FnMut() -> R + 'a) -> Task<'a> {
    Box::new(move |times| {
        for _ in 0..times {
            black_box(f());
        }
    })
}

/// The same with memory that others use too, so that all find it at the same place.
pub fn task_in<'a, T, R>(memory: &'a RefCell<T>, mut f: impl FnMut(&mut T) -> R + 'a) -> Task<'a> {
    Box::new(move |times| {
        let mut memory = memory.borrow_mut();
        for _ in 0..times {
            black_box(f(black_box(&mut memory)));
        }
    })
}

/// Theirs beside ours.
pub struct Outcome {
    /// Median nanoseconds of ours and of theirs.
    pub nanoseconds: [f64; 2],
    /// Quartiles of theirs by ours; the second is the median.
    pub ratio: [f64; 3],
}

fn seconds(task: &mut Task<'_>, times: u64) -> f64 {
    let began = Instant::now();
    task(times);
    began.elapsed().as_secs_f64()
}

/// How often a task must be done for a turn to be long enough; this also warms it up. What interrupts it once must not
/// make it look long.
fn calibrate(task: &mut Task<'_>) -> u64 {
    let mut times = 1;
    while (0..3).map(|_| seconds(task, times)).fold(f64::INFINITY, f64::min) < TURN {
        times *= 2;
    }
    times
}

fn quartiles(mut x: Vec<f64>) -> [f64; 3] {
    x.sort_by(f64::total_cmp);
    [1, 2, 3].map(|q| x[q * (x.len() - 1) / 4])
}

/// Ours, theirs, ours, theirs, …
pub fn turns(ours: &mut Task<'_>, theirs: &mut Task<'_>) -> Outcome {
    by_turns(ours, theirs, seconds)
}

/// The same of what uses threads: those of the one sleep before the other begins, whose own are woken before its turn.
#[cfg(feature = "all")]
pub fn turns_apart(ours: &mut Task<'_>, theirs: &mut Task<'_>) -> Outcome {
    by_turns(ours, theirs, |task, times| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        task(times.div_ceil(4));
        seconds(task, times)
    })
}

fn by_turns(ours: &mut Task<'_>, theirs: &mut Task<'_>, seconds: impl Fn(&mut Task<'_>, u64) -> f64) -> Outcome {
    let times = [calibrate(ours), calibrate(theirs)];
    let mut all: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let a = seconds(ours, times[0]) / times[0] as f64;
        let b = seconds(theirs, times[1]) / times[1] as f64;
        for (all, x) in all.iter_mut().zip([1e9 * a, 1e9 * b, b / a]) {
            all.push(x);
        }
    }
    let [a, b, ratio] = all.map(quartiles);
    Outcome { nanoseconds: [a[1], b[1]], ratio }
}
