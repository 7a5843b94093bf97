//! Model files and checkpoints from any bytes: loads, and predicts a row if that goes well.
//!
//! Input: two bytes for the length of the JSON (the top bit says whether it is a checkpoint), the JSON, the floats. The
//! container is put around them with a right checksum, so that the parts behind it are reached. Seeds:
//! `cargo test -p deepgp-task --test hostile -- --ignored seeds`.
#![no_main]

use deepgp::Mat;
use deepgp_io::{Kind, seal};
use deepgp_task::{Checkpoint, SavedModel};
use libfuzzer_sys::fuzz_target;

/// Larger ones are slow, not wrong.
const MAX_WORK: usize = 2_000_000;

fuzz_target!(|data: &[u8]| {
    let _ = SavedModel::from_bytes(data);
    let Some((&[low, high], rest)) = data.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes([low, high & 0x7f])).min(rest.len());
    let (json, floats) = rest.split_at(length);
    if high & 0x80 != 0 {
        let _ = Checkpoint::<()>::from_bytes(&seal(Kind::Checkpoint, json, floats));
        return;
    }
    let Ok(saved) = SavedModel::from_bytes(&seal(Kind::Model, json, floats)) else { return };
    let bytes = saved.to_bytes().expect("what was read can be written");
    assert_eq!(SavedModel::from_bytes(&bytes).as_ref(), Ok(&saved));
    let work: usize = saved.network().layers().iter().map(|l| l.n_inducing().pow(2) * l.dim_in()).sum();
    if work > MAX_WORK {
        return;
    }
    if let Ok(model) = saved.model() {
        let x = Mat::from_fn(1, model.inputs().columns(), |_, j| j as f64 - 0.5);
        if let Ok(prediction) = model.predict(&x) {
            let _ = model.log_density(&x, &prediction.y.mean);
        }
    }
});
