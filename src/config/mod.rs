//! Settings: where the project is, what its file says, and where each value came from.

mod duration;
mod error;
mod keys;
mod layers;
pub mod project;
mod settings;
pub mod trust;

pub use duration::{parse as parse_duration, show as show_duration};
pub use error::ConfigError;
pub use keys::{KEYS, Key, example};
pub use layers::{Layers, Sourced};
pub use project::Project;
pub use settings::{Backend, Launch, ReviewRoute, Settings, Silence};
