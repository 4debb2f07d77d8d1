//! The exec session protocol: locate a backend script, call it with a deadline, classify its result. `plumbing` has the
//! commands that scripts call, `conformance` the suite that checks a script.

pub mod builtin_scripts;
mod call;
mod capabilities;
pub mod conformance;
mod environment;
mod error;
pub mod forge;
pub mod list;
mod operations;
pub mod plumbing;
pub mod program_readiness;
mod resolve_backend;
mod session_name;
mod start_config;
pub mod tmux_panes;

pub use call::Adapter;
pub use capabilities::Capabilities;
pub use environment::{clean_env, is_session_var, session_vars, state_dir};
pub use error::AdapterError;
pub use operations::Tristate;
pub use resolve_backend::{BackendSource, Backends, ResolvedBackend, check_permissions, resolve_backend};
pub use session_name::{project_part, session_name};
pub use start_config::{CopyFile, StartConfig, StartReport, StructuredStart, Terminal};
