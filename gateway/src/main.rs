//! The `mqe-gateway` program.

fn main() {}
