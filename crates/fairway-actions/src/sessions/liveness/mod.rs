//! Whether a session is alive: facts from the system and its backend, the judgement, and its entry in the store.

pub mod apply;
pub mod backend_probe;
pub mod check_exited;
pub mod dead;
pub mod facts;
pub mod record_exit;
pub mod silence;
