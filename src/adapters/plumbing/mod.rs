//! What a shell does badly, done here for the scripts: unpack a start configuration, run the program inside the session,
//! keep its output, end its tree. Serves callers without any Fairway project too.

mod folder;
mod run;
pub mod transcript;

pub use folder::Folder;
pub use run::{Detached, TRANSCRIPT, detach, run};
