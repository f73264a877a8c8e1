//! A gateway with one more kind of exit: `kind = "uppercase-queue"` in its configuration. All else is as in the
//! gateway that is shipped.

use std::process::ExitCode;
use std::sync::Arc;

use example_exit::UppercaseQueue;

fn main() -> ExitCode {
    mqe_gateway::Gateway::builder()
        .exit(UppercaseQueue::KIND, |config| Ok(Arc::new(UppercaseQueue::from_data(&config.data)?)))
        .run_from_args()
}
