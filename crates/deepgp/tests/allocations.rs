//! Training steps use memory again: after the first ones none is asked for.

use deepgp::Data;
use deepgp::init::{Architecture, MeanChoice, network};
use deepgp::likelihood::{Gaussian, Likelihood};
use deepgp::train::{Progress, TrainSettings, Trainer};
use deepgp_numerics::linalg::Mat;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;

/// The system's allocator, which counts what each thread asks for.
struct Counting;

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: passed on to the caller.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Requests during steps 5 to 40.
fn requests_of_steps(hidden: &[usize], mean: MeanChoice, batch_size: usize) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x = Mat::from_fn(300, 5, |_, _| 2.0 * rng.random::<f64>() - 1.0);
    let y = Mat::from_fn(300, 1, |i, _| (3.0 * x[(i, 0)]).sin() + x[(i, 1)] * x[(i, 2)]);
    let shape = Architecture { hidden: hidden.to_vec(), n_inducing: 20, mean, ..Architecture::default() };
    let likelihood = Likelihood::Gaussian(Gaussian::isotropic(1, 0.1));
    let (net, _) = network(&x, likelihood, &shape, &mut rng).expect("a network");
    let settings = TrainSettings { iterations: 100, batch_size, ..TrainSettings::default() };
    let mut trainer = Trainer::new(net, Data::new(&x, &y), settings).expect("a trainer");
    let (mut start, mut end) = (0, 0);
    trainer.run(&mut |progress: &Progress<'_>| {
        assert!(progress.energy.is_finite() && progress.events.is_empty(), "a plain step");
        match progress.step {
            5 => start = REQUESTS.get(),
            40 => end = REQUESTS.get(),
            _ => {}
        }
        if progress.step < 40 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    end - start
}

#[test]
fn steps_ask_for_no_memory() {
    // One block of points and several; narrow and wide layers; without, with zero and with linear means.
    for batch_size in [30, 200] {
        for (hidden, mean) in [
            (&[][..], MeanChoice::Zero),
            (&[2], MeanChoice::Zero),
            (&[5], MeanChoice::Linear),
            (&[2, 3], MeanChoice::Linear),
        ] {
            assert_eq!(requests_of_steps(hidden, mean, batch_size), 0, "{hidden:?} {batch_size}");
        }
    }
}

#[test]
fn the_counter_counts() {
    let before = REQUESTS.get();
    drop(std::hint::black_box(vec![0.0; 100]));
    assert_eq!(REQUESTS.get(), before + 1);
}
