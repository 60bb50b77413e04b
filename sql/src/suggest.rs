//! "Did you mean": the nearest of a list of names.

/// A hint naming the candidate that is nearest to `name`, if any is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|nearest| format!("Did you mean \"{nearest}\"?"))
}

/// The candidate that is nearest to `name` by edits, if it is a third of the letters away or less.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= (c.chars().count().max(lower.chars().count()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(
            nearest("rows_per_secnd", ["path", "rows_per_second"]),
            Some("rows_per_second")
        );
        assert_eq!(nearest("colour", ["format", "path"]), None);
    }
}
