//! One cell of a table: missing, a number, or text.

/// Words that stand for a missing value, besides an empty cell and any spelling of NaN. Upper and lower case differ:
/// "Na" is sodium and "none" may be a category.
pub const MISSING: [&str; 13] =
    ["?", ".", "-", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "Null", "null", "None", "#VALUE!"];

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Nothing: an empty cell, one of [`MISSING`], or NaN.
    Missing,
    /// A number, possibly infinite, never NaN.
    Number(f64),
    /// Anything else, without surrounding blanks.
    Text(&'a str),
}

/// The mark before the decimals of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decimal {
    /// 1.5
    #[default]
    Point,
    /// 1,5
    Comma,
}

impl<'a> Cell<'a> {
    /// Reads a cell of text.
    pub fn parse(text: &'a str, decimal: Decimal) -> Self {
        let text = text.trim();
        match number(text, decimal) {
            Some(value) if value.is_nan() => Self::Missing,
            Some(value) => Self::Number(value),
            None if text.is_empty() || MISSING.contains(&text) => Self::Missing,
            None => Self::Text(text),
        }
    }
}

fn number(text: &str, decimal: Decimal) -> Option<f64> {
    match decimal {
        Decimal::Point => text.parse().ok(),
        Decimal::Comma if text.contains('.') => None,
        // Only the first: "1,234,567" is no number.
        Decimal::Comma => text.replacen(',', ".", 1).parse().ok(),
    }
}

/// Why a text that was meant as a number is none, and what to do: "" if it does not look like a number at all.
pub(crate) fn mistaken_number(text: &str) -> &'static str {
    let bare = text.trim_start_matches(['+', '-']);
    let is_decimal = |(whole, part): (&str, &str)| (whole.is_empty() || is_digits(whole)) && is_digits(part);
    let has_unit = |number: &str| number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok();
    if text.parse::<f64>().is_ok_and(f64::is_infinite) {
        "infinite values cannot be used: remove the row, or leave the cell empty"
    } else if bare.split_once(',').is_some_and(is_decimal) {
        "if the comma is the decimal mark, say so; if it separates thousands, remove it"
    } else if [',', '.', '\'', ' ', '_'].into_iter().any(|mark| is_grouped(bare, mark)) {
        "remove the marks that separate thousands"
    } else if has_unit(bare.trim_matches(['%', '$', '€', '£', ' '])) {
        "write the number without its unit"
    } else {
        ""
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `mark` separates thousands: 1,234,567 or 1,234.5.
fn is_grouped(text: &str, mark: char) -> bool {
    let Some((first, rest)) = text.split_once(mark) else { return false };
    // Behind the last group there may be decimals, after another mark.
    let whole = rest.split_once(|c: char| c != mark && matches!(c, '.' | ',')).map_or(rest, |(whole, _)| whole);
    first.len() <= 3 && is_digits(first) && whole.split(mark).all(|group| group.len() == 3 && is_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_missing_values_and_text_are_told_apart() {
        let point = |text| Cell::parse(text, Decimal::Point);
        for (text, value) in
            [("1", 1.0), (" -2.5e-3 ", -2.5e-3), ("+5", 5.0), (".5", 0.5), ("7.", 7.0), ("1e999", f64::INFINITY)]
        {
            assert_eq!(point(text), Cell::Number(value), "{text:?}");
        }
        for text in ["", "  ", "NA", "nan", "NaN", "-nan", "null", "?", "<NA>", "None"] {
            assert_eq!(point(text), Cell::Missing, "{text:?}");
        }
        for text in ["red", "Na", "none", "1,5", "0x10", "1 2", "--1", "1e"] {
            assert_eq!(point(text), Cell::Text(text), "{text:?}");
        }
    }

    #[test]
    fn a_decimal_comma_is_read_when_asked_for() {
        let comma = |text| Cell::parse(text, Decimal::Comma);
        assert_eq!(comma("-1,5"), Cell::Number(-1.5));
        assert_eq!(comma("12"), Cell::Number(12.0));
        assert_eq!(comma("1.234,5"), Cell::Text("1.234,5"));
        assert_eq!(comma("1,234,567"), Cell::Text("1,234,567"));
        assert_eq!(comma("1.5"), Cell::Text("1.5"));
    }

    #[test]
    fn mistaken_numbers_are_explained() {
        for (text, word) in [
            ("1,5", "decimal"),
            ("1,234,567", "thousands"),
            ("-1,234.5", "thousands"),
            ("1.234.567,8", "thousands"),
            ("1 234 567", "thousands"),
            ("1'234", "thousands"),
            ("inf", "infinite"),
            ("1e999", "infinite"),
            ("5%", "unit"),
            ("$5.20", "unit"),
            ("12 €", "unit"),
        ] {
            assert!(mistaken_number(text).contains(word), "{text}: {:?}", mistaken_number(text));
        }
        for text in ["red", "", "-", "a,b", "2024-01-15", "12a", "1,,2", "%"] {
            assert_eq!(mistaken_number(text), "", "{text}");
        }
    }
}
