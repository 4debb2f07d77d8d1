//! The conformance suite of the exec session protocol, for any backend script. Each group of probes has its file. All groups
//! share a [`Harness`](harness::Harness): a private directory for their sessions, of which nothing is left afterwards.

mod attach;
mod call_result;
mod environment;
mod exit_codes;
mod forge;
mod harness;
mod input;
mod lifecycle;
mod meta;
mod name_isolation;
mod operations;
mod peek;
mod probe_session;
mod process_cleanup;
mod queries;
mod start_options;
mod suite;
mod supported_operations;

pub use forge::check_forge;
pub use operations::OPERATIONS;
pub use suite::run;
