//! The door of the providers' hooks: what a provider's program tells in its own form, and the answer in that form. The only
//! place in the program that knows one provider from another.

pub mod transcripts;
