//! Background runs: the supervisor of one command, and what it keeps in the run's folder. Knows no store: what happens is
//! told to a [`Sink`].

mod book;
mod child;
pub mod door;
pub mod folder;
pub mod machine;
pub mod recorder;
pub mod segments;
pub mod sink;
pub mod supervisor;
mod typing;
pub mod watching;

pub use folder::RunFolder;
pub use recorder::Recorder;
pub use sink::{Sink, SinkError};
pub use watching::{Noticed, Watching};
