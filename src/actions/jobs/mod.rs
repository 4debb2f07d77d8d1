//! What is done with background runs.

pub mod cleanup;
pub mod event;
pub mod find;
pub mod finish;
pub mod foreground;
pub mod gc;
mod job_waiter;
pub mod kill;
mod launch_supervisor;
pub mod list;
pub mod log;
mod notification_format;
pub mod notify;
pub mod orphan_processes;
pub mod output_decoder;
pub mod poll;
pub mod queue_waiter;
pub mod recover;
pub mod request;
pub mod rm;
pub mod scheduler;
pub mod send_keys;
pub mod spawn;
pub mod supervise;
pub mod view;
pub mod wait;
pub mod worker;
