//! The contract suite of the exec session protocol, for any script. Each group of probes has its file; they share a bench:
//! a private directory in which sessions are started and from which nothing is left.

mod attach;
mod call_result;
mod environment;
mod exit_codes;
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

pub use operations::OPERATIONS;
pub use suite::run;
