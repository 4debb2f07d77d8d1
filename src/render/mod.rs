//! Words for people: results to stdout, remarks to stderr, tables in one style, agents' text made safe.

mod out;
mod safe;
mod style;
mod table;

pub use out::{Out, OutError};
pub use safe::{safe, safe_line};
pub use style::{Meaning, Style};
pub use table::Table;
