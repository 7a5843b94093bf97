//! A report as one HTML page that needs nothing else: no network, no script.

use crate::figures::{Section, sections};
use crate::page::{document, escape_html};
use crate::plot::number;
use crate::report::{Better, Report, ScoreTable};
use crate::stats::percent;

/// The whole page.
pub fn page(report: &Report) -> String {
    let sections = sections(report);
    let title = if report.title.trim().is_empty() { "Report of a deep Gaussian process" } else { &report.title };
    let mut out = navigation(report, &sections);
    out += &facts(&report.summary);
    for note in &report.notes {
        out += &format!("<p class=\"note\">{}</p>\n", escape_html(note));
    }
    let headlines: Vec<&Section> = sections.iter().filter(|s| !s.headline.is_empty()).collect();
    if !headlines.is_empty() {
        out += "<ul class=\"short\">\n";
        for section in headlines {
            out += &format!("<li>{}</li>\n", escape_html(&section.headline));
        }
        out += "</ul>\n";
    }
    out += &score_table(&report.scores);
    for section in &sections {
        out += &section_html(section);
    }
    out += &settings(&report.settings);
    document(title, &out)
}

fn navigation(report: &Report, sections: &[Section]) -> String {
    let link = |id: &str, title: &str| format!("<a href=\"#{id}\">{}</a>\n", escape_html(title));
    let mut out = "<nav aria-label=\"Sections\">\n".to_owned();
    if !report.scores.rows.is_empty() {
        out += &link("scores", "Scores");
    }
    for s in sections {
        out += &link(s.id, &s.title);
    }
    if !report.settings.is_empty() {
        out += &link("settings", "Settings");
    }
    out + "</nav>\n"
}

fn facts(summary: &[(String, String)]) -> String {
    if summary.is_empty() {
        return String::new();
    }
    let fact = |(name, value): &(String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value))
    };
    format!("<dl class=\"facts\">\n{}</dl>\n", summary.iter().map(fact).collect::<String>())
}

fn score_table(table: &ScoreTable) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let mut out = "<h2 id=\"scores\">Scores</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>model</th>".to_owned();
    for (name, better) in &table.columns {
        let good = match better {
            Better::Lower => "smaller is better".to_owned(),
            Better::Higher => "larger is better".to_owned(),
            Better::Near(v) => format!("best near {}", if (0.0..=1.0).contains(v) { percent(*v) } else { number(*v) }),
        };
        out += &format!("<th>{}<small>{}</small></th>", escape_html(name), escape_html(&good));
    }
    out += "</tr></thead>\n<tbody>\n";
    let best: Vec<Option<f64>> = (0..table.columns.len()).map(|c| best_of(table, c)).collect();
    for (name, values) in &table.rows {
        out += &format!("<tr><td>{}</td>", escape_html(name));
        for (c, (_, better)) in table.columns.iter().enumerate() {
            let value = values.get(c).copied().flatten();
            let class =
                if table.rows.len() > 1 && value.is_some() && value == best[c] { " class=\"best\"" } else { "" };
            let share = matches!(better, Better::Near(v) if (0.0..=1.0).contains(v));
            let text = value.map_or("–".to_owned(), |v| if share { percent(v) } else { number(v) });
            out += &format!("<td{class}>{text}</td>");
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table></div>\n"
}

/// The best value in a column.
fn best_of(table: &ScoreTable, column: usize) -> Option<f64> {
    let cost = |v: f64| match table.columns[column].1 {
        Better::Lower => v,
        Better::Higher => -v,
        Better::Near(target) => (v - target).abs(),
    };
    let values = table.rows.iter().filter_map(|r| r.1.get(column).copied().flatten()).filter(|v| !v.is_nan());
    values.min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
}

fn section_html(section: &Section) -> String {
    let mut out = format!("<section>\n<h2 id=\"{}\">{}</h2>\n", section.id, escape_html(&section.title));
    for part in &section.parts {
        let (finding, look) = (escape_html(&part.finding), escape_html(&part.look));
        // A heading above the only figure would repeat that of the section.
        let heading = if section.parts.len() > 1 {
            format!("<h3>{}</h3>\n", escape_html(&part.figure.title))
        } else {
            String::new()
        };
        out += &format!(
            "<figure>\n{heading}<div class=\"plot\">{}</div><figcaption><span class=\"finding\">{finding}</span>{look}\
             </figcaption>\n</figure>\n",
            part.figure.inline_svg()
        );
    }
    if !section.omitted.is_empty() {
        out += &format!("<p class=\"small\">{}</p>\n", escape_html(&section.omitted));
    }
    out + "</section>\n"
}

fn settings(settings: &[(String, String)]) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let row = |(name, value): &(String, String)| {
        format!("<tr><td>{}</td><td>{}</td></tr>\n", escape_html(name), escape_html(value))
    };
    format!(
        "<h2 id=\"settings\">Settings</h2>\n<details><summary>Everything the run was told</summary>\n<div class=\"wide\">\
         <table><tbody>\n{}</tbody></table></div></details>\n",
        settings.iter().map(row).collect::<String>()
    )
}
