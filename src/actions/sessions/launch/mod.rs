//! TODO-DOC actions::sessions::launch

pub(crate) mod confirm;
pub(crate) mod intent;
pub(crate) mod last_output;
pub mod plan;
pub(crate) mod post_start;
pub mod program;
pub(crate) mod rollback;
pub mod start;
