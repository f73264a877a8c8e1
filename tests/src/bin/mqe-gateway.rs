//! The `mqe-gateway` program as the tests start it: cargo builds no programs of other packages for a test.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    mqe_gateway::Gateway::builder().run_from_args()
}
