//! Each verb from outside, as a transcript or by its documents.

mod adapter;
mod approvals;
mod backup;
mod checkpoint;
mod claim;
mod config;
mod doctor;
mod edit;
mod events;
mod evidence;
mod exec;
mod explain;
mod gates;
mod handoff;
mod import;
mod init;
mod lane;
mod launch;
mod message;
mod moves;
mod operations;
mod prompt;
mod review;
mod session;
mod session_event;
mod trust;
