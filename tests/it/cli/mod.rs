//! Each verb from outside, as a transcript or by its documents.

mod claim;
mod config;
mod edit;
mod import;
mod init;
mod lane;
mod moves;
