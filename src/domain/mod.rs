//! The nouns, their states and the rules between them: no IO, no clock, no SQL. `rules` decides from facts that others
//! bring.

pub mod actor;
pub mod age;
pub mod ansi;
pub mod approval;
pub mod blocker;
pub mod branch_name;
pub mod checkpoint;
pub mod claim;
pub mod event;
pub mod evidence;
pub mod excerpt;
pub mod finding;
pub mod handoff;
pub mod hidden_text;
pub mod id;
pub mod invalid_value;
pub mod job;
pub mod job_output;
pub mod lane;
pub mod lifecycle;
pub mod message;
pub mod need;
pub mod not_ready;
pub mod prompt_wait;
pub mod provider_event;
pub mod quote;
pub mod refusal;
pub mod review;
pub mod rules;
pub mod secrets;
pub mod session;
pub mod session_facts;
pub mod status;
pub mod string_enum;
pub mod task;
pub mod terminal_input;
pub mod terminal_keys;
pub mod terminal_modes;
pub mod text_limits;
pub mod usage;
pub mod watcher;

pub use actor::Actor;
pub use event::{Event, EventKind, EventKindPattern};
pub use id::{LaneName, PersonName, Role, RoutingKey, SessionId, TaskId};
pub use refusal::Refusal;
