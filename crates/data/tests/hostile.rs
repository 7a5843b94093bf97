//! Damaged Parquet and Arrow files end in rows or in one clear error, without a claim being paid in memory.
#![cfg(feature = "columnar")]

use deepgp_data::{Error, ReadOptions, Reader, Source};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Damages of each file.
const DAMAGES: usize = 40;
/// No file of the set has more than a few thousand bytes of cells.
const MOST_MEMORY: usize = 256 << 20;
/// Chunks that are read at most; a damaged file may well claim more rows than there is time for.
const CHUNKS: usize = 64;

/// The system's allocator, which keeps the largest request.
struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Watched = Watched;

// SAFETY: every request is passed on as it is.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Every binary file of the conformance set.
fn files() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables/conformance");
    let entries = std::fs::read_dir(folder).expect("the conformance set").map(|entry| entry.expect("a file").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_none_or(|end| end != "json")).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).expect("a file"))).collect()
}

/// Reads all columns that can be read, to the end or `CHUNKS` far.
fn read(name: &str, bytes: Vec<u8>) -> Result<(), Error> {
    let source = Source::from_bytes(name, bytes);
    let mut left_out = Vec::new();
    loop {
        let mut reader = Reader::open(&source, &ReadOptions::default())?;
        let wanted: Vec<usize> = (0..reader.names().len()).filter(|i| !left_out.contains(i)).collect();
        reader.select(&wanted);
        let fault = (0..CHUNKS).find_map(|_| match reader.next_chunk() {
            Ok(Some(chunk)) => {
                assert!(chunk.rows() > 0 && chunk.cols() == reader.names().len(), "{name}");
                for row in [0, chunk.rows() - 1] {
                    (0..chunk.cols()).for_each(|col| _ = (chunk.cell(row, col), chunk.text(row, col).len()));
                }
                None
            }
            Ok(None) => Some(Ok(())),
            Err(fault) => Some(Err(fault)),
        });
        match fault {
            Some(Err(Error::ColumnType { column, .. })) => {
                let position = reader.names().iter().position(|name| *name == column).expect("one of the columns");
                assert!(!left_out.contains(&position), "{name}: column {column} was left out");
                left_out.push(position);
            }
            Some(done) => return done,
            None => return Ok(()),
        }
    }
}

/// Does one of the things that go wrong with files.
fn damage(bytes: &mut Vec<u8>, kind: usize, random: &mut ChaCha8Rng) {
    // The beginning and the end of a file say most.
    let length = bytes.len();
    let mut place = |room: usize| {
        let end = length - room;
        match random.random_range(0..3) {
            0 => random.random_range(end - end.min(600)..=end),
            1 => random.random_range(0..=end.min(300)),
            _ => random.random_range(0..=end),
        }
    };
    match kind % 4 {
        0 => {
            let (at, bit) = (place(1), kind / 4 % 8);
            bytes[at] ^= 1 << bit;
        }
        1 => {
            let keep = place(0);
            bytes.truncate(keep);
        }
        2 => {
            // Lengths of 32 and 64 bits, and of variable length as Thrift writes them.
            const LENGTHS: [&[u8]; 5] = [
                &[0xff, 0xff, 0xff, 0x7f],
                &[0xff, 0xff, 0xff, 0xff],
                &[0, 0, 0, 0, 0, 1, 0, 0],
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
                &[0xfe, 0xff, 0xff, 0xff, 0x0f],
            ];
            let claim = LENGTHS[kind / 4 % LENGTHS.len()];
            let at = place(claim.len());
            bytes[at..at + claim.len()].copy_from_slice(claim);
        }
        _ => {
            for _ in 0..3 {
                let at = place(1);
                bytes[at] = (at * 37 + kind) as u8;
            }
        }
    }
}

#[test]
fn damaged_files_end_in_rows_or_in_one_clear_error() {
    let files = files();
    assert!(files.len() >= 300, "{} files", files.len());
    LARGEST.store(0, Ordering::Relaxed);
    let mut n_faults = 0;
    for (i, (name, whole)) in files.iter().enumerate() {
        let mut random = ChaCha8Rng::seed_from_u64(i as u64);
        for kind in 0..DAMAGES {
            let mut bytes = whole.clone();
            damage(&mut bytes, kind + random.next_u32() as usize % 4 * DAMAGES, &mut random);
            if let Err(fault) = read(name, bytes) {
                let message = fault.to_string();
                assert!(message.starts_with(name.as_str()) && message.len() > name.len() + 10, "{message}");
                n_faults += 1;
            }
            let largest = LARGEST.load(Ordering::Relaxed);
            assert!(largest < MOST_MEMORY, "{name}, damage {kind}: {largest} bytes at once");
        }
    }
    // Most damages are found; those that hit values of numbers cannot be.
    assert!(n_faults > files.len() * DAMAGES / 3, "{n_faults} faults");
}
