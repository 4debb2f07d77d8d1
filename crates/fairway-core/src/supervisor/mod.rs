//! The supervisor of one job (a background command) and the files in the job's directory. It does not use the store: it
//! reports all events to a [`Sink`].

mod child;
pub mod control_socket;
pub mod host;
mod input_queue;
pub mod job_dir;
mod journal;
pub mod output_files;
pub mod output_recorder;
pub mod sink;
pub mod state_machine;
pub mod supervise;
pub mod watchers;

pub use job_dir::JobDir;
pub use output_recorder::OutputRecorder;
pub use sink::{Sink, SinkError};
pub use watchers::{WatchEvent, Watchers};
