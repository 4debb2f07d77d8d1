//! The boundary to agent runtimes: guard, approvals, provider hooks, runtime reports, agent context and usage.

pub mod agent_context;
pub mod approval;
mod claimant_over;
pub mod context_sections;
pub mod guard;
pub mod hook;
pub mod runtime;
pub mod structured_session;
pub mod usage;
