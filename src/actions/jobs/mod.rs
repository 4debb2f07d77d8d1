//! Background jobs: spawn, schedule, supervise, read, control, notify, recover and delete.

pub mod event;
pub mod find;
pub mod finish;
pub mod foreground;
pub mod gc;
pub mod kill;
pub mod list;
pub mod log;
mod notification_format;
pub mod notify;
pub mod orphan_processes;
pub mod output;
pub mod output_decoder;
mod own_process;
pub mod poll;
pub mod queue_waiter;
pub mod recover;
pub mod request;
pub mod rm;
mod sandboxed;
pub mod scheduler;
pub mod send_keys;
pub mod spawn;
pub mod supervision;
pub mod supervisor_process;
pub mod wait;
pub mod worker;
