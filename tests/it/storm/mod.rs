//! Many processes at one store at once, and processes that die in the middle. They run one after the other, with the
//! machine to themselves.

mod claims;
mod kill_points;
mod land_kill_points;
mod retry_after_kill;
mod start_kill_points;
pub mod strace;
mod write_queue;
