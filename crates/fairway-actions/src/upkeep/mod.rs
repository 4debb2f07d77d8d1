//! Commands on a whole project: create it, check it, back it up, reconcile it, read its log and configuration.

pub mod answer_tokens;
pub mod backup;
pub mod certificate_file;
pub mod config;
pub mod devices;
pub mod doctor;
pub mod editor;
pub mod events;
pub mod explain;
pub mod guide;
pub mod hosts;
pub mod init;
pub mod notify;
mod private_json;
pub mod reconcile;
pub mod retire_host;
pub mod search;
pub mod serve_unit;
pub mod store;
pub mod work;
