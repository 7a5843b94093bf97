//! Colours by role, for light and dark pages, told apart by people with any colour vision.

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ink {
    /// Words.
    Text,
    /// Words and lines of second rank: tick labels, reference lines.
    Muted,
    /// Grid lines.
    Grid,
    /// The page itself.
    Paper,
    /// The n-th series of data; the colours repeat after [`N_SERIES`].
    Series(usize),
    /// A place on the continuous scale from 0 to 1.
    Ramp(f64),
}

/// Number of distinct series colours.
pub const N_SERIES: usize = 6;

/// The fixed roles: name in style sheets, colour on a light page, colour on a dark page.
///
/// The series follow Okabe & Ito (2008), a little lighter on dark pages.
pub(crate) const ROLES: [(&str, [u8; 3], [u8; 3]); 4 + N_SERIES] = [
    ("text", [0x1b, 0x1f, 0x24], [0xe6, 0xe9, 0xed]),
    ("muted", [0x5b, 0x64, 0x70], [0x9d, 0xa7, 0xb3]),
    ("grid", [0xe3, 0xe6, 0xea], [0x30, 0x36, 0x3d]),
    ("paper", [0xff, 0xff, 0xff], [0x15, 0x19, 0x1f]),
    ("s0", [0x00, 0x72, 0xb2], [0x5a, 0xb0, 0xe6]),
    ("s1", [0xd5, 0x5e, 0x00], [0xf2, 0x8e, 0x45]),
    ("s2", [0x00, 0x9e, 0x73], [0x3c, 0xc9, 0xa0]),
    ("s3", [0xb4, 0x5f, 0x92], [0xe0, 0x9c, 0xc6]),
    ("s4", [0xc2, 0x86, 0x00], [0xf0, 0xc0, 0x50]),
    ("s5", [0x4a, 0x4e, 0xa8], [0xa4, 0xa8, 0xf0]),
];

/// Nine stations of the viridis scale (public domain): even in lightness, and safe for any colour vision.
const RAMP: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

impl Ink {
    /// Index into [`ROLES`], if the role is fixed.
    fn role(self) -> Option<usize> {
        match self {
            Ink::Text => Some(0),
            Ink::Muted => Some(1),
            Ink::Grid => Some(2),
            Ink::Paper => Some(3),
            Ink::Series(n) => Some(4 + n % N_SERIES),
            Ink::Ramp(_) => None,
        }
    }

    /// Red, green and blue on a light page.
    pub fn rgb(self) -> [u8; 3] {
        match (self.role(), self) {
            (Some(role), _) => ROLES[role].1,
            (None, Ink::Ramp(t)) => ramp(t),
            (None, _) => unreachable!("every other ink has a role"),
        }
    }

    /// The colour as SVG writes it on a light page.
    pub fn hex(self) -> String {
        let [r, g, b] = self.rgb();
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// The colour as a variable of the page's style sheet, where it has one.
    pub fn css(self) -> String {
        self.role().map_or_else(|| self.hex(), |role| format!("var(--{})", ROLES[role].0))
    }
}

/// The continuous scale at `t`, by straight lines between its stations.
fn ramp(t: f64) -> [u8; 3] {
    let t = if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.0 } * (RAMP.len() - 1) as f64;
    let i = (t as usize).min(RAMP.len() - 2);
    let mix = |c: usize| {
        let (a, b) = (f64::from(RAMP[i][c]), f64::from(RAMP[i + 1][c]));
        (a + (b - a) * (t - i as f64)).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// The style sheet's variables for a light or a dark page.
pub(crate) fn css_variables(dark: bool) -> String {
    let colour = |(name, light, night): &(&str, [u8; 3], [u8; 3])| {
        let [r, g, b] = if dark { night } else { light };
        format!("--{name}:#{r:02x}{g:02x}{b:02x};")
    };
    ROLES.iter().map(colour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of the web accessibility guidelines (WCAG 2.1).
    fn luminance(rgb: [u8; 3]) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2])
    }

    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn words_and_series_stand_out_from_the_page() {
        for (i, (name, light, dark)) in ROLES.iter().enumerate() {
            // The guidelines ask 4.5 of words and 3 of graphics.
            let least = [4.5, 4.5, 1.0, 1.0].get(i).copied().unwrap_or(3.0);
            assert!(contrast(*light, ROLES[3].1) >= least, "{name} on light: {}", contrast(*light, ROLES[3].1));
            assert!(contrast(*dark, ROLES[3].2) >= least, "{name} on dark");
        }
    }

    #[test]
    fn the_scale_grows_lighter_all_the_way() {
        let lights: Vec<f64> = (0..=100).map(|i| luminance(Ink::Ramp(f64::from(i) / 100.0).rgb())).collect();
        assert!(lights.windows(2).all(|w| w[0] < w[1] + 1e-9));
        assert_eq!(Ink::Ramp(-1.0).rgb(), RAMP[0]);
        assert_eq!(Ink::Ramp(7.0).rgb(), RAMP[8]);
        assert_eq!(Ink::Ramp(f64::NAN).rgb(), RAMP[0]);
    }

    #[test]
    fn page_colours_are_variables_and_scale_colours_are_not() {
        assert_eq!(Ink::Series(1).css(), "var(--s1)");
        assert_eq!(Ink::Series(7).css(), "var(--s1)");
        assert_eq!(Ink::Ramp(0.0).css(), "#440154");
        assert!(css_variables(false).contains("--s0:#0072b2;") && css_variables(true).contains("--paper:#15191f;"));
    }
}
