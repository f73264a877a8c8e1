//! Columns for people: as wide as needed, numbers to the right.

use std::fmt::Write;

use jiff::Timestamp;

/// Lays rows out below a heading. Columns whose rows are all numbers go to the right.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let columns = heading.len();
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let width = |column: usize| {
        let widest = rows.iter().map(|row| cell(row, column).chars().count()).max();
        widest.unwrap_or(0).max(heading[column].chars().count())
    };
    let numbers: Vec<bool> = (0..columns)
        .map(|column| !rows.is_empty() && rows.iter().all(|row| cell(row, column).parse::<u64>().is_ok()))
        .collect();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let heading: Vec<String> = heading.iter().map(|word| (*word).to_owned()).collect();
    let mut out = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = String::new();
        for (column, width) in widths.iter().enumerate() {
            let text = cell(row, column);
            // A String takes everything that is written to it.
            let _ = if numbers[column] {
                write!(line, "{text:>width$}  ")
            } else {
                write!(line, "{text:<width$}  ")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Milliseconds since 1970 as a time; none if that is none.
pub(super) fn time(ms: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()
}

/// A number of bytes for people.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut tenths = u128::from(count) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let rows = [vec!["A".to_owned(), "7".to_owned()], vec!["LONGER".to_owned(), "1000".to_owned()]];
        assert_eq!(table(&["NAME", "DEPTH"], &rows), "NAME    DEPTH\nA           7\nLONGER   1000\n");
        assert_eq!(table(&["NAME"], &[]), "NAME\n");
    }

    #[test]
    fn sizes() {
        let check = |count, expected: &str| assert_eq!(bytes(count), expected);
        check(0, "0 B");
        check(1023, "1023 B");
        check(1536, "1.5 KiB");
        check(64 << 20, "64.0 MiB");
        check(u64::MAX, "16777215.9 TiB");
    }
}
