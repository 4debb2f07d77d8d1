//! Each verb from outside, as a transcript or by its documents.

mod backup;
mod claim;
mod doctor;
