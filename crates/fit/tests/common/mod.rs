//! A folder for model files, and a small table.

use deepgp_fit::FitSettings;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that goes when the test does.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("deepgp-fit-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Settings of a fit of `homes.csv` whose model goes here.
    pub fn settings(&self) -> FitSettings {
        FitSettings {
            data: Some("homes.csv".into()),
            target: Some("price".parse().expect("a name")),
            out: Some(self.0.join("homes.deepgp")),
            ..FitSettings::default()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A small table of two numbers, a category and a target.
pub fn homes(rows: usize) -> String {
    let mut text = "area,rooms,town,price\n".to_owned();
    for i in 0..rows {
        let (area, rooms) = (50 + (i * 37) % 100, 1 + (i * 7) % 5);
        let town = ["Ulm", "Bern", "Graz"][i % 3];
        let price = 2.0 * area as f64 + 10.0 * rooms as f64 + (i % 3) as f64 * 20.0 + ((i * i) as f64).sin();
        text += &format!("{area},{rooms},{town},{price}\n");
    }
    text
}
