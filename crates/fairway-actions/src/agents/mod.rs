//! The requests and reports of agents: guard, approvals, provider hooks, runtime reports, context and usage; and the providers.

pub mod agent_context;
pub mod approval;
mod claimant_over;
pub mod context_sections;
pub mod decisions;
pub mod guard;
pub mod hook;
pub mod permission_canary;
pub mod providers;
pub mod runtime;
pub mod structured_session;
pub mod usage;
