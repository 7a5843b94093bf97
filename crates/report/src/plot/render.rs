//! A figure as shapes, as SVG and as PNG.

use super::figure::Figure;
use super::layout;
use super::png;
use super::scene::Scene;
use super::svg::{self, Colours};

/// Pixels of a PNG for each pixel of the layout.
const PNG_SCALE: f64 = 2.0;

impl Figure {
    /// The figure as shapes, with its title above it or without.
    pub fn scene(&self, titled: bool) -> Scene {
        layout::scene(self, titled)
    }

    /// The figure as an SVG file, for a light page.
    pub fn svg(&self) -> String {
        svg::write(&self.scene(true), Colours::Fixed)
    }

    /// The figure as an SVG element for a [`crate::page`], in the colours of its style sheet and without a title.
    pub fn inline_svg(&self) -> String {
        svg::write(&self.scene(false), Colours::Page)
    }

    /// The figure as a PNG file, for a light page.
    pub fn png(&self) -> Vec<u8> {
        png::write(&self.scene(true), PNG_SCALE)
    }
}
