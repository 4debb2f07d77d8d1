//! TODO-DOC actions::boundary

pub mod agent_context;
pub mod approval;
pub mod guard;
pub mod hook;
pub mod runtime;
pub mod usage;
