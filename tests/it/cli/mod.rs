//! Each verb from outside, as a transcript or by its documents.

mod adapter;
mod claim;
mod launch;
mod trust;
