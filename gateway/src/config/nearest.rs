//! The known name that somebody who wrote an unknown one most likely meant.

/// The nearest of the known names, if one is near: at most a third of the letters differ.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let unknown = unknown.to_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|name| (distance(&unknown, &name.to_lowercase().replace('-', "_")), name))
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// `, did you mean ...?`, or nothing.
pub fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(unknown, known).map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["heartbeat_seconds", "pattern", "listen", "name"];
        let check = |unknown: &str, expected: Option<&str>| {
            assert_eq!(nearest(unknown, known), expected, "{unknown}");
        };
        check("pattren", Some("pattern"));
        check("Pattern", Some("pattern"));
        check("heartbeat", None);
        check("heartbeat-seconds", Some("heartbeat_seconds"));
        check("lisen", Some("listen"));
        check("nam", Some("name"));
        check("colour", None);
        check("", None);
    }
}
