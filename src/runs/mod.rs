//! Background runs: the supervisor of one command, and what it keeps in the run's folder. Knows no store: what happens is
//! told to a [`Sink`].

mod child;
pub mod folder;
pub mod machine;
pub mod sink;
pub mod watching;

pub use folder::RunFolder;
pub use sink::{Sink, SinkError};
pub use watching::{Noticed, Watching};
