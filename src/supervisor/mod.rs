//! Background runs: the supervisor of one command, and what it keeps in the run's directory. Knows no store: what happens is
//! told to a [`Sink`].

mod child;
pub mod control_socket;
pub mod host;
mod input_queue;
pub mod job_dir;
mod journal;
pub mod output_recorder;
pub mod segments;
pub mod sink;
pub mod state_machine;
pub mod supervise;
pub mod watchers;

pub use job_dir::JobDir;
pub use output_recorder::OutputRecorder;
pub use sink::{Sink, SinkError};
pub use watchers::{WatchEvent, Watchers};
