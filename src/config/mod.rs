//! Settings: where the project is, what its file says, and where each value came from.

mod backend;
mod boundary;
mod duration;
mod error;
mod exec;
mod guard;
mod keys;
mod launch;
mod layers;
pub mod project;
mod settings;
pub mod trust;

pub use backend::{Backend, Setup};
pub use boundary::Boundary;
pub use duration::{parse as parse_duration, show as show_duration};
pub use error::ConfigError;
pub use exec::{Exec, size as parse_size};
pub use keys::{KEYS, Key, example};
pub use launch::{Launch, Program};
pub use layers::{Layers, Sourced, local_file};
pub use project::{CONFIG_FILE, Project};
pub use settings::{ReviewRoute, Settings, Silence};
