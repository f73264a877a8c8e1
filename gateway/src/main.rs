//! The `mqe-gateway` program: the gateway with the shipped exits. A program with exits of its own looks the same and
//! adds them to the builder.

use std::process::ExitCode;

use mqe_gateway::Gateway;

/// Gives memory back to the system after a start has read a large store (ARCHITECTURE.md). A program of one's own may
/// name it too.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    Gateway::builder().run_from_args()
}
