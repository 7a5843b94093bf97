//! A folder of its own for each test, and a set whose values are at hand.
#![allow(dead_code, reason = "every test file uses a part of it")]

use deepgp_datasets::{Set, Store};
use deepgp_numerics::linalg::Mat;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that goes when the test does.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("deepgp-datasets-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, bytes).expect("written");
        self
    }

    pub fn store(&self) -> Store {
        Store::open(self.path("store"))
    }

    /// Paths of all files, sorted.
    pub fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, root: &Path, files: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    walk(&path, root, files);
                } else {
                    files.push(path.strip_prefix(root).expect("inside").to_string_lossy().into_owned());
                }
            }
        }
        let mut files = Vec::new();
        walk(&self.0, &self.0, &mut files);
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Red wine, which comes inside a crate.
pub fn wine() -> &'static Set {
    Set::find("wine_red").expect("known")
}

/// Features and target of red wine.
pub fn wine_values() -> (Mat, Mat) {
    let wine = linfa_datasets::winequality();
    let (records, targets) = (wine.records(), wine.targets());
    let (rows, columns) = records.dim();
    (Mat::from_fn(rows, columns, |i, j| records[(i, j)]), Mat::from_fn(rows, 1, |i, _| targets[i] as f64))
}

/// Red wine as lines of numbers, the target last.
pub fn wine_lines(delimiter: &str) -> String {
    let (x, y) = wine_values();
    let mut text = String::new();
    for row in 0..x.rows() {
        let cells: Vec<String> = x.row(row).iter().chain(y.row(row)).map(f64::to_string).collect();
        text += &cells.join(delimiter);
        text.push('\n');
    }
    text
}

/// Red wine as a table with its header.
pub fn wine_csv() -> String {
    format!("{},{}\n{}", wine().features, wine().targets, wine_lines(","))
}
