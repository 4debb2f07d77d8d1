//! Each verb from outside, as a transcript or by its documents.

mod checkpoint;
mod claim;
mod evidence;
mod gates;
mod handoff;
mod message;
mod review;
