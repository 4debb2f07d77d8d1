//! What is done with a project as a whole.

pub mod backup;
pub mod doctor;
pub mod init;
mod runs;
pub mod trust;
mod unsettled;
