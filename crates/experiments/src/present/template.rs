//! Templates: prose with directives, which are replaced by tables, figures and numbers from records.
//!
//! A directive stands between `{{` and `}}`: its name, words, then arguments of the form `key=value`. A value with
//! blanks stands in double quotes, and several values of one key stand one after another:
//!
//! ```text
//! {{table study=paper metric=rmse columns="[GP, 50]" "[DGP, 2, 50]"}}
//! ```
//! What there is to say stands in [`super::directives`].

use super::directive::Directive;
use super::directives::{Replacement, Sources, evaluate};
use super::markdown;
use crate::error::{Error, Result};
use deepgp_report::plot::Figure;
use std::path::Path;

/// A template that was filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// The text.
    pub text: String,
    /// The figures that it links to.
    pub figures: Vec<Figure>,
}

/// Replaces the directives of a template; `link` says where the file of a figure will be, `path` names the template in
/// errors.
///
/// # Errors
/// [`Error::Template`] with the line of a directive that is not understood or asks for what is not there.
pub fn fill(template: &str, path: &Path, sources: &Sources<'_>, link: &dyn Fn(&Figure) -> String) -> Result<Filled> {
    let (mut filled, mut rest, mut line) = (Filled { text: String::new(), figures: Vec::new() }, template, 1);
    while let Some(start) = rest.find("{{") {
        let (before, after) = rest.split_at(start);
        line += before.matches('\n').count();
        let error = |cause: String| Error::Template { path: path.into(), line, cause };
        let end = after.find("}}").ok_or_else(|| error("a directive without }}".into()))?;
        let (inside, behind) = (&after[2..end], &after[end + 2..]);
        filled.text += before;
        let directive = parse(inside).map_err(error)?;
        let blank = |text: &str| text.trim().is_empty();
        let is_alone = blank(before.rsplit('\n').next().unwrap_or(""))
            && blank(behind.split('\n').next().unwrap_or(""))
            // Another directive before it on the same line leaves its text behind.
            && blank(filled.text.rsplit('\n').next().unwrap_or(""));
        match evaluate(&directive, sources).map_err(error)? {
            Replacement::Inline(text) => filled.text += &text,
            Replacement::Blocks(_) if !is_alone => {
                return Err(error(format!("'{}' must stand on a line of its own", directive.name)));
            }
            Replacement::Blocks(blocks) => {
                let parts: Vec<String> = blocks.iter().map(|block| markdown::block(block, link)).collect();
                filled.text += &parts.join("\n\n");
                for block in blocks {
                    if let super::Block::Figure(captioned) = block
                        && filled.figures.iter().all(|figure| figure.name != captioned.figure.name)
                    {
                        filled.figures.push(captioned.figure);
                    }
                }
            }
        }
        line += inside.matches('\n').count();
        rest = behind;
    }
    filled.text += rest;
    Ok(filled)
}

/// Reads what stands between the braces.
fn parse(text: &str) -> std::result::Result<Directive, String> {
    let (mut directive, mut rest) = (Directive::default(), text.trim_start());
    while !rest.is_empty() {
        let (key, value, after) = token(rest)?;
        rest = after.trim_start();
        match (key, directive.arguments.last_mut()) {
            (Some(key), _) => {
                if directive.arguments.iter().any(|(old, _)| *old == key) {
                    return Err(format!("'{key}=' stands twice"));
                }
                directive.arguments.push((key, vec![value]));
            }
            (None, Some((_, values))) => values.push(value),
            (None, None) if directive.name.is_empty() => directive.name = value,
            (None, None) => directive.words.push(value),
        }
    }
    if directive.name.is_empty() { Err("a directive without a name".into()) } else { Ok(directive) }
}

/// The first token, as key and value or as value alone, and what follows.
fn token(text: &str) -> std::result::Result<(Option<String>, String, &str), String> {
    let stop = text.find(|c: char| c.is_whitespace() || c == '=' || c == '"').unwrap_or(text.len());
    let (key, value) = match text[stop..].strip_prefix('=') {
        Some(_) if stop == 0 => return Err("'=' without a key before it".into()),
        Some(value) => (Some(text[..stop].to_owned()), value),
        None => (None, text),
    };
    if let Some(quoted) = value.strip_prefix('"') {
        let end = quoted.find('"').ok_or("a quote is not closed")?;
        return Ok((key, quoted[..end].to_owned(), &quoted[end + 1..]));
    }
    let end = value.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(value.len());
    match (&key, end) {
        (Some(key), 0) => Err(format!("'{key}=' without a value")),
        _ => Ok((key, value[..end].to_owned(), &value[end..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Directive {
        parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn words_arguments_and_lists() {
        let d = parsed(r#" total seconds study=paper columns="[GP, 50]" "[DGP, 2, 50]" plain metric=rmse "#);
        assert_eq!((d.name.as_str(), d.words.as_slice()), ("total", ["seconds".to_owned()].as_slice()));
        let expected: [(&str, &[&str]); 3] =
            [("study", &["paper"]), ("columns", &["[GP, 50]", "[DGP, 2, 50]", "plain"]), ("metric", &["rmse"])];
        let found: Vec<(&str, Vec<&str>)> =
            d.arguments.iter().map(|(k, v)| (k.as_str(), v.iter().map(String::as_str).collect())).collect();
        assert_eq!(found, expected.map(|(k, v)| (k, v.to_vec())));
        assert_eq!(parsed("value\n  study=a\n  task=b").arguments.len(), 2);
    }

    #[test]
    fn what_is_no_directive() {
        for (text, cause) in [
            ("", "without a name"),
            ("  ", "without a name"),
            ("value study=", "'study=' without a value"),
            ("value ==", "without a key"),
            ("value study=\"a", "not closed"),
            ("value study=a study=b", "'study=' stands twice"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(cause), "{text}: {error}");
        }
    }
}
