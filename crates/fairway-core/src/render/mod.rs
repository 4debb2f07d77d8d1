//! Text output for people: results on stdout, notes on stderr, tables in one style. Text of agents is made safe to print.

mod escape;
mod out;
mod output_relay;
mod qr_code;
mod style;
mod table;
mod workflow;

pub use escape::{escape_controls, escape_json, escape_line, strip_controls};
pub use out::{Out, OutError};
pub use output_relay::Relay;
pub use qr_code::QrCode;
pub use style::{Meaning, Style};
pub use table::Table;
pub use workflow::{AnnotationLevel, annotation, markdown_code};
