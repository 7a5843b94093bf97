//! Shapes as a PNG picture: coverage by zeno, glyphs from the font, the file's form by png.

use super::colour::Ink;
use super::font;
use super::scene::{Anchor, Item, Paint, Point, Rect, Scene, Stroke, Text};
use png::{BitDepth, ColorType, Encoder, Filter};
use ttf_parser::OutlineBuilder;
use zeno::{Cap, Command, Fill, Join, Mask, Style, Vector};

/// The picture with `scale` × `scale` dots for each pixel of the layout.
pub fn write(scene: &Scene, scale: f64) -> Vec<u8> {
    let (width, height) = ((scene.width * scale).ceil() as usize, (scene.height * scale).ceil() as usize);
    let paper = Ink::Paper.rgb();
    let whole = Rect { x: 0.0, y: 0.0, w: scene.width, h: scene.height };
    let mut raster = Raster { width, height, rgb: paper.repeat(width * height), scale, clip: whole };
    for item in &scene.items {
        raster.item(item);
    }
    encode(width, height, &raster.rgb)
}

struct Raster {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
    scale: f64,
    clip: Rect,
}

impl Raster {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Path { lines, closed, fill, stroke } => {
                let mut path = Vec::new();
                for line in lines {
                    self.trace(line, *closed, &mut path);
                }
                if let Some(paint) = fill {
                    self.cover(&path, Style::Fill(Fill::NonZero), *paint);
                }
                if let Some(stroke) = stroke {
                    self.stroke(&path, *stroke);
                }
            }
            Item::Discs { centres, radius, opacity, outline } => {
                for (centre, ink) in centres {
                    let path = self.ellipse(*centre, (*radius, *radius));
                    self.cover(&path, Style::Fill(Fill::NonZero), Paint { ink: *ink, opacity: *opacity });
                    if let Some(stroke) = outline {
                        self.stroke(&path, *stroke);
                    }
                }
            }
            Item::Ellipses { ellipses, stroke } => {
                for (centre, radii) in ellipses {
                    let path = self.ellipse(*centre, *radii);
                    self.stroke(&path, *stroke);
                }
            }
            Item::Text(text) => {
                let path = self.draw_text(text);
                self.cover(&path, Style::Fill(Fill::NonZero), Paint { ink: text.ink, opacity: 1.0 });
            }
            Item::Clipped(rect, items) => {
                let outer = std::mem::replace(&mut self.clip, *rect);
                for item in items {
                    self.item(item);
                }
                self.clip = outer;
            }
        }
    }

    fn vector(&self, (x, y): Point) -> Vector {
        Vector::new((x * self.scale) as f32, (y * self.scale) as f32)
    }

    fn trace(&self, line: &[Point], closed: bool, path: &mut Vec<Command>) {
        for (i, &p) in line.iter().enumerate() {
            let p = self.vector(p);
            path.push(if i == 0 { Command::MoveTo(p) } else { Command::LineTo(p) });
        }
        if closed && !line.is_empty() {
            path.push(Command::Close);
        }
    }

    /// Four Bézier curves; the constant makes their middles lie on the ellipse.
    fn ellipse(&self, (x, y): Point, (rx, ry): Point) -> Vec<Command> {
        const K: f64 = 0.552_284_749_8;
        let p = |a: f64, b: f64| self.vector((x + a * rx, y + b * ry));
        vec![
            Command::MoveTo(p(1.0, 0.0)),
            Command::CurveTo(p(1.0, K), p(K, 1.0), p(0.0, 1.0)),
            Command::CurveTo(p(-K, 1.0), p(-1.0, K), p(-1.0, 0.0)),
            Command::CurveTo(p(-1.0, -K), p(-K, -1.0), p(0.0, -1.0)),
            Command::CurveTo(p(K, -1.0), p(1.0, -K), p(1.0, 0.0)),
            Command::Close,
        ]
    }

    fn stroke(&mut self, path: &[Command], stroke: Stroke) {
        let scale = self.scale as f32;
        let dashes = [5.0 * scale, 4.0 * scale];
        let mut style = zeno::Stroke::new(stroke.width as f32 * scale);
        style.join(Join::Round).cap(Cap::Butt);
        if stroke.dashed {
            style.dash(&dashes, 0.0);
        }
        self.cover(path, Style::Stroke(style), stroke.paint);
    }

    /// Lays colour over the dots that a path covers, inside the clip.
    fn cover(&mut self, path: &[Command], style: Style<'_>, paint: Paint) {
        if path.is_empty() {
            return;
        }
        let (mask, placed) = Mask::new(path).style(style).render();
        let colour = paint.ink.rgb().map(f64::from);
        let edge = |v: f64, end: usize| ((v * self.scale).round().max(0.0) as usize).min(end);
        let (left, right) = (edge(self.clip.x, self.width), edge(self.clip.right(), self.width));
        let (top, bottom) = (edge(self.clip.y, self.height), edge(self.clip.bottom(), self.height));
        for (j, row) in mask.chunks(placed.width.max(1) as usize).enumerate() {
            let y = i64::from(placed.top) + j as i64;
            if y < top as i64 || y >= bottom as i64 {
                continue;
            }
            for (i, &coverage) in row.iter().enumerate() {
                let x = i64::from(placed.left) + i as i64;
                if coverage == 0 || x < left as i64 || x >= right as i64 {
                    continue;
                }
                let share = paint.opacity * f64::from(coverage) / 255.0;
                let at = 3 * (y as usize * self.width + x as usize);
                for (dot, new) in self.rgb[at..at + 3].iter_mut().zip(colour) {
                    *dot = (f64::from(*dot) + (new - f64::from(*dot)) * share).round() as u8;
                }
            }
        }
    }

    /// Outlines of a line of text.
    fn draw_text(&self, t: &Text) -> Vec<Command> {
        let face = font::face(t.bold);
        let glyphs: Vec<_> = t.text.chars().map(|c| font::glyph(face, c)).collect();
        let length: f64 = glyphs.iter().map(|&(id, share, _)| font::advance(face, id, share * t.size)).sum();
        let mut along = match t.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * length,
            Anchor::End => -length,
        };
        let mut path = Vec::new();
        for (id, share, raise) in glyphs {
            let unit = share * t.size / f64::from(face.units_per_em());
            let place = |x: f32, y: f32| {
                let (a, b) = (along + f64::from(x) * unit, -f64::from(y) * unit - raise * t.size);
                let (dx, dy) = if t.upwards { (b, -a) } else { (a, b) };
                self.vector((t.at.0 + dx, t.at.1 + dy))
            };
            face.outline_glyph(id, &mut Pen { path: &mut path, place });
            along += font::advance(face, id, share * t.size);
        }
        path
    }
}

/// Takes a glyph's outline down in dots.
struct Pen<'a, F> {
    path: &'a mut Vec<Command>,
    place: F,
}

impl<F: Fn(f32, f32) -> Vector> OutlineBuilder for Pen<'_, F> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.push(Command::MoveTo((self.place)(x, y)));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.push(Command::LineTo((self.place)(x, y)));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.push(Command::QuadTo((self.place)(x1, y1), (self.place)(x, y)));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let place = &self.place;
        self.path.push(Command::CurveTo(place(x1, y1), place(x2, y2), place(x, y)));
    }

    fn close(&mut self) {
        self.path.push(Command::Close);
    }
}

/// A PNG file of 8-bit red, green and blue. Rows are not filtered, which suits flat colours.
fn encode(width: usize, height: usize, rgb: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_filter(Filter::NoFilter);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(rgb)?;
        writer.finish()
    });
    written.expect("a vector takes whatever is written, and there are as many dots as announced");
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// The width of a picture that this file has written, and its dots.
    fn decode(file: &[u8]) -> (usize, Vec<[u8; 3]>) {
        let mut picture = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
        let mut rgb = vec![0; picture.output_buffer_size().unwrap()];
        let width = picture.next_frame(&mut rgb).unwrap().width;
        (width as usize, rgb.chunks(3).map(|dot| [dot[0], dot[1], dot[2]]).collect())
    }

    fn draw(item: Item) -> (usize, Vec<[u8; 3]>) {
        decode(&write(&Scene { width: 40.0, height: 20.0, title: String::new(), items: vec![item] }, 2.0))
    }

    fn square(x: f64, opacity: f64) -> Item {
        let lines = vec![vec![(x, 5.0), (x + 10.0, 5.0), (x + 10.0, 15.0), (x, 15.0)]];
        Item::Path { lines, closed: true, fill: Some(Paint { ink: Ink::Text, opacity }), stroke: None }
    }

    #[test]
    fn a_square_is_where_it_should_be() {
        let (width, dots) = draw(square(5.0, 1.0));
        assert_eq!((width, dots.len()), (80, 80 * 40));
        assert_eq!(dots.iter().filter(|d| **d == Ink::Text.rgb()).count(), 400);
        assert_eq!((dots[10 * 80 + 10], dots[9 * 80 + 10]), (Ink::Text.rgb(), Ink::Paper.rgb()));
    }

    #[test]
    fn opacity_mixes_and_clips_cut() {
        let (_, dots) = draw(square(5.0, 0.5));
        assert!(dots[20 * 80 + 20][0].abs_diff(141) <= 1, "{:?}", dots[20 * 80 + 20]);
        let clip = Rect { x: 0.0, y: 0.0, w: 10.0, h: 20.0 };
        let (_, dots) = draw(Item::Clipped(clip, vec![square(5.0, 1.0), square(-30.0, 1.0), square(500.0, 1.0)]));
        assert_eq!(dots.iter().filter(|d| **d != Ink::Paper.rgb()).count(), 200);
    }

    #[test]
    fn words_leave_ink_on_the_side_of_their_anchor() {
        let ink_left_of_middle = |anchor| {
            let text = Text {
                at: (20.0, 15.0),
                text: "Hm".into(),
                full: None,
                size: 10.0,
                anchor,
                ink: Ink::Text,
                bold: false,
                upwards: false,
            };
            let (width, dots) = draw(Item::Text(text));
            let dark =
                |left: bool| dots.iter().enumerate().filter(|(i, d)| (i % width < 40) == left && d[0] < 128).count();
            (dark(true), dark(false))
        };
        let (left, right) = ink_left_of_middle(Anchor::Start);
        assert!(left == 0 && right > 40);
        let (left, right) = ink_left_of_middle(Anchor::End);
        assert!(left > 40 && right == 0);
    }
}
