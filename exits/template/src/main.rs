//! A gateway as it is shipped, with two additions that its configuration can name.

use std::process::ExitCode;
use std::sync::Arc;

use my_gateway::{PutTimeLimit, SmallHours};

fn main() -> ExitCode {
    mqe_gateway::Gateway::builder()
        .exit(PutTimeLimit::KIND, |config| Ok(Arc::new(PutTimeLimit::from_data(&config.data)?)))
        .rule(SmallHours::KIND, |data| Ok(Arc::new(SmallHours::from_data(data)?)))
        .run_from_args()
}
