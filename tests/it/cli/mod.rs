//! Each verb from outside, as a transcript or by its documents.

mod adapter;
mod claim;
mod doctor;
mod edit;
mod explain;
mod import;
mod lane;
mod launch;
mod session;
mod trust;
