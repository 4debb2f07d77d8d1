//! What is done with a project as a whole.

pub mod backup;
pub mod config;
pub mod doctor;
mod doctor_intents;
mod doctor_jobs;
pub mod events;
pub mod explain;
pub mod init;
pub mod reconcile;
