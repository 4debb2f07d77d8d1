//! Each verb from outside, as a transcript or by its documents.

mod claim;
mod doctor;
mod edit;
mod import;
mod lane;
