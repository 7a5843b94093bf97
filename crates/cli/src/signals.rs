//! Signals that ask for an end.

use crate::exit_codes::INTERRUPTED;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From here on the first signal asks for an end, and the second is one.
pub fn listen(stop: &Arc<AtomicBool>) -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(stop)))
            .context("cannot listen for signals")?;
    }
    Ok(())
}
