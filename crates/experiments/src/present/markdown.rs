//! Blocks as Markdown.

use super::{Block, Cell, Table};
use deepgp_report::plot::Figure;

/// The blocks one after another; `link` says where the file of a figure is.
pub fn text(blocks: &[Block], link: &dyn Fn(&Figure) -> String) -> String {
    blocks.iter().map(|b| block(b, link)).collect::<Vec<String>>().join("\n\n") + "\n"
}

/// One block, without a line end.
pub fn block(block: &Block, link: &dyn Fn(&Figure) -> String) -> String {
    match block {
        Block::Heading(text) => format!("## {}", escape(text)),
        Block::Text(text) => escape(text),
        Block::Table(table) => self::table(table),
        Block::List { title, items } => {
            let lines = items.iter().map(|item| format!("\n- {}", escape(item)));
            format!("**{}**\n{}", escape(title), lines.collect::<String>())
        }
        Block::Figure(captioned) => {
            let figure = &captioned.figure;
            format!("![{}]({})\n\n{}", escape(&figure.title), link(figure), escape(&captioned.caption))
        }
    }
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = format!("**{}**\n\n", escape(&table.title));
    out += &line(table.head.iter().map(|name| escape(name)).collect());
    out += &format!("|---|{}\n", "---:|".repeat(table.head.len().saturating_sub(1)));
    for row in &table.rows {
        out += &line(row.iter().map(cell).collect());
    }
    if !table.notes.is_empty() {
        out += &format!("\n{}", escape(&table.notes.join(" ")));
    }
    out.trim_end().to_owned()
}

fn cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    if cell.best { format!("**{text}**") } else { text }
}

/// What would be taken for markup.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '`' | '\\' => out.extend(['\\', c]),
            '<' => out += "&lt;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
