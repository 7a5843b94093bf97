//! Results for people: tables, figures and prose with numbers from records, as Markdown, LaTeX or HTML.

mod columns;
mod cost_figures;
mod directive;
mod directives;
mod html;
mod latex;
mod markdown;
mod numbers;
mod problems;
mod report;
mod scores;
mod search_figure;
mod searches;
mod template;
mod versus;

pub use columns::{AnyColumn, Spread};
pub use cost_figures::{depth, engines, frontier};
pub use directives::Sources;
pub use html::page;
pub use latex::fragment;
pub use markdown::text;
pub use numbers::with_spread;
pub use problems::problems;
pub use report::{Options, aggregate, blocks};
pub use scores::{ScoreTable, score_table};
pub use search_figure::search_trace;
pub use searches::{chosen_variants, learning_rates};
pub use template::{Filled, fill};
pub use versus::{versus_published, versus_table};

use deepgp_report::plot::Figure;

/// More columns than this become rows.
const MOST_COLUMNS: usize = 8;

/// A name for a figure's file: letters, digits and hyphens.
fn file_name(kind: &str, study: &str) -> String {
    let plain = study.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    format!("{kind}-{}", plain.collect::<String>())
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// Things under a title.
    List {
        /// The title.
        title: String,
        /// The things.
        items: Vec<String>,
    },
    /// A figure.
    Figure(Captioned),
}

/// A figure with its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Captioned {
    /// The figure.
    pub figure: Figure,
    /// How to read it.
    pub caption: String,
}

/// A table: the first column names the rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// The rows, each as long as the head.
    pub rows: Vec<Vec<Cell>>,
    /// How many of the last rows sum up those above.
    pub summary_rows: usize,
    /// What a reader must know of it, one sentence or more each.
    pub notes: Vec<String>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Whether it is the best of its kind.
    pub best: bool,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), best: false }
    }
}

impl Table {
    /// Columns as rows and rows as columns.
    fn transposed(mut self) -> Self {
        let head = self.rows.iter().map(|row| row[0].text.clone());
        let head: Vec<String> = self.head.first().cloned().into_iter().chain(head).collect();
        let row = |c: usize| {
            let name = Cell::from(self.head[c].clone());
            std::iter::once(name).chain(self.rows.iter().map(|row| row[c].clone())).collect()
        };
        self.rows = (1..self.head.len()).map(row).collect();
        (self.head, self.summary_rows) = (head, 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("search", "The paper/α"), "search-the-paper--");
    }
}
