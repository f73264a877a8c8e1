//! From words to a command: the tables say what is allowed. All that is wrong with a command is found, not only the
//! first.

use mq_wire::{NameError, ObjectName};

use crate::attributes::Attributes;
use crate::command::{Alter, Command, Define, Delete, Display, Name, Pattern, Show};
use crate::error::Mistake;
use crate::kind::{Kinds, ObjectKind, channel_type, queue_type};
use crate::parse::{At, Parameter, Word};
use crate::table::{ValueType, group, row};
use crate::value::{Value, ValueError};
use crate::verb::{Noun, Verb};
use crate::words::Attribute;

/// The command that these words are.
pub(crate) fn resolve(parameters: &[Parameter]) -> Result<Command, Vec<At>> {
    let command = Resolver { mistakes: Vec::new(), seen: Vec::new() };
    command.command(parameters)
}

struct Resolver {
    mistakes: Vec<At>,
    /// The words that have been given, in the form that both of a pair share.
    seen: Vec<String>,
}

/// Ends a command early: what is wrong is among the mistakes.
struct Hopeless;

impl Resolver {
    fn command(mut self, parameters: &[Parameter]) -> Result<Command, Vec<At>> {
        match self.verb(parameters) {
            Ok(command) if self.mistakes.is_empty() => Ok(command),
            Ok(_) | Err(Hopeless) => Err(self.mistakes),
        }
    }

    fn wrong(&mut self, at: &Word, mistake: Mistake) {
        self.mistakes.push((at.offset, mistake));
    }

    fn hopeless<T>(&mut self, at: &Word, mistake: Mistake) -> Result<T, Hopeless> {
        self.wrong(at, mistake);
        Err(Hopeless)
    }

    fn verb(&mut self, parameters: &[Parameter]) -> Result<Command, Hopeless> {
        let Some((first, rest)) = parameters.split_first() else {
            self.mistakes.push((0, Mistake::EndOfInput));
            return Err(Hopeless);
        };
        let word = &first.keyword;
        let Some(verb) = Verb::from_word(&word.value()).filter(|_| first.values.is_none()) else {
            return self.hopeless(word, Mistake::Verb { word: word.text.clone() });
        };
        if verb == Verb::End {
            if let Some(stray) = rest.first() {
                self.wrong(&stray.keyword, Mistake::Stray { word: stray.keyword.text.clone() });
            }
            return Ok(Command::End);
        }
        let Some((object, rest)) = rest.split_first() else {
            return self.hopeless(word, Mistake::NounMissing { verb });
        };
        let Some(noun) = Noun::from_word(&object.keyword.value()).filter(|noun| noun.verbs.contains(&verb))
        else {
            return self.hopeless(&object.keyword, Mistake::Noun { verb, word: object.keyword.text.clone() });
        };
        if noun.kinds.is_empty() {
            return self.not_supported(verb, noun.word, word);
        }
        match verb {
            Verb::Define => self.define(noun, object, rest),
            Verb::Alter => self.alter(noun, object, rest),
            Verb::Delete => self.delete(noun, object, rest),
            Verb::Display => self.display(noun, object, rest),
            _ => self.not_supported(verb, noun.word, word),
        }
    }

    fn not_supported<T>(&mut self, verb: Verb, what: &str, at: &Word) -> Result<T, Hopeless> {
        self.hopeless(at, Mistake::NotSupported { verb, what: what.to_owned() })
    }

    fn define(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<Command, Hopeless> {
        let name = self.name_behind(noun, object, rest)?;
        let (kind, rest) = self.kind(Verb::Define, noun, object, rest)?;
        let (mut like, mut replace, mut attributes) = (None, false, Attributes::new());
        for parameter in rest {
            match parameter.keyword.value().as_str() {
                "REPLACE" => replace = self.option(parameter, "REPLACE"),
                "NOREPLACE" => _ = self.option(parameter, "REPLACE"),
                "LIKE" => {
                    self.once(&parameter.keyword, "LIKE");
                    like = Some(self.name_in(noun, parameter));
                }
                _ => self.attribute(Verb::Define, kind, parameter, &mut attributes),
            }
        }
        Ok(Command::Define(Define { kind, name, like, replace, attributes }))
    }

    fn alter(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<Command, Hopeless> {
        let name = self.name_behind(noun, object, rest)?;
        let (kind, rest) = self.kind(Verb::Alter, noun, object, rest)?;
        let (mut force, mut attributes) = (false, Attributes::new());
        for parameter in rest {
            match parameter.keyword.value().as_str() {
                "FORCE" if !kind.is_channel() => force = self.option(parameter, "FORCE"),
                _ => self.attribute(Verb::Alter, kind, parameter, &mut attributes),
            }
        }
        Ok(Command::Alter(Alter { kind, name, force, attributes }))
    }

    fn delete(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<Command, Hopeless> {
        let name = self.name_behind(noun, object, rest)?;
        let (local, channel) = (
            noun.kinds.contains(ObjectKind::LocalQueue),
            noun.kinds.single().is_some_and(ObjectKind::is_channel),
        );
        let mut purge = false;
        for parameter in rest {
            let word = &parameter.keyword;
            match word.value().as_str() {
                "PURGE" if local => purge = self.option(parameter, "PURGE"),
                "NOPURGE" if local => _ = self.option(parameter, "PURGE"),
                "CHLTABLE" if channel => match self.one_word(parameter)?.as_str() {
                    "QMGRTBL" => self.once(word, "CHLTABLE"),
                    "CLNTTBL" => return self.not_supported(Verb::Delete, "CHANNEL CHLTABLE(CLNTTBL)", word),
                    other => self.not_choice(word, other, "QMGRTBL, CLNTTBL"),
                },
                _ => self.wrong(word, Mistake::Unknown { verb: Verb::Delete, word: word.text.clone() }),
            }
        }
        Ok(Command::Delete(Delete { kinds: noun.kinds, name, purge }))
    }

    fn display(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<Command, Hopeless> {
        let pattern = self.pattern(noun, object, rest)?;
        let mut kinds = noun.kinds;
        let (mut all, mut listed) = (false, Vec::new());
        for parameter in rest {
            let word = &parameter.keyword;
            match word.value().as_str() {
                "ALL" => all = self.option(parameter, "ALL"),
                "WHERE" => return self.not_supported(Verb::Display, &format!("{} WHERE", noun.word), word),
                // Name and type are shown always; a value selects the type.
                "QMNAME" | "QUEUE" | "CHANNEL" if identifies(kinds, &word.value()) => self.bare(parameter),
                "TYPE" | "QTYPE" if noun.kinds.iter().all(ObjectKind::is_queue) => {
                    self.once(word, "TYPE");
                    if parameter.values.is_some() {
                        let value = self.one_word(parameter)?;
                        match queue_type(&value) {
                            Some(kind) => kinds = kind,
                            None => self.not_choice(word, &value, "QLOCAL, QMODEL, QALIAS, QREMOTE, ALL"),
                        }
                    }
                }
                "CHLTYPE" if noun.kinds.iter().all(ObjectKind::is_channel) => {
                    self.once(word, "CHLTYPE");
                    if parameter.values.is_some() {
                        kinds = Kinds::of(&[self.channel_type(Verb::Display, parameter)?]);
                    }
                }
                other => self.listed(noun.kinds, parameter, other, &mut listed),
            }
        }
        let show = match pattern {
            _ if all => Show::All,
            _ if !listed.is_empty() => Show::Listed(listed),
            Pattern::Generic(_) if !kinds.contains(ObjectKind::QueueManager) => Show::Identity,
            _ => Show::All,
        };
        Ok(Command::Display(Display { kinds, pattern, show }))
    }

    /// An attribute to show, or a word that stands for several.
    fn listed(&mut self, kinds: Kinds, parameter: &Parameter, word: &str, listed: &mut Vec<Attribute>) {
        self.bare(parameter);
        self.once(&parameter.keyword, word);
        if let Some(attributes) = kinds.iter().find_map(|kind| group(kind, word)) {
            listed.extend(attributes);
            return;
        }
        let attribute =
            Attribute::spelt(word).filter(|(_, positive)| *positive).map(|(attribute, _)| attribute);
        match attribute {
            Some(attribute) if kinds.iter().any(|kind| row(kind, attribute).is_some()) => {
                listed.push(attribute);
            }
            _ => {
                let mistake = Mistake::Unknown { verb: Verb::Display, word: parameter.keyword.text.clone() };
                self.wrong(&parameter.keyword, mistake);
            }
        }
    }

    /// An attribute with its value.
    fn attribute(&mut self, verb: Verb, kind: ObjectKind, parameter: &Parameter, into: &mut Attributes) {
        let keyword = &parameter.keyword;
        let word = keyword.value();
        let Some((attribute, positive)) = Attribute::spelt(&word) else {
            return self.wrong(keyword, Mistake::Unknown { verb, word: keyword.text.clone() });
        };
        let Some(row) = row(kind, attribute) else {
            return self.wrong(keyword, Mistake::NotOfKind { word, kind });
        };
        if !row.allows(verb) {
            return self.wrong(keyword, Mistake::ReadOnly { word });
        }
        self.once(keyword, attribute.word());
        let value = match (row.values(), &parameter.values) {
            (ValueType::Flag, None) => Ok(Value::Flag(positive)),
            (ValueType::Flag, Some(_)) => return self.bare(parameter),
            _ if !positive => {
                return self.wrong(keyword, Mistake::Unknown { verb, word: keyword.text.clone() });
            }
            (_, None) => return self.wrong(keyword, Mistake::ValueMissing { word }),
            (_, Some(words)) => row.read(words),
        };
        match value {
            Ok(value) => into.set(attribute, value),
            Err(source) => self.wrong(keyword, Mistake::Value { word, source }),
        }
    }

    /// The kind of object; for channels it stands directly behind the name.
    fn kind<'a>(
        &mut self,
        verb: Verb,
        noun: &Noun,
        object: &Parameter,
        rest: &'a [Parameter],
    ) -> Result<(ObjectKind, &'a [Parameter]), Hopeless> {
        if noun.kinds == Kinds::CHANNELS {
            let Some((parameter, rest)) =
                rest.split_first().filter(|(first, _)| first.keyword.value() == "CHLTYPE")
            else {
                let word = rest.first().map_or(&object.keyword, |next| &next.keyword);
                return self.hopeless(word, Mistake::TypeMissing { word: word.text.clone() });
            };
            return Ok((self.channel_type(verb, parameter)?, rest));
        }
        match noun.kinds.single() {
            Some(kind) => Ok((kind, rest)),
            None => self.hopeless(&object.keyword, Mistake::Noun { verb, word: object.keyword.text.clone() }),
        }
    }

    fn channel_type(&mut self, verb: Verb, parameter: &Parameter) -> Result<ObjectKind, Hopeless> {
        let value = self.one_word(parameter)?;
        match channel_type(&value) {
            Some(Some(kind)) => Ok(kind),
            Some(None) => self.not_supported(verb, &format!("CHANNEL CHLTYPE({value})"), &parameter.keyword),
            None => {
                self.not_choice(&parameter.keyword, &value, "SVRCONN");
                Err(Hopeless)
            }
        }
    }

    /// The name of the object behind its noun; blank if the noun has none.
    fn name_behind(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<Name, Hopeless> {
        if noun.name_length_max == 0 {
            self.bare(object);
            return Ok(Name::BLANK);
        }
        self.needs_name(noun, object, rest)?;
        Ok(self.name_in(noun, object))
    }

    fn needs_name(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<(), Hopeless> {
        let blamed = match &object.values {
            None => rest.first().map_or(&object.keyword, |next| &next.keyword),
            Some(values) if values.iter().all(|value| value.text.trim().is_empty()) => &object.keyword,
            Some(_) => return Ok(()),
        };
        self.hopeless(blamed, Mistake::NameMissing { noun: noun.word, word: blamed.text.clone() })
    }

    /// The one name between the parentheses; a mistake is noted.
    fn name_in(&mut self, noun: &Noun, parameter: &Parameter) -> Name {
        let Some(word) = self.one(parameter) else { return Name::BLANK };
        match checked_name(&word.value(), noun.name_length_max) {
            Ok(name) => name,
            Err(source) => {
                self.wrong(word, Mistake::Name { name: word.text.clone(), source });
                Name::BLANK
            }
        }
    }

    fn pattern(&mut self, noun: &Noun, object: &Parameter, rest: &[Parameter]) -> Result<Pattern, Hopeless> {
        if noun.name_length_max == 0 {
            self.bare(object);
            return Ok(Pattern::ALL);
        }
        self.needs_name(noun, object, rest)?;
        let Some(word) = self.one(object) else { return Err(Hopeless) };
        let text = word.value();
        let Some(beginning) = text.strip_suffix('*') else {
            return Ok(Pattern::Specific(self.name_in(noun, object)));
        };
        if beginning.is_empty() {
            return Ok(Pattern::ALL);
        }
        match checked_name(beginning, noun.name_length_max) {
            Ok(name) => Ok(Pattern::Generic(name)),
            Err(NameError::Character { found: '*' | '?' | ':', .. }) => {
                self.hopeless(word, Mistake::Generic { name: word.text.clone() })
            }
            Err(source) => self.hopeless(word, Mistake::Name { name: word.text.clone(), source }),
        }
    }

    /// The only value of a parameter; a mistake is noted if there is none or more.
    fn one<'a>(&mut self, parameter: &'a Parameter) -> Option<&'a Word> {
        let keyword = &parameter.keyword;
        let word = keyword.text.clone();
        match parameter.values.as_deref() {
            Some([value]) => return Some(value),
            None => self.wrong(keyword, Mistake::ValueMissing { word }),
            Some([]) => self.wrong(keyword, Mistake::Value { word, source: ValueError::Empty }),
            Some(several) => {
                let value: Vec<_> = several.iter().map(Word::value).collect();
                let source = ValueError::TooMany { value: value.join(","), found: several.len(), max: 1 };
                self.wrong(keyword, Mistake::Value { word, source });
            }
        }
        None
    }

    fn one_word(&mut self, parameter: &Parameter) -> Result<String, Hopeless> {
        self.one(parameter).map(Word::value).ok_or(Hopeless)
    }

    fn not_choice(&mut self, keyword: &Word, value: &str, allowed: &str) {
        let source = ValueError::NotChoice { value: value.to_owned(), allowed: allowed.to_owned() };
        self.wrong(keyword, Mistake::Value { word: keyword.value(), source });
    }

    /// A word without value, of which both forms of a pair share the key. Always true, for who wants to keep that.
    fn option(&mut self, parameter: &Parameter, key: &str) -> bool {
        self.bare(parameter);
        self.once(&parameter.keyword, key);
        true
    }

    fn bare(&mut self, parameter: &Parameter) {
        if let Some(values) = &parameter.values {
            let value: Vec<_> = values.iter().map(Word::value).collect();
            let mistake = Mistake::BareWord { word: parameter.keyword.value(), value: value.join(",") };
            self.wrong(&parameter.keyword, mistake);
        }
    }

    fn once(&mut self, keyword: &Word, key: &str) {
        if self.seen.iter().any(|seen| seen == key) {
            self.wrong(keyword, Mistake::Duplicate { word: keyword.value() });
        } else {
            self.seen.push(key.to_owned());
        }
    }
}

fn checked_name(text: &str, length_max: usize) -> Result<Name, NameError> {
    let text = text.trim_end_matches(' ');
    let name = ObjectName::new(text)?;
    if text.len() > length_max {
        return Err(NameError::TooLong { name: text.to_owned(), max: length_max });
    }
    Ok(Name::checked(name))
}

fn identifies(kinds: Kinds, word: &str) -> bool {
    kinds.iter().any(|kind| kind.name_word() == word)
}
