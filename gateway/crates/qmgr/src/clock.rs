//! Dates as MQ writes them, from milliseconds since 1970. Reads no clock.

use mq_wire::Chars;

/// A moment in parts, GMT.
struct Parts {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    hundredth: u64,
}

/// The civil date of a moment. Counts from 1 March, so that the leap day is the last of its year, in cycles of 400
/// years, which all have 146,097 days.
fn parts(wall_ms: u64) -> Parts {
    let (days, ms) = (wall_ms / 86_400_000, wall_ms % 86_400_000);
    // 719,468 days from 0000-03-01 to 1970-01-01.
    let days = days + 719_468;
    let (cycle, day_of_cycle) = (days / 146_097, days % 146_097);
    // Days of the cycle without the leap days before them: one each 1,461 days, but not each 36,524.
    let leap_days = day_of_cycle / 1_460 + day_of_cycle / 146_096 - day_of_cycle / 36_524;
    let year_of_cycle = (day_of_cycle - leap_days) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    // From March on the months have 31, 30, 31, 30, 31 days over and over: 153 days each five.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    Parts {
        year: 400 * cycle + year_of_cycle + u64::from(month <= 2),
        month,
        day,
        hour: ms / 3_600_000,
        minute: ms / 60_000 % 60,
        second: ms / 1_000 % 60,
        hundredth: ms / 10 % 100,
    }
}

/// PutDate and PutTime: `YYYYMMDD` and `HHMMSSTH`, GMT (mq-objects.md 1.2).
pub fn put_date_time(wall_ms: u64) -> (Chars<8>, Chars<8>) {
    let Parts { year, month, day, hour, minute, second, hundredth } = parts(wall_ms);
    let date = format!("{year:04}{month:02}{day:02}");
    (Chars::cut(&date), Chars::cut(&format!("{hour:02}{minute:02}{second:02}{hundredth:02}")))
}

/// Dates of definitions: `YYYY-MM-DD` and `HH.MM.SS` (mq-objects.md 3.2).
pub(crate) fn definition_date_time(wall_ms: u64) -> (String, String) {
    let Parts { year, month, day, hour, minute, second, .. } = parts(wall_ms);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}.{minute:02}.{second:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let check = |wall_ms: u64, date: &str, time: &str| {
            let (put_date, put_time) = put_date_time(wall_ms);
            assert_eq!((put_date.text(), put_time.text()), (date.to_owned(), time.to_owned()), "{wall_ms}");
        };
        check(0, "19700101", "00000000");
        check(86_399_999, "19700101", "23595999");
        check(951_782_400_000, "20000229", "00000000");
        check(951_868_800_000, "20000301", "00000000");
        check(1_709_164_800_000, "20240229", "00000000");
        check(1_735_689_599_990, "20241231", "23595999");
        check(1_735_689_600_000, "20250101", "00000000");
        check(4_107_542_400_000, "21000301", "00000000");
        assert_eq!(definition_date_time(951_782_400_000), ("2000-02-29".to_owned(), "00.00.00".to_owned()));
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let mut last = String::new();
        for day in 0..60_000_u64 {
            let (date, _) = put_date_time(day * 86_400_000);
            assert!(date.text() > last, "{date} after {last}");
            last = date.text();
        }
    }
}
