//! Sessions: launch, control, liveness, reports, prompts and the sidecar.

mod adapter_endpoint;
pub mod control;
pub mod find_by_run;
mod finish;
pub mod launch;
pub mod list;
pub mod liveness;
pub mod prompt;
pub mod report;
pub mod sidecar;

pub use finish::finish;
