//! Finds the name that was meant.

/// The name in `names` most similar to `wanted`, if one is similar enough to suggest.
pub(crate) fn similar(wanted: &str, names: &[String]) -> Option<String> {
    // Long names would make the distance slow, and are not typed by hand.
    const LONGEST: usize = 100;
    let folded = wanted.trim().to_lowercase();
    let tolerance = (folded.chars().count() / 3).clamp(1, 4);
    let distance = |name: &String| {
        let name = name.to_lowercase();
        (name.len() <= LONGEST && folded.len() <= LONGEST).then(|| strsim::osa_distance(&folded, &name))
    };
    let (distance, name) = names.iter().filter_map(|name| Some((distance(name)?, name))).min_by_key(|(d, _)| *d)?;
    (distance <= tolerance && distance < folded.chars().count()).then(|| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_understood() {
        let names: Vec<String> = ["price", "area", "Größe", "x1"].map(str::to_owned).to_vec();
        assert_eq!(similar("prise", &names).as_deref(), Some("price"));
        assert_eq!(similar("PRICE", &names).as_deref(), Some("price"));
        assert_eq!(similar("aera", &names).as_deref(), Some("area"));
        assert_eq!(similar("größe", &names).as_deref(), Some("Größe"));
        assert_eq!(similar("x2", &names).as_deref(), Some("x1"));
        assert_eq!(similar("colour", &names), None);
        assert_eq!(similar("", &names), None);
        assert_eq!(similar("q", &names), None);
        assert_eq!(similar("price", &[]), None);
    }
}
