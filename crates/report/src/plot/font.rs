//! Noto Sans: widths of words for the layout, and their outlines for the raster.

use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId};

/// System fonts are a little wider or narrower than ours; room is kept for the wider ones.
const SAFETY: f64 = 1.06;

/// The parsed font.
pub(crate) fn face(bold: bool) -> &'static Face<'static> {
    static FACES: OnceLock<[Face<'static>; 2]> = OnceLock::new();
    let parse = |bytes| Face::parse(bytes, 0).expect("the font of the crate `notosans` can be read");
    &FACES.get_or_init(|| [parse(notosans::REGULAR_TTF), parse(notosans::BOLD_TTF)])[usize::from(bold)]
}

/// A character's glyph, the share of the size that it is drawn at, and how far above the line, in sizes.
pub(crate) fn glyph(face: &Face<'_>, c: char) -> (GlyphId, f64, f64) {
    // The font has no superscript minus: a small one is put where it would stand.
    let (c, share, raise) = if c == '⁻' { ('−', 0.62, 0.32) } else { (c, 1.0, 0.0) };
    // Where it has no glyph at all, its empty box.
    (face.glyph_index(c).unwrap_or(GlyphId(0)), share, raise)
}

/// Advance of a glyph in pixels at a size.
pub(crate) fn advance(face: &Face<'_>, id: GlyphId, size: f64) -> f64 {
    f64::from(face.glyph_hor_advance(id).unwrap_or(0)) * size / f64::from(face.units_per_em())
}

/// Room that a text takes on a line, in pixels, for whatever font will show it.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let face = face(bold);
    let one = |c: char| match glyph(face, c) {
        // A character of another script is shown by a font of the system, most often in a square.
        (GlyphId(0), ..) => advance(face, GlyphId(0), size).max(size),
        (id, share, _) => advance(face, id, share * size),
    };
    SAFETY * text.chars().map(one).sum::<f64>()
}

/// The text, shortened with an ellipsis to fit into `room` pixels.
pub fn fit(text: &str, size: f64, bold: bool, room: f64) -> String {
    if width(text, size, bold) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&format!("{short}…"), size, bold) > room {
            short.pop();
            break;
        }
    }
    format!("{}…", short.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_labels_need_is_in_the_font() {
        for bold in [false, true] {
            for c in "0123456789−±²³⁰¹⁴⁵⁶⁷⁸⁹⁻×…→≤≥αμσℓ".chars() {
                assert_ne!(glyph(face(bold), c).0, GlyphId(0), "{c}");
            }
        }
        assert_eq!(glyph(face(false), '日').0, GlyphId(0));
    }

    #[test]
    fn long_names_are_shortened_to_their_room() {
        assert_eq!(fit("short", 12.0, false, 100.0), "short");
        let long = "a very long name of a column ".repeat(8);
        let short = fit(&long, 12.0, false, 100.0);
        assert!(short.ends_with('…') && short.len() > 8 && width(&short, 12.0, false) <= 100.0, "{short}");
        assert_eq!(fit("wide", 12.0, false, 0.0), "…");
        assert_eq!(fit("", 12.0, false, 0.0), "");
    }

    #[test]
    fn wider_text_needs_more_room() {
        assert!(width("mm", 12.0, false) > width("m", 12.0, false));
        assert!(width("mean", 12.0, true) > width("mean", 12.0, false));
        assert!((width("mean", 24.0, false) / width("mean", 12.0, false) - 2.0).abs() < 1e-12);
        assert!(width("日本", 12.0, false) >= 24.0);
    }
}
