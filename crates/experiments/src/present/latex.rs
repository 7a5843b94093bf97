//! Blocks as LaTeX.

use super::{Block, Cell, Table};
use deepgp_report::plot::Figure;

/// The blocks as a text to be put into a document; `link` says where the file of a figure is.
pub fn fragment(blocks: &[Block], link: &dyn Fn(&Figure) -> String) -> String {
    let mut out = "% Needs the packages booktabs, amssymb and graphicx.\n".to_owned();
    for block in blocks {
        out += &match block {
            Block::Heading(text) => format!("\\section{{{}}}\n", escape(text)),
            Block::Text(text) => format!("{}\n", escape(text)),
            Block::Table(table) => self::table(table),
            Block::List { title, items } => {
                let items: String = items.iter().map(|item| format!("\\item {}\n", escape(item))).collect();
                format!("\\paragraph{{{}}}\n\\begin{{itemize}}\n{items}\\end{{itemize}}\n", escape(title))
            }
            Block::Figure(captioned) => {
                let (file, caption) = (link(&captioned.figure), escape(&captioned.caption));
                format!(
                    "\\begin{{figure}}\n\\centering\n\\includegraphics[width=\\linewidth]{{{file}}}\n\\caption{{{caption}}}\n\
                     \\end{{figure}}\n"
                )
            }
        };
        out.push('\n');
    }
    out.trim_end().to_owned() + "\n"
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let columns = format!("l{}", "r".repeat(table.head.len().saturating_sub(1)));
    let mut out = format!("\\begin{{table}}\n\\centering\n\\caption{{{}}}\n", escape(&table.title));
    out += &format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
    // An opening bracket at the beginning of a row would be taken for an option of the row before.
    out += &line(table.head.iter().map(|name| guarded(escape(name))).collect());
    out += "\\midrule\n";
    for (i, row) in table.rows.iter().enumerate() {
        if table.summary_rows > 0 && i + table.summary_rows == table.rows.len() {
            out += "\\midrule\n";
        }
        out += &line(row.iter().map(cell).collect());
    }
    out += "\\bottomrule\n\\end{tabular}\n";
    if !table.notes.is_empty() {
        out += &format!("\n\\smallskip\\footnotesize {}\n", escape(&table.notes.join(" ")));
    }
    out + "\\end{table}\n"
}

fn cell(cell: &Cell) -> String {
    let text = guarded(escape(&cell.text));
    if cell.best { format!("\\textbf{{{text}}}") } else { text }
}

fn guarded(text: String) -> String {
    if text.starts_with('[') { format!("{{{text}}}") } else { text }
}

/// Plain text as LaTeX writes it.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '<' | '>' | '|' => out += &format!("${c}$"),
            '−' => out += "$-$",
            '±' => out += "$\\pm$",
            '×' => out += "$\\times$",
            '≤' => out += "$\\le$",
            'α' => out += "$\\alpha$",
            '▲' => out += "$^{\\blacktriangle}$",
            '▼' => out += "$^{\\blacktriangledown}$",
            '⁻' => out += "$^{-}$",
            '⁰' | '¹' | '²' | '³' | '⁴' | '⁵' | '⁶' | '⁷' | '⁸' | '⁹' => {
                let digit = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|raised| raised == c).unwrap_or(0);
                out += &format!("$^{digit}$");
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_written_out() {
        assert_eq!(escape("wine_red 5 %"), "wine\\_red 5 \\%");
        assert_eq!(escape("(3.1 ± 0.1)×10⁻⁴ ▲"), "(3.1 $\\pm$ 0.1)$\\times$10$^{-}$$^4$ $^{\\blacktriangle}$");
        assert_eq!(guarded(escape("[GP, 50]")), "{[GP, 50]}");
    }
}
