//! `deepgp bench report`: records of experiments as tables and figures.

use super::report_options::{Format, ReportOptions};
use crate::exit_codes::{Usage, usage};
use crate::out::{note, path_text, print, print_json, write_to};
use crate::wording::plural;
use anyhow::{Context, Result, bail};
use deepgp_experiments::present::{Block, Filled, Options, Sources, aggregate, blocks, fill, fragment, page, text};
use deepgp_experiments::{Error, Published, Results};
use deepgp_report::plot::Figure;
use serde_json::json;
use std::path::{Path, PathBuf};

/// What is to be written.
struct Document {
    text: String,
    figures: Vec<Figure>,
}

/// Reads the records, makes all of the document, then writes it.
pub fn report(args: &ReportOptions) -> Result<()> {
    let results = Results::read(&args.records)?;
    if results.studies.is_empty() {
        bail!("no records in {}", args.records.iter().map(|path| path_text(path)).collect::<Vec<_>>().join(", "));
    }
    let published: Vec<Published> =
        args.published.iter().map(|path| Published::read(path)).collect::<Result<_, _>>()?;
    let format = format(args)?;
    let spread = args.spread.into();
    let has_figures = args.figures.is_some() || (format == Format::Html && !args.json);
    let options = Options { against: args.against.as_deref(), spread, figures: has_figures };
    let document = match &args.template {
        Some(template) => from_template(args, template, Sources { results: &results, published: &published, spread })?,
        None => whole(args, format, &blocks(&results, &published, &options).map_err(understood)?),
    };
    let numbers = if args.json { Some(aggregate(&results, &options).map_err(understood)?) } else { None };

    let figures = write_figures(args, &document.figures)?;
    if let Some(out) = &args.out {
        write_to(Some(out), |file| file.write_all(document.text.as_bytes()).context("cannot write the text"))?;
        let runs = results.studies.iter().map(|study| study.all_runs().count()).sum();
        note(args.quiet, &format!("{} in {}", plural(runs, "run"), out.display()));
    }
    let paths = || args.out.iter().chain(&figures).map(|path| path_text(path));
    match (numbers, &args.out) {
        (Some(mut numbers), _) => {
            numbers["out"] = json!(args.out.as_deref().map(path_text));
            numbers["figures"] = json!(figures.iter().map(|path| path_text(path)).collect::<Vec<_>>());
            print_json(&numbers)
        }
        (None, Some(_)) => paths().try_for_each(|path| print(&format!("{path}\n"))),
        (None, None) => print(&document.text),
    }
}

/// Unknown names and invalid templates are errors of usage.
fn understood(error: Error) -> anyhow::Error {
    match error {
        Error::Unknown { .. } | Error::Template { .. } => anyhow::Error::new(Usage(error.to_string())),
        other => other.into(),
    }
}

fn format(args: &ReportOptions) -> Result<Format> {
    let by_name = |path: &Path| match path.extension().and_then(|ending| ending.to_str()) {
        Some("md" | "markdown") => Ok(Format::Markdown),
        Some("tex") => Ok(Format::Latex),
        Some("html" | "htm") => Ok(Format::Html),
        _ => Err(usage!("{} ends in none of .md, .tex and .html: give --format", path.display())),
    };
    let format = match (args.format, &args.out) {
        (Some(format), _) => format,
        (None, Some(_)) if args.template.is_some() => Format::Markdown,
        (None, Some(path)) => by_name(path)?,
        (None, None) => Format::Markdown,
    };
    if args.template.is_some() && format != Format::Markdown {
        return Err(usage!("a template gives Markdown, nothing else"));
    }
    Ok(format)
}

fn from_template(args: &ReportOptions, path: &Path, sources: Sources<'_>) -> Result<Document> {
    let template = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let link = |figure: &Figure| link(args, figure, "svg");
    let Filled { text, figures } = fill(&template, path, &sources, &link).map_err(understood)?;
    if !figures.is_empty() && folder(args).is_none() {
        return Err(usage!("the template has figures: give --out or --figures"));
    }
    Ok(Document { text, figures })
}

fn whole(args: &ReportOptions, format: Format, blocks: &[Block]) -> Document {
    let text = match format {
        Format::Markdown => text(blocks, &|figure| link(args, figure, "svg")),
        Format::Latex => fragment(blocks, &|figure| link(args, figure, "png")),
        Format::Html => page(&args.title, blocks),
    };
    let figures = blocks.iter().filter_map(|block| match block {
        Block::Figure(captioned) if args.figures.is_some() => Some(captioned.figure.clone()),
        _ => None,
    });
    Document { text, figures: figures.collect() }
}

/// Where figures go.
fn folder(args: &ReportOptions) -> Option<PathBuf> {
    args.figures.clone().or_else(|| args.out.as_ref().map(|out| out.parent().unwrap_or(Path::new("")).to_path_buf()))
}

/// Where a figure's file is, seen from the text.
fn link(args: &ReportOptions, figure: &Figure, ending: &str) -> String {
    let file = folder(args).unwrap_or_default().join(format!("{}.{ending}", figure.name));
    let base = args.out.as_ref().and_then(|out| out.parent()).unwrap_or(Path::new(""));
    match file.strip_prefix(base) {
        Ok(inside) => path_text(inside),
        // Up from the text's folder and down again; an absolute path is its own way.
        Err(_) if base.is_relative() && file.is_relative() => {
            "../".repeat(base.components().count()) + &path_text(&file)
        }
        Err(_) => path_text(&file),
    }
}

/// Figures as SVG, and as PNG if a folder for them was named.
fn write_figures(args: &ReportOptions, figures: &[Figure]) -> Result<Vec<PathBuf>> {
    let Some(folder) = folder(args).filter(|_| !figures.is_empty()) else { return Ok(Vec::new()) };
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut files = Vec::new();
    let mut write = |name: String, bytes: Vec<u8>| -> Result<()> {
        let path = folder.join(name);
        write_to(Some(&path), |out| out.write_all(&bytes).context("cannot write a figure"))?;
        files.push(path);
        Ok(())
    };
    for figure in figures {
        write(format!("{}.svg", figure.name), figure.svg().into_bytes())?;
        if args.figures.is_some() {
            write(format!("{}.png", figure.name), figure.png())?;
        }
    }
    Ok(files)
}
