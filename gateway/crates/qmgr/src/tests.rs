//! Tests of the whole machine: events in, effects out, over a store in memory that restarts.

mod any_put;
mod attributes;
mod browsing;
mod changes;
mod clearing;
mod commands;
mod dynamic;
mod files;
mod groups;
mod harness;
mod ledger;
mod locks;
mod messages;
mod model;
mod opening;
mod owner;
mod puts;
mod read_first;
mod reports;
mod resolution;
mod restart;
mod room;
mod selectors;
mod units;
mod waits;
