//! The `device-sim` program.

fn main() {}
