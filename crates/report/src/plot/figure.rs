//! What a figure shows, in the data's own units: panels with axes and marks.

use super::colour::Ink;

/// Width of every figure in pixels.
pub(crate) const WIDTH: f64 = 760.0;

/// An axis: its label, its kind and, if need be, its range.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Whether equal distances are equal ratios.
    pub log: bool,
    /// Its ends; without them those of the data.
    pub range: Option<(f64, f64)>,
    /// Names for the places 0, 1, 2, …, read downwards; only on a vertical axis.
    pub names: Vec<String>,
}

impl Axis {
    /// An axis of equal differences.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis of equal ratios.
    pub fn log(label: impl Into<String>) -> Self {
        Self { log: true, ..Self::linear(label) }
    }

    /// An axis of names.
    pub fn names(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    /// With these ends.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// The geometry of a mark. Lists of different lengths are cut to the shortest; what is not finite is not drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through points.
    Line {
        /// Across.
        x: Vec<f64>,
        /// Up.
        y: Vec<f64>,
    },
    /// The area between two lines.
    Band {
        /// Across.
        x: Vec<f64>,
        /// The lower line.
        low: Vec<f64>,
        /// The upper line.
        high: Vec<f64>,
    },
    /// Points; where there are many, hexagons that are darker where more points lie.
    Points {
        /// Across.
        x: Vec<f64>,
        /// Up.
        y: Vec<f64>,
    },
    /// Points whose colours are numbers.
    Coloured {
        /// Across.
        x: Vec<f64>,
        /// Up.
        y: Vec<f64>,
        /// The colours.
        value: Vec<f64>,
    },
    /// Upright error bars.
    Whiskers {
        /// Across.
        x: Vec<f64>,
        /// Lower ends.
        low: Vec<f64>,
        /// Upper ends.
        high: Vec<f64>,
    },
    /// Lying bars from 0, one for each name of the vertical axis.
    Bars {
        /// Their lengths.
        length: Vec<f64>,
    },
    /// Standing columns from 0 between neighbouring edges.
    Columns {
        /// Edges, one more than there are columns.
        edges: Vec<f64>,
        /// Heights.
        height: Vec<f64>,
    },
    /// A reference line at a height.
    Across(f64),
    /// A reference line at a place.
    Upright(f64),
    /// A net of lines: the image of a grid.
    Net {
        /// The lines.
        lines: Vec<Vec<(f64, f64)>>,
    },
    /// Outlines of ellipses.
    Ellipses {
        /// Centres across.
        x: Vec<f64>,
        /// Centres up.
        y: Vec<f64>,
        /// Radii across.
        x_radius: Vec<f64>,
        /// Radii up.
        y_radius: Vec<f64>,
    },
    /// Cells coloured by numbers.
    Heat {
        /// Edges across.
        x_edges: Vec<f64>,
        /// Edges up.
        y_edges: Vec<f64>,
        /// The numbers, row by row upwards.
        value: Vec<f64>,
    },
    /// Cells of one colour, each as strong as its number says.
    Cells {
        /// Edges across.
        x_edges: Vec<f64>,
        /// Edges up.
        y_edges: Vec<f64>,
        /// From 0, invisible, to 1, row by row upwards; NaN where there is no cell.
        strength: Vec<f64>,
    },
}

/// A shape with its looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The geometry.
    pub shape: Shape,
    /// The colour.
    pub ink: Ink,
    /// Width of lines, or radius of points, in pixels.
    pub width: f64,
    /// From 0, invisible, to 1.
    pub opacity: f64,
    /// Whether lines are interrupted.
    pub dashed: bool,
    /// Whether points are rings.
    pub hollow: bool,
    /// Its entry in the legend, or the label of its colour scale; nothing for none.
    pub label: String,
}

impl Mark {
    /// A shape with ordinary looks.
    pub fn new(shape: Shape) -> Self {
        let (ink, width, opacity) = match &shape {
            Shape::Line { .. } => (Ink::Series(0), 1.8, 1.0),
            Shape::Band { .. } => (Ink::Series(0), 0.0, 0.2),
            Shape::Points { .. } => (Ink::Series(0), 2.2, 0.55),
            Shape::Coloured { .. } => (Ink::Series(0), 2.6, 0.85),
            Shape::Whiskers { .. } => (Ink::Series(0), 1.0, 0.6),
            Shape::Bars { .. } | Shape::Columns { .. } => (Ink::Series(0), 0.0, 0.85),
            Shape::Across(_) | Shape::Upright(_) => (Ink::Muted, 1.2, 1.0),
            Shape::Net { .. } => (Ink::Series(0), 0.8, 0.7),
            Shape::Ellipses { .. } => (Ink::Muted, 0.8, 0.5),
            Shape::Heat { .. } | Shape::Cells { .. } => (Ink::Series(0), 0.0, 1.0),
        };
        Self { shape, ink, width, opacity, dashed: false, hollow: false, label: String::new() }
    }

    /// A line through points.
    pub fn line(x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(Shape::Line { x, y })
    }

    /// The area between two lines.
    pub fn band(x: Vec<f64>, low: Vec<f64>, high: Vec<f64>) -> Self {
        Self::new(Shape::Band { x, low, high })
    }

    /// Points.
    pub fn points(x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(Shape::Points { x, y })
    }

    /// Upright error bars.
    pub fn whiskers(x: Vec<f64>, low: Vec<f64>, high: Vec<f64>) -> Self {
        Self::new(Shape::Whiskers { x, low, high })
    }

    /// A reference line at a height.
    pub fn across(y: f64) -> Self {
        Self::new(Shape::Across(y)).dashed()
    }

    /// A reference line at a place.
    pub fn upright(x: f64) -> Self {
        Self::new(Shape::Upright(x)).dashed()
    }

    /// Sets the colour.
    pub fn ink(mut self, ink: Ink) -> Self {
        self.ink = ink;
        self
    }

    /// Sets the width or radius.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }

    /// Sets the opacity.
    pub fn opacity(mut self, opacity: f64) -> Self {
        self.opacity = opacity;
        self
    }

    /// With interrupted lines.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// With rings for points.
    pub fn hollow(mut self) -> Self {
        self.hollow = true;
        self
    }

    /// With an entry in the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
}

/// One pair of axes with what is drawn between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What stands above it; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, from the back to the front.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// An empty panel.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, marks: Vec::new() }
    }

    /// With one more mark in front.
    pub fn with(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

/// Panels in rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// A short name in letters, digits and hyphens, for files and links.
    pub name: String,
    /// What it shows, in plain words.
    pub title: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Panels in a row.
    pub columns: usize,
    /// Height of a row in pixels.
    pub row_height: f64,
    /// Whether one legend above all panels takes the place of theirs.
    pub shared_legend: bool,
}

impl Figure {
    /// A figure without panels, two to a row.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            panels: Vec::new(),
            columns: 2,
            row_height: 300.0,
            shared_legend: false,
        }
    }

    /// With one more panel.
    pub fn with(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// With this many panels in a row.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// With rows of this height in pixels.
    pub fn row_height(mut self, height: f64) -> Self {
        self.row_height = height;
        self
    }

    /// With one legend for all panels, in which equal labels stand once.
    pub fn shared_legend(mut self) -> Self {
        self.shared_legend = true;
        self
    }
}
