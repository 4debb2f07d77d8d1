//! Commands on a whole project: create it, check it, back it up, reconcile it, read its log and configuration.

pub mod accept_loss;
pub mod backup;
pub mod board;
pub mod config;
pub mod config_edit;
pub mod doctor;
mod doctor_claims;
mod doctor_intents;
mod doctor_jobs;
mod doctor_landings;
mod doctor_lanes;
mod doctor_notify;
mod doctor_server;
pub mod events;
pub mod explain;
pub mod explain_subject;
mod findings;
pub mod guide;
pub mod hosts;
pub mod init;
pub mod notify;
pub mod reconcile;
pub mod search;
mod silent_hosts;
pub mod skill;
pub mod snapshots;
pub mod store;
