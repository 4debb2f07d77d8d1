//! What a shell does badly, done here for the scripts: unpack a start configuration, run the program inside the session,
//! keep its output, end its tree. Serves callers without any Fairway project too.

mod folder;
mod follow;
mod input;
mod meta;
pub mod probe;
mod programs;
mod recorder;
mod run;
mod settle;
mod staging;
mod steps;
pub mod surroundings;
pub mod transcript;

pub use folder::{Folder, INPUT, Stage, TRANSCRIPT, Unpacked};
pub use follow::Reader;
pub use recorder::Recorder;
pub use run::{Detached, detach, run};
pub use settle::{Made, settle};
pub use staging::stage;
pub use steps::Steps;
