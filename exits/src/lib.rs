//! Channel exits: traits, chain, registry and the shipped exits.
