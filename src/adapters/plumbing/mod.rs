//! What a shell does badly, done here for the scripts: unpack a start configuration, run the program inside the session,
//! keep its output, end its tree. Serves callers without any Fairway project too.

mod field;
mod folder;
mod paste;
mod run;
pub mod socket;
pub mod transcript;
pub mod typing;

pub use field::Field;
pub use folder::Folder;
pub use run::{Detached, TRANSCRIPT, detach, run};
