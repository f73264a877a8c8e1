//! End-to-end, crash, interoperability and tidy tests; benches that need several parts.
