//! Reports of agent runtimes about their sessions. A report changes what is known of the session; it never claims, finishes,
//! approves or merges a task.

pub mod context;
pub mod health;
pub mod lifecycle;

pub use crate::core::lookup::session_of_run;
pub use crate::sessions::report::context_threshold::report_context_usage;
