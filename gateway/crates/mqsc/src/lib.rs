//! The MQSC command language: parse, resolve against attribute tables, print.
//!
//! A script goes through three stages that know as little as they can: `source` joins lines to commands, `parse`
//! knows words, quotation marks and parentheses, `resolve` knows the tables. What comes out, [`Command`], holds only
//! values that fit; what an object *is*, and whether it exists, is for the queue manager to say. Its answer, an
//! [`Outcome`], is printed here as runmqsc prints it.
//!
//! A new attribute is a row in `table/`, a new object a kind with its rows and a noun, a new verb a line in `verb.rs`
//! and a variant of [`Command`].

mod amq;
mod attributes;
mod command;
mod error;
mod kind;
mod outcome;
mod parse;
mod print;
mod resolve;
mod script;
mod source;
mod table;
mod value;
mod verb;
mod words;

pub use amq::{Amq, Severity};
pub use attributes::Attributes;
pub use command::{Alter, Command, Define, Delete, Display, Name, Pattern, Show};
pub use error::{Mistake, SyntaxError};
pub use kind::{Kinds, ObjectKind};
pub use outcome::{DisplayedObject, Outcome, Refusal};
pub use print::{definition, print_object, print_outcome};
pub use script::{Located, Script, read_command, read_script};
pub use source::Place;
pub use table::{Effect, Row, ValueType, row, row_by_selector, rows};
pub use value::{Value, ValueError};
pub use verb::Verb;
pub use words::{Attribute, Keyword};
