//! The frame of every page: its head, colours for light and dark, and the style sheet.

use crate::plot::{css_variables, escape};

/// A whole page with this title above a body of HTML; it needs no other file, no network and no script.
pub fn document(title: &str, body: &str) -> String {
    let (light, dark, title, style) =
        (css_variables(false), css_variables(true), escape_html(title), include_str!("style.css"));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n:root{{{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{style}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}<footer>Made by deepgp {}.</footer>\n</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Plain text for a page, in which a number is not torn from its per cent sign.
pub fn escape_html(text: &str) -> String {
    escape(text).replace(" %", "\u{a0}%")
}
