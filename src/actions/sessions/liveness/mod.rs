//! TODO-DOC actions::sessions::liveness

pub mod backend_probe;
pub mod check_exited;
pub mod facts;
pub mod record_exit;
