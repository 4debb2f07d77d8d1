//! Each verb from outside, as a transcript or by its documents.

mod claim;
mod edit;
mod import;
mod lane;
