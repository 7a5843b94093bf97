//! The kinds of values that options take, read alike from the command line and from a config file.

use clap::ValueEnum;
use deepgp::infer::{Engine, Site};
use deepgp::init::{KernelChoice, MeanChoice};
use deepgp_data::{Decimal, Header};
use deepgp_numerics::optim::Schedule;
use deepgp_task::Noise;
use deepgp_task::WarpKind;
use serde::{Deserialize, Deserializer, Serialize};
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

/// Widths such as "8,8", for the measurements.
pub fn widths(text: &str) -> anyhow::Result<Vec<usize>> {
    text.parse::<Widths>().map(|widths| widths.0).map_err(anyhow::Error::msg)
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

/// One character between the fields of a row.
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

/// Engines by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineName {
    /// Stochastic EP, first-order sites (the default)
    Sep,
    /// Stochastic EP, exact sites
    SepExact,
    /// Full EP: memory grows with the rows
    Ep,
    /// Assumed density filtering: one pass is its honest use
    Adf,
    /// Joint descent on the energy
    Joint,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Sep => Engine::Sep(Site::FirstOrder),
            EngineName::SepExact => Engine::Sep(Site::Exact),
            EngineName::Ep => Engine::Ep,
            EngineName::Adf => Engine::Adf,
            EngineName::Joint => Engine::JointEnergy,
        }
    }
}

impl From<Engine> for EngineName {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Sep(Site::FirstOrder) => EngineName::Sep,
            Engine::Sep(Site::Exact) => EngineName::SepExact,
            Engine::Ep => EngineName::Ep,
            Engine::Adf => EngineName::Adf,
            Engine::JointEnergy => EngineName::Joint,
        }
    }
}

/// Kernels by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelName {
    /// Exponentiated quadratic (the default)
    Eq,
    /// Linear
    Linear,
    /// Exponentiated quadratic plus linear
    EqLinear,
    /// Matérn 3/2
    Matern32,
    /// Matérn 5/2
    Matern52,
    /// Spectral mixture of three components
    SpectralMixture,
}

/// Transforms of targets by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransformName {
    /// The logarithm, for positive targets
    Log,
    /// A power on either side of the mean, found by maximum likelihood
    YeoJohnson,
    /// Ranks as normal scores, smoothed
    Ranks,
}

impl From<TransformName> for WarpKind {
    fn from(name: TransformName) -> Self {
        match name {
            TransformName::Log => WarpKind::Log,
            TransformName::YeoJohnson => WarpKind::YeoJohnson,
            TransformName::Ranks => WarpKind::Ranks,
        }
    }
}

/// Functions that tables can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FunctionName {
    /// A step; one input
    Step,
    /// A sine whose frequency jumps fivefold; one input
    SineJump,
    /// A ridge with a sharp crest along a curve; two inputs
    Ridge,
    /// The flow through a borehole; eight inputs
    Borehole,
}

/// Components of a spectral mixture.
const COMPONENTS: usize = 3;

impl From<KernelName> for KernelChoice {
    fn from(name: KernelName) -> Self {
        match name {
            KernelName::Eq => KernelChoice::Eq,
            KernelName::Linear => KernelChoice::Linear,
            KernelName::EqLinear => KernelChoice::EqLinear,
            KernelName::Matern32 => KernelChoice::Matern32,
            KernelName::Matern52 => KernelChoice::Matern52,
            KernelName::SpectralMixture => KernelChoice::SpectralMixture(COMPONENTS),
        }
    }
}

impl From<KernelChoice> for KernelName {
    fn from(choice: KernelChoice) -> Self {
        match choice {
            KernelChoice::Eq => KernelName::Eq,
            KernelChoice::Linear => KernelName::Linear,
            KernelChoice::EqLinear => KernelName::EqLinear,
            KernelChoice::Matern32 => KernelName::Matern32,
            KernelChoice::Matern52 => KernelName::Matern52,
            KernelChoice::SpectralMixture(_) => KernelName::SpectralMixture,
        }
    }
}

/// Means of hidden layers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeanName {
    /// None (the default)
    Zero,
    /// Linear: hidden layers correct a projection of their inputs
    Linear,
}

impl From<MeanName> for MeanChoice {
    fn from(name: MeanName) -> Self {
        match name {
            MeanName::Zero => MeanChoice::Zero,
            MeanName::Linear => MeanChoice::Linear,
        }
    }
}

impl From<MeanChoice> for MeanName {
    fn from(choice: MeanChoice) -> Self {
        match choice {
            MeanChoice::Zero => MeanName::Zero,
            MeanChoice::Linear => MeanName::Linear,
        }
    }
}

/// Observation noise by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseName {
    /// Gaussian (the default)
    Gaussian,
    /// Student-t, for targets with outliers
    StudentT,
}

impl From<NoiseName> for Noise {
    fn from(name: NoiseName) -> Self {
        match name {
            NoiseName::Gaussian => Noise::Gaussian,
            NoiseName::StudentT => Noise::StudentT,
        }
    }
}

impl From<Noise> for NoiseName {
    fn from(noise: Noise) -> Self {
        match noise {
            Noise::Gaussian => NoiseName::Gaussian,
            Noise::StudentT => NoiseName::StudentT,
        }
    }
}

/// Courses of the learning rate by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleName {
    /// Falls to 1 % along a cosine (the default)
    Cosine,
    /// Stays
    Constant,
}

impl From<ScheduleName> for Schedule {
    fn from(name: ScheduleName) -> Self {
        match name {
            ScheduleName::Cosine => Schedule::Cosine,
            ScheduleName::Constant => Schedule::Constant,
        }
    }
}

impl From<Schedule> for ScheduleName {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Constant => ScheduleName::Constant,
            // The only other one that can be asked for here.
            _ => ScheduleName::Cosine,
        }
    }
}

/// Whether the first row holds names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderName {
    /// It does unless one of its cells is a number (the default)
    Auto,
    /// It does
    Yes,
    /// It is data; columns are called c1, c2, …
    No,
}

impl From<HeaderName> for Header {
    fn from(name: HeaderName) -> Self {
        match name {
            HeaderName::Auto => Header::Auto,
            HeaderName::Yes => Header::Yes,
            HeaderName::No => Header::No,
        }
    }
}

impl From<Header> for HeaderName {
    fn from(header: Header) -> Self {
        match header {
            Header::Auto => HeaderName::Auto,
            Header::Yes => HeaderName::Yes,
            Header::No => HeaderName::No,
        }
    }
}

/// Decimal marks by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecimalName {
    /// 1.5 (the default)
    Point,
    /// 1,5
    Comma,
}

impl From<DecimalName> for Decimal {
    fn from(name: DecimalName) -> Self {
        match name {
            DecimalName::Point => Decimal::Point,
            DecimalName::Comma => Decimal::Comma,
        }
    }
}

impl From<Decimal> for DecimalName {
    fn from(decimal: Decimal) -> Self {
        match decimal {
            Decimal::Point => DecimalName::Point,
            Decimal::Comma => DecimalName::Comma,
        }
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
