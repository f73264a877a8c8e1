//! End-to-end, crash, interoperability and tidy tests; benches that need several parts. The library holds what the
//! tests share; what is tested is in `tests/`.

pub mod tidy;
