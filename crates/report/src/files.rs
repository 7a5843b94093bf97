//! Reports and their figures as files.

use crate::figures::{Section, sections};
use crate::html;
use crate::plot::Figure;
use crate::report::Report;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

impl Report {
    /// The report's sections: figures with their words.
    pub fn sections(&self) -> Vec<Section> {
        sections(self)
    }

    /// The report's figures, in reading order.
    pub fn figures(&self) -> Vec<Figure> {
        self.sections().into_iter().flat_map(|s| s.parts).map(|p| p.figure).collect()
    }

    /// The report as one HTML page that needs no other file and no network.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Each figure as `NAME.svg` and `NAME.png`: names and contents of the files.
    pub fn figure_files(&self) -> impl Iterator<Item = (String, Vec<u8>)> {
        self.figures().into_iter().flat_map(|figure| {
            [("svg", figure.svg().into_bytes()), ("png", figure.png())]
                .map(|(ending, bytes)| (format!("{}.{ending}", figure.name), bytes))
        })
    }

    /// Writes the [`Report::figure_files`] into a folder, which is made if need be; returns the files.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_figures(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(folder)?;
        let mut files = Vec::new();
        for (name, bytes) in self.figure_files() {
            let path = folder.join(name);
            fs::write(&path, bytes)?;
            files.push(path);
        }
        Ok(files)
    }
}
