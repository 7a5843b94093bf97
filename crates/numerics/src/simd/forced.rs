//! Lets a test run the library's own code on a narrower instruction set than the processor has.

use super::Isa;
use std::cell::Cell;

thread_local! {
    static FORCED: Cell<Option<Isa>> = const { Cell::new(None) };
}

pub(super) fn isa() -> Option<Isa> {
    FORCED.get()
}

/// Runs `body` once on every instruction set that there is, in this thread.
pub fn on_each(mut body: impl FnMut(Isa)) {
    for isa in Isa::available() {
        FORCED.set(Some(isa));
        body(isa);
    }
    FORCED.set(None);
}
