//! Each verb from outside, as a transcript or by its documents.

mod adapter;
mod claim;
mod doctor;
mod config;
mod edit;
mod explain;
mod import;
mod lane;
mod launch;
mod session;
mod trust;
mod checkpoint;
mod claim;
mod evidence;
mod gates;
mod handoff;
mod message;
mod review;
