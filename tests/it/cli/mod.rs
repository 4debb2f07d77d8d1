//! Each verb from outside, as a transcript or by its documents.

mod claim;
mod doctor;
mod edit;
mod explain;
mod import;
mod lane;
mod session;
