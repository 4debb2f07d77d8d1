//! The nouns, their states and the rules between them: no IO, no clock, no SQL. `rules` decides from facts that others
//! bring.

pub mod actor;
pub mod approval;
pub mod branch;
pub mod checkpoint;
pub mod claim;
pub mod closed_set;
pub mod event;
pub mod evidence;
pub mod finding;
pub mod handoff;
pub mod id;
pub mod keys;
pub mod lane;
pub mod lifecycle;
pub mod message;
pub mod modes;
pub mod output;
pub mod provider_event;
pub mod refusal;
pub mod review;
pub mod rules;
pub mod run;
pub mod screen;
pub mod secrets;
pub mod session;
pub mod task;
pub mod text;
pub mod typed;
pub mod usage;
pub mod watch;

pub use actor::Actor;
pub use event::{Event, Kind};
pub use id::{LaneName, Role, SessionId, TaskId};
pub use refusal::Refusal;
