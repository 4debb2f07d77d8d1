//! Background runs: the supervisor of one command, and what it keeps in the run's folder. Knows no store: what happens is
//! told to a [`Sink`].

pub mod folder;
pub mod recorder;
pub mod segments;
pub mod sink;
pub mod watching;

pub use folder::RunFolder;
pub use recorder::Recorder;
pub use sink::{Sink, SinkError};
pub use watching::{Noticed, Watching};
