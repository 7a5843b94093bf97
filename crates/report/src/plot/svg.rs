//! Shapes as SVG text, with smooth coordinates and nothing that a page could trip over.

use super::colour::Ink;
use super::scene::{Anchor, Item, Paint, Point, Scene, Stroke, Text};
use std::fmt::Write;

/// Where colours come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Written out, for a light page.
    Fixed,
    /// From the variables of the page's style sheet.
    Page,
}

/// Fonts much like the one that the layout was measured with.
pub const FONTS: &str = "'Noto Sans','Open Sans','Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif";

/// The whole drawing.
pub fn write(scene: &Scene, colours: Colours) -> String {
    let mut out = Writer { text: String::new(), colours };
    let (w, h) = (number(scene.width), number(scene.height));
    let size = if colours == Colours::Fixed { format!(" width=\"{w}\" height=\"{h}\"") } else { String::new() };
    let title = escape(&scene.title);
    out.put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{size} viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"{FONTS}\">\n"
    ));
    if colours == Colours::Fixed {
        out.put(format_args!("<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n", Ink::Paper.hex()));
    }
    for item in &scene.items {
        out.item(item);
    }
    out.text.push_str("</svg>\n");
    out.text
}

struct Writer {
    text: String,
    colours: Colours,
}

impl Writer {
    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.text.write_fmt(arguments).expect("a string takes whatever is written");
    }

    fn colour(&self, ink: Ink) -> String {
        if self.colours == Colours::Page { ink.css() } else { ink.hex() }
    }

    fn fill(&self, paint: Option<Paint>) -> String {
        paint.map_or_else(
            || " fill=\"none\"".to_owned(),
            |p| format!(" fill=\"{}\"{}", self.colour(p.ink), opacity("fill-opacity", p.opacity)),
        )
    }

    fn stroke(&self, stroke: Option<Stroke>) -> String {
        stroke.map_or_else(String::new, |s| {
            let dashes = if s.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
            let (colour, faint) = (self.colour(s.paint.ink), opacity("stroke-opacity", s.paint.opacity));
            format!(
                " stroke=\"{colour}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{faint}{dashes}",
                number(s.width)
            )
        })
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Path { lines, closed, fill, stroke } => {
                if lines.is_empty() {
                    return;
                }
                let looks = format!("{}{}", self.fill(*fill), self.stroke(*stroke));
                self.put(format_args!("<path{looks} d=\""));
                for line in lines {
                    self.corners(line, *closed);
                }
                self.text.push_str("\"/>\n");
            }
            Item::Discs { centres, radius, opacity: o, outline } => {
                let looks = format!("{}{}", opacity("fill-opacity", *o), self.stroke(*outline));
                self.put(format_args!("<g{looks}>"));
                let r = number(*radius);
                let mut open = None;
                for ((x, y), ink) in centres {
                    // Neighbours of one colour share a group.
                    if open != Some(*ink) {
                        let close = if open.is_some() { "</g>" } else { "" };
                        let colour = self.colour(*ink);
                        self.put(format_args!("{close}<g fill=\"{colour}\">"));
                        open = Some(*ink);
                    }
                    self.put(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"{r}\"/>", number(*x), number(*y)));
                }
                self.text.push_str(if open.is_some() { "</g></g>\n" } else { "</g>\n" });
            }
            Item::Ellipses { ellipses, stroke } => {
                let looks = self.stroke(Some(*stroke));
                self.put(format_args!("<g fill=\"none\"{looks}>"));
                for ((x, y), (rx, ry)) in ellipses {
                    let [x, y, rx, ry] = [*x, *y, *rx, *ry].map(number);
                    self.put(format_args!("<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{rx}\" ry=\"{ry}\"/>"));
                }
                self.text.push_str("</g>\n");
            }
            Item::Text(text) => self.draw_text(text),
            Item::Clipped(r, items) => {
                // A nested drawing clips at its edges and, unlike a clip path, needs no name that could clash.
                let [x, y, w, h] = [r.x, r.y, r.w, r.h].map(number);
                self.put(format_args!(
                    "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\" \
                     overflow=\"hidden\">\n"
                ));
                for item in items {
                    self.item(item);
                }
                self.text.push_str("</svg>\n");
            }
        }
    }

    /// A broken line as relative steps, which are shorter than places.
    fn corners(&mut self, line: &[Point], closed: bool) {
        let hundredths = |(x, y): Point| ((x * 100.0).round() as i64, (y * 100.0).round() as i64);
        let mut last = None;
        for &p in line {
            debug_assert!(p.0.is_finite() && p.1.is_finite());
            let (x, y) = hundredths(p);
            match last {
                None => self.put(format_args!("M{} {}", hundredth(x), hundredth(y))),
                Some((a, b)) if (a, b) == (x, y) => continue,
                Some((a, b)) => self.put(format_args!("l{} {}", hundredth(x - a), hundredth(y - b))),
            }
            last = Some((x, y));
        }
        if closed {
            self.text.push('z');
        }
    }

    fn draw_text(&mut self, t: &Text) {
        let anchor = match t.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, size) = (number(t.at.0), number(t.at.1), number(t.size));
        let turn = if t.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
        let bold = if t.bold { " font-weight=\"bold\"" } else { "" };
        let full = t.full.as_ref().map_or_else(String::new, |f| format!("<title>{}</title>", escape(f)));
        let (colour, words) = (self.colour(t.ink), escape(&t.text));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{anchor}{bold}{turn}>{full}{words}</text>\n"
        ));
    }
}

fn opacity(name: &str, value: f64) -> String {
    if value >= 1.0 { String::new() } else { format!(" {name}=\"{}\"", number(value)) }
}

/// A coordinate to a hundredth of a pixel, in as few characters as it needs.
fn number(v: f64) -> String {
    debug_assert!(v.is_finite());
    hundredth((v * 100.0).round() as i64)
}

fn hundredth(v: i64) -> String {
    let sign = if v < 0 { "-" } else { "" };
    let (whole, part) = (v.unsigned_abs() / 100, v.unsigned_abs() % 100);
    match part {
        0 => format!("{sign}{whole}"),
        p if p % 10 == 0 => format!("{sign}{whole}.{}", p / 10),
        p => format!("{sign}{whole}.{p:02}"),
    }
}

/// Text that XML and HTML take literally; characters that neither may contain are replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Figure, Mark, Panel};
    use proptest::prelude::*;

    #[test]
    fn numbers_are_short() {
        let written: Vec<String> = [0.0, -0.001, 1.5, -2.25, 100.0, 0.05, -0.5].into_iter().map(number).collect();
        assert_eq!(written, ["0", "0", "1.5", "-2.25", "100", "0.05", "-0.5"]);
    }

    #[test]
    fn relative_steps_do_not_drift() {
        let mut writer = Writer { text: String::new(), colours: Colours::Fixed };
        let line: Vec<Point> = (0..1000).map(|i| (f64::from(i) / 3.0, 0.0)).collect();
        writer.corners(&line, false);
        let steps = writer.text.split(['M', 'l']).skip(1);
        let end: f64 = steps.map(|s| s.split(' ').next().unwrap().parse::<f64>().unwrap()).sum();
        assert!((end - 333.0).abs() < 0.006, "{end}");
    }

    proptest! {
        #[test]
        fn any_words_give_well_formed_text(words in any::<String>(), axis in any::<String>()) {
            let panel = Panel::new(words.clone(), Axis::linear(axis), Axis::names(vec![words.clone(), String::new()]))
                .with(Mark::line(vec![0.0, 1.0], vec![0.0, 1.0]).label(words.clone()));
            let figure = Figure::new("f", words.clone()).with(panel);
            for svg in [figure.svg(), figure.inline_svg()] {
                prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{:?}", roxmltree::Document::parse(&svg));
            }
        }
    }

    #[test]
    fn markup_in_names_stays_text() {
        let name = "<script>alert(\"x\")</script> & 'y'";
        let svg = Figure::new("f", name).with(Panel::new("", Axis::linear(name), Axis::linear(""))).svg();
        assert!(!svg.contains("<script"));
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(document.descendants().any(|n| n.is_text() && n.text() == Some(name)));
    }
}
