//! What is done with a project as a whole.

pub mod backup;
pub mod doctor;
pub mod init;
pub mod trust;
mod unsettled;
