//! Results for people: tables, figures and prose with numbers from records, as Markdown, LaTeX or HTML.

mod directives;
mod figures;
mod html;
mod latex;
mod markdown;
mod numbers;
mod report;
mod tables;
mod template;

pub use directives::Sources;
pub use figures::{depth, engines, frontier, search_trace};
pub use html::page;
pub use latex::fragment;
pub use markdown::text;
pub use report::{Options, aggregate, blocks};
pub use tables::{
    AnyColumn, ScoreTable, Spread, chosen_variants, learning_rates, score_table, troubles, versus_published,
    versus_table,
};
pub use template::{Filled, fill};

use deepgp_report::plot::Figure;

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
