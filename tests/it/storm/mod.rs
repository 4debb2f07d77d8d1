//! Many processes at one store at once, and processes that die in the middle. They run one after the other, with the
//! machine to themselves.

mod claims;
mod kill;
mod retry;
pub mod strace;
mod turnstile;
