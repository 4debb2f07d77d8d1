//! Each verb from outside, as a transcript or by its documents.

mod claim;
mod explain;
mod session;
