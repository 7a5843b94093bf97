//! Blocks as one HTML page that needs nothing else.

use super::{Block, Cell, Table};
use deepgp_report::page::{document, escape_html};

/// The whole page.
pub fn page(title: &str, blocks: &[Block]) -> String {
    let mut body = String::new();
    for block in blocks {
        body += &match block {
            Block::Heading(text) => format!("<h2>{}</h2>\n", escape_html(text)),
            Block::Text(text) => format!("<p>{}</p>\n", escape_html(text)),
            Block::Table(table) => self::table(table),
            Block::List { title, items } => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape_html(item))).collect();
                format!("<h3>{}</h3>\n<ul class=\"short\">\n{items}</ul>\n", escape_html(title))
            }
            Block::Figure(captioned) => format!(
                "<figure>\n<h3>{}</h3>\n<div class=\"plot\">{}</div><figcaption>{}</figcaption>\n</figure>\n",
                escape_html(&captioned.figure.title),
                captioned.figure.inline_svg(),
                escape_html(&captioned.caption)
            ),
        };
    }
    document(title, &body)
}

fn table(table: &Table) -> String {
    let head: String = table.head.iter().map(|name| format!("<th>{}</th>", escape_html(name))).collect();
    let mut out = format!(
        "<h3>{}</h3>\n<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n",
        escape_html(&table.title)
    );
    let (results, summary) = table.rows.split_at(table.rows.len() - table.summary_rows.min(table.rows.len()));
    for (part, rows) in [("tbody", results), ("tfoot", summary)] {
        let rows: String =
            rows.iter().map(|row| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>())).collect();
        if !rows.is_empty() {
            out += &format!("<{part}>\n{rows}</{part}>\n");
        }
    }
    out += "</table></div>\n";
    if !table.notes.is_empty() {
        out += &format!("<p class=\"small\">{}</p>\n", escape_html(&table.notes.join(" ")));
    }
    out
}

fn cell(cell: &Cell) -> String {
    let class = if cell.best { " class=\"best\"" } else { "" };
    // A number, its uncertainty and its mark stay on one line.
    let text =
        escape_html(&cell.text).replace(" ± ", "\u{a0}±\u{a0}").replace(" ▲", "\u{a0}▲").replace(" ▼", "\u{a0}▼");
    format!("<td{class}>{text}</td>")
}
