//! What a shell does badly, done here for the scripts: unpack a start configuration, run the program inside the session,
//! keep its output, end its tree. Serves callers without any Fairway project too.

pub mod commands;
mod door;
mod folder;
mod follow;
mod input;
mod keyboard;
mod meta;
pub mod probe;
mod programs;
mod record;
mod recorder;
mod replay;
mod run;
pub mod seat;
mod settle;
pub mod socket;
mod staging;
mod steps;
pub mod surroundings;
pub mod text;
pub mod transcript;
pub mod typing;

pub use door::call as have_typed;
pub use folder::{Folder, INPUT, Stage, TRANSCRIPT, Unpacked};
pub use follow::Reader;
pub use keyboard::Job;
pub use recorder::Recorder;
pub use run::{Detached, detach, run};
pub use seat::{Neighbours, Seat};
pub use settle::{Made, settle};
pub use staging::stage;
pub use steps::Steps;
