//! The user data string of an exit as options: `sep=% prefix=DEV only_if_qmgr="GATE1|GATE2"`.
//!
//! Options are separated by blanks or commas; a value with one of these stands in double quotes. An exit may
//! interpret its data string as it likes; this is the form that the shipped ones share.

use crate::ExitError;

/// Options that have not been taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataOptions {
    pairs: Vec<(String, String)>,
}

impl DataOptions {
    /// Reads a data string.
    pub fn parse(data: &str) -> Result<Self, ExitError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut rest = data.trim_start_matches(is_separator);
        while !rest.is_empty() {
            let Some((option, after)) = rest.split_once('=').filter(|(o, _)| !o.contains(is_separator))
            else {
                let word = rest.split(is_separator).next().unwrap_or(rest);
                return Err(ExitError::option(word, "is not followed by = and a value"));
            };
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted
                    .split_once('"')
                    .filter(|(_, after)| after.is_empty() || after.starts_with(is_separator))
                    .ok_or_else(|| ExitError::option(option, "the quotes do not end with the value"))?,
                None => after.split_at(after.find(is_separator).unwrap_or(after.len())),
            };
            if pairs.iter().any(|(known, _)| known == option) {
                return Err(ExitError::option(option, "is given twice"));
            }
            pairs.push((option.to_owned(), value.to_owned()));
            rest = after.trim_start_matches(is_separator);
        }
        Ok(Self { pairs })
    }

    /// The value of an option, if it is there; it is taken away.
    pub fn take(&mut self, option: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(known, _)| known == option)?;
        Some(self.pairs.remove(at).1)
    }

    /// The number that an option gives, if it is there.
    pub fn take_number(&mut self, option: &str, min: u64, max: u64) -> Result<Option<u64>, ExitError> {
        let Some(value) = self.take(option) else { return Ok(None) };
        let number = value.parse().ok().filter(|number| (min..=max).contains(number));
        number
            .map(Some)
            .ok_or_else(|| ExitError::option(option, format!("must be a number from {min} to {max}")))
    }

    /// The choice that an option makes among words, or the first one.
    pub fn take_choice<T: Copy>(&mut self, option: &str, choices: &[(&str, T)]) -> Result<T, ExitError> {
        let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let chosen = match self.take(option) {
            None => choices.first(),
            Some(value) => choices.iter().find(|(word, _)| *word == value),
        };
        chosen
            .map(|(_, choice)| *choice)
            .ok_or_else(|| ExitError::option(option, format!("must be one of {}", words())))
    }

    /// To be called when all known options are taken: what is left is not known.
    pub fn finish(self, known: &[&str]) -> Result<(), ExitError> {
        match self.pairs.into_iter().next() {
            None => Ok(()),
            Some((option, _)) => {
                Err(ExitError::option(option, format!("is not known; known are {}", known.join(", "))))
            }
        }
    }
}

fn is_separator(c: char) -> bool {
    c == ',' || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(data: &str) -> Result<Vec<(String, String)>, String> {
        DataOptions::parse(data).map(|options| options.pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn pairs_with_blanks_commas_and_quotes() {
        let pair = |option: &str, value: &str| (option.to_owned(), value.to_owned());
        assert_eq!(pairs(""), Ok(vec![]));
        assert_eq!(
            pairs(" sep=%,prefix=  text=\"a, b\" x=1=2"),
            Ok(vec![pair("sep", "%"), pair("prefix", ""), pair("text", "a, b"), pair("x", "1=2")])
        );
    }

    #[test]
    fn mistakes_name_the_option() {
        let wrong = |data: &str| pairs(data).unwrap_err();
        assert_eq!(wrong("sep"), "option sep of the exit's data: is not followed by = and a value");
        assert_eq!(wrong("fast sep=%"), "option fast of the exit's data: is not followed by = and a value");
        assert_eq!(wrong("a=1 a=2"), "option a of the exit's data: is given twice");
        assert_eq!(wrong("a=\"1"), "option a of the exit's data: the quotes do not end with the value");
        assert_eq!(wrong("a=\"1\"2"), "option a of the exit's data: the quotes do not end with the value");
    }

    #[test]
    fn a_choice_defaults_to_the_first() {
        let mut options = DataOptions::parse("b=two c=three").unwrap();
        let choices = [("one", 1), ("two", 2)];
        assert_eq!(options.take_choice("a", &choices).unwrap(), 1);
        assert_eq!(options.take_choice("b", &choices).unwrap(), 2);
        let error = options.take_choice("c", &choices).unwrap_err().to_string();
        assert_eq!(error, "option c of the exit's data: must be one of one, two");
    }
}
