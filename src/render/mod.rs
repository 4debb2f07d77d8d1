//! Words for people: results to stdout, remarks to stderr, tables in one style, agents' text made safe.

mod out;
mod relay;
mod safe;
mod style;
mod table;

pub use out::{Out, OutError};
pub use relay::Relay;
pub use safe::{safe, safe_json, safe_line, stripped};
pub use style::{Meaning, Style};
pub use table::Table;
