//! A drawing as a list of shapes in pixels: what every backend understands.

use super::colour::Ink;

/// A point in pixels, y downwards.
pub type Point = (f64, f64);

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Rect {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.w
    }

    /// Lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.h
    }
}

/// Colour and opacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paint {
    /// The colour's role.
    pub ink: Ink,
    /// From 0, invisible, to 1.
    pub opacity: f64,
}

/// How a path is stroked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub paint: Paint,
    /// Its width in pixels.
    pub width: f64,
    /// Whether it is interrupted.
    pub dashed: bool,
}

/// Where a text stands with respect to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The point on its baseline.
    pub at: Point,
    /// What it says.
    pub text: String,
    /// What it stands for, if it had to be shortened.
    pub full: Option<String>,
    /// Size of the font in pixels.
    pub size: f64,
    /// Which part of the text stands at the point.
    pub anchor: Anchor,
    /// Its colour.
    pub ink: Ink,
    /// Bold or regular.
    pub bold: bool,
    /// Whether it is turned a quarter to read upwards.
    pub upwards: bool,
}

impl Text {
    /// A line of text, neither bold nor upwards.
    pub fn line(at: Point, text: String, size: f64, anchor: Anchor, ink: Ink) -> Self {
        Self { at, text, full: None, size, anchor, ink, bold: false, upwards: false }
    }
}

/// One thing to draw; later ones lie above earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Broken lines, one path.
    Path {
        /// The corners of each.
        lines: Vec<Vec<Point>>,
        /// Whether they return to their first corners.
        closed: bool,
        /// Colour of the inside.
        fill: Option<Paint>,
        /// The outline.
        stroke: Option<Stroke>,
    },
    /// Discs of one radius, each with its colour.
    Discs {
        /// Centres and colours.
        centres: Vec<(Point, Ink)>,
        /// Radius in pixels.
        radius: f64,
        /// Opacity of each disc.
        opacity: f64,
        /// The outline.
        outline: Option<Stroke>,
    },
    /// Outlined ellipses with axes along x and y.
    Ellipses {
        /// Centres and the two radii.
        ellipses: Vec<(Point, Point)>,
        /// The outline.
        stroke: Stroke,
    },
    /// A line of text.
    Text(Text),
    /// Things of which only what lies inside the rectangle is seen.
    Clipped(Rect, Vec<Item>),
}

/// A finished drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// A short name for people who cannot see it.
    pub title: String,
    /// What there is to draw.
    pub items: Vec<Item>,
}
