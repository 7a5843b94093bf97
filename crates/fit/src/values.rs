//! The kinds of values that settings take, read alike from a command line, a config file and JSON.

use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// Names between commas; one that has a comma in it stands in double quotes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut names, mut name, mut quoted) = (Vec::new(), String::new(), false);
        for c in text.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => names.push(std::mem::take(&mut name)),
                c => name.push(c),
            }
        }
        if quoted {
            return Err("a double quote is not closed".to_owned());
        }
        names.push(name);
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) { Err("a name is empty".to_owned()) } else { Ok(Self(names)) }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected names: \"a,b\" or [\"a\", \"b\"]")]
        enum Form {
            Text(String),
            List(Vec<String>),
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
            Form::List(names) => Ok(Self(names)),
        }
    }
}

/// Widths of hidden layers: "8,8"; "0" or nothing stands for no hidden layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Widths(pub Vec<usize>);

impl FromStr for Widths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if matches!(text.trim(), "" | "0") {
            return Ok(Self(Vec::new()));
        }
        let width = |part: &str| part.trim().parse().ok().filter(|&width: &usize| width > 0);
        let widths: Option<Vec<usize>> = text.split(',').map(width).collect();
        widths.map(Self).ok_or_else(|| format!("'{text}' is not a list of widths such as 2 or 8,8"))
    }
}

impl<'de> Deserialize<'de> for Widths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected widths: 2, \"8,8\" or [8, 8]")]
        enum Form {
            One(usize),
            List(Vec<usize>),
            Text(String),
        }
        Ok(Self(match Form::deserialize(deserializer)? {
            Form::One(0) => Vec::new(),
            Form::One(width) => vec![width],
            Form::List(widths) => widths,
            Form::Text(text) => text.parse::<Self>().map_err(serde::de::Error::custom)?.0,
        }))
    }
}

/// A length of time: "90", "90s", "5m", "1.5h".
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (number, unit) = match text.strip_suffix("ms") {
            Some(number) => (number, 1e-3),
            None => match text.char_indices().next_back() {
                Some((at, 's')) => (&text[..at], 1.0),
                Some((at, 'm')) => (&text[..at], 60.0),
                Some((at, 'h')) => (&text[..at], 3600.0),
                _ => (text, 1.0),
            },
        };
        let seconds = number.trim().parse::<f64>().ok().map(|n| n * unit).filter(|s| s.is_finite() && *s >= 0.0);
        seconds.map(Self).ok_or_else(|| format!("'{text}' is not a time such as 90s, 5m or 1h"))
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a time: 90, \"90s\", \"5m\" or \"1h\"")]
        enum Form {
            Number(f64),
            Text(String),
        }
        let text = match Form::deserialize(deserializer)? {
            Form::Number(seconds) => seconds.to_string(),
            Form::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Which rows are held out: a share of the table, or those of another table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Valid {
    /// A share of the rows, from 0 on.
    Share(f64),
    /// All rows of this table.
    Table(PathBuf),
}

impl FromStr for Valid {
    type Err = String;

    /// A number is a share, anything else the name of a file.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(share) => Ok(Self::Share(share)),
            Err(_) if text.is_empty() => Err("it must be a share of the rows, or a table".to_owned()),
            Err(_) => Ok(Self::Table(text.into())),
        }
    }
}

impl<'de> Deserialize<'de> for Valid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a share of the rows, or the name of a table")]
        enum Form {
            Number(f64),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(share) => Ok(Self::Share(share)),
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// The character that stands between the fields of a row: itself, or tab, comma, semicolon or space by name.
///
/// # Errors
/// What else was found.
pub fn delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        ("comma", ..) => Ok(','),
        ("semicolon", ..) => Ok(';'),
        ("space", ..) => Ok(' '),
        (_, Some(c), None) => Ok(c),
        _ => Err("it must be one character, or one of tab, comma, semicolon and space".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_may_quote_commas() {
        let names = |text: &str| text.parse::<Names>().map(|n| n.0);
        assert_eq!(names("price"), Ok(vec!["price".into()]));
        assert_eq!(names(" a , \"b,c\",d"), Ok(vec!["a".into(), "b,c".into(), "d".into()]));
        assert!(names("a,,b").is_err() && names("").is_err() && names("\"a").is_err());
    }

    #[test]
    fn times_have_units() {
        let seconds = |text: &str| text.parse::<Seconds>().map(|s| s.0);
        for (text, expected) in
            [("90", 90.0), ("90s", 90.0), ("5m", 300.0), ("1.5h", 5400.0), ("250ms", 0.25), ("0", 0.0)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "s", "-1", "nan", "inf", "5 days", "1e400"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn widths_of_nothing_are_a_sparse_gp() {
        let widths = |text: &str| text.parse::<Widths>().map(|w| w.0);
        assert_eq!((widths("0"), widths(""), widths("8, 8")), (Ok(vec![]), Ok(vec![]), Ok(vec![8, 8])));
        assert!(widths("2,0").is_err() && widths("two").is_err() && widths("-1").is_err());
    }
}
