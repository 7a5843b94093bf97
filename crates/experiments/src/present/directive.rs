//! A directive of a template as it is written.

/// A directive as it is written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Directive {
    /// What it asks for.
    pub name: String,
    /// Words between the name and the first argument.
    pub words: Vec<String>,
    /// The arguments, each with its values.
    pub arguments: Vec<(String, Vec<String>)>,
}
